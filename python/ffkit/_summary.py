"""What a conversion or a copy has written, and what interrupted ones have left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class SplitSummary:
    """What was written of one split."""

    split: str
    num_records: int
    num_skipped: int
    """Bad samples that were left out."""
    num_shards: int
    file_bytes: int
    """Of the shards."""
    fingerprint: str
    """Identifies the content; empty in an estimate."""
    totals: Mapping[str, int] = field(default_factory=dict)
    """Of text: numbers of documents, tokens, bytes and empty documents."""


@dataclass(frozen=True)
class Summary:
    """What a conversion has written, or with dry_run=True would write."""

    splits: tuple[SplitSummary, ...]
    seconds: float
    num_classes: int = 0
    num_reported: int = 0
    """Lines of DST/report.jsonl."""
    without_dct: Mapping[str, int] = field(default_factory=dict)
    """With store="dct": pictures that have no dct code, by the reason."""
    remarks: Mapping[str, int] = field(default_factory=dict)
    """Pictures that are taken, but not everywhere with all that they have, by what is said of them: "has 16 bits a channel: kept; ..."."""
    headers_only: bool = False
    """Pictures were stored of which only the headers were checked, not the pixels: check_images="decode" checks these too."""
    reported: Mapping[str, int] = field(default_factory=dict)
    """What report.jsonl counts, by what was done: "document left out", "replaced by U+FFFD" (bytes), "byte order mark left out"."""
    was_finished: bool = False
    """With resume=True: the data set was there, nothing was written."""
    num_parts: int = 0
    """With merge_when_complete=True: the parts of the conversion."""
    num_finished_parts: int = 0
    """How many of them have finished."""
    merged: tuple[SplitSummary, ...] = ()
    """The splits of the whole, where this call has merged the parts; empty: parts are missing, or another process merges them or has done so."""
    is_estimate: bool = False
    """Nothing was written: numbers are those of samples, bytes and seconds are estimated."""

    @property
    def num_records(self) -> int:
        return sum(split.num_records for split in self.splits)

    @property
    def num_skipped(self) -> int:
        return sum(split.num_skipped for split in self.splits)

    @property
    def file_bytes(self) -> int:
        return sum(split.file_bytes for split in self.splits)

    def __getitem__(self, split: str) -> SplitSummary:
        """The split of this name; KeyError when there is none."""
        for summary in self.splits:
            if summary.split == split:
                return summary
        raise KeyError(split)


@dataclass(frozen=True)
class CopySummary:
    """What copy() has copied."""

    splits: tuple[str, ...]
    num_shards: int
    num_records: int
    file_bytes: int
    """Of all shards."""
    num_equal_shards: int
    """Shards that were there already."""
    num_copied_bytes: int
    seconds: float


@dataclass(frozen=True)
class Leftover:
    """A file or an upload that interrupted work has left."""

    kind: Literal["shard", "temporary", "upload", "work", "marker"]
    """"shard": the manifest beside it does not name it; "temporary": it was to be renamed or removed; "upload": parts of an object that was not
    finished; "work" and "marker": of a data set that is not finished, which resume=True would go on with."""
    path: str
    """A path, or an address."""
    num_bytes: int
    """0 of uploads: stores do not say."""
    upload_id: str
    since: str
    """When an upload was begun, as the store writes it; empty: not known."""
    is_in_use: bool
    """A process of this machine has it."""


@dataclass(frozen=True)
class Leftovers:
    """What find_leftovers() has found."""

    found: tuple[Leftover, ...]
    """Sorted by path."""
    others: tuple[str, ...]
    """Files that are neither ffkit's nor in a manifest; they stay."""
    num_in_manifests: int
    """Files that manifests name, and manifests; they stay."""
    notes: tuple[str, ...]
    """What could not be looked for, a sentence each."""
