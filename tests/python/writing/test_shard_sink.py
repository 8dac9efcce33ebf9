"""ffkit.convert.ShardSink: tasks in processes of their own, tables, and what goes wrong."""
import concurrent.futures
import multiprocessing
import os
import pickle
import signal

import numpy as np
import pytest

import ffkit
import ffkit.convert

SCHEMA = {"number": "i64", "content": "bytes"}
NUM_TASKS = 8
SAMPLES = 60


def samples(task):
    return [{"number": task * SAMPLES + i, "content": bytes([task, i]) * 5000} for i in range(SAMPLES)]


def run(sink, task):
    return sink.write(samples(task), task)


def run_and_die(sink, task):
    def until_killed():
        for i, sample in enumerate(samples(task)):
            if i == 40:
                os.kill(os.getpid(), signal.SIGKILL)
            yield sample

    sink.write(until_killed(), task)


def make_sink(folder, **options):
    return ffkit.convert.ShardSink(folder, schema=SCHEMA, shard_size="1M", **options)


def numbers(folder):
    return ffkit.Dataset(folder, "train").column("number").tolist()


def test_tasks_of_many_processes_some_of_them_killed(tmp_path):
    fingerprints = set()
    for name, num_killed in (("quiet", 0), ("killed", 6)):
        sink = make_sink(tmp_path / name, classes=["a", "b"])
        sink.begin()
        context = multiprocessing.get_context("spawn")
        for task in range(num_killed):
            process = context.Process(target=run_and_die, args=(sink, task))
            process.start()
            process.join()
            assert process.exitcode == -signal.SIGKILL
        with pytest.raises(ffkit.Error, match="has not finished"):
            ffkit.Dataset(tmp_path / name, "train")
        with concurrent.futures.ProcessPoolExecutor(2, context) as pool:
            described = list(pool.map(run, [sink] * NUM_TASKS, reversed(range(NUM_TASKS))))
        summary = sink.commit(described, num_tasks=NUM_TASKS)
        assert sink.summary == summary and summary.num_records == NUM_TASKS * SAMPLES
        assert numbers(tmp_path / name) == list(range(NUM_TASKS * SAMPLES))
        assert ffkit.Dataset(tmp_path / name, "train").classes == ["a", "b"]
        assert ffkit.convert.find_leftovers(tmp_path / name).found == ()
        fingerprints.add(summary.fingerprint)
    assert len(fingerprints) == 1


def test_another_process_commits_or_aborts(tmp_path):
    sink = make_sink(tmp_path / "set")
    sink.begin()
    described = [run(sink, 0)]
    sink.leave()
    there = pickle.loads(pickle.dumps(sink))
    assert there.job == sink.job
    summary = there.commit(described)
    assert pickle.loads(pickle.dumps(sink)).commit(described) == summary  # told twice

    sink = make_sink(tmp_path / "other")
    sink.begin()
    run(sink, 0)
    sink.leave()
    pickle.loads(pickle.dumps(sink)).abort()
    assert not [path for path in (tmp_path / "other").rglob("*") if path.is_file()]
    make_sink(tmp_path / "other").begin()


def test_a_failure_leaves_nothing(tmp_path):
    def broken():
        yield from samples(0)
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        with make_sink(tmp_path / "set") as sink:
            run(sink, 1)
            sink.write(broken(), 0)
    assert not (tmp_path / "set").exists()
    with make_sink(tmp_path / "set") as sink:
        with pytest.raises(ffkit.Error, match="description of task 1 of 2 was not given"):
            sink.commit([run(sink, 0)], num_tasks=2)
        assert sink.commit([run(sink, 0)], num_tasks=1).num_records == SAMPLES


def test_a_job_that_is_over(tmp_path):
    first = make_sink(tmp_path / "set")
    first.begin()
    old = pickle.loads(pickle.dumps(first))
    first.abort()
    with pytest.raises(ffkit.Error, match=f"the job {first.job} no longer writes this split"):
        run(old, 0)
    old.abort()  # nothing is there
    first.begin()  # again, as another job
    assert first.job != old.job
    with pytest.raises(ffkit.Error, match="no longer writes this split"):
        run(old, 0)
    old.abort()  # and not another's
    assert first.commit([run(first, 0)]).num_records == SAMPLES
    with pytest.raises(ffkit.Error, match="already contains a split"):
        make_sink(tmp_path / "set").begin()
    with pytest.raises(ValueError, match="the job has started already"):
        with make_sink(tmp_path / "twice") as sink:
            sink.begin()


def test_tables_of_arrays(tmp_path):
    table = {"x": np.arange(5), "t": np.arange(10, dtype=np.float32).reshape(5, 2), "name": ["a", None, "c", "", "e"], "image": [None] * 5}
    with ffkit.convert.ShardSink(tmp_path / "set", schema={"x": "i64", "t": "tensor[f32]", "name": "string", "image": "image"}) as sink:
        sink.commit([sink.write_tables([table, table], 0)])
    ds = ffkit.Dataset(tmp_path / "set", "train")
    assert len(ds) == 10
    assert [ds[i]["name"] for i in range(5)] == table["name"]
    assert ds[7]["t"].tolist() == [4.0, 5.0] and ds[7]["x"] == 2 and ds[7]["image"] is None
    with ffkit.convert.ShardSink(tmp_path / "other") as sink:
        with pytest.raises(ValueError, match="different lengths"):
            sink.write_tables([{"x": [1, 2], "y": [1]}], 0)
        with pytest.raises(TypeError, match="a table is"):
            sink.write_tables([7], 0)
        sink.abort()


def test_options_are_checked_on_the_driver(tmp_path):
    with pytest.raises(ValueError, match="jpeg_quality"):
        ffkit.convert.ShardSink(tmp_path, jpeg_quality=90)
    with pytest.raises(ValueError, match="nonsense"):
        ffkit.convert.ShardSink(tmp_path, schema={"x": "nonsense"})
