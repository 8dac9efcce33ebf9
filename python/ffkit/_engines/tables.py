"""Tables of engines as samples: pyarrow's Table and RecordBatch, DataFrame, dicts of arrays."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from .. import _ffkit
from .._samples import FieldType, FixedList, dtype_word, looks_like_picture

Table: TypeAlias = Any
"""pyarrow.Table or RecordBatch, pandas.DataFrame, or a dict whose values are arrays or lists of one length."""

_ROWS = 1024  # that are taken out of Arrow at once


def samples_of_table(table: Table) -> Iterator[dict[str, object]]:
    """The rows as dicts, None for null. Raises TypeError, or ValueError if lengths differ."""
    if is_arrow(table):
        batches = table.to_batches(max_chunksize=_ROWS) if hasattr(table, "to_batches") else [table]
        modes = modes_of_table(table)
        for batch in batches:
            yield from _rows({name: _in_mode(_values_of_arrow(array), modes.get(name)) for name, array in zip(batch.schema.names, batch.columns)})
        return
    yield from _rows(_columns_of(table))


def straight_table(table: Table) -> tuple[Any, dict[str, list[int]]] | None:
    """An Arrow table for ShardTask.write_table(), with the storage of tensors instead of tensors,
    and their shapes. None: it must be written by rows."""
    import pyarrow as pa

    if not hasattr(table, "to_batches"):
        table = pa.Table.from_batches([table])
    shapes: dict[str, list[int]] = {}
    for index, field in enumerate(table.schema):
        kind = field.type
        if not isinstance(kind, pa.BaseExtensionType):
            continue
        shape = getattr(kind, "shape", None) or ()
        is_whole = "Tensor" in type(kind).__name__ and len(shape) > 0 and all(isinstance(length, int) for length in shape)
        order = getattr(kind, "permutation", None)
        if not is_whole or order is not None and list(order) != list(range(len(shape))) or field.name in shapes:
            return None
        shapes[field.name] = list(shape)
        storage = pa.chunked_array([chunk.storage for chunk in table.column(index).chunks], kind.storage_type)
        table = table.set_column(index, field.name, storage)
    return table, shapes


def fields_of_table(table: Table) -> list[FieldType]:
    """The schema of an Arrow table, from its columns. Raises TypeError for an unsupported type."""
    return [_field_of_arrow(name, table.schema.field(name).type, table.column(name)) for name in table.schema.names]


def modes_of_table(table: Table) -> dict[str, str]:
    """Pillow's modes of columns, from Image(mode=) in an Arrow table; without the default "RGB"."""
    try:
        features = json.loads((table.schema.metadata or {})[b"huggingface"])["info"]["features"]
    except (KeyError, TypeError, ValueError):
        return {}
    features = {name: feature[0] if isinstance(feature, list) and feature else feature for name, feature in features.items()}
    features = {name: feature.get("feature", feature) for name, feature in features.items() if isinstance(feature, dict)}
    return {name: feature["mode"] for name, feature in features.items() if feature.get("_type") == "Image" and feature.get("mode") not in (None, "RGB")}


def _in_mode(value: Any, mode: str | None) -> Any:
    if mode is None:
        return value
    if isinstance(value, list):
        return [_in_mode(item, mode) for item in value]
    has_bytes = isinstance(value, dict) and value.get("bytes") is not None
    return {**value, "bytes": _ffkit.picture_in_mode(value["bytes"], mode)} if has_bytes else value


def _rows(columns: Mapping[str, Sequence[Any]]) -> Iterator[dict[str, object]]:
    names = list(columns)
    for row in zip(*columns.values()):
        yield dict(zip(names, row))


def is_arrow(table: Table) -> bool:
    """Whether it is a pyarrow.Table or RecordBatch."""
    return type(table).__module__.split(".")[0] == "pyarrow" and hasattr(table, "schema")


def _columns_of(table: Table) -> dict[str, Sequence[Any]]:
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(table, pandas.DataFrame):
        return {str(name): _values_of_pandas(table[name], pandas) for name in table.columns}
    if not isinstance(table, Mapping):
        raise TypeError(f"a table is a pyarrow.Table or RecordBatch, a pandas.DataFrame or a dict of arrays; got {type(table).__name__}")
    lengths = {name: len(values) for name, values in table.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"the columns have different lengths: {lengths}")
    return dict(table)


def _values_of_pandas(column: Any, pandas: Any) -> Sequence[Any]:
    """NaN stays NaN in columns of numbers; in others, it means a missing value and becomes None."""
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "biuf":
        return column.to_numpy()  # type: ignore[no-any-return]
    return [None if value is pandas.NA or value is pandas.NaT or (isinstance(value, float) and value != value) else value for value in column]


def _values_of_arrow(array: Any) -> Sequence[Any]:
    import pyarrow as pa

    kind = array.type
    if pa.types.is_dictionary(kind):
        return _values_of_arrow(array.dictionary_decode())
    if isinstance(kind, pa.BaseExtensionType):
        return _values_of_extension(array)
    if (pa.types.is_list(kind) or pa.types.is_large_list(kind)) and _is_number(kind.value_type) and array.flatten().null_count == 0:
        return _arrays_of_lists(array)
    if pa.types.is_fixed_size_list(kind):
        return [None if values is None else FixedList(values) for values in array.to_pylist()]
    return array.to_pylist()  # type: ignore[no-any-return]


def _arrays_of_lists(array: Any) -> Sequence[Any]:
    """One-dimensional arrays, without Python's numbers between."""
    values = array.values.to_numpy(zero_copy_only=False)
    offsets = array.offsets.to_numpy()
    nulls = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None
    return [None if nulls is not None and nulls[i] else values[offsets[i] : offsets[i + 1]] for i in range(len(array))]


def _values_of_extension(array: Any) -> Sequence[Any]:
    """One array per row for tensors of Arrow and Ray; for other types, the stored values."""
    if hasattr(array, "to_numpy_ndarray"):  # pyarrow.FixedShapeTensorArray
        rows: Sequence[Any] = array.to_numpy_ndarray()
    elif "Tensor" in type(array).__name__:
        rows = array.to_numpy(zero_copy_only=False)
    else:
        return array.to_pylist()  # type: ignore[no-any-return]
    return [None if valid is False else row for row, valid in zip(rows, array.is_valid().to_pylist())]


def _is_number(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))


def _field_of_arrow(name: str, kind: Any, column: Any) -> FieldType:
    import pyarrow as pa

    types = pa.types
    if types.is_dictionary(kind):
        kind = kind.value_type
    if isinstance(kind, pa.BaseExtensionType) and "Tensor" in type(kind).__name__:
        value = getattr(kind, "value_type", None) or getattr(kind, "scalar_type", None)
        return FieldType(name, "tensor", _dtype(name, value))
    plain = _plain_type(kind, column)
    if plain is not None:
        return FieldType(name, plain, column=plain == "string" and name == "id")
    if _is_number(kind):
        return FieldType(name, "scalar", _dtype(name, kind), column=True)
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        item = kind.value_type
        plain = _plain_type(item, _flat(column))
        if plain is not None:
            return FieldType(name, "list", item=plain)
        while types.is_list(item) or types.is_large_list(item) or types.is_fixed_size_list(item):
            item = item.value_type
        if _is_number(item):
            return FieldType(name, "tensor", _dtype(name, item))
    raise TypeError(f"the column '{name}' is of the type {kind}, which no field can have; leave it out of the table, or convert it to numbers, texts or bytes")


def _plain_type(kind: Any, column: Any) -> str | None:
    """"string", "bytes" or "image"; None for others."""
    import pyarrow as pa

    types = pa.types
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return "string"
    if types.is_struct(kind) and {kind.field(i).name for i in range(kind.num_fields)} == {"bytes", "path"}:
        return "image"  # Hugging Face's Image
    if types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind) or types.is_binary_view(kind):
        first = next((value for value in column if value.is_valid), None)
        return "image" if first is not None and looks_like_picture(first.as_py()[:16]) else "bytes"
    return None


def _flat(column: Any) -> Any:
    """The items of lists, of a chunked array or an array."""
    for chunk in getattr(column, "chunks", [column]):
        yield from chunk.flatten()


def _dtype(name: str, kind: Any) -> str:
    import pyarrow as pa

    if pa.types.is_boolean(kind):
        return "u8"
    word = dtype_word(str(np.dtype(kind.to_pandas_dtype() if isinstance(kind, pa.DataType) else kind)))
    return str(word)
