"""The schema of a data set: the types of its fields."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Iterable


@dataclass(frozen=True, slots=True)
class Field:
    """The type of one field of the records.

    Attributes:
        type: "bytes", "string" (UTF-8), "scalar" (a number of `dtype`), "tensor" (numbers of
            `dtype`; each record has its own shape), "image" (an encoded picture), "list".
        dtype: of scalars, tensors and lists of tensors: "u8", "i8", "u16", "i16", "u32", "i32",
            "u64", "i64", "f16", "bf16", "f32" or "f64".
        column: for scalars and strings: values are in the index, too, for filters and samplers.
        item: of lists: "bytes", "string", "image" or "tensor"."""

    type: str
    dtype: str | None = None
    column: bool = False
    item: str | None = None


FieldTuple = tuple[str, str, str | None, bool, str | None]


def from_tuples(fields: Iterable[FieldTuple]) -> dict[str, Field]:
    """The schema that the extension gives."""
    return {name: Field(kind, dtype, column, item) for name, kind, dtype, column, item in fields}
