"""What version 0.2 has written (tests/golden/v0.2) is read with the same results, under the names of today."""
import json
import pathlib
import shutil

import pytest

import ffkit
from conftest import by_topic

GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "golden/v0.2"
WRITTEN = json.loads((GOLDEN / "loaders.json").read_text())


def epoch(loop):
    return [batch.record_indices.tolist() for batch in loop]


def test_a_data_set():
    ds = ffkit.Dataset(GOLDEN / "pictures", "train")
    assert ds.fingerprint == WRITTEN["fingerprint"] and len(ds) == 24
    assert ds.conversion["order"] == "shuffle"  # "shuffled" then
    assert ds.classes == ["class0", "class1", "class2"] and ds.class_to_idx == {"class0": 0, "class1": 1, "class2": 2}
    assert ds.targets == [record["label"] for record in ds] and set(ds.targets) == {0, 1, 2}


@pytest.mark.parametrize("case", WRITTEN["cases"])
def test_orders_and_states(case):
    then = WRITTEN["cases"][case]
    ds = ffkit.Dataset(GOLDEN / "pictures", "train")

    def make():
        return ffkit.Loader(ds, 4, **by_topic(image=None, seed=7, num_threads=1, **then["options"]))

    loader = make()
    assert [epoch(loader) for _ in range(2)] == then["epochs"]
    resumed = make()
    resumed.load_state_dict(then["state"])
    assert epoch(resumed) == then["rest"]
    again = make()
    next(iter(again))
    assert again.state_dict() == then["state"]


def test_a_data_set_goes_on(tmp_path):
    """Records can be added to it."""
    shutil.copytree(GOLDEN / "pictures", tmp_path / "set")
    ffkit.convert.copy(tmp_path / "set", tmp_path / "copy", progress=False)
    assert ffkit.Dataset(tmp_path / "copy", "train").fingerprint == WRITTEN["fingerprint"]
