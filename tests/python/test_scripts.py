"""python/scripts/program: the scripts that pip installs become the programs of the package."""
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "python" / "scripts" / "program"


@pytest.fixture
def installed(tmp_path):
    """A package ffkit that cannot be imported, with the program in its folder, and the script."""
    (tmp_path / "site/ffkit/bin").mkdir(parents=True)
    (tmp_path / "site/ffkit/__init__.py").write_text("raise RuntimeError('the script imports the package')")
    shutil.copy(os.environ["FFKIT_FFCONVERT"], tmp_path / "site/ffkit/bin/ffkit-programs")
    shutil.copy(SCRIPT, tmp_path / "ffconvert")
    return tmp_path


def run(folder, *arguments, path="site"):
    environment = {**os.environ, "PYTHONPATH": str(folder / path)}
    return subprocess.run([sys.executable, folder / "ffconvert", *arguments], env=environment, cwd=folder, capture_output=True, text=True)


def test_the_script_becomes_the_program(installed):
    assert run(installed, "--version").stdout.startswith("ffconvert ")
    assert run(installed, "demo", "dst", "--images", "4", "--val-images", "0", "--size", "16").returncode == 0
    assert (installed / "dst/train/manifest.json").exists()
    wrong = run(installed, "demo", "dst", "--imagse", "4")
    assert wrong.returncode == 2 and wrong.stderr.startswith("ffconvert: error: ")


def test_a_missing_package_is_told(installed):
    told = run(installed, "--version", path="none")
    assert told.returncode == 1 and "ffconvert: error: the package ffkit" in told.stderr
