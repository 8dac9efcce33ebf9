#!/usr/bin/env python3
"""What the programs of the wheel ffkit-train do with the torch that is installed, whichever it is: the one for it runs, or a sentence says why none does."""
import contextlib
import importlib.util
import io
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
spec = importlib.util.spec_from_file_location("ffkit_train", ROOT / "packaging/train/ffkit_train/__init__.py")
ffkit_train = importlib.util.module_from_spec(spec)
spec.loader.exec_module(ffkit_train)
# In the place of a program: what it was called with, and its environment.
PROGRAM = '#!/bin/sh\nprintf "%s|" "$(basename "$(dirname "$0")")" "$LD_LIBRARY_PATH" "$@"\n'


class Launcher(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.site = Path(folder.name).resolve()
        for minor in ("2.9", "2.15"):
            for name in ("ffkit_train/__init__.py", f"ffkit_train/torch-{minor}/ffkit-train-programs", f"ffkit_train/torch-{minor}/cuda-13/libffkit_trainer_cuda.so"):
                path = self.site / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text((ROOT / "packaging/train" / name).read_text() if path.suffix == ".py" else PROGRAM)
                path.chmod(0o755)

    def install(self, version, cuda=None, library="lib/libtorch_cpu.so"):
        torch = self.site / "torch"
        (torch / library).parent.mkdir(parents=True, exist_ok=True)
        (torch / library).touch()
        (torch / "__init__.py").write_text("raise RuntimeError('it is not imported')\n")
        (torch / "version.py").write_text(f"from typing import Optional\n__version__ = '{version}'\ncuda: Optional[str] = {cuda!r}\n")
        return torch

    def start(self, *words, variables=None):
        code = "import sys; sys.path.insert(0, sys.argv.pop(1)); import ffkit_train; ffkit_train.fftrain()"
        environment = {"PATH": os.environ["PATH"], **(variables or {})}
        return subprocess.run([sys.executable, "-I", "-S", "-c", code, self.site, *words], capture_output=True, text=True, env=environment)

    def refusal(self):
        done = self.start("--help")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        return done.stderr.strip()

    def test_the_program_of_its_minor_version_runs(self):
        for version in ("2.9.0", "2.9.1+cpu"):
            torch = self.install(version)
            done = self.start("--data", "a b")
            self.assertEqual((done.stderr, done.stdout), ("", f"torch-2.9|{torch}/lib|--data|a b|"))
        torch = self.install("2.15.3+cu132", "13.2")
        self.assertEqual(self.start().stdout, f"torch-2.15|{torch}/lib:{self.site}/ffkit_train/torch-2.15/cuda-13|")

    def test_libraries_of_the_environment_come_behind(self):
        torch = self.install("2.15.0")
        self.assertEqual(self.start(variables={"LD_LIBRARY_PATH": "/opt/cuda/lib"}).stdout, f"torch-2.15|{torch}/lib:/opt/cuda/lib|")

    def test_the_part_for_gpus_of_another_cuda_is_left_out(self):
        torch = self.install("2.15.0+cu126", "12.6")
        self.assertEqual(self.start().stdout, f"torch-2.15|{torch}/lib|")
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            found = ffkit_train.gpu_folder(self.site / "ffkit_train/torch-2.15", "2.15.0+cu126", "cuda = '12.6'", "fftrain", has_gpu=True)
        self.assertEqual(found, [])
        self.assertEqual(said.getvalue(), "fftrain: note: torch 2.15.0+cu126 is built for CUDA 12.6, and the part of this ffkit-train for GPUs is for CUDA 13: it is left out. "
                         "Several GPUs need --dist-backend gloo, and deformable attention is slower\n")

    def test_the_extra_is_of_this_version(self):
        version = re.search(r'FFKIT_VERSION "([0-9.]+)"', (ROOT / "base/include/ffkit/base/version.h").read_text())[1]
        self.assertIn(f'train = ["ffkit-train~={version.rpartition(".")[0]}.0"]', (ROOT / "pyproject.toml").read_text())

    def test_no_torch(self):
        self.assertEqual(self.refusal(), f"fftrain: error: torch is not installed for {sys.executable}, and fftrain computes with its library; run pip install 'torch==2.15.*'")

    def test_another_torch(self):
        torch = self.install("2.13.1+cu130", "13.0")
        self.assertEqual(self.refusal(), f"fftrain: error: torch 2.13.1+cu130 in {torch} is another version: this ffkit-train has fftrain for the releases of torch 2.9 and 2.15, and "
                         "each minor version needs one of its own; run pip install 'torch==2.15.*', or a newer ffkit-train")

    def test_a_torch_before_its_release(self):
        for version in ("2.15.0a0+git1234", "2.15.0.dev20261101+cpu", "2.15.0rc1"):
            self.install(version)
            self.assertIn("is a version before its release: this ffkit-train has fftrain for the releases of torch 2.9 and 2.15", self.refusal())

    def test_a_torch_that_keeps_its_libraries_elsewhere(self):
        torch = self.install("2.15.0", library="share/nothing")
        self.assertIn(f"torch 2.15.0 in {torch} keeps its libraries somewhere else than in lib", self.refusal())

    def test_a_folder_that_is_no_torch(self):
        (self.site / "torch").mkdir()
        self.assertIn(f"{self.site}/torch does not say which version of torch it is", self.refusal())


if __name__ == "__main__":
    unittest.main()
