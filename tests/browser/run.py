"""Runs one file of tests in the Python that FFKIT_BROWSER_PYTHON names: run.py FILE [pytest's arguments]. Exit status 77: skipped, for want of it or of Chromium."""
import os
import shutil
import subprocess
import sys


def main() -> int:
    python = os.environ.get("FFKIT_BROWSER_PYTHON")
    if not python:
        print("skipped: FFKIT_BROWSER_PYTHON names no Python with Playwright (tools/setup --browser)")
        return 77
    if not shutil.which("chromium"):
        print("skipped: there is no Chromium (tools/setup --browser)")
        return 77
    return subprocess.run([python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-ra", "-s", *sys.argv[1:]]).returncode


if __name__ == "__main__":
    sys.exit(main())
