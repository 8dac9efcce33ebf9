"""Results of conversions and copies, leftovers, and work on finished data sets."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from . import _ffkit
from ._convert_options import Progress, ProgressBar, listed_ids, warn
from ._stores import StorageOptions, both_placed, placed

Path: TypeAlias = str | os.PathLike[str]


@dataclass(frozen=True)
class SplitSummary:
    """Result of a conversion for one split."""

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
class Removed:
    """Result of ffkit.convert.remove()."""

    splits: tuple[SplitSummary, ...]
    """Those that were changed, as they are now."""
    num_removed: int
    """Records."""
    not_found: tuple[str, ...]
    """Ids that no record has."""


@dataclass(frozen=True)
class Summary:
    """Result of a conversion, or with dry_run=True its expected result."""

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
        """The split with this name; KeyError if there is none."""
        for summary in self.splits:
            if summary.split == split:
                return summary
        raise KeyError(split)


@dataclass(frozen=True)
class CopySummary:
    """Result of copy()."""

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
    """Result of find_leftovers()."""

    found: tuple[Leftover, ...]
    """Sorted by path."""
    others: tuple[str, ...]
    """Files that are neither ffkit's nor in a manifest; they stay."""
    num_in_manifests: int
    """Files that manifests name, and manifests; they stay."""
    notes: tuple[str, ...]
    """What could not be looked for, a sentence each."""


def remove(data: Path, ids: Path | Iterable[str], *, on_note: Callable[[str], object] | None = None) -> Removed:
    """Removes the records with these ids from a data set, and their bytes from its files. It writes
    new shards without these records, and replaces each split's manifest in one step. If it is
    killed, each split is either unchanged or finished; the same call then removes leftover files.

    Record numbers and the fingerprint change. Copies of the records in other data sets stay.

    Args:
        data: the folder of a data set.
        ids: values of the field `id`: a list, or the path of a text file with one per line.
        on_note: is called with sentences that the user should know; by default they are warnings.

    Raises:
        ffkit.NotFoundError: no record has such an id.
        ffkit.InvalidArgumentError: all records of a split would be removed; records have no ids, or
            refer to each other by number; another process changes the folder.
        ffkit.UnsupportedError: data is in a store."""
    file = os.fspath(ids) if isinstance(ids, (str, os.PathLike)) else None
    given = [] if file is not None else listed_ids("ids", ids)
    splits, num_removed, not_found = _ffkit.remove_records(os.fspath(data), file or "", given, file is not None, on_note or warn)
    return Removed(tuple(SplitSummary(**split) for split in splits), num_removed, tuple(not_found))


def copy(
    src: Path,
    dst: Path,
    *,
    splits: str | Sequence[str] | None = None,
    num_threads: int = 4,
    resume: bool = False,
    progress: Progress = True,
    on_note: Callable[[str], object] | None = None,
    storage_options: StorageOptions | None = None,
    source_storage_options: StorageOptions | None = None,
) -> CopySummary:
    """Copies a finished data set, or one of its splits, between folders and stores. Each shard is
    compared with its checksums while it is copied.

    If src is a split, dst becomes a split, otherwise a data set. It has the marker of an unfinished
    data set until the copy is complete. Equal shards that are in dst already are not copied again.

    Args:
        src: folder or address of a data set, or of one of its splits.
        dst: a folder, s3://... or gs://...
        splits: the splits to copy; None: all.
        num_threads: number of shards to copy at the same time, 1 to 64; each takes up to 100 MiB.
        resume: continues an interrupted copy; begins if there is none.
        progress, on_note, storage_options, source_storage_options: as for a conversion.

    Raises:
        ffkit.CorruptError: a shard of src is damaged; it does not appear in dst.
        ffkit.InvalidArgumentError: src is unfinished; dst has other data or another writer.
        ffkit.NotFoundError: there is no such data set or split.
        ffkit.UnsupportedError: nothing can be written to such a place."""
    src, dst = both_placed(src, dst, storage_options, source_storage_options)
    bar = ProgressBar(progress, "records")
    chosen = [splits] if isinstance(splits, str) else [*(splits or [])]
    try:
        return CopySummary(**_ffkit.copy(os.fspath(src), os.fspath(dst), chosen, num_threads, resume, bar.callback, on_note or warn))
    finally:
        bar.close()


def find_leftovers(place: Path, *, storage_options: StorageOptions | None = None) -> Leftovers:
    """Finds files that interrupted conversions and copies have left in a data set or split, in a
    folder or a store. Changes nothing.

    Raises:
        ffkit.NotFoundError: nothing is there.
        ffkit.UnsupportedError: the store cannot list files, such as a web server."""
    found, others, num_in_manifests, notes = _ffkit.find_leftovers(os.fspath(placed(place, storage_options)))
    return Leftovers(tuple(Leftover(*leftover) for leftover in found), tuple(others), num_in_manifests, tuple(notes))


def remove_leftovers(
    place: Path, *, unfinished: bool = False, on_note: Callable[[str], object] | None = None, storage_options: StorageOptions | None = None
) -> tuple[int, int]:
    """Removes everything that find_leftovers() finds, except files that a process is writing.
    Returns the number of removed files and uploads, and their bytes.

    Args:
        place: folder or address of a data set, or of one of its splits.
        unfinished: also removes shards and markers that resume=True would use.
        on_note: is called with sentences that the user should know; by default they are warnings.
            One says that the check for another machine's writer takes half a minute.

    Raises:
        ffkit.InvalidArgumentError: with `unfinished`, in a store: a process still writes.
        Others: as find_leftovers()."""
    return _ffkit.remove_leftovers(os.fspath(placed(place, storage_options)), unfinished, on_note or warn)
