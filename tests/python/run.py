"""Runs files of tests of one folder by pytest, in one process: run.py FILE... [pytest's arguments].

test_torch*.py run in the Python that FFKIT_REFERENCE_PYTHON names, those of frameworks/ in that of FFKIT_FRAMEWORKS_PYTHON, those of formats/ in that of
FFKIT_FORMATS_PYTHON, those of engines/ in that of FFKIT_ENGINES_PYTHON, with this Python's pytest behind its own packages. Exit status 77: skipped, for want of one.
"""
import os
import pathlib
import subprocess
import sys
import sysconfig

WITH_MORE_PACKAGES = """
import sys
sys.path.append(sys.argv.pop(1))
import pytest
sys.exit(pytest.main(sys.argv[1:]))
"""


def main() -> int:
    file = pathlib.Path(sys.argv[1])
    arguments = ["-q", "-p", "no:cacheprovider", "-ra", *sys.argv[1:]]
    if file.parent.name == "frameworks":
        name, packages, option = "FFKIT_FRAMEWORKS_PYTHON", "Lightning, Transformers and JAX", "--frameworks"
    elif file.parent.name == "formats":
        name, packages, option = "FFKIT_FORMATS_PYTHON", "the libraries whose files are converted", "--formats"
    elif file.parent.name == "engines":
        name, packages, option = "FFKIT_ENGINES_PYTHON", "Ray and Dask", "--engines"
    elif file.name.startswith("test_torch"):
        name, packages, option = "FFKIT_REFERENCE_PYTHON", "torch", "--reference"
    else:
        return subprocess.run([sys.executable, "-m", "pytest", *arguments]).returncode
    python = os.environ.get(name)
    if not python:
        print(f"skipped: {name} names no Python with {packages} (tools/setup {option})")
        return 77
    return subprocess.run([python, "-c", WITH_MORE_PACKAGES, sysconfig.get_paths()["purelib"], *arguments]).returncode


if __name__ == "__main__":
    sys.exit(main())
