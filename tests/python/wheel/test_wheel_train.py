"""The wheels ffkit and ffkit-train in fresh venvs, with each torch that ffkit-train is for: training, resuming, two processes and texts, without a compiler.

Of torch there are the libraries that tools/wheel --train has fetched, which need no GPU. Python cannot import it so, and need not.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
TORCHES = ROOT / "build" / "wheel-work" / "torch"


def newest(pattern):
    wheels = sorted((ROOT / "build" / "wheel").glob(pattern), key=os.path.getmtime)
    if not wheels:
        pytest.skip("there is no wheel; tools/wheel and tools/wheel --train make them")
    return wheels[-1]


@pytest.fixture(scope="module")
def wheel():
    return newest("ffkit_train-*-manylinux*.whl")


def test_its_size_and_tag(wheel):
    assert wheel.stat().st_size <= 15_000_000
    assert wheel.name.endswith("-py3-none-manylinux_2_28_x86_64.whl")


def minors():
    names = [path.name for path in TORCHES.glob("2.*")] if TORCHES.exists() else []
    return sorted(names, key=lambda name: [int(part) for part in name.split(".")]) or ["none"]


@pytest.fixture(scope="module")
def venv(wheel, tmp_path_factory):
    folder = tmp_path_factory.mktemp("venv")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    tag = "cp311-cp311" if sys.version_info < (3, 12) else "cp312-abi3"
    # numpy is not needed by programs; torch comes below.
    subprocess.run([folder / "bin/pip", "install", "--quiet", "--disable-pip-version-check", "--no-index", "--no-deps", newest(f"ffkit-*-{tag}-manylinux*_x86_64.whl"), wheel], check=True)
    return folder


class Place:
    """A venv with one torch, and a folder to work in."""

    def __init__(self, venv, folder):
        self.venv, self.folder = venv, folder

    def run(self, *words, status=0):
        # No GPU, and no compiler or library of another place.
        environment = {"PATH": "/usr/bin:/bin", "CUDA_VISIBLE_DEVICES": "", "OMP_WAIT_POLICY": "PASSIVE", "TMPDIR": str(self.folder)}
        done = subprocess.run([self.venv / "bin" / words[0], *map(str, words[1:])], cwd=self.folder, env=environment, capture_output=True, text=True)
        assert done.returncode == status, f"{words}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout if status == 0 else done.stderr


def put_torch(venv, packages):
    """torch and nvidia's libraries, as pip puts them, by links."""
    site = next(venv.glob("lib/python3*/site-packages"))
    for name in ("torch", "nvidia"):
        (site / name).unlink(missing_ok=True)
        if packages is not None:
            (site / name).symlink_to(packages / name)
    return site


@pytest.fixture(scope="module", params=minors())
def place(request, venv, tmp_path_factory):
    if request.param == "none":
        pytest.skip("there is no torch; tools/wheel --train fetches it")
    put_torch(venv, TORCHES / request.param)
    yield Place(venv, tmp_path_factory.mktemp(request.param))
    put_torch(venv, None)


@pytest.fixture(scope="module")
def demo(place):
    place.run("ffconvert", "demo", "data", "--classes", "3", "--images", "120", "--val-images", "30", "--size", "32", "--quiet")
    return ["--data", "data", "--arch", "resnet18", "--image-size", "32", "--eval-resize", "32", "--batch-size", "20", "--lr", "0.02", "--compute-threads", "1"]


def validations(folder):
    """What was computed, without times."""
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [{key: value for key, value in line.items() if key != "seconds"} for line in lines if line["kind"] == "validation"]


def test_it_trains_and_resumes(place, demo):
    place.run("fftrain", *demo, "--epochs", "2", "--work-dir", "whole")
    whole = validations(place.folder / "whole")
    assert [line["epoch"] for line in whole] == [1, 2] and whole[1]["images"] == 30
    assert whole[1]["train_loss"] < whole[0]["train_loss"]
    # Stopped after an epoch, by a schedule that goes on.
    shutil.copytree(place.folder / "whole", place.folder / "halves")
    (place.folder / "halves/epoch-0002.safetensors").unlink()
    text = place.run("fftrain", "--resume-from", "halves", "--work-dir", "halves")
    assert "epoch 2/2" in text
    assert validations(place.folder / "halves") == whole
    assert f"{whole[1]['top1'] * 100:.2f} %" in place.run("fftrain", "--evaluate", "whole")


def test_two_processes_train_together(place, demo):
    text = place.run("fftrain", *demo, "--epochs", "1", "--nproc", "2", "--device", "cpu", "--dist-backend", "gloo", "--work-dir", "two")
    assert "epoch 1/1" in text


def test_it_trains_on_texts_and_continues_one(place):
    for name, count in (("train", 40), ("val", 4)):
        (place.folder / "corpus" / name).mkdir(parents=True)
        for i in range(count):
            (place.folder / "corpus" / name / f"{i}.txt").write_text("the tower is high. " * 40)
    place.run("ffconvert", "text", "corpus", "tokens", "--tokenizer", "bytes", "--quiet")
    place.run("fftrain", "--data", "tokens", "--layers", "1", "--heads", "2", "--width", "32", "--positions", "64", "--context", "32", "--batch-size", "8", "--epochs", "1",
              "--optimizer", "adamw", "--lr", "0.003", "--compute-threads", "1", "--work-dir", "gpt2")
    text = place.run("ffgenerate", "--model", "gpt2", "--prompt", "the tower", "--max-tokens", "12", "--json", "--quiet")
    assert json.loads(text)["tokens"] == 12


def test_files_need_the_system_and_torch_alone(venv):
    files = [path for path in venv.glob("lib/python3*/site-packages/ffkit_train/torch-*/**/*") if path.is_file()]
    assert {path.name for path in files} == {"ffkit-train-programs", "libffkit_trainer_cuda.so"}
    system = {"libstdc++.so.6", "libgcc_s.so.1", "libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "ld-linux-x86-64.so.2"}
    torch = {"libtorch_cpu.so", "libc10.so"}
    for path in files:
        shown = subprocess.run(["objdump", "-p", path], capture_output=True, text=True, check=True).stdout
        cuda = {"libtorch_cuda.so", "libc10_cuda.so"} if path.suffix == ".so" else set()
        assert set(re.findall(r"NEEDED +(\S+)", shown)) <= system | torch | cuda, path
        for name, most in (("GLIBC", (2, 28)), ("GLIBCXX", (3, 4, 24)), ("CXXABI", (1, 3, 11))):
            found = [tuple(map(int, version.split("."))) for version in re.findall(rf" {name}_([0-9.]+)$", shown, re.MULTILINE)]
            assert found and max(found) <= most, (path, name, max(found))


def test_another_torch_is_a_sentence(venv, tmp_path):
    site = put_torch(venv, None)
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch/version.py").write_text("__version__ = '2.5.1+cu124'\ncuda = '12.4'\n")
    (site / "torch").symlink_to(tmp_path / "torch")
    place = Place(venv, tmp_path)
    for name in ("fftrain", "ffgenerate"):
        text = place.run(name, "--help", status=1)
        assert text.startswith(f"{name}: error: torch 2.5.1+cu124 in {site}/torch is another version: this ffkit-train has {name} for the releases of torch 2."), text
        assert text.count("\n") == 1
    put_torch(venv, None)
    assert "torch is not installed for" in place.run("fftrain", "--version", status=1)
