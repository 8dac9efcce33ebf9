"""What earlier versions have written (tests/golden) is read with the same results, under the names of today."""
import json
import pathlib
import shutil

import pytest

import ffkit
from conftest import by_topic

GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "golden"
WRITTEN = {version: json.loads((GOLDEN / version / "loaders.json").read_text()) for version in ("v0.2", "v1.0")}
versions = pytest.mark.parametrize("version", WRITTEN)


def epoch(loop):
    return [batch.record_indices.tolist() for batch in loop]


@versions
def test_a_data_set(version):
    ds = ffkit.Dataset(GOLDEN / version / "pictures", "train")
    assert ds.fingerprint == WRITTEN[version]["fingerprint"] and len(ds) == 24
    assert ds.conversion["order"] == "shuffle"  # "shuffled" in 0.2
    assert ds.classes == ["class0", "class1", "class2"] and ds.class_to_idx == {"class0": 0, "class1": 1, "class2": 2}
    assert ds.targets == [record["label"] for record in ds] and set(ds.targets) == {0, 1, 2}


@versions
@pytest.mark.parametrize("case", WRITTEN["v0.2"]["cases"])
def test_orders_and_states(case, version):
    then = WRITTEN[version]["cases"][case]
    ds = ffkit.Dataset(GOLDEN / version / "pictures", "train")

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


@versions
def test_a_data_set_goes_on(tmp_path, version):
    """Records can be added to it."""
    shutil.copytree(GOLDEN / version / "pictures", tmp_path / "set")
    ffkit.convert.copy(tmp_path / "set", tmp_path / "copy", progress=False)
    assert ffkit.Dataset(tmp_path / "copy", "train").fingerprint == WRITTEN[version]["fingerprint"]
