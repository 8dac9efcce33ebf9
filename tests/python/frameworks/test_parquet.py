"""Parquet files as Hugging Face's datasets write and read them, beside what ffkit makes of them."""
import io
import os
import pathlib
import random
import shutil
import subprocess
import sys

import datasets
import numpy
import PIL.Image
import pyarrow
import pyarrow.parquet
import pytest

import ffkit
import ffkit.convert

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # notes
NUM_SAMPLES = 1200
FEATURES = datasets.Features({
    "image": datasets.Image(),
    "label": datasets.ClassLabel(names=["cat", "dog", "eel"]),
    "caption": datasets.Value("string"),
    "score": datasets.Value("float64"),
    "objects": datasets.Sequence({
        "bbox": datasets.Sequence(datasets.Value("float32"), length=4),
        "category": datasets.ClassLabel(names=["x", "y"]),
        "names": datasets.Value("string"),
    }),
    "polygons": datasets.Sequence(datasets.Sequence(datasets.Value("float32"))),
    "flag": datasets.Value("bool"),
    "embedding": datasets.Sequence(datasets.Value("float16"), length=8),
    "grid": datasets.Array2D((2, 3), "int64"),
    "big": datasets.Value("int64"),
    "blob": datasets.Value("binary"),
    "views": datasets.Sequence(datasets.Image()),
})  # fmt: skip


def picture(number):
    generator = numpy.random.default_rng(number)
    file = io.BytesIO()
    PIL.Image.fromarray(generator.integers(0, 256, (8 + number % 9, 9, 3), dtype=numpy.uint8)).save(file, "PNG" if number % 5 == 0 else "JPEG")
    return file.getvalue()


def sample(number):
    generator = random.Random(number)
    count = number % 4
    return {
        "image": {"bytes": picture(number), "path": f"picture {number}.jpg"},
        "label": number % 3,
        "caption": None if number % 7 == 0 else f"Bild {number} \u00fc",
        "score": generator.random(),
        "objects": {
            "bbox": [[generator.random() for _ in range(4)] for _ in range(count)],
            "category": [generator.randrange(2) for _ in range(count)],
            "names": [f"object {i}" for i in range(count)],
        },
        "polygons": [[generator.random() for _ in range(generator.randrange(1, 9))] for _ in range(number % 3)],
        "flag": number % 2 == 0,
        "embedding": [generator.random() for _ in range(8)],
        "grid": [[number, 2, 3], [4, 5, -number]],
        "big": number * 10**15,
        "blob": bytes(generator.randrange(256) for _ in range(number % 40)),
        "views": [{"bytes": picture(number + i), "path": None} for i in range(count)],
    }


def table(begin, end):
    encoded = [FEATURES.encode_example(sample(number)) for number in range(begin, end)]
    columns = {name: [row[name] for row in encoded] for name in FEATURES}
    return pyarrow.table(columns, schema=FEATURES.arrow_schema)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("parquet")
    (folder / "data").mkdir()
    for shard in range(3):
        rows = table(shard * NUM_SAMPLES // 3, (shard + 1) * NUM_SAMPLES // 3)
        pyarrow.parquet.write_table(rows, folder / f"data/train-{shard:05d}-of-00003.parquet", row_group_size=97, compression=["none", "snappy", "zstd"][shard])
    pyarrow.parquet.write_table(table(NUM_SAMPLES, NUM_SAMPLES + 40), folder / "data/validation-00000-of-00001.parquet")
    return folder


def check(record, expected):
    assert bytes(record["image"]) == expected["image"]["bytes"]
    assert record["image/path"] == expected["image"]["path"]
    for name in ("label", "caption", "score", "big"):
        assert record[name] == expected[name]
    assert bool(record["flag"]) == expected["flag"]
    assert bytes(record["blob"]) == expected["blob"]
    boxes = numpy.asarray(expected["objects"]["bbox"], numpy.float32).reshape(-1, 4)
    assert record["objects/bbox"].shape == boxes.shape and numpy.array_equal(record["objects/bbox"], boxes)
    assert record["objects/category"].tolist() == expected["objects"]["category"]
    assert list(record["objects/names"]) == expected["objects"]["names"]
    assert [polygon.tolist() for polygon in record["polygons"]] == [numpy.float32(polygon).tolist() for polygon in expected["polygons"]]
    assert numpy.array_equal(record["embedding"], numpy.float16(expected["embedding"]))
    assert record["grid"].tolist() == expected["grid"]
    assert [bytes(view) for view in record["views"]] == [view["bytes"] for view in expected["views"]]


def test_every_column_of_every_sample_is_that_of_the_files(files, tmp_path):
    ffkit.convert.parquet(files, tmp_path / "set", order="sequential")
    read = datasets.load_dataset("parquet", data_files=sorted(map(str, files.glob("data/train-*"))), split="train", cache_dir=str(tmp_path / "cache"))
    read = read.cast_column("image", datasets.Image(decode=False)).cast_column("views", datasets.Sequence(datasets.Image(decode=False)))
    train = ffkit.Dataset(tmp_path / "set", split="train")
    assert [one.id for one in train.classes] == ["cat", "dog", "eel"] if hasattr(train.classes[0], "id") else list(train.classes) == ["cat", "dog", "eel"]
    assert len(train) == len(read) == NUM_SAMPLES
    for number, expected in enumerate(read):
        check(train[number], expected)
    assert train[0]["id"] == "data/train-00000-of-00003.parquet: 0"
    assert train[NUM_SAMPLES - 1]["id"] == f"data/train-00002-of-00003.parquet: {NUM_SAMPLES // 3 - 1}"
    assert len(ffkit.Dataset(tmp_path / "set", split="val")) == 40


@pytest.mark.parametrize("order", ["sequential", "shuffle"])
def test_the_program_reads_them_by_its_module(files, tmp_path, order):
    ffkit.convert.parquet(files, tmp_path / "set", order=order)
    done = subprocess.run([os.environ["FFKIT_FFCONVERT"], "parquet", files, tmp_path / "other", "--order", order], capture_output=True, text=True)
    if "libffkit_parquet.so is missing" in done.stderr:
        pytest.skip("ffconvert was built without Arrow (tools/setup --parquet)")
    assert done.returncode == 0, done.stderr
    for split in ("train", "val"):
        assert ffkit.Dataset(tmp_path / "other", split=split).fingerprint == ffkit.Dataset(tmp_path / "set", split=split).fingerprint


def test_the_program_of_the_package_reads_them_by_pyarrow(files, tmp_path):
    ffkit.convert.parquet(files, tmp_path / "set")
    script = shutil.copy(pathlib.Path(__file__).resolve().parents[3] / "python/scripts/program", tmp_path / "ffconvert")
    done = subprocess.run([sys.executable, script, "parquet", files, tmp_path / "other"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for split in ("train", "val"):
        assert ffkit.Dataset(tmp_path / "other", split=split).fingerprint == ffkit.Dataset(tmp_path / "set", split=split).fingerprint


def test_a_shuffled_set_has_the_same_samples(files, tmp_path):
    ffkit.convert.parquet(files, tmp_path / "set", shard_size=1 << 20)
    train = ffkit.Dataset(tmp_path / "set", split="train")
    numbers = [int(record["image/path"].split()[1].split(".")[0]) for record in train]
    assert numbers != sorted(numbers) and sorted(numbers) == list(range(NUM_SAMPLES))
    for index in range(0, NUM_SAMPLES, 5):
        check(train[index], sample(numbers[index]))


def write(path, columns, features=None, **options):
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = pyarrow.table(columns)
    if features is not None:
        rows = rows.cast(datasets.Features(features).arrow_schema)
    pyarrow.parquet.write_table(rows, path, **options)


def converted(src, dst, **options):
    """The splits by name, and the notes."""
    notes = []
    ffkit.convert.parquet(src, dst, order="sequential", on_note=notes.append, **options)
    return {split: ffkit.Dataset(dst, split=split) for split in ffkit.splits(dst)}, " ".join(notes)


def labelled(count, labels, begin=0):
    images = [{"bytes": picture(begin + i), "path": f"{i}.jpg"} for i in range(count)]
    return {"image": pyarrow.array(images, pyarrow.struct({"bytes": pyarrow.binary(), "path": pyarrow.string()})), "label": pyarrow.array(labels, pyarrow.int64())}


CATS = {"image": datasets.Image(), "label": datasets.ClassLabel(names=["cat", "dog"])}


def test_files_agree_by_the_names_of_their_columns(tmp_path):
    """In another order, behind dictionaries, with wide offsets, without metadata: 1,200 rows in four files."""
    count = NUM_SAMPLES // 4
    texts = [f"text {i}" for i in range(NUM_SAMPLES)]
    for file in range(4):
        begin = file * count
        columns = labelled(count, [(begin + i) % 2 for i in range(count)], begin)
        text = pyarrow.array(texts[begin : begin + count], pyarrow.large_string() if file == 1 else pyarrow.string())
        columns["text"] = text.dictionary_encode() if file == 2 else text
        columns["blob"] = pyarrow.array([value.as_py().encode() for value in text], pyarrow.large_binary() if file == 3 else pyarrow.binary())
        if file % 2:
            columns = dict(reversed(columns.items()))
        write(tmp_path / f"src/train-{file}.parquet", columns)
    schema = datasets.Features(CATS).arrow_schema.metadata
    for file in (0, 2):
        path = tmp_path / f"src/train-{file}.parquet"
        pyarrow.parquet.write_table(pyarrow.parquet.read_table(path).replace_schema_metadata(schema), path)
    splits, _ = converted(tmp_path / "src", tmp_path / "set")
    read = pyarrow.concat_tables([pyarrow.parquet.read_table(tmp_path / f"src/train-{file}.parquet", columns=["image", "label"]).select(["image", "label"]) for file in range(4)])
    assert list(splits["train"].classes) == ["cat", "dog"] and len(splits["train"]) == NUM_SAMPLES
    for number, (record, expected) in enumerate(zip(splits["train"], read.to_pylist())):
        assert bytes(record["image"]) == expected["image"]["bytes"] and record["image/path"] == expected["image"]["path"]
        assert record["label"] == expected["label"]
        assert record["text"] == texts[number] and bytes(record["blob"]).decode() == texts[number]


def test_other_names_of_classes_are_refused(tmp_path):
    write(tmp_path / "src/train-0.parquet", labelled(2, [0, 1]), CATS)
    write(tmp_path / "src/train-1.parquet", labelled(2, [0, 1]), CATS | {"label": datasets.ClassLabel(names=["dog", "cat"])})
    with pytest.raises(ffkit.Error, match="has other classes of 'label'"):
        converted(tmp_path / "src", tmp_path / "set")


def test_folders_of_values_are_columns(tmp_path):
    """As pyarrow writes and reads them."""
    kinds = ["cat", "dog", "a b/c", "eel"]
    rows = pyarrow.table({
        "image": [picture(i) for i in range(NUM_SAMPLES)],
        "number": list(range(NUM_SAMPLES)),
        "label": [kinds[i % 4] for i in range(NUM_SAMPLES)],
        "year": [2020 + i % 3 for i in range(NUM_SAMPLES)],
        "place": [None if i % 5 == 0 else f"place {i % 5}" for i in range(NUM_SAMPLES)],
    })  # fmt: skip
    pyarrow.parquet.write_to_dataset(rows, tmp_path / "src", partition_cols=["year", "label", "place"])
    (tmp_path / "src/_SUCCESS").write_bytes(b"")
    splits, notes = converted(tmp_path / "src", tmp_path / "set")
    assert "its 4 values are the classes" in notes
    assert list(splits["train"].classes) == sorted(kinds)
    records = {record["number"]: record for record in splits["train"]}
    read = pyarrow.parquet.read_table(tmp_path / "src")
    assert len(records) == len(read) == NUM_SAMPLES
    for expected in read.to_pylist():
        record = records[expected["number"]]
        assert bytes(record["image"]) == expected["image"]
        assert record["year"] == expected["year"] and record["place"] == expected["place"]
        assert sorted(kinds)[record["label"]] == expected["label"]
    # Splits are folders above, or one of the values.
    pyarrow.parquet.write_to_dataset(rows, tmp_path / "splits/train", partition_cols=["label"])
    pyarrow.parquet.write_to_dataset(rows.slice(0, 8), tmp_path / "splits/test", partition_cols=["label"])
    splits, _ = converted(tmp_path / "splits", tmp_path / "set2")
    assert {name: len(split) for name, split in splits.items()} == {"train": NUM_SAMPLES, "test": 8}
    named = rows.append_column("split", pyarrow.array([["train", "validation"][i % 2] for i in range(NUM_SAMPLES)]))
    pyarrow.parquet.write_to_dataset(named, tmp_path / "named", partition_cols=["split"])
    splits, _ = converted(tmp_path / "named", tmp_path / "set3")
    assert {name: len(split) for name, split in splits.items()} == {"train": NUM_SAMPLES // 2, "val": NUM_SAMPLES // 2}
    write(tmp_path / "named/other/a.parquet", {"number": [1]})
    with pytest.raises(ffkit.Error, match="has folders with the names of values, such as label=cat, and also parquet files"):
        converted(tmp_path / "named", tmp_path / "set4")


@pytest.mark.parametrize("labels", [None, [None, None], [-1, -1]])
def test_a_split_without_labels_has_none(tmp_path, labels):
    write(tmp_path / "src/data/train-00000-of-00001.parquet", labelled(3, [0, 1, 1]), CATS)
    test = labelled(2, labels or [0, 0])
    write(tmp_path / "src/data/test-00000-of-00001.parquet", test if labels else {"image": test["image"]}, CATS if labels else {"image": CATS["image"]})
    write(tmp_path / "src/data/dev-00000-of-00001.parquet", {name: column[:0] for name, column in labelled(1, [0]).items()}, CATS)
    splits, notes = converted(tmp_path / "src", tmp_path / "set")
    assert [record["label"] for record in splits["test"]] == [-1, -1]
    assert ("no row of 'test' has a label" in notes) == (labels != [-1, -1])
    assert [record["label"] for record in splits["train"]] == [0, 1, 1]
    assert "split 'dev' has no samples, and is left out" in notes and set(splits) == {"train", "test"}


def test_null_labels_among_others_are_bad_samples(tmp_path):
    write(tmp_path / "src/train.parquet", labelled(3, [0, 1, 1]), CATS)
    write(tmp_path / "src/test.parquet", labelled(2, [None, 1]), CATS)
    with pytest.raises(ffkit.Error, match="test.parquet: 0: column 'label': the record has no label"):
        converted(tmp_path / "src", tmp_path / "set")


def test_pandas_index_that_some_files_lack_is_left_out(tmp_path):
    write(tmp_path / "src/train-0.parquet", {"x": [1, 2]})
    write(tmp_path / "src/train-1.parquet", {"x": [3], "__index_level_0__": [17]})
    write(tmp_path / "src/train-2.parquet", {"x": pyarrow.nulls(0), "__index_level_0__": pyarrow.nulls(0)})
    splits, notes = converted(tmp_path / "src", tmp_path / "set")
    assert "'__index_level_0__', the row labels of pandas, is in 1 of 2 files" in notes
    assert [set(record) for record in splits["train"]] == [{"x", "id"}] * 3
    splits, _ = converted(tmp_path / "src/train-1.parquet", tmp_path / "set2")
    assert splits["train"][0]["__index_level_0__"] == 17


def test_pictures_as_lists_of_bytes(tmp_path):
    rows = [numpy.frombuffer(picture(i), numpy.uint8) for i in range(1000)]
    write(tmp_path / "a.parquet", {"image": pyarrow.array(rows, pyarrow.list_(pyarrow.uint8())), "other": pyarrow.array([row[4:] for row in rows], pyarrow.list_(pyarrow.uint8()))})
    splits, _ = converted(tmp_path / "a.parquet", tmp_path / "set")
    for record, row in zip(splits["train"], rows):
        assert bytes(record["image"]) == row.tobytes() and numpy.array_equal(record["other"], row[4:])


def test_paths_without_bytes_are_refused(tmp_path):
    images = pyarrow.array([{"bytes": None, "path": f"/pictures/{i}.jpg"} for i in range(3)], labelled(0, [])["image"].type)
    for name, features in (("plain", None), ("hub", CATS)):
        write(tmp_path / "a.parquet", {"image": images, "label": [0, 1, 0]}, features)
        with pytest.raises(ffkit.Error, match="holds the paths of files .'/pictures/0.jpg'. without their bytes"):
            converted(tmp_path / "a.parquet", tmp_path / name)
        splits, _ = converted(tmp_path / "a.parquet", tmp_path / name, columns=["image/path"])
        assert [record["image/path"] for record in splits["train"]] == [f"/pictures/{i}.jpg" for i in range(3)]
    # The way out that the message names.
    for i in range(3):
        (tmp_path / f"{i}.jpg").write_bytes(picture(i))
    images = pyarrow.array([{"bytes": None, "path": str(tmp_path / f"{i}.jpg")} for i in range(3)], images.type)
    write(tmp_path / "b.parquet", {"image": images, "label": [0, 1, 0]}, CATS)
    rows = datasets.load_dataset("parquet", data_files=str(tmp_path / "b.parquet"), split="train", cache_dir=str(tmp_path / "cache"))
    ffkit.convert.from_torch(rows, tmp_path / "taken", order="sequential", progress=False)
    assert [bytes(record["image"]) for record in ffkit.Dataset(tmp_path / "taken", "train")] == [picture(i) for i in range(3)]


def test_folders_between_and_hidden_files(tmp_path):
    write(tmp_path / "src/default/train/0000.parquet", labelled(2, [0, 1]), CATS)
    write(tmp_path / "src/default/test/0000.parquet", labelled(1, [0]), CATS)
    splits, notes = converted(tmp_path / "src", tmp_path / "set")
    assert "are below 'default'" in notes and len(splits["train"]) == 2 and len(splits["test"]) == 1
    write(tmp_path / "src/other/train/0000.parquet", labelled(2, [0, 1]), CATS)
    with pytest.raises(ffkit.Error, match="deeper, in 'default', 'other'; give one of these folders"):
        converted(tmp_path / "src", tmp_path / "set2")
    write(tmp_path / "table/part-0.pq", {"x": [1]})
    for name in ("_delta_log/0.checkpoint.parquet", "_metadata.parquet", ".part-0.parquet.crc"):
        (tmp_path / "table" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "table" / name).write_bytes(b"no rows")
    splits, notes = converted(tmp_path / "table", tmp_path / "set3")
    assert len(splits["train"]) == 1 and "is a table of Delta Lake" in notes


def test_what_is_no_parquet_file_is_named(tmp_path):
    for content, message in ((b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "is a Git LFS pointer, .*git lfs pull"), (b"<!DOCTYPE html><html>", "is an HTML page")):
        (tmp_path / "a.parquet").write_bytes(content)
        with pytest.raises(ffkit.Error, match=message):
            converted(tmp_path / "a.parquet", tmp_path / "set")
    pyarrow.parquet.write_table(pyarrow.table([[1], [2]], names=["a", "a"]), tmp_path / "a.parquet")
    with pytest.raises(ffkit.Error, match="has two columns 'a'"):
        converted(tmp_path / "a.parquet", tmp_path / "set")


def test_other_columns_than_in_the_first_file_are_refused(files, tmp_path):
    (tmp_path / "other").mkdir()
    pyarrow.parquet.write_table(pyarrow.table({"a": [1]}), tmp_path / "other/train-0.parquet")
    pyarrow.parquet.write_table(pyarrow.table({"a": ["x"]}), tmp_path / "other/train-1.parquet")
    with pytest.raises(ffkit.Error, match="has other columns than"):
        ffkit.convert.parquet(tmp_path / "other", tmp_path / "set")


def test_damaged_files_are_said(files, tmp_path):
    whole = next(files.glob("data/train-00000*")).read_bytes()
    for name, content in (("cut", whole[: len(whole) // 2]), ("text", b"no parquet"), ("empty", b"")):
        (tmp_path / f"{name}.parquet").write_bytes(content)
        with pytest.raises(ffkit.Error, match=f"{name}.parquet"):
            ffkit.convert.parquet(tmp_path / f"{name}.parquet", tmp_path / "set")


@pytest.mark.parametrize("options", [{"compression": "NONE"}, {"data_page_version": "2.0", "use_dictionary": False}])
def test_page_checksums_are_checked(tmp_path, options):
    """Where a file has them: a changed byte of a value is no other value."""
    table = pyarrow.table({"text": [f"text {i}" for i in range(100)], "number": list(range(100))})
    file = tmp_path / "a.parquet"
    pyarrow.parquet.write_table(table, file, write_page_checksum=True, **options)
    ffkit.convert.parquet(file, tmp_path / "whole")
    whole = bytearray(file.read_bytes())
    for number in range(2):
        column = pyarrow.parquet.ParquetFile(file).metadata.row_group(0).column(number)
        first = column.dictionary_page_offset or column.data_page_offset
        changed = whole.copy()
        changed[first + column.total_compressed_size - 3] ^= 1
        file.write_bytes(changed)
        with pytest.raises(ffkit.Error, match="a.parquet.*CRC checksum"):
            ffkit.convert.parquet(file, tmp_path / "set")
        file.write_bytes(whole)


def test_plain_columns(tmp_path):
    """Without Hugging Face's metadata: pictures by their bytes, texts behind dictionaries, times, and what is left out."""
    rows = pyarrow.table({
        "jpg": [picture(i) for i in range(20)],
        "kind": pyarrow.array([["a", "b"][i % 2] for i in range(20)]).dictionary_encode(),
        "when": pyarrow.array([i * 1000 for i in range(20)], pyarrow.timestamp("ms")),
        "price": pyarrow.array([None] * 20, pyarrow.decimal128(5, 2)),
        "id": [f"sample {i}" for i in range(20)],
        "large": pyarrow.array([f"text {i}" for i in range(20)], pyarrow.large_string()),
        "fixed": pyarrow.array([bytes([i] * 4) for i in range(20)], pyarrow.binary(4)),
        "people": [[{"name": f"n{j}", "age": j} for j in range(i % 3)] for i in range(20)],
    })  # fmt: skip
    pyarrow.parquet.write_table(rows, tmp_path / "plain.parquet")
    notes = []
    ffkit.convert.parquet(tmp_path / "plain.parquet", tmp_path / "set", order="sequential", on_note=notes.append)
    assert any("'price' (decimal numbers)" in note for note in notes)
    for number, record in enumerate(ffkit.Dataset(tmp_path / "set", split="train")):
        assert bytes(record["image"]) == picture(number)
        assert record["kind"] == ["a", "b"][number % 2]
        assert record["when"] == number * 1000
        assert record["id"] == f"sample {number}"
        assert record["large"] == f"text {number}"
        assert bytes(record["fixed"]) == bytes([number] * 4)
        assert list(record["people/name"]) == [f"n{j}" for j in range(number % 3)]
        assert record["people/age"].tolist() == list(range(number % 3))


def test_the_largest_sample_counts_lists(tmp_path):
    rows = {"x": [1, 2, 3, 4], "texts": [["a"], ["b" * 700] * 2, [], ["c"]], "numbers": [[1], [2], list(range(200)), []]}
    pyarrow.parquet.write_table(pyarrow.table(rows), tmp_path / "set.parquet")
    with pytest.raises(ffkit.Error, match="has 1408 bytes, more than the limit of 1024 bytes"):
        ffkit.convert.parquet(tmp_path / "set.parquet", tmp_path / "out", order="sequential", max_sample_bytes=1024)
    ffkit.convert.parquet(tmp_path / "set.parquet", tmp_path / "out", order="sequential", max_sample_bytes=1024, bad_samples="skip")
    assert [record["x"] for record in ffkit.Dataset(tmp_path / "out", split="train")] == [1, 4]


@pytest.mark.parametrize("by_files", [1, 2, "auto"])
def test_groups_of_files_give_the_same_records(files, tmp_path, by_files):
    ffkit.convert.parquet(files, tmp_path / "all", order="sequential")
    ffkit.convert.parquet(files, tmp_path / "groups", order="sequential", by_files=by_files)
    for split in ("train", "val"):
        at_once, by_groups = (ffkit.Dataset(tmp_path / name, split=split) for name in ("all", "groups"))
        assert at_once.schema == by_groups.schema and list(at_once.classes) == list(by_groups.classes)
        assert len(at_once) == len(by_groups)
        for number in range(len(at_once)):
            check(by_groups[number], sample(number if split == "train" else NUM_SAMPLES + number))
            assert by_groups[number]["id"] == at_once[number]["id"]
    ffkit.convert.parquet(files, tmp_path / "mixed", by_files=by_files)
    numbers = [int(record["image/path"].split()[1].split(".")[0]) for record in ffkit.Dataset(tmp_path / "mixed", split="train")]
    assert numbers != sorted(numbers) and sorted(numbers) == list(range(NUM_SAMPLES))


def test_groups_know_the_folders_of_others(tmp_path):
    kinds = ["cat", "dog", "eel"]
    rows = pyarrow.table({"number": list(range(90)), "label": [kinds[i % 3] for i in range(90)], "place": [None if i % 6 == 0 else str(i % 2) for i in range(90)]})
    pyarrow.parquet.write_to_dataset(rows, tmp_path / "src", partition_cols=["label", "place"])
    splits, _ = converted(tmp_path / "src", tmp_path / "all")
    groups, _ = converted(tmp_path / "src", tmp_path / "groups", by_files=1)
    assert list(groups["train"].classes) == list(splits["train"].classes) == kinds
    fields = ("number", "label", "place", "id")
    assert [[record[name] for name in fields] for record in groups["train"]] == [[record[name] for name in fields] for record in splits["train"]]


def test_a_split_without_the_labels_of_the_first_group_has_none(tmp_path):
    write(tmp_path / "src/data/train-00000-of-00002.parquet", labelled(3, [0, 1, 1]), CATS)
    write(tmp_path / "src/data/train-00001-of-00002.parquet", labelled(2, [1, 1]), CATS)
    write(tmp_path / "src/data/test-00000-of-00001.parquet", {"image": labelled(2, [0, 0])["image"]}, {"image": CATS["image"]})
    splits, notes = converted(tmp_path / "src", tmp_path / "set", by_files=1)
    assert [record["label"] for record in splits["test"]] == [-1, -1]
    assert sorted(record["label"] for record in splits["train"]) == [0, 1, 1, 1, 1]
    assert "no row of 'test' has a label" in notes
