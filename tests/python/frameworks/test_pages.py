"""The Python blocks of the pages about other libraries run as they stand."""
import types

import accelerate
import jax
import lightning
import numpy
import pytest
import torch
import transformers
from torchvision.transforms import v2

import ffkit
import ffkit.hf
import ffkit.lightning
import ffkit.torch
import networks
import pages
import test_huggingface
import test_lightning


@pytest.fixture
def folder(tmp_path, monkeypatch):
    pages.make_folders(tmp_path)
    monkeypatch.chdir(tmp_path)
    torch.set_num_threads(1)
    return tmp_path


def dataset(folder, split):
    return ffkit.Dataset(folder / "fast/imagenet", split)


def test_exporting(folder):
    pages.run("exporting", folder, {"ffkit": ffkit})
    assert {path.name.split("-")[0] for path in (folder / "imagenet-parquet").rglob("*.parquet")} == {"train", "validation"}


def test_loops_of_others(folder):
    transform = v2.Compose([v2.Resize((24, 24)), v2.ToImage(), v2.ToDtype(torch.float32, scale=True)])
    names = {"ffkit": ffkit, "data": folder / "fast/imagenet", "args": types.SimpleNamespace(batch_size=4, workers=1), "train_transform": transform, "val_transform": transform}
    pages.run("python-frameworks", folder, names)
    assert sum(len(labels) for _, labels in names["train_loader"]) == 24 and next(iter(names["val_loader"]))[0].shape == (4, 3, 24, 24)


def test_hugging_face(folder):
    fields = {"pixel_values": ffkit.ImageField("image", test_huggingface.VAL), "labels": ffkit.IntegerField("label")}
    model, options = test_huggingface.Network(transformers.PretrainedConfig()), test_huggingface.arguments(folder / "run", num_train_epochs=1)
    network = networks.tiny()
    names = {"ffkit": ffkit, "transformers": transformers, "model": model, "args": options, "val": ffkit.hf.Dataset(folder / "fast/imagenet", "val", fields=fields), "accuracy": test_huggingface.right,
             "ds": dataset(folder, "train"), "val_ds": dataset(folder, "val"), "accelerator": accelerate.Accelerator(cpu=True), "optimizer": torch.optim.SGD(network.parameters(), 0.1)}  # fmt: skip

    def before(i):
        if i == 1:
            names["model"] = network

    pages.run("python-huggingface", folder, names, before)
    assert len(model.losses) == 3  # 24 pictures, eight a batch
    assert next(iter(names["train"]))["image"].shape == (2, 3, 224, 224) and sum(len(batch["label"]) for batch in names["val"]) == 8


def test_jax(folder):
    step = jax.jit(lambda params, state, batch: (params + 1, state, batch["image"].mean() + batch["label"].mean()))
    names = pages.run("python-jax", folder, {"ffkit": ffkit, "jax": jax, "ds": dataset(folder, "train"), "params": 0, "state": 0, "step": step})
    assert names["params"] == 12 and numpy.isfinite(names["loss"])


def test_lightning_fits(folder):
    model = test_lightning.Module()
    pages.run("python-lightning", folder, {"ffkit": ffkit, "lightning": lightning, "model": model})
    assert len(model.losses) == 12
