"""Errors: those of ffkit, by their names there, so that a program catches the same ones."""

from __future__ import annotations

from typing import Any, NoReturn, Optional


class Error(RuntimeError):
    """A failure of this package. Its text names the file, the reason and the remedy.

    Attributes:
        message: the sentence.
        code: "not_found", "corrupt", "io", "invalid_argument" or "unsupported".
        path: file or folder, or None.
        record: number of the record in `path`, or None."""

    code: str = "invalid_argument"

    def __init__(self, message: str, path: Optional[str] = None, record: Optional[int] = None) -> None:
        place = (f"{path}: " if path is not None else "") + (f"record {record}: " if record is not None else "")
        super().__init__(place + message)
        self.message = place + message
        self.reason = message
        self.path = path
        self.record = record

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.reason, self.path, self.record)


class CorruptError(Error):
    """The bytes contradict their checksum or the format."""

    code = "corrupt"


class UnsupportedError(Error):
    """Valid, but not read by this package: what reads it is named."""

    code = "unsupported"


class InvalidArgumentError(Error, ValueError):
    """An argument is invalid. It is also a ValueError."""

    code = "invalid_argument"


class FieldNotFoundError(Error, KeyError):
    """A field or column does not exist: a KeyError too."""

    code = "not_found"


class NotFoundError(Error, FileNotFoundError):
    """A file, folder or split does not exist: a FileNotFoundError too."""

    code = "not_found"


class IoError(Error, OSError):
    """The operating system refused or failed: an OSError too."""

    code = "io"


def only_in_ffkit(what: str) -> NoReturn:
    raise UnsupportedError(f"ffkit_reader does not support {what}; use the package ffkit, on Linux")
