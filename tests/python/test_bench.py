"""The benchmarks of Python's loader run, each once with little data."""
import json
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(os.environ["FFKIT_FFCONVERT"]).parent.parent


def output(*command):
    return subprocess.run([sys.executable, *map(str, command)], check=True, capture_output=True, text=True).stdout


def test_the_peer_prints_its_rate(data):
    result = json.loads(output(ROOT / "bench/peers/ffkit_loader.py", data, "--size", 16, "--epochs", 2))
    assert result["num_images"] == 120 and result["images_per_second"] > 0


@pytest.mark.skipif(not (BUILD / "bench/loader/loader_bench").exists(), reason="loader_bench is not built")
def test_pairs_with_cpp(data):
    lines = output(ROOT / "bench/python/run", data, "--build", BUILD, "--python", sys.executable, "--pairs", 1, "--epochs", 1, "--size", 16, "--arrays", "numpy").splitlines()
    assert [line.split()[:2] for line in lines[1:]] == [["64", "u8"], ["64", "f32"], ["256", "u8"], ["256", "f32"]]


def test_thumbnails(data):
    environment = dict(os.environ, FFINSPECT=os.environ["FFKIT_FFINSPECT"])
    command = [sys.executable, ROOT / "bench/serve/thumbnails.py", data, "train", "--count", "40", "--repetitions", "1", "--size", "16"]
    lines = subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout.splitlines()
    assert lines[0].startswith("served ") and lines[1].startswith("median ")
