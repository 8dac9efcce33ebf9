"""RecordIO of MXNet, compared record by record with a reader that follows dmlc-core and MXNet's recordio.py. (MXNet 1.9.1 itself does not go with NumPy 2; `bench/formats` reads with it.)"""
import io
import pathlib
import random
import re
import struct

import numpy as np
import PIL.Image
import pytest

import ffkit
import ffkit.convert

MAGIC = struct.pack("<I", 0xCED7230A)
NAMES_OF_PARTS = {"whole": 0, "first": 1, "between": 2, "last": 3}


def write_record(file, data):
    """As dmlc::RecordIOWriter::WriteRecord: cut at each aligned magic."""
    cuts = [i for i in range(0, len(data) - 3, 4) if data[i : i + 4] == MAGIC]
    pieces = [data[begin:end] for begin, end in zip([0, *(cut + 4 for cut in cuts)], [*cuts, len(data)])]
    for number, piece in enumerate(pieces):
        kind = "whole" if len(pieces) == 1 else "first" if number == 0 else "last" if number == len(pieces) - 1 else "between"
        file.write(MAGIC + struct.pack("<I", NAMES_OF_PARTS[kind] << 29 | len(piece)) + piece + bytes(-len(piece) % 4))


def read_records(path):
    """As dmlc::RecordIOReader::NextRecord."""
    records, parts = [], []
    with open(path, "rb") as file:
        while header := file.read(8):
            magic, word = struct.unpack("<4sI", header)
            assert magic == MAGIC
            kind, length = word >> 29, word & (1 << 29) - 1
            parts.append(file.read(length))
            file.read(-length % 4)
            if kind in (0, 3):
                records.append(MAGIC.join(parts))
                parts = []
    return records


def pack(labels, number, data, id2=0):
    """As mxnet.recordio.pack()."""
    if np.ndim(labels) == 0:
        return struct.pack("<IfQQ", 0, labels, number, id2) + data
    labels = np.asarray(labels, np.float32)
    return struct.pack("<IfQQ", labels.size, 0, number, id2) + labels.tobytes() + data


def unpack(record):
    """As mxnet.recordio.unpack()."""
    flag, label, number, id2 = struct.unpack("<IfQQ", record[:24])
    data = record[24:]
    if flag > 0:
        label, data = np.frombuffer(data, np.float32, flag), data[flag * 4 :]
    return label, number, id2, data


def picture(rng, number):
    size = rng.integers(4, 40, 2)
    file = io.BytesIO()
    PIL.Image.fromarray(rng.integers(0, 256, (*size, 3), np.uint8)).save(file, ["JPEG", "PNG", "WEBP"][number % 3])
    return file.getvalue() + (bytes(-file.tell() % 4) + MAGIC * (number % 3) if number % 4 == 0 else b"")


def write(path, records):
    keys = []
    with open(path, "wb") as file:
        for number, record in enumerate(records):
            keys.append(f"{number}\t{file.tell()}\n")
            write_record(file, record)
    path.with_suffix(".idx").write_text("".join(keys))


def converted(src, dst, **options):
    notes = []
    ffkit.convert.recordio(src, dst, order="sequential", progress=False, on_note=notes.append, **options)
    return ffkit.Dataset(dst, "train"), notes


def test_pictures_labels_and_names_are_those_of_the_files(tmp_path):
    rng = np.random.default_rng(1)
    src = tmp_path / "src"
    src.mkdir()
    for split, count in (("train", 1000), ("val", 200)):
        records = [pack(float(number % 7), 3 * number, picture(rng, number)) for number in range(count)]
        write(src / f"{split}.rec", records)
        lines = [f"{3 * number}\t{number % 7:f}\tclass {number % 7}/{number}.jpg\n" for number in range(count)]
        random.Random(1).shuffle(lines)
        (src / f"{split}.lst").write_text("".join(lines))
    train, _ = converted(src, tmp_path / "dst")
    for split, data in (("train", train), ("val", ffkit.Dataset(tmp_path / "dst", "val"))):
        expected = read_records(src / f"{split}.rec")
        assert len(expected) == len(data)
        for number, (record, found) in enumerate(zip(expected, data)):
            label, key, _, image = unpack(record)
            assert found == {"image": image, "label": int(label), "record_id": key, "id": f"class {number % 7}/{number}.jpg"}


@pytest.mark.parametrize("kind", ["several labels", "reals"])
def test_other_labels_stay_as_they_are(tmp_path, kind):
    rng = np.random.default_rng(2)
    labels = [rng.random(rng.integers(2, 9)) if kind == "several labels" else number / 8 for number in range(1000)]
    write(tmp_path / "train.rec", [pack(label, number, picture(rng, number), number % 5) for number, label in enumerate(labels)])
    data, notes = converted(tmp_path / "train.rec", tmp_path / "dst")
    expected = read_records(tmp_path / "train.rec")
    assert len(expected) == len(data) == 1000
    for record, found in zip(expected, data):
        label, number, id2, image = unpack(record)
        assert (found["image"], found["id"], found["id2"]) == (image, str(number), id2)
        if kind == "reals":
            assert np.float32(found["label"]) == np.float32(label)
        else:
            assert found["labels"].dtype == np.float32 and found["labels"].tolist() == label.tolist()
    assert any("the labels are stored as f32" in note for note in notes) == (kind == "reals")


def test_records_of_other_things_are_bytes(tmp_path):
    rng = np.random.default_rng(3)
    records = [rng.integers(0, 3, rng.integers(0, 200), np.uint8).tobytes() + MAGIC * (number % 4) for number in range(1000)]
    write(tmp_path / "train.rec", records)
    data, _ = converted(tmp_path / "train.rec", tmp_path / "dst")
    assert read_records(tmp_path / "train.rec") == records
    assert [found["data"] for found in data] == records
    assert [found["id"] for found in data] == [str(number) for number in range(1000)]


def test_random_damage_costs_what_it_hits(tmp_path):
    """Of a header in which a byte changes its own record is lost, and the one before it, whose length could be the wrong one; nothing else, and nothing wrong comes."""
    rng = np.random.default_rng(4)
    records = [pack(1.0, number, picture(rng, 1)) for number in range(50)]
    write(tmp_path / "a.rec", records)
    whole = (tmp_path / "a.rec").read_bytes()
    (tmp_path / "a.idx").unlink()
    starts = [match.start() for match in re.finditer(re.escape(MAGIC), whole)]
    for number in range(40):
        hit = starts[1 + number] + number % 8
        (tmp_path / "a.rec").write_bytes(whole[:hit] + bytes([whole[hit] ^ 0x55]) + whole[hit + 1 :])
        data, _ = converted(tmp_path / "a.rec", tmp_path / f"dst{number}", bad_samples="skip")
        found = [sample["image"] for sample in data]
        images = [unpack(record)[3] for record in records]
        missing = [i for i, image in enumerate(images) if image not in found]
        assert set(missing) <= {number, 1 + number} and set(found) <= set(images), number


def test_store_dct_part_and_dry_run_work(tmp_path):
    rng = np.random.default_rng(5)
    file = io.BytesIO()
    PIL.Image.fromarray(rng.integers(0, 256, (128, 128, 3), np.uint8)).save(file, "JPEG")
    write(tmp_path / "train.rec", [pack(float(number % 3), number, file.getvalue()) for number in range(300)])
    summary = ffkit.convert.recordio(tmp_path / "train.rec", tmp_path / "none", dry_run=True, progress=False, on_note=lambda _: None)
    assert summary.is_estimate and summary.splits[0].num_records == 300 and not (tmp_path / "none").exists()
    data, _ = converted(tmp_path / "train.rec", tmp_path / "dct", store="dct")
    assert data.conversion["store"] == "dct" and [sample["image"] for sample in data] == [file.getvalue()] * 300
    parts = [tmp_path / f"part{i}" for i in (1, 2)]
    for i, part in enumerate(parts, 1):
        ffkit.convert.recordio(tmp_path / "train.rec", part, order="sequential", part=f"{i}/2", shard_size="1M", progress=False, on_note=lambda _: None)
    assert sum(len(ffkit.Dataset(part, "train")) for part in parts if (pathlib.Path(part) / "train").exists()) == 300
