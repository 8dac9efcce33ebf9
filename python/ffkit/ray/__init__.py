"""Ray Data: data sets written from it and read into it.

    ds = ray.data.read_parquet("s3://bucket/images/")
    sink = ffkit.ray.Datasink("s3://bucket/set", schema={"image": "image", "label": "i64"})
    ds.write_datasink(sink)
    print(sink.summary.num_records)

    ds = ffkit.ray.read("s3://bucket/set", "train")"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

try:
    import ray.data as _ray_data
    from ray.data.block import BlockAccessor as _BlockAccessor
    from ray.data.block import BlockMetadata as _BlockMetadata
except ImportError as error:
    raise ImportError("ffkit.ray needs Ray Data, which is not installed: pip install 'ray[data]'") from error

from .._dataset import Dataset
from .._engines.dataset_tables import ReadPart, parts_of, tables_of
from .._engines.shard_sink import ShardSink
from .._samples import FieldSpec
from .._summary import SplitSummary

__all__ = ["Datasink", "read"]


class Datasink(_ray_data.Datasink[str]):
    """Writes one split, exactly once: `ds.write_datasink(ffkit.ray.Datasink("/fast/mine",
    schema={"image": "image", "label": "i64"}))`.

    A write task of Ray is a task of ffkit.convert.ShardSink, so files of a killed worker do not
    count. If the write fails, nothing is left. Ray numbers tasks in the order in which their blocks
    arrive. To get records in the order of the data set, and the same fingerprint each time, set
    `ray.data.DataContext.get_current().execution_options.preserve_order = True`. Each task writes
    its own shards, so blocks of some MB make small shards. `ds.repartition(n)` before the write, or
    `min_rows`, makes larger ones."""

    def __init__(
        self,
        dst: str | os.PathLike[str],
        split: str = "train",
        schema: Mapping[str, FieldSpec] | None = None,
        *,
        min_rows: int | None = None,
        **options: Any,
    ) -> None:
        """Args:
            dst, split, schema, options: as for ffkit.convert.ShardSink. All nodes must see dst.
            min_rows: smallest number of rows of a task; None: Ray chooses.

        Raises: ValueError: an option or the schema is invalid."""
        if min_rows is not None and min_rows < 1:
            raise ValueError(f"min_rows is {min_rows}; expected 1 or more")
        self._sink = ShardSink(dst, split, schema, **options)
        self._min_rows = min_rows

    @property
    def summary(self) -> SplitSummary:
        """Summary of the split; ValueError before the write has ended."""
        return self._sink.summary

    def on_write_start(self, schema: Any = None) -> None:
        self._sink.begin()

    def write(self, blocks: Iterable[Any], ctx: Any) -> str:
        return self._sink.write_tables((_BlockAccessor.for_block(block).to_block() for block in blocks), task=ctx.task_idx)

    def on_write_complete(self, write_result: Any) -> None:
        self._sink.commit(write_result.write_returns)

    def on_write_failed(self, error: Exception) -> None:
        self._sink.abort()

    def get_name(self) -> str:
        return "ffkit"

    @property
    def min_rows_per_write(self) -> int | None:
        return self._min_rows


def _tensors(arrays: Sequence[Any]) -> Any:
    """A column of Ray's tensors."""
    column = np.empty(len(arrays), object)
    column[:] = arrays
    if len({None if array is None else array.shape for array in arrays}) == 1 and arrays[0] is not None:
        column = np.stack(arrays)
    return _BlockAccessor.batch_to_arrow_block({"tensors": column}).column("tensors")


class _Datasource(_ray_data.Datasource):
    def __init__(self, dataset: Dataset, fields: Sequence[str] | None, batch_size: int) -> None:
        super().__init__()
        self._dataset = dataset
        self._fields = fields
        self._batch_size = batch_size
        self._num_bytes = sum(part.num_bytes for part in parts_of(dataset, 1))

    def estimate_inmemory_data_size(self) -> int | None:
        return self._num_bytes

    def get_name(self) -> str:
        return "ffkit"

    def get_read_tasks(self, parallelism: int, *args: Any, **options: Any) -> list[Any]:
        return [self._task(part) for part in parts_of(self._dataset, parallelism)]

    def _task(self, part: ReadPart) -> Any:
        read_part = functools.partial(tables_of, self._dataset, self._fields, part.begin, part.end, self._batch_size, _tensors)
        metadata = _BlockMetadata(num_rows=part.end - part.begin, size_bytes=part.num_bytes, exec_stats=None, task_exec_stats=None, input_files=None)
        return _ray_data.ReadTask(read_part, metadata)


def read(
    path: str | os.PathLike[str] | Dataset, split: str = "train", *, fields: Sequence[str] | None = None, batch_size: int = 256, **options: Any
) -> _ray_data.Dataset:
    """A data set as a ray.data.Dataset, read by tasks of consecutive records.

    Args:
        path: path of the data set; or an ffkit.Dataset, also a filtered one or a subset.
        split: name of the split, for a path.
        fields: the columns; None: all fields. Pictures are stored bytes; tensors are Ray's.
        batch_size: records of a block.
        options: of ray.data.read_datasource: override_num_blocks, concurrency, ray_remote_args.

    Raises: ffkit.Error: as ffkit.Dataset."""
    dataset = path if isinstance(path, Dataset) else Dataset(os.fspath(path), split)
    return _ray_data.read_datasource(_Datasource(dataset, fields, batch_size), **options)
