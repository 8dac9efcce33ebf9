"""Dataset.to_parquet(): Hugging Face's `datasets` reads what the data set holds."""

import errno
import io
import os
import pathlib
import resource
import subprocess
import sys
import warnings

import numpy as np
import PIL.Image
import pytest

sys.path.append(str(pathlib.Path(__file__).parents[1] / "formats"))
from export_samples import COUNT, LISTS, NUMBERS, SCHEMA, as_numbers, numpy_name, sample, written

import ffkit

datasets = pytest.importorskip("datasets")
pq = pytest.importorskip("pyarrow.parquet")


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    # Arrays of one number of dimensions; "t/bf16" needs none of its own.
    return ffkit.Dataset(written(tmp_path_factory.mktemp("everything") / "set", {**SCHEMA, **LISTS}, (sample(i) for i in range(COUNT))), "train")


def load(folder, cache, split="train"):
    return datasets.load_dataset("parquet", data_files={split: str(folder / f"{split}-*.parquet")}, cache_dir=str(cache), split=split)


def exported(dataset, folder, **options):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        summary = dataset.to_parquet(folder, progress=False, **options)
    assert [str(warning.message) for warning in caught] == [f"{options.get('name') or dataset.split}: {note}" for note in summary.notes]
    assert all(warning.filename == __file__ for warning in caught)
    return summary


def test_datasets_reads_every_type(everything, tmp_path):
    summary = exported(everything, tmp_path / "out", file_size="200k", row_group_size=100)
    assert len(summary.files) > 3 and summary.num_records == COUNT
    assert [os.path.basename(file) for file in summary.files] == [f"train-{i:05}-of-{len(summary.files):05}.parquet" for i in range(len(summary.files))]
    assert sorted(os.listdir(tmp_path / "out")) == sorted(os.path.basename(file) for file in summary.files)
    groups = [pq.ParquetFile(file).metadata.row_group(i).num_rows for file in summary.files for i in range(pq.ParquetFile(file).num_row_groups)]
    assert sum(groups) == COUNT and max(groups) == 100
    assert [note for note in summary.notes if "of bf16" in note] == [f"field '{name}' of bf16 is written as float32, which loses nothing" for name in ("n/bf16", "t/bf16")]
    found_set = load(tmp_path / "out", tmp_path / "cache")
    assert len(found_set) == COUNT
    features = found_set.features
    assert features["label"] == datasets.ClassLabel(names=["zero", "one", "two"])
    assert isinstance(features["image"], datasets.Image) and features["frames"] == datasets.List(datasets.Image())
    for name in NUMBERS:
        assert features[f"n/{name}"] == datasets.Value(numpy_name(name))
        assert features[f"t/{name}"] == datasets.List(datasets.List(datasets.Value(numpy_name(name))))
    raw = found_set.cast_column("image", datasets.Image(decode=False)).cast_column("left/image", datasets.Image(decode=False))
    raw = raw.cast_column("frames", datasets.List(datasets.Image(decode=False)))
    num_empty = 0
    for number in range(COUNT):
        stored, found = everything[number], raw[number]
        assert set(found) == set(stored)
        # Two pictures: neither is called as the id.
        assert found["image"] == {"bytes": stored["image"], "path": None} and found["left/image"]["bytes"] == stored["left/image"]
        assert [frame["bytes"] for frame in found["frames"]] == stored["frames"]
        for name in ("label", "id", "caption/txt", "meta/json", "note", "blob", "tags", "raw parts", *(f"n/{dtype}" for dtype in NUMBERS)):
            assert found[name] == stored[name], name
        assert found["parts"] == [part.tolist() for part in stored["parts"]]
        for name in ("boxes/npy", "points", *(f"t/{dtype}" for dtype in NUMBERS)):
            assert found[name] == as_numbers(stored[name]).tolist()
            num_empty += stored[name].size == 0
    assert num_empty > 0 and sum(int(note.split(": ")[-1].replace(",", "")) for note in summary.notes if "without elements" in note) == num_empty
    assert np.array_equal(np.asarray(found_set[5]["image"]), np.asarray(PIL.Image.open(io.BytesIO(everything[5]["image"]))))


def test_a_folder_is_a_data_set_of_the_hub(tmp_path):
    """load_dataset(folder) finds the splits; pictures are called as the files that they were."""
    subprocess.run([os.environ["FFKIT_FFCONVERT"], "demo", tmp_path / "set", "--images", "60", "--val-images", "20", "--size", "32", "--quiet"], check=True)
    subprocess.run([os.environ["FFKIT_FFCONVERT"], "transcode", tmp_path / "set", tmp_path / "dct", "--store", "dct", "--quiet"], check=True)
    for data in ("set", "dct"):
        for split in ("train", "val"):
            exported(ffkit.Dataset(tmp_path / data, split), tmp_path / f"{data}-parquet", name={"val": "validation"}.get(split))
    subprocess.run(["diff", "-r", tmp_path / "set-parquet", tmp_path / "dct-parquet"], check=True)
    found = datasets.load_dataset(str(tmp_path / "dct-parquet"), cache_dir=str(tmp_path / "cache"))
    assert {split: len(rows) for split, rows in found.items()} == {"train": 60, "validation": 20}
    for split, name in {"train": "train", "validation": "val"}.items():
        stored = ffkit.Dataset(tmp_path / "set", name)
        rows = found[split].cast_column("image", datasets.Image(decode=False))
        for one, row in zip(stored, rows):
            assert row == {"image": {"bytes": one["image"], "path": one["id"].split("/")[-1]}, "label": one["label"], "id": one["id"]}
        assert found[split].features["label"].names == stored.class_names


def test_nulls_stay_nulls(tmp_path):
    schema = {"image": "image", "label": "i64", "n": "f16", "b": "bf16", "text": "string", "rows": "tensor[f32]", "one": "tensor[i32]", "none": "list[string]", "zero": "tensor[u8]"}
    picture = sample(1)["image"]
    with ffkit.Writer(tmp_path / "set", "train", schema, classes=["a", "b"]) as writer:
        writer.write({})
        writer.write({"image": picture, "label": 1, "n": 0.5, "text": "", "rows": np.ones((2, 3), np.float32), "one": np.arange(3, dtype=np.int32), "none": [], "zero": np.array(7, np.uint8)})
        writer.write({"label": 0, "rows": np.zeros((1, 2), np.float32)})
    exported(ffkit.Dataset(tmp_path / "set", "train"), tmp_path / "out")
    rows = list(load(tmp_path / "out", tmp_path / "cache").cast_column("image", datasets.Image(decode=False)))
    assert rows[0] == dict.fromkeys(schema)
    full = {"image": {"bytes": picture, "path": None}, "label": 1, "n": 0.5, "b": None, "text": "", "rows": [[1.0] * 3] * 2, "one": [0, 1, 2], "none": [], "zero": 7}
    assert rows[1] == full
    assert rows[2] == {**dict.fromkeys(schema), "label": 0, "rows": [[0.0, 0.0]]}


def test_what_cannot_be_is_refused_and_leaves_nothing(tmp_path):
    with ffkit.Writer(tmp_path / "set", "train", {"label": "i64", "rows": "tensor[f32]"}, classes=["a", "b"]) as writer:
        writer.write({"label": 0, "rows": np.ones((2, 3), np.float32)})
        writer.write({"label": 2, "rows": np.ones(3, np.float32)})
    dataset = ffkit.Dataset(tmp_path / "set", "train")
    with pytest.raises(ffkit.UnsupportedError, match="the label is 2, but there are 2 classes, .*; give classes=False"):
        dataset.to_parquet(tmp_path / "out", progress=False)
    with pytest.raises(ffkit.InvalidArgumentError, match="field 'rows': one array has 1 dimensions, an earlier one 2"):
        dataset.to_parquet(tmp_path / "out", classes=False, progress=False)
    assert not (tmp_path / "out").exists()
    first = dataset.subset([0])
    exported(first, tmp_path / "out")
    before = (tmp_path / "out/train-00000-of-00001.parquet").read_bytes()
    with pytest.raises(ffkit.InvalidArgumentError, match="train-00000-of-00001.parquet: the file exists already, and nothing is overwritten"):
        first.to_parquet(tmp_path / "out", progress=False)
    assert (tmp_path / "out/train-00000-of-00001.parquet").read_bytes() == before
    exported(first, tmp_path / "out", name="other")
    assert sorted(os.listdir(tmp_path / "out")) == ["other-00000-of-00001.parquet", "train-00000-of-00001.parquet"]
    with pytest.raises(KeyError, match="there is no field 'nope'; the fields are label, rows") as caught:
        first.to_parquet(tmp_path / "more", fields=["nope"], progress=False)
    assert isinstance(caught.value, ffkit.FieldNotFoundError) and caught.value.name == "nope"
    with pytest.raises(ffkit.InvalidArgumentError, match="give each field once"):
        first.to_parquet(tmp_path / "more", fields=["rows", "rows"], progress=False)
    exported(dataset, tmp_path / "more", fields=["label"], classes=False)
    assert pq.read_table(tmp_path / "more/train-00000-of-00001.parquet").to_pydict() == {"label": [0, 2]}
    for options, words in {("name", "a/b"): "name is 'a/b'", ("row_group_size", 0): "row_group_size is 0"}.items():
        with pytest.raises(ffkit.InvalidArgumentError, match=words):
            first.to_parquet(tmp_path / "out", progress=False, **dict([options]))
    with pytest.raises(ffkit.InvalidArgumentError, match="an address"):
        first.to_parquet("s3://bucket/x", progress=False)


def test_a_disk_that_takes_no_more_is_an_error_with_the_folder(everything, tmp_path):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    try:
        with pytest.raises(ffkit.IoError, match="out: cannot write the files: .*File too large") as caught:
            everything.to_parquet(tmp_path / "out", progress=False)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert (caught.value.errno, caught.value.path, caught.value.subject) == (errno.EFBIG, str(tmp_path / "out"), "destination")
    assert not (tmp_path / "out").exists()


def test_a_stopped_one_leaves_nothing_and_a_killed_one_is_in_nobodys_way(everything, tmp_path):
    def stop(update):
        assert (tmp_path / "out/.ffkit-train-parquet").is_dir()
        with pytest.raises(ffkit.InvalidArgumentError, match="is being written by another process"):
            everything.to_parquet(tmp_path / "out", progress=False)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        everything.to_parquet(tmp_path / "out", progress=stop, row_group_size=1)
    assert not (tmp_path / "out").exists()
    (tmp_path / "out/.ffkit-train-parquet").mkdir(parents=True)
    (tmp_path / "out/.ffkit-train-parquet/00000000.parquet").write_bytes(b"PAR1 of one that was killed")
    exported(everything.subset(range(10)), tmp_path / "out")
    assert os.listdir(tmp_path / "out") == ["train-00000-of-00001.parquet"]
    assert len(load(tmp_path / "out", tmp_path / "cache")) == 10


def test_pyarrow_is_imported_when_it_is_needed(everything, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match="pip install pyarrow"):
        everything.to_parquet(tmp_path / "out")
    assert not (tmp_path / "out").exists()
