"""ffkit.convert.from_torch, from_iterable, from_array_record, from_grain, from_hdf5 and
from_dataset_dict: samples that Python makes."""

from __future__ import annotations

import importlib
import os
import pathlib
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from typing import Any, Protocol

from . import _ffkit
from ._errors import add_note
from ._samples import FieldSpec
from ._datasets.hugging_face import Changes, StoredPictures, stored_iterable, stored_pictures
from ._datasets.picture_files import names_of_classes, num_large_pictures, with_file_bytes
from ._convert_options import Order, PictureOptions, Pixels, Progress, ProgressBar, Unpack
from ._stores import StorageOptions
from ._summary import SplitSummary
from .writer import Writer


class MapDataset(Protocol):
    """A data set with a length and samples by number, like torch's and Hugging Face's Dataset."""

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
    order: Order = "shuffle",
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
    """Writes dataset[0], dataset[1], ... as one split, with Writer: data sets of torch,
    torchvision, Hugging Face, or others with __len__ and __getitem__.

    Args:
        dataset: returns dicts, or tuples with values for `fields`. Pictures of Hugging Face keep
            their stored bytes. If dataset[i] gives another picture (rotated by EXIF data, or with
            Image(mode=)), that one is encoded, and a warning has the number. With set_transform(),
            samples are used as they come. Pictures of torchvision's data sets keep the bytes of
            their files, too, if the data set has loader= and no transform. Other data sets give
            pixels, which are encoded as `pixels` says; a warning counts large ones.
        dst, split: destination; other splits of the data set stay.
        fields: names for the values of tuples.
        to_sample: function from an item of the data set to a dict of fields; runs in the same
            process as the data set. Overrides `fields`.
        schema, pixels, num_threads, shard_size, zstd, max_record, storage_options, pictures: as in
            Writer.
        classes: names of the classes; None: dataset.classes, .categories or .all_categories (also
            inside of a Subset or ConcatDataset), or those of Hugging Face's ClassLabel, if any.
        order, seed: "shuffle": shuffles splits whose name begins with "train", with this seed;
            "sequential": keeps the order.
        num_workers: torch's worker processes that call dataset[i]; 0: this thread calls it. The
            records and their order are the same. They are processes, because many map-style data
            sets have an open file or a random state that threads must not share, and because of the
            GIL. Encoding is always parallel.
        progress: as in ffkit.convert.

    Raises: errors of dataset[i], with a note that names i, and of Writer. Then dst stays empty."""
    if len(dataset) == 0:
        raise ValueError("the data set is empty; a split needs at least one record")
    stored, found = stored_pictures(dataset)
    given = classes if classes is not None else found if found is not None else names_of_classes(dataset)
    pictures_of_files = stored if stored is not None or to_sample is not None else with_file_bytes(dataset)
    kind = type(dataset)
    if order not in ("shuffle", "sequential"):
        raise ValueError(f"order is '{order}', expected 'shuffle' or 'sequential'")
    is_shuffled = order == "shuffle" and split.startswith("train")
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
    """Writes `samples` in their order as one split, with Writer: a generator, a list, torch's or
    Hugging Face's IterableDataset, a loader.

    They are not shuffled, because they may have no length. The loader shuffles in each epoch.

    Args:
        samples: dicts, or tuples with values for `fields`; not batches. Pictures of Hugging Face's
            IterableDataset are treated as in from_torch().
        num_samples: number of samples, for the progress; None: len(samples), if it has one.
        dst, split, fields, to_sample, schema, classes, progress, pixels, num_threads, shard_size,
            zstd, max_record, storage_options, pictures: as in from_torch().

    Raises: errors of `samples`, with a note of the sample, and of Writer. Then dst stays empty."""
    if isinstance(samples, (str, bytes, Mapping)) or not hasattr(samples, "__iter__"):
        raise TypeError(f"samples is {type(samples).__qualname__}; expected an iterable of samples, such as a generator (if it is a function, call it)")
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
    """Writes a MapDataset, IterDataset or DataLoader of grain as one split, like from_iterable().

    If a filter of a MapDataset removes elements, a warning has their number.

    Raises: ValueError if it repeats forever or gives batches; errors of from_iterable()."""
    if not hasattr(dataset, "__getitem__"):
        return from_iterable(dataset, dst, **options)
    size = len(dataset)
    if size >= 1 << 62:
        raise ValueError("the data set repeats endlessly; convert it without repeat()")
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
    """Writes the records of array_record files as one split, with from_torch() and its options.
    Needs the package array_record.

    Args:
        src: one or several files, or a folder: its *.array_record* files in the order of their
            names.
        to_sample: function from the bytes of a record to a dict of fields.

    Raises: FileNotFoundError: no files; ImportError: no package; errors of from_torch()."""
    source: Any = importlib.import_module("array_record.python.array_record_data_source")
    if isinstance(src, (str, os.PathLike)) and os.path.isdir(src):
        files = sorted(str(file) for file in pathlib.Path(src).glob("*.array_record*"))
        if not files:
            raise FileNotFoundError(f"{os.fspath(src)}: has no files *.array_record*")
    else:
        files = [os.fspath(src)] if isinstance(src, (str, os.PathLike)) else [os.fspath(file) for file in src]
    with source.ArrayRecordDataSource(files) as records:
        return from_torch(records, dst, to_sample=to_sample, **options)


def from_hdf5(
    src: str | os.PathLike[str], dst: str | os.PathLike[str], fields: Mapping[str, str] | None = None, *, split: str = "train", **options: Any
) -> SplitSummary:
    """Writes the rows of the datasets in an HDF5 file as one split, in their order, with
    from_iterable() and its options. Needs h5py.

    A row of numbers is an array, or a number if there is one per row. Variable-length bytes, such
    as an encoded picture, are bytes; texts are texts. Arrays u8 [N, H, W, 3] are tensors, unless
    the schema says that they are pictures: schema={"image": "image", "label": "i64"}; see `pixels`.

    Args:
        fields: the dataset of each field, {"image": "train/images", "label": "train/labels"}; None:
            all at the top of the file, under their names.

    Raises: KeyError for a missing dataset; ValueError for datasets of different lengths, or without
        rows; ImportError without h5py; errors of from_iterable()."""
    h5py: Any = importlib.import_module("h5py")
    with h5py.File(src, "r") as file:
        if fields is None:
            fields = {name: name for name, item in file.items() if isinstance(item, h5py.Dataset)}
        columns = {}
        for field, name in fields.items():
            if name not in file or not isinstance(file[name], h5py.Dataset):
                raise KeyError(f"{os.fspath(src)}: has no dataset '{name}'; the datasets are {', '.join(_hdf5_datasets(file, h5py)) or 'none'}")
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
    """Writes each split of a Hugging Face DatasetDict or IterableDatasetDict, or of a dict of data
    sets, with from_torch() or from_iterable() and their options.

    "validation" and "valid" become "val", the name that the trainer expects. Returns summaries.

    Raises: ValueError if two splits have one name; their errors. Finished splits stay."""
    named = {name: {"validation": "val", "valid": "val"}.get(name, name) for name in splits}
    for name, written in named.items():
        if list(named.values()).count(written) > 1:
            raise ValueError(f"split '{name}' would become '{written}', like another split; rename one of them")
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
            for num_done, (sample, changed) in enumerate(samples, 1):
                writer.write(sample)
                changes.add(changed)
                bar.tell(split, num_samples, num_done)
    finally:
        bar.close()
    if changes.num_pixels > 0:
        warnings.warn(
            f"{split}: the data set gives {changes.num_pixels} pictures as pixels, which are stored as {'PNGs, larger than JPEG files' if pixels == 'png' else pixels}. "
            "To keep the bytes of the files, use loader= of torchvision without a transform, ffkit.File(path) in a sample, or ffkit.convert.folder()",
            stacklevel=3,
        )
    if text := str(changes):
        warnings.warn(f"{split}: not all pictures keep their stored bytes: {text}, as in dataset[i], and encoded again", stacklevel=3)
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
    """The data set for torch's workers: picklable, samples as dicts with changed pictures."""

    def __init__(
        self, dataset: MapDataset, stored: MapDataset | StoredPictures | None, fields: tuple[str, ...], to_sample: Callable[[Any], Mapping[str, object]] | None
    ) -> None:
        self.dataset: MapDataset | StoredPictures = dataset if stored is None else stored
        self.fields = fields
        self.to_sample = to_sample

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: int) -> tuple[Mapping[str, object], Changes]:
        try:
            item, changes = self.dataset.get(index) if isinstance(self.dataset, StoredPictures) else (self.dataset[index], Changes())
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
        raise ImportError("num_workers needs torch; install torch or leave num_workers out") from error
    loader: Any = DataLoader
    return iter(loader(samples, sampler=indices, batch_size=None, collate_fn=_itself, num_workers=num_workers))


def _itself(sample: Any) -> Any:
    return sample
