"""The package of Debian that cpack makes of the build: deb_test.py CPACK BUILD CONSUMER

Its dependencies are packages of this system. Installed into an empty folder, its programs run and find_package(ffkit) finds it; removed,
it leaves no file. Exit status 77: this is no Debian.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

cpack, build, consumer = sys.argv[1:]
if not shutil.which("dpkg-shlibdeps"):
    print("skipped: dpkg-shlibdeps is not here, which the package dpkg-dev has")
    sys.exit(77)


def run(*command, **options):
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"FAILED: {' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def expect(condition, what):
    if not condition:
        sys.exit(f"FAILED: {what}")


with tempfile.TemporaryDirectory(prefix="ffkit-deb-") as work:
    work = pathlib.Path(work)
    run(cpack, "-G", "DEB", "-B", work / "made", cwd=build)
    package, = (work / "made").glob("*.deb")
    expect(package.stat().st_size < 20_000_000, f"{package.name} has {package.stat().st_size} bytes")
    depends = run("dpkg-deb", "--field", package, "Depends")
    installed = set(re.findall(r"[a-z0-9.+-]+", run("dpkg-query", "-W", "-f=${Package} ${Provides}\\n")))
    missing = set(re.findall(r"(?:^|, )([a-z0-9.+-]+)", depends)) - installed
    expect(not missing, f"{package.name} depends on {missing}, which nothing here provides")
    for name in ("libc6", "libjpeg62-turbo", "libzstd1"):
        expect(name in depends, depends)

    # A root of its own, in which nothing is but the package manager's lists.
    root = work / "root"
    for folder in ("var/lib/dpkg/info", "var/lib/dpkg/updates"):
        (root / folder).mkdir(parents=True)
    (root / "var/lib/dpkg/status").touch()
    dpkg = ["dpkg", f"--root={root}", "--force-depends,not-root", f"--log={work / 'log'}"]
    run(*dpkg, "--install", package)
    programs = root / "usr/bin"
    expect({path.name for path in programs.iterdir()} == {"ffconvert", "ffinspect", "ffeval"}, list(programs.iterdir()))
    run(programs / "ffconvert", "demo", work / "demo", "--images", 20, "--quiet")
    run(programs / "ffinspect", "verify", work / "demo")
    run(programs / "ffeval", "--help")
    run("cmake", "-S", consumer, "-B", work / "consumer", f"-DCMAKE_PREFIX_PATH={root / 'usr'}")
    found = re.search(r"ffkit_DIR:PATH=(.*)", (work / "consumer/CMakeCache.txt").read_text())[1]
    expect(found.startswith(str(root)), found)
    run(*dpkg, "--purge", "ffkit")
    left = [path for path in root.rglob("*") if path.is_file() and "var/lib/dpkg" not in str(path)]
    expect(not left, f"these files are left: {left}")
print(package.name, depends.strip())
