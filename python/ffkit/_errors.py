"""Errors of ffkit. Each failure is an `Error`; some are also Python's exceptions."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, NoReturn, TypeVar

from . import _ffkit

_Class = TypeVar("_Class", bound=type)


def names_arguments(topics: Mapping[str, type]) -> Callable[[_Class], _Class]:
    """Makes a class name the right argument if an unknown one is given. `topics`: dataclasses whose
    fields are not arguments themselves, by the argument that takes one."""

    def with_names(kind: _Class) -> _Class:
        begin = kind.__init__  # type: ignore[misc]
        known = [name for name in inspect.signature(begin).parameters if name != "self"]

        @functools.wraps(begin)
        def named(self: Any, *arguments: Any, **options: Any) -> None:
            for name in options:
                if name not in known:
                    raise TypeError(f"{kind.__name__} has no argument '{name}': {_words_on_argument(kind.__name__, name, known, topics)}")
            begin(self, *arguments, **options)

        setattr(kind, "__init__", named)
        return kind

    return with_names


def _words_on_argument(place: str, name: str, known: list[str], topics: Mapping[str, type]) -> str:
    for argument, topic in topics.items():
        if name != "transform" and name in inspect.signature(topic).parameters:
            return f"it is one of ffkit.{topic.__name__}; give {argument}=ffkit.{topic.__name__}(..., {name}=...)"
    return _ffkit.words_on_name(place, name, known)


def refuse_old_name(owner: Any, name: str) -> NoReturn:
    """AttributeError for an unknown name. If it is an old name, the text has the new one."""
    what = f"module '{owner}'" if isinstance(owner, str) else f"'{type(owner).__name__}'"
    now = next((now for kind, old, now in _ffkit.renamed if kind == "Python" and old == name), None)
    raise AttributeError(f"{what} has no attribute '{name}'" + (f"; it is {now} now" if now else ""), name=name, obj=owner)


def add_note(error: BaseException, text: str) -> None:
    """BaseException.add_note() of Python 3.11; before, appends to the text, if possible."""
    if hasattr(error, "add_note"):
        error.add_note(text)
    elif error.args and isinstance(error.args[0], str):
        error.args = (f"{error.args[0]}\n{text}", *error.args[1:])
    elif not error.args:
        error.args = (text,)


class Error(RuntimeError):
    """A failure of ffkit. Its text is one sentence that names the file, the reason and the remedy.

    Attributes:
        message: the sentence.
        code: "not_found", "corrupt", "io", "invalid_argument", "unsupported" or "cancelled".
        subject: "argument", "sample", "source", "destination", "dataset", "shard", "split",
            "field", "checkpoint" or "unknown".
        path: file or folder, or None.
        record: number of the record in `path` (or in the data set, if `path` is one), or None.
        offset: byte offset in `path`, or None.
        errno: errno of the failed system call, or None.
        name: name of the option, split or field, or None.
        remedy: what to do (also part of `message`), or None."""

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
    """The bytes do not match checksum or format. In a decoder, it makes a bad sample."""

    code = "corrupt"


class UnsupportedError(Error):
    """Valid, but not handled by this release or build."""

    code = "unsupported"


class CancelledError(Error):
    """Stopped on request."""

    code = "cancelled"


class InvalidArgumentError(Error, ValueError):
    """An argument is invalid: also a ValueError."""

    code = "invalid_argument"


class FieldNotFoundError(Error, KeyError):
    """A field or column does not exist: also a KeyError."""

    code = "not_found"


class NotFoundError(Error, FileNotFoundError):
    """A file, folder or split does not exist: also a FileNotFoundError, with `filename`."""

    code = "not_found"


class IoError(Error, OSError):
    """The operating system refused or failed: also an OSError, with `errno` and `filename`."""

    code = "io"


_CLASSES: dict[str, type[Error]] = {kind.code: kind for kind in (CorruptError, UnsupportedError, CancelledError, InvalidArgumentError, IoError)}


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
