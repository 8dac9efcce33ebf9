"""The examples that need no torch: they run, and what they print and draw is right."""
import importlib.util
import io
import pathlib

import numpy
import PIL.Image

import conftest
import ffkit

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples" / "python"


def load(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_numpy_classifier(tmp_path):
    conftest.convert("demo", tmp_path / "demo", "--classes", 4, "--images", 200, "--val-images", 40, "--size", 48, "--quiet")
    right, mean, std = load("numpy_classifier").main([str(tmp_path / "demo")])
    assert right >= 28  # of 40; 35 were seen, 10 are chance
    pictures = [PIL.Image.open(io.BytesIO(sample["image"])).resize((32, 32), PIL.Image.Resampling.BILINEAR) for sample in ffkit.Dataset(tmp_path / "demo", "train")]
    pixels = numpy.stack(pictures).reshape(-1, 3) / 255
    assert numpy.allclose(mean, pixels.mean(0)) and numpy.allclose(std, pixels.std(0))
