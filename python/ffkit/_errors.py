"""Errors: what ffkit raises. Every failure of the library is an `Error`; some are also what Python programmers expect."""

from __future__ import annotations

import os
from typing import Any


class Error(RuntimeError):
    """A failure of ffkit. Its text is one sentence that names the file, the reason and the remedy.

    Attributes:
        message: the sentence.
        code: "not_found", "corrupt", "io", "invalid_argument", "unsupported" or "cancelled".
        path: file or folder, or None.
        record: number of the record in `path` (or in the data set when `path` is one), or None.
        offset: byte offset in `path`, or None.
        errno: errno of the failed system call, or None.
    """

    code: str = "invalid_argument"
    errno: int | None

    def __init__(
        self,
        message: str,
        code: str | None = None,
        path: str | None = None,
        record: int | None = None,
        offset: int | None = None,
        errno: int | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        if code is not None:
            self.code = code
        self.path = path
        self.record = record
        self.offset = offset
        self.errno = errno

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.message, self.code, self.path, self.record, self.offset, self.errno)


class CorruptError(Error):
    """The bytes contradict their checksum or the format. Raised by a decoder written in Python, it makes a sample a bad one."""

    code = "corrupt"


class UnsupportedError(Error):
    """Valid, but not handled by this release or build."""

    code = "unsupported"


class CancelledError(Error):
    """Stopped on request."""

    code = "cancelled"


class InvalidArgumentError(Error, ValueError):
    """The caller asked for something that makes no sense: a ValueError too."""

    code = "invalid_argument"


class FieldNotFoundError(Error, KeyError):
    """A field or column does not exist: a KeyError too."""

    code = "not_found"


class NotFoundError(Error, FileNotFoundError):
    """A file, folder or split does not exist: a FileNotFoundError too, with `filename`."""

    code = "not_found"


class IoError(Error, OSError):
    """The operating system refused or failed: an OSError too, with `errno` and `filename`."""

    code = "io"


_CLASSES: dict[str, type[Error]] = {
    "corrupt": CorruptError,
    "unsupported": UnsupportedError,
    "cancelled": CancelledError,
    "invalid_argument": InvalidArgumentError,
    "io": IoError,
}


def make_error(code: str, message: str, path: str | None, record: int | None, offset: int | None, errno: int) -> Error:
    """The exception of an ffkit::Error; called by the extension."""
    if code == "not_found":
        # A field that is missing is a matter of names, and so is a column, whose error names the
        # shard.
        kind: type[Error] = FieldNotFoundError if path is None or path.endswith(".ffr") and os.path.exists(path) else NotFoundError
    else:
        kind = _CLASSES[code]
    error = kind(message, code, path, record, offset, errno or None)
    if isinstance(error, OSError):
        error.filename = path
    return error
