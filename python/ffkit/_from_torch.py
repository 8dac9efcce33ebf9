"""ffkit.convert.from_torch: map-style data sets of torch, torchvision and Hugging Face."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from . import _ffkit
from ._errors import add_note
from ._samples import FieldSpec
from ._hugging_face import Changes, StoredPictures, stored_pictures
from ._convert_options import Order, PictureOptions, Pixels, Progress, ProgressBar, Unpack
from ._summary import SplitSummary
from .writer import Writer


class MapDataset(Protocol):
    """What has a length and samples by number, as torch.utils.data.Dataset and datasets.Dataset do."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: Any, /) -> Any: ...


def from_torch(
    dataset: MapDataset,
    dst: str | os.PathLike[str],
    *,
    split: str = "train",
    fields: Sequence[str] = ("image", "label"),
    to_sample: Callable[[Any], Mapping[str, object]] | None = None,
    schema: Mapping[str, FieldSpec] | None = None,
    classes: Sequence[str] | None = None,
    order: Order = "shuffled",
    seed: int = 0,
    num_workers: int = 0,
    progress: Progress = True,
    pixels: Pixels = "png",
    threads: int = 0,
    shard_size: int | str = "256M",
    zstd: int = 0,
    max_record: int | str = "256M",
    **pictures: Unpack[PictureOptions],
) -> SplitSummary:
    """Writes dataset[0], dataset[1], ... as one split, through Writer. `dataset` has __len__ and __getitem__: torch's, torchvision's, Hugging Face's.

    Args:
        dataset: gives dicts, or tuples whose values are `fields`. Of a Hugging Face data set pictures are taken as the bytes they are stored as. Where
            dataset[i] gives another picture, turned by its EXIF data or of the mode of Image(mode=), that one is encoded, and a warning has the counts.
            With set_transform() the data set is taken as it comes. Others that open pictures themselves, such as torchvision's ImageFolder, give pixels, which are
            encoded anew: ffkit.convert.folder() keeps the files' bytes and is much faster.
        dst, split: where it is written; other splits of the data set are left alone.
        fields: names for the values of tuples.
        to_sample: makes the dict of fields of what the data set gives; runs where the data set does. Overrides `fields`.
        schema, pixels, threads, shard_size, zstd, max_record, pictures: as in Writer.
        classes: names of the classes; None: dataset.classes, or those of Hugging Face's ClassLabel, when there are some.
        order, seed: "shuffled": splits whose name begins with "train" in the order of ffkit's permutation of this seed; "source": as they are.
        num_workers: processes that call dataset[i]; 0: this thread does. The records and their order are the same. Processes and not threads, since
            map-style data sets are written for torch's workers: many hold an open file or a random state that two threads must not share, and
            the GIL would let one of them run at a time. They are torch's own workers, so torch must be there. Encoding is parallel in any case.
        progress: as in ffkit.convert.

    Raises: what dataset[i] raises, with a note that names i; and what Writer raises. Then nothing stays.
    """
    if len(dataset) == 0:
        raise ValueError("the data set is empty; a split needs at least one record")
    stored, found = stored_pictures(dataset)
    given = classes if classes is not None else found if found is not None else getattr(dataset, "classes", None)
    kind = type(dataset)
    is_shuffled = order == "shuffled" and split.startswith("train")
    indices: Sequence[int] = _ffkit.permutation(len(dataset), seed) if is_shuffled else range(len(dataset))
    # Before the writer, whose threads a forked worker would not have.
    samples = _samples(_Samples(dataset, stored, tuple(fields), to_sample), indices, num_workers)
    writer = Writer(
        dst, split, schema, classes=[str(name) for name in given or ()], source={"kind": "dataset", "path": f"{kind.__module__}.{kind.__qualname__}"},
        pixels=pixels, threads=threads, shard_size=shard_size, zstd=zstd, max_record=max_record, seed=seed,
        _options={"order": "shuffled", "seed": str(seed)} if is_shuffled else {}, **pictures,
    )  # fmt: skip
    bar = ProgressBar(progress)
    changes = Changes()
    try:
        with writer:
            for sample, changed in _told(samples, split, len(dataset), bar):
                writer.write(sample)
                changes.add(changed)
    finally:
        bar.close()
    if text := str(changes):
        warnings.warn(f"{split}: not all pictures keep the bytes they are stored as: {text}, as in dataset[i], and encoded anew", stacklevel=2)
    return writer.summary


class _Samples:
    """The data set as torch's workers see it: picklable, and with samples that are dicts, and what was changed of their pictures."""

    def __init__(
        self, dataset: MapDataset, stored: StoredPictures | None, fields: tuple[str, ...], to_sample: Callable[[Any], Mapping[str, object]] | None
    ) -> None:
        self.dataset: MapDataset | StoredPictures = dataset if stored is None else stored
        self.fields = fields
        self.to_sample = to_sample

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: int) -> tuple[Mapping[str, object], Changes]:
        try:
            item, changes = self.dataset.get(index) if isinstance(self.dataset, StoredPictures) else (self.dataset[index], Changes())
            if self.to_sample is not None:
                return self.to_sample(item), changes
        except Exception as error:
            add_note(error, f"ffkit: while reading dataset[{index}]")
            raise
        if isinstance(item, Mapping):
            return item, changes
        if isinstance(item, (tuple, list)) and len(item) == len(self.fields):
            return dict(zip(self.fields, item)), changes
        raise TypeError(
            f"dataset[{index}] is {type(item).__qualname__}{f' of {len(item)} values' if isinstance(item, (tuple, list)) else ''}; expected a dict "
            f"or a tuple of the fields {', '.join(self.fields)}. Name them with fields=, or make a dict with to_sample="
        )


def _samples(samples: _Samples, indices: Sequence[int], num_workers: int) -> Iterator[tuple[Mapping[str, object], Changes]]:
    if num_workers == 0:
        return (samples[index] for index in indices)
    try:
        from torch.utils.data import DataLoader
    except ImportError as error:
        raise ImportError("num_workers needs torch, whose workers read the data set; install it or leave num_workers out") from error
    loader: Any = DataLoader
    return iter(loader(samples, sampler=indices, batch_size=None, collate_fn=_itself, num_workers=num_workers))


def _itself(sample: Any) -> Any:
    return sample


def _told(samples: Iterator[Any], split: str, num_samples: int, bar: ProgressBar) -> Iterator[Any]:
    """Tells `bar` how far it is, ten times a second."""
    callback = bar.callback
    last = time.monotonic()
    num_done = 0
    for sample in samples:
        yield sample
        num_done += 1
        if callback is not None and (num_done == num_samples or time.monotonic() - last > 0.1):
            last = time.monotonic()
            callback(split, num_samples, num_done, 0, 0, 0)
