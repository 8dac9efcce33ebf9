"""ffkit.spark with Spark itself, on this machine alone: `local` runs tasks again, and never two attempts at once, which a test plays.

With PySpark 3.5 in the Python of the tests, all that is not the data source of Spark 4.
"""
import concurrent.futures
import os
import pathlib
import sys

import pytest

pyspark = pytest.importorskip("pyspark", reason="PySpark is not installed (tools/setup --spark)")
os.environ["PYSPARK_PYTHON"] = sys.executable
os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
from pyspark.sql import SparkSession  # noqa: E402

import ffkit  # noqa: E402
import ffkit.spark  # noqa: E402

ROWS = [(i, f"name {i}", bytes([i % 256]) * 2000, [float(i), 2.0]) for i in range(1000)]
HAS_FORMAT = int(pyspark.__version__.split(".")[0]) >= 4
SCHEMA = '{"x": "i64", "name": "string", "b": "bytes", "v": "tensor[f32]"}'


@pytest.fixture(scope="module")
def spark():
    builder = SparkSession.builder.master("local[2,4]").config("spark.ui.enabled", "false").config("spark.driver.bindAddress", "127.0.0.1")
    session = builder.config("spark.sql.execution.arrow.maxRecordsPerBatch", "100").config("spark.sql.adaptive.enabled", "false").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    if HAS_FORMAT:
        session.dataSource.register(ffkit.spark.DataSource)
    yield session
    session.stop()


@pytest.fixture(scope="module")
def df(spark):
    return spark.createDataFrame(ROWS, "x long, name string, b binary, v array<float>").repartitionByRange(5, "x").sortWithinPartitions("x").cache()


def expect_whole(folder):
    ds = ffkit.Dataset(folder, "train")
    assert ds.column("x").tolist() == list(range(1000))
    assert ds[7]["b"] == ROWS[7][2] and ds[7]["name"] == ROWS[7][1] and ds[7]["v"].tolist() == ROWS[7][3]
    assert ffkit.convert.find_leftovers(folder).found == ()
    return ds.fingerprint


def test_there_and_back(spark, df, tmp_path):
    summary = ffkit.spark.write(df, tmp_path / "function", shard_size="1M")
    assert summary.num_records == 1000 and expect_whole(tmp_path / "function") == summary.fingerprint
    if not HAS_FORMAT:
        return
    df.write.format("ffkit").mode("append").option("schema", SCHEMA).option("shard_size", "1M").save(str(tmp_path / "format"))
    assert expect_whole(tmp_path / "format") == summary.fingerprint
    back = spark.read.format("ffkit").load(str(tmp_path / "format"))
    assert [tuple(row) for row in back.sort("x").collect()] == [(x, name, bytearray(b), v) for x, name, b, v in ROWS]
    some = spark.read.format("ffkit").option("fields", "x, name").load(str(tmp_path / "format"))
    assert some.columns == ["x", "name"] and some.count() == 1000


def die_once(folder):
    """The first attempt of each second partition ends its Python."""

    def pass_on(batches):
        number = pyspark.TaskContext.get().partitionId()
        for count, batch in enumerate(batches):
            if number % 2 and count == 1:
                try:
                    os.close(os.open(folder / f"died-{number}", os.O_CREAT | os.O_EXCL))
                    os._exit(9)
                except FileExistsError:
                    pass
            yield batch

    return pass_on


def test_tasks_that_die_run_again(df, tmp_path):
    dying = df.mapInArrow(die_once(tmp_path), df.schema)
    undisturbed = ffkit.spark.write(df, tmp_path / "undisturbed", shard_size="1M").fingerprint
    assert ffkit.spark.write(dying, tmp_path / "function", shard_size="1M").fingerprint == undisturbed
    assert len(list(tmp_path.glob("died-*"))) == 2
    if not HAS_FORMAT:
        return
    for file in tmp_path.glob("died-*"):
        file.unlink()
    dying.write.format("ffkit").mode("append").option("schema", SCHEMA).option("shard_size", "1M").save(str(tmp_path / "set"))
    assert expect_whole(tmp_path / "set") == undisturbed


def test_a_failed_stage_leaves_nothing_and_the_next_run_is_whole(df, tmp_path):
    def fail(batches):
        for batch in batches:
            if batch.column("x")[0].as_py() >= 500:
                raise RuntimeError("bad partition")
            yield batch

    failing = df.mapInArrow(fail, df.schema)
    with pytest.raises(Exception, match="bad partition"):
        ffkit.spark.write(failing, tmp_path / "set")
    assert not [path for path in (tmp_path / "set").rglob("*") if path.is_file()]
    if not HAS_FORMAT:
        ffkit.spark.write(df, tmp_path / "set")
        expect_whole(tmp_path / "set")
        return
    with pytest.raises(Exception, match="bad partition"):
        failing.write.format("ffkit").mode("append").save(str(tmp_path / "set"))
    assert not [path for path in (tmp_path / "set").rglob("*") if path.is_file()]
    df.write.format("ffkit").mode("append").save(str(tmp_path / "set"))
    expect_whole(tmp_path / "set")


def test_two_attempts_at_once_count_once(tmp_path):
    """As speculation makes them: Spark itself puts the second one on another machine."""
    sink = ffkit.convert.ShardSink(tmp_path / "set", schema={"x": "i64", "name": "string", "b": "bytes", "v": "tensor[f32]"}, shard_size="1M")
    sink.begin()
    sink.leave()
    table = {"x": [row[0] for row in ROWS], "name": [row[1] for row in ROWS], "b": [row[2] for row in ROWS], "v": [row[3] for row in ROWS]}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        described = list(pool.map(lambda _: sink.write_tables([table], 0), range(2)))
    sink.commit(described[1:])  # Spark tells of one
    expect_whole(tmp_path / "set")


@pytest.mark.skipif(HAS_FORMAT, reason="Spark 4 has it")
def test_spark_3_has_no_data_source():
    with pytest.raises(AttributeError, match=r"PySpark 3.* has no data sources in Python, .* use ffkit.spark.write"):
        ffkit.spark.DataSource
    assert not hasattr(ffkit.spark, "nonsense")


@pytest.mark.skipif(not HAS_FORMAT, reason="the data source is Spark 4's")
def test_what_is_refused(spark, df, tmp_path):
    folder = str(tmp_path / "set")
    df.write.format("ffkit").mode("append").save(folder)
    for options, mode, words in (({}, "append", "already contains a split"), ({}, "overwrite", "overwrites nothing"), ({"nonsense": "1"}, "append", "there is no option nonsense"),
                                 ({"zstd": "much"}, "append", "which is not valid JSON"), ({"fix_odd": "1"}, "append", "expected true or false")):  # fmt: skip
        with pytest.raises(Exception, match=words):
            df.write.format("ffkit").mode(mode).options(**options).save(folder)
    with pytest.raises(Exception, match="there is no option"):
        spark.read.format("ffkit").option("nonsense", "1").load(folder).count()
    assert pathlib.Path(folder).exists() and expect_whole(folder)
