"""Dataset: one split of a data set, its records by number."""

from __future__ import annotations

import operator
import os
from typing import Any, Callable, Iterable, Iterator, Mapping, Sequence

from . import _ffkit
from ._convert_options import ProgressUpdate
from ._errors import FieldNotFoundError, InvalidArgumentError
from ._export.parquet import ParquetSummary, write_parquet
from ._samples import Field, from_tuples, with_content
from ._stores import StorageOptions, placed

PathLike = str | os.PathLike[str]


class Dataset(Sequence[dict[str, Any]]):
    """A split of a data set of `ffconvert` or `ffkit.Writer`, FFRecord v1 files, or a subset of it.

    `len(ds)` is the number of records. `ds[i]` reads record `i`, checks its checksum, and returns a
    dict of all fields. Scalars are int or float, strings str, tensors numpy.ndarray, lists list,
    null is None. Bytes and encoded pictures are bytes; a picture in the dct code becomes the
    original JPEG. Copies and subsets share the open files. Any thread may use a Dataset, also after
    fork(). It can be pickled; the files are then opened again.

    It is a map-style data set for torch, but `ffkit.Loader` reads it much faster.

    Args:
        path: folder or address ("s3://bucket/set") of a data set. With an empty `split` also of a
            split, a shard, a v1 file or a folder of v1 files.
        split: "train", "val", ...
        max_record_bytes: longer records are an error; 0: 256 MiB.
        index_cache_bytes: memory for the index of each open shard; 0: 1 MiB, for 32,512 records.
        max_open_shards: largest number of open shards; 0: 512. If more are needed, the least
            recently used ones are closed.
        storage_options: options of the store, such as {"profile": "partner"} or {"key": ...,
            "secret": ...}; None: from the environment. Pickles contain them.
        check_shards: when to compare a shard with the manifest: "at_once"; "as_needed" (when it is
            read); "automatic": at once if all shards can stay open.

    Raises:
        NotFoundError: there is no such folder or split (the message lists the existing splits).
        CorruptError: a shard is missing or damaged, or does not match the manifest.
        InvalidArgumentError: the conversion has not finished."""

    def __init__(
        self,
        path: PathLike,
        split: str = "",
        *,
        max_record_bytes: int = 0,
        index_cache_bytes: int = 0,
        max_open_shards: int = 0,
        check_shards: str = "automatic",
        storage_options: StorageOptions | None = None,
    ) -> None:
        path = placed(path, storage_options)
        self._limits: _Limits = (max_record_bytes, index_cache_bytes, max_open_shards, check_shards)
        self._source: _Source = (os.fspath(path), split)
        self._dataset = _ffkit.Dataset.open(path, split, self._limits)
        self._kept: dict[int, bytes] = {}  # what the records of a shard were made from, where they do not tell it

    @classmethod
    def from_files(
        cls, files: Iterable[PathLike], *, max_record_bytes: int = 0, index_cache_bytes: int = 0, max_open_shards: int = 0, storage_options: StorageOptions | None = None
    ) -> Dataset:
        """Opens shards or v1 files of the same schema, in this order, as one data set."""
        names = [os.fspath(placed(file, storage_options)) for file in files]
        return cls._from_files(names, (max_record_bytes, index_cache_bytes, max_open_shards, "automatic"))

    @classmethod
    def _from_files(cls, names: list[str], limits: _Limits) -> Dataset:
        return cls._made(_ffkit.Dataset.open_files(names, limits), names, limits)

    @classmethod
    def chain(cls, sources: Iterable[Dataset]) -> Dataset:
        """Joins data sets, one after the other, into one; `Order(mixture=...)` takes shares of
        each. It has the fields of all data sets. If a data set lacks a field, it is None in its
        records, and 0 or "" in columns.

        Raises:
            InvalidArgumentError: (a ValueError) a field has two types, or the classes differ."""
        parts = list(sources)
        opened = _ffkit.Dataset.chain([part._dataset for part in parts])
        if len(parts) == 1:
            return parts[0]
        return cls._made(opened, tuple(part.whole_split() for part in parts), _NO_LIMITS)

    @classmethod
    def _made(cls, dataset: _ffkit.Dataset, source: _Source, limits: _Limits) -> Dataset:
        made = cls.__new__(cls)
        made._limits = limits
        made._source = source
        made._dataset = dataset
        made._kept = {}
        return made

    def _like(self, dataset: _ffkit.Dataset) -> Dataset:
        return self._made(dataset, self._source, self._limits)

    def __len__(self) -> int:
        return self._dataset.num_records

    def _index(self, index: Any) -> int:
        return _place(index, len(self))

    def __getitem__(self, index: Any) -> Any:
        """Record `index` (negative: from the end), or a subset for a slice, a sequence of numbers
        or a mask. IndexError if out of range."""
        if isinstance(index, slice):
            return self.subset(range(*index.indices(len(self))))
        if isinstance(index, (list, range)) or getattr(index, "ndim", 0) > 0:
            return self.subset(index)
        return self._read(self._index(index))

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (self._read(i) for i in range(len(self)))

    def _read(self, index: int) -> dict[str, Any]:
        return with_content(self._dataset.read(index), self._dataset.kept_content(index, self._kept))

    def field(self, index: int, name: str) -> Any:
        """One field of record `index`, as in `ds[index]`. If the record is not compressed, it reads
        only this field. KeyError without it."""
        return self._dataset.read_field(self._index(index), name)

    def column(self, name: str) -> Any:
        """All values of a field with a column, in record order: numpy.ndarray [len] of i64, f64 or
        (for u64 fields) u64, or a list of str. Reads no records.

        Raises:
            FieldNotFoundError: (a KeyError) the field is missing, or not kept as a column."""
        return self._dataset.column(name)

    def picture_sizes(self, field: str = "image") -> tuple[Any, Any]:
        """Widths and heights of all pictures, in record order, for `aspect_ratio_buckets`: two
        numpy.ndarray [len] i64. Reads all records once, on all cores, and headers of pictures.

        A set made from COCO has them as columns: `ds.column("width")`, `ds.column("height")`.

        Raises:
            FieldNotFoundError: (a KeyError) there is no such field; InvalidArgumentError: (a
                ValueError) it has no pictures.
            CorruptError, UnsupportedError, NotFoundError: a record cannot be read, or its picture
                is null or not a picture; for the first such record."""
        widths, heights = self._dataset.picture_sizes(field)
        return widths, heights

    def where(self, filter: str) -> Dataset:
        """The records that fulfil `filter`, in their order, such as "label in {3, 7, 100..199} and
        id != 'a.jpg'". Reads only columns.

        "class == 'tench'" and "class in {n01440764, 'hen'}" select classes by identifier, by name,
        or by one of several names ("tench, Tinca tinca").

        Raises:
            InvalidArgumentError: (a ValueError) the filter is wrong; names the place in the text.
            FieldNotFoundError: (a KeyError) not a column; NotFoundError: unknown class."""
        return self._like(self._dataset.where(filter))

    def subset(self, indices: Iterable[int]) -> Dataset:
        """The records with these numbers, in this order. Numbers may repeat; negative ones count
        from the end. Or a mask with True or False for each record.

        Raises:
            InvalidArgumentError: (a ValueError) a number is out of range; a mask of wrong length.
            TypeError: for what is neither a number nor a mask, such as floats."""
        return self._like(self._dataset.subset(numbers_of(indices, len(self), "subset()")))

    @property
    def schema(self) -> dict[str, Field]:
        """Names and types of the fields, in their order."""
        return from_tuples(self._dataset.schema)

    @property
    def classes(self) -> list[str]:
        """The class of each label, such as "n01440764"; may be empty."""
        return self._dataset.classes

    @property
    def class_to_idx(self) -> dict[str, int]:
        """The label of each class, as torchvision's ImageFolder has it."""
        return {name: label for label, name in enumerate(self.classes)}

    @property
    def targets(self) -> list[int]:
        """The label of each record, as in torchvision's ImageFolder. AttributeError without a
        column "label"."""
        try:
            return list(self.column("label").tolist())
        except FieldNotFoundError as error:
            raise AttributeError(f"there are no targets: {error}", name="targets", obj=self) from None

    @property
    def class_names(self) -> list[str]:
        """Readable names of the same classes; empty or as many."""
        return self._dataset.class_names

    @property
    def class_ids(self) -> list[int | str]:
        """Ids of the same classes in the original data, such as COCO's category ids, or empty."""
        return self._dataset.class_ids

    @property
    def path(self) -> str:
        """The split's folder, or the (first) file."""
        return self._dataset.path

    @property
    def split(self) -> str:
        """The name of the split."""
        return self._dataset.split

    @property
    def fingerprint(self) -> str:
        """16 hex digits that identify the content and the order of records."""
        return self._dataset.fingerprint

    @property
    def source(self) -> dict[str, str]:
        """Facts about the origin of the data."""
        return self._dataset.source

    @property
    def conversion(self) -> dict[str, str]:
        """The converter's options."""
        return self._dataset.options

    @property
    def warnings(self) -> list[str]:
        """Warnings for the user, for example that a v1 file has no checksum."""
        return self._dataset.warnings

    @property
    def is_subset(self) -> bool:
        """Whether `where()`, `subset()` or a slice made it."""
        return self._dataset.is_subset

    def whole_split(self) -> Dataset:
        """All records of the split that this is a subset of."""
        return self._like(self._dataset.whole_split())

    def index_in_split(self, index: int) -> int:
        """The number in the whole split of record `index`."""
        return self._dataset.index_in_split(self._index(index))

    @property
    def num_sources(self) -> int:
        """Number of data sets in a chain; 1 without a chain."""
        return self._dataset.num_sources

    def source_of(self, index: int) -> int:
        """The number of record `index`'s data set in the chain, from 0."""
        return self._dataset.source_of(self._index(index))

    def to_parquet(
        self,
        folder: PathLike,
        *,
        name: str | None = None,
        fields: Sequence[str] = (),
        file_size: int | str = "500M",
        row_group_size: int = 1000,
        compression: str = "snappy",
        classes: bool = True,
        num_threads: int = 0,
        progress: bool | Callable[[ProgressUpdate], object] = True,
    ) -> ParquetSummary:
        """Writes the records as parquet in the form of Hugging Face's hub:
        `folder`/train-00000-of-00005.parquet, ... For `datasets.load_dataset(folder)`. Needs
        pyarrow.

        Pictures keep their bytes (a picture in the dct code becomes the original JPEG). They become
        an Image of `datasets`, a struct of bytes and path; if there is one picture, path is the
        last part of the field `id`. `label` becomes a ClassLabel if the data set has classes.
        Tensors become nested lists, bf16 float32. The files appear when all are complete. Nothing
        is overwritten; an error or Ctrl-C leaves nothing behind.

        Args:
            folder: destination. Other files in it stay, so it may have several splits.
            name: beginning of the file names; None: name of the split.
            fields: fields to write, in this order; empty: all.
            file_size: size of a file: a number of bytes, or a text such as "64M".
            row_group_size: largest number of records in a row group, which readers load at once. A
                group has at most 32 MiB; in memory it takes a few times as much.
            compression: a name of pyarrow.parquet: "snappy", "zstd", "none", ...
            classes: False: labels are plain numbers.
            num_threads: threads that read records; 0: one for each core.
            progress: True: a bar of tqdm, if that is installed; False; or a function that takes an
                ffkit.convert.ProgressUpdate.

        Raises:
            ImportError: without pyarrow.
            FieldNotFoundError: (a KeyError) there is no such field.
            InvalidArgumentError: (a ValueError) the files exist, another process writes them, or
                the arrays of a field differ in the number of dimensions.
            UnsupportedError: a label has no class.
            IoError: (an OSError) the files cannot be written."""
        return write_parquet(
            self, folder, name=name, fields=fields, file_size=file_size, row_group_size=row_group_size, compression=compression, classes=classes, num_threads=num_threads, progress=progress
        )  # fmt: skip

    def __reduce__(self) -> tuple[Any, ...]:
        chosen = [self._dataset.index_in_split(i) for i in range(len(self))] if self.is_subset else None
        return _reopen, (self._source, self._limits, chosen, self.fingerprint)

    def __repr__(self) -> str:
        kind = "subset of " if self.is_subset else ""
        return f"<ffkit.Dataset: {kind}{self.path}, {len(self)} records of {', '.join(self.schema)}>"


# max_record_bytes, index_cache_bytes, max_open_shards, check_shards: as Dataset has them.
_Limits = tuple[int, int, int, str]
_NO_LIMITS: _Limits = (0, 0, 0, "automatic")

# What a whole split is opened from: a folder and a split, files, or the whole splits of a chain.
_Source = tuple[str, str] | list[str] | tuple[Dataset, ...]


def _reopen(source: Any, limits: _Limits, chosen: list[int] | None, fingerprint: str) -> Dataset:
    if isinstance(source[0], Dataset):
        dataset = Dataset.chain(source)
    elif isinstance(source, list):
        dataset = Dataset._from_files(source, limits)
    else:
        dataset = Dataset._made(_ffkit.Dataset.open(source[0], source[1], limits), source, limits)
    is_same = chosen is None or max(chosen, default=-1) < len(dataset)
    if chosen is not None and is_same:
        dataset = dataset.subset(chosen)
    if not is_same or dataset.fingerprint != fingerprint:
        raise InvalidArgumentError(
            f"the data set has changed since it was pickled, with the fingerprint {fingerprint}; pickle the Dataset again, or open it by its path",
            path=dataset.path,
        )
    return dataset


def _place(index: Any, size: int) -> int:
    """A number of 0 .. size - 1 from one that may count from the end."""
    if _is_bool(index):
        raise TypeError(f"{index!r} is not the number of a record; a mask needs True or False for each record")
    number = operator.index(index)
    if not -size <= number < size:
        raise IndexError(f"record {number} of {size}")
    return number % size


def _is_bool(value: Any) -> bool:
    # numpy's and torch's too
    return isinstance(value, bool) or str(getattr(value, "dtype", "")) in ("bool", "torch.bool")


def numbers_of(indices: Iterable[Any], size: int, what: str) -> list[int]:
    """The numbers that `indices` choose from `size` items: whole numbers (negative ones count from
    the end) or a mask. Raises like Dataset.subset(), and names `what`."""
    if isinstance(indices, (str, bytes, Mapping)):
        raise TypeError(f"{what} takes numbers or a mask, not {type(indices).__name__}")
    values = indices.tolist() if hasattr(indices, "tolist") else list(indices)
    if not isinstance(values, list):
        raise TypeError(f"{what} takes several numbers or a mask, not the single value {values!r}")
    num_bools = sum(map(_is_bool, values))
    if num_bools == 0:
        numbers = [_whole(value, what) for value in values]
        return [i + size if -size <= i < 0 else i for i in numbers]
    if num_bools < len(values):
        raise TypeError(f"{what} takes numbers or a mask, not both")
    if len(values) != size:
        raise InvalidArgumentError(f"the mask of {what} has {len(values)} values, expected {size}")
    return [i for i, value in enumerate(values) if value]


def plain_numbers(values: Any) -> list[Any] | None:
    """A list or an array as a list; None stays None."""
    return None if values is None else values.tolist() if hasattr(values, "tolist") else list(values)


def mixture_of(value: Any) -> list[Any] | None:
    """The weights of a mixture: [] for "equal", None without one."""
    if isinstance(value, str) and value != "equal":
        raise InvalidArgumentError(f"mixture is '{value}', expected 'equal' or a weight for each data set")
    weights = [] if isinstance(value, str) else plain_numbers(value)
    if weights == [] and not isinstance(value, str):
        raise InvalidArgumentError("mixture is empty, expected 'equal' or a weight for each data set")
    return weights


def _whole(value: Any, what: str) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{what} takes whole numbers or a mask, not {value!r}") from None


def dataset_of(value: Any) -> Dataset:
    """The Dataset for the argument of a loader: a Dataset, its path, or torch's Subset or
    ConcatDataset of data sets."""
    if isinstance(value, Dataset):
        return value
    if isinstance(value, (str, os.PathLike)):
        return Dataset(value)
    if hasattr(value, "dataset") and hasattr(value, "indices"):
        return dataset_of(value.dataset).subset(value.indices)
    parts = getattr(value, "datasets", None)
    if isinstance(parts, (list, tuple)) and parts:
        return Dataset.chain([dataset_of(part) for part in parts])
    kind = type(value)
    remedy = "; convert it with ffkit.convert.from_torch()" if hasattr(kind, "__getitem__") else ""
    raise TypeError(f"{kind.__module__}.{kind.__qualname__} is not a data set of ffkit, expected an ffkit.Dataset or its path{remedy}")


def splits(path: PathLike, *, storage_options: StorageOptions | None = None) -> list[str]:
    """The splits of a data set folder, sorted."""
    return _ffkit.list_splits(placed(path, storage_options))


def decode_image(data: bytes) -> Any:
    """The pixels of an encoded picture (JPEG, PNG, WebP, BMP, PPM, PGM, PBM or a JPEG in the dct
    code): numpy.ndarray [height, width, 3] u8 RGB, those of Pillow's `convert("RGB")`. A picture
    with 16 bits per channel gives the high bytes; `ImageOptions(dtype="u16")` keeps all bits.

    Raises:
        CorruptError: broken or truncated data.
        UnsupportedError: another encoding, or more than 178,956,970 pixels."""
    return _ffkit.decode_picture(data)
