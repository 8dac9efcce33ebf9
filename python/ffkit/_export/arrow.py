"""Fields as columns of Arrow, and as features of Hugging Face's `datasets`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._errors import InvalidArgumentError, UnsupportedError
from .._samples import DTYPES, Field


def require_pyarrow() -> Any:
    """The package, which ffkit needs only here."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError("parquet is written by pyarrow, which is not installed: pip install pyarrow") from error
    return pyarrow


class Column:
    """A field as a column: its type in Arrow, its feature, and arrays of values."""

    def __init__(self, pa: Any, name: str, field: Field, num_dimensions: int, classes: Sequence[str]) -> None:
        self._pa = pa
        self.name = name
        self._field = field
        self._kind = field.item if field.type == "list" else field.type
        self._num_dimensions = num_dimensions if self._kind == "tensor" else 0
        self._picture = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
        self._is_class = bool(classes)
        self._feature = {"_type": "ClassLabel", "names": list(classes)} if classes else self._feature_of_kind()
        self.num_empty = 0
        """Arrays without elements, of which lists in lists do not keep all lengths."""

    def _numpy_dtype(self) -> str:
        return "float32" if self._field.dtype == "bf16" else DTYPES[self._field.dtype or "u8"]

    def _value_type(self) -> Any:
        """Of a value, a number of a tensor, or a part of a list."""
        pa = self._pa
        plain = {"image": self._picture, "string": pa.string(), "bytes": pa.binary()}
        if self._is_class:
            return pa.int64()
        return plain.get(self._kind or "") or pa.from_numpy_dtype(np.dtype(self._numpy_dtype()))

    def _feature_of_kind(self) -> dict[str, Any]:
        plain = {"image": {"_type": "Image"}, "string": {"_type": "Value", "dtype": "string"}, "bytes": {"_type": "Value", "dtype": "binary"}}
        return plain.get(self._kind or "") or {"_type": "Value", "dtype": self._numpy_dtype()}

    @property
    def num_levels(self) -> int:
        """Number of nested lists in a value."""
        return self._num_dimensions + (self._field.type == "list")

    @property
    def type(self) -> Any:
        made = self._value_type()
        for _ in range(self.num_levels):
            made = self._pa.list_(made)
        return made

    @property
    def feature(self) -> dict[str, Any]:
        made = self._feature
        for _ in range(self.num_levels):
            made = {"_type": "Sequence", "feature": made}
        return made

    def array(self, values: Sequence[Any], paths: Sequence[str | None]) -> Any:
        """`values`: from a Dataset, None for null. `paths`: the path of each picture.

        Raises:
            InvalidArgumentError: an array has another number of dimensions than the first one."""
        if self._field.type != "list":
            return self._array_of_kind(values, paths)
        lengths = [0 if value is None else len(value) for value in values]
        parts = [part for value in values if value is not None for part in value]
        return self._lists(lengths, [value is None for value in values], self._array_of_kind(parts, [None] * len(parts)))

    def _array_of_kind(self, values: Sequence[Any], paths: Sequence[str | None]) -> Any:
        if self._kind == "image":
            parts = [self._pa.array(values, self._picture[0].type), self._pa.array(paths, self._picture[1].type)]
            return self._pa.StructArray.from_arrays(parts, fields=list(self._picture), mask=self._pa.array([value is None for value in values], self._pa.bool_()))
        if self._kind == "tensor":
            return self._tensors(values)
        if self._kind == "scalar" and not self._is_class:
            dtype = np.dtype(self._numpy_dtype())
            numbers = np.array([0 if value is None else value for value in values], dtype)
            return self._pa.array(numbers, self._value_type(), mask=np.array([value is None for value in values], bool))
        return self._pa.array(values, self._value_type())

    def _tensors(self, values: Sequence[Any]) -> Any:
        dtype = np.dtype(self._numpy_dtype())
        for value in values:
            if value is not None and value.ndim != self._num_dimensions:
                raise InvalidArgumentError(
                    f"field '{self.name}': one array has {value.ndim} dimensions, an earlier one {self._num_dimensions}, but a column of parquet allows only one number "
                    "of dimensions; choose the records with subset(), or store the arrays in two fields"
                )
        arrays = [np.zeros((0,) * self._num_dimensions, dtype) if value is None else value for value in values]
        self.num_empty += sum(1 for value in values if value is not None and value.size == 0 and value.ndim > 1)
        flat = [np.ascontiguousarray(array).astype(dtype, copy=False).reshape(-1) for array in arrays]
        numbers = np.concatenate(flat) if flat else np.zeros(0, dtype)
        is_null = [value is None for value in values]
        if self._num_dimensions == 0:
            return self._pa.array(numbers, self._value_type(), mask=np.array(is_null, bool))
        made = self._pa.array(numbers, self._value_type())
        for level in reversed(range(self._num_dimensions)):
            # How long the lists of this level are: as many for each array as it has above it.
            lengths = [length for array in arrays for length in [array.shape[level]] * int(np.prod(array.shape[:level], dtype=np.int64))]
            made = self._lists(lengths, is_null if level == 0 else None, made)
        return made

    def _lists(self, lengths: Sequence[int], is_null: Sequence[bool] | None, parts: Any) -> Any:
        pa = self._pa
        offsets = pa.array(np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int32))
        mask = pa.array(is_null, pa.bool_()) if is_null is not None and any(is_null) else None
        return pa.ListArray.from_arrays(offsets, parts, mask=mask)


def metadata_of(columns: Sequence[Column]) -> Mapping[bytes, bytes]:
    """The metadata that `datasets` reads features from."""
    features = {column.name: column.feature for column in columns}
    return {b"huggingface": json.dumps({"info": {"features": features}}).encode()}


def require_label(value: Any, num_classes: int) -> None:
    """Checks that a label is -1 (none) or the number of a class, as ClassLabel needs."""
    if value is not None and not -1 <= value < num_classes:
        raise UnsupportedError(f"the label is {value}, but there are {num_classes} classes, and Hugging Face's ClassLabel takes no other; give classes=False")
