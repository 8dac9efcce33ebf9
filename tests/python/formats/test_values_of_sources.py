"""What values in sources mean: labels as texts or inside of JSON, NaN, categories from 0, pictures in columns of bytes, masks, shapes."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path
from typing import Any

import ffkit
import numpy as np
import pytest
from PIL import Image


def png(array: Any) -> bytes:
    file = io.BytesIO()
    Image.fromarray(np.asarray(array, np.uint8)).save(file, "PNG")
    return file.getvalue()


def write_tar(path: Path, members: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w") as tar:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return path


def labels_of(path: Path) -> list[int]:
    return list(ffkit.Dataset(path, "train").column("label"))


def test_labels_of_webdataset_may_be_names(tmp_path: Path) -> None:
    tar = write_tar(tmp_path / "a.tar", {"0.png": png([[1]]), "0.cls": b"dog\n", "1.png": png([[2]]), "1.cls": b"0"})
    (tmp_path / "classes").write_text("cat\ndog\n")
    ffkit.convert.webdataset(tar, tmp_path / "out", classes=tmp_path / "classes", order="sequential", progress=False)
    assert labels_of(tmp_path / "out") == [1, 0]
    with pytest.raises(ffkit.Error, match="'dog', which is not a whole number; give the names of all classes, in the order of their numbers, with 'classes'"):
        ffkit.convert.webdataset(tar, tmp_path / "none", progress=False)
    (tmp_path / "classes").write_text("cat\ncow\n")
    with pytest.raises(ffkit.Error, match="neither a whole number nor one of the classes"):
        ffkit.convert.webdataset(tar, tmp_path / "none", classes=tmp_path / "classes", progress=False)


def test_labels_of_webdataset_may_be_in_json(tmp_path: Path) -> None:
    tar = write_tar(tmp_path / "a.tar", {"0.jfif": png([[1]]), "0.json": b'{"a": NaN, "class": 3}', "1.jfif": png([[2]]), "1.json": b'{"class": "4"}'})
    ffkit.convert.webdataset(tar, tmp_path / "out", label_key="class", order="sequential", progress=False)
    assert labels_of(tmp_path / "out") == [3, 4]
    assert "image" in ffkit.Dataset(tmp_path / "out", "train").schema
    with pytest.raises(ffkit.Error, match="for the member 'label' that label_key names"):
        ffkit.convert.webdataset(tar, tmp_path / "none", label_key="label", progress=False)


def coco(folder: Path, categories: list[int], **annotation: Any) -> Path:
    (folder / "pictures").mkdir(parents=True)
    (folder / "pictures/1.png").write_bytes(png(np.zeros((8, 8, 3))))
    annotations = [
        {"id": i + 1, "image_id": 1, "category_id": category, "bbox": [2 * i, 0, 2, 2], "segmentation": [[2 * i, 0, 2 * i + 2, 0, 2 * i + 2, 2, 2 * i, 2]], **annotation}
        for i, category in enumerate(categories)
    ]
    file = folder / "instances_train.json"
    file.write_text(json.dumps({
        "images": [{"id": 1, "file_name": "1.png", "width": 8, "height": 8}], "annotations": annotations, "categories": [{"id": i, "name": f"c{i}"} for i in set(categories)],
    }))  # fmt: skip
    return file


@pytest.mark.parametrize("ids,none", [([0, 1], 255), ([0, 255], 65535), ([1, 2], 0)])
def test_a_category_0_has_pixels(tmp_path: Path, ids: list[int], none: int) -> None:
    file = coco(tmp_path / "src", ids)
    mask = np.asarray(Image.open(io.BytesIO(_convert(file, tmp_path / "out")["semantic"])))
    assert [mask[0, 0], mask[0, 2], mask[7, 7]] == [*ids, none]


def _convert(file: Path, out: Path) -> dict[str, Any]:
    ffkit.convert.coco(file.parent, out, annotations=file, images=file.parent / "pictures", segmentation="semantic", progress=False, on_note=lambda _: None)
    row: dict[str, Any] = ffkit.Dataset(out, "train")[0]
    return row


def test_nan_is_named_with_its_place(tmp_path: Path) -> None:
    file = coco(tmp_path / "src", [1], keypoints=[1.0, float("nan"), 2])
    _convert(file, tmp_path / "out")
    assert "keypoints" in (tmp_path / "out/report.jsonl").read_text()
    assert not np.asarray(ffkit.Dataset(tmp_path / "out", "train")[0]["keypoints"]).any()


def test_columns_of_bytes_may_be_pictures(tmp_path: Path) -> None:
    MDSWriter = pytest.importorskip("streaming").MDSWriter

    with MDSWriter(out=str(tmp_path / "mds"), columns={"picture": "bytes", "label": "int"}) as writer:
        for i in range(3):
            writer.write({"picture": png([[i]]), "label": i})
    ffkit.convert.mds(tmp_path / "mds", tmp_path / "out", progress=False, on_note=lambda _: None)
    assert [field.type for field in ffkit.Dataset(tmp_path / "out", "train").schema.values()][0] == "image"


def test_fill_of_panoptic_numbers_is_no_segment(tmp_path: Path) -> None:
    with ffkit.Writer(tmp_path / "set") as writer:
        writer.write({"image": png(np.zeros((2, 4, 3))), "mask": png(np.full((2, 4, 3), 7))})
    data = ffkit.Dataset(tmp_path / "set", "train")

    def corner(**options: Any) -> int:
        padded = ffkit.Compose([ffkit.Resize((4, 4)), ffkit.Pad(2)])
        fields = {"mask": ffkit.MaskField("mask", dtype="i32", numbers="panoptic", **options)}
        batch = next(iter(ffkit.Loader(data, 1, views={"image": padded}, fields=fields, label_field=None)))
        return int(np.asarray(batch["mask"])[0, 0, 0])

    assert [corner(), corner(fill=9)] == [0, 9]


def test_a_copy_field_takes_the_shape_of_the_records(tmp_path: Path) -> None:
    with ffkit.Writer(tmp_path / "set") as writer:
        for i in range(4):
            writer.write({"image": png([[i]]), "labels": np.arange(3, dtype=np.float32) + i})
    data = ffkit.Dataset(tmp_path / "set", "train")
    loader = ffkit.Loader(data, 4, image=ffkit.Resize((2, 2)), fields={"labels": ffkit.CopyField("labels")}, label_field=None, order="sequential")
    assert np.asarray(next(iter(loader))["labels"]).tolist() == [[i, i + 1, i + 2] for i in range(4)]
