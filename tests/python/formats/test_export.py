"""`ffinspect export --as webdataset` and `--as mds`: what WebDataset and MosaicML Streaming read is what the data set holds, and what `ffconvert webdataset` makes
of it again."""

import json
import os
import pathlib
import shlex
import subprocess

import numpy as np
import pytest
from export_samples import COUNT, LISTS, NUMBERS, SCHEMA, as_numbers, check, numpy_name, picture, sample, written

import ffkit


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    """Every type of field, in records that lack nothing."""
    return written(tmp_path_factory.mktemp("everything") / "set", {**SCHEMA, **LISTS}, (sample(i) for i in range(COUNT)))


@pytest.fixture(scope="module")
def without_lists(tmp_path_factory):
    """What MDS can hold."""
    return written(tmp_path_factory.mktemp("without_lists") / "set", SCHEMA, (sample(i, lists=False) for i in range(COUNT)))


def export(data, out, form, *options):
    command = [os.environ["FFKIT_FFINSPECT"], "export", str(data), str(out), "--as", form, "--json", *options]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def tars(folder):
    return [str(file) for file in sorted(pathlib.Path(folder).glob("*.tar"))]


def samples_of_tars(folder):
    wds = pytest.importorskip("webdataset")
    return wds.WebDataset(tars(folder), shardshuffle=False, empty_check=False)


def test_webdataset_reads_every_type(everything, tmp_path):
    result = export(everything, tmp_path / "out", "webdataset", "--shard-size", "1M")
    files = tars(tmp_path / "out/train")
    assert len(files) == result["splits"][0]["num_files"] > 5
    assert all(os.path.getsize(file) <= 1 << 20 for file in files)
    assert (tmp_path / "out/classes.txt").read_text().splitlines() == ["c0", "c 1", "größe"]
    assert (tmp_path / "out/class_names.txt").read_text().splitlines() == ["zero", "one", "two"]
    dataset = ffkit.Dataset(everything, "train")
    raw = list(samples_of_tars(tmp_path / "out/train"))
    decoded = list(samples_of_tars(tmp_path / "out/train").decode())
    assert len(raw) == len(decoded) == len(dataset) == COUNT
    assert len({found["__key__"] for found in raw}) == COUNT
    moved = 0
    for number, (bare, found) in enumerate(zip(raw, decoded)):
        stored = dataset[number]
        kind = "png" if number % 100 == 7 else "jpg"
        assert bare[kind] == stored["image"] and bare["left.png"] == stored["left/image"]
        assert found["cls"] == stored["label"]
        assert found["caption.txt"] == stored["caption/txt"] and found["note.txt"] == stored["note"]
        assert bare["meta.json"].decode() == stored["meta/json"] and found["meta.json"] == {"number": number}
        assert bare["blob"] == stored["blob"]
        check(found["boxes.npy"], stored["boxes/npy"])
        check(found["points.npy"], stored["points"])
        assert [bare[f"{i:06}.jpg"] for i in range(len(stored["frames"]))] == stored["frames"]
        assert found["tags.json"] == stored["tags"]
        for i, part in enumerate(stored["parts"]):
            check(found[f"parts.{i:06}.npy"], part)
        assert [bare[f"raw parts.{i:06}.bin"] for i in range(2)] == stored["raw parts"]
        for name in NUMBERS:
            check(found[f"t.{name}.npy"], as_numbers(stored[f"t/{name}"]))
            assert found[f"n.{name}.npy"].shape == () and found[f"n.{name}.npy"].item() == stored[f"n/{name}"]
            assert found[f"n.{name}.npy"].dtype == numpy_name(name)
        if "id.txt" in found:
            moved += 1
            assert found["id.txt"] == stored["id"] != bare["__key__"]
        else:
            assert bare["__key__"] == stored["id"]
    assert any(f": {moved:,} " in note or f" {moved:,} (" in note for note in result["splits"][0]["notes"]), result["splits"][0]["notes"]


def back(result, tmp_path, name="back"):
    """The data set that the command makes which the export names."""
    command = shlex.split(result["way_back"].replace(" DST ", f" {shlex.quote(str(tmp_path / name))} "))
    command[0] = os.environ["FFKIT_FFCONVERT"]
    subprocess.run([*command, "--quiet"], check=True)
    return ffkit.Dataset(tmp_path / name, "train")


@pytest.mark.parametrize("form", ["webdataset", "mds"])
def test_pictures_labels_and_ids_come_back_as_the_same_records(tmp_path, form):
    data = tmp_path / "data"
    schema = {name: SCHEMA[name] for name in ("image", "label", "id")}
    made = [{name: sample(i)[name] for name in schema} for i in range(COUNT)]
    dataset = ffkit.Dataset(written(data, {**schema, "id": ffkit.Field("string", column=True)}, made), "train")
    again = back(export(data, tmp_path / "out", form), tmp_path)
    assert again.fingerprint == dataset.fingerprint
    assert again.schema == dataset.schema and again.classes == dataset.classes
    assert all(again[i] == dataset[i] for i in range(COUNT))


def test_the_dct_code_comes_back_as_its_jpegs(tmp_path):
    subprocess.run([os.environ["FFKIT_FFCONVERT"], "demo", tmp_path / "plain", "--images", "50", "--val-images", "0", "--size", "64", "--quiet"], check=True)
    subprocess.run([os.environ["FFKIT_FFCONVERT"], "transcode", tmp_path / "plain", tmp_path / "dct", "--store", "dct", "--quiet"], check=True)
    plain = ffkit.Dataset(tmp_path / "plain", "train")
    for form in ("webdataset", "mds"):
        for data in ("plain", "dct"):
            export(tmp_path / data, tmp_path / f"{form}-{data}", form)
        subprocess.run(["diff", "-r", tmp_path / f"{form}-plain", tmp_path / f"{form}-dct"], check=True)
    assert [found["jpg"] for found in samples_of_tars(tmp_path / "webdataset-dct/train")] == [record["image"] for record in plain]


def test_every_type_comes_back_as_is_said(everything, tmp_path):
    result = export(everything, tmp_path / "out", "webdataset")
    dataset = ffkit.Dataset(everything, "train")
    again = back(result, tmp_path)
    said = " ".join(result["splits"][0]["notes"])
    same = ["image", "left/image", "label", "id", "caption/txt", "meta/json", "blob", "boxes/npy", "frames"]
    assert not [name for name in same if f"'{name}' becomes" in said]
    assert "'note' becomes 'note/txt'" in said and "'tags' becomes the string 'tags/json', a JSON array" in said
    assert "'t/bf16' becomes the tensor 't/bf16/npy' of f32" in said and "'n/u8' becomes the tensor 'n/u8/npy' without a dimension;" in said
    for number in range(COUNT):
        stored, found = dataset[number], again[number]
        for name in same:
            check(found[name], stored[name])
        assert found["note/txt"] == stored["note"] and json.loads(found["tags/json"]) == stored["tags"]
        check(found["points/npy"], stored["points"])
        for name in NUMBERS:
            check(found[f"t/{name}/npy"], as_numbers(stored[f"t/{name}"]))
            assert found[f"n/{name}/npy"].item() == stored[f"n/{name}"]
        for i in range(2):
            check(found[f"parts/{i:06}/npy"], stored["parts"][i])
            assert found[f"raw parts/{i:06}/bin"] == stored["raw parts"][i]


def test_fields_that_would_be_one_member_are_told_apart(tmp_path):
    schema = {"note": "string", "note/txt": "string", "Note": "string", "image": "image", "IMAGE": "image", "id/txt": "string", "jpg": "bytes", "n.i": "i32", "n/i": "i32"}
    made = {name: picture(i) if kind == "image" else i if kind == "i32" else f"{name}" for i, (name, kind) in enumerate(schema.items())}
    written(tmp_path / "set", schema, [{**made, "jpg": b"jpg"}])
    result = export(tmp_path / "set", tmp_path / "out", "webdataset")
    (found,) = samples_of_tars(tmp_path / "out/train").decode()
    assert sorted(key for key in found if not key.startswith("__")) == [
        "id.txt-2.txt", "image.jpg", "jpg", "jpg.bin", "n.i-2.npy", "n.i.npy", "note-2.txt", "note.txt", "note.txt-2.txt",
    ]  # fmt: skip
    assert found["note.txt"] == "note" and found["note.txt-2.txt"] == "note/txt" and found["note-2.txt"] == "Note" and found["id.txt-2.txt"] == "id/txt"
    assert found["jpg"] == made["image"] and found["image.jpg"] == made["IMAGE"] and (found["n.i.npy"], found["n.i-2.npy"]) == (made["n.i"], made["n/i"])
    again = back(result, tmp_path)[0]
    assert again["note/txt-2/txt"] == "note/txt" and "'note/txt' becomes 'note/txt-2/txt'" in result["splits"][0]["notes"][0]


def test_streaming_reads_every_type(without_lists, tmp_path):
    streaming = pytest.importorskip("streaming")
    result = export(without_lists, tmp_path / "out", "mds", "--shard-size", "1M")
    assert result["splits"][0]["num_files"] > 3
    assert all(file.stat().st_size <= 1 << 20 for file in (tmp_path / "out/train").glob("*.mds"))
    streaming.base.util.clean_stale_shared_memory()
    found_set = streaming.StreamingDataset(local=str(tmp_path / "out/train"), batch_size=1, shuffle=False)
    dataset = ffkit.Dataset(without_lists, "train")
    assert len(found_set) == len(dataset) == COUNT

    def same_picture(found, stored):
        assert found.format == ("PNG" if stored.startswith(b"\x89PNG") else "JPEG")
        assert found.fp.getvalue() == stored

    for number in range(COUNT):
        stored, found = dataset[number], found_set[number]
        assert set(found) == set(stored)
        same_picture(found["image"], stored["image"])
        same_picture(found["left/image"], stored["left/image"])
        assert len(found["frames"]) == len(stored["frames"])
        for one, other in zip(found["frames"], stored["frames"]):
            same_picture(one, other)
        for name in ("label", "id", "caption/txt", "meta/json", "note", "blob", "tags", "n/i64"):
            check(found[name], stored[name])
        for name in ("boxes/npy", "points", *(f"t/{name}" for name in NUMBERS)):
            check(found[name], as_numbers(stored[name]))
        for name in NUMBERS:
            assert found[f"n/{name}"] == stored[f"n/{name}"]
            assert name == "i64" or found[f"n/{name}"].dtype == numpy_name(name)
    assert any("column 'image': pictures in another encoding than that of the column, jpeg" in note and note.endswith(f": {COUNT // 100}") for note in result["splits"][0]["notes"])


def test_streamings_own_shards_have_the_same_bytes(tmp_path):
    """But for the JSON of the config, in which Python puts spaces."""
    streaming = pytest.importorskip("streaming")
    schema = {name: SCHEMA[name] for name in ("image", "label", "id", "points", "n/f32", "tags")}
    made = [{name: sample(i)[name] for name in schema} for i in range(300) if i % 100 != 7]
    export(written(tmp_path / "data", schema, made), tmp_path / "out", "mds", "--shard-size", "100000")
    columns = {"image": "jpeg", "label": "int", "id": "str", "points": "ndarray:int16", "n/f32": "float32", "tags": "json"}
    with streaming.MDSWriter(columns=columns, out=str(tmp_path / "own"), size_limit=100000) as writer:
        for one in made:
            writer.write({**one, "n/f32": np.float32(one["n/f32"])})
    ours, own = (json.loads((folder / "index.json").read_text()) for folder in (tmp_path / "out/train", tmp_path / "own"))
    assert len(ours["shards"]) > 2
    for shard, others in zip(ours["shards"], own["shards"]):
        assert {key: value for key, value in shard.items() if key not in ("raw_data", "samples")} == {key: value for key, value in others.items() if key not in ("raw_data", "samples")}

    def sample_bytes(folder, index):
        for shard in index["shards"]:
            data = (folder / shard["raw_data"]["basename"]).read_bytes()
            assert len(data) == shard["raw_data"]["bytes"]
            count = np.frombuffer(data[:4], np.uint32)[0]
            offsets = np.frombuffer(data[4 : 8 + 4 * count], np.uint32)
            yield from (data[begin:end] for begin, end in zip(offsets, offsets[1:]))

    ours, own = list(sample_bytes(tmp_path / "out/train", ours)), list(sample_bytes(tmp_path / "own", own))
    # NumPy writes JSON's non-ASCII letters as escapes.
    assert len(ours) == len(own) == len(made)
    plain = [i for i, one in enumerate(made) if one["tags"] == []]
    assert len(plain) > 50 and all(ours[i] == own[i] for i in plain)


def test_class_folders_are_one_a_class(tmp_path):
    """Classes of one name stay two, and a name with a slash is one folder; classes.txt gives the labels back."""
    classes = ["crane", "a/b", "crane", "aardvark", "..", ".git"]
    with ffkit.Writer(tmp_path / "set", classes=classes) as writer:
        for number in range(12):
            writer.write({"image": picture(number), "label": number % 6, "id": f"{number}.JPEG"})
    result = export(tmp_path / "set", tmp_path / "out", "imagefolder")
    folders = ["crane", "a_b", "crane-2", "aardvark", "_.", "_git"]
    assert sorted(path.name for path in (tmp_path / "out/train").iterdir()) == sorted(folders)
    assert (tmp_path / "out/classes.txt").read_text().splitlines() == folders
    assert any("class 1, 'a/b', is 'a_b'; class 2, 'crane', is 'crane-2'" in note for note in result["splits"][0]["notes"])
    assert any("will give other labels" in note for note in result["splits"][0]["notes"])
    assert result["way_back"].endswith(f"--classes {tmp_path / 'out/classes.txt'}")
    ffkit.convert.folder(tmp_path / "out", tmp_path / "back", classes=tmp_path / "out/classes.txt")
    labels = {record["id"].split("/")[-1]: record["label"] for record in ffkit.Dataset(tmp_path / "back", "train")}
    assert labels == {f"{number}.JPEG": number % 6 for number in range(12)}
    pytest.importorskip("pyarrow")
    ffkit.Dataset(tmp_path / "set", "train").to_parquet(tmp_path / "parquet")
    ffkit.convert.parquet(tmp_path / "parquet", tmp_path / "from_parquet")
    assert ffkit.Dataset(tmp_path / "from_parquet", "train").classes == ["crane", "a/b", "crane-2", "aardvark", "..", ".git"]
