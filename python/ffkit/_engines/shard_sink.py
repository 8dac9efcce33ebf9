"""ffkit.convert.ShardSink: a split that the tasks of an engine write together."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, TypeAlias

from .. import _ffkit
from .._convert_options import PictureOptions, Pixels, Unpack
from .._errors import Error
from .._samples import FieldSpec, FieldType, LeftOut, infer_schema, parse_schema, prepare_sample
from .._stores import StorageOptions, placed
from .._summary import SplitSummary
from ..writer import writer_options
from .tables import Table, fields_of_table, is_arrow, modes_of_table, samples_of_table, straight_table


class ShardSink:
    """Writes one split from many tasks, on one or many machines. Each sample is written exactly
    once, even if an engine runs a task again because its machine died.

        schema = {"image": "image", "label": "i64"}
        sink = ffkit.convert.ShardSink("s3://bucket/set", split="train", schema=schema)
        sink.begin()                                                      # on the driver
        # in the tasks: a sink can be pickled
        descriptions = engine.map(lambda i: sink.write(samples_of(i), task=i), range(1000))
        summary = sink.commit(descriptions, num_tasks=1000)               # on the driver

    A task may run several times, also at the same time: each attempt writes shards with different
    names, which count only if commit() gets the result of its write(). Until then, readers refuse
    the split. The same samples in the same tasks give the same fingerprint, even if attempts were
    killed. Records are in the order of the task numbers. All machines must see the destination.

    ffkit.ray, ffkit.spark and ffkit.dask make these calls for their engines."""

    def __init__(
        self,
        dst: str | os.PathLike[str],
        split: str = "train",
        schema: Mapping[str, FieldSpec] | None = None,
        *,
        classes: Sequence[str] = (),
        class_names: Sequence[str] = (),
        source: Mapping[str, str] | None = None,
        pixels: Pixels = "png",
        num_threads: int = 1,
        shard_size: int | str = "256M",
        zstd: int = 0,
        max_record: int | str = "256M",
        seed: int = 0,
        storage_options: StorageOptions | None = None,
        **pictures: Unpack[PictureOptions],
    ) -> None:
        """Args: those of ffkit.Writer, except
            schema: None: each task takes it from its first sample; commit() needs equal ones.
            num_threads: encoding threads in each task; 0: one for each core that the task may use.

        Raises: ValueError: an option or the schema is invalid."""
        self._dst = os.fspath(placed(dst, storage_options))
        self._split = split
        self._fields = None if schema is None else parse_schema(schema)
        self._options = writer_options(
            pictures, pixels=pixels, num_threads=num_threads, shard_size=shard_size, zstd=zstd, max_record=max_record, seed=seed, classes=classes,
            class_names=class_names, source=source, options=None,
        )  # fmt: skip
        self._job = _ffkit.ShardSink.new_job()
        self._is_used = False
        self._driver: _ffkit.ShardSink | None = None
        self._summary: SplitSummary | None = None

    @property
    def job(self) -> str:
        """The name of the job: 16 hexadecimal digits."""
        return self._job

    def begin(self) -> None:
        """Claims the split, on the driver, before the first task. Removes files of a failed job.

        Raises:
            ffkit.Error: the split exists, another driver writes it, or there is no folder."""
        if self._driver is not None:
            raise ValueError("the job has started already")
        if self._is_used:
            self._job = _ffkit.ShardSink.new_job()
        self._is_used = True
        self._summary = None
        self._driver = self._open(is_new=True)

    def write(self, samples: Iterable[Mapping[str, object]], task: int) -> str:
        """Writes the samples of one task. Call it in the task. Blocks until they are durable.

        Args:
            samples: as for ffkit.Writer.write().
            task: the task's number, from 0; the same for each attempt.

        Returns: a text (JSON) for commit(), about 200 bytes per shard.

        Raises: as ffkit.Writer.write(); ffkit.Error if the job is over, and removes its files."""
        with _Attempt(self._fields, self._opener(task)) as attempt:
            for sample in samples:
                attempt.write(sample)
        return attempt.description or _ffkit.ShardTask.describe_empty(self._job, task)

    def write_tables(self, tables: Iterable[Table], task: int) -> str:
        """Like write(), for the rows of tables: pyarrow.Table or RecordBatch, pandas.DataFrame, or
        a dict of arrays. Without a schema, the types of the first table define it. A struct of
        bytes and path (Hugging Face's Image) is a picture. Rows of NumPy arrays and Arrow's tensors
        are tensors. If the types of Arrow columns match the fields, no Python objects are made."""
        with _Attempt(self._fields, self._opener(task)) as attempt:
            for table in tables:
                attempt.write_table(table)
        return attempt.description or _ffkit.ShardTask.describe_empty(self._job, task)

    def commit(self, descriptions: Iterable[str], num_tasks: int | None = None) -> SplitSummary:
        """Completes the split from the shards of the tasks and makes it readable. Call it on the
        driver. A second call with the same arguments returns the same.

        Args:
            descriptions: results of write(), in any order. Duplicates count once; of several
                attempts of a task, the first one counts.
            num_tasks: number of tasks that must be there; None: any.

        Raises:
            ffkit.Error: a task is missing or from another job, tasks have different fields, a shard
                is missing, or no sample was written."""
        if self._driver is None:
            self._driver = self._open(is_new=False)
        self._summary = SplitSummary(**self._driver.commit(list(descriptions), -1 if num_tasks is None else num_tasks))
        self._driver = None
        return self._summary

    def abort(self) -> None:
        """Removes all written files. Call it on the driver. Running tasks raise ffkit.Error at
        their next shard. Does nothing after commit()."""
        if self._driver is None and self._summary is None:
            try:
                self._driver = self._open(is_new=False)
            except Error:
                return  # another job's, or nothing is there
        if self._driver is not None:
            self._driver.abort()
        self._driver = None

    def leave(self) -> None:
        """Releases the claim, so that another process can commit() or abort() the job."""
        if self._driver is not None:
            self._driver.leave()
        self._driver = None

    @property
    def summary(self) -> SplitSummary:
        """Summary of the split; ValueError before commit()."""
        if self._summary is None:
            raise ValueError("the job has not been committed")
        return self._summary

    def __enter__(self) -> ShardSink:
        self.begin()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._driver is not None:
            self.abort()

    def __getstate__(self) -> dict[str, Any]:
        # A task has the job's name, and no claim.
        return {**self.__dict__, "_driver": None}

    def __repr__(self) -> str:
        return f"ffkit.convert.ShardSink({self._dst!r}, split={self._split!r}, job={self._job})"

    def _open(self, is_new: bool) -> _ffkit.ShardSink:
        return _ffkit.ShardSink(self._dst, self._split, self._job, is_new, self._options)

    def _opener(self, task: int) -> _Opener:
        return lambda fields: _ffkit.ShardTask(self._dst, self._split, self._job, task, [field.as_tuple() for field in fields], self._options)


_Opener: TypeAlias = Callable[[Sequence[FieldType]], _ffkit.ShardTask]


class _Attempt:
    """What one attempt of a task writes. Nothing of it stays after an exception."""

    def __init__(self, fields: list[FieldType] | None, opener: _Opener) -> None:
        self._fields = fields
        self._opener = opener
        self._writer: _ffkit.ShardTask | None = None
        self.description = ""
        self._left_out = LeftOut()

    def write(self, sample: Mapping[str, object]) -> None:
        fields = self._fields if self._fields is not None else infer_schema(sample)
        self._open(fields).write(prepare_sample(fields, sample, self._left_out))

    def write_table(self, table: Table) -> None:
        if is_arrow(table):
            if table.num_rows == 0:
                return  # nor does it tell the fields
            if self._writer is None and (others := {name: mode for name, mode in modes_of_table(table).items() if mode != "L"}):
                warnings.warn(f"pictures keep their bytes: Image(mode=) of Hugging Face is not applied: {others}", stacklevel=2)
            writer = self._open(self._fields if self._fields is not None else fields_of_table(table))
            if (straight := straight_table(table)) is not None and writer.write_table(*straight):
                return
        for sample in samples_of_table(table):
            self.write(sample)

    def _open(self, fields: list[FieldType]) -> _ffkit.ShardTask:
        """Of the first sample's fields."""
        self._fields = fields
        if self._writer is None:
            self._writer = self._opener(fields)
        return self._writer

    def __enter__(self) -> _Attempt:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._writer is None:
            return
        try:
            if kind is None:
                self.description = self._writer.finish()
                if self._left_out.num_items > 0:
                    warnings.warn(str(self._left_out), stacklevel=2)
        finally:
            if not self.description:
                self._writer.abort()
