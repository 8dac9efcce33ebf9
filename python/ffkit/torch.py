"""ffkit with torch: batches on a device, torchvision's transforms, torch's arguments."""

from __future__ import annotations

import dataclasses
from typing import Any, Iterator, Mapping, NamedTuple

import torch

from . import _ffkit, _share, _torchvision
from ._batch import Batch, pinned_allocator
from ._dataset import Dataset, PathLike, dataset_of
from ._errors import refuse_old_name
from ._image import ImageOptions
from ._loader import EpochSampler, Loader
from ._loader_options import IO, Memory

__all__ = ["DataLoader", "image_options", "pinned_allocator", "to_device"]

def __dir__() -> list[str]:
    return __all__


def image_options(transform: Any) -> ImageOptions:
    """Converts torchvision's `transforms.Compose` (v1 or v2), or a single transform, to
    ImageOptions. ffkit.Loader also takes them directly, as `image` and in `views`.

    It knows the following, in this order:
    - geometry: RandomResizedCrop, Resize, CenterCrop, RandomCrop, RandomHorizontalFlip,
      RandomVerticalFlip, RandomRotation, RandomAffine, RandomPerspective, Pad, RandomZoomOut,
      RandomIoUCrop, ScaleJitter, FixedSizeCrop, RandomShortestSize, `Weights.transforms()` of
      classification;
    - colours: ColorJitter, RandAugment, TrivialAugmentWide, AutoAugment, GaussianBlur,
      RandomSolarize, RandomPosterize, RandomEqualize, RandomAutocontrast, Grayscale(3),
      RandomGrayscale, RandomInvert, RandomAdjustSharpness, and RandomApply and RandomChoice of
      these;
    - conversion: ToTensor, PILToTensor, ToImage, ToDtype, ConvertImageDtype, Normalize, RGB; v2's
      transforms of boxes are ignored, because a BoxesField does their work; then RandomErasing.
    A torch.nn.Sequential is treated as a Compose. Random numbers differ from torchvision's, but
    have the same distributions.

    Raises:
        UnsupportedError: a transform, or a value of one, has no exact counterpart."""
    return _torchvision.image_options(transform)


class to_device:  # noqa: N801, used as a function
    """The batches of `loader` with their tensors on `device`. The next batch is copied on a
    separate stream while the loop computes.

        for batch in ffkit.torch.to_device(loader, "cuda"):
            loss = model(batch["image"]), batch["label"]

    Batches have the same form as the loader's: dicts with the attributes of ffkit.Batch, or tuples
    of a DataLoader. Values that are not tensors stay. The loader should have pinned memory, which
    is the default with CUDA. For the CPU, batches stay unchanged. A loop is an epoch, as with the
    loader. `state_dict()` is the state after the loop's current batch, not the batch copied ahead.

    Args:
        loader: an ffkit.Loader, or an ffkit.torch.DataLoader.
        device: anything that torch.device() takes.

    Raises:
        TypeError: for another loader; RuntimeError: for CUDA if torch has none."""

    def __init__(self, loader: Loader | DataLoader, device: Any) -> None:
        if not isinstance(loader, (Loader, DataLoader)):
            raise TypeError(f"to_device takes an ffkit.Loader or an ffkit.torch.DataLoader, not {type(loader).__module__}.{type(loader).__qualname__}")
        self.loader = loader
        self.device = torch.device(device)
        if self.device.type == "cuda" and not torch.cuda.is_available():
            reason = "this torch is built without CUDA" if torch.version.cuda is None else "torch finds no GPU, or no driver of NVIDIA's"
            raise RuntimeError(f"to_device cannot copy to '{self.device}': {reason}; give the device 'cpu', or install a torch for CUDA on a machine with a GPU")
        self._stream = torch.cuda.Stream(self.device) if self.device.type == "cuda" else None
        self._forget()

    def _forget(self) -> None:
        # Of the batch that the loop has, while another is copied ahead.
        self._state: dict[str, Any] | None = None
        self._epoch: int | None = None

    batch_sampler = None  # see Loader

    def __len__(self) -> int:
        return len(self.loader)

    @property
    def dataset(self) -> Dataset:
        """See Loader.dataset."""
        return self.loader.dataset

    @property
    def batch_size(self) -> int:
        """See Loader.batch_size."""
        return self.loader.batch_size

    def set_epoch(self, epoch: int, restart: bool = False) -> None:
        """See Loader.set_epoch."""
        self._forget()
        self.loader.set_epoch(epoch, restart)

    @property
    def sampler(self) -> EpochSampler:
        """See Loader.sampler."""
        return EpochSampler(self, len(self.loader.sampler))

    @property
    def epoch(self) -> int:
        """See Loader.epoch."""
        return self.loader.epoch if self._epoch is None else self._epoch

    def state_dict(self) -> dict[str, Any]:
        """See Loader.state_dict."""
        return self.loader.state_dict() if self._state is None else self._state

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """See Loader.load_state_dict."""
        self.loader.load_state_dict(state_dict)
        self._forget()

    def __getattr__(self, name: str) -> Any:
        refuse_old_name(self, name)

    def __iter__(self) -> Iterator[Any]:
        self._forget()
        return iter(self.loader) if self.device.type == "cpu" else _DeviceLoop(self, iter(self.loader))


class _DeviceLoop(Iterator[Any]):
    """One epoch of a to_device."""

    def __init__(self, owner: to_device, batches: Iterator[Any]) -> None:
        self._owner = owner
        self._batches = batches
        self._ahead: _Copy | None = None

    def __next__(self) -> Any:
        owner = self._owner
        copy, self._ahead = self._ahead or self._take(), None
        if copy is None:
            owner._forget()
            raise StopIteration
        owner._state, owner._epoch = copy.state, copy.epoch
        if copy.done is not None:
            consumer = torch.cuda.current_stream(owner.device)
            consumer.wait_event(copy.done)
            for value in _tensors(copy.batch):
                value.record_stream(consumer)
        if owner.loader._is_ready():
            self._ahead = self._take()
        return copy.batch

    def _take(self) -> _Copy | None:
        """Begins to copy the next batch. The source may be freed at once: torch owns pinned memory
        and knows of the copy; other memory is read before the call returns."""
        batch = next(self._batches, None)
        if batch is None:
            return None
        owner = self._owner
        state, epoch = owner.loader.state_dict(), owner.loader.epoch
        if owner._stream is None:
            return _Copy(_moved(batch, owner.device, False), state, epoch, None)
        with torch.cuda.stream(owner._stream):
            moved = _moved(batch, owner.device, True)
            done = torch.cuda.Event()
            done.record(owner._stream)
        return _Copy(moved, state, epoch, done)


class _Copy(NamedTuple):
    """A batch on its way, where the loader was after it, and what says that it is there."""

    batch: Any
    state: dict[str, Any]
    epoch: int
    done: Any


def _tensors(batch: Any) -> Iterator[torch.Tensor]:
    return (value for value in (batch.values() if isinstance(batch, dict) else batch) if isinstance(value, torch.Tensor))


def _moved(batch: Any, device: torch.device, is_asynchronous: bool) -> Any:
    def move(value: Any) -> Any:
        return value.to(device, non_blocking=is_asynchronous) if isinstance(value, torch.Tensor) else value

    if isinstance(batch, Batch):
        return batch.replaced({name: move(value) for name, value in batch.items()})
    return tuple(map(move, batch))


class DataLoader:
    """ffkit.Loader with the arguments of torch.utils.data.DataLoader for torchvision's ImageFolder.
    Batches are tuples (images, labels).

        data = ffkit.Dataset("/fast/imagenet", "train")
        train = ffkit.torch.DataLoader(data, 256, shuffle=True, transform=compose, num_workers=8)
        for images, labels in train:

    An epoch has as many samples as torch's. `shuffle=True` is for training: all ranks get the same
    number of samples, so a few come twice, as with a DistributedSampler, or with `drop_last` a few
    are left out. `shuffle=False` is for evaluation: each sample exactly once, over all ranks. You
    may keep batches: if you keep several, the next ones are copies, up to a quarter of the memory
    that this process may use.

    Args:
        dataset: an ffkit.Dataset, its path, or torch's Subset or ConcatDataset of some.
        batch_size, shuffle, drop_last: like torch's; batch_size is per rank.
        transform: torchvision's Compose (see `image_options`), or ImageOptions.
        num_workers: decoding threads; 0: all cores that this process may use. There are no worker
            processes, so `worker_init_fn` and `multiprocessing_context` are errors, and
            `persistent_workers` has no effect.
        prefetch_factor: number of batches to prepare ahead, in all; default 3.
        pin_memory: see Loader; by default True with CUDA. True without CUDA gives a warning.
        timeout: seconds after which a read that hangs is an error; 0: 300.
        generator: its initial seed is used as `seed`.
        seed: seed of the order and of all augmentation.
        rank, world_size: instead of a DistributedSampler; default: from the launcher, see Loader.
        collate_fn, sampler, batch_sampler: errors, because samples are chosen and joined in C++;
            the message names the counterpart.
        in_order, pin_memory_device: have no effect: batches always come in order, and torch's
            allocator knows the device.
        options: further options of ffkit.Loader.

    The attribute `loader` is the ffkit.Loader, with statistics() and so on."""

    def __init__(
        self,
        dataset: Dataset | PathLike,
        batch_size: int = 1,
        shuffle: bool | None = False,
        *,
        transform: Any,
        num_workers: int = 0,
        drop_last: bool = False,
        pin_memory: bool | None = None,
        prefetch_factor: int | None = None,
        persistent_workers: bool = True,
        timeout: float = 0,
        generator: torch.Generator | None = None,
        seed: int | None = None,
        rank: int | None = None,
        world_size: int | None = None,
        collate_fn: None = None,
        sampler: None = None,
        batch_sampler: None = None,
        worker_init_fn: None = None,
        multiprocessing_context: None = None,
        in_order: bool = True,
        pin_memory_device: str = "",
        **options: Any,
    ) -> None:
        given = {"collate_fn": collate_fn, "sampler": sampler, "batch_sampler": batch_sampler, "worker_init_fn": worker_init_fn, "multiprocessing_context": multiprocessing_context}
        for name, value in given.items():
            if value is not None:
                raise TypeError(f"ffkit.torch.DataLoader takes no {name}: {_ffkit.words_on_name('Loader', name, [])}")
        if seed is None:
            seed = 0 if generator is None else generator.initial_seed()
        options.setdefault("memory", Memory(held_batches=4))
        options.setdefault("io", IO())
        if prefetch_factor is not None:
            options["memory"] = dataclasses.replace(options["memory"], prefetch_batches=prefetch_factor)
        if timeout:
            options["io"] = dataclasses.replace(options["io"], read_timeout_s=timeout)
        self.dataset = dataset_of(dataset)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.num_workers = num_workers
        share = _share.find(rank, world_size)
        per_rank = -(-len(self.dataset) // share.world_size)
        # Where torch's ranks fill their last batch, with samples that come twice, drop_last leaves
        # out nothing.
        tail = "drop" if drop_last and per_rank % batch_size else "even" if shuffle else "balanced"
        options = {"arrays": "torch", "tail": tail, "order": "automatic" if shuffle else "sequential", "seed": seed, "rank": rank, "world_size": world_size,
                   "num_threads": num_workers, "pin_memory": pin_memory, "image": transform if isinstance(transform, ImageOptions) else image_options(transform)} | options
        self.loader = Loader(self.dataset, batch_size, **options)
        self.loader._copies_by_need = True

    batch_sampler = None  # see Loader

    def __len__(self) -> int:
        return len(self.loader)

    def __getattr__(self, name: str) -> Any:
        refuse_old_name(self, name)

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        return _Pairs(iter(self.loader))

    def _is_ready(self) -> bool:
        return self.loader._is_ready()

    @property
    def epoch(self) -> int:
        """See Loader.epoch."""
        return self.loader.epoch

    @property
    def sampler(self) -> EpochSampler:
        """See Loader.sampler."""
        return self.loader.sampler

    def set_epoch(self, epoch: int, restart: bool = False) -> None:
        """See Loader.set_epoch."""
        self.loader.set_epoch(epoch, restart)

    def state_dict(self) -> dict[str, Any]:
        """See Loader.state_dict."""
        return self.loader.state_dict()

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """See Loader.load_state_dict."""
        self.loader.load_state_dict(state_dict)

    def __repr__(self) -> str:
        return f"<ffkit.torch.DataLoader of {self.loader!r}>"


class _Pairs(Iterator[tuple[Any, Any]]):
    """One epoch of a DataLoader."""

    def __init__(self, batches: Iterator[Batch]) -> None:
        self._batches = batches

    def __next__(self) -> tuple[Any, Any]:
        batch = next(self._batches)
        return batch["image"], batch["label"]
