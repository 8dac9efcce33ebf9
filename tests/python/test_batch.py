"""ffkit.Batch: a dict that frameworks may rebuild, and what keeps its memory."""
import copy
import pickle

import numpy
import pytest

import ffkit
from conftest import by_topic

FACTS = ("size", "epoch", "step", "record_indices", "source", "mix_lambda", "replacements")


def make(ds, size=48, **options):
    return ffkit.Loader(ds, **by_topic(**{"batch_size": 4, "image": ffkit.RandomResizedCrop(size, flip_probability=0.5), "num_threads": 2} | options))


def same(one, other):
    return list(one.keys()) == list(other.keys()) and all(numpy.array_equal(one[name], other[name]) for name in one.keys())


@pytest.mark.parametrize("rebuild", [dict, lambda batch: list(batch.items()), lambda batch: ((name, batch[name]) for name in batch.keys())])
def test_frameworks_rebuild_a_batch(ds, rebuild):
    batch = next(iter(make(ds, fields={"id": ffkit.TextField("id")})))
    rebuilt = type(batch)(rebuild(batch))
    assert type(rebuilt) is ffkit.Batch and same(batch, rebuilt)
    # What it would have to guess is absent.
    for name in FACTS:
        assert hasattr(batch, name) and not hasattr(rebuilt, name)
    with pytest.raises(AttributeError, match="made from arrays alone.*has no 'epoch'"):
        rebuilt.epoch
    with pytest.raises(AttributeError, match="made from arrays alone"):
        rebuilt.row_offsets("id")
    with pytest.raises(AttributeError, match="'Batch' has no attribute 'images'"):
        batch.images
    assert repr(rebuilt) == "<ffkit.Batch: image [4, 3, 48, 48], label [4], id [4]>"
    assert same(ffkit.Batch(image=1, label=2), {"image": 1, "label": 2}) and ffkit.Batch() == {}


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda batch: batch.copy(), lambda batch: pickle.loads(pickle.dumps(batch))])
def test_copies_know_what_the_batch_knows(ds, again):
    loader = make(ds, fields={"id": ffkit.TextField("id")})
    loader.set_epoch(3, restart=True)
    for batch in loader:
        if batch.step == 2:
            break
    copied = again(batch)
    assert type(copied) is ffkit.Batch and same(batch, copied)
    assert (copied.epoch, copied.step, copied.size, copied.mix_lambda, copied.replacements) == (3, 2, 4, 1, [])
    assert (copied.record_indices == batch.record_indices).all() and (copied.source == batch.source).all()
    assert (copied.row_offsets("id") == batch.row_offsets("id")).all()
    rebuilt = ffkit.Batch(batch)
    assert not hasattr(again(rebuilt), "epoch")


def test_changes_of_a_copy_are_its_own(ds):
    batch = next(iter(make(ds)))
    copied = batch.copy()
    del copied["label"]
    assert list(batch.keys()) == ["image", "label"] and list(copied.keys()) == ["image"] and copied.step == 0


def test_small_arrays_hold_no_memory(ds):
    labels, indices, offsets, texts = [], [], [], []
    loader = make(ds, fields={"id": ffkit.TextField("id")}, tail="exact")
    for batch in loader:
        assert loader._loader.num_held() == 1  # its pictures
        labels.append(batch["label"])
        indices.append(batch.record_indices)
        offsets.append(batch.row_offsets("id"))
        texts += batch["id"]
    column = ds.column("label")
    for label, index in zip(labels, indices, strict=True):
        assert (label == column[index]).all()
    assert sorted(numpy.concatenate(indices)) == list(range(60)) and sorted(texts) == sorted(ds.column("id"))
    assert all(len(offset) == 5 for offset in offsets)


def test_batches_of_small_arrays_may_all_be_kept(ds):
    loader = make(ds, size=16)  # 12 kB
    batches = list(loader)
    assert len(batches) == 15 and loader._loader.num_held() == 0
    again = make(ds, size=16, copy=True)
    assert all(same(one, other) and one.step == other.step for one, other in zip(batches, again, strict=True))


@pytest.mark.parametrize("num_bytes, num_held", [(65535, 0), (65536, 1)])
def test_arrays_of_64_kib_and_more_are_views(ds, num_bytes, num_held):
    field = ffkit.PythonField(lambda values, key: numpy.zeros(num_bytes, "u1"), "u8", [num_bytes], [])
    loader = ffkit.Loader(ds, 1, image=None, fields={"x": field}, num_threads=1)
    batch = next(iter(loader))
    assert batch["x"].shape == (1, num_bytes) and loader._loader.num_held() == num_held
    batch["x"][:] = 7
    del batch
    assert loader._loader.num_held() == 0


def test_a_batch_that_is_kept_without_its_pictures_holds_none(ds):
    kept = []
    loader = make(ds)
    for batch in loader:
        del batch["image"]
        kept.append(batch)
    assert [batch.step for batch in kept] == list(range(15)) and loader._loader.num_held() == 0


def test_the_message_says_what_may_hold_batches(ds):
    with pytest.raises(ffkit.InvalidArgumentError, match="a list, a queue, a loss .*, or a notebook's Out; drop them") as error:
        list(make(ds))
    assert "fit()" not in str(error.value) and "--" not in str(error.value)


def test_texts_that_may_be_null_are_lists_too(ds):
    plain, null = {"id": ffkit.TextField("id")}, {"id": ffkit.ZerosWhereNull("id", ffkit.TextField("id"))}
    for batch, expected in zip(make(ds, fields=null), make(ds, fields=plain), strict=True):
        assert batch["id"] == expected["id"]
