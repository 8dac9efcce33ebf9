"""The wheel of `tools/wheel --machine aarch64`, run by qemu in a root of Debian 12 for arm64 that holds Python, libc's family and numpy. Slow, and no measure of speed."""
import os
import pathlib
import shutil
import subprocess
import sys
import zipfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
PACKAGES = ["libc6", "libgcc-s1", "libstdc++6", "python3.11-minimal", "libpython3.11-minimal", "libpython3.11-stdlib", "libexpat1", "zlib1g"]
QEMU = shutil.which("qemu-aarch64-static")
IN_THE_ROOT = """
import hashlib, os, platform, sys
import numpy as np
import ffkit

assert platform.machine() == "aarch64"
work = sys.argv[1]
ffkit.convert.demo(work + "/demo", images=40, val_images=10, size=32, progress=False)
ffkit.convert.transcode(work + "/demo", work + "/dct", store="dct", progress=False)
for name in ("demo", "dct"):
    loader = ffkit.Loader(ffkit.Dataset(f"{work}/{name}", "train"), batch_size=8, seed=3, image=ffkit.RandomResizedCrop(24, flip_probability=0.5))
    print(name, hashlib.sha256(b"".join(batch["image"].tobytes() for batch in loader)).hexdigest())
with ffkit.Writer(work + "/mine", schema={"image": "image", "label": "i64"}) as writer:
    for i in range(5):
        writer.write({"image": np.full((9, 9, 3), i, np.uint8), "label": i})
assert ffkit.Dataset(work + "/mine", "train").column("label").tolist() == [0, 1, 2, 3, 4]
try:
    ffkit.Dataset(work + "/nothing", "train")
except ffkit.Error as error:
    assert "nothing" in str(error)
loaded = {line.split()[-1] for line in open("/proc/self/maps") if ".so" in line}
assert not any("libstdc++" in name and "ffkit" in name for name in loaded)
"""


def run(*command, **options):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)


@pytest.fixture(scope="module")
def wheel():
    wheels = sorted((ROOT / "build" / "wheel").glob("ffkit-*-cp311-cp311-manylinux_2_28_aarch64.whl"), key=os.path.getmtime)
    if not wheels:
        pytest.skip("there is no wheel for aarch64; tools/wheel --machine aarch64 makes it")
    if QEMU is None:
        pytest.skip("qemu-aarch64-static is missing; tools/setup --wheel installs it")
    return wheels[-1]


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    work = tmp_path_factory.mktemp("arm64")
    (work / "lists/partial").mkdir(parents=True)
    apt = ["apt-get", "-qq", "-o", "APT::Architecture=arm64", "-o", "APT::Architectures=arm64", "-o", f"Dir::State::lists={work}/lists", "-o", "Dir::State::status=/dev/null",
           "-o", "APT::Sandbox::User=root", "-o", "Dir::Cache::pkgcache=", "-o", "Dir::Cache::srcpkgcache="]
    numpy = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "--python-version", "3.11", "--dest", work]
    for machine in ("manylinux_2_28_aarch64", "manylinux_2_27_aarch64", "manylinux2014_aarch64"):
        numpy += ["--platform", machine]
    for command in ([*apt, "update"], [*apt, "download", *PACKAGES], [*numpy, "numpy"]):
        done = run(*command, cwd=work)
        if done.returncode != 0:
            pytest.skip(f"the packages of arm64 cannot be had here: {done.stderr.strip()[-300:]}")
    for package in work.glob("*.deb"):
        run("dpkg-deb", "-x", package, work / "root", check=True)
    with zipfile.ZipFile(next(work.glob("numpy-*.whl"))) as archive:
        archive.extractall(work / "packages")
    return work


def test_it_runs(wheel, root, tmp_path):
    packages = root / "packages"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(packages)
    emulator = [QEMU, "-L", root / "root"]
    work = tmp_path / "aarch64"
    work.mkdir()
    environment = {"PYTHONPATH": str(packages), "PYTHONDONTWRITEBYTECODE": "1", "LC_ALL": "C.UTF-8", "PATH": os.environ["PATH"]}
    done = run(*emulator, root / "root/usr/bin/python3.11", "-c", IN_THE_ROOT, work, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    # Batches and files are those of this machine, to the byte.
    import hashlib

    import ffkit

    for line in done.stdout.splitlines():
        name, digest = line.split()
        loader = ffkit.Loader(ffkit.Dataset(work / name, "train"), batch_size=8, seed=3, image=ffkit.RandomResizedCrop(24, flip_probability=0.5))
        assert hashlib.sha256(b"".join(batch["image"].tobytes() for batch in loader)).hexdigest() == digest, name
    script = next(packages.glob("ffkit-*.data/scripts/ffconvert"))
    done = run(*emulator, root / "root/usr/bin/python3.11", script, "demo", work / "program", "--images", "20", "--val-images", "0", "--size", "32", "--quiet", env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    programs = packages / "ffkit/bin/ffkit-programs"
    programs.chmod(0o755)
    for name, *arguments in (["ffinspect", "verify", str(work / "program")], ["ffeval", "--help"]):
        program = tmp_path / name
        program.symlink_to(programs)
        done = run(*emulator, program, *arguments)
        assert done.returncode == 0, done.stdout + done.stderr
    ffkit.convert.demo(tmp_path / "here", images=20, val_images=0, size=32, progress=False)
    for file in sorted((tmp_path / "here").rglob("*.ffr")):
        assert file.read_bytes() == (work / "program" / file.relative_to(tmp_path / "here")).read_bytes(), file
