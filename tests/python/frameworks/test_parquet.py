"""Parquet files as Hugging Face's datasets write and read them, beside what ffkit makes of them."""
import io
import os
import random
import subprocess

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
    ffkit.convert.parquet(files, tmp_path / "set", order="source")
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


@pytest.mark.parametrize("order", ["source", "shuffled"])
def test_the_program_reads_them_by_its_module(files, tmp_path, order):
    ffkit.convert.parquet(files, tmp_path / "set", order=order)
    done = subprocess.run([os.environ["FFKIT_FFCONVERT"], "parquet", files, tmp_path / "other", "--order", order], capture_output=True, text=True)
    if "libffkit_parquet.so is not here" in done.stderr:
        pytest.skip("ffconvert was built without -DFFKIT_PARQUET=ON")
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
    ffkit.convert.parquet(tmp_path / "plain.parquet", tmp_path / "set", order="source", on_note=notes.append)
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


def test_nulls_in_lists_are_bad_samples(tmp_path):
    pyarrow.parquet.write_table(pyarrow.table({"x": [[1, 2], [3, None], None]}), tmp_path / "a.parquet")
    with pytest.raises(ffkit.Error, match="a.parquet: 1: column 'x': a list has a null in it"):
        ffkit.convert.parquet(tmp_path / "a.parquet", tmp_path / "set", order="source")
    summary = ffkit.convert.parquet(tmp_path / "a.parquet", tmp_path / "set", order="source", on_error="skip")
    assert summary.splits[0].num_skipped == 1
    records = list(ffkit.Dataset(tmp_path / "set", split="train"))
    assert records[0]["x"].tolist() == [1, 2] and records[1]["x"] is None


def test_the_largest_sample_counts_lists(tmp_path):
    rows = {"x": [1, 2, 3, 4], "texts": [["a"], ["b" * 700] * 2, [], ["c"]], "numbers": [[1], [2], list(range(200)), []]}
    pyarrow.parquet.write_table(pyarrow.table(rows), tmp_path / "set.parquet")
    with pytest.raises(ffkit.Error, match="has 1408 bytes, and a sample may have 1024"):
        ffkit.convert.parquet(tmp_path / "set.parquet", tmp_path / "out", order="source", max_sample_bytes=1024)
    ffkit.convert.parquet(tmp_path / "set.parquet", tmp_path / "out", order="source", max_sample_bytes=1024, on_error="skip")
    assert [record["x"] for record in ffkit.Dataset(tmp_path / "out", split="train")] == [1, 4]
