"""Stores: options of a place in one, and the cache of this machine, in which blocks of data sets are kept that are in a store."""

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
    """An address with options, of which the text has a mark that means something in this process alone. Copies and pickles have the options themselves, secrets included."""

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
    """A source and a destination: `options` are those of the destination, and of the only store if one of both is none."""
    of_src, of_dst = _ffkit.share_storage_options(os.fspath(src), os.fspath(dst), texts(options), texts(source_options))
    return placed(src, of_src), placed(dst, of_dst)


@dataclass(frozen=True, slots=True)
class CachedSet:
    """What the cache has of one data set, or of one of its splits.

    Attributes:
        address: of the folder that its shards are in: "s3://bucket/set/train".
        num_objects: shards of which there is something.
        num_bytes: on the disk.
        is_in_use: by a process that lives. Nothing of it leaves the cache.
        last_used: when a process began to use it.
    """

    address: str
    num_objects: int
    num_bytes: int
    is_in_use: bool
    last_used: datetime.datetime


def set_cache(folder: PathLike | None = None, *, max_bytes: int | None = None, min_free_bytes: int | None = None) -> None:
    """Says where what this process opens from now on is cached. What is None stays as it is.

    Without this call the environment says it: FFKIT_CACHE is the folder, or "off", and FFKIT_CACHE_BYTES the bound.

    Args:
        folder: on a disk of this machine; "off": no cache.
        max_bytes: what the folder may hold; 0: half of what is free on its disk.
        min_free_bytes: the cache leaves so much of the disk free.

    Raises:
        InvalidArgumentError: the bound is below 64 MiB, or a number is negative.
    """
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
    """What the cache has, the last used set first; of this process's cache, or of the one in `folder`."""
    place = _place(folder)
    if place is None:
        return []
    return [
        CachedSet(address, num_objects, num_bytes, is_in_use, datetime.datetime.fromtimestamp(last_used))
        for address, num_objects, num_bytes, is_in_use, last_used in _ffkit.cached_sets(place)
    ]


def clean_cache(address: str = "", *, folder: PathLike | None = None) -> int:
    """Removes from the cache what no process uses: of all sets, or of those whose address begins with `address`. Returns the bytes that it removed."""
    place = _place(folder)
    return 0 if place is None else _ffkit.clean_cache(place, address)


def _place(folder: PathLike | None) -> str | None:
    place = _ffkit.cache_options()[0] if folder is None else os.fspath(folder)
    return place or None


def name_libcurl() -> None:
    """Names the libcurl that the package pycurl has, for systems without one: addresses of stores need it."""
    spec = importlib.util.find_spec("pycurl")
    if spec is None or spec.origin is None:
        return
    # pycurl.libs lies beside the package, or beside the module.
    for folder in (os.path.dirname(spec.origin), os.path.dirname(os.path.dirname(spec.origin))):
        for library in glob.glob(os.path.join(glob.escape(folder), "pycurl.libs", "libcurl-*.so*")):
            os.environ.setdefault("FFKIT_LIBCURL_ELSE", library)
            return
