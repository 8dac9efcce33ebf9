"""Data sets as tables of Arrow, a part at a time, for engines that read them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from .._dataset import Dataset
from .._samples import DTYPES, Field, size_of

MakeTensors: TypeAlias = Callable[[Sequence[Any]], Any]
"""From arrays of one dtype, None for null, to a column."""


@dataclass(frozen=True)
class ReadPart:
    """Consecutive records."""

    begin: int
    end: int
    num_bytes: int
    """About so many, by the shards' sizes."""


def parts_of(dataset: Dataset, count: int) -> list[ReadPart]:
    """The records in at most `count` parts of nearly the same number."""
    num_records = len(dataset)
    count = max(1, min(count, num_records))
    bounds = [num_records * i // count for i in range(count + 1)]
    return [ReadPart(begin, end, _bytes_of(dataset, begin, end)) for begin, end in zip(bounds, bounds[1:]) if end > begin]


def _bytes_of(dataset: Dataset, begin: int, end: int) -> int:
    """By some records of the part."""
    some = sorted({begin + (end - begin) * i // 8 for i in range(8)})
    sizes = [sum(size_of(value) for value in dataset[i].values()) for i in some]
    return sum(sizes) * (end - begin) // len(some)


def tables_of(
    dataset: Dataset, fields: Sequence[str] | None, begin: int, end: int, batch_size: int, make_tensors: MakeTensors | None = None
) -> Iterator[Any]:
    """pyarrow.Tables of `batch_size` records each. Pictures and bytes are binary. `make_tensors`
    converts tensors (None: lists of lists).

    Raises ValueError: a batch size below 1; ffkit.FieldNotFoundError; errors of reading."""
    import pyarrow as pa

    if batch_size < 1:
        raise ValueError(f"batch_size is {batch_size}; expected 1 or more records")
    schema = dataset.schema
    names = list(schema) if fields is None else list(fields)
    for name in names:
        if name not in schema:
            dataset.field(begin, name)  # raises
    for first in range(begin, end, batch_size):
        last = min(first + batch_size, end)
        rows: list[Any]
        if len(names) == len(schema):
            rows = [dataset[i] for i in range(first, last)]
        else:
            rows = [{name: dataset.field(i, name) for name in names} for i in range(first, last)]
        yield pa.table({name: _column(pa, schema[name], [row[name] for row in rows], make_tensors or _lists) for name in names})


def arrow_schema(dataset: Dataset, fields: Sequence[str] | None) -> Any:
    """The schema of tables_of() with lists of lists, from the types of the fields and the
    dimensions of the first record."""
    if len(dataset) == 0:
        raise ValueError("the data set has no records")
    return next(tables_of(dataset, fields, 0, 1, 1)).schema


def _column(pa: Any, field: Field, values: Sequence[Any], make_tensors: MakeTensors) -> Any:
    kind = field.type
    if kind == "tensor":
        return make_tensors([_plain(value) for value in values])
    if kind == "scalar":
        return pa.array([None if value is None else _plain(value).item() for value in values], _number_type(pa, field))
    if kind == "list" and field.item == "tensor":
        return pa.array([None if value is None else [_plain(item).tolist() for item in value] for value in values])
    if kind in ("image", "bytes"):
        return _binary(pa, values)
    plain = {"string": pa.large_string(), "image": pa.large_binary(), "bytes": pa.large_binary()}
    return pa.array(values, pa.list_(plain[field.item or "bytes"]) if kind == "list" else plain[kind])


def _binary(pa: Any, values: Sequence[bytes | None]) -> Any:
    """A column of bytes that copies them once; pyarrow.array() copies more often."""
    offsets = np.zeros(len(values) + 1, np.int64)
    np.cumsum([0 if value is None else len(value) for value in values], out=offsets[1:])
    valid = None
    if any(value is None for value in values):
        valid = pa.array([value is not None for value in values]).buffers()[1]
    joined = b"".join(value for value in values if value is not None)
    return pa.Array.from_buffers(pa.large_binary(), len(values), [valid, pa.py_buffer(offsets), pa.py_buffer(joined)])


def _number_type(pa: Any, field: Field) -> Any:
    return pa.float32() if field.dtype == "bf16" else pa.from_numpy_dtype(np.dtype(DTYPES[field.dtype or "u8"]))


def _plain(value: Any) -> Any:
    """With a dtype that NumPy has itself: bfloat16 becomes float32, which loses nothing."""
    if value is None:
        return None
    array = np.asarray(value)
    return array.astype(np.float32) if array.dtype.name == "bfloat16" else array


def _lists(arrays: Sequence[Any]) -> Any:
    import pyarrow as pa

    dtype = next((array.dtype for array in arrays if array is not None), np.dtype(np.float32))
    deepest = max((array.ndim for array in arrays if array is not None), default=1)
    kind = pa.from_numpy_dtype(dtype)
    for _ in range(deepest):
        kind = pa.list_(kind)
    return pa.array([None if array is None else array.tolist() for array in arrays], kind)
