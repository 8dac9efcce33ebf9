"""examples/python/train_imagenet.py: its losses, its answers and its resume; runs in the Python with torch."""
import importlib.util
import io
import json
import multiprocessing
import os
import pathlib
import socket
import sys

import PIL.Image
import pytest
import torch
import torch.distributed.run
from torchvision import transforms

import conftest
import ffkit

SCRIPT = pathlib.Path(__file__).parents[3] / "examples" / "python" / "train_imagenet.py"


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("train_imagenet", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    torch.set_num_threads(1)
    return module


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """60 pictures of 4 classes for training, and 21 for validation, which two ranks cannot share evenly."""
    folder = tmp_path_factory.mktemp("pictures") / "demo"
    conftest.convert("demo", folder, "--classes", 4, "--images", 60, "--val-images", 21, "--size", 48, "--quiet")
    return folder


def arguments(data, work_dir, *more):
    words = [data, "--model", "tiny", "--image-size", 32, "--epochs", 3, "--batch-size", 8, "--warmup-epochs", 1, "--lr", 2, "--num-threads", 1]
    return [str(word) for word in [*words, "--work-dir", work_dir, *more]]


class Pictures(torch.utils.data.Dataset):
    """What torchvision's own loader would serve: Pillow decodes, torchvision resizes and crops."""

    def __init__(self, ds, image_size):
        self.ds = ds
        self.transform = transforms.Compose([transforms.Resize(image_size * 256 // 224), transforms.CenterCrop(image_size), transforms.PILToTensor()])

    def __len__(self):
        return len(self.ds)

    def __getitem__(self, i):
        sample = self.ds[i]
        picture = PIL.Image.open(io.BytesIO(sample["image"])).convert("RGB")
        return {"image": self.transform(picture).permute(1, 2, 0), "label": sample["label"]}


class TorchLoader:
    """torch.utils.data.DataLoader for the loop of the example: another data set and order each epoch."""

    def __init__(self, epochs, batch_size):
        self.epochs = epochs
        self.batch_size = batch_size
        self.epoch = 0

    def __iter__(self):
        # A generator's code after its last item runs when the loop over it ends.
        yield from torch.utils.data.DataLoader(self.epochs[self.epoch % len(self.epochs)], self.batch_size, num_workers=1)
        self.epoch += 1

    def state_dict(self):
        return {}


def test_losses_and_answers_are_those_over_torchs_loader(example, data, tmp_path):
    args = example.parse_arguments(arguments(data, tmp_path / "ours"))
    ranks = example.Ranks()
    ours = example.train(args, ranks, *example.make_loaders(args, ranks), 60, 4)

    decoded = []  # of each epoch its samples, in their order
    loader, _ = example.make_loaders(args, ranks)
    for _ in range(args.epochs):
        decoded.append([{"image": image.clone(), "label": label.clone()} for batch in loader for image, label in zip(batch["image"], batch["label"])])
    args.work_dir = tmp_path / "torchs"
    val = Pictures(ffkit.Dataset(data, "val"), 32)
    torchs = example.train(args, ranks, TorchLoader(decoded, 8), TorchLoader([val], 8), 60, 4)

    assert len(ours) == 3 and ours == torchs  # to the last bit
    assert ours[2]["train_loss"] < ours[0]["train_loss"] and ours[2]["total"] == 21


def forked(example, data, work_dir, *more, world_size=2):
    """The script's ranks as forks of this process: torch is imported already."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    def run(rank):
        os.environ.update(RANK=str(rank), WORLD_SIZE=str(world_size), LOCAL_RANK=str(rank), LOCAL_WORLD_SIZE=str(world_size), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
        example.main(arguments(data, work_dir, *more))

    processes = [multiprocessing.get_context("fork").Process(target=run, args=(rank,)) for rank in range(world_size)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(100)
    assert [process.exitcode for process in processes] == [0] * world_size
    return json.loads((work_dir / "metrics.json").read_text())


def test_torchrun_and_resume(example, data, tmp_path, capfd):
    path = os.pathsep.join([os.environ["PYTHONPATH"], *sys.path[-1:]])  # for what run.py adds
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("PYTHONPATH", path)
        environment.setenv("OMP_NUM_THREADS", "1")
        # What `torchrun` calls, here where torch is imported already.
        torch.distributed.run.main(["--standalone", "--nproc-per-node", "2", str(SCRIPT), *arguments(data, tmp_path / "whole", "--bf16")])
    printed = capfd.readouterr().out
    assert printed.count("\n") == 3 and "epoch 3/3" in printed
    whole = json.loads((tmp_path / "whole" / "metrics.json").read_text())

    # Ended in the middle of an epoch, at the end of one, and resumed: the same run.
    assert len(forked(example, data, tmp_path / "parts", "--bf16", "--max-steps", 5)) == 1
    assert len(forked(example, data, tmp_path / "parts", "--bf16", "--max-steps", 1, "--resume")) == 1
    assert forked(example, data, tmp_path / "parts", "--bf16", "--resume") == whole

    # Each picture was evaluated once: one rank says the same of the same network.
    args = example.parse_arguments(arguments(data, tmp_path, "--bf16"))
    ranks = example.Ranks()
    train, val = example.make_loaders(args, ranks)
    training = example.Training(args, ranks, 60, 4)
    training.load(torch.load(tmp_path / "parts" / "checkpoint.pt"), train)
    loss, right, total = training.evaluate(val)
    assert (right, total) == (whole[2]["right"], whole[2]["total"]) and total == 21
    assert loss == pytest.approx(whole[2]["val_loss"], rel=1e-2)  # bf16 in batches of other sizes


def test_resume_with_another_number_of_ranks(example, data, tmp_path):
    forked(example, data, tmp_path / "run", "--max-steps", 4)
    history = forked(example, data, tmp_path / "run", "--resume", world_size=1)
    assert [one["epoch"] for one in history] == [0, 1, 2]
    # 48 pictures of an epoch by two ranks; then 12 that were left of 60 (as 8 and 4 that are
    # dropped), or all of the next epoch.
    state = torch.load(tmp_path / "run" / "checkpoint.pt")
    assert state["num_seen"] > 2 * 48


def test_a_run_is_not_overwritten(example, data, tmp_path):
    (tmp_path / "checkpoint.pt").write_bytes(b"")
    with pytest.raises(SystemExit, match="--resume"):
        example.main(arguments(data, tmp_path))


def test_networks_of_torchvision(example, data, tmp_path):
    args = example.parse_arguments([*arguments(data, tmp_path, "--bf16"), "--model", "mobilenet_v3_small", "--max-steps", "1", "--batch-size", "4"])
    ranks = example.Ranks()
    example.train(args, ranks, *example.make_loaders(args, ranks), 60, 4)
    assert torch.load(tmp_path / "checkpoint.pt")["num_seen"] == 4
