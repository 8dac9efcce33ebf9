"""The wheel of tools/wheel, in a fresh venv within a root that holds Python's own packages and libc's family and nothing else of Debian's."""
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import sysconfig

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
# Debian's Python without the packages of OpenSSL, bzip2, LZMA and so on, which ffkit must not need:
# modules of Python that do are not imported.
PACKAGES = ["libc6", "libgcc-s1", "libstdc++6", "python3.11-minimal", "libpython3.11-minimal", "libpython3.11-stdlib", "libexpat1", "zlib1g"]
IN_THE_ROOT = """
import os, subprocess, sys
import numpy as np
import ffkit

assert ffkit.__file__.startswith("/venv/"), ffkit.__file__
ffkit.convert.demo("/tmp/demo", images=40, val_images=10, size=32, progress=False)
ffkit.convert.transcode("/tmp/demo", "/tmp/dct", store="dct", progress=False)
loader = ffkit.Loader(ffkit.Dataset("/tmp/dct", "train"), batch_size=8, image=ffkit.RandomResizedCrop(24, flip_probability=0.5))
assert [batch["image"].shape for batch in loader] == [(8, 3, 24, 24)] * 5
with ffkit.Writer("/tmp/mine", schema={"image": "image", "label": "i64"}) as writer:
    for i in range(5):
        writer.write({"image": np.full((9, 9, 3), i, np.uint8), "label": i})
assert ffkit.Dataset("/tmp/mine", "train").column("label").tolist() == [0, 1, 2, 3, 4]
for command in ("ffconvert demo /tmp/program --images 20 --val-images 0 --size 32 --quiet", "ffinspect verify /tmp/program", "ffeval --help",
                "ffinspect view /tmp/demo --split val --count 4 --output /tmp/sheet.png"):
    name, *arguments = command.split()
    subprocess.run(["/venv/bin/" + name, *arguments], check=True, stdout=subprocess.DEVNULL)
assert os.path.getsize("/tmp/sheet.png") > 1000
loaded = {line.split()[-1] for line in open("/proc/self/maps") if ".so" in line}
print("\\n".join(sorted(loaded)))
"""


@pytest.fixture(scope="module")
def wheel():
    tag = "cp311-cp311" if sys.version_info < (3, 12) else "cp312-abi3"
    wheels = sorted((ROOT / "build" / "wheel").glob(f"ffkit-*-{tag}-manylinux*_{platform.machine()}.whl"), key=os.path.getmtime)
    if not wheels:
        pytest.skip("there is no wheel; tools/wheel makes it")
    return wheels[-1]


def test_its_size_and_tag(wheel):
    assert wheel.stat().st_size <= 15_000_000
    assert "-manylinux_2_28_" in wheel.name


@pytest.fixture(scope="module")
def bare_root(tmp_path_factory):
    if not pathlib.Path("/usr/bin/python3.11").exists() or shutil.which("dpkg-query") is None:
        pytest.skip("the root is made from the files of Debian 12's Python, which is not installed")
    root = tmp_path_factory.mktemp("root")
    for folder in ("usr/lib", "usr/lib64", "usr/bin", "usr/sbin", "tmp", "proc", "dev", "wheels"):
        (root / folder).mkdir(parents=True)
    for folder in ("lib", "lib64", "bin", "sbin"):
        (root / folder).symlink_to("usr/" + folder)
    for package in PACKAGES:
        listed = subprocess.run(["dpkg-query", "-L", package], capture_output=True, text=True)
        if listed.returncode != 0:
            pytest.skip(f"the Debian package {package} is not installed")
        for name in listed.stdout.splitlines():
            target = root / name.lstrip("/")
            if not name.startswith(("/lib", "/usr/lib", "/usr/bin")) or "/test/" in name or os.path.isdir(name) or not os.path.lexists(name):
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            if not os.path.lexists(target):
                shutil.copy2(name, target, follow_symlinks=False)
    return root


def in_root(root, *command):
    """Runs a command in the root, with /proc and /dev."""
    mounts = f"mount --rbind /proc {root}/proc && mount --rbind /dev {root}/dev && exec /usr/sbin/chroot {root} \"$@\""
    user = [] if os.geteuid() == 0 else ["--map-root-user"]
    environment = {"PATH": "/usr/bin", "LC_ALL": "C.UTF-8"}
    return subprocess.run(["/usr/bin/unshare", *user, "--mount", "/bin/sh", "-c", mounts, "sh", *command], env=environment, capture_output=True, text=True)


def test_it_runs_in_a_bare_root(wheel, bare_root):
    if in_root(bare_root, "/usr/bin/python3.11", "-c", "").returncode != 0:
        pytest.skip("roots cannot be changed here: " + in_root(bare_root, "/usr/bin/python3.11", "-c", "").stderr.strip())
    pip = next(pathlib.Path("/usr/share/python-wheels").glob("pip-*.whl"), None)
    if pip is None:
        pytest.skip("Debian's python3-venv is not installed, which brings pip as a wheel")
    for file in (wheel, pip):
        shutil.copy(file, bare_root / "wheels")
    python = "/venv/bin/python"
    # Without ensurepip, which is a package of its own.
    for command in (["/usr/bin/python3.11", "-m", "venv", "--without-pip", "/venv"],
                    [python, f"/wheels/{pip.name}/pip", "install", "--no-index", "--no-deps", f"/wheels/{wheel.name}"]):
        done = in_root(bare_root, *command)
        assert done.returncode == 0, done.stdout + done.stderr
    packages = pathlib.Path(sysconfig.get_paths()["platlib"])
    for name in ("numpy", "numpy.libs"):
        shutil.copytree(packages / name, bare_root / "venv/lib/python3.11/site-packages" / name, ignore=shutil.ignore_patterns("tests", "*.pyi"))
    assert not list(bare_root.glob("usr/lib/**/libtbb*")) + list(bare_root.glob("usr/lib/**/libcrypto*"))
    done = in_root(bare_root, python, "-c", IN_THE_ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    # Of the root itself the process has libc's family, and libz and libexpat, which Python's own
    # program links.
    outside = {path.split("/")[-1].split(".so")[0] for path in done.stdout.splitlines() if "/venv/" not in path and "lib-dynload" not in path}
    assert outside <= {"libc", "libm", "libdl", "libpthread", "librt", "libgcc_s", "libstdc++", "ld-linux-x86-64", "libz", "libexpat", "libutil"}
