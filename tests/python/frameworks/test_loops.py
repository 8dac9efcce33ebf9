"""Training loops as their authors wrote them, but for the line that makes the loader: in the shape of PyTorch's ImageNet example, of torchvision's reference and of timm's train.py;
torchdata's contract; torch.compile, DDP and DataParallel's scatter over a Batch."""
import io
import itertools
import json
import warnings

import numpy
import pytest
import torch
import torch.distributed
import torch.distributed.checkpoint
import torch.utils.data
import torchvision
from torch.nn.parallel import DistributedDataParallel, scatter_gather
from torchvision.transforms import v2

import ffkit
import ffkit.torch
import loops
import networks
import ranks
from pictures import data  # noqa: F401

TRAIN = ffkit.ImageOptions(ffkit.RandomResizedCrop(24, flip_probability=0.5))
VAL = ffkit.ImageOptions(ffkit.Resize((24, 24)))


def ours(data, split, batch_size=8, **options):
    return ffkit.torch.DataLoader(ffkit.Dataset(data, split), batch_size=batch_size, shuffle=split == "train", transform=TRAIN if split == "train" else VAL, num_workers=1, **options)


def imagenet_example(data):
    """Its history by ffkit's loader and by torch's over the same samples."""
    train, val = loops.Recorded(ours(data, "train")), loops.Recorded(ours(data, "val"))
    by_ffkit = loops.imagenet_main(lambda: train, lambda: val)
    assert train.epochs[0][0][1] is not None and not torch.equal(train.epochs[0][0][0], train.epochs[1][0][0])
    return by_ffkit, loops.imagenet_main(lambda: loops.Replayed(train, 8), lambda: loops.Replayed(val, 8))


def torchs_sizes(num_samples, batch_size, rank, world_size, shuffle):
    """Sizes of the batches that torch's loader gives this rank."""
    dataset = torch.arange(num_samples)
    sampler = torch.utils.data.distributed.DistributedSampler(dataset, world_size, rank, shuffle=shuffle) if world_size > 1 else None
    return [len(batch) for batch in torch.utils.data.DataLoader(dataset, batch_size, shuffle=shuffle and sampler is None, sampler=sampler)]


def test_imagenet_example(data):
    by_ffkit, by_torch = imagenet_example(data)
    assert by_ffkit == by_torch  # to the last bit
    assert by_ffkit[0][2] == torchs_sizes(61, 8, 0, 1, True) and sum(by_ffkit[0][2]) == 61
    assert by_ffkit[0][5] == 21
    assert by_ffkit[3][0] < by_ffkit[0][0]  # it learns


def test_imagenet_example_by_two_ranks(data):
    for rank, (by_ffkit, by_torch) in enumerate(ranks.run(ranks.in_group, imagenet_example, data)):
        assert by_ffkit == by_torch
        assert by_ffkit[0][2] == torchs_sizes(61, 8, rank, 2, True) and sum(by_ffkit[0][2]) == 31
        assert by_ffkit[0][5] == 21  # not 22, of which one counts twice


def torchvision_reference(data):
    warnings.simplefilter("error")
    transform = v2.Compose([v2.RandomResizedCrop(24, antialias=True), v2.RandomHorizontalFlip(0.5), v2.PILToTensor(), v2.ToDtype(torch.float, scale=True),
                            v2.Normalize(mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225)), v2.RandomErasing(p=0.1), v2.ToPureTensor()])
    eval_transform = v2.Compose([v2.Resize(26, antialias=True), v2.CenterCrop(24), v2.PILToTensor(), v2.ToDtype(torch.float, scale=True),
                                 v2.Normalize(mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225)), v2.ToPureTensor()])
    train = loops.Recorded(ffkit.torch.DataLoader(ffkit.Dataset(data, "train"), batch_size=8, shuffle=True, transform=transform, num_workers=1, pin_memory=False))
    val = loops.Recorded(ffkit.torch.DataLoader(ffkit.Dataset(data, "val"), batch_size=8, transform=eval_transform, num_workers=1, pin_memory=False))
    return loops.torchvision_main(train, val), loops.torchvision_main(loops.Replayed(train, 8), loops.Replayed(val, 8))


def test_torchvision_reference_by_two_ranks(data):
    for by_ffkit, by_torch in ranks.run(ranks.in_group, torchvision_reference, data):
        assert by_ffkit == by_torch and len(by_ffkit[0][0]) == 4
        assert [num for _, num, _ in by_ffkit] == [21, 21]


def test_timm_train(data):
    from timm.data import Mixup
    from timm.loss import SoftTargetCrossEntropy
    from timm.scheduler import create_scheduler_v2
    from timm.utils import AverageMeter, accuracy

    def run(loader_train, loader_eval):
        torch.manual_seed(0)
        numpy.random.seed(0)
        model = networks.tiny()
        optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
        updates_per_epoch = (len(loader_train) + 1) // 2
        scheduler, num_epochs = create_scheduler_v2(optimizer, sched="cosine", num_epochs=2, updates_per_epoch=updates_per_epoch)
        mixup_fn = Mixup(mixup_alpha=0.2, cutmix_alpha=1.0, num_classes=4)
        history = []
        for epoch in range(2):
            if hasattr(loader_train, "sampler") and hasattr(loader_train.sampler, "set_epoch"):
                loader_train.sampler.set_epoch(epoch)
            found = loops.timm_train_one_epoch(epoch, model, loader_train, optimizer, SoftTargetCrossEntropy(), 2, mixup_fn, mixup_off_epoch=1)
            model.eval()
            top1 = AverageMeter()
            with torch.inference_mode():
                for input, target in loader_eval:
                    top1.update(accuracy(model(input), target, topk=(1,))[0].item(), input.size(0))
            scheduler.step(epoch + 1)
            history.append((*found, top1.sum, top1.count))
        return history

    # mixup_fn needs batches of an even size: train.py's loader drops the last.
    train, val = loops.Recorded(ours(data, "train", drop_last=True)), loops.Recorded(ours(data, "val"))
    by_ffkit = run(train, val)
    assert by_ffkit == run(loops.Replayed(train, 8), loops.Replayed(val, 8))
    assert [(one[1], one[3]) for one in by_ffkit] == [(56, 21)] * 2


def test_timm_reader(data):
    """A data set as a reader of timm: its own transforms, loader and workers, at their speed."""
    from timm.data import ImageDataset, create_loader
    from timm.data.readers.reader import Reader

    class Records(Reader):
        def __init__(self, dataset):
            super().__init__()
            self.dataset = dataset

        def __len__(self):
            return len(self.dataset)

        def __getitem__(self, index):
            return io.BytesIO(self.dataset.field(index, "image")), self.dataset.field(index, "label")

    records = ffkit.Dataset(data, "val")
    loader = create_loader(ImageDataset("", reader=Records(records)), (3, 24, 24), 8, num_workers=2, use_prefetcher=False, crop_pct=1.0)
    batches = list(loader)
    assert torch.cat([labels for _, labels in batches]).tolist() == records.column("label").tolist() and batches[0][0].shape == (8, 3, 24, 24)
    assert (loader.batch_size, len(loader.dataset)) == (8, 21)
    mine = ours(data, "val")
    assert (mine.batch_size, len(mine.dataset)) == (8, 21)


# --- torchdata's StatefulDataLoader: what its tests ask of a state.

@pytest.fixture(params=["Loader", "DataLoader", "to_device"])
def stateful(request, data):
    def make():
        if request.param == "DataLoader":
            return ours(data, "train")
        loader = ffkit.Loader(ffkit.Dataset(data, "train"), 8, image=ffkit.Resize((8, 8)), tail="exact", num_threads=1)
        return ffkit.torch.to_device(loader, "cpu") if request.param == "to_device" else loader

    return make


def seen(batches):
    """Something that tells the samples of a batch."""
    return [(batch["image"] if isinstance(batch, dict) else batch[0]).sum((1, 2, 3)).tolist() for batch in batches]


def test_state_in_the_middle_of_an_epoch(stateful):
    """torchdata, TestStateful: num batches, a state, the rest; a second loader with the state has the rest."""
    for num in (0, 1, 4, 7):
        loader = stateful()
        batches = iter(loader)
        first = seen(itertools.islice(batches, num))
        state = loader.state_dict()
        rest = seen(batches)
        assert len(first) + len(rest) == 8
        resumed = stateful()
        resumed.load_state_dict(state)
        assert seen(resumed) == rest, num
        # The epoch after it is whole.
        assert seen(resumed) == seen(loader) and len(loader) == 8


def test_state_at_the_end_of_an_epoch(stateful):
    """torchdata, TestStateEndOfEpoch: the next loop is the next epoch, not an empty one."""
    loader = stateful()
    first = seen(loader)
    state = loader.state_dict()
    second = seen(loader)
    assert first != second and len(second) == 8
    resumed = stateful()
    resumed.load_state_dict(state)
    assert seen(resumed) == second


def test_state_after_each_batch_twice(stateful):
    """torchdata, TestMultiEpochState and TestJsonSerDe: resumed, taken on, resumed again; the state is data that JSON takes."""
    whole = stateful()
    want = seen(whole) + seen(whole)
    loader, got = stateful(), []
    while len(got) < 16:
        for batch in itertools.islice(loader, 3):
            got += seen([batch])
        state = json.loads(json.dumps(loader.state_dict()))
        loader = stateful()
        loader.load_state_dict(state)
    assert got[:16] == want


def test_state_is_taken_before_the_first_loop(stateful):
    """torchdata, TestInitialState: a state of a loader that nobody used."""
    loader = stateful()
    state = loader.state_dict()
    resumed = stateful()
    resumed.load_state_dict(state)
    assert seen(resumed) == seen(loader)


def test_state_of_an_iterator_that_is_left(stateful):
    """torchdata, TestFastStateDictRequest: a state between two loops is that of the loop that began last."""
    loader = stateful()
    next(iter(loader))
    again = iter(loader)
    state = loader.state_dict()
    want = seen(again)
    resumed = stateful()
    resumed.load_state_dict(state)
    assert seen(resumed) == want and len(want) == 8


def test_set_epoch_after_load_state_dict(stateful):
    """What every script for several ranks does."""
    loader = stateful()
    seen(loader)
    batches = iter(loader)
    next(batches)
    state = loader.state_dict()
    rest = seen(batches)
    resumed = stateful()
    resumed.load_state_dict(state)
    for epoch in range(resumed.epoch, 2):
        resumed.set_epoch(epoch)
        assert seen(resumed) == rest
    assert resumed.epoch == 2


def test_a_loop_that_counts_its_batches(stateful):
    """Lightning, Trainer and scripts take len(loader) batches and never ask for one more: that is an epoch, too."""
    whole = stateful()
    first, second = seen(whole), seen(whole)
    loader = stateful()
    for want in (first, second):
        batches = iter(loader)
        assert seen(next(batches) for _ in range(len(loader))) == want
    loader = stateful()
    assert seen(batch for _, batch in zip(range(8), loader)) == first
    resumed = stateful()
    resumed.load_state_dict(loader.state_dict())
    assert seen(resumed) == []  # what was left, as torchdata's
    assert seen(resumed) == second


def test_set_epoch_of_a_loop_that_has_taken_nothing(stateful):
    """Lightning begins its loop before it tells the sampler which epoch it is."""
    want = stateful()
    want.set_epoch(2)
    loader = stateful()
    batches = iter(loader)
    loader.sampler.set_epoch(2)
    assert seen(batches) == seen(want)


# --- A Batch where torch takes trees apart and makes them anew.

@pytest.fixture
def batch(data):
    return next(iter(ffkit.Loader(ffkit.Dataset(data, "train"), 8, image=ffkit.Resize((24, 24)), num_threads=1)))


def test_compile(batch):
    model = networks.tiny()
    model.eval()

    def step(batch):
        return torch.nn.functional.cross_entropy(model(batch["image"]), batch["label"])

    compiled = torch.compile(step, backend="aot_eager", fullgraph=True)
    assert compiled(batch).item() == pytest.approx(step(batch).item(), rel=1e-5)


def test_export(batch):
    class Network(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = networks.tiny()

        def forward(self, batch):
            return self.layers(batch["image"])

    network = Network().eval()
    exported = torch.export.export(network, (batch,))
    assert torch.equal(exported.module()(batch), network(batch))


def test_vmap_and_tree_map(batch):
    doubled = torch.utils._pytree.tree_map(lambda array: array * 2, batch)
    assert type(doubled) is ffkit.Batch and torch.equal(doubled["label"], batch["label"] * 2)
    sums = torch.func.vmap(lambda sample: sample["image"].sum() + sample["label"])(batch)
    assert torch.allclose(sums, batch["image"].sum((1, 2, 3)) + batch["label"], rtol=1e-4)


def test_collate_and_scatter(batch, monkeypatch):
    """What torch's loader does with a batch of a data set that yields batches; and what DataParallel does, with tensors that are split here and not for a GPU."""
    collated = torch.utils.data.default_convert(batch)
    assert list(collated) == ["image", "label"] and torch.equal(collated["image"], batch["image"])
    stacked = torch.utils.data.default_collate([batch, batch])
    assert stacked["image"].shape == (2, 8, 3, 24, 24)

    monkeypatch.setattr(scatter_gather.Scatter, "apply", lambda devices, chunk_sizes, dim, tensor: tensor.chunk(len(devices), dim))
    monkeypatch.setattr(scatter_gather.Gather, "apply", lambda device, dim, *tensors: torch.cat(tensors, dim))
    (arguments, keywords) = scatter_gather.scatter_kwargs((batch,), {"again": batch}, [0, 1])
    parts = [one for (one,) in arguments]
    assert [type(part) for part in parts] == [ffkit.Batch] * 2 and [part["image"].shape[0] for part in parts] == [4, 4]
    assert torch.equal(keywords[1]["again"]["label"], batch["label"][4:])
    assert torch.equal(scatter_gather.gather(parts, 0)["image"], batch["image"])


def test_distributed_checkpoint(data, tmp_path):
    def make():
        return ffkit.Loader(ffkit.Dataset(data, "train"), 8, image=ffkit.Resize((8, 8)), tail="exact", num_threads=1)

    loader = make()
    batches = iter(loader)
    next(batches)
    torch.distributed.checkpoint.save({"loader": loader}, checkpoint_id=tmp_path)
    resumed = make()
    torch.distributed.checkpoint.load({"loader": resumed}, checkpoint_id=tmp_path)
    assert seen(resumed) == seen(batches)


def ddp_takes_a_batch(data):
    class Network(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = networks.tiny()

        def forward(self, batch):
            return torch.nn.functional.cross_entropy(self.layers(batch["image"]), batch["label"])

    network = DistributedDataParallel(Network(), device_ids=None)
    loader = ffkit.Loader(ffkit.Dataset(data, "train"), 8, image=TRAIN, num_threads=1)
    optimizer = torch.optim.SGD(network.parameters(), 0.1)
    records = []
    for batch in loader:
        optimizer.zero_grad()
        network(batch).backward()
        optimizer.step()
        records += batch.record_indices.tolist()
    return records, [parameter.sum().item() for parameter in network.parameters()]


def test_ddp_takes_a_batch(data):
    (first, weights), (second, weights_too) = ranks.run(ranks.in_group, ddp_takes_a_batch, data)
    assert weights == weights_too
    assert not set(first) & set(second) and len(first) == len(second) == 24  # each rank has its share, without being told


def test_networks_of_torchvision_take_the_batches(data):
    images, labels = next(iter(ours(data, "val")))
    assert torchvision.models.mobilenet_v3_small(num_classes=4).eval()(images).shape == (8, 4) and labels.dtype == torch.int64
