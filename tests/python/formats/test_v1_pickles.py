"""FFRecord v1 as its own example writes it: pickles of pictures, labels and what else a data set of torch gives."""

from __future__ import annotations

import collections
import gzip
import io
import json
import pickle
import re
import struct
import zlib
from pathlib import Path
from typing import Any

import ffkit
import numpy as np
import pytest
from PIL import Image


def write_v1(path: Path, records: list[bytes]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    offsets, at = [], 12 + 12 * len(records)
    for record in records:
        offsets.append(at)
        at += len(record)
    head = struct.pack("<q", len(records)) + b"".join(struct.pack("<I", zlib.crc32(record)) for record in records)
    head += b"".join(struct.pack("<q", offset) for offset in offsets)
    path.write_bytes(struct.pack("<I", zlib.crc32(head)) + head + b"".join(records))
    return path.parent


def pixels(i: int) -> Any:
    return np.random.default_rng(i).integers(0, 255, (5 + i, 7, 3), np.uint8)


def jpeg(i: int) -> bytes:
    file = io.BytesIO()
    Image.fromarray(pixels(i)).save(file, "JPEG")
    return file.getvalue()


def converted(source: Path, **options: Any) -> list[dict[str, Any]]:
    ffkit.convert.v1(source, source.with_suffix(".out"), order="sequential", progress=False, **options)
    (split,) = [path for path in source.with_suffix(".out").iterdir() if path.is_dir()]
    return list(ffkit.Dataset(split))


def decoded(picture: bytes) -> Any:
    return np.asarray(Image.open(io.BytesIO(picture)))


@pytest.mark.parametrize("protocol", [3, 4, 5])
def test_pictures_of_pil_and_labels_become_fields(tmp_path: Path, protocol: int) -> None:
    records = [pickle.dumps((Image.fromarray(pixels(i)), i), protocol) for i in range(4)]
    rows = converted(write_v1(tmp_path / "train" / "0.ffr", records))
    assert [row["label"] for row in rows] == [0, 1, 2, 3]
    assert all((decoded(row["image"]) == pixels(i)).all() for i, row in enumerate(rows))


@pytest.mark.parametrize("protocol", [3, 4, 5])
def test_labels_may_come_first_and_be_numpys(tmp_path: Path, protocol: int) -> None:
    records = [pickle.dumps((kind(3), Image.fromarray(pixels(1)).convert("L")), protocol) for kind in (np.int64, np.int32, np.uint8, int)]
    rows = converted(write_v1(tmp_path / "train" / "0.ffr", records))
    assert [row["label"] for row in rows] == [3] * 4
    assert (decoded(rows[0]["image"]) == np.asarray(Image.fromarray(pixels(1)).convert("L"))).all()


@pytest.mark.parametrize("protocol", [3, 4, 5])
def test_dicts_have_a_field_for_each_value(tmp_path: Path, protocol: int) -> None:
    def sample(i: int) -> dict[str, Any]:
        return {
            "img": pixels(i), "jpg": jpeg(i), "target": np.int16(-i), "weight": np.float32(i / 2), "name": f"n{i}", "vector": np.arange(4, dtype=np.float32) + i,
            "share": i / 4, "ok": i == 1, "raw": b"\x01" * i,
        }  # fmt: skip

    rows = converted(write_v1(tmp_path / "train" / "0.ffr", [pickle.dumps(sample(i), protocol) for i in range(3)]))
    for i, row in enumerate(rows):
        assert (decoded(row["img"]) == pixels(i)).all()
        assert row["jpg"] == jpeg(i)
        assert [row[name] for name in ("target", "weight", "name", "share", "ok", "raw")] == [-i, i / 2, f"n{i}", i / 4, i == 1, b"\x01" * i]
        assert row["vector"].tolist() == [i, i + 1, i + 2, i + 3]


def test_files_of_pictures_are_pictures(tmp_path: Path) -> None:
    rows = converted(write_v1(tmp_path / "train" / "0.ffr", [jpeg(i) for i in range(3)]))
    assert [row["image"] for row in rows] == [jpeg(i) for i in range(3)]


def test_a_record_that_is_no_picture_among_pictures_is_a_bad_sample(tmp_path: Path) -> None:
    source = write_v1(tmp_path / "train" / "0.ffr", [jpeg(0), pickle.dumps((jpeg(1), 1)), jpeg(2)])
    with pytest.raises(ffkit.CorruptError, match="the record is not a picture, but the others are") as raised:
        converted(source)
    assert raised.value.record == 1
    assert [row["image"] for row in converted(source, bad_samples="skip")] == [jpeg(0), jpeg(2)]


def test_numbers_of_more_than_64_bits_are_not_zero(tmp_path: Path) -> None:
    source = write_v1(tmp_path / "train" / "0.ffr", [pickle.dumps((jpeg(0), number)) for number in (5, 2**70, -(2**63))])
    with pytest.raises(ffkit.UnsupportedError, match="an integer of more than 64 bits cannot be a value of a field"):
        converted(source)
    assert [row["label"] for row in converted(source, bad_samples="skip")] == [5, -(2**63)]
    source = write_v1(tmp_path / "big" / "0.ffr", [pickle.dumps((jpeg(0), 2**70))])
    with pytest.warns(UserWarning, match="read as bytes: record 0: an integer of more than 64 bits"):
        assert [*converted(source)[0]] == ["data"]


def test_a_record_of_another_payload_is_a_bad_sample(tmp_path: Path) -> None:
    records = [pickle.dumps((jpeg(i), i)) for i in range(3)] + [pickle.dumps((jpeg(3), "x", 3))]
    source = write_v1(tmp_path / "train" / "0.ffr", records)
    with pytest.raises(ffkit.CorruptError, match="a pickle of 3 values, but the others are pickles of image, label") as raised:
        converted(source)
    assert raised.value.record == 3
    assert len(converted(source, bad_samples="skip")) == 3


def test_a_file_of_another_payload_is_named(tmp_path: Path) -> None:
    for name in ("0", "1", "2"):
        write_v1(tmp_path / "train" / f"{name}.ffr", [b"plain"] if name == "1" else [pickle.dumps((jpeg(1), 1))])
    with pytest.warns(UserWarning, match=r"1\.ffr: its records are bytes, as in 1 of 3 files; all files are read as pickles of image, label"):
        assert [row["label"] for row in converted(tmp_path / "train", bad_samples="skip")] == [1, 1]


def test_what_is_no_plain_value_is_said(tmp_path: Path) -> None:
    source = write_v1(tmp_path / "train" / "0.ffr", [pickle.dumps((jpeg(1), collections.Counter("a")))])
    with pytest.warns(UserWarning, match=r"read as bytes: record 0: an object of collections\.Counter is not a plain value"):
        assert [*converted(source)[0]] == ["data"]


def npy(array: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def test_files_of_numpy_are_arrays(tmp_path: Path) -> None:
    rows = converted(write_v1(tmp_path / "train" / "0.ffr", [npy(np.arange(6, dtype=np.float32).reshape(2, 3) + i) for i in range(3)]))
    assert [row["value_0"].tolist() for row in rows] == [[[i, i + 1, i + 2], [i + 3, i + 4, i + 5]] for i in range(3)]
    rows = converted(write_v1(tmp_path / "pictures" / "0.ffr", [npy(pixels(i)) for i in range(3)]))
    assert all((decoded(row["image"]) == pixels(i)).all() for i, row in enumerate(rows))


def test_strings_of_python_2_are_bytes(tmp_path: Path) -> None:
    records = [b"\x80\x02T" + struct.pack("<I", len(jpeg(i))) + jpeg(i) + b"q\x01K" + bytes([i]) + b"\x86q\x02." for i in range(3)]
    rows = converted(write_v1(tmp_path / "train" / "0.ffr", records))
    assert [(row["image"], row["label"]) for row in rows] == [(jpeg(i), i) for i in range(3)]


@pytest.mark.parametrize(
    ("record", "said"),
    [
        (json.dumps({"a": 1}).encode(), "a JSON text; in Python, ffkit.convert.from_iterable"),
        (b"[1, 2]", "a JSON text"),
        (pickle.dumps((b"\xff\xd8", 1), 0), "a pickle of protocol 2 or older"),
        (pickle.dumps({"a": 1}, 0), "a pickle of protocol 2 or older"),
        (pickle.dumps((jpeg(1), 1), 1), "a pickle of protocol 2 or older"),
        (pickle.dumps((np.arange(3), 1), 2), "a pickle of protocol 2 or older"),
        (npy(np.arange(3, dtype=">f4")), "ffkit does not support numbers of the NumPy type '>f4'"),
        (gzip.compress(b"x"), "gzip data"),
    ],
)
def test_what_becomes_bytes_is_said(tmp_path: Path, record: bytes, said: str) -> None:
    source = write_v1(tmp_path / "train" / "0.ffr", [record, record])
    with pytest.warns(UserWarning, match=rf"read as bytes: record 0: {re.escape(said)}"):
        assert [row["data"] for row in converted(source)] == [record, record]
    # Among others it is a bad sample, which says the same.
    source = write_v1(tmp_path / "more" / "0.ffr", [pickle.dumps((jpeg(0), 0)), record])
    with pytest.raises(ffkit.Error, match=rf"the record does not match the others, which are pickles of image, label: {re.escape(said)}"):
        converted(source)


@pytest.mark.parametrize("first", [b"", b'{"a": 1}', pickle.dumps((jpeg(1), 1))[:-9], pickle.dumps((jpeg(1), None))])
def test_one_odd_record_does_not_make_all_bytes(tmp_path: Path, first: bytes) -> None:
    source = write_v1(tmp_path / "train" / "0.ffr", [first, *(pickle.dumps((jpeg(i), i)) for i in range(3))])
    rows = converted(source, bad_samples="skip")
    assert [row["label"] for row in rows][-3:] == [0, 1, 2]
    source = write_v1(tmp_path / "blobs" / "0.ffr", [b"x", jpeg(1), b"y", b"z"])
    assert [row["data"] for row in converted(source)] == [b"x", jpeg(1), b"y", b"z"]


def test_a_json_file_among_others_is_named(tmp_path: Path) -> None:
    for name in ("0", "1", "2"):
        write_v1(tmp_path / "train" / f"{name}.ffr", [b'{"a": 1}'] if name == "1" else [pickle.dumps((jpeg(1), 1))])
    with pytest.warns(UserWarning, match=r"1\.ffr: its records are bytes \(record 0: a JSON text.*\), as in 1 of 3 files; all files are read as pickles of image, label"):
        assert [row["label"] for row in converted(tmp_path / "train", bad_samples="skip")] == [1, 1]
