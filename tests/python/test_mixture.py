"""Several data sets in one loader: chain(), mixture, batch.source and masks."""
import pickle

import numpy
import pytest

import ffkit
from conftest import by_topic


@pytest.fixture(scope="module")
def flat(tmp_path_factory):
    folder = tmp_path_factory.mktemp("flat") / "set"
    with ffkit.Writer(folder, split="train", schema={"number": "i64"}) as writer:
        for i in range(30):
            writer.write({"number": i})
    return ffkit.Dataset(folder, "train")


@pytest.fixture(scope="module")
def deep(tmp_path_factory):
    folder = tmp_path_factory.mktemp("deep") / "set"
    with ffkit.Writer(folder, split="train", schema={"depth": "f32", "number": "i64"}) as writer:
        for i in range(10):
            writer.write({"depth": 100.5 + i, "number": 100 + i})
    return ffkit.Dataset(folder, "train")


def make(ds, **options):
    options = {"image": None, "label_field": "number", "arrays": "numpy", "num_threads": 2, "seed": 3, "tail": "exact",
               "fields": {"depth": ffkit.ZerosWhereNull("depth", ffkit.CopyField("depth")), "depth_valid": ffkit.ValidField("depth")}} | options
    return ffkit.Loader(ds, 8, **by_topic(**options))


def test_chain(flat, deep):
    both = ffkit.Dataset.chain([flat, deep])
    assert len(both) == 40 and both.num_sources == 2 and list(both.schema) == ["number", "depth"]
    assert both[3] == {"number": 3, "depth": None} and both[30] == {"number": 100, "depth": 100.5}
    assert both.field(3, "depth") is None and both.field(31, "depth") == 101.5
    assert [both.source_of(i) for i in (0, 29, 30, -1)] == [0, 0, 1, 1]
    assert flat.num_sources == 1 and ffkit.Dataset.chain([flat]) is flat
    some = ffkit.Dataset.chain([flat[5:7], deep[:1]])
    for ds in (both, some, ffkit.Dataset.chain([some, flat])):
        again = pickle.loads(pickle.dumps(ds))
        assert again.fingerprint == ds.fingerprint and list(again) == list(ds)
    assert [record["number"] for record in some] == [5, 6, 100]


def test_what_cannot_be_chained(flat, tmp_path):
    with ffkit.Writer(tmp_path / "other", split="train", schema={"number": "f32"}) as writer:
        writer.write({"number": 0.5})
    with pytest.raises(ValueError, match="its field is 'number' scalar f32, but 'number' scalar i64 in"):
        ffkit.Dataset.chain([flat, ffkit.Dataset(tmp_path / "other", "train")])
    with pytest.raises(ValueError, match="at least one data set"):
        ffkit.Dataset.chain([])


def test_shares_and_masks(flat, deep):
    both = ffkit.Dataset.chain([flat, deep])
    for mixture, counts in (("equal", (30, 30)), ([1, 3], (10, 30)), (numpy.array([3.0, 1.0]), (30, 10)), (None, (30, 10))):
        loader = make(both, mixture=mixture)
        sources = []
        for batch in loader:
            assert batch.source.dtype == numpy.int32 and batch.source.shape == (batch.size,)
            assert batch.source.tolist() == [both.source_of(i) for i in batch.record_indices.tolist()]
            assert batch["depth_valid"].tolist() == batch.source.tolist()
            assert batch["depth"].tolist() == [n + 0.5 if n >= 100 else 0.0 for n in batch["number"].tolist()]
            assert batch.replaced(dict(batch)).source.tolist() == batch.source.tolist()
            sources += batch.source.tolist()
        assert (sources.count(0), sources.count(1)) == counts


def test_goes_on_and_refuses_other_weights(flat, deep):
    both = ffkit.Dataset.chain([flat, deep])
    loader = make(both, mixture=[1, 2])
    batches = iter(loader)
    for _ in range(2):
        next(batches)
    state = loader.state_dict()
    rest = [i for batch in batches for i in batch.record_indices.tolist()]
    again = make(both, mixture=[1, 2], num_threads=1)
    again.load_state_dict(state)
    assert [i for batch in again for i in batch.record_indices.tolist()] == rest and len(rest) == 24
    with pytest.raises(ValueError, match="was saved with the order 'mixture of 13/30"):
        make(both, mixture=[1, 3]).load_state_dict(state)


def test_bad_input(flat, deep):
    both = ffkit.Dataset.chain([flat, deep])
    for message, options in (
        ("mixture is 'even', expected 'equal' or a weight", {"mixture": "even"}),
        ("mixture is empty", {"mixture": []}),
        ("1 weights for 2 data sets", {"mixture": [1]}),
        ("weight of data set 1 is -1", {"mixture": [1, -1]}),
        ("a mixture works only with the order 'shuffle'", {"mixture": "equal", "order": "sequential"}),
    ):
        with pytest.raises(ValueError, match=message):
            make(both, **options)
    with pytest.raises(ffkit.FieldNotFoundError, match="depth"):
        make(flat)
    with pytest.raises(ffkit.FieldNotFoundError, match="field 'depth' is null"):
        next(iter(make(both, fields={"depth": ffkit.CopyField("depth")}, mixture="equal")))
