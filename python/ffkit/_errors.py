"""Errors: what ffkit raises. Every failure of the library is an `Error`; some are also what Python programmers expect."""

from __future__ import annotations

from typing import Any


class Error(RuntimeError):
    """A failure of ffkit. Its text is one sentence that names the file, the reason and the remedy.

    Attributes:
        message: the sentence.
        code: "not_found", "corrupt", "io", "invalid_argument", "unsupported" or "cancelled".
        subject: what it is about: "argument", "sample", "source", "destination", "dataset", "shard", "split", "field" or, where nobody has said, "unknown".
        path: file or folder, or None.
        record: number of the record in `path` (or in the data set when `path` is one), or None.
        offset: byte offset in `path`, or None.
        errno: errno of the failed system call, or None.
        name: of the option, split or field that it is about, or None.
        remedy: what to do, which `message` says too, or None.
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
        *,
        subject: str = "unknown",
        name: str | None = None,
        remedy: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        if code is not None:
            self.code = code
        self.path = path
        self.record = record
        self.offset = offset
        self.errno = errno
        self.subject = subject
        self.name = name
        self.remedy = remedy

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> tuple[Any, ...]:
        state = {"subject": self.subject, "name": self.name, "remedy": self.remedy}
        return type(self), (self.message, self.code, self.path, self.record, self.offset, self.errno), state


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


def make_error(
    code: str,
    message: str,
    subject: str,
    path: str | None,
    record: int | None,
    offset: int | None,
    errno: int,
    name: str | None,
    remedy: str | None,
) -> Error:
    """The exception of an ffkit::Error; called by the extension."""
    if code == "not_found":
        kind: type[Error] = FieldNotFoundError if subject == "field" else NotFoundError
    else:
        kind = _CLASSES[code]
    error = kind(message, code, path, record, offset, errno or None, subject=subject, name=name, remedy=remedy)
    if isinstance(error, OSError):
        error.filename = path
    return error
