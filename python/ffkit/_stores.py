"""Stores: options of a place, and this machine's cache for blocks of data sets in stores."""

from __future__ import annotations

import datetime
import glob
import importlib.util
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from . import _ffkit
from ._errors import InvalidArgumentError

PathLike = str | os.PathLike[str]
StorageOptions = Mapping[str, Any]
"""Options of one store by name, as s3fs and AWS' tools have them: {"profile": "partner"}, {"key": ..., "secret": ..., "endpoint_url": ...}. docs/storage.md lists them.
What is None is as if it were not given; "client_kwargs" may have some of them, as for s3fs. The environment holds for what is not said."""


class _Address(str):
    """An address with options. Its text has a mark that is valid only in this process. Copies and
    pickles contain the options, including secrets."""

    def __reduce__(self) -> tuple[Any, ...]:
        return placed, (_ffkit.without_storage_options(self), _ffkit.storage_options_of(self))


def texts(options: StorageOptions | None) -> dict[str, str]:
    flat = {**(options or {})}
    flat.update(flat.pop("client_kwargs", None) or {})
    return {str(name): str(value) for name, value in flat.items() if value is not None}


def placed(path: PathLike, options: StorageOptions | None) -> PathLike:
    """`path`, with options if there are some."""
    given = texts(options)
    return _Address(_ffkit.with_storage_options(os.fspath(path), given)) if given else path


def both_placed(src: PathLike, dst: PathLike, options: StorageOptions | None, source_options: StorageOptions | None) -> tuple[PathLike, PathLike]:
    """A source and a destination: `options` are for dst, or for the only one in a store."""
    of_src, of_dst = _ffkit.share_storage_options(os.fspath(src), os.fspath(dst), texts(options), texts(source_options))
    return placed(src, of_src), placed(dst, of_dst)


@dataclass(frozen=True, slots=True)
class CachedSet:
    """The cached part of a data set, or of one of its splits.

    Attributes:
        address: of the folder with its shards: "s3://bucket/set/train".
        num_objects: shards with cached blocks.
        num_bytes: on the disk.
        is_in_use: a running process uses it, so it stays in the cache.
        last_used: time when a process last began to use it."""

    address: str
    num_objects: int
    num_bytes: int
    is_in_use: bool
    last_used: datetime.datetime


def set_cache(folder: PathLike | None = None, *, max_bytes: int | None = None, min_free_bytes: int | None = None) -> None:
    """Sets the cache for everything that this process opens from now on. None changes nothing.

    Without this call, environment variables set it: FFKIT_CACHE is the folder, or "off", and
    FFKIT_CACHE_BYTES the limit.

    Args:
        folder: on a disk of this machine; "off": no cache.
        max_bytes: largest size of the folder; 0: half of the free space on its disk.
        min_free_bytes: the cache leaves this much of the disk free.

    Raises:
        InvalidArgumentError: the limit is below 64 MiB, or a number is negative."""
    old_folder, old_max, old_min = _ffkit.cache_options()
    for name, value in (("max_bytes", max_bytes), ("min_free_bytes", min_free_bytes)):
        if value is not None and value < 0:
            raise InvalidArgumentError(f"{name} must be 0 or more, but it is {value}")
    if folder is None:
        chosen = old_folder
    else:
        chosen = "" if os.fspath(folder) == "off" else os.path.abspath(folder)
    _ffkit.set_cache(chosen, old_max if max_bytes is None else max_bytes, old_min if min_free_bytes is None else min_free_bytes)


def cached_sets(folder: PathLike | None = None) -> list[CachedSet]:
    """The sets in this process's cache, or in the cache in `folder`; the last used first."""
    place = _place(folder)
    if place is None:
        return []
    return [
        CachedSet(address, num_objects, num_bytes, is_in_use, datetime.datetime.fromtimestamp(last_used))
        for address, num_objects, num_bytes, is_in_use, last_used in _ffkit.cached_sets(place)
    ]


def clean_cache(address: str = "", *, folder: PathLike | None = None) -> int:
    """Removes cached data that no process uses. If you give `address`, only the data of data sets
    with addresses that begin with `address` are removed. Returns the number of removed bytes."""
    place = _place(folder)
    return 0 if place is None else _ffkit.clean_cache(place, address)


def _place(folder: PathLike | None) -> str | None:
    place = _ffkit.cache_options()[0] if folder is None else os.fspath(folder)
    return place or None


def name_libcurl() -> None:
    """Names the libcurl of the package pycurl, for systems without one; stores need it."""
    spec = importlib.util.find_spec("pycurl")
    if spec is None or spec.origin is None:
        return
    # pycurl.libs lies beside the package, or beside the module.
    for folder in (os.path.dirname(spec.origin), os.path.dirname(os.path.dirname(spec.origin))):
        for library in glob.glob(os.path.join(glob.escape(folder), "pycurl.libs", "libcurl-*.so*")):
            os.environ.setdefault("FFKIT_LIBCURL_ELSE", library)
            return
