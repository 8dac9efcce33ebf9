"""Hugging Face's save_to_disk() and Arrow files, and Image(mode=), against what datasets gives."""

import io
import json
import os
import warnings

import numpy as np
import pytest

import ffkit

datasets = pytest.importorskip("datasets")
pa = pytest.importorskip("pyarrow")
PIL = pytest.importorskip("PIL.Image")


def png(number, mode="RGB", **options):
    pixels = np.random.default_rng(number).integers(0, 255, (12, 9, 3), np.uint8)
    file = io.BytesIO()
    PIL.fromarray(pixels).convert(mode).save(file, "PNG", **options)
    return file.getvalue()


def dataset(count, mode=None, stored="RGB"):
    features = datasets.Features(
        {"image": datasets.Image(mode=mode), "label": datasets.ClassLabel(names=["cat", "dog"]), "kind": datasets.ClassLabel(names=["x", "y", "z"]), "box": datasets.Sequence(datasets.Value("float32"))}
    )
    rows = {"image": [{"bytes": png(i, stored), "path": f"{i}.png"} for i in range(count)], "label": [i % 2 for i in range(count)], "kind": [i % 3 for i in range(count)], "box": [[i, 2, 3] for i in range(count)]}
    return datasets.Dataset.from_dict(rows, features=features)


def converted(src, dst, **options):
    notes = []
    ffkit.convert.parquet(src, dst, on_note=notes.append, order="sequential", **options)
    return notes


def compare(records, source):
    assert len(records) == len(source)
    for i, row in enumerate(source):
        picture = PIL.open(io.BytesIO(bytes(records[i]["image"])))
        np.testing.assert_array_equal(np.asarray(picture), np.asarray(row["image"]))
        assert picture.mode == row["image"].mode and int(records[i]["label"]) == row["label"] and records[i]["box"].tolist() == row["box"]


def test_saved_splits(tmp_path):
    splits = datasets.DatasetDict({"train": dataset(13), "validation": dataset(5), "odd_ones": dataset(3)})
    splits.save_to_disk(str(tmp_path / "saved"), num_shards={"train": 3, "validation": 1, "odd_ones": 1})
    converted(tmp_path / "saved", tmp_path / "dst")
    assert sorted(name for name in os.listdir(tmp_path / "dst") if (tmp_path / "dst" / name).is_dir()) == ["odd_ones", "train", "val"]
    for name, written in (("train", "train"), ("validation", "val"), ("odd_ones", "odd_ones")):
        records = ffkit.Dataset(tmp_path / "dst", written)
        assert list(records.classes) == ["cat", "dog"]
        compare(records, splits[name])


def test_saved_alone_and_what_map_left(tmp_path):
    whole = dataset(11)
    whole.save_to_disk(str(tmp_path / "saved"), num_shards=2)
    datasets.load_from_disk(str(tmp_path / "saved")).filter(lambda row: row["label"] == 0)  # keeps a file cache-*.arrow beside
    assert any(name.startswith("cache-") for name in os.listdir(tmp_path / "saved"))
    notes = converted(tmp_path / "saved", tmp_path / "dst")
    assert any("1 files were left out: state.json does not name them" in note for note in notes)
    compare(ffkit.Dataset(tmp_path / "dst", "train"), whole)
    state = json.loads((tmp_path / "saved/state.json").read_text())
    (tmp_path / "saved" / state["_data_files"][1]["filename"]).unlink()
    with pytest.raises(ffkit.Error, match="is missing, but state.json names it"):
        converted(tmp_path / "saved", tmp_path / "again")


@pytest.mark.parametrize("form", ["stream", "file", "feather"])
def test_arrow_files(tmp_path, form):
    table = pa.table({"text": ["a", "b", None, "d"], "x": pa.array([1, 2, 3, 4], pa.int32()), "boxes": [[[1.0, 2.0]], [[3.0, 4.0]], [[5.0, 6.0]], [[7.0, 8.0]]]})
    path = tmp_path / ("a.feather" if form == "feather" else "a.arrow")
    if form == "feather":
        pa.feather.write_feather(table, path) if hasattr(pa, "feather") else __import__("pyarrow.feather").feather.write_feather(table, path)
    else:
        with (pa.ipc.new_stream if form == "stream" else pa.ipc.new_file)(str(path), table.schema) as writer:
            writer.write_table(table, max_chunksize=3)
    converted(path, tmp_path / "dst")
    records = ffkit.Dataset(tmp_path / "dst", "train")
    assert [int(records[i]["x"]) for i in range(4)] == [1, 2, 3, 4] and records[2]["text"] is None and records[3]["text"] == "d"
    assert records[1]["boxes"].tolist() == [[3.0, 4.0]]


def test_contents_decide(tmp_path):
    import pyarrow.parquet

    table = pa.table({"x": [1, 2, 3]})
    pyarrow.parquet.write_table(table, tmp_path / "a.arrow")
    converted(tmp_path / "a.arrow", tmp_path / "dst")
    assert len(ffkit.Dataset(tmp_path / "dst", "train")) == 3
    with pa.ipc.new_file(str(tmp_path / "b.parquet"), table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(ffkit.Error, match="is an Arrow file, not a parquet file; give it a name that ends in .arrow"):
        converted(tmp_path / "b.parquet", tmp_path / "other")


@pytest.mark.parametrize("stored", ["RGB", "L", "RGBA", "P"])
def test_grey_pictures(tmp_path, stored):
    source = dataset(4, "L", stored)
    source.to_parquet(str(tmp_path / "a.parquet"))
    source.save_to_disk(str(tmp_path / "saved"))
    for i, src in enumerate((tmp_path / "a.parquet", tmp_path / "saved")):
        notes = converted(src, tmp_path / str(i))
        assert any("Image(mode='L') means one channel" in note for note in notes)
        compare(ffkit.Dataset(tmp_path / str(i), "train"), source)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ffkit.convert.from_torch(source, tmp_path / "torch", order="sequential")
    compare(ffkit.Dataset(tmp_path / "torch", "train"), source)


def test_other_modes_are_named(tmp_path):
    dataset(2, "CMYK").to_parquet(str(tmp_path / "a.parquet"))
    assert any("ffkit does not apply Image(mode='CMYK')" in note for note in converted(tmp_path / "a.parquet", tmp_path / "dst"))
