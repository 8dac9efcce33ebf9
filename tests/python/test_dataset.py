"""ffkit.Dataset: records, columns, subsets, errors."""
import datetime
import io
import os
import pickle
import shutil

import numpy
import PIL.Image
import pytest

import ffkit
import ffkit.convert as convert
from conftest import files_of


def test_records_are_dicts_of_all_fields(ds):
    assert len(ds) == 60
    assert ds.schema == {
        "image": ffkit.Field("image"),
        "label": ffkit.Field("scalar", "i64", column=True),
        "id": ffkit.Field("string", column=True),
    }
    record = ds[17]
    assert list(record) == ["image", "label", "id"]
    assert isinstance(record["image"], bytes) and isinstance(record["label"], int) and isinstance(record["id"], str)
    assert record["label"] == ds.column("label")[17] and record["id"] == ds.column("id")[17]
    assert ds.field(17, "label") == record["label"]
    assert ds[-1] == ds[59]
    assert [r["label"] for r in ds] == ds.column("label").tolist()
    assert len(ds.classes) == 4 and ds.split == "train"
    assert ffkit.splits(os.path.dirname(ds.path)) == ["train", "val"]


def test_pictures_are_those_of_pillow(ds):
    data = ds[3]["image"]
    pillow = numpy.asarray(PIL.Image.open(io.BytesIO(data)).convert("RGB"))
    assert numpy.abs(ffkit.decode_image(data).astype(int) - pillow).max() <= 4
    assert ffkit.decode_image(data).shape == pillow.shape == (48, 48, 3)
    with pytest.raises(ffkit.UnsupportedError, match="not JPEG, PNG"):
        ffkit.decode_image(b"no picture")


def test_where_and_subset(ds):
    chosen = ds.where("label in {1, 3}")
    labels = ds.column("label")
    assert chosen.column("label").tolist() == [x for x in labels.tolist() if x in (1, 3)]
    assert chosen.is_subset and not ds.is_subset
    assert chosen.fingerprint != ds.fingerprint == chosen.whole_split().fingerprint
    some = ds.subset(numpy.array([5, 5, 2]))
    assert [some.index_in_split(i) for i in range(len(some))] == [5, 5, 2]
    assert [r["id"] for r in ds[10:14:2]] == [ds[10]["id"], ds[12]["id"]]
    with pytest.raises(ValueError, match="60"):
        ds.subset([60])
    with pytest.raises(ValueError):
        ds.where("label is 3")


def test_data_sets_pickle(ds):
    again = pickle.loads(pickle.dumps(ds.subset([7, 1])))
    assert again.fingerprint == ds.subset([7, 1]).fingerprint
    assert pickle.loads(pickle.dumps(ds)).fingerprint == ds.fingerprint


def test_errors_are_those_that_python_programmers_expect(ds, data, tmp_path):
    with pytest.raises(FileNotFoundError) as nowhere:
        ffkit.Dataset(tmp_path / "nothing", "train")
    assert nowhere.value.code == "not_found" and nowhere.value.path == nowhere.value.filename == str(tmp_path / "nothing")
    assert nowhere.value.subject == "dataset"
    with pytest.raises(FileNotFoundError, match="train, val") as no_split:
        ffkit.Dataset(data, "test")
    assert (no_split.value.subject, no_split.value.name) == ("split", "test")
    with pytest.raises(KeyError, match="'?colour'?.*image, label, id") as no_field:
        ds.field(0, "colour")
    assert isinstance(no_field.value, ffkit.Error) and no_field.value.path is None
    assert (no_field.value.subject, no_field.value.name) == ("field", "colour")
    with pytest.raises(KeyError, match="column") as no_column:
        ds.column("image")
    assert no_column.value.subject == "field" and no_column.value.path.endswith(".ffr")
    for index in (60, -61):
        with pytest.raises(IndexError):
            ds[index]
    with pytest.raises(TypeError):
        ds["image"]


def test_damage_names_file_and_record(ds, tmp_path):
    (shard,) = [f for f in os.listdir(ds.path) if f.endswith(".ffr")]
    content = bytearray(open(os.path.join(ds.path, shard), "rb").read())
    place = content.find(ds[4]["image"])
    assert place > 0
    content[place] ^= 1
    (tmp_path / shard).write_bytes(content)
    damaged = ffkit.Dataset.from_files([tmp_path / shard])
    assert damaged[3]["id"] == ds[3]["id"]
    with pytest.raises(ffkit.CorruptError, match="the record is damaged: the CRC-32C") as error:
        damaged[4]
    assert (error.value.code, error.value.record, error.value.path) == ("corrupt", 4, str(tmp_path / shard))
    again = pickle.loads(pickle.dumps(error.value))
    assert (type(again), str(again), again.record) == (ffkit.CorruptError, str(error.value), 4)


# The cache of the machine.
@pytest.fixture
def cache(tmp_path):
    before = ffkit._ffkit.cache_options()
    ffkit.set_cache(tmp_path / "cache", max_bytes=1 << 30, min_free_bytes=0)
    yield tmp_path / "cache"
    ffkit._ffkit.set_cache(*before)


def written_set(folder):
    with ffkit.Writer(folder, schema={"data": "bytes"}) as writer:
        for i in range(100):
            writer.write({"data": bytes([i]) * 10_000})
    return f"file://{folder}"


def test_keeps_what_was_read(cache, tmp_path):
    assert ffkit.cached_sets() == []
    dataset = ffkit.Dataset(written_set(tmp_path / "set"), "train")
    assert dataset[7]["data"] == bytes([7]) * 10_000
    (one,) = ffkit.cached_sets()
    assert one.address == f"file://{tmp_path}/set/train"
    assert (one.num_objects, one.is_in_use) == (1, True)
    assert abs(datetime.datetime.now() - one.last_used) < datetime.timedelta(minutes=5)
    assert ffkit.clean_cache() == 0  # in use
    assert ffkit.cached_sets(cache)[0].address == one.address


def test_is_off_when_it_is_told_so(cache, tmp_path):
    ffkit.set_cache("off")
    assert ffkit.cached_sets() == [] and ffkit.clean_cache() == 0
    assert ffkit.Dataset(written_set(tmp_path / "set"), "train")[3]["data"] == bytes([3]) * 10_000
    assert not cache.exists()


def test_refuses_what_cannot_be(cache):
    with pytest.raises(ffkit.InvalidArgumentError, match="at least 67108864"):
        ffkit.set_cache(max_bytes=1000)
    with pytest.raises(ffkit.InvalidArgumentError, match="min_free_bytes must be 0 or more"):
        ffkit.set_cache(min_free_bytes=-1)
    assert ffkit._ffkit.cache_options() == (os.fspath(cache), 1 << 30, 0)


def test_a_copy_is_the_same(tmp_path):
    convert.demo(tmp_path / "set", images=40, val_images=10, classes=2, size=32, progress=False)
    updates = []
    summary = convert.copy(tmp_path / "set", tmp_path / "copy", progress=updates.append)
    assert files_of(tmp_path / "copy") == files_of(tmp_path / "set")
    assert summary.splits == ("train", "val") and summary.num_records == 50 and summary.num_shards == 2
    assert summary.num_copied_bytes == summary.file_bytes and updates[-1]["num_done"] == 50
    again = convert.copy(tmp_path / "set", tmp_path / "copy", progress=False)
    assert again.num_equal_shards == 2 and again.num_copied_bytes == 0
    assert convert.copy(tmp_path / "set", tmp_path / "one", splits="val", progress=False).splits == ("val",)
    with pytest.raises(ffkit.NotFoundError, match="test"):
        convert.copy(tmp_path / "set", tmp_path / "none", splits=["test"], progress=False)
    with pytest.raises(ffkit.InvalidArgumentError, match="threads is 0"):
        convert.copy(tmp_path / "set", tmp_path / "none", num_threads=0, progress=False)


def test_what_a_copy_leaves_is_found_gone_on_with_and_removed(tmp_path):
    convert.demo(tmp_path / "set", images=40, val_images=10, classes=2, size=32, progress=False)
    assert convert.find_leftovers(tmp_path / "set").found == ()

    # A copy of damaged data ends early, and goes on when they are right again.
    shard = tmp_path / "set" / "val" / "shard-00000.ffr"
    right = shard.read_bytes()
    damaged = bytearray(right)
    damaged[len(damaged) // 4] ^= 1
    for again in (True, False):
        shard.write_bytes(damaged)
        with pytest.raises(ffkit.CorruptError, match="val/shard-00000.ffr"):
            convert.copy(tmp_path / "set", tmp_path / "copy", num_threads=1, progress=False)
        shard.write_bytes(right)
        with pytest.raises(ffkit.InvalidArgumentError, match="contains an unfinished copy of the same data; continue the copy with resume=True"):
            convert.copy(tmp_path / "set", tmp_path / "copy", progress=False)
        left = convert.find_leftovers(tmp_path / "copy")
        assert "marker" in [leftover.kind for leftover in left.found] and not any(leftover.is_in_use for leftover in left.found)
        assert convert.remove_leftovers(tmp_path / "copy") == (0, 0)
        if again:
            convert.copy(tmp_path / "set", tmp_path / "copy", resume=True, progress=False)
            assert files_of(tmp_path / "copy") == files_of(tmp_path / "set")
            shutil.rmtree(tmp_path / "copy")
    num_removed, _ = convert.remove_leftovers(tmp_path / "copy", unfinished=True)
    assert num_removed == len(left.found)
    with pytest.raises(ffkit.NotFoundError):
        convert.find_leftovers(tmp_path / "nowhere")
