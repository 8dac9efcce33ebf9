"""Schema: the names and types of a record's fields (FORMAT.md, "Schema")."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Optional

from ._errors import CorruptError, FieldNotFoundError, UnsupportedError

# Bytes of a number; numpy's name of it, where numpy has it.
DTYPES = {"u8": 1, "i8": 1, "u16": 2, "i16": 2, "u32": 4, "i32": 4, "u64": 8, "i64": 8, "f16": 2, "bf16": 2, "f32": 4, "f64": 8}
NUMPY_NAMES = {name: f"<{name[0]}{size}" for name, size in DTYPES.items() if name != "bf16"}
TYPES = ("bytes", "string", "scalar", "tensor", "image", "list")


@dataclass(frozen=True)
class Field:
    """The type of one field of the records.

    Attributes:
        type: "bytes", "string" (UTF-8), "scalar" (a number of `dtype`), "tensor" (numbers of
            `dtype`, with a shape of their own in every record), "image" (an encoded picture: JPEG,
            PNG, ...) or "list" (of `item`).
        dtype: of scalars, tensors and lists of tensors: "u8", "i8", "u16", "i16", "u32", "i32",
            "u64", "i64", "f16", "bf16", "f32" or "f64".
        column: of scalars and strings: values are in the index, too.
        item: of lists: "bytes", "string", "image" or "tensor"."""

    type: str
    dtype: Optional[str] = None
    column: bool = False
    item: Optional[str] = None


Schema = dict[str, Field]


def has_dtype(field: Field) -> bool:
    return (field.item if field.type == "list" else field.type) in ("scalar", "tensor")


def is_integer(field: Field) -> bool:
    return field.type == "scalar" and field.dtype is not None and "f" not in field.dtype


def _known(value: Any, known: tuple[str, ...], what: str) -> str:
    if not isinstance(value, str):
        raise CorruptError(f"the {what} of a field is not text")
    if value not in known:
        raise UnsupportedError(f"unknown {what} '{value}'; the known ones are {', '.join(known)}; use a newer ffkit-reader")
    return value


def schema_of(json: Any) -> Schema:
    """The schema of a manifest or catalog. Unknown types are refused by their names."""
    if not isinstance(json, Mapping) or not isinstance(json.get("fields"), list) or not json["fields"]:
        raise CorruptError("the schema has no fields")
    schema: Schema = {}
    for item in json["fields"]:
        if not isinstance(item, Mapping) or not isinstance(item.get("name"), str) or not item["name"]:
            raise CorruptError("a field of the schema has no name")
        name = item["name"]
        if name in schema:
            raise CorruptError(f"two fields of the schema have the name '{name}'")
        kind = _known(item.get("type"), TYPES, "field type")
        item_kind = _known(item.get("item"), TYPES, "field type") if kind == "list" else None
        if item_kind in ("scalar", "list"):
            raise CorruptError(f"field '{name}' cannot be a list of {item_kind}")
        has_numbers = (item_kind or kind) in ("scalar", "tensor")
        dtype = _known(item.get("dtype"), tuple(DTYPES), "dtype") if has_numbers else None
        column = item.get("column", False)
        if not isinstance(column, bool) or (column and kind not in ("scalar", "string")):
            raise CorruptError(f"field '{name}' cannot be a column; use a scalar or a string")
        schema[name] = Field(kind, dtype, column, item_kind)
    return schema


def describe(name: str, field: Field) -> str:
    text = f"{name} {field.type}" + (f" of {field.item}" if field.item else "")
    return text + (f" {field.dtype}" if field.dtype else "") + (", column" if field.column else "")


def difference(found: Schema, expected: Schema) -> str:
    """The first field that differs, in words; empty where the schemas are the same."""
    mine, theirs = list(found.items()), list(expected.items())
    for i in range(max(len(mine), len(theirs))):
        a = describe(*mine[i]) if i < len(mine) else "missing"
        b = describe(*theirs[i]) if i < len(theirs) else "missing"
        if a != b:
            return f"field {i} is '{a}' in one schema and '{b}' in the other schema"
    return ""


def field_of(schema: Schema, name: str) -> Field:
    """The field of this name; FieldNotFoundError, which lists those there are."""
    if name not in schema:
        raise FieldNotFoundError(f"there is no field '{name}'; the fields are {', '.join(schema)}")
    return schema[name]


def column_of(schema: Schema, name: str, path: str) -> Field:
    """The same of a field that is kept as a column."""
    field = field_of(schema, name)
    if not field.column:
        raise FieldNotFoundError(f"field '{name}' is not a column, because its values are not in the index", path)
    return field
