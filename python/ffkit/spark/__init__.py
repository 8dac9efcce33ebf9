"""Apache Spark: data sets written from data frames, and read into them.

Spark 4, as a data source:

    spark.dataSource.register(ffkit.spark.DataSource)
    options = {"split": "train", "schema": '{"image": "image", "label": "i64"}'}
    df.write.format("ffkit").mode("append").options(**options).save("s3://bucket/set")
    df = spark.read.format("ffkit").option("split", "train").load("s3://bucket/set")

Spark 3.5 and 4, as a function:

    schema = {"image": "image", "label": "i64"}
    summary = ffkit.spark.write(df, "s3://bucket/set", split="train", schema=schema)"""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

try:
    import pyspark as _pyspark
except ImportError as error:
    raise ImportError("ffkit.spark needs PySpark, which is not installed: pip install pyspark") from error

from .._convert_options import PictureOptions
from .._dataset import Dataset
from .._engines.dataset_tables import ReadPart, arrow_schema, parts_of, tables_of
from .._engines.shard_sink import ShardSink
from .._samples import FieldSpec
from .._summary import SplitSummary

__all__ = ["DataSource", "write"]


def write(
    df: Any, dst: str | os.PathLike[str], split: str = "train", schema: Mapping[str, FieldSpec] | None = None, **options: Any
) -> SplitSummary:
    """Writes the rows of a DataFrame as one split and blocks until it is complete. Each partition
    is a task of ffkit.convert.ShardSink, so speculative and repeated attempts count once. Records
    are in the order of the partitions. If the write fails, nothing is left.

    Args:
        df: its columns become fields: numbers, texts, binary (pictures, bytes), arrays (tensors).
        dst, split, schema, options: as for ffkit.convert.ShardSink. All executors must see dst.

    Raises: ffkit.Error: as ShardSink. pyspark's errors, with the error of a task."""
    with ShardSink(dst, split, schema, **options) as sink:
        rows = df.mapInArrow(_PartitionWriter(sink), "description string").collect()
        return sink.commit([row[0] for row in rows])


class _PartitionWriter:
    """Runs in an executor's Python."""

    def __init__(self, sink: ShardSink) -> None:
        self._sink = sink

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow as pa

        yield pa.RecordBatch.from_pydict({"description": [self._sink.write_tables(batches, _partition())]})


def _partition() -> int:
    context = _pyspark.TaskContext.get()
    if context is None:
        raise RuntimeError("this is not a task of Spark")
    return int(context.partitionId())


if hasattr(_pyspark, "__version__") and int(_pyspark.__version__.split(".")[0]) >= 4:
    from pyspark.sql.datasource import DataSource as _DataSource
    from pyspark.sql.datasource import DataSourceArrowWriter as _Writer
    from pyspark.sql.datasource import DataSourceReader as _Reader
    from pyspark.sql.datasource import InputPartition as _InputPartition
    from pyspark.sql.datasource import WriterCommitMessage as _Message

    @dataclass
    class _Described(_Message):
        description: str

    @dataclass
    class _Part(_InputPartition):
        part: ReadPart

        def __init__(self, part: ReadPart) -> None:
            super().__init__(part.begin)
            self.part = part

    class DataSource(_DataSource):
        """The format "ffkit". Options for writing: split, schema (JSON, as for ffkit.Writer), and
        those of ffkit.convert.ShardSink as text: shard_size, zstd, pixels, classes (JSON), ...
        Options for reading: split, fields (names, separated by commas), batch_size, storage_options
        (JSON). Other options are an error."""

        @classmethod
        def name(cls) -> str:
            return "ffkit"

        def writer(self, schema: Any, overwrite: bool) -> Any:
            if overwrite:
                raise ValueError('ffkit overwrites nothing: remove the split, give another destination, and write with mode("append")')
            dst, options = _split_path(self.options)
            return _SinkWriter(ShardSink(dst, **_sink_options(options)))

        def schema(self) -> Any:
            from pyspark.sql.pandas.types import from_arrow_schema

            dataset, fields, _ = self._opened()
            return from_arrow_schema(arrow_schema(dataset, fields))

        def reader(self, schema: Any) -> Any:
            return _TableReader(schema, *self._opened())

        def _opened(self) -> tuple[Dataset, list[str] | None, int]:
            path, options = _split_path(self.options)
            split = options.pop("split", "train")
            fields = options.pop("fields", None)
            batch_size = int(options.pop("batch_size", "256"))
            storage_options = json.loads(options.pop("storage_options", "{}"))
            if options:
                raise ValueError(f"there is no option {', '.join(options)}; the options for reading are split, fields, batch_size and storage_options")
            names = None if fields is None else [name.strip() for name in fields.split(",")]
            return Dataset(path, split, storage_options=storage_options), names, batch_size

    class _SinkWriter(_Writer):
        def __init__(self, sink: ShardSink) -> None:
            self._sink = sink
            # Spark commits in another process than this one.
            sink.begin()
            sink.leave()

        def write(self, iterator: Iterator[Any]) -> Any:
            return _Described(self._sink.write_tables(iterator, _partition()))

        def commit(self, messages: list[Any]) -> None:
            self._sink.commit([message.description for message in messages if message is not None])

        def abort(self, messages: list[Any]) -> None:
            self._sink.abort()

    class _TableReader(_Reader):
        def __init__(self, schema: Any, dataset: Dataset, fields: list[str] | None, batch_size: int) -> None:
            self._schema = schema
            self._dataset = dataset
            self._fields = fields
            self._batch_size = batch_size

        def partitions(self) -> list[Any]:
            # About 64 MiB each.
            whole = sum(part.num_bytes for part in parts_of(self._dataset, 1))
            return [_Part(part) for part in parts_of(self._dataset, max(1, whole >> 26))]

        def read(self, partition: Any) -> Iterator[Any]:
            from pyspark.sql.pandas.types import to_arrow_schema

            part = partition.part
            target = to_arrow_schema(self._schema)
            for table in tables_of(self._dataset, self._fields, part.begin, part.end, self._batch_size):
                yield from table.cast(target).to_batches()


else:
    __all__.remove("DataSource")

    def __getattr__(name: str) -> Any:
        if name == "DataSource":
            raise AttributeError(f"PySpark {_pyspark.__version__} has no data sources in Python, which need Spark 4; use ffkit.spark.write(df, ...)")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _split_path(given: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """The path and the other options, whose names Spark may have made small letters of."""
    options = dict(given)
    path = options.pop("path", None)
    if not path:
        raise ValueError('no path is given; give it as in df.write.format("ffkit")....save("/fast/mine")')
    return path, options


def _sink_options(given: Mapping[str, str]) -> dict[str, Any]:
    """Spark's options are texts: those of ShardSink with their types."""
    texts = {"split", "pixels", "shard_size", "max_record", "store", "exif", "check_images"}
    known = {name for name in inspect.signature(ShardSink.__init__).parameters if name not in ("self", "dst", "pictures")} | set(PictureOptions.__annotations__)
    options: dict[str, Any] = {}
    for name, text in given.items():
        if name not in known:
            raise ValueError(f"there is no option {name}; the options for writing are {', '.join(sorted(known))}")
        if name in texts:
            options[name] = text
        elif name == "fix_odd":
            if text.lower() not in ("true", "false"):
                raise ValueError(f"fix_odd is '{text}'; expected true or false")
            options[name] = text.lower() == "true"
        else:
            try:
                options[name] = json.loads(text)
            except ValueError as error:
                raise ValueError(f"{name} is '{text}', which is not valid JSON: {error}") from None
    return options
