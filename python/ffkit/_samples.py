"""The fields of a sample and their values for C++; for Writer and sources in Python."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np

DTYPES: dict[str, str] = {
    "u8": "uint8", "i8": "int8", "u16": "uint16", "i16": "int16", "u32": "uint32", "i32": "int32", "u64": "uint64", "i64": "int64",
    "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64",
}  # fmt: skip
_BY_NUMPY = {name: dtype for dtype, name in DTYPES.items()}
_PICTURE_NAMES = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".ppm", ".pgm", ".heic", ".avif")
_PICTURE_FIELDS = ("image", "img", "picture", "photo", *(ending[1:] for ending in _PICTURE_NAMES))
_PLAIN = ("bytes", "string", "image")


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


def size_of(value: Any) -> int:
    """About how many bytes a field's value has."""
    if isinstance(value, list):
        return sum(map(size_of, value))
    return len(value) if isinstance(value, (bytes, str)) else int(getattr(value, "nbytes", 8))


class DtypeObject(Protocol):
    """A dtype of NumPy or torch."""

    @property
    def itemsize(self) -> int: ...


def dtype_word(dtype: Any) -> Any:
    """ffkit's word for a dtype: "f16" for torch.float16, numpy.float16, "float16". Others stay."""
    if isinstance(dtype, str):
        return _BY_NUMPY.get(dtype, dtype)
    if type(dtype).__module__ == "torch":
        return _BY_NUMPY.get(str(dtype).removeprefix("torch."), dtype)
    try:
        return _BY_NUMPY.get(np.dtype(dtype).name, dtype)
    except TypeError:
        return dtype


@dataclass(frozen=True)
class File:
    """A file of this machine. Its bytes are stored: `writer.write({"image": ffkit.File("a.jpg"),
    "label": 3})`. It is read when the sample is written."""

    path: str | os.PathLike[str]

    def read(self) -> bytes:
        """Its bytes. Raises OSError, ValueError for an address of a store."""
        path = os.fspath(self.path)
        if "://" in path:
            raise ValueError(f"'{path}' is an address; ffkit.File reads files of this machine. Give the bytes, or convert the store's folder by ffkit.convert")
        with open(path, "rb") as file:
            return file.read()


class FileBytes(bytes):
    """A file that was made from another one, such as a resized picture. A Writer keeps the sum of
    the original, if the record has all of them."""

    made_from: tuple[bytes, int]  # a sum of the files that the record was made from, and how many it has


def with_content(record: dict[str, Any], content: bytes) -> dict[str, Any]:
    """The record with the sum for its shard; zeros or empty if the sum follows from the record."""
    if not any(content):
        return record
    num_files = sum(isinstance(item, bytes) for value in record.values() for item in (value if isinstance(value, list) else [value]))

    def made(value: Any) -> Any:
        if isinstance(value, list):
            return [made(item) for item in value]
        if isinstance(value, bytes):
            value = FileBytes(value)
            value.made_from = (content, num_files)
        return value

    return {name: made(value) for name, value in record.items()}


FieldSpec: TypeAlias = str | Field
"""A field's type as text, such as "image" or "tensor[f32]", or as Dataset.schema has it."""


@dataclass(frozen=True)
class FieldType:
    """One field of a schema, with the words of FORMAT.md."""

    name: str
    type: str
    dtype: str = "u8"
    column: bool = False
    item: str = "bytes"

    def as_tuple(self) -> tuple[str, str, str, bool, str]:
        return (self.name, self.type, self.dtype, self.column, self.item)


@dataclass
class LeftOut:
    """Items of lists that are None, or contain None. They are left out; their records stay."""

    num_items: int = 0
    first: str = ""

    def add(self, name: str, num_items: int) -> None:
        self.first = self.first or name
        self.num_items += num_items

    def __str__(self) -> str:
        one = self.num_items == 1
        return f"{self.num_items} {'item' if one else 'items'} of lists {'was' if one else 'were'} None, or had None inside, and {'was' if one else 'were'} left out; the first in field '{self.first}'"


def parse_schema(schema: Mapping[str, FieldSpec]) -> list[FieldType]:
    """The fields of a schema from a user. Raises ValueError for an unknown type."""
    if not schema:
        raise ValueError("the schema is empty; name at least one field")
    return [_parse_field(name, spec) for name, spec in schema.items()]


def infer_schema(sample: Mapping[str, object]) -> list[FieldType]:
    """The fields of `sample` by its values, see Writer. Raises TypeError for others."""
    if not sample:
        raise ValueError("the first sample is empty; give a schema or a sample with fields")
    fields = [_infer_field(name, value) for name, value in sample.items()]
    if not any("image" in (field.type, field.item) for field in fields):
        for field in fields:
            _refuse_name_of_picture(field, sample[field.name])
    return fields


def prepare_sample(fields: Sequence[FieldType], sample: Mapping[str, object], left_out: LeftOut) -> list[Any]:
    """The values of `sample` in the order of `fields`, for sample_values.cpp. Missing fields are
    null. `left_out` counts dropped items. Raises TypeError or ValueError, with the name of the
    field, for a value that does not fit the schema."""
    if len(sample) > len(fields) or any(field.name not in sample for field in fields):
        known = {field.name for field in fields}
        unknown = [name for name in sample if name not in known]
        if unknown:
            raise ValueError(f"the sample has a field '{unknown[0]}', which the schema does not have; its fields are {', '.join(sorted(known))}")
    values = []
    for field in fields:
        value = sample.get(field.name)
        if isinstance(value, (list, tuple)):
            kept = _without_nulls(value)
            if len(kept) < len(value):
                left_out.add(field.name, len(value) - len(kept))
                value = None if isinstance(value, FixedList) else kept
        values.append(None if value is None else _prepare(field, field.type, value))
    return values


class FixedList(tuple[Any, ...]):
    """A list of fixed size: if one of its values is None, the others mean nothing."""


def _without_nulls(values: Sequence[Any]) -> Sequence[Any]:
    def has_null(value: Any) -> bool:
        return value is None or (isinstance(value, (list, tuple)) and any(map(has_null, value)))

    return [value for value in values if not has_null(value)] if any(map(has_null, values)) else values


def _refuse_name_of_picture(field: FieldType, value: object) -> None:
    """A text that is meant as a picture would be stored, and missed when the set is loaded."""
    if field.type != "string" or not isinstance(value, str):
        return
    if field.name in _PICTURE_FIELDS or value.lower().endswith(_PICTURE_NAMES):
        raise TypeError(
            f"field '{field.name}' is the text {value!r:.80}, which looks like the name of a picture; ffkit.File({value!r:.80}) stores the file's bytes. "
            f"For a text, give a schema: {{'{field.name}': 'string'}}"
        )


def _parse_field(name: str, spec: FieldSpec) -> FieldType:
    if isinstance(spec, Field):
        return FieldType(name, spec.type, spec.dtype or "u8", spec.column, spec.item or "bytes")
    text = spec.replace(" ", "")
    if text in _PLAIN:
        return FieldType(name, text, column=text == "string" and name == "id")
    if (word := dtype_word(text)) in DTYPES:
        return FieldType(name, "scalar", word, column=True)
    if (inner := dtype_word(_inside(text, "tensor"))) in DTYPES:
        return FieldType(name, "tensor", inner)
    if item := _inside(text, "list"):
        if item in _PLAIN:
            return FieldType(name, "list", item=item)
        if (inner := dtype_word(_inside(item, "tensor"))) in DTYPES:
            return FieldType(name, "list", inner, item="tensor")
    raise ValueError(
        f"field '{name}': '{spec}' is not a type; expected image, string, bytes, a number's type ({', '.join(DTYPES)}), tensor[f32] or list[image]"
    )


def _inside(text: str, name: str) -> str:
    return text[len(name) + 1 : -1] if text.startswith(name + "[") and text.endswith("]") else ""


def _infer_field(name: str, value: object) -> FieldType:
    if isinstance(value, (bool, np.bool_)):
        return FieldType(name, "scalar", "u8", column=True)
    if isinstance(value, np.generic):
        return FieldType(name, "scalar", _dtype_of(name, value), column=True)
    if isinstance(value, int):
        return FieldType(name, "scalar", "i64", column=True)
    if isinstance(value, float):
        return FieldType(name, "scalar", "f64", column=True)
    if isinstance(value, str):
        return FieldType(name, "string", column=name == "id")
    if isinstance(value, File):
        value = value.read()
    if is_picture(value) or _encoded_picture(value) is not None:
        return FieldType(name, "image")
    if isinstance(value, (bytes, bytearray, memoryview)):
        return FieldType(name, "image" if looks_like_picture(bytes(value[:16])) else "bytes")
    if isinstance(value, (list, tuple)):
        return _infer_list(name, value)
    array = _as_array(value)
    if array is None:
        raise TypeError(
            f"field '{name}': a value of type {_type_name(value)} cannot be stored; expected a number, text, bytes, a NumPy array, a tensor of "
            f"torch, a PIL image, ffkit.File(path), or a list of these. {'A path is not read; give ffkit.File(path)' if isinstance(value, os.PathLike) else 'Give a schema if the first sample has None'}"
        )
    return FieldType(name, "tensor" if array.ndim > 0 else "scalar", _dtype_of(name, array), column=array.ndim == 0)


def _infer_list(name: str, values: Sequence[object]) -> FieldType:
    values = _without_nulls(values)
    if not values:
        raise ValueError(f"field '{name}': an empty list does not show the type of its items; give a schema, such as {{'{name}': 'list[image]'}}")
    if all(isinstance(value, (bool, int, float, list, tuple, np.bool_, np.number)) for value in values):
        return FieldType(name, "tensor", _dtype_of(name, np.asarray(values)))
    item = _infer_field(name, values[0])
    if item.type in (*_PLAIN, "tensor"):
        return FieldType(name, "list", item.dtype if item.type == "tensor" else "u8", item=item.type)
    raise TypeError(f"field '{name}': a list of {_type_name(values[0])} cannot be stored")


def _prepare(field: FieldType, kind: str, value: Any) -> Any:
    if kind == "scalar":
        return _prepare_scalar(field, value)
    if kind == "tensor":
        return _prepare_tensor(field, value)
    if kind == "string":
        if isinstance(value, str):
            return value
    elif kind == "bytes":
        if isinstance(value, (bytes, bytearray, memoryview)):
            return value
        if isinstance(value, File):
            return value.read()
    elif kind == "image":
        return _prepare_picture(field, value)
    elif kind == "list" and isinstance(value, (list, tuple)):
        return [_prepare(field, field.item, item) for item in value]
    raise TypeError(f"field '{field.name}' is of type {kind}; got {_type_name(value)}")


def _prepare_scalar(field: FieldType, value: Any) -> Any:
    array = np.asarray(value) if isinstance(value, (bool, int, float, np.generic)) else _as_array(value)
    if array is None or array.size != 1:
        raise TypeError(f"field '{field.name}' is a number of type {field.dtype}; got {_type_name(value)}")
    array = array.reshape(())
    if isinstance(value, (np.generic, np.ndarray)) or not isinstance(value, (bool, int, float)):
        return _same_dtype(field, array).tobytes()
    # A number of Python's own has no dtype: it must only fit.
    dtype = _numpy_dtype(field)
    if dtype.kind in "iu":
        if isinstance(value, float) or not np.iinfo(dtype).min <= value <= np.iinfo(dtype).max:
            raise ValueError(f"field '{field.name}' is of type {field.dtype}, which cannot hold {value!r}")
    return _to_bits(np.asarray(value, dtype)).tobytes()


def _prepare_tensor(field: FieldType, value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        array = np.asarray(value)
        dtype = _numpy_dtype(field)
        if array.size and dtype.kind in "iu":
            if array.dtype.kind not in "biu" or array.min() < np.iinfo(dtype).min or array.max() > np.iinfo(dtype).max:
                raise ValueError(f"field '{field.name}' is a tensor of {field.dtype}, which cannot hold these values: {value!r:.80}")
        return _to_bits(np.ascontiguousarray(array, dtype))
    if (array_or_none := _as_array(value)) is None:
        raise TypeError(f"field '{field.name}' is a tensor of {field.dtype}; got {_type_name(value)}")
    return _same_dtype(field, array_or_none)


def _prepare_picture(field: FieldType, value: Any) -> Any:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return value
    if isinstance(value, File):
        return value.read()
    if (encoded := _encoded_picture(value)) is not None:
        return encoded
    if is_picture(value):
        return _pixels_of_pil(field, value)
    if (array := _as_array(value)) is None:
        raise TypeError(f"field '{field.name}' is a picture; got {_type_name(value)}, expected its encoded bytes, ffkit.File(path), a PIL image or an array u8 [H, W, 3]")
    if 0 not in array.shape:
        if array.dtype == np.uint8 and array.ndim == 3 and array.shape[2] == 3:
            return ("pixels", np.ascontiguousarray(array))
        if array.dtype.kind in "bui" and (array.ndim == 2 or (array.ndim == 3 and 1 in (array.shape[0], array.shape[2]))):
            return _numbers(field, array.reshape(array.shape[1:] if array.shape[0] == 1 and array.ndim == 3 else array.shape[:2]))
    raise ValueError(
        f"field '{field.name}' is a picture; got an array {array.dtype} {list(array.shape)}, expected uint8 of [H, W, 3], or whole numbers of [H, W], [1, H, W] or [H, W, 1]"
    )


def _numbers(field: FieldType, array: Any) -> Any:
    """One channel [H, W], whose numbers are kept: a grey PNG of 8 or 16 bits."""
    low, high = int(array.min()), int(array.max())
    if low < 0 or high > 65535:
        raise ValueError(f"field '{field.name}': a picture of one channel has numbers of 0 .. 65535; got {low} .. {high}. Store others as a tensor: {{'{field.name}': 'tensor[i32]'}}")
    is_wide = high > 255 or array.dtype in (np.uint16, np.int16)
    return ("numbers", np.ascontiguousarray(array, np.uint16 if is_wide else np.uint8))


def is_picture(value: object) -> bool:
    """Whether it is an image of Pillow, which is not imported for this."""
    pil = sys.modules.get("PIL.Image")
    return pil is not None and isinstance(value, pil.Image)


def _pixels_of_pil(field: FieldType, image: Any) -> Any:
    if image.mode in ("I;16", "I;16L", "I;16B", "I;16N", "P"):
        file = io.BytesIO()
        image.save(file, "PNG")  # of 16 bits, or with its numbers and its palette
        return ("numbers", file.getvalue()) if image.mode == "P" else file.getvalue()
    if image.mode in ("LA", "PA"):
        if image.getextrema()[1][0] < 255:
            raise ValueError(
                f"field '{field.name}': a picture of mode {image.mode} has transparent pixels, which no field can store; store its colours, image.convert('RGB'), "
                f"or its numbers, image.getchannel('{image.mode[0]}')"
            )
        palette, image = image.getpalette(), image.getchannel(0)
        if palette is not None:
            image.putpalette(palette)
        return _pixels_of_pil(field, image)
    if image.mode in ("1", "L", "I"):
        return _numbers(field, np.asarray(image))
    if image.mode == "F" or image.mode.startswith("I;"):
        raise ValueError(f"field '{field.name}': a picture of mode {image.mode} has more than 8 bits; store it as a tensor: np.asarray(image)")
    return ("pixels", np.ascontiguousarray(image if image.mode == "RGB" else image.convert("RGB")))


def _encoded_picture(value: object) -> bytes | None:
    """The bytes in what Hugging Face's datasets give for Image(decode=False)."""
    if isinstance(value, Mapping) and set(value) == {"bytes", "path"}:
        if value["bytes"] is not None:
            return bytes(value["bytes"])
        with open(value["path"], "rb") as file:
            return file.read()
    return None


def looks_like_picture(head: bytes) -> bool:
    """Whether bytes begin as a JPEG, a PNG or a WebP does."""
    is_webp = head[:4] == b"RIFF" and head[8:12] == b"WEBP"
    return is_webp or head.startswith((b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n"))


def _as_array(value: Any) -> Any:
    """`value` as a NumPy array. bfloat16 is that of ml_dtypes or, from torch, uint16 of the
    subclass _Bfloat16. None for anything else."""
    if isinstance(value, np.ndarray):
        return value
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        value = value.detach().cpu()
        if value.dtype == torch.bfloat16:
            return value.contiguous().view(torch.int16).numpy().view(np.uint16).view(_Bfloat16)
        return value.numpy()
    if hasattr(value, "__array__") or hasattr(value, "__dlpack__"):
        return np.asarray(value)
    return None


class _Bfloat16(np.ndarray[Any, Any]):
    """uint16 that are the bits of bfloat16."""


def _dtype_of(name: str, array: Any) -> str:
    if isinstance(array, _Bfloat16):
        return "bf16"
    if array.dtype == np.bool_:
        return "u8"
    dtype = _BY_NUMPY.get(array.dtype.name)
    if dtype is None:
        raise TypeError(f"field '{name}': arrays of {array.dtype} cannot be stored; expected one of {', '.join(DTYPES.values())}")
    return dtype


def _same_dtype(field: FieldType, array: Any) -> Any:
    dtype = _dtype_of(field.name, array)
    if dtype != field.dtype:
        raise ValueError(
            f"field '{field.name}' is of {field.dtype}; got an array of {dtype}. Arrays are not converted automatically: call .astype('{DTYPES[field.dtype]}')"
        )
    return _to_bits(np.ascontiguousarray(array).reshape(array.shape))


def _numpy_dtype(field: FieldType) -> np.dtype[Any]:
    if field.dtype == "bf16":
        raise TypeError(f"field '{field.name}' is of bf16; give a tensor of torch or an array of ml_dtypes, not Python's numbers")
    return np.dtype(DTYPES[field.dtype])


def _to_bits(array: Any) -> Any:
    """Without the types that no buffer has, and little-endian."""
    if array.dtype.name == "bfloat16":
        return array.view(np.uint16)
    if array.dtype == np.bool_:
        return array.view(np.uint8)
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _type_name(value: object) -> str:
    return "None" if value is None else f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
