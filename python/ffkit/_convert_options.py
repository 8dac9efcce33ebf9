"""Options of Writer and of ffkit.convert. The converter's tables, which ffconvert --help shows,
too, have their meaning, ranges and defaults. documented() puts them into the docstrings and
signatures of functions. Types are in the source, for mypy, pyright and editors."""

from __future__ import annotations

import importlib
import inspect
import os
import re
import sys
import textwrap
import time
import typing
import warnings
from collections.abc import Callable, Iterable
from typing import Any, Literal, TypedDict, TypeVar

from . import _ffkit
from ._stores import StorageOptions

if sys.version_info >= (3, 11):
    from typing import Unpack as Unpack
else:
    from typing_extensions import Unpack as Unpack

LOG_INTERVAL = 30.0
"""Seconds between the lines that progress=True writes to a log file."""
Progress = bool | Callable[["ProgressUpdate"], object]
"""True shows a bar of tqdm if tqdm is installed, and in a log file a line every 30 s. False shows nothing. A function is called with a ProgressUpdate."""
Order = Literal["shuffle", "sequential"]
BadSamples = Literal["fail", "skip", "keep"]
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
    """Options of all conversions; ffconvert has the same options, with - instead of _."""

    num_threads: int
    shard_size: int | str
    order: Order
    seed: int
    bad_samples: BadSamples
    zstd: int
    zstd_dictionary: int | str
    read: Read
    part: str | None
    merge_when_complete: bool
    by_files: int | str | None
    only: str | os.PathLike[str] | Iterable[str] | None
    max_record: int | str
    license: str | None
    data_source: str | None
    note: str | None
    resume: bool
    dry_run: bool
    progress: Progress
    on_note: Callable[[str], object] | None
    storage_options: StorageOptions | None
    source_storage_options: StorageOptions | None


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
    """The given options. Raises TypeError for other names, ffkit.Error for invalid ones."""
    options = given_options(given, "pictures")
    _ffkit.check_pictures(options)
    return options


def given_options(options: Any, table: str) -> dict[str, Any]:
    """The options without None and flags that are off. Raises TypeError for unknown names."""
    given = {name: value for name, value in options.items() if value is not None and value is not False}
    names = [option["name"] for option in _TABLES[table]["options"]]
    for name in options:
        if name not in names and name not in _OWN:
            known = names + [option["name"] for option in _TABLES["conversion"]["options"]]
            raise TypeError(f"there is no option '{name}': {_ffkit.words_on_name('ffconvert', name, known)}; the options are {', '.join(names)}")
    if not isinstance(only := given.get("only", ""), (str, os.PathLike)):
        given["only"] = listed_ids("only", only)
    if isinstance(given.get("by_files"), int):
        given["by_files"] = str(given["by_files"])
    return given


def path_options(table: str) -> list[str]:
    return [option["name"] for option in _TABLES[table]["options"] if option["type"] == "path"]


def listed_ids(name: str, ids: Any) -> list[str]:
    """Ids as a list. Raises TypeError, with the argument's `name`, for anything else."""
    if not isinstance(ids, Iterable) or isinstance(ids, (bytes, bytearray)):
        raise TypeError(f"{name} is {ids!r:.80}; expected a path, or the ids of samples")
    listed = list(ids)
    for value in listed:
        if not isinstance(value, str):
            raise TypeError(f"{name}: an id is {value!r:.80}; ids are texts, also if they are whole numbers, as str(17)")
    return listed


def makes_jpegs_of_others(given: PictureOptions) -> bool:
    """Whether pictures that come encoded may be encoded again."""
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
    """Shows the progress of a conversion: a bar of tqdm, a function of the user's, or nothing."""

    def __init__(self, progress: Progress, unit: str = "samples") -> None:
        self._call = progress if callable(progress) else None
        self._unit = unit
        self._bar: Any = None
        self._tqdm: Any = None
        is_shown = "ipykernel" in sys.modules or sys.stderr is not None and sys.stderr.isatty()
        self._logs = progress is True and not is_shown and sys.stderr is not None
        self._last_told = self._last_logged = time.monotonic()
        if progress is True and is_shown:
            try:
                self._tqdm = importlib.import_module("tqdm.auto").tqdm
            except ImportError:
                return

    @property
    def callback(self) -> Callable[..., None] | None:
        return self._update if self._call is not None or self._tqdm is not None or self._logs else None

    def tell(self, split: str, num_samples: int, num_done: int, bytes_done: int = 0) -> None:
        """Says how far the work is, ten times a second."""
        if self.callback is not None and (num_done == num_samples or time.monotonic() - self._last_told > 0.1):
            self._last_told = time.monotonic()
            self._update(split, num_samples, num_done, 0, 0, bytes_done)

    def _update(self, split: str, num_samples: int, num_done: int, num_before: int, num_skipped: int, bytes_done: int) -> None:
        if self._call is not None:
            self._call(ProgressUpdate(split=split, num_samples=num_samples, num_done=num_done, num_before=num_before, num_skipped=num_skipped, bytes_done=bytes_done))  # fmt: skip
            return
        if self._logs:
            self._log(split, num_samples, num_done, num_skipped)
            return
        if self._bar is None or self._bar.desc != split:
            self.close()
            self._bar = self._tqdm(desc=split, total=num_samples, initial=num_before, unit=" " + self._unit, mininterval=0.2)
        self._bar.update(num_done - self._bar.n)
        if num_skipped:
            self._bar.set_postfix(skipped=num_skipped, refresh=False)

    def _log(self, split: str, num_samples: int, num_done: int, num_skipped: int) -> None:
        """A log file is not a place for a bar: it gets a line every 30 s."""
        if (now := time.monotonic()) - self._last_logged < LOG_INTERVAL:
            return
        self._last_logged = now
        skipped = f" ({num_skipped:,} skipped)" if num_skipped else ""
        print(f"{split} {100 * num_done // max(num_samples, 1):3} %  {num_done:,} of {num_samples:,} {self._unit}{skipped}", file=sys.stderr, flush=True)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None


_Function = TypeVar("_Function", bound=Callable[..., Any])
_TABLES: dict[str, dict[str, Any]] = _ffkit.option_tables()
_TABLES["from_source"] = {"options": _TABLES["pictures"]["options"] + _TABLES["conversion"]["options"]}


def documented(table: str) -> Callable[[_Function], _Function]:
    """Takes the signature and the docstring of a function from its table."""

    def document(function: _Function) -> _Function:
        hints = typing.get_type_hints(function)
        by_name = {option["name"]: option for option in _TABLES[table]["options"]}
        parameters = []
        for parameter in inspect.signature(function).parameters.values():
            if parameter.kind is not parameter.VAR_KEYWORD:
                default = by_name[parameter.name]["default"] if parameter.name in by_name and parameter.default is not parameter.empty else parameter.default
                parameters.append(parameter.replace(annotation=hints[parameter.name], default=default))
                continue
            for name, hint in typing.get_type_hints(typing.get_args(hints[parameter.name])[0]).items():
                default = by_name[name]["default"] if name in by_name else _OWN[name][0]
                parameters.append(inspect.Parameter(name, parameter.KEYWORD_ONLY, annotation=hint, default=default))
        names = {parameter.name for parameter in parameters}
        own = [name for name in _OWN if name in names]
        function.__doc__ = "\n\n".join(filter(None, [inspect.getdoc(function), _listed(_TABLES[table]["options"], names), *map(_own_text, own)]))
        setattr(function, "__signature__", inspect.Signature(parameters, return_annotation=hints.get("return", inspect.Signature.empty)))
        return function

    return document


def document_options(options: type, table: str) -> None:
    """Takes the docstring of a TypedDict from its table."""
    names = set(typing.get_type_hints(options))
    texts = [inspect.getdoc(options), _listed(_TABLES[table]["options"], names), *(_own_text(name) for name in _OWN if name in names)]
    options.__doc__ = "\n\n".join(filter(None, texts))


# What Python takes besides.
_ALSO = {"only": ". An iterable of the ids is also possible", "by_files": ". N may be an int"}

# Those of Python alone: default, meaning.
_OWN: dict[str, tuple[Any, str]] = {
    "dry_run": (False, "Writes nothing, and returns a Summary of what would be written"),
    "progress": (True, "True shows a bar of tqdm if tqdm is installed. False shows nothing. A function is called with a ProgressUpdate"),
    "on_note": (None, "Function that is called with each note for the user. By default, notes are warnings"),
    "storage_options": (None, "Options for the store of dst, such as {'profile': 'partner'}, or for the store of src if dst is a folder. The default comes from the environment"),
    "source_storage_options": (None, "Options for the store of src and of paths in the options"),
    "pixels": ("png", "How pictures that come as pixels are stored, as in Writer"),
}


def _own_text(name: str) -> str:
    return _entry(f"{name} = {_OWN[name][0]!r}", _OWN[name][1])


def _listed(options: list[dict[str, Any]], names: set[str]) -> str:
    texts, group = [], ""
    for option in options:
        if option["name"] not in names or not option["is_offered"]:
            continue
        if option["group"] != group:
            group = option["group"]
            texts.append(f"{group}:")
        texts.append(option_text(option))
    return "\n\n".join(texts)


def option_text(option: dict[str, Any]) -> str:
    """The text of an option in docstrings: its default, meaning, range and default behaviour."""
    default = f" = {option['default']!r}" if option["default"] is not None else ""
    # Where the meaning goes through the choices, they need not be listed again.
    is_said = option["choices"] and all(f"'{choice}'" in option["help"] for choice in option["choices"])
    values = f". Values: {option['range']}" if option["range"] and not is_said else ""
    also = _ALSO.get(option["name"], "")
    words = f"; default: {option['default_text']}" if option["default"] is None and option["default_text"] else ""
    return _entry(option["name"] + default, option["help"] + also + values + words)


def _entry(head: str, text: str) -> str:
    return f"{head}\n" + textwrap.fill(text, 120, initial_indent="    ", subsequent_indent="    ")


def warn(sentence: str) -> None:
    """Warns with a sentence, for the line that called ffkit."""
    level = 1
    frame = sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("ffkit."):
        frame = frame.f_back
        level += 1
    warnings.warn(sentence, stacklevel=level)
