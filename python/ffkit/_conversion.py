"""One conversion: from the options of a function of ffkit.convert to its Summary."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from . import _ffkit
from ._convert_options import ProgressBar, given_options, path_options, warn
from ._stores import PathLike, both_placed, placed
from ._summary import SplitSummary, Summary


def convert_kind(kind: str, arguments: dict[str, Any]) -> Summary:
    """`arguments`: those of the function for this kind, including **options."""
    src, dst = arguments.pop("src", ""), arguments.pop("dst")
    options = {**arguments.pop("options"), **arguments}
    return run_conversion(kind, src, dst, options, lambda src, dst, given, control: _ffkit.convert_kind(kind, src, dst, given, control))


Work = Callable[[str, str, dict[str, Any], dict[str, Any]], dict[str, Any]]


def run_conversion(table: str, src: PathLike, dst: PathLike, options: dict[str, Any], work: Work) -> Summary:
    """Calls `work` with both places, their storage options, and the table's options."""
    of_dst, of_src = options.pop("storage_options", None), options.pop("source_storage_options", None)
    src, dst = both_placed(src, dst, of_dst, of_src)
    given = given_options(options, table)
    if of_paths := _ffkit.storage_options_of(os.fspath(src)):
        # Lists of labels and the like are in the store of the source.
        scheme = os.fspath(src).partition("://")[0] + "://"
        for name in path_options(table):
            if str(given.get(name, "")).startswith(scheme):
                given[name] = placed(given[name], of_paths)
    bar = ProgressBar(options.get("progress", True))
    is_dry_run = bool(given.pop("dry_run", False))
    control = {"dry_run": is_dry_run, "on_progress": bar.callback, "on_note": given.pop("on_note", None) or warn}
    given.pop("progress", None)
    try:
        result = work(os.fspath(src), os.fspath(dst), given, control)
    finally:
        bar.close()
    return summary_of(result, is_dry_run)


def summary_of(result: dict[str, Any], is_estimate: bool) -> Summary:
    if is_estimate:
        splits = tuple(
            SplitSummary(split["split"], split["num_samples"], 0, split["num_shards"], split["file_bytes"], "") for split in result["splits"]
        )
        return Summary(splits, result["seconds"], is_estimate=True)
    return Summary(**{**result, **{name: tuple(SplitSummary(**split) for split in result[name]) for name in ("splits", "merged")}})
