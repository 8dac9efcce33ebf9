"""Dataset: one split of a data set, its records by number."""

from __future__ import annotations

import bisect
import itertools
import operator
import os
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NoReturn, Optional, Union

import numpy

from . import _open
from ._errors import CorruptError, InvalidArgumentError, only_in_ffkit
from ._manifest import fingerprint, fnv1a64
from ._schema import Field, field_of, is_integer
from ._v1 import AnyShard
from ._values import value_of
from ._verify import Problem, check_splits

PathLike = Union[str, "os.PathLike[str]"]

MAX_RECORD_BYTES = 256 << 20


class Dataset(Sequence[dict[str, Any]]):
    """One split of a data set, as ffkit.Dataset has it, or FFRecord v1 files, or a subset of it.
    Slow: it is for looking at data.

    `len(ds)` is the number of records; `ds[i]` reads record `i` and compares its checksum: a dict
    of all fields, of which scalars are int or float, strings str, bytes and pictures (encoded; one
    in the dct code is the JPEG that it was) bytes, tensors numpy.ndarray, lists list, and what is
    null is None. Tensors of bf16 are ml_dtypes.bfloat16, as in ffkit, where that package is
    installed; otherwise they are float32, with the same values. `ds[3:7]`, `ds[[5, 2]]` and
    `ds[mask]` are subsets; negative numbers count from the end.

    No file stays open. A Dataset may be used by any thread, and pickled, which opens it anew.

    Args:
        path: the folder that ffconvert wrote; or that of a split, a shard, a v1 file or a folder of
            those, with an empty `split`.
        split: "train", "val", ...
        max_record_bytes: the longest record that is read; 0: 256 MiB.
        checksums: False: only those of the index are compared, and not those of records.

    Raises:
        NotFoundError: there is no such folder or split (the message lists those there are).
        CorruptError: a shard is missing, damaged or another one than the manifest says.
        InvalidArgumentError: the conversion has not finished.
        UnsupportedError: an address in a store, which ffkit reads; or a newer format."""

    def __init__(self, path: PathLike, split: str = "", *, max_record_bytes: int = 0, checksums: bool = True, **of_ffkit: Any) -> None:
        for name in of_ffkit:
            raise TypeError(f"ffkit_reader.Dataset has no argument '{name}'; the arguments of ffkit.Dataset for speed and memory are not supported")
        if max_record_bytes < 0:
            raise InvalidArgumentError(f"max_record_bytes is {max_record_bytes}, expected 0 or more")
        self._begin(_open.open_split(os.fspath(path), split, max_record_bytes or MAX_RECORD_BYTES), (os.fspath(path), split), checksums)

    def _begin(self, opened: _open.OpenSplit, source: _Source, checksums: bool) -> None:
        self._open = opened
        self._source = source
        self._checksums = checksums
        self._chosen: Optional[list[int]] = None  # numbers in the split
        self._first = [0, *itertools.accumulate(shard.num_records for shard in opened.manifest.shards)]

    @classmethod
    def from_files(cls, files: Iterable[PathLike], *, max_record_bytes: int = 0, checksums: bool = True) -> Dataset:
        """Opens shards or v1 files of the same schema, in this order, as one data set."""
        names = [os.fspath(file) for file in files]
        made = cls.__new__(cls)
        made._begin(_open.open_files(names, max_record_bytes or MAX_RECORD_BYTES), names, checksums)
        return made

    def __len__(self) -> int:
        return self._first[-1] if self._chosen is None else len(self._chosen)

    def _place(self, index: Any) -> tuple[AnyShard, int]:
        """The shard of record `index`, and its number in it."""
        number = self.index_in_split(index)
        shard = bisect.bisect_right(self._first, number) - 1
        return self._open.shard(shard), number - self._first[shard]

    def _value(self, name: str, data: Optional[bytes], shard: AnyShard, i: int) -> Any:
        if data is None:
            return None
        try:
            return value_of(name, self.schema[name], data)
        except CorruptError as error:
            raise CorruptError(error.reason, shard.path, i) from None

    def __getitem__(self, index: Any) -> Any:
        """Record `index`, counted from the end where negative, or the subset of a slice, of a
        sequence of numbers or of a mask. IndexError when out of range."""
        if isinstance(index, slice):
            return self.subset(range(*index.indices(len(self))))
        if isinstance(index, (list, range)) or getattr(index, "ndim", 0) > 0:
            return self.subset(index)
        shard, i = self._place(index)
        return {name: self._value(name, data, shard, i) for name, data in zip(self.schema, shard.record(i, self._checksums))}

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (self[i] for i in range(len(self)))

    def field(self, index: int, name: str) -> Any:
        """One field of record `index`, as in `ds[index]`. Reads its bytes alone where the record is
        not compressed. KeyError without it."""
        field_of(self.schema, name)
        shard, i = self._place(index)
        return self._value(name, shard.field(i, list(self.schema).index(name), self._checksums), shard, i)

    def column(self, name: str) -> Any:
        """All values of a field with a column, in record order: numpy.ndarray [len] i64, f64 or of
        u64 fields u64, or a list of str. Reads no records.

        Raises:
            FieldNotFoundError: (a KeyError) the field is missing, or not kept as a column."""
        field = field_of(self.schema, name)
        parts = [self._open.shard(number).column(name) for number in range(len(self._open.files))]
        if field.type == "string":
            texts = [text for part in parts for text in part]
            return texts if self._chosen is None else [texts[i] for i in self._chosen]
        dtype = numpy.uint64 if field.dtype == "u64" else numpy.int64 if is_integer(field) else numpy.float64
        numbers = numpy.concatenate([numpy.zeros(0, dtype), *(part.astype(dtype) for part in parts)])
        return numbers if self._chosen is None else numbers[numpy.array(self._chosen, numpy.int64)]

    def subset(self, indices: Iterable[int]) -> Dataset:
        """The records with these numbers, in this order; numbers may repeat, and negative ones
        count from the end. A mask has True or False for each record.

        Raises:
            InvalidArgumentError: (a ValueError) a number is out of range; a mask of wrong length.
            TypeError: for what is neither a number nor a mask, such as floats."""
        size = len(self)
        if isinstance(indices, (str, bytes, Mapping)):
            raise TypeError(f"subset() takes numbers or a mask, not {type(indices).__name__}")
        values = indices.tolist() if hasattr(indices, "tolist") else list(indices)
        masks = [_is_bool(value) for value in values]
        if any(masks):
            if not all(masks):
                raise TypeError("subset() takes numbers or a mask, not both")
            if len(values) != size:
                raise InvalidArgumentError(f"the mask of subset() has {len(values)} values, expected {size}")
            values = [i for i, value in enumerate(values) if value]
        chosen = []
        for value in values:
            number = operator.index(value)
            if not -size <= number < size:
                raise InvalidArgumentError(f"there is no record {number}; the {'subset' if self.is_subset else 'split'} has {size} records, and the first is record 0", self.path)
            chosen.append(self.index_in_split(number))
        made = self.whole_split()
        made._chosen = chosen
        return made

    @property
    def schema(self) -> dict[str, Field]:
        """Names and types of the fields, in their order."""
        return self._open.manifest.schema

    @property
    def classes(self) -> list[str]:
        """What label i stands for, such as "n01440764"; may be empty."""
        return self._open.manifest.classes

    @property
    def class_names(self) -> list[str]:
        """Readable names of the same classes; empty or as many."""
        return self._open.manifest.class_names

    @property
    def class_ids(self) -> list[Union[int, str]]:
        """The ids of the classes in the original data, such as COCO's category ids, or empty."""
        return self._open.manifest.class_ids

    @property
    def path(self) -> str:
        """The split's folder, or the (first) file."""
        return self._open.path

    @property
    def split(self) -> str:
        """The name of the split."""
        return self._open.manifest.split

    @property
    def fingerprint(self) -> str:
        """16 hex digits that identify the content and the order of records, as in ffkit."""
        whole = fingerprint(self._open.manifest.shards)
        if self._chosen is None:
            return whole
        return f"{fnv1a64(struct.pack(f'<{len(self._chosen)}q', *self._chosen), fnv1a64(whole.encode())):016x}"

    @property
    def source(self) -> dict[str, str]:
        """Facts about where the data came from."""
        return self._open.manifest.source

    @property
    def conversion(self) -> dict[str, str]:
        """The converter's options."""
        return self._open.manifest.options

    @property
    def warnings(self) -> list[str]:
        """Sentences the user should know, such as that a v1 file has no checksum."""
        return self._open.warnings

    @property
    def is_subset(self) -> bool:
        """Whether `subset()` or a slice made it."""
        return self._chosen is not None

    def whole_split(self) -> Dataset:
        """All records of the split that this is a subset of."""
        made = type(self).__new__(type(self))
        made._begin(self._open, self._source, self._checksums)
        return made

    def index_in_split(self, index: int) -> int:
        """The number in the whole split of record `index`."""
        if _is_bool(index):
            raise TypeError(f"{index!r} is not the number of a record; a mask needs True or False for each record")
        number, size = operator.index(index), len(self)
        if not -size <= number < size:
            raise IndexError(f"record {number} of {size}")
        return number % size if self._chosen is None else self._chosen[number]

    def verify(self) -> list[Problem]:
        """Reads the whole split, compares every checksum, and returns a list of the damage."""
        if not isinstance(self._source, list):
            return [problem for check in check_splits(*self._source, self._open.max_record_bytes) for problem in check.problems]
        return [problem for file in self._source for check in check_splits(file, "", self._open.max_record_bytes) for problem in check.problems]

    @classmethod
    def chain(cls, sources: Iterable[Any]) -> NoReturn:
        """Only in ffkit. Raises UnsupportedError, which says so."""
        only_in_ffkit("Dataset.chain()")

    def where(self, filter: str) -> NoReturn:
        """Only in ffkit: raises UnsupportedError. column() and subset() choose records, too."""
        only_in_ffkit("Dataset.where()")

    def picture_sizes(self, field: str = "image") -> NoReturn:
        """Only in ffkit. Raises UnsupportedError, which says so."""
        only_in_ffkit("Dataset.picture_sizes()")

    def to_parquet(self, *arguments: Any, **options: Any) -> NoReturn:
        """Only in ffkit. Raises UnsupportedError, which says so."""
        only_in_ffkit("Dataset.to_parquet()")

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen, (self._source, self._open.max_record_bytes, self._checksums, self._chosen, self.fingerprint)

    def __repr__(self) -> str:
        kind = "subset of " if self.is_subset else ""
        return f"<ffkit_reader.Dataset: {kind}{self.path}, {len(self)} records of {', '.join(self.schema)}>"


# What a split is opened from: a path and a split, or files.
_Source = Union[tuple[str, str], list[str]]


def _reopen(source: Any, max_record_bytes: int, checksums: bool, chosen: Optional[list[int]], expected: str) -> Dataset:
    if isinstance(source, list):
        dataset = Dataset.from_files(source, max_record_bytes=max_record_bytes, checksums=checksums)
    else:
        dataset = Dataset(*source, max_record_bytes=max_record_bytes, checksums=checksums)
    is_same = chosen is None or max(chosen, default=-1) < len(dataset)
    if chosen is not None and is_same:
        dataset = dataset.subset(chosen)
    if not is_same or dataset.fingerprint != expected:
        raise InvalidArgumentError("the data set has changed since it was pickled; open it by its path", dataset.path)
    return dataset


def _is_bool(value: Any) -> bool:
    # numpy's too
    return isinstance(value, bool) or str(getattr(value, "dtype", "")) == "bool"
