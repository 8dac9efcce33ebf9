"""ffkit.ray with Ray itself: values, and what is killed."""
import hashlib
import os
import pathlib
import random
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import ray

import driver
import ffkit
import ffkit.ray

NUM_KILLS = int(os.environ.get("FFKIT_RAY_KILLS", "8"))
DRIVER = pathlib.Path(__file__).with_name("driver.py")


@pytest.fixture(scope="module")
def cluster():
    driver.start_ray()
    yield
    ray.shutdown()


def start_driver(folder, fault="none"):
    return subprocess.Popen([sys.executable, DRIVER, folder, fault], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def run_driver(folder, fault="none"):
    process = start_driver(folder, fault)
    out, err = process.communicate(timeout=600)
    return process.returncode, fingerprint_in(out), err


def fingerprint_in(out):
    words = [line.split()[1] for line in out.splitlines() if line.startswith("fingerprint")]
    return words[0] if words else None


def expect_whole(folder):
    ds = ffkit.Dataset(folder, "train")
    assert ds.column("number").tolist() == list(range(driver.NUM_TASKS * driver.ROWS))
    for task in (0, driver.NUM_TASKS - 1):
        assert ds[task * driver.ROWS + 5]["content"] == driver.rows(task)[5]["content"]
    assert ffkit.convert.find_leftovers(folder).found == ()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed") / "set"
    code, fingerprint, err = run_driver(folder)
    assert code == 0, err
    expect_whole(folder)
    return fingerprint


def test_values_there_and_back(cluster, tmp_path, data):
    pictures = ffkit.Dataset(data, "train")
    rows = [
        {"image": bytes(pictures[i]["image"]), "label": i, "ratio": i / 7, "name": f"picture {i}", "flag": i % 2 == 0, "box": np.arange(4, dtype=np.float32) + i,
         "grid": np.full((2, 3), i, np.int16), "ragged": np.arange(i % 5, dtype=np.int64), "maybe": None if i % 3 else f"m{i}"}
        for i in range(60)
    ]  # fmt: skip
    sink = ffkit.ray.Datasink(tmp_path / "set", classes=["a", "b"], shard_size="1M")
    ray.data.from_items(rows, override_num_blocks=5).write_datasink(sink)
    assert sink.summary.num_records == 60
    ds = ffkit.Dataset(tmp_path / "set", "train")
    assert {name: (field.type, field.dtype) for name, field in ds.schema.items()} == {
        "image": ("image", None), "label": ("scalar", "i64"), "ratio": ("scalar", "f64"), "name": ("string", None), "flag": ("scalar", "u8"),
        "box": ("tensor", "f32"), "grid": ("tensor", "i16"), "ragged": ("tensor", "i64"), "maybe": ("string", None),
    }  # fmt: skip
    for i, row in enumerate(rows):
        stored = ds[i]
        for name, value in row.items():
            assert np.array_equal(stored[name], value), (i, name)
    back = ffkit.ray.read(tmp_path / "set").take_all()
    assert len(back) == 60
    for row, stored in zip(rows, back):
        for name, value in row.items():
            assert np.array_equal(stored[name], value), name
    some = ffkit.ray.read(ds.where("label >= 50"), fields=["label", "name"]).take_all()
    assert [set(row) for row in some] == [{"label", "name"}] * 10 and some[0]["label"] == 50
    with pytest.raises(ffkit.FieldNotFoundError):
        ffkit.ray.read(ds, fields=["nothing"]).take_all()


def test_pandas_blocks_and_an_embedding_that_is_written_back(cluster, tmp_path):
    table = ray.data.range(100, override_num_blocks=4).map_batches(lambda frame: frame.assign(text="t" + frame["id"].astype(str)), batch_format="pandas")
    table.write_datasink(ffkit.ray.Datasink(tmp_path / "set", schema={"id": "i64", "text": "string"}))
    doubled = ffkit.ray.read(tmp_path / "set").map(lambda row: {**row, "embedding": np.full(8, row["id"], np.float32)})
    doubled.write_datasink(ffkit.ray.Datasink(tmp_path / "embedded", min_rows=50))
    ds = ffkit.Dataset(tmp_path / "embedded", "train")
    assert len(ds) == 100 and ds[17]["embedding"].tolist() == [17.0] * 8 and ds[17]["text"] == "t17"


def test_a_sort_by_a_key_gives_the_same_bytes_whatever_the_blocks(cluster, tmp_path):
    def with_key(row):
        return {**row, "key": int.from_bytes(hashlib.blake2b(f"7:{row['id']}".encode(), digest_size=7).digest(), "big")}

    fingerprints = set()
    for blocks in (3, 8):
        sink = ffkit.ray.Datasink(tmp_path / f"of-{blocks}")
        ray.data.range(500, override_num_blocks=blocks).map(with_key).sort("key").drop_columns(["key"]).repartition(4).write_datasink(sink)
        fingerprints.add(sink.summary.fingerprint)
        order = ffkit.Dataset(tmp_path / f"of-{blocks}", "train").column("id").tolist()
        assert sorted(order) == list(range(500)) and order != list(range(500))
    assert len(fingerprints) == 1


def test_a_row_that_does_not_fit_leaves_nothing(cluster, tmp_path):
    data = ray.data.range(100, override_num_blocks=4).map(lambda row: {"x": "text" if row["id"] == 70 else str(row["id"]), "y": None if row["id"] == 70 else 1})
    with pytest.raises(Exception, match="is a number of type i64"):
        data.write_datasink(ffkit.ray.Datasink(tmp_path / "set", schema={"x": "i64", "y": "i64"}))
    assert not (tmp_path / "set").exists()


def workers_of(session):
    """Ray's worker processes of the driver."""
    found = []
    for folder in pathlib.Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                words = (folder / "cmdline").read_bytes()
                if words.startswith(b"ray::") and b"Agent" not in words and int(os.getsid(int(folder.name))) == session:
                    found.append(int(folder.name))
            except (OSError, ProcessLookupError):
                continue
    return found


def test_workers_killed_at_random(tmp_path, undisturbed):
    process = subprocess.Popen([sys.executable, DRIVER, tmp_path / "set", "kills"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True)
    chosen = random.Random(1)
    killed = 0
    while process.poll() is None and killed < NUM_KILLS:
        time.sleep(0.2)
        if not (tmp_path / "set/train/.ffkit-unfinished").exists():
            continue  # Ray itself starts
        if workers := workers_of(process.pid):
            try:
                os.kill(chosen.choice(workers), signal.SIGKILL)
                killed += 1
            except ProcessLookupError:
                continue
    out, _ = process.communicate(timeout=600)
    assert (process.returncode, fingerprint_in(out)) == (0, undisturbed)
    expect_whole(tmp_path / "set")
    assert killed == NUM_KILLS


@pytest.mark.parametrize("fault", ["before", "full"])
def test_a_driver_or_a_disk_that_fails_before_the_commit(tmp_path, undisturbed, fault):
    code, fingerprint, err = run_driver(tmp_path / "set", fault)
    assert code != 0 and fingerprint is None, err
    with pytest.raises(ffkit.Error):
        ffkit.Dataset(tmp_path / "set", "train")
    if fault == "full":
        assert "File too large" in err and not (tmp_path / "set").exists()
    code, fingerprint, err = run_driver(tmp_path / "set")
    assert (code, fingerprint) == (0, undisturbed), err
    expect_whole(tmp_path / "set")


def test_a_driver_that_is_killed_after_the_commit(tmp_path, undisturbed):
    code, _, _ = run_driver(tmp_path / "set", "after")
    assert code == -signal.SIGKILL
    expect_whole(tmp_path / "set")
    assert ffkit.Dataset(tmp_path / "set", "train").fingerprint == undisturbed
    code, _, err = run_driver(tmp_path / "set")
    assert code != 0 and "already contains a split" in err
    expect_whole(tmp_path / "set")


def test_two_drivers_at_one_destination(tmp_path, undisturbed):
    both = [start_driver(tmp_path / "set", "slow") for _ in range(2)]
    ends = [None, None]

    def wait(i):
        ends[i] = both[i].communicate(timeout=600)

    threads = [threading.Thread(target=wait, args=(i,)) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(process.returncode for process in both) == [0, 1]
    loser = ends[0 if both[0].returncode else 1][1]
    assert "is writing to this folder" in loser or "already contains a split" in loser
    expect_whole(tmp_path / "set")
    assert ffkit.Dataset(tmp_path / "set", "train").fingerprint == undisturbed
