"""Values of fields, from their bytes (FORMAT.md, "Schema")."""

from __future__ import annotations

import struct
from typing import Any

import numpy

from ._dct import MAGIC as DCT_MAGIC
from ._dct import jpeg_of
from ._errors import CorruptError
from ._schema import DTYPES, NUMPY_NAMES, Field

_MOST_DIMENSIONS = 32
_MOST_BYTES = (1 << 63) - 1


def align8(number: int) -> int:
    return (number + 7) & ~7


def text_of(data: bytes) -> str:
    """As ffkit gives it: bytes that are not UTF-8 stay, as surrogates."""
    return data.decode("utf-8", "surrogateescape")


def numbers_of(data: bytes, dtype: str) -> Any:
    """The little-endian numbers in `data`, as an array of its own [count] of this machine's byte
    order. bf16 is ml_dtypes.bfloat16 where that package is installed, as ffkit gives it, and
    otherwise float32 with the same values."""
    if dtype != "bf16":
        array = numpy.frombuffer(data, NUMPY_NAMES[dtype])
        return array.astype(array.dtype.newbyteorder("="))
    bits = numpy.frombuffer(data, "<u2").astype(numpy.uint16)
    try:
        import ml_dtypes
    except ImportError:
        return (bits.astype(numpy.uint32) << 16).view(numpy.float32)
    return bits.view(ml_dtypes.bfloat16)


def scalar_of(field: Field, data: bytes) -> Any:
    """An int or a float."""
    assert field.dtype is not None
    if len(data) != DTYPES[field.dtype]:
        raise CorruptError(f"{len(data)} bytes are not a {field.dtype}")
    if field.dtype == "bf16":
        return struct.unpack("<f", b"\0\0" + data)[0]
    return numpy.frombuffer(data, NUMPY_NAMES[field.dtype])[0].item()


def tensor_of(dtype: str, data: bytes) -> Any:
    """A numpy.ndarray of the shape that is stored in front of the numbers."""

    def wrong() -> CorruptError:
        return CorruptError(f"{len(data)} bytes are not a tensor of {dtype}")

    if len(data) < 8:
        raise wrong()
    (count,) = struct.unpack_from("<I", data)
    begin = 8 + 8 * count
    if count > _MOST_DIMENSIONS or len(data) < begin:
        raise wrong()
    shape = struct.unpack_from(f"<{count}Q", data, 8)
    total = DTYPES[dtype]
    for size in shape:
        total *= size or 1
    if total > _MOST_BYTES or len(data) - begin != (0 if 0 in shape else total):
        raise wrong()
    return numbers_of(data[begin:], dtype).reshape(shape)


def picture_of(data: bytes) -> bytes:
    """An encoded picture; the JPEG that one in the dct code was made from, to the byte."""
    if not data.startswith(DCT_MAGIC):
        return data
    try:
        return jpeg_of(data)
    except (ValueError, IndexError, KeyError, struct.error) as error:
        raise CorruptError(f"the dct code is broken: {error}") from None


def items_of(data: bytes) -> list[bytes]:
    """The bytes of each item of a list."""
    wrong = CorruptError(f"{len(data)} bytes are not a list")
    if len(data) < 8:
        raise wrong
    (count,) = struct.unpack_from("<Q", data)
    if count > (len(data) - 8) // 8:
        raise wrong
    items = []
    end = 8 + 8 * count
    for next_end in struct.unpack_from(f"<{count}Q", data, 8):
        begin = align8(end)
        if next_end < begin or next_end > len(data):
            raise wrong
        items.append(data[begin:next_end])
        end = next_end
    if end != len(data):
        raise wrong
    return items


def _content_of(kind: str, dtype: Any, data: bytes, jpegs: bool) -> Any:
    if kind == "string":
        return text_of(data)
    if kind == "tensor":
        return tensor_of(dtype, data)
    return picture_of(data) if kind == "image" and jpegs else data


def value_of(name: str, field: Field, data: bytes, *, jpegs: bool = True) -> Any:
    """The value of a field that is not null. With `jpegs` false, dct codes stay."""
    try:
        if field.type == "scalar":
            return scalar_of(field, data)
        if field.type == "list":
            assert field.item is not None
            return [_content_of(field.item, field.dtype, item, jpegs) for item in items_of(data)]
        return _content_of(field.type, field.dtype, data, jpegs)
    except CorruptError as error:
        raise CorruptError(f"field '{name}': {error.reason}") from None
