"""manifest.json: what a split consists of (FORMAT.md, "Data set folder")."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Union

from ._errors import CorruptError, UnsupportedError
from ._files import read_whole
from ._schema import Schema, difference, schema_of

NAME = "manifest.json"
_AGAIN = "; copy or convert the data set again"


@dataclass(frozen=True)
class Listed:
    """A shard as the manifest lists it."""

    file: str
    num_records: int
    file_bytes: int
    record_bytes: int
    raw_bytes: int
    checksum: int


@dataclass
class Manifest:
    split: str
    schema: Schema
    shards: list[Listed] = field(default_factory=list)
    classes: list[str] = field(default_factory=list)
    class_names: list[str] = field(default_factory=list)
    class_ids: list[Union[int, str]] = field(default_factory=list)
    source: dict[str, str] = field(default_factory=dict)
    options: dict[str, str] = field(default_factory=dict)
    created_by: str = ""

    @property
    def num_records(self) -> int:
        return sum(shard.num_records for shard in self.shards)

    @property
    def file_bytes(self) -> int:
        return sum(shard.file_bytes for shard in self.shards)


def fnv1a64(data: bytes, value: int = 0xCBF29CE484222325) -> int:
    """FNV-1a, 64 bits."""
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return value


def fingerprint(shards: Iterable[Listed]) -> str:
    """16 hex digits that identify the content of these shards; ffkit gives the same."""
    value = fnv1a64(b"")
    for shard in shards:
        value = fnv1a64(struct.pack("<qI", shard.num_records, shard.checksum), value)
    return f"{value:016x}"


def listed(file: str, shard: Any) -> Listed:
    """An open shard as a manifest would list it."""
    return Listed(file, shard.num_records, shard.file_bytes, shard.record_bytes, shard.raw_bytes, shard.checksum)


def shard_difference(shard: Any, expected: Listed, schema: Schema) -> str:
    """The difference of an open shard from its manifest, in words; empty if there is none."""
    found = (shard.num_records, shard.file_bytes, shard.checksum)
    if found != (expected.num_records, expected.file_bytes, expected.checksum):
        return (
            f"the shard differs from the manifest: it has {found[0]} records, {found[1]} bytes and the checksum {found[2]:08x}, but the manifest says "
            f"{expected.num_records} records, {expected.file_bytes} bytes and the checksum {expected.checksum:08x}"
        )
    other = difference(shard.schema, schema)
    return f"the shard has another schema than the manifest: {other}" if other else ""


def _leads_out(name: str) -> bool:
    # "\\" and ":" lead out of a folder on Windows.
    return name in ("", ".", "..") or any(c in name for c in "/\\:\0")


def _texts(value: Any, key: str) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise CorruptError(f"'{key}' is not a list of texts")
    return value


def _facts(value: Any, key: str) -> dict[str, str]:
    if not isinstance(value, Mapping) or not all(isinstance(item, str) for item in value.values()):
        raise CorruptError(f"'{key}' is not an object of texts")
    return dict(sorted(value.items()))


def _shard_of(item: Any) -> Listed:
    if not isinstance(item, Mapping) or not isinstance(item.get("file"), str):
        raise CorruptError("an entry of 'shards' names no file")
    if _leads_out(item["file"]):
        raise CorruptError(f"'{item['file']}' cannot be the file name of a shard")
    counts = []
    for key, limit in (("num_records", 1 << 63), ("file_bytes", 1 << 63), ("record_bytes", 1 << 63), ("raw_bytes", 1 << 63), ("catalog_crc32c", 1 << 32)):
        value = item.get(key)
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < limit:
            raise CorruptError(f"'{key}' of the shard '{item['file']}' is {value!r}, but must be a whole number from 0 to {limit - 1}")
        counts.append(value)
    return Listed(item["file"], *counts)


def _manifest_of(text: bytes) -> Manifest:
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CorruptError(f"the manifest cannot be read ({error})") from None
    if not isinstance(whole, Mapping) or whole.get("format") != "ffkit-dataset":
        raise CorruptError("the file is not the manifest of an ffkit data set")
    version = whole.get("version")
    if not isinstance(version, int) or version < 1:
        raise CorruptError(f"'version' is {version!r}, but must be a whole number")
    if version > 2:
        raise UnsupportedError(f"the data set has format version {version}, but this package knows only versions up to 2; use a newer ffkit-reader")
    missing = [key for key in ("split", "schema", "classes", "class_names", "source", "options", "shards", "num_records") if key not in whole]
    if missing:
        raise CorruptError(f"the manifest has no '{missing[0]}'")
    split = whole["split"]
    if not isinstance(split, str) or split in (".", "..") or "/" in split or "\0" in split:
        raise CorruptError(f"the split has the name {split!r}, but this name would lead out of the data set")
    ids = whole.get("class_ids", [])
    if not isinstance(ids, list) or not all(isinstance(item, (int, str)) and not isinstance(item, bool) for item in ids):
        raise CorruptError("'class_ids' is not a list of whole numbers and texts")
    if not isinstance(whole["shards"], list):
        raise CorruptError("'shards' is not a list")
    manifest = Manifest(
        split=split,
        schema=schema_of(whole["schema"]),
        shards=[_shard_of(item) for item in whole["shards"]],
        classes=_texts(whole["classes"], "classes"),
        class_names=_texts(whole["class_names"], "class_names"),
        class_ids=ids,
        source=_facts(whole["source"], "source"),
        options=_facts(whole["options"], "options"),
        created_by=str(whole.get("created_by", "")),
    )
    names = {shard.file for shard in manifest.shards}
    if len(names) != len(manifest.shards):
        raise CorruptError("a shard is listed twice")
    if whole["num_records"] != manifest.num_records:
        raise CorruptError("'num_records' is not the sum of the records of all shards")
    for what, values in (("names", manifest.class_names), ("ids", manifest.class_ids)):
        if values and len(values) != len(manifest.classes):
            raise CorruptError(f"the manifest has {len(values)} class {what} for {len(manifest.classes)} classes")
    return manifest


def read_manifest(path: str) -> Manifest:
    """Raises CorruptError, and UnsupportedError of a newer format, with the path of the file."""
    text = read_whole(path)
    try:
        return _manifest_of(text)
    except CorruptError as error:
        raise CorruptError(error.reason + _AGAIN, path) from None
    except UnsupportedError as error:
        raise UnsupportedError(error.reason, path) from None
