"""TFRecord files as the package `tfrecord` writes and reads them, beside what ffkit makes of them."""
import gzip
import io
import random

import numpy
import PIL.Image
import pytest
from tfrecord.reader import tfrecord_loader
from tfrecord.writer import TFRecordWriter

import ffkit
import ffkit.convert

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # notes
NUM_SAMPLES = 1200


def picture(number):
    generator = numpy.random.default_rng(number)
    pixels = generator.integers(0, 256, (8 + number % 9, 8 + number % 7, 3), dtype=numpy.uint8)
    file = io.BytesIO()
    PIL.Image.fromarray(pixels).save(file, "PNG" if number % 5 == 0 else "JPEG")
    return file.getvalue()


def sample(number):
    generator = random.Random(number)
    return {
        "image/encoded": (picture(number), "byte"),
        "image/class/label": (number % 1000 + 1, "int"),
        "image/class/text": (f"Klasse {number} \u00fc".encode(), "byte"),
        "image/object/bbox/xmin": ([generator.random() for _ in range(number % 4)], "float"),
        "image/object/bbox/label": ([generator.randrange(-(1 << 40), 1 << 40) for _ in range(number % 4)], "int"),
        "score": (generator.random(), "float"),
        "raw": (bytes(generator.randrange(256) for _ in range(number % 50)) + b"\xff", "byte"),
    }


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tfrecord")
    for shard in range(3):
        writer = TFRecordWriter(str(folder / f"set-train.tfrecord-{shard:05d}-of-00003"))
        for number in range(shard * NUM_SAMPLES // 3, (shard + 1) * NUM_SAMPLES // 3):
            writer.write(sample(number))
        writer.close()
    writer = TFRecordWriter(str(folder / "set-validation.tfrecord-00000-of-00001"))
    for number in range(NUM_SAMPLES, NUM_SAMPLES + 50):
        writer.write(sample(number))
    writer.close()
    return folder


def as_array(value):
    return numpy.atleast_1d(numpy.asarray(value)).ravel() if value is not None else numpy.empty(0)


def test_every_feature_of_every_sample_is_that_of_the_files(files, tmp_path):
    ffkit.convert.tfrecord(files, tmp_path / "set", label_offset=-1, order="sequential")
    train = ffkit.Dataset(tmp_path / "set", split="train")
    assert len(train) == NUM_SAMPLES
    number = 0
    for shard in range(3):
        name = f"set-train.tfrecord-{shard:05d}-of-00003"
        for row, expected in enumerate(tfrecord_loader(str(files / name), None, None)):
            record = train[number]
            assert record["id"] == f"{name}: {row}"
            assert bytes(record["image"]) == expected["image/encoded"]
            assert record["label"] == as_array(expected["image/class/label"])[0] - 1
            assert record["image/class/text"].encode() == expected["image/class/text"]
            assert bytes(record["raw"]) == expected["raw"]
            assert numpy.float32(record["score"]) == as_array(expected["score"])[0]
            for feature, dtype in (("image/object/bbox/xmin", numpy.float32), ("image/object/bbox/label", numpy.int64)):
                values = as_array(expected.get(feature))
                assert record[feature].dtype == dtype
                assert numpy.array_equal(record[feature], values.astype(dtype))
            number += 1
    assert number == NUM_SAMPLES
    assert len(ffkit.Dataset(tmp_path / "set", split="val")) == 50


def test_gzip_is_the_same(files, tmp_path):
    (tmp_path / "packed").mkdir()
    for file in files.iterdir():
        (tmp_path / "packed" / f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes(), 1))
    ffkit.convert.tfrecord(files, tmp_path / "plain_set", order="sequential")
    ffkit.convert.tfrecord(tmp_path / "packed", tmp_path / "packed_set", order="sequential")
    plain, packed = (ffkit.Dataset(tmp_path / name, split="train") for name in ("plain_set", "packed_set"))
    assert len(plain) == len(packed) == NUM_SAMPLES
    for number in range(0, NUM_SAMPLES, 7):
        assert bytes(plain[number]["image"]) == bytes(packed[number]["image"])
        assert plain[number]["label"] == packed[number]["label"]


def test_parts_are_the_whole(files, tmp_path):
    ffkit.convert.tfrecord(files, tmp_path / "whole", shard_size=1 << 20)
    for part in (1, 2):
        ffkit.convert.tfrecord(files, tmp_path / f"part{part}", shard_size=1 << 20, part=f"{part}/2")
    ffkit.convert.merge(tmp_path / "merged", [tmp_path / "part1", tmp_path / "part2"])
    assert ffkit.Dataset(tmp_path / "whole", split="train").fingerprint == ffkit.Dataset(tmp_path / "merged", split="train").fingerprint
