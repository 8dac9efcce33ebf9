"""Runs one file of tests by pytest: run.py FILE [pytest's arguments].

test_torch*.py: by the Python that FFKIT_REFERENCE_PYTHON names, with this Python's pytest behind its own packages. Exit status 77: skipped, for want of one.
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
    arguments = ["-q", "-p", "no:cacheprovider", "-ra", str(file), *sys.argv[2:]]
    if not file.name.startswith("test_torch"):
        return subprocess.run([sys.executable, "-m", "pytest", *arguments]).returncode
    python = os.environ.get("FFKIT_REFERENCE_PYTHON")
    if not python:
        print("skipped: FFKIT_REFERENCE_PYTHON names no Python with torch (tools/setup --reference)")
        return 77
    return subprocess.run([python, "-c", WITH_MORE_PACKAGES, sysconfig.get_paths()["purelib"], *arguments]).returncode


if __name__ == "__main__":
    sys.exit(main())
