"""ffkit with torch: batches on a device, torchvision's transforms, and a loader with the arguments of torch's."""

from __future__ import annotations

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
    """The options that are torchvision's `transforms.Compose` (v1 or v2), or a single transform. ffkit.Loader takes these as they are, too, as `image` and in `views`.

    Known are RandomResizedCrop, Resize, CenterCrop, RandomCrop, RandomHorizontalFlip, RandomVerticalFlip, RandomRotation, RandomAffine, RandomPerspective, Pad, RandomZoomOut, RandomIoUCrop,
    ScaleJitter, FixedSizeCrop and RandomShortestSize, which become a Compose where they are several; what `Weights.transforms()` gives for classification; ColorJitter, RandAugment, TrivialAugmentWide and AutoAugment; GaussianBlur, RandomSolarize,
    RandomPosterize, RandomEqualize, RandomAutocontrast, Grayscale(3), RandomGrayscale, RandomInvert and RandomAdjustSharpness, and RandomApply and RandomChoice of these; ToTensor, PILToTensor, ToImage,
    ToDtype, ConvertImageDtype and Normalize, also several; RGB, and what v2 does to boxes at the end, which a BoxesField does here; RandomErasing: in the order in which ffkit does them. A torch.nn.Sequential is taken as a Compose. What is drawn at random is drawn otherwise than in torchvision, from the
    same distributions.

    Raises:
        UnsupportedError: names the first transform, or value of one, that has no exact counterpart.
    """
    return _torchvision.image_options(transform)


class to_device:  # noqa: N801, used as a function
    """The batches of `loader` with their tensors on `device`, copied one ahead on a stream of their own, while the one before is computed with.

        for batch in ffkit.torch.to_device(loader, "cuda"):
            loss = model(batch["image"]), batch["label"]

    Batches are those of the loader: dicts of the same names with the attributes of ffkit.Batch, or tuples of a DataLoader. What is no tensor stays as it is. Make the loader with pinned memory, which it has by
    default where CUDA is there. On the CPU the batches pass through as they are. A loop is an epoch, as over the loader; `state_dict()` is the state after the batch that the loop has,
    not after one that is copied ahead.

    Args:
        loader: an ffkit.Loader, or an ffkit.torch.DataLoader.
        device: anything that torch.device() takes.

    Raises:
        TypeError: for another loader; RuntimeError: for CUDA where torch has none.
    """

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
        """Begins to copy the next batch. Its source may go at once: pinned memory is torch's, which knows of the copy; other memory has been read when the call returns."""
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
    """ffkit.Loader with the arguments of torch.utils.data.DataLoader over torchvision's ImageFolder: its batches are tuples (images, labels).

        train = ffkit.torch.DataLoader(ffkit.Dataset("/fast/imagenet", "train"), batch_size=256, shuffle=True, transform=Compose([...]), num_workers=8)
        for images, labels in train:

    The samples of an epoch are as many as torch's. `shuffle=True` is training: with several ranks all have the same number of them, for which a few come twice, as of a
    DistributedSampler, or with `drop_last` a few are left out. `shuffle=False` is evaluation: each sample exactly once, over all ranks. A batch may be kept: where several are,
    the next ones are copies, up to a quarter of the memory that this process may use.

    Args:
        dataset: an ffkit.Dataset, its path, or torch's Subset or ConcatDataset of some.
        batch_size, shuffle, drop_last: as torch's; batch_size is that of a rank.
        transform: torchvision's Compose, see `image_options`, or ImageOptions.
        num_workers: threads that decode; 0: all cores that this process may use. There are no worker processes, so `worker_init_fn` and `multiprocessing_context` have nothing to do and are
            refused, and `persistent_workers` is always so.
        prefetch_factor: batches that are prepared ahead, in all; 3 unless given.
        pin_memory: see Loader; by default where CUDA is there. True without CUDA warns.
        timeout: seconds after which what has not been read is an error; 0: 300.
        generator: its initial seed is `seed`.
        seed: of the order and of all augmentation.
        rank, world_size: instead of a DistributedSampler; by default those of the launcher, see Loader.
        collate_fn, sampler, batch_sampler: refused, since samples are put together and chosen in C++; the message says what does the same.
        in_order, pin_memory_device: taken, and change nothing: batches always come in order, and torch's allocator knows the device.
        options: further ones of ffkit.Loader.

    `loader` is the ffkit.Loader, with statistics() and all else.
    """

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
        if prefetch_factor is not None:
            options = {"memory": Memory(prefetch_batches=prefetch_factor, held_batches=4)} | options
        if timeout:
            options = {"io": IO(read_timeout_s=timeout)} | options
        self.dataset = dataset_of(dataset)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.num_workers = num_workers
        share = _share.find(rank, world_size)
        per_rank = -(-len(self.dataset) // share.world_size)
        # Where torch's ranks fill their last batch, with samples that come twice, drop_last leaves
        # out nothing.
        tail = "drop" if drop_last and per_rank % batch_size else "even" if shuffle else "balanced"
        options = {"arrays": "torch", "tail": tail, "order": "automatic" if shuffle else "sequential", "seed": seed, "rank": rank, "world_size": world_size, "memory": Memory(held_batches=4),
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
