"""Data sets of grain."""
import grain
import numpy
import pytest

import ffkit
import ffkit.convert


def element(number):
    return {"values": numpy.arange(number % 5, dtype=numpy.float32), "label": numpy.int64(number)}


def labels_of(folder):
    return [int(record["label"]) for record in ffkit.Dataset(folder, split="train")]


def test_a_map_dataset_is_written_without_what_its_filter_leaves_out(tmp_path):
    dataset = grain.MapDataset.source(range(1000)).filter(lambda number: number % 3 == 0).map(element)
    with pytest.warns(UserWarning, match="666 of 1000 elements were left out by the data set's filters"):
        summary = ffkit.convert.from_grain(dataset, tmp_path / "set", progress=False)
    assert summary.num_records == 334
    assert labels_of(tmp_path / "set") == list(range(0, 1000, 3))
    for record in ffkit.Dataset(tmp_path / "set", split="train"):
        assert numpy.array_equal(record["values"], element(int(record["label"]))["values"])


def test_a_shuffled_iter_dataset_is_written_as_it_comes(tmp_path):
    dataset = grain.MapDataset.source(range(200)).shuffle(seed=3).map(element).to_iter_dataset()
    ffkit.convert.from_grain(dataset, tmp_path / "set", progress=False)
    assert labels_of(tmp_path / "set") == [int(one["label"]) for one in dataset]


def test_a_data_set_without_an_end_is_refused(tmp_path):
    with pytest.raises(ValueError, match="repeats endlessly"):
        ffkit.convert.from_grain(grain.MapDataset.source(range(10)).map(element).repeat(), tmp_path / "set")
    assert not (tmp_path / "set").exists()
