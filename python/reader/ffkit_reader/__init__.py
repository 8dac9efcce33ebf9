"""ffkit-reader: reads ffkit's data sets with Python and numpy alone, on any system. Slow and exact,
for looking at data where ffkit is not.

    import ffkit_reader

    ds = ffkit_reader.Dataset("demo", "train")
    ds[17], ds.column("label"), ds.classes, ds.verify()

Names, values and errors are those of the package ffkit, so a short program runs with either."""

from __future__ import annotations

from typing import NoReturn

from ._dataset import Dataset
from ._errors import CorruptError, Error, FieldNotFoundError, InvalidArgumentError, IoError, NotFoundError, UnsupportedError
from ._open import splits
from ._schema import Field
from ._v1 import PackedFile, PackedFolder
from ._verify import Problem

__version__ = "1.0.0"

list_splits = splits

__all__ = [
    "CorruptError",
    "Dataset",
    "Error",
    "Field",
    "FieldNotFoundError",
    "InvalidArgumentError",
    "IoError",
    "NotFoundError",
    "PackedFile",
    "PackedFolder",
    "Problem",
    "UnsupportedError",
    "list_splits",
    "splits",
]


def __getattr__(name: str) -> NoReturn:
    raise AttributeError(f"ffkit_reader has no {name}: it has only Dataset, splits and PackedFolder; use the package ffkit, on Linux, for loaders, writers and decoders of pictures")
