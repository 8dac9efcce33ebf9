"""Opens a path: the folder of a data set or of a split, a shard, or FFRecord v1 files."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import Any, Optional

import numpy

from . import _v1
from ._errors import CorruptError, Error, InvalidArgumentError, NotFoundError, UnsupportedError, only_in_ffkit
from ._files import read_at, read_whole, size_of
from ._manifest import NAME, Listed, Manifest, listed, read_manifest, shard_difference
from ._pickle import plain_value
from ._schema import difference
from ._shard import Shard

_MARKER = ".ffkit-unfinished"
_MOST_AT_ONCE = 512  # shards that are compared with the manifest when the split is opened, and stay in memory
_MOST_CHECKED = 64  # records that are compared with the labels of meta.pkl
_AGAIN = "; copy or convert the data set again"


def open_file(path: str, max_record_bytes: int) -> _v1.AnyShard:
    """A shard or a file of FFRecord v1."""
    if os.path.exists(path) and not os.path.isfile(path):
        raise InvalidArgumentError("the path is not a regular file", path)
    return _v1.V1File(path, max_record_bytes) if _v1.looks_like_v1(path) else Shard(path, max_record_bytes)


def open_listed(path: str, expected: Listed, manifest: Manifest, max_record_bytes: int) -> _v1.AnyShard:
    """A shard of a manifest, compared with that."""
    if not os.path.exists(path):
        raise NotFoundError(f"the manifest lists this shard, but the file does not exist{_AGAIN}", path)
    shard = open_file(path, max_record_bytes)
    other = shard_difference(shard, expected, manifest.schema)
    if other:
        raise CorruptError(other + _AGAIN, path)
    return shard


@dataclass
class OpenSplit:
    """A split: its manifest (computed for single files) and its shards; the first 512 stay open."""

    path: str
    manifest: Manifest
    max_record_bytes: int
    format_version: int = 2
    warnings: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    opened: dict[int, _v1.AnyShard] = field(default_factory=dict)

    def shard(self, number: int) -> _v1.AnyShard:
        shard = self.opened.get(number)
        if shard is None:
            shard = open_listed(self.files[number], self.manifest.shards[number], self.manifest, self.max_record_bytes)
            if len(self.opened) < _MOST_AT_ONCE:
                self.opened[number] = shard
        return shard


def is_split_folder(folder: str) -> bool:
    return os.path.exists(os.path.join(folder, NAME))


def _refuse_if_marked(folder: str) -> None:
    marker = os.path.join(folder, _MARKER)
    if not os.path.lexists(marker):
        return
    text = read_at(marker, 0, min(size_of(marker), 1 << 16)).decode("utf-8", "replace") if os.path.isfile(marker) else ""
    kind, command = ((re.findall(rf"^{key} (.*)$", text, re.M) or [""])[0] for key in ("kind", "command"))
    if kind == "split":
        raise InvalidArgumentError(
            f"the program that writes this split has not finished (it has the file {_MARKER}); wait for it, or run it again if it was stopped", folder
        )  # fmt: skip
    remedy = f"finish it with: {command}" if command else "run the same ffconvert command again with --resume"
    raise InvalidArgumentError(f"the conversion that writes this folder has not finished (it has the file {_MARKER}); {remedy}", folder)


def refuse_unfinished(path: str) -> None:
    """Refuses a folder that a conversion has not finished, and what is in one."""
    place = os.path.realpath(path)
    _refuse_if_marked(place)
    _refuse_if_marked(os.path.dirname(place))


def v1_files(path: str, split: str) -> list[str]:
    """The files `split`.ffr or in that folder, or `path` itself; empty where there are none."""
    place = os.path.join(path, f"{split}.ffr") if split else path
    if os.path.isfile(place):
        return [place]
    if not os.path.isdir(place):
        return []
    files = [os.path.join(place, name) for name in sorted(os.listdir(place)) if name.endswith(".ffr")]
    return [file for file in files if os.path.isfile(file)]


def require_local(path: str) -> None:
    if re.match(r"[a-z][a-z0-9+.-]+://", path):
        only_in_ffkit(f"data sets in stores ({path})")


def splits(path: Any) -> list[str]:
    """The splits of a data set folder, sorted.

    Raises:
        NotFoundError: there is no such folder.
        UnsupportedError: `path` is an address in a store, which ffkit reads."""
    folder = os.fspath(path)
    require_local(folder)
    if not os.path.isdir(folder):
        raise NotFoundError("there is no such folder", folder)
    found = []
    for name in os.listdir(folder):
        place = os.path.join(folder, name)
        if is_split_folder(place):
            found.append(name)
        elif name.endswith(".ffr") and os.path.isdir(place) and v1_files(place, ""):
            found.append(name[: -len(".ffr")])
    return sorted(found)


def _open_split(folder: str, max_record_bytes: int) -> OpenSplit:
    manifest = read_manifest(os.path.join(folder, NAME))
    split = OpenSplit(folder, manifest, max_record_bytes, files=[os.path.join(folder, shard.file) for shard in manifest.shards])
    if len(split.files) <= _MOST_AT_ONCE:
        for number in range(len(split.files)):
            split.shard(number)
    return split


def _meta_of(file: str) -> Optional[tuple[list[str], list[int]]]:
    """Classes and targets of meta.pkl beside the file, or above its folder."""
    folder = os.path.dirname(os.path.abspath(file))
    for place in (folder, os.path.dirname(folder)):
        path = os.path.join(place, "meta.pkl")
        if not os.path.isfile(path):
            continue
        try:
            meta = plain_value(read_whole(path))
            classes, targets = meta["classes"], meta["targets"]
        except (CorruptError, UnsupportedError) as error:
            raise error if error.path else type(error)(error.reason, path) from None
        except (KeyError, TypeError) as error:
            raise CorruptError(f"has no classes and targets ({error})", path) from None
        if not all(type(name) is str for name in classes) or not all(type(label) is int for label in targets):
            raise CorruptError("has classes that are not texts, or targets that are not numbers", path)
        return list(classes), list(targets)
    return None


def _agrees(shards: list[_v1.AnyShard], targets: list[int]) -> bool:
    """Whether the records have these labels: as many, and equal in evenly spread samples."""
    total = sum(shard.num_records for shard in shards)
    if total != len(targets):
        return False
    step = max(1, total // _MOST_CHECKED)
    first = 0
    for shard in shards:
        for i in range(-first % step, shard.num_records, step):
            try:
                label = shard.record(i)[1]
            except Error:  # a damaged one says nothing
                continue
            if int.from_bytes(label, "little", signed=True) != targets[first + i]:
                return False
        first += shard.num_records
    return True


def _open_v1(files: list[str], max_record_bytes: int) -> OpenSplit:
    shards = [open_file(file, max_record_bytes) for file in files]
    for shard in shards:
        if shard.version != 1:
            raise InvalidArgumentError("is an ffkit shard among FFRecord v1 files; open them separately", shard.path)
    # One payload for all: that of more than half of the files that have records.
    found = [shard.schema for shard in shards if shard.num_records]
    schema = next((one for one in (_v1.IMAGENET, _v1.PICTURES) if 2 * sum(other is one for other in found) > len(found)), _v1.RAW)
    for shard in shards:
        shard.schema = schema
    folder = os.path.dirname(os.path.abspath(files[0]))
    named = folder if folder.endswith(".ffr") or len(files) > 1 else files[0]
    manifest = Manifest(os.path.splitext(os.path.basename(named))[0], schema, source={"format": "FFRecord v1"})
    meta = _meta_of(files[0]) if schema is _v1.IMAGENET else None
    if meta:
        manifest.classes = meta[0]
        labels = numpy.array(meta[1], numpy.int64) if _agrees(shards, meta[1]) else None
        first = 0
        for shard in shards:
            shard.labels = None if labels is None else labels[first : first + shard.num_records]
            first += shard.num_records
    manifest.shards = [listed(os.path.basename(shard.path), shard) for shard in shards]
    warnings = [warning for shard in shards for warning in shard.warnings]
    path = files[0] if len(files) == 1 else os.path.dirname(files[0])
    return OpenSplit(path, manifest, max_record_bytes, 1, warnings, files, dict(enumerate(shards)))


def open_files(files: list[str], max_record_bytes: int) -> OpenSplit:
    """Shards or v1 files, in this order, as one split."""
    if not files:
        raise InvalidArgumentError("a data set needs at least one file")
    shards = [open_file(file, max_record_bytes) for file in files]
    if any(shard.version == 1 for shard in shards):
        # A part of FFRecord v1 does not say how many belong to it.
        for file in files:
            refuse_unfinished(os.path.dirname(os.path.realpath(file)))
        return _open_v1(files, max_record_bytes)
    for shard in shards:
        other = difference(shard.schema, shards[0].schema)
        if other:
            raise InvalidArgumentError(f"has another schema than {files[0]}: {other}", shard.path)
    manifest = Manifest(os.path.splitext(os.path.basename(files[0]))[0], shards[0].schema)
    manifest.shards = [listed(os.path.basename(shard.path), shard) for shard in shards]
    return OpenSplit(files[0], manifest, max_record_bytes, files=files, opened=dict(enumerate(shards)))


def _not_found(path: str, split: str) -> NotFoundError:
    found = splits(path)
    if not found:
        return NotFoundError("this is not a data set: the folder and the folders in it have no manifest.json, and there is no FFRecord v1 file", path)
    wish = f"there is no split '{split}'" if split else "name the split that you mean"
    return NotFoundError(f"{wish}; the splits are {', '.join(found)}", path)


def open_split(path: str, split: str, max_record_bytes: int) -> OpenSplit:
    """As ffkit.Dataset opens it, of what is on this machine."""
    require_local(path)
    if not os.path.exists(path):
        refuse_unfinished(path)  # such as a split that gets its name in the end
        raise NotFoundError("there is no such folder or file; give the folder that ffconvert wrote", path)
    if not os.path.isdir(path):
        if split:
            raise NotFoundError(f"this is one file, so it has no split '{split}'; give the folder of the file, or leave out the split", path)
        return open_files([path], max_record_bytes)
    folder = os.path.join(path, split) if split else path
    refuse_unfinished(path)
    refuse_unfinished(folder)
    if is_split_folder(folder):
        return _open_split(folder, max_record_bytes)
    files = v1_files(path, split)
    for file in files:
        if not _v1.looks_like_v1(file):  # shards without their manifest are what an interrupted writer leaves
            raise InvalidArgumentError(
                "has no manifest.json beside it, so the program that wrote this shard has not finished; convert again, or open only this file", file
            )  # fmt: skip
    if files:
        return _open_v1(files, max_record_bytes)
    if split and is_split_folder(path):
        own = read_manifest(os.path.join(path, NAME)).split
        if own == split:
            return _open_split(path, max_record_bytes)
        raise NotFoundError(
            f"this folder is the split '{own}', not a data set, so it has no split '{split}'; give the folder of the data set, usually the parent folder", path
        )  # fmt: skip
    raise _not_found(path, split)
