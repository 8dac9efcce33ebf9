"""A record is known by the bytes of its files, also in a set that was written from rows; and records are taken out."""

from __future__ import annotations

import io
import pickle
from pathlib import Path

import ffkit
import numpy as np
import pytest
from PIL import Image


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    for i in range(6):
        folder = tmp_path / "src" / "train" / ("cat" if i % 2 else "dog")
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.random.default_rng(i).integers(0, 255, (40, 50, 3), np.uint8)).save(folder / f"{i}.jpg")
    return tmp_path / "src"


@pytest.mark.parametrize("made", [{}, {"store": "dct"}, {"zstd": 3}, {"max_resolution": 20}])
@pytest.mark.parametrize("written", [{}, {"store": "dct"}])
def test_rows_that_are_written_anew_are_known(pictures: Path, tmp_path: Path, made: dict[str, object], written: dict[str, object]) -> None:
    ffkit.convert.folder(pictures, tmp_path / "a", progress=False, **made)  # type: ignore[arg-type]
    data = ffkit.Dataset(tmp_path / "a", "train")
    with ffkit.Writer(tmp_path / "b", schema=data.schema, classes=data.classes, **written) as writer:  # type: ignore[arg-type]
        for row in data.where("id != 'cat/1.jpg'"):
            writer.write({**row, "id": "other/" + row["id"]})
    with pytest.raises(ffkit.InvalidArgumentError, match=r"5 of its 5 records are already in the destination.*and '(cat|dog)/\d.jpg' there"):
        ffkit.convert.append(tmp_path / "a", [tmp_path / "b"], duplicate_ids=tmp_path / "ids")
    ids = (tmp_path / "ids").read_text().split()
    assert len(ids) == 5 and all(name.startswith("other/") for name in ids)
    ffkit.convert.append(tmp_path / "a", [tmp_path / "b"], duplicates="keep")
    assert len(ffkit.Dataset(tmp_path / "a", "train")) == 11


@pytest.mark.parametrize("more", [{}, {"store": "dct"}, {"max_resolution": 10}])
def test_rows_of_a_resized_set_are_known_by_what_they_were_made_from(pictures: Path, tmp_path: Path, more: dict[str, object]) -> None:
    ffkit.convert.folder(pictures, tmp_path / "a", progress=False)
    ffkit.convert.folder(pictures, tmp_path / "small", progress=False, max_resolution=20)
    data = ffkit.Dataset(tmp_path / "small", "train")
    rows = [pickle.loads(pickle.dumps(row)) for row in data.where("id != 'cat/1.jpg'")]
    with ffkit.Writer(tmp_path / "b", schema=data.schema, classes=data.classes, **more) as writer:  # type: ignore[arg-type]
        for row in rows:
            writer.write({**row, "id": "other/" + row["id"]})
    with pytest.raises(ffkit.InvalidArgumentError, match="5 of its 5 records are already in the destination"):
        ffkit.convert.append(tmp_path / "a", [tmp_path / "b"])
    again = ffkit.Dataset(tmp_path / "b", "train")
    with ffkit.Writer(tmp_path / "c", schema=data.schema, classes=data.classes) as writer:
        for row in again[1:]:
            writer.write(row)
    with pytest.raises(ffkit.InvalidArgumentError, match="6 of its 6 records are already in the destination|4 of its 6 records"):
        ffkit.convert.append(tmp_path / "c", [tmp_path / "a"])
    # Other pixels are another picture, and so is one of several files of a record.
    with ffkit.Writer(tmp_path / "d", schema=data.schema, classes=data.classes) as writer:
        for row in rows:
            writer.write({**row, "image": Image.fromarray(255 - np.asarray(Image.open(io.BytesIO(row["image"]))))})
    with ffkit.Writer(tmp_path / "e", schema={**data.schema, "more": "image"}) as writer:
        for row, other in zip(rows, rows[1:]):
            writer.write({**row, "more": other["image"]})
    ffkit.convert.append(tmp_path / "a", [tmp_path / "d"])
    two = ffkit.Dataset(tmp_path / "e", "train")
    with ffkit.Writer(tmp_path / "f", schema=data.schema, classes=data.classes) as writer:
        for row in two:
            writer.write({name: row[name] for name in data.schema})
    ffkit.convert.append(tmp_path / "a", [tmp_path / "f"])
    assert len(ffkit.Dataset(tmp_path / "a", "train")) == 15


def test_removed_records_are_in_no_file(pictures: Path, tmp_path: Path) -> None:
    ffkit.convert.folder(pictures, tmp_path / "a", license="CC BY 4.0", data_source="https://example.org", note="of a test", progress=False)
    data = ffkit.Dataset(tmp_path / "a", "train")
    assert [data.source[key] for key in ("license", "data_source", "note")] == ["CC BY 4.0", "https://example.org", "of a test"]
    (picture,) = [row["image"] for row in data if row["id"] == "cat/3.jpg"]
    removed = ffkit.convert.remove(tmp_path / "a", ["cat/3.jpg", "cat/9.jpg"])
    assert (removed.num_removed, removed.not_found) == (1, ("cat/9.jpg",))
    assert [split.num_records for split in removed.splits] == [5]
    files = [path.read_bytes() for path in (tmp_path / "a").rglob("*") if path.is_file()]
    assert not any(picture[-200:-20] in file or b"cat/3.jpg" in file for file in files)
    assert "cat/3.jpg" not in ffkit.Dataset(tmp_path / "a", "train").column("id")
    with pytest.raises(ffkit.NotFoundError, match="the data set has no records with the ids 'cat/3.jpg'"):
        ffkit.convert.remove(tmp_path / "a", ["cat/3.jpg"])
    with pytest.raises(ffkit.UnsupportedError, match="cannot be changed in place"):
        ffkit.convert.remove("s3://bucket/set", ["a"])
