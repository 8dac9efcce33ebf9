"""Values as ffinspect prints them."""

from __future__ import annotations

from typing import Any

import numpy

from ._pictures import picture_size
from ._schema import Field, is_integer

_MOST_VALUES = 16


def with_commas(number: int) -> str:
    return f"{number:,}"


def counted(number: int, word: str) -> str:
    return f"{with_commas(number)} {word}{'' if number == 1 else 's'}"


def human_bytes(number: int) -> str:
    value = float(number)
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if value < 999.95:
            return f"{number} B" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} PB"


def escaped(text: str) -> str:
    """One line, without what a terminal obeys."""
    names = {"\t": "\\t", "\n": "\\n", "\r": "\\r", "\\": "\\\\"}
    return "".join(names.get(c) or (f"\\x{ord(c):02x}" if ord(c) < 0x20 or c == "\x7f" else c) for c in text)


def number_text(number: Any) -> str:
    """The shortest decimal that is this number: a Python number, or one of numpy's."""
    text = str(number)
    return text[:-2] if text.endswith(".0") else text


def _picture_text(data: bytes) -> str:
    encoding, size = picture_size(data)
    if size is None:
        return f"{len(data)} bytes that are no {'known' if encoding == 'unknown' else 'readable'} image"
    return f"{encoding} {size[0]} x {size[1]}, {len(data)} bytes"


def _tensor_text(array: Any, dtype: str, values: bool) -> str:
    text = f"{dtype} [{', '.join(map(str, array.shape))}]"
    if not values or array.size > _MOST_VALUES:
        return text
    if dtype in ("f16", "bf16"):
        array = array.astype(numpy.float32)
    return f"{text}: {', '.join(number_text(number) for number in array.reshape(-1))}"


def _content_text(kind: str, dtype: Any, value: Any, values: bool) -> str:
    if kind == "string":
        return escaped(value)
    if kind == "image":
        return _picture_text(value)
    return _tensor_text(value, dtype, values) if kind == "tensor" else f"{len(value)} bytes"


def value_text(field: Field, value: Any, values: bool) -> str:
    """In one line. `values`: also those of small tensors and lists; pictures in the dct code are given as they are stored."""
    if value is None:
        return "null"
    if field.type == "scalar":
        return number_text(value if is_integer(field) or field.dtype == "f64" else numpy.float32(value))
    if field.type != "list":
        return _content_text(field.type, field.dtype, value, values)
    text = f"{len(value)} item{'' if len(value) == 1 else 's'}"
    if not values or not 0 < len(value) <= _MOST_VALUES:
        return text
    return f"{text}: {'; '.join(_content_text(str(field.item), field.dtype, item, values) for item in value)}"
