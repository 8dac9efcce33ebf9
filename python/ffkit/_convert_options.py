"""Options of Writer and of ffkit.convert. What they mean, their ranges and defaults are in the converter's tables (_option_help.py shows them)."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable
from typing import Any, Literal, TypedDict

from . import _ffkit

Progress = bool | Callable[["ProgressUpdate"], object]
"""True: a bar of tqdm, where that is installed, else nothing; False: nothing; or a function that is called with a ProgressUpdate."""
Order = Literal["shuffled", "source"]
OnError = Literal["fail", "skip", "keep"]
Read = Literal["auto", "direct", "gather"]
Store = Literal["jpeg", "dct", "raw", "smart"]
Exif = Literal["apply", "ignore"]
Pixels = Literal["png", "jpeg", "raw"]


class ProgressUpdate(TypedDict):
    """How far the conversion of a split is."""

    split: str
    num_samples: int
    num_done: int
    num_before: int
    num_skipped: int
    bytes_done: int


class ConvertOptions(TypedDict, total=False):
    """Options that all conversions share; ffconvert has the same ones, with - instead of _."""

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
    """How pictures are stored."""

    max_resolution: int
    short_side: int
    jpeg_quality: int
    store: Store
    raw_share: float
    fix_odd: bool
    exif: Exif
    check_images: Literal["header", "decode"]


def picture_options(given: PictureOptions) -> dict[str, Any]:
    """Those that are given. Raises TypeError for other names, ffkit.Error for an option that cannot be or would change nothing."""
    options = given_options(given)
    _ffkit.check_pictures(options)
    return options


def given_options(options: Any) -> dict[str, Any]:
    """Without None and flags that are off: these are as if they were not given."""
    return {name: value for name, value in options.items() if value is not None and value is not False}


def makes_jpegs_of_others(given: PictureOptions) -> bool:
    """Whether pictures that come encoded may be encoded anew."""
    return bool(given.get("fix_odd") or given.get("exif") == "apply" or given.get("max_resolution") or given.get("short_side"))


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
