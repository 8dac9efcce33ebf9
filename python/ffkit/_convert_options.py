"""Options of Writer and of ffkit.convert as the dict that C++ takes."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable
from typing import Any, Literal, TypedDict

Progress = bool | Callable[["ProgressUpdate"], object]
"""True: a bar of tqdm, where that is installed, else nothing; False: nothing; or a function that is called with a ProgressUpdate."""
Order = Literal["shuffled", "source"]
OnError = Literal["fail", "skip", "keep"]
Read = Literal["auto", "direct", "gather"]
Store = Literal["jpeg", "dct", "raw", "smart"]
Exif = Literal["apply", "ignore"]
Pixels = Literal["png", "jpeg", "raw"]

_MAX_RECORD = 256 << 20


class ProgressUpdate(TypedDict):
    """How far the conversion of a split is."""

    split: str
    num_samples: int
    num_done: int
    num_before: int
    num_skipped: int
    bytes_done: int


class ConvertOptions(TypedDict, total=False):
    """Options that all conversions share; ffconvert has the same ones, with - instead of _.

    threads: 0, one for each core. Never changes the output.
    shard_size: bytes, or a text such as "64M" or "1G" (powers of 1024). "256M".
    order: "shuffled", training splits by `seed`; or "source".
    seed: of everything random, 0 .. 2**64-1.
    on_error: "fail"; "skip", a sample that cannot be read is left out; "keep", its bytes are stored as they are. report.jsonl names each one.
    zstd: compresses each record: 1 (fast) .. 22 (small), -7 .. -1 (faster still), 0: off.
    zstd_dictionary: with zstd: bytes of a dictionary that is trained on the first records of each split, such as "112K".
    read: how archives are read: "direct", "gather" (once, front to back, for slow disks) or "auto".
    part: "2/8", makes one of eight parts; merge() joins them.
    max_record: longer records are refused, in bytes. "256M".
    resume: continues what the same call left when it was stopped.
    dry_run: writes nothing and returns an Estimate.
    progress: True (a bar of tqdm, where that is installed), False, or a function that is called with a ProgressUpdate.
    on_note: is called with sentences that the user should know; by default they are warnings.
    """

    threads: int
    shard_size: int | str
    order: Order
    seed: int
    on_error: OnError
    zstd: int
    zstd_dictionary: int | str
    read: Read
    part: str | None
    max_record: int | str
    resume: bool
    dry_run: bool
    progress: Progress
    on_note: Callable[[str], object] | None


class PictureOptions(TypedDict, total=False):
    """How pictures are stored.

    max_resolution, short_side: pictures with a longer (shorter) side of more pixels are resized; others keep their bytes. One of the two.
    jpeg_quality: of pictures that are encoded anew, 1 .. 100. 90.
    store: "jpeg", bytes are kept, or JPEG where resized; "dct", JPEGs in a code that is decoded twice as fast; "raw", pixels; "smart", some raw.
    raw_share: with "smart": the share of pictures stored raw, 0 .. 1. 0.5.
    fix_odd: CMYK JPEGs, PNGs and everything else that is no plain JPEG becomes an RGB JPEG.
    exif: "ignore", pixels as they are in the file, as torchvision takes them; "apply", encoded pictures that EXIF data turn or mirror are stored upright,
        encoded anew. Not of nuscenes, coco and demo.
    check_images: "header" or "decode": how far each picture is checked.
    """

    max_resolution: int
    short_side: int
    jpeg_quality: int
    store: Store
    raw_share: float
    fix_odd: bool
    exif: Exif
    check_images: Literal["header", "decode"]


_CONVERT: dict[str, Any] = {
    "threads": 0, "order": "shuffled", "seed": 0, "on_error": "fail", "zstd": 0, "read": "auto", "part": None, "resume": False, "dry_run": False,
}  # fmt: skip
_PICTURES: dict[str, Any] = {
    "max_resolution": 0, "short_side": 0, "jpeg_quality": 90, "store": "jpeg", "raw_share": 0.5, "fix_odd": False, "exif": "ignore", "check_images": "header",
}  # fmt: skip


def convert_options(given: ConvertOptions) -> dict[str, Any]:
    """All of ConvertOptions, but progress and on_note, with their defaults. Raises TypeError for other names."""
    refuse_others(given, ConvertOptions)
    return {
        **_CONVERT,
        **{name: value for name, value in given.items() if name in _CONVERT},
        "shard_bytes": num_bytes("shard_size", given.get("shard_size", "256M")),
        "zstd_dictionary": num_bytes("zstd_dictionary", given.get("zstd_dictionary", 0)),
        "max_record": num_bytes("max_record", given.get("max_record", _MAX_RECORD)),
    }


def picture_options(given: PictureOptions) -> dict[str, Any]:
    """All of PictureOptions with their defaults. Raises TypeError for other names, ValueError for an option that would change nothing."""
    refuse_others(given, PictureOptions)
    if "raw_share" in given and given.get("store") != "smart":
        raise ValueError("raw_share serves only store='smart'")
    if given.get("fix_odd") and given.get("store") == "raw":
        raise ValueError("fix_odd has nothing to do with store='raw', which stores the pixels of every picture")
    return {**_PICTURES, **given}


def makes_jpegs_of_others(given: PictureOptions) -> bool:
    """Whether pictures that come encoded may be encoded anew."""
    return bool(given.get("fix_odd") or given.get("exif") == "apply" or given.get("max_resolution") or given.get("short_side"))


def refuse_idle_quality(given: PictureOptions) -> None:
    """Raises ValueError for a jpeg_quality that no picture would have."""
    makes_jpegs = makes_jpegs_of_others(given)
    if "jpeg_quality" in given and (not makes_jpegs or given.get("store") == "raw"):
        raise ValueError("jpeg_quality serves only pictures that are re-encoded as JPEG; give max_resolution, short_side, fix_odd or exif='apply' as well")


def refuse_others(given: Any, known: Any) -> None:
    for name in given:
        if name not in known.__annotations__:
            raise TypeError(f"there is no option '{name}'; expected one of {', '.join(known.__annotations__)}")


def num_bytes(name: str, size: int | str) -> int:
    """A number of bytes, also as text: "64M"."""
    if isinstance(size, int):
        return size
    match = re.fullmatch(r"(\d+)\s*([kmgt]?)(i?b)?", size.strip().lower())
    if match is None:
        raise ValueError(f"{name} is '{size}'; expected a number of bytes, or a text such as '64M' or '1G'")
    return int(match[1]) << {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}[match[2]]


class ProgressBar:
    """What a conversion calls with its progress: a bar of tqdm, a function of the user's, or nothing."""

    def __init__(self, progress: Progress, unit: str = "samples") -> None:
        self._call = progress if callable(progress) else None
        self._unit = unit
        self._bar: Any = None
        self._tqdm: Any = None
        if progress is True:
            try:
                tqdm = importlib.import_module("tqdm.auto").tqdm
            except ImportError:
                return
            # A log file is no place for a bar.
            self._tqdm = tqdm if "ipykernel" in sys.modules or sys.stderr is not None and sys.stderr.isatty() else None

    @property
    def callback(self) -> Callable[..., None] | None:
        return self._update if self._call is not None or self._tqdm is not None else None

    def _update(self, split: str, num_samples: int, num_done: int, num_before: int, num_skipped: int, bytes_done: int) -> None:
        if self._call is not None:
            self._call(ProgressUpdate(split=split, num_samples=num_samples, num_done=num_done, num_before=num_before, num_skipped=num_skipped, bytes_done=bytes_done))  # fmt: skip
            return
        if self._bar is None or self._bar.desc != split:
            self.close()
            self._bar = self._tqdm(desc=split, total=num_samples, initial=num_before, unit=" " + self._unit, mininterval=0.2)
        self._bar.update(num_done - self._bar.n)
        if num_skipped:
            self._bar.set_postfix(skipped=num_skipped, refresh=False)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None
