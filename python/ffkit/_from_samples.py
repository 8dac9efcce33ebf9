"""ffkit.convert.from_torch, from_iterable, from_array_record, from_grain, from_hdf5 and from_dataset_dict: samples that Python makes."""

from __future__ import annotations

import importlib
import os
import pathlib
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from typing import Any, Protocol

from . import _ffkit
from ._errors import add_note
from ._samples import FieldSpec
from ._datasets.hugging_face import Changes, StoredPictures, stored_iterable, stored_pictures
from ._datasets.picture_files import FilePictures, file_pictures, names_of_classes, num_large_pictures
from ._convert_options import Order, PictureOptions, Pixels, Progress, ProgressBar, Unpack
from ._stores import StorageOptions
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
    num_threads: int = 0,
    shard_size: int | str = "256M",
    zstd: int = 0,
    max_record: int | str = "256M",
    storage_options: StorageOptions | None = None,
    **pictures: Unpack[PictureOptions],
) -> SplitSummary:
    """Writes dataset[0], dataset[1], ... as one split, through Writer. `dataset` has __len__ and __getitem__: torch's, torchvision's, Hugging Face's.

    Args:
        dataset: gives dicts, or tuples whose values are `fields`. Of a Hugging Face data set pictures are taken as the bytes they are stored as. Where
            dataset[i] gives another picture, turned by its EXIF data or of the mode of Image(mode=), that one is encoded, and a warning has the counts.
            With set_transform() the data set is taken as it comes. Of torchvision's data sets that have loader=, and no transform, the files keep their bytes, too.
            Others give pixels, which are encoded anew as `pixels` says; a warning counts large ones.
        dst, split: where it is written; other splits of the data set are left alone.
        fields: names for the values of tuples.
        to_sample: makes the dict of fields of what the data set gives; runs where the data set does. Overrides `fields`.
        schema, pixels, num_threads, shard_size, zstd, max_record, storage_options, pictures: as in Writer.
        classes: names of the classes; None: dataset.classes, .categories or .all_categories, also of what a Subset or ConcatDataset is made of, or those of
            Hugging Face's ClassLabel, when there are some.
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
    given = classes if classes is not None else found if found is not None else names_of_classes(dataset)
    pictures_of_files = stored if stored is not None or to_sample is not None else file_pictures(dataset)
    kind = type(dataset)
    is_shuffled = order == "shuffled" and split.startswith("train")
    indices: Sequence[int] = _ffkit.permutation(len(dataset), seed) if is_shuffled else range(len(dataset))
    # Before the writer, whose threads a forked worker would not have.
    samples = _samples(_Samples(dataset, pictures_of_files, tuple(fields), to_sample), indices, num_workers)
    writer = Writer(
        dst, split, schema, classes=[str(name) for name in given or ()], source={"kind": "dataset", "path": f"{kind.__module__}.{kind.__qualname__}"},
        pixels=pixels, num_threads=num_threads, shard_size=shard_size, zstd=zstd, max_record=max_record, seed=seed,
        storage_options=storage_options, _options={"order": "shuffle", "seed": str(seed)} if is_shuffled else {}, **pictures,
    )  # fmt: skip
    return _write_all(writer, split, samples, len(dataset), progress, pixels)


def from_iterable(
    samples: Iterable[Any],
    dst: str | os.PathLike[str],
    *,
    split: str = "train",
    fields: Sequence[str] = ("image", "label"),
    to_sample: Callable[[Any], Mapping[str, object]] | None = None,
    schema: Mapping[str, FieldSpec] | None = None,
    classes: Sequence[str] | None = None,
    num_samples: int | None = None,
    progress: Progress = True,
    pixels: Pixels = "png",
    num_threads: int = 0,
    shard_size: int | str = "256M",
    zstd: int = 0,
    max_record: int | str = "256M",
    storage_options: StorageOptions | None = None,
    **pictures: Unpack[PictureOptions],
) -> SplitSummary:
    """Writes what `samples` gives, in its order, as one split, through Writer: a generator, a list, torch's or Hugging Face's IterableDataset, a loader.

    The order is that of `samples`: what has no length cannot be shuffled. The loader shuffles in each epoch, wherever records lie.

    Args:
        samples: gives dicts, or tuples whose values are `fields`; not batches. Of Hugging Face's IterableDataset pictures are taken as from_torch() takes them.
        num_samples: how many there will be, for the progress; None: len(samples), where it has one.
        dst, split, fields, to_sample, schema, classes, progress, pixels, num_threads, shard_size, zstd, max_record, storage_options, pictures: as in from_torch().

    Raises: what `samples` raises, with a note that says at which sample; and what Writer raises. Then nothing stays.
    """
    if isinstance(samples, (str, bytes, Mapping)) or not hasattr(samples, "__iter__"):
        raise TypeError(f"samples is {type(samples).__qualname__}; expected what gives samples in a loop, such as a generator (called, where it is a function)")
    stored, found = stored_iterable(samples)
    given = classes if classes is not None else found if found is not None else names_of_classes(samples)
    kind = type(samples)
    total = num_samples if num_samples is not None else len(samples) if isinstance(samples, Sized) else 0
    writer = Writer(
        dst, split, schema, classes=[str(name) for name in given or ()], source={"kind": "iterable", "path": f"{kind.__module__}.{kind.__qualname__}"},
        pixels=pixels, num_threads=num_threads, shard_size=shard_size, zstd=zstd, max_record=max_record, storage_options=storage_options, **pictures,
    )  # fmt: skip
    return _write_all(writer, split, _in_turn(stored, tuple(fields), to_sample), total, progress, pixels)


def from_grain(dataset: Any, dst: str | os.PathLike[str], **options: Any) -> SplitSummary:
    """Writes a data set of grain as one split, by from_iterable() and with its options: a MapDataset from 0 to its length, an IterDataset or a DataLoader as it comes.

    Elements that a filter of a MapDataset leaves out are not written, and a warning has their number.

    Raises: ValueError for a data set that repeats without an end, or that gives batches; and what from_iterable() raises.
    """
    if not hasattr(dataset, "__getitem__"):
        return from_iterable(dataset, dst, **options)
    size = len(dataset)
    if size >= 1 << 62:
        raise ValueError("the data set repeats without an end; convert it without repeat()")
    num_filtered = 0

    def kept() -> Iterator[Any]:
        nonlocal num_filtered
        for index in range(size):
            element = dataset[index]
            if element is None:
                num_filtered += 1
            else:
                yield element

    summary = from_iterable(kept(), dst, **{"num_samples": size, **options})
    if num_filtered > 0:
        warnings.warn(f"{summary.split}: {num_filtered} of {size} elements were left out by the data set's filters", stacklevel=2)
    return summary


def from_array_record(
    src: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], dst: str | os.PathLike[str], to_sample: Callable[[bytes], Mapping[str, object]], **options: Any
) -> SplitSummary:
    """Writes the records of array_record files as one split, by from_torch() and with its options. The package array_record reads them.

    Args:
        src: a file, several, or a folder, whose *.array_record* are taken in the order of their names.
        to_sample: makes the dict of fields of the bytes of a record, which say nothing about themselves.

    Raises: FileNotFoundError for a folder without such files; ImportError without the package; and what from_torch() raises.
    """
    source: Any = importlib.import_module("array_record.python.array_record_data_source")
    if isinstance(src, (str, os.PathLike)) and os.path.isdir(src):
        files = sorted(str(file) for file in pathlib.Path(src).glob("*.array_record*"))
        if not files:
            raise FileNotFoundError(f"{os.fspath(src)}: holds no files *.array_record*")
    else:
        files = [os.fspath(src)] if isinstance(src, (str, os.PathLike)) else [os.fspath(file) for file in src]
    with source.ArrayRecordDataSource(files) as records:
        return from_torch(records, dst, to_sample=to_sample, **options)


def from_hdf5(
    src: str | os.PathLike[str], dst: str | os.PathLike[str], fields: Mapping[str, str] | None = None, *, split: str = "train", **options: Any
) -> SplitSummary:
    """Writes the rows of an HDF5 file's datasets as one split, in their order, by from_iterable() and with its options. h5py reads them.

    A row of an array of numbers is an array, or a number where there is one a row; variable-length bytes are bytes, such as an encoded picture, and texts are
    texts. Pictures as arrays u8 [N, H, W, 3] are stored as `pixels` says where the schema says that they are some: schema={"image": "image", "label": "i64"}; else as tensors.

    Args:
        fields: the datasets by field, {"image": "train/images", "label": "train/labels"}; None: all at the top of the file, under their names.

    Raises: KeyError for a dataset that is not there; ValueError for datasets of different lengths, or without rows; ImportError without h5py; and what
        from_iterable() raises.
    """
    h5py: Any = importlib.import_module("h5py")
    with h5py.File(src, "r") as file:
        if fields is None:
            fields = {name: name for name, item in file.items() if isinstance(item, h5py.Dataset)}
        columns = {}
        for field, name in fields.items():
            if name not in file or not isinstance(file[name], h5py.Dataset):
                raise KeyError(f"{os.fspath(src)}: holds no dataset '{name}'; there are {', '.join(_hdf5_datasets(file, h5py)) or 'none'}")
            columns[field] = file[name].asstr() if h5py.check_string_dtype(file[name].dtype) else file[name]
        lengths = {field: file[name].shape[0] if file[name].shape else 0 for field, name in fields.items()}
        if len(set(lengths.values())) != 1 or 0 in lengths.values():
            told = ", ".join(f"{fields[field]}: {length}" for field, length in lengths.items())
            raise ValueError(f"{os.fspath(src)}: all datasets must have the same number of rows, one or more ({told}); name some with fields")
        size = next(iter(lengths.values()))
        return from_iterable(_hdf5_rows(columns, size), dst, split=split, num_samples=size, **options)


def _hdf5_datasets(file: Any, h5py: Any) -> list[str]:
    names: list[str] = []
    file.visititems(lambda name, item: names.append(name) if isinstance(item, h5py.Dataset) else None)
    return names


def _hdf5_rows(columns: Mapping[str, Any], size: int) -> Iterator[Mapping[str, object]]:
    rows_at_once = 64  # of each dataset: reading row by row is slow
    for begin in range(0, size, rows_at_once):
        blocks = {field: column[begin : begin + rows_at_once] for field, column in columns.items()}
        for i in range(min(rows_at_once, size - begin)):
            # Variable-length bytes come as arrays u8 of Python objects, fixed ones as numpy.bytes_
            # or numpy.void.
            yield {
                field: block[i].tobytes() if block.dtype.kind == "O" and hasattr(block[i], "tobytes") else bytes(block[i]) if block.dtype.kind in "SV" else block[i]
                for field, block in blocks.items()
            }


def from_dataset_dict(splits: Mapping[str, Any], dst: str | os.PathLike[str], **options: Any) -> dict[str, SplitSummary]:
    """Writes each split of a Hugging Face DatasetDict or IterableDatasetDict, or of any dict of data sets, with from_torch() or from_iterable(), and their options.

    "validation" and "valid" become "val", which is what the trainer looks for. Returns the summaries by the names that were written.

    Raises: ValueError when two splits would have one name; and what those two raise. Splits that were written before stay.
    """
    named = {name: {"validation": "val", "valid": "val"}.get(name, name) for name in splits}
    for name, written in named.items():
        if list(named.values()).count(written) > 1:
            raise ValueError(f"split '{name}' would become '{written}', and so would another one; rename one of them")
    summaries = {}
    for name, dataset in splits.items():
        has_numbers = hasattr(dataset, "__getitem__") and hasattr(dataset, "__len__")
        convert: Callable[..., SplitSummary] = from_torch if has_numbers else from_iterable
        summaries[named[name]] = convert(dataset, dst, split=named[name], **options)
    return summaries


def _write_all(writer: Writer, split: str, samples: Iterator[tuple[Mapping[str, object], Changes]], num_samples: int, progress: Progress, pixels: Pixels) -> SplitSummary:
    bar = ProgressBar(progress)
    changes = Changes()
    try:
        with writer:
            for sample, changed in _told(samples, split, num_samples, bar):
                writer.write(sample)
                changes.add(changed)
    finally:
        bar.close()
    if changes.num_pixels > 0:
        warnings.warn(
            f"{split}: the data set gives {changes.num_pixels} pictures as pixels, which are stored as {'PNGs, larger than JPEG files' if pixels == 'png' else pixels}. "
            "Data sets of torchvision with loader= and no transform keep the files' bytes, and so do ffkit.File(path) in a sample and ffkit.convert.folder()",
            stacklevel=3,
        )
    if text := str(changes):
        warnings.warn(f"{split}: not all pictures keep the bytes they are stored as: {text}, as in dataset[i], and encoded anew", stacklevel=3)
    return writer.summary


def _in_turn(
    samples: Iterable[tuple[Any, Changes]], fields: tuple[str, ...], to_sample: Callable[[Any], Mapping[str, object]] | None
) -> Iterator[tuple[Mapping[str, object], Changes]]:
    number = 0
    iterator = iter(samples)
    while True:
        try:
            item, changes = next(iterator)
            sample = to_sample(item) if to_sample is not None else _as_mapping(item, fields, f"sample {number}")
        except StopIteration:
            return
        except Exception as error:
            add_note(error, f"ffkit: while reading sample {number}")
            raise
        yield sample, changes
        number += 1


def _as_mapping(item: Any, fields: tuple[str, ...], name: str) -> Mapping[str, object]:
    if isinstance(item, Mapping):
        return item
    if isinstance(item, (tuple, list)) and len(item) == len(fields):
        return dict(zip(fields, item))
    raise TypeError(
        f"{name} is {type(item).__qualname__}{f' of {len(item)} values' if isinstance(item, (tuple, list)) else ''}; expected a dict "
        f"or a tuple of the fields {', '.join(fields)}. Name them with fields=, or make a dict with to_sample="
    )


class _Samples:
    """The data set as torch's workers see it: picklable, and with samples that are dicts, and what was changed of their pictures."""

    def __init__(
        self, dataset: MapDataset, stored: StoredPictures | FilePictures | None, fields: tuple[str, ...], to_sample: Callable[[Any], Mapping[str, object]] | None
    ) -> None:
        self.dataset: MapDataset | StoredPictures | FilePictures = dataset if stored is None else stored
        self.fields = fields
        self.to_sample = to_sample

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: int) -> tuple[Mapping[str, object], Changes]:
        try:
            item, changes = self.dataset.get(index) if isinstance(self.dataset, (StoredPictures, FilePictures)) else (self.dataset[index], Changes())
            if self.to_sample is None and not isinstance(self.dataset, StoredPictures):
                changes.num_pixels += num_large_pictures(item)
            if self.to_sample is not None:
                return self.to_sample(item), changes
        except Exception as error:
            add_note(error, f"ffkit: while reading dataset[{index}]")
            raise
        return _as_mapping(item, self.fields, f"dataset[{index}]"), changes


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
