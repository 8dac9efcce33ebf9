"""Further arrays of a batch: what each is made from. `Loader(fields={name: ...})`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Mapping, Sequence

from . import _ffkit
from ._image import ImageOptions


@dataclass(frozen=True, slots=True)
class ImageField:
    """A picture: [N, 3, H, W] or [N, H, W, 3]. Pictures of one record with the same options get the same crop and flip, where their sizes agree."""

    field: str
    image: ImageOptions = ImageOptions()


@dataclass(frozen=True, slots=True)
class ImagesField:
    """Pictures of several fields, such as the cameras of a vehicle, as one array: [N, len(fields), 3, H, W] or [.., H, W, 3]."""

    fields: Sequence[str]
    image: ImageOptions = ImageOptions()


@dataclass(frozen=True, slots=True)
class IntegerField:
    """A scalar of any integer type: [N] i64."""

    field: str


@dataclass(frozen=True, slots=True)
class CopyField:
    """A scalar, [N], or a tensor that has `shape` in all records, [N, *shape], of the field's dtype. A record with another shape is a bad sample."""

    field: str
    shape: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class TextField:
    """A string, such as an id or a caption: a list of N str in the batch. A text of more than `max_bytes` is a bad sample; 0: any length is right."""

    field: str
    max_bytes: int = 0


@dataclass(frozen=True, slots=True)
class ValidField:
    """A mask, [N] u8: 1 where the record has the field, 0 where it is null, as in records of a chain whose data set lacks it."""

    field: str


@dataclass(frozen=True, slots=True)
class ZerosWhereNull:
    """The array of a CopyField, IntegerField, ImageField, TextField or PythonField, with zeros, or empty texts, where `field` is null in the record, which would be a bad sample otherwise."""

    field: str
    array: ImageField | IntegerField | CopyField | TextField | PythonField


@dataclass(frozen=True, slots=True)
class PythonField:
    """An array made by a function of Python.

    The price: the loader's threads call it one at a time, because it takes the GIL, and while it runs the training loop does not. A function of 100 us limits a
    loader to 10,000 samples a second on any number of cores. What it is given is copied: name the `inputs` that it needs.

    Args:
        function: (values, key) -> anything that numpy.asarray takes, of `shape` (with `max_rows`: [rows, *shape]). `values` is a dict as of `ds[i]`; `key`, an
            ffkit.SampleKey, has seed, epoch, record_index, and `key.random()` for random numbers. It must depend on these alone. When it raises CorruptError,
            UnsupportedError or FieldNotFoundError, the sample is a bad one; what else it raises comes out of the loop over the loader.
        dtype: of the array, all but "bf16". Values are converted as numpy's same_kind allows.
        shape: of one sample, or of one row.
        inputs: names of the fields that `values` has; None: all.
        max_rows: room for rows: the array is ragged, [sum of rows, *shape] with `batch.row_offsets(name)`.
        padded: with `max_rows`: [N, max_rows, *shape] instead, zeros behind the rows of a sample.
    """

    function: Callable[[dict[str, Any], Any], Any]
    dtype: str = "f32"
    shape: Sequence[int] = ()
    inputs: Sequence[str] | None = None
    max_rows: int | None = None
    padded: bool = False


BatchField = ImageField | ImagesField | IntegerField | CopyField | TextField | ValidField | ZerosWhereNull | PythonField | _ffkit.FieldDecoder
Fields = Mapping[str, BatchField]
