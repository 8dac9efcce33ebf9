"""Trains a network of torchvision on pictures in classes, by as many processes as torchrun starts.

    torchrun --nproc-per-node 8 examples/python/train_imagenet.py /fast/imagenet --work-dir run

DATA is what `ffconvert imagenet` or `ffkit.convert.imagenet()` has written, with the splits train
and val. Without torchrun one process trains. The same command with --resume goes on where a run was
ended, also with another number of processes; with the same number the result is that of a run that
was never ended. run/checkpoint.pt holds everything, run/metrics.json the results of each epoch."""

import argparse
import json
import math
import os
import pathlib

import torch
import torch.distributed as dist
import torchvision
from torch import nn

import ffkit
import ffkit.torch


def parse_arguments(arguments=None):
    parser = argparse.ArgumentParser(description="Trains a network of torchvision; under torchrun with one process a GPU.")
    parser.add_argument("data", help="folder with the splits train and val")
    parser.add_argument("--model", default="resnet50", help="a name that torchvision.models.get_model takes, or tiny")
    parser.add_argument("--image-size", type=int, default=224)
    parser.add_argument("--epochs", type=int, default=90)
    parser.add_argument("--batch-size", type=int, default=256, help="pictures of a step, of each process")
    parser.add_argument("--lr", type=float, default=0.1, help="for 256 pictures of a step of all processes; others in proportion")
    parser.add_argument("--weight-decay", type=float, default=1e-4)
    parser.add_argument("--warmup-epochs", type=float, default=5)
    parser.add_argument("--bf16", action="store_true", help="autocast to bfloat16")
    parser.add_argument("--num-threads", type=int, default=0, help="that decode, of each process; 0: its share of the cores")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--work-dir", type=pathlib.Path, default=pathlib.Path("run"))
    parser.add_argument("--resume", action="store_true", help="go on from the checkpoint in the work dir")
    parser.add_argument("--checkpoint-steps", type=int, default=0, help="a checkpoint every so many steps, beside that of each epoch")
    parser.add_argument("--max-steps", type=int, default=0, help="end after so many steps with a checkpoint, as where a job's time is limited")
    return parser.parse_args(arguments)


class Ranks:
    """The processes that train together: gloo on CPUs, nccl on GPUs; one process without
    torchrun."""

    def __init__(self):
        self.rank = int(os.environ.get("RANK", 0))
        self.world_size = int(os.environ.get("WORLD_SIZE", 1))
        if torch.cuda.is_available():
            self.device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0)))
            torch.cuda.set_device(self.device)
        else:
            self.device = torch.device("cpu")
        if self.world_size > 1:
            dist.init_process_group("nccl" if self.device.type == "cuda" else "gloo")

    def sum(self, values):
        """Adds up numbers over all ranks, in double precision."""
        total = torch.tensor(values, dtype=torch.float64, device=self.device)
        if self.world_size > 1:
            dist.all_reduce(total)
        return total.tolist()

    def end(self):
        if self.world_size > 1:
            dist.barrier()
            dist.destroy_process_group()


def make_loaders(args, ranks):
    """Of training and of validation. Pictures come as bytes, which are a quarter of floats to copy;
    Network makes floats of them on the device."""

    def bytes_of(transform):
        return ffkit.ImageOptions(transform, dtype="u8", layout="nhwc")

    shared = {
        "batch_size": args.batch_size, "seed": args.seed, "rank": ranks.rank, "world_size": ranks.world_size,
        "num_threads": args.num_threads, "arrays": "torch",
    }  # fmt: skip
    train = ffkit.Loader(ffkit.Dataset(args.data, "train"), image=bytes_of(ffkit.RandomResizedCrop(args.image_size, flip_probability=0.5)), **shared)
    # "exact": each picture is evaluated once, by one rank.
    resize = ffkit.ResizeCenterCrop(args.image_size * 256 // 224, args.image_size)
    val = ffkit.Loader(ffkit.Dataset(args.data, "val"), image=bytes_of(resize), order="sequential", tail="exact", **shared)
    return ffkit.torch.to_device(train, ranks.device), ffkit.torch.to_device(val, ranks.device)


class Network(nn.Module):
    """A network of torchvision that takes pictures u8 [N, H, W, 3]."""

    def __init__(self, name, num_classes):
        super().__init__()
        self.register_buffer("mean", 255 * torch.tensor(ffkit.IMAGENET_MEAN).view(3, 1, 1), persistent=False)
        self.register_buffer("std", 255 * torch.tensor(ffkit.IMAGENET_STD).view(3, 1, 1), persistent=False)
        self.layers = tiny(num_classes) if name == "tiny" else torchvision.models.get_model(name, weights=None, num_classes=num_classes)

    def forward(self, pictures):
        return self.layers((pictures.permute(0, 3, 1, 2) - self.mean) / self.std)  # channels_last, without a copy


def tiny(num_classes):
    """A network for tests."""
    layers = [nn.Conv2d(3, 16, 3, 2, 1), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 32, 3, 2, 1), nn.BatchNorm2d(32), nn.ReLU()]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.1), nn.Linear(32, num_classes))


class Training:
    def __init__(self, args, ranks, num_train, num_classes):
        self.args = args
        self.ranks = ranks
        self.num_train = num_train
        self.num_seen = 0  # pictures, of all ranks and epochs
        self.losses = [0.0, 0.0]  # of this rank in this epoch: their sum, and of how many pictures
        self.history = []  # results of the epochs that are done
        torch.manual_seed(args.seed)
        network = Network(args.model, num_classes).to(ranks.device, memory_format=torch.channels_last)
        self.network = network
        self.model = nn.parallel.DistributedDataParallel(network) if ranks.world_size > 1 else network
        self.optimizer = torch.optim.SGD(network.parameters(), args.lr, momentum=0.9, weight_decay=args.weight_decay, nesterov=True)

    def learning_rate(self):
        """A cosine after a linear warm-up, by the seen pictures: the same for any number of
        ranks."""
        epoch = self.num_seen / self.num_train
        peak = self.args.lr * self.args.batch_size * self.ranks.world_size / 256
        if epoch < self.args.warmup_epochs:
            return peak * (epoch + 0.01) / self.args.warmup_epochs
        rest = (epoch - self.args.warmup_epochs) / max(1e-9, self.args.epochs - self.args.warmup_epochs)
        return peak * 0.5 * (1 + math.cos(math.pi * min(1, rest)))

    def loss(self, model, batch, **options):
        with torch.autocast(self.ranks.device.type, torch.bfloat16, enabled=self.args.bf16):
            logits = model(batch["image"])
        return logits, nn.functional.cross_entropy(logits.float(), batch["label"], **options)

    def step(self, batch):
        # Dropout draws from a place of its own at each step, so a run that was resumed draws the
        # same.
        torch.manual_seed(self.args.seed + self.num_seen + self.ranks.rank)
        self.optimizer.param_groups[0]["lr"] = self.learning_rate()
        _, loss = self.loss(self.model, batch)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        size = len(batch["label"])
        # The sum stays on the device: reading it would make the processor wait for each step.
        self.losses = [self.losses[0] + size * loss.detach().double(), self.losses[1] + size]
        self.num_seen += size * self.ranks.world_size

    @torch.no_grad()
    def evaluate(self, batches):
        """Mean loss, right answers and pictures, exactly: each picture counts once for any number
        of ranks."""
        if self.ranks.world_size > 1:
            for buffer in self.network.buffers():  # each rank has batch norm's averages of its own pictures; those of rank 0 are saved
                dist.broadcast(buffer, 0)
        self.network.eval()
        losses, right, total = torch.zeros((), dtype=torch.float64, device=self.ranks.device), 0, 0
        for batch in batches:
            logits, loss = self.loss(self.network, batch, reduction="sum")
            losses += loss
            right = right + (logits.argmax(1) == batch["label"]).sum()
            total += len(batch["label"])
        self.network.train()
        losses, right, total = self.ranks.sum([float(losses), int(right), total])
        return losses / total, int(right), int(total)

    def state(self, loader):
        """Everything that a checkpoint has. All ranks call it: their losses are added up."""
        return {
            "network": self.network.state_dict(), "optimizer": self.optimizer.state_dict(), "loader": loader.state_dict(), "num_seen": self.num_seen,
            "losses": self.ranks.sum([float(self.losses[0]), self.losses[1]]), "history": self.history,
        }  # fmt: skip

    def load(self, state, loader):
        self.network.load_state_dict(state["network"])
        self.optimizer.load_state_dict(state["optimizer"])
        loader.load_state_dict(state["loader"])
        self.num_seen, self.history = state["num_seen"], state["history"]
        self.losses = state["losses"] if self.ranks.rank == 0 else [0.0, 0.0]


def save(training, loader):
    """On rank 0, writes checkpoint.pt and metrics.json. Each file is complete or unchanged."""
    state = training.state(loader)
    if training.ranks.rank != 0:
        return
    work_dir = training.args.work_dir
    torch.save(state, work_dir / "checkpoint.pt.new")
    os.replace(work_dir / "checkpoint.pt.new", work_dir / "checkpoint.pt")
    (work_dir / "metrics.json.new").write_text(json.dumps(training.history, indent=1))
    os.replace(work_dir / "metrics.json.new", work_dir / "metrics.json")


def train(args, ranks, train_batches, val_batches, num_train, num_classes):
    """The loop. `train_batches` is any loader with `epoch`, state_dict() and load_state_dict().
    Returns the results of the epochs."""
    training = Training(args, ranks, num_train, num_classes)
    checkpoint = args.work_dir / "checkpoint.pt"
    args.work_dir.mkdir(parents=True, exist_ok=True)
    if args.resume and checkpoint.exists():
        training.load(torch.load(checkpoint, map_location=ranks.device), train_batches)
    num_steps = 0
    for epoch in range(train_batches.epoch, args.epochs):
        for batch in train_batches:
            training.step(batch)
            num_steps += 1
            if num_steps == args.max_steps:
                save(training, train_batches)
                return training.history
            if args.checkpoint_steps and num_steps % args.checkpoint_steps == 0:
                save(training, train_batches)
        loss_sum, num_losses = ranks.sum([float(training.losses[0]), training.losses[1]])
        training.losses = [0.0, 0.0]
        val_loss, right, total = training.evaluate(val_batches)
        training.history.append({"epoch": epoch, "train_loss": loss_sum / num_losses, "val_loss": val_loss, "right": right, "total": total})
        save(training, train_batches)
        if ranks.rank == 0:
            print(
                f"epoch {epoch + 1}/{args.epochs}  train loss {loss_sum / num_losses:.4f}  val loss {val_loss:.4f}  "
                f"top-1 {100 * right / total:.2f} % ({right} of {total})", flush=True,
            )  # fmt: skip
    return training.history


def main(arguments=None):
    args = parse_arguments(arguments)
    checkpoint = args.work_dir / "checkpoint.pt"
    if checkpoint.exists() and not args.resume:
        raise SystemExit(f"train_imagenet.py: error: {checkpoint} is there already; give --resume to go on, or another --work-dir")
    ranks = Ranks()
    train_batches, val_batches = make_loaders(args, ranks)
    dataset = train_batches.loader.dataset
    train(args, ranks, train_batches, val_batches, len(dataset), len(dataset.classes))
    ranks.end()


if __name__ == "__main__":
    main()
