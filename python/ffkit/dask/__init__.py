"""Dask: data sets written from bags, data frames and delayed tables, and read into bags.

    to_sample = lambda path: {"image": path.read_bytes(), "label": label_of(path)}
    bag = dask.bag.from_sequence(paths, npartitions=64).map(to_sample)
    summary = ffkit.dask.write(bag, "/fast/mine", schema={"image": "image", "label": "i64"})

    bag = ffkit.dask.read("/fast/mine", "train", npartitions=64)"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

try:
    import dask as _dask
except ImportError as error:
    raise ImportError("ffkit.dask needs Dask, which is not installed: pip install dask") from error

from .._dataset import Dataset
from .._engines.dataset_tables import ReadPart, parts_of
from .._engines.shard_sink import ShardSink
from .._samples import FieldSpec
from .._summary import SplitSummary

__all__ = ["read", "write"]


def write(
    collection: Any,
    dst: str | os.PathLike[str],
    split: str = "train",
    schema: Mapping[str, FieldSpec] | None = None,
    *,
    compute_options: Mapping[str, Any] | None = None,
    **options: Any,
) -> SplitSummary:
    """Writes one split and blocks until it is complete. Each partition is a task of
    ffkit.convert.ShardSink, so Dask may run it again if a worker dies: samples are written exactly
    once. Records are in the order of the partitions. If the write fails, nothing is left.

    Args:
        collection: a dask.bag.Bag of samples (dicts, as for ffkit.Writer.write()); or a data frame,
            or an object with to_delayed() and partitions of DataFrame, Table or dicts of arrays.
        dst, split, schema, options: as for ffkit.convert.ShardSink. All workers must see dst.
        compute_options: of dask.compute(): the scheduler, for instance.

    Raises: TypeError: no to_delayed(). ffkit.Error: as ShardSink. Errors of a partition."""
    if not hasattr(collection, "to_delayed"):
        raise TypeError(f"expected a Dask bag or data frame; got {type(collection).__name__}")
    parts = list(collection.to_delayed())
    is_bag = hasattr(collection, "starmap")  # as dask.bag.Bag has, and no data frame
    with ShardSink(dst, split, schema, **options) as sink:
        task = _dask.delayed(_write_partition)
        described = _dask.compute(*[task(sink, part, number, is_bag) for number, part in enumerate(parts)], **dict(compute_options or {}))
        return sink.commit(described, num_tasks=len(parts))


def _write_partition(sink: ShardSink, partition: Any, number: int, is_bag: bool) -> str:
    if is_bag:
        return sink.write(partition, number)
    return sink.write_tables([partition], number)


def read(path: str | os.PathLike[str] | Dataset, split: str = "train", *, npartitions: int = 16) -> Any:
    """A dask.bag.Bag of dicts like `ffkit.Dataset[i]`. A partition has consecutive records.

    Raises: ValueError: npartitions is below 1. ffkit.Error: as ffkit.Dataset."""
    import dask.bag

    if npartitions < 1:
        raise ValueError(f"npartitions is {npartitions}; expected 1 or more")
    dataset = path if isinstance(path, Dataset) else Dataset(os.fspath(path), split)
    return dask.bag.from_delayed([_dask.delayed(_read_part)(dataset, part) for part in parts_of(dataset, npartitions)])


def _read_part(dataset: Dataset, part: ReadPart) -> list[dict[str, Any]]:
    return [dataset[i] for i in range(part.begin, part.end)]
