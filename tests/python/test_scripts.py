"""python/scripts/program: the scripts that pip installs are the programs of the package."""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import pytest

import ffkit._ffkit

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "python" / "scripts" / "program"


@pytest.fixture
def installed(tmp_path):
    """A package ffkit that cannot be imported, with extension and programs in its folder, and the scripts."""
    (tmp_path / "site/ffkit/bin").mkdir(parents=True)
    (tmp_path / "site/ffkit/__init__.py").write_text("raise RuntimeError('the script imports the package')")
    extension = pathlib.Path(ffkit._ffkit.__file__)
    (tmp_path / "site/ffkit" / extension.name).symlink_to(extension)
    shutil.copy(os.environ["FFKIT_FFINSPECT"], tmp_path / "site/ffkit/bin/ffkit-programs")
    for name in ("ffconvert", "ffinspect"):
        shutil.copy(SCRIPT, tmp_path / name)
    return tmp_path


def words(folder, *arguments, name="ffconvert", path="site"):
    return {"args": [sys.executable, folder / name, *arguments], "env": {**os.environ, "PYTHONPATH": str(folder / path)}, "cwd": folder, "text": True}


def run(folder, *arguments, **options):
    return subprocess.run(**words(folder, *arguments, **options), capture_output=True)


def test_the_script_becomes_the_program(installed):
    assert run(installed, "--version").stdout.startswith("ffconvert ")
    assert run(installed, "demo", "dst", "--images", "4", "--val-images", "0", "--size", "16").returncode == 0
    assert (installed / "dst/train/manifest.json").exists()
    wrong = run(installed, "demo", "dst", "--imagse", "4")
    assert wrong.returncode == 2 and wrong.stderr.startswith("ffconvert: error: ")
    assert run(installed, "--version", name="ffinspect").stdout.startswith("ffinspect ")


@pytest.mark.parametrize("name", ["ffconvert", "ffinspect"])
def test_a_missing_package_is_told(installed, name):
    told = run(installed, "--version", name=name, path="none")
    assert told.returncode == 1 and f"{name}: error: the package ffkit" in told.stderr


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_signals_stop_it_as_a_program(installed, stop):
    running = subprocess.Popen(**words(installed, "demo", "dst", "--images", "1000000"), stderr=subprocess.PIPE)
    while not (installed / "dst/.ffkit-unfinished").exists() and running.poll() is None:
        time.sleep(0.01)
    running.send_signal(stop)
    error = running.communicate()[1]
    assert running.returncode == 130 and "Traceback" not in error, error
    assert error.splitlines()[-1].startswith("ffconvert: error: ")


def test_closed_streams_are_not_written_into_files(installed):
    command = ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *map(str, words(installed, "demo", "dst", "--images", "4", "--val-images", "0", "--size", "16")["args"])]
    assert subprocess.run(command, env=words(installed)["env"], cwd=installed).returncode == 0
    assert run(installed, "verify", "dst", name="ffinspect").returncode == 0


@pytest.mark.parametrize("pyarrow, expected", [
    ("raise ImportError('there is none')", f"pyarrow, which reads parquet files, cannot be imported by {sys.executable} (there is none); install it there: pip install pyarrow"),
    ("__version__ = '13.0.0'", "pyarrow 13.0.0 is too old to read parquet files; install 14 or newer: pip install 'pyarrow>=14'"),
    ("__version__ = '99.0.0'", "pyarrow, which reads parquet files, has a version that ffkit does not support (module 'pyarrow' has no attribute 'PythonFile'); install one of 14 to 26"),
])
def test_a_pyarrow_that_does_not_fit_is_told(installed, pyarrow, expected):
    (installed / "site/pyarrow.py").write_text(pyarrow)
    (installed / "a.parquet").write_bytes(b"PAR1" + bytes(100) + b"PAR1")
    told = run(installed, "parquet", "a.parquet", "dst")
    assert told.returncode == 1 and expected in told.stderr, told.stderr
