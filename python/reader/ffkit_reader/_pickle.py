"""Pickles of plain values. Only OrderedDict is imported and called, so a file cannot run code."""

from __future__ import annotations

import collections
import io
import pickle
from typing import Any, NoReturn

from ._errors import CorruptError, UnsupportedError


class _Plain(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("collections", "OrderedDict"):
            return collections.OrderedDict
        raise UnsupportedError(f"the pickle refers to {module}.{name}; ffkit reads only plain values")

    def persistent_load(self, pid: Any) -> NoReturn:
        raise UnsupportedError("the pickle refers to something outside of it; ffkit reads only plain values")


def plain_value(data: bytes) -> Any:
    """Numbers, texts, bytes, lists, tuples and dicts. Raises CorruptError, UnsupportedError."""
    file = io.BytesIO(data)
    try:
        value = _Plain(file).load()
    except UnsupportedError:
        raise
    except Exception as error:  # a broken pickle raises whatever its opcodes run into
        raise CorruptError(f"the pickle is broken ({error})") from None
    if file.read(1):
        raise CorruptError("bytes follow the end of the pickle")
    return value
