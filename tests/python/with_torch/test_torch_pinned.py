"""Pinned memory and asynchronous copies, with a stand-in for torch's allocator of pinned memory; runs in the Python that has torch."""
import collections
import contextlib
import ctypes
import gc
import weakref

import numpy
import pytest
import torch

import ffkit
import ffkit.torch
from conftest import by_topic


class HostAllocator:
    """What torch's CachingHostAllocator does: memory of a storage that is gone is given out again, unless a copy from that storage is under way. It learns of a copy from the storage that
    is copied: one of another maker it does not know."""

    def __init__(self):
        self.free = collections.defaultdict(list)  # by size
        self.live = {}  # address -> its copies under way
        self.busy = []  # (address, size, copies) of storages that are gone
        self.blocks = []  # all memory stays, so that a test may read what was given back
        self.copies = collections.deque()

    def empty(self, num_bytes):
        for entry in [entry for entry in self.busy if not entry[2]]:
            self.busy.remove(entry)
            self.free[entry[1]].append(entry[0])
        if not self.free[num_bytes]:
            self.blocks.append(numpy.zeros(num_bytes + 4096, numpy.uint8))
            address = self.blocks[-1].ctypes.data
            self.free[num_bytes].append(address + -address % 4096)
        address = self.free[num_bytes].pop(0)
        copies = self.live[address] = []
        memory = numpy.ctypeslib.as_array(ctypes.cast(address, ctypes.POINTER(ctypes.c_uint8)), (num_bytes,))
        weakref.finalize(memory, self.release, address, num_bytes, copies)
        return torch.from_numpy(memory)

    def release(self, address, num_bytes, copies):
        del self.live[address]
        self.busy.append((address, num_bytes, copies))

    def copy(self, tensor):
        """tensor.to("cuda", non_blocking=True): what will be there, once the copy has run."""
        copies = self.live.get(tensor.untyped_storage().data_ptr())
        job = (tensor.data_ptr(), numpy.zeros(tensor.nbytes, numpy.uint8), copies)
        if copies is not None:
            copies.append(id(job))
        self.copies.append((job, tensor.dtype, tensor.shape))
        return job[1]

    def run(self):
        """The oldest copy."""
        job, _, _ = self.copies.popleft()
        address, out, copies = job
        ctypes.memmove(out.ctypes.data, address, out.nbytes)
        if copies is not None:
            copies.remove(id(job))


@pytest.fixture
def host(monkeypatch):
    allocator = HostAllocator()
    empty = torch.empty

    def empty_or_pinned(*size, pin_memory=False, **options):
        return allocator.empty(*size) if pin_memory else empty(*size, **options)

    def pin(tensor):
        pinned = allocator.empty(tensor.nbytes).view(tensor.dtype).view(tensor.shape)
        return pinned.copy_(tensor)

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch, "empty", empty_or_pinned)
    monkeypatch.setattr(torch.Tensor, "pin_memory", pin)
    yield allocator
    gc.collect()


def make(ds, **options):
    return ffkit.Loader(ds, **by_topic(**{"batch_size": 2, "image": ffkit.RandomResizedCrop(80, flip_probability=0.5), "num_threads": 2, "tail": "exact"} | options))


def test_a_batch_lives_until_it_is_copied(ds, host):
    """Copies run two steps late, as on a GPU that is behind, while the loop drops its batches."""
    wrong = 0
    expected = collections.deque()
    steps = 0
    for batch in make(ds):
        arrays = [batch["image"], batch["label"]]
        expected.append([(host.copy(array), array.numpy().copy()) for array in arrays])
        del batch, arrays
        steps += 1
        if len(expected) > 2:
            wrong += check(host, expected.popleft())
    while expected:
        wrong += check(host, expected.popleft())
    assert steps == 30 and wrong == 0


def check(host, copies):
    """Whether one of the copies holds something else."""
    for _ in copies:
        host.run()
    return any((out != array.view(numpy.uint8).reshape(-1)).any() for out, array in copies)


def test_memory_is_used_again(ds, host):
    loader = make(ds)
    for _ in range(3):
        for batch in loader:
            host.copy(batch["image"])
            del batch
            host.run()
    images = [block for block in host.blocks if block.nbytes > 100_000]
    assert len(images) <= 3 + 3 + 2  # prepared, held, and two that go from one to the other


def test_any_number_of_pinned_batches_may_be_kept(ds, host):
    loader = make(ds, copy=True)
    kept = [batch["image"] for batch in loader]
    assert len(kept) == 30 and loader._loader.num_held() == 0
    plain = [batch["image"] for batch in make(ds, pin_memory=False, copy=True)]
    assert all(torch.equal(one, other) for one, other in zip(kept, plain))


@pytest.mark.parametrize("dtype", ["u8", "f16", "bf16", "f32"])
def test_pinned_arrays_have_the_values_of_others(ds, host, dtype):
    rows = ffkit.PythonField(lambda values, key: numpy.full((values["label"], 7000), values["label"]), "f64", [7000], ["label"], max_rows=4)
    options = {"dtype": dtype, "batch_size": 7, "fields": {"rows": rows, "id": ffkit.TextField("id")}}
    num_batches = 0
    for pinned, plain in zip(make(ds, **options), make(ds, **options, pin_memory=False)):
        assert list(pinned) == list(plain) == ["image", "label", "rows", "id"] and pinned["id"] == plain["id"]
        for name in ("image", "label", "rows"):
            assert torch.equal(pinned[name], plain[name]) and pinned[name].dtype == plain[name].dtype
            assert pinned[name].untyped_storage().data_ptr() in host.live
        assert (pinned.row_offsets("rows") == plain.row_offsets("rows")).all()
        num_batches += 1
    assert num_batches == 9


def test_memory_goes_back_with_the_loader(ds, host):
    loader = make(ds)
    batch = next(iter(loader))
    assert len(host.live) >= 3
    loader.close()
    del loader
    gc.collect()
    assert len(host.live) == 2  # the image and the label
    before = batch["image"].clone()
    del batch
    gc.collect()
    assert not host.live
    assert before.shape == (2, 3, 80, 80)


def test_only_torchs_tensors_are_pinned(ds, host):
    for arrays in ("numpy", "dlpack"):
        with pytest.raises(ValueError, match=f"pin_memory needs arrays 'torch', not '{arrays}'"):
            make(ds, arrays=arrays, pin_memory=True)
        assert make(ds, arrays=arrays) and not host.live


def test_an_allocator_without_memory_is_an_error_of_the_loop(ds, host, monkeypatch):
    loader = make(ds)
    batches = iter(loader)
    next(batches)

    def fail(num_bytes):
        raise RuntimeError("CUDA error: out of memory")

    monkeypatch.setattr(host, "empty", fail)
    with pytest.raises(RuntimeError, match="out of memory"):
        for _ in batches:
            pass
    monkeypatch.undo()


def test_to_device_on_a_device_that_is_behind(ds, host, monkeypatch):
    """The way of a GPU with a stand-in: copies run when the loop's stream waits for them, one batch ahead."""
    done = []  # events that the loop's stream has waited for

    class Event:
        def record(self, stream):
            assert stream == "copies"
            self.num_copies = num_begun[0]

    class Consumer:
        def wait_event(self, event):
            while host.copies and num_run[0] < event.num_copies:
                host.run()
                num_run[0] += 1
            done.append(event)

    num_begun, num_run, recorded, targets = [0], [0], [], {}
    consumer = Consumer()

    def to(tensor, device, non_blocking=False):
        assert device.type == "cuda" and non_blocking
        num_begun[0] += 1
        target = torch.from_numpy(host.copy(tensor)).view(tensor.dtype).view(tensor.shape)
        targets[id(target)] = target
        return target

    monkeypatch.setattr(torch.cuda, "Stream", lambda device: "copies")
    monkeypatch.setattr(torch.cuda, "stream", lambda stream: contextlib.nullcontext())
    monkeypatch.setattr(torch.cuda, "Event", Event)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: consumer)
    monkeypatch.setattr(torch.Tensor, "to", to)
    monkeypatch.setattr(torch.Tensor, "record_stream", lambda tensor, stream: recorded.append((id(tensor), stream)))
    plain = [(batch["image"].clone(), batch["label"], state) for batch, state in batches_and_states(make(ds, pin_memory=False))]
    loader = make(ds)
    moved = ffkit.torch.to_device(loader, "cuda")
    for (image, label, state), batch in zip(plain, moved, strict=True):
        assert torch.equal(batch["image"], image) and torch.equal(batch["label"], label)
        assert moved.state_dict() == state and batch.size == len(label) and moved.epoch == 0
        assert (id(batch["image"]), consumer) in recorded
        assert loader._loader.num_held() == 0  # pinned memory is torch's
    assert len(done) == 30 and moved.epoch == 1
    for batch in moved:
        break
    assert batch.epoch == 1 and batch.step == 0
    pairs = ffkit.torch.to_device(ffkit.torch.DataLoader(ds, 2, transform=ffkit.ImageOptions(ffkit.Resize((80, 80))), num_workers=1), "cuda")
    assert [len(images) for images, labels in pairs] == [2] * 30


def batches_and_states(loader):
    for batch in loader:
        yield batch, loader.state_dict()
