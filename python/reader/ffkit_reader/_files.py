"""Bytes of files. A file is opened for each read: nothing stays open, so any number of shards,
threads and processes may read."""

from __future__ import annotations

import os

from ._errors import CorruptError, IoError, NotFoundError

WHOLE_FILE_LIMIT = 1 << 30  # bytes: of manifests and meta.pkl, which are read whole


def size_of(path: str) -> int:
    """Bytes of a file."""
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        raise NotFoundError("there is no such file", path) from None
    except OSError as error:
        raise IoError(f"cannot be read: {error.strerror}", path) from error


def read_at(path: str, offset: int, num_bytes: int) -> bytes:
    """Exactly these bytes of a file; CorruptError where it ends before."""
    try:
        with open(path, "rb", buffering=0) as file:
            file.seek(offset)
            parts = []
            missing = num_bytes
            while missing > 0:
                part = file.read(min(missing, 1 << 30))
                if not part:
                    raise CorruptError(f"ends before byte {offset + num_bytes}; copy it again", path)
                parts.append(part)
                missing -= len(part)
            return parts[0] if len(parts) == 1 else b"".join(parts)
    except FileNotFoundError:
        raise NotFoundError("there is no such file", path) from None
    except OSError as error:
        if isinstance(error, IoError):
            raise
        raise IoError(f"cannot be read: {error.strerror}", path) from error


def read_whole(path: str) -> bytes:
    """All bytes of a small file."""
    size = size_of(path)
    if size > WHOLE_FILE_LIMIT:
        raise CorruptError(f"has {size} bytes, more than such a file can have", path)
    return read_at(path, 0, size)
