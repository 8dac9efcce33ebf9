"""lightning.Trainer with ffkit's loaders: fit, validate, predict, checkpoints in the middle of an epoch, two ranks."""
import importlib.util
import json
import logging
import pathlib
import types
import warnings

import pytest
import torch

import ffkit
import ffkit.lightning
import ffkit.torch
import lightning
import networks
from lightning.pytorch.plugins.environments import TorchElasticEnvironment
import ranks
from pictures import data  # noqa: F401

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
EXAMPLES = pathlib.Path(__file__).parents[3] / "examples" / "python"
TRAIN, VAL = ffkit.RandomResizedCrop(24, flip_probability=0.5), ffkit.Resize((24, 24))
QUIET = {"accelerator": "cpu", "logger": False, "enable_progress_bar": False, "enable_model_summary": False, "enable_checkpointing": False}


class Module(lightning.LightningModule):
    """As in Lightning's examples, for batches that are dicts or tuples."""

    def __init__(self):
        super().__init__()
        self.network = networks.tiny()
        self.losses, self.seen, self.steps, self.num_evaluated = [], [], [], 0

    def training_step(self, batch, batch_idx):
        images, labels = batch if isinstance(batch, (tuple, list)) else (batch["image"], batch["label"])
        loss = torch.nn.functional.cross_entropy(self.network(images), labels)
        self.log("train_loss", loss, prog_bar=True)
        self.losses.append(loss.item())
        self.seen.append(images.sum((1, 2, 3)).tolist())
        return loss

    def validation_step(self, batch, batch_idx):
        images, labels = batch if isinstance(batch, (tuple, list)) else (batch["image"], batch["label"])
        output = self.network(images)
        self.log("val_loss", torch.nn.functional.cross_entropy(output, labels), sync_dist=True)
        self.log("val_right", (output.argmax(1) == labels).float().sum(), reduce_fx="sum", sync_dist=True)
        self.log("val_count", float(len(labels)), reduce_fx="sum", sync_dist=True)
        self.num_evaluated += len(labels)

    test_step = validation_step

    def predict_step(self, batch, batch_idx):
        images = batch[0] if isinstance(batch, (tuple, list)) else batch["image"]
        return self.network(images)

    def configure_optimizers(self):
        optimizer = torch.optim.SGD(self.parameters(), 0.02, momentum=0.9)
        return {"optimizer": optimizer, "lr_scheduler": torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 6)}


def dict_loaders(data):
    train = ffkit.Loader(ffkit.Dataset(data, "train"), 8, image=TRAIN, tail="exact", num_threads=1)
    return train, ffkit.Loader(ffkit.Dataset(data, "val"), 8, image=VAL, order="sequential", tail="exact", num_threads=1)


def tuple_loaders(data):
    train = ffkit.torch.DataLoader(ffkit.Dataset(data, "train"), 8, shuffle=True, transform=ffkit.ImageOptions(TRAIN), num_workers=1)
    return train, ffkit.torch.DataLoader(ffkit.Dataset(data, "val"), 8, transform=ffkit.ImageOptions(VAL), num_workers=1)


def module_loaders(data):
    return ffkit.lightning.DataModule(data, 8, train_image=TRAIN, eval_image=VAL, test_split="val", num_threads=1), None


@pytest.fixture(params=[dict_loaders, tuple_loaders, module_loaders])
def loaders(request, data):
    return lambda: request.param(data)


def fit(loaders, module=None, trainer=None, **options):
    train, val = loaders()
    module = module or Module()
    trainer = trainer or lightning.Trainer(**QUIET, **{"max_epochs": 3} | {k: v for k, v in options.items() if k != "ckpt_path"})
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*does not have many workers.*|.*treespec, LeafSpec.*")
        trainer.fit(module, train, val, ckpt_path=options.get("ckpt_path"), **({"weights_only": False} if "ckpt_path" in options else {}))
    return module, trainer


def test_fit(loaders):
    module, trainer = fit(loaders)
    assert len(module.losses) == 3 * 8 and trainer.global_step == 24
    epochs = [sum(module.seen[i * 8 : i * 8 + 8], []) for i in range(3)]
    assert [len(epoch) for epoch in epochs] == [61] * 3 and epochs[0] != epochs[1] != epochs[2]
    assert trainer.callback_metrics["val_count"] == 21


class SaveAt(lightning.Callback):
    """A checkpoint after so many batches, as before a job is ended."""

    def __init__(self, steps, path):
        self.steps, self.path = steps, path

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
        if trainer.global_step in self.steps:
            trainer.save_checkpoint(self.path / f"{trainer.global_step}.ckpt")


@pytest.mark.parametrize("step", [3, 11, 16])
def test_resume_in_mid_epoch_is_the_whole_run(loaders, tmp_path, step):
    whole, _ = fit(loaders, callbacks=[SaveAt([step], tmp_path)])
    rest, trainer = fit(loaders, ckpt_path=tmp_path / f"{step}.ckpt")
    assert trainer.global_step == 24
    assert rest.seen == whole.seen[step:]  # no sample twice, none left out
    assert rest.losses == whole.losses[step:]
    assert all(torch.equal(a, b) for a, b in zip(whole.network.state_dict().values(), rest.network.state_dict().values()))


def test_resume_twice(loaders, tmp_path):
    whole, _ = fit(loaders, callbacks=[SaveAt([5], tmp_path)])
    second, _ = fit(loaders, ckpt_path=tmp_path / "5.ckpt", callbacks=[SaveAt([14], tmp_path)])
    third, _ = fit(loaders, ckpt_path=tmp_path / "14.ckpt")
    assert second.seen == whole.seen[5:] and third.seen == whole.seen[14:] and third.losses == whole.losses[14:]


def test_checkpoint_at_the_end_of_an_epoch(loaders, tmp_path):
    """ModelCheckpoint's last.ckpt, which it writes after the validation."""
    checkpoint = lightning.pytorch.callbacks.ModelCheckpoint(tmp_path, save_last=True, filename="{epoch}", save_top_k=-1, every_n_epochs=1)
    whole, _ = fit(loaders, trainer=lightning.Trainer(**QUIET | {"enable_checkpointing": True}, max_epochs=3, callbacks=[checkpoint]))
    rest, _ = fit(loaders, ckpt_path=tmp_path / "epoch=0.ckpt")
    assert rest.seen == whole.seen[8:] and rest.losses == whole.losses[8:]


def test_limited_epochs_are_not_the_same_samples(loaders):
    module, _ = fit(loaders, limit_train_batches=3, limit_val_batches=1)
    epochs = [sum(module.seen[i * 3 : i * 3 + 3], []) for i in range(3)]
    assert len(module.seen) == 9 and epochs[0] != epochs[1] != epochs[2] != epochs[0]


def test_validation_within_an_epoch(loaders):
    module, trainer = fit(loaders, val_check_interval=4, max_epochs=1)
    assert len(sum(module.seen, [])) == 61
    assert module.num_evaluated == 16 + 2 * 21  # the check before training has two batches


def test_accumulated_gradients(loaders):
    _, trainer = fit(loaders, accumulate_grad_batches=3)
    assert trainer.global_step == 3 * 3  # 3, 3 and 2 batches


def test_reloaded_each_epoch(loaders):
    module, _ = fit(loaders, reload_dataloaders_every_n_epochs=1)
    epochs = [sum(module.seen[i * 8 : i * 8 + 8], []) for i in range(3)]
    assert [len(epoch) for epoch in epochs] == [61] * 3 and epochs[0] != epochs[1] != epochs[2]


def test_validate_and_predict(loaders):
    train, val = loaders()
    trainer = lightning.Trainer(**QUIET)
    module = Module().eval()
    data = {"datamodule": train} if val is None else {"dataloaders": val}
    (found,) = trainer.validate(module, **data, verbose=False)
    assert found["val_count"] == 21
    predictions = trainer.predict(module, **data)
    assert [len(one) for one in predictions] == [8, 8, 5]
    assert trainer.test(module, **data, verbose=False)[0]["val_right"] == found["val_right"]
    again = lightning.Trainer(**QUIET).predict(module, **data)
    assert torch.equal(torch.cat(predictions), torch.cat(again))


def test_several_loaders_at_once(data):
    """CombinedLoader: a dict of loaders, of which the shorter begins again."""
    train, val = dict_loaders(data)

    class Both(Module):
        def training_step(self, batch, batch_idx):
            return super().training_step(batch["a"], batch_idx) + 0 * batch["b"]["image"].mean()

    module = Both()
    trainer = lightning.Trainer(**QUIET, max_epochs=2)
    trainer.fit(module, {"a": train, "b": val})
    assert len(module.losses) == 16


def test_predictions_may_be_whole_batches(data):
    class Echo(Module):
        def predict_step(self, batch, batch_idx):
            return batch

    _, val = dict_loaders(data)
    images = torch.cat([batch["image"].clone() for batch in val])
    for loader in (tuple_loaders(data)[1], ffkit.Loader(ffkit.Dataset(data, "val"), 8, image=VAL, order="sequential", tail="exact", num_threads=1, memory=ffkit.Memory(copy=True))):
        kept = lightning.Trainer(**QUIET).predict(Echo(), loader)
        assert torch.equal(torch.cat([one["image"] if isinstance(one, dict) else one[0] for one in kept]), images)


def by_two_ranks(loaders, folder):
    module = Module()
    trainer = lightning.Trainer(**QUIET, max_epochs=2, devices=2, strategy="ddp", num_sanity_val_steps=0, plugins=[TorchElasticEnvironment()],
                                callbacks=[SaveAt([6], folder)])
    train, val = loaders()
    trainer.fit(module, train, val)
    found = {name: value.item() for name, value in trainer.callback_metrics.items()}
    resumed = Module()
    trainer = lightning.Trainer(**QUIET, max_epochs=2, devices=2, strategy="ddp", num_sanity_val_steps=0, plugins=[TorchElasticEnvironment()])
    train, val = loaders()
    trainer.fit(resumed, train, val, ckpt_path=folder / "6.ckpt", weights_only=False)
    return module.seen, found, resumed.seen == module.seen[6:]


def test_two_ranks(data, tmp_path):
    for make in (tuple_loaders, module_loaders):
        # Lightning asks for the loaders when the ranks are there, or takes what the script made
        # before: here it is a hook.
        (first, found, resumed), (second, found_too, resumed_too) = ranks.run(by_two_ranks, lambda: _late(make, data), tmp_path)
        assert found["val_count"] == found_too["val_count"] == 21
        assert resumed and resumed_too
        for epoch in (0, 1):
            parts = [sum(seen[epoch * 4 : epoch * 4 + 4], []) for seen in (first, second)]
            assert [len(part) for part in parts] == [31, 31]
            assert len({*parts[0], *parts[1]}) >= 60  # crops of one picture may be the same by chance


def _late(make, data):
    if make is module_loaders:
        return make(data)
    return LateLoaders(make, data), None


class LateLoaders(lightning.LightningDataModule):
    def __init__(self, make, data):
        super().__init__()
        self.make, self.folder = make, data

    def train_dataloader(self):
        return self.make(self.folder)[0]

    def val_dataloader(self):
        return self.make(self.folder)[1]


def test_data_module(data):
    module = ffkit.lightning.DataModule(data, 8, eval_image=VAL, num_threads=1, val_split=None)
    assert module.val_dataloader() == []
    with pytest.raises(ffkit.NotFoundError, match="test"):
        module.test_dataloader()
    assert str(module) == repr(module) == f"<ffkit.lightning.DataModule: {data}, batches of 8>"
    module.batch_size = 4  # as Lightning's Tuner does
    assert len(module.train_dataloader()) == 16
    batch = next(iter(ffkit.lightning.DataModule(data, 8, eval_image=VAL, fields={"id": ffkit.TextField("id")}).predict_dataloader()))
    assert sorted(batch.keys()) == ["id", "image", "label"] and json.dumps(batch["id"])


def test_ranks_that_hold_one_model_load_the_same(data):
    """ModelParallelStrategy with two data parallel groups: what it says counts, not torch.distributed."""
    module = ffkit.lightning.DataModule(data, 8, train_image=TRAIN, eval_image=VAL, num_threads=1)
    module.trainer = types.SimpleNamespace(distributed_sampler_kwargs={"num_replicas": 2, "rank": 1})
    assert [(loader.rank, loader.world_size) for loader in (module.train_dataloader(), module.val_dataloader())] == [(1, 2)] * 2


def test_example(data, tmp_path):
    spec = importlib.util.spec_from_file_location("lightning_classifier", EXAMPLES / "lightning_classifier.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    options = {"model": "mobilenet_v3_small", "batch_size": 8, "size": 32, "work_dir": tmp_path, **QUIET, "enable_checkpointing": True}
    trainer = module.main(data, epochs=1, **options)
    assert trainer.global_step == 8 and 0 <= trainer.callback_metrics["val_accuracy"] <= 1
    assert module.main(data, epochs=2, ckpt=tmp_path / "last.ckpt", **options).global_step == 16
