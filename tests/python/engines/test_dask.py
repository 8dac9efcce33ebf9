"""ffkit.dask with Dask itself."""
import os

import dask
import dask.bag
import numpy as np
import pandas as pd
import pytest

import ffkit
import ffkit.dask


def sample(i):
    return {"number": i, "content": bytes([i % 256]) * 1000}


def bag_of(count, parts):
    return dask.bag.from_sequence(range(count), npartitions=parts).map(sample)


@pytest.mark.parametrize("scheduler", ["sync", "threads", "processes"])
def test_bags(tmp_path, scheduler):
    summary = ffkit.dask.write(bag_of(500, 8), tmp_path / "set", compute_options={"scheduler": scheduler})
    assert summary.num_records == 500
    again = ffkit.dask.write(bag_of(500, 8), tmp_path / "again", compute_options={"scheduler": "sync"})
    assert again.fingerprint == summary.fingerprint
    read = ffkit.dask.read(tmp_path / "set", npartitions=3).compute(scheduler="sync")
    assert [row["number"] for row in read] == list(range(500)) and read[7]["content"] == sample(7)["content"]


class Frame:
    """What a Dask data frame is to ffkit: partitions of pandas."""

    def __init__(self, parts):
        self._parts = [dask.delayed(part) for part in parts]

    def to_delayed(self):
        return self._parts


def test_frames(tmp_path):
    parts = [pd.DataFrame({"a": np.arange(3) + i, "t": ["x", None, "z"], "f": [1.0, float("nan"), 2.0]}) for i in range(3)]
    ffkit.dask.write(Frame(parts), tmp_path / "set", schema={"a": "i64", "t": "string", "f": "f64"})
    ds = ffkit.Dataset(tmp_path / "set", "train")
    assert ds.column("a").tolist() == [0, 1, 2, 1, 2, 3, 2, 3, 4]
    assert ds[1]["t"] is None and np.isnan(ds[1]["f"])  # NaN of numbers stays, that of texts is null


def test_a_failure_leaves_nothing(tmp_path):
    def broken(i):
        if i == 77:
            raise RuntimeError("bad sample")
        return sample(i)

    with pytest.raises(RuntimeError, match="bad sample"):
        ffkit.dask.write(dask.bag.from_sequence(range(100), npartitions=4).map(broken), tmp_path / "set", compute_options={"scheduler": "threads"})
    assert not (tmp_path / "set").exists()
    with pytest.raises(TypeError, match="expected a Dask bag or data frame"):
        ffkit.dask.write([1, 2], tmp_path / "set")


def test_a_worker_that_dies_and_the_next_run(tmp_path):
    with pytest.raises(Exception):
        ffkit.dask.write(bag_of(100, 4).map(die_at_50), tmp_path / "set", compute_options={"scheduler": "processes"})
    assert not (tmp_path / "set").exists()
    assert ffkit.dask.write(bag_of(100, 4), tmp_path / "set").num_records == 100


def die_at_50(row):
    if row["number"] == 50:
        os._exit(9)
    return row
