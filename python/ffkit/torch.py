"""ffkit with torch: batches on a device, torchvision's transforms, and a loader with the arguments of torch's."""

from __future__ import annotations

import collections
from typing import Any, Callable, Iterator, Mapping

import torch

from . import _torchvision
from ._batch import Batch
from ._dataset import Dataset
from ._errors import UnsupportedError
from ._image import ImageOptions
from ._loader import Loader

__all__ = ["DataLoader", "image_options", "pinned_allocator", "to_device"]

_ALIGNMENT = 4096  # of batches


def pinned_allocator(required: bool = False) -> Callable[[int], tuple[int, object]] | None:
    """What allocates a loader's memory as pinned memory, by torch's caching allocator: num_bytes -> (address, what keeps it). None without CUDA.

    Raises:
        UnsupportedError: `required`, and torch sees no CUDA device.
    """
    if not torch.cuda.is_available():
        if required:
            raise UnsupportedError("pin_memory needs a CUDA device, and torch sees none; leave pin_memory out")
        return None
    return lambda num_bytes: _aligned(torch.empty(num_bytes + _ALIGNMENT, dtype=torch.uint8, pin_memory=True))


def _aligned(memory: Any) -> tuple[int, object]:
    address = memory.data_ptr()
    return address + -address % _ALIGNMENT, memory


def image_options(transform: Any) -> ImageOptions:
    """The options that are torchvision's `transforms.Compose` (v1 or v2), or a single transform.

    Known are RandomResizedCrop, Resize + CenterCrop, Resize((h, w)), RandomCrop and RandomHorizontalFlip; ColorJitter, RandAugment and TrivialAugmentWide; ToTensor, PILToTensor, ToImage,
    ToDtype, ConvertImageDtype and Normalize; RandomErasing: in the order in which ffkit does them. What is drawn at random is drawn otherwise than in torchvision, from the
    same distributions.

    Raises:
        UnsupportedError: names the first transform, or value of one, that has no exact counterpart.
    """
    return _torchvision.image_options(transform)


class to_device:  # noqa: N801, used as a function
    """The batches of `loader` with their tensors on `device`, copied one ahead on a stream of their own, while the one before is computed with.

        for batch in ffkit.torch.to_device(loader, "cuda"):
            loss = model(batch["image"]), batch["label"]

    Batches are dicts of the same names; what is no tensor stays as it is, and the attributes are those of ffkit.Batch. Make the loader with pinned memory, which it has by default where
    CUDA is there. On the CPU the batches pass through as they are. A loop is an epoch, as over the loader; `state_dict()` is the state after the batch that the loop has,
    not after those that are copied ahead.
    """

    def __init__(self, loader: Loader, device: Any) -> None:
        self.loader = loader
        self.device = torch.device(device)
        self._forget()

    def _forget(self) -> None:
        # Of the batch that the loop has, while others are copied ahead.
        self._state: dict[str, Any] | None = None
        self._epoch: int | None = None

    def __len__(self) -> int:
        return len(self.loader)

    def start_epoch(self, epoch: int) -> None:
        """See Loader.start_epoch."""
        self._forget()
        self.loader.start_epoch(epoch)

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

    def __iter__(self) -> Iterator[Batch]:
        copies = _Copies(self.device)
        ahead: collections.deque[tuple[_Copy, dict[str, Any]]] = collections.deque()
        for batch in self.loader:
            ahead.append((copies.begin(batch), self.loader.state_dict()))
            del batch
            if len(ahead) == 2:
                yield self._take(ahead)
        while ahead:
            yield self._take(ahead)
        self._forget()

    def _take(self, ahead: collections.deque[tuple[_Copy, dict[str, Any]]]) -> Batch:
        copy, self._state = ahead.popleft()
        self._epoch = copy.batch.epoch
        return copy.finish()


class _Copies:
    """Begins copies on a stream of its own; on the CPU there is nothing to do."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.stream = torch.cuda.Stream(device) if device.type == "cuda" else None

    def begin(self, batch: Batch) -> _Copy:
        if self.stream is None:
            return _Copy(batch if self.device.type == "cpu" else batch.replaced({k: _moved(v, self.device) for k, v in batch.items()}))
        with torch.cuda.stream(self.stream):
            copy = batch.replaced({name: _moved(value, self.device) for name, value in batch.items()})
            event = torch.cuda.Event()
            event.record(self.stream)
        return _Copy(copy, batch, event, torch.cuda.current_stream(self.device))


class _Copy:
    """A batch on its way. The one that it is copied from lives until the copy is done: then its memory may be used again."""

    def __init__(self, batch: Batch, source: Batch | None = None, event: Any = None, consumer: Any = None) -> None:
        self.batch = batch
        self.source = source
        self.event = event
        self.consumer = consumer

    def finish(self) -> Batch:
        if self.event is not None:
            self.event.synchronize()  # it began a step ago; the source's memory must not be used again before
            self.source = None
            for value in self.batch.values():
                if isinstance(value, torch.Tensor):
                    value.record_stream(self.consumer)
        return self.batch


def _moved(value: Any, device: torch.device) -> Any:
    return value.to(device, non_blocking=True) if isinstance(value, torch.Tensor) else value


class DataLoader:
    """ffkit.Loader with the arguments of torch.utils.data.DataLoader over torchvision's ImageFolder: its batches are tuples (images, labels).

        train = ffkit.torch.DataLoader(ffkit.Dataset("/fast/imagenet", "train"), batch_size=256, shuffle=True, transform=Compose([...]), num_workers=8)
        for images, labels in train:

    Args:
        dataset: what to load.
        batch_size, shuffle, drop_last: as torch's. With several ranks, all have the same number of batches: `drop_last=False` then pads the last one.
        transform: torchvision's Compose, see `image_options`, or ImageOptions.
        num_workers: threads that decode; 0: all cores.
        seed, rank, world_size: instead of a DistributedSampler.
        options: further ones of ffkit.Loader.

    `loader` is the ffkit.Loader, with state_dict(), statistics() and all else.
    """

    def __init__(
        self,
        dataset: Dataset,
        batch_size: int = 1,
        shuffle: bool = False,
        *,
        transform: Any,
        num_workers: int = 0,
        drop_last: bool = False,
        seed: int = 0,
        rank: int = 0,
        world_size: int = 1,
        **options: Any,
    ) -> None:
        self.dataset = dataset
        self.batch_size = batch_size
        tail = "drop" if drop_last else "exact" if world_size == 1 else "pad"
        options = {"arrays": "torch", "tail": tail, "order": "shuffle" if shuffle else "sequential", "seed": seed, "rank": rank, "world_size": world_size,
                   "num_threads": num_workers, "image": transform if isinstance(transform, ImageOptions) else image_options(transform)} | options
        self.loader = Loader(dataset, batch_size, **options)

    def __len__(self) -> int:
        return len(self.loader)

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        for batch in self.loader:
            pair = batch["image"], batch["label"]
            del batch
            yield pair
            del pair

    def set_epoch(self, epoch: int) -> None:
        """The next loop is `epoch`, as DistributedSampler.set_epoch()."""
        self.loader.start_epoch(epoch)

    def state_dict(self) -> dict[str, Any]:
        """See Loader.state_dict."""
        return self.loader.state_dict()

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """See Loader.load_state_dict."""
        self.loader.load_state_dict(state_dict)
