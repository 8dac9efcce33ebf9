"""ffkit.convert.yolo and voc, against label files that are read here by ElementTree and by hand."""

import io
import json
import random
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

import ffkit

PIL = pytest.importorskip("PIL.Image")


def picture(path, width=40, height=30, **options):
    path.parent.mkdir(parents=True, exist_ok=True)
    PIL.new("RGB", (width, height), (10, 200, 30)).save(path, **options)


def text(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)


def records(folder, split):
    dataset = ffkit.Dataset(folder, split)
    return {record["id"]: record for record in (dataset[i] for i in range(len(dataset)))}


def report(folder):
    return [json.loads(line)["reason"] for line in (Path(folder) / "report.jsonl").read_text().splitlines()]


DATA = "train: images/train\nval: images/val\nnames: [person, 'a, cat', dog]\n"


def yolo_set(root, data=DATA):
    text(root / "data.yaml", data)
    picture(root / "images/train/0.jpg", 64, 48)
    picture(root / "images/train/sub/1.png", 33, 57)
    picture(root / "images/train/2.png", 20, 20)
    picture(root / "images/val/x.jpg", 50, 40)
    text(root / "labels/train/0.txt", "0 0.5 0.5 0.25 0.5\r\n2 0.1 0.1 0.2 0.2\n")
    text(root / "labels/train/sub/1.txt", "1 0.1 0.2 0.5 0.6 0.3 0.9\n")
    text(root / "labels/val/x.txt", "")
    return root


def test_boxes_of_yolo(tmp_path):
    notes = []
    ffkit.convert.yolo(yolo_set(tmp_path / "src"), tmp_path / "dst", segmentation=["json", "semantic", "masks"], on_note=notes.append)
    train = records(tmp_path / "dst", "train")
    dataset = ffkit.Dataset(tmp_path / "dst", "train")
    assert list(dataset.classes) == ["person", "a, cat", "dog"] and list(dataset.class_ids) == [1, 2, 3]
    assert set(train) == {"0.jpg", "sub/1.png", "2.png"} and sorted(int(r["image_id"]) for r in train.values()) == [1, 2, 3]
    first = train["0.jpg"]
    np.testing.assert_array_equal(first["boxes"], np.float32([[24, 12, 16, 24], [0, 0, 12.8, 9.6]]))
    assert first["labels"].tolist() == [0, 2] and first["category_ids"].tolist() == [1, 3] and first["iscrowd"].tolist() == [0, 0]
    assert (first["annotation_ids"] % 1_000_000).tolist() == [1, 2] and (first["annotation_ids"] // 1_000_000 == first["image_id"]).all()
    np.testing.assert_allclose(first["area"], [16 * 24, 12.8 * 9.6], rtol=1e-6)
    assert (int(first["width"]), int(first["height"])) == (64, 48) and json.loads(first["segmentation"]) == [None, None]
    polygon = train["sub/1.png"]
    np.testing.assert_allclose(polygon["boxes"], [[3.3, 11.4, 13.2, 39.9]], rtol=1e-6)
    np.testing.assert_allclose(json.loads(polygon["segmentation"]), [[[3.3, 11.4, 16.5, 34.2, 9.9, 51.3]]])
    x, y = np.array([3.3, 16.5, 9.9]), np.array([11.4, 34.2, 51.3])
    np.testing.assert_allclose(polygon["area"], [abs(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2], rtol=1e-6)
    mask = np.array(PIL.open(io.BytesIO(bytes(polygon["semantic"]))))
    assert set(np.unique(mask)) == {0, 2} and abs((mask == 2).sum() - polygon["area"][0]) < 20  # the category of class 1
    assert train["2.png"]["boxes"].shape == (0, 4)
    assert any("1 of 3 pictures have no file of labels" in note for note in notes)
    assert records(tmp_path / "dst", "val")["x.jpg"]["boxes"].shape == (0, 4)


def test_bad_lines_cost_themselves(tmp_path):
    root = yolo_set(tmp_path / "src")
    bad = ["3 .1 .1 .1 .1", "-1 .1 .1 .1 .1", "0.5 .1 .1 .1 .1", "0 .1 .1 .1", "0 .1 .1 .1 .1 .1", "0 20 20 5 5", "0 .1 .1 0 .1", "0 nan .1 .1 .1", "dog .1 .1 .1 .1"]
    good = "1.0 0.5 0.5 0.5 0.5"
    text(root / "labels/train/0.txt", "\n".join([*bad, "", good, good]))
    (root / "labels/train/2.txt").write_bytes(b"\xff\xd8\xff\xe0 picture\n")
    ffkit.convert.yolo(root, tmp_path / "dst")
    first = records(tmp_path / "dst", "train")["0.jpg"]
    assert first["boxes"].tolist() == [[16, 12, 32, 24]] and first["labels"].tolist() == [1]
    assert first["annotation_ids"].tolist() == [1_000_000 * int(first["image_id"]) + len(bad) + 2]
    reasons = report(tmp_path / "dst")
    for line in [*range(1, len(bad) + 1), len(bad) + 3]:
        assert sum(reason.startswith(f"0.txt: line {line}: ") for reason in reasons) == 1
    assert any(reason.startswith("2.txt: line 1: ") for reason in reasons) and len(reasons) == len(bad) + 2


@pytest.mark.parametrize("width", [2, 3])
def test_key_points_of_yolo(tmp_path, width):
    root = yolo_set(tmp_path / "src", DATA + f"kpt_shape: [2, {width}]\nflip_idx: [1, 0]\n")
    points = "0.25 0.5 0 0 0 0" if width == 3 else "0.25 0.5 0 0"
    text(root / "labels/train/0.txt", f"0 0.5 0.5 0.25 0.5 {points}\n0 0.5 0.5 0.25 0.5\n")
    (root / "labels/train/sub/1.txt").unlink()
    ffkit.convert.yolo(root, tmp_path / "dst")
    first = records(tmp_path / "dst", "train")["0.jpg"]
    assert first["keypoints"].tolist() == [[[16, 24, 0], [0, 0, 0]]] if width == 3 else [[[16, 24, 2], [0, 0, 2]]]
    assert first["num_keypoints"].tolist() == [0 if width == 3 else 2]
    assert records(tmp_path / "dst", "train")["2.png"]["keypoints"].shape == (0, 2, 3)
    assert len(report(tmp_path / "dst")) == 1


@pytest.mark.parametrize(
    "data",
    [
        "path: {root}\ntrain: [images/train]\nval:\n  - images/val\ntest: # optional\nnames:\n  0: person\n  2: dog\n  1: \"a, cat\"\n",
        "\ufeffnc: 3\nnames: ['person',\n  'a, cat', # two\n  'dog']\ntrain: ../images/train\nval: ../images/val\nroboflow:\n  url: http://x\n",
        "%YAML 1.2\n---\npath: ../gone\ndownload: |\n  names: [1\nlicense: AGPL-3.0\nnames:\n- person\n- a, cat\n- dog\ntrain: train.txt\nval: val.txt\n",
        "train: ./images/train/\nval: images/val\nnames: {{0: person, 1: 'a, cat', 2: dog}}\ncolors: [\n[1, 2],\n]\n",
    ],
)
def test_forms_of_data_yaml(tmp_path, data):
    root = yolo_set(tmp_path / "src", data.format(root=tmp_path / "src"))
    text(root / "train.txt", f"./images/train/0.jpg\nimages/train/2.png\n{root}/images/train/sub/1.png\n\n")
    text(root / "val.txt", "images/val/x.jpg")
    ffkit.convert.yolo(root / "data.yaml", tmp_path / "dst")
    train = records(tmp_path / "dst", "train")
    assert sorted(name.split("/")[-1] for name in train) == ["0.jpg", "1.png", "2.png"]
    assert sorted(len(record["boxes"]) for record in train.values()) == [0, 1, 2]
    assert list(ffkit.Dataset(tmp_path / "dst", "val").classes) == ["person", "a, cat", "dog"]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ("train: images/train\n", "has no 'names' of classes"),
        (DATA + "nc: 4\n", "line 5: 'nc' is 4, but 'names' has 3 classes"),
        ("train: images/train\nnames: *x\n", "line 2: begins with '*', but ffkit does not read anchors"),
        ("train: images/train\nnames: {0: a, 2: b}\n", "each number from 0 to 1"),
        ("train: images/train\nnames: [a, [b]]\n", "a list inside a list"),
        ("train: images/train\nnames: [a, b\n", "has no ']'"),
        ("names: [a]\ntrain: pictures\n", "there is no such folder or list"),
        ("just a text\n", "has no ':' after it"),
        (DATA + "kpt_shape: [17]\n", "'kpt_shape' is not"),
    ],
)
def test_data_yaml_that_is_refused(tmp_path, data, says):
    with pytest.raises(ffkit.Error, match=says.replace("[", r"\[").replace("*", r"\*")):
        ffkit.convert.yolo(yolo_set(tmp_path / "src", data), tmp_path / "dst")
    assert not (tmp_path / "dst").exists()


def voc_file(objects, size=(40, 30)):
    def tag(name, value):
        return f"<{name}>{value}</{name}>"

    rows = []
    for name, box, more in objects:
        sides = "".join(tag(side, value) for side, value in zip(("xmax", "xmin", "ymax", "ymin"), (box[2], box[0], box[3], box[1])))
        rows.append(tag("object", tag("name", name) + "".join(tag(*item) for item in more.items()) + tag("bndbox", sides)))
    head = tag("size", tag("width", size[0]) + tag("height", size[1])) + tag("folder", "VOC2012")
    return f"<?xml version='1.0'?><!-- made -->\n<annotation verified='yes'>{head}{''.join(rows)}</annotation>"


def voc_set(root, random_numbers, count=6):
    names = [f"2007_{i:06}" for i in range(count)]
    for name in names:
        picture(root / f"JPEGImages/{name}.jpg")
        objects = []
        for _ in range(random_numbers.randrange(4)):
            left, top = random_numbers.randint(1, 30), round(random_numbers.uniform(1, 20), 1)
            box = (left, top, random_numbers.randint(left, 40), random_numbers.randint(int(top) + 1, 30))
            flags = {"difficult": random_numbers.randint(0, 1), "truncated": random_numbers.randint(0, 1), "pose": random_numbers.choice(["Left", "Frontal"])}
            objects.append((random_numbers.choice(["dog", "person", "aeroplane"]), box, flags))
        text(root / f"Annotations/{name}.xml", voc_file(objects))
    text(root / "ImageSets/Main/train.txt", "\n".join(names[:4]) + "\n")
    text(root / "ImageSets/Main/val.txt", "".join(f"{name}  1\n" for name in names[4:]))
    text(root / "ImageSets/Main/trainval.txt", "\n".join(names) + "\n")
    return names


def by_element_tree(path):
    objects = ElementTree.parse(path).getroot().findall("object")
    rows = []
    for item in objects:
        box = [float(item.find("bndbox").find(side).text) for side in ("xmin", "ymin", "xmax", "ymax")]
        rows.append((item.find("name").text, [box[0] - 1, box[1] - 1, box[2] - box[0] + 1, box[3] - box[1] + 1],
                     int(item.find("difficult").text), int(item.find("truncated").text), item.find("pose").text))  # fmt: skip
    return rows


def test_boxes_of_voc(tmp_path):
    root = tmp_path / "VOCdevkit/VOC2012"
    names = voc_set(root, random.Random(5), 40)
    ffkit.convert.voc(tmp_path / "VOCdevkit", tmp_path / "dst")
    found = {**records(tmp_path / "dst", "train"), **records(tmp_path / "dst", "val")}
    assert set(found) == {f"{name}.jpg" for name in names} and len(records(tmp_path / "dst", "val")) == 36
    classes = list(ffkit.Dataset(tmp_path / "dst", "train").classes)
    assert len(classes) == 20 and classes == sorted(classes) and list(ffkit.Dataset(tmp_path / "dst", "train").class_ids) == list(range(1, 21))
    for name in names:
        rows = by_element_tree(root / f"Annotations/{name}.xml")
        record = found[f"{name}.jpg"]
        assert [classes[label] for label in record["labels"]] == [row[0] for row in rows]
        np.testing.assert_allclose(record["boxes"], np.float32([row[1] for row in rows]).reshape(-1, 4), atol=1e-5)
        assert record["difficult"].tolist() == [row[2] for row in rows] and record["truncated"].tolist() == [row[3] for row in rows]
        assert json.loads(record["pose"]) == [row[4] for row in rows] and record["occluded"].tolist() == [0] * len(rows)
    ffkit.convert.voc(root, tmp_path / "edges", first_pixel=0, splits="trainval")
    rows = by_element_tree(root / f"Annotations/{names[1]}.xml")
    boxes = records(tmp_path / "edges", "trainval")[f"{names[1]}.jpg"]["boxes"]
    np.testing.assert_allclose(boxes, np.float32([[x + 1, y + 1, w - 1, h - 1] for x, y, w, h in (row[1] for row in rows)]).reshape(-1, 4), atol=1e-5)


def test_masks_and_bad_items_of_voc(tmp_path):
    root = tmp_path / "VOC2012"
    names = voc_set(root, random.Random(1))
    mask = PIL.fromarray(np.arange(40 * 30, dtype=np.uint8).reshape(30, 40) % 21, "P")
    mask.putpalette([value for i in range(256) for value in (i, 0, 255 - i)])
    for folder in ("SegmentationClass", "SegmentationObject"):
        (root / folder).mkdir()
        mask.save(root / folder / f"{names[0]}.png")
    bad = [("fish", (1, 1, 5, 5), {}), ("dog", (9, 1, 5, 5), {}), ("dog", (1, 1, "x", 5), {}), ("dog", (1, 2, 3, 4), {})]
    text(root / f"Annotations/{names[0]}.xml", voc_file(bad, (41, 30)))
    text(tmp_path / "classes.txt", "person\ndog\naeroplane\n")
    ffkit.convert.voc(root, tmp_path / "dst", segmentation="semantic,instances", classes=tmp_path / "classes.txt")
    train = records(tmp_path / "dst", "train")
    first = train[f"{names[0]}.jpg"]
    assert first["boxes"].tolist() == [[0, 1, 3, 3]] and first["labels"].tolist() == [1] and int(first["width"]) == 40
    assert bytes(first["semantic"]) == (root / f"SegmentationClass/{names[0]}.png").read_bytes()
    assert train[f"{names[1]}.jpg"]["instances"] is None
    reasons = report(tmp_path / "dst")
    assert len(reasons) == 4 and sum(names[0] + ".xml: object" in reason for reason in reasons) == 3
    text(root / f"Annotations/{names[1]}.xml", "<annotation><object></annotation>")
    with pytest.raises(ffkit.Error, match="closes <object> with </annotation>"):
        ffkit.convert.voc(root, tmp_path / "strict")
    assert len(records(tmp_path / "skipped", "train")) == 3 if ffkit.convert.voc(root, tmp_path / "skipped", bad_samples="skip") else False
    (root / f"Annotations/{names[1]}.xml").unlink()
    with pytest.raises(ffkit.Error, match="1 of the 4 annotations"):
        ffkit.convert.voc(root, tmp_path / "missing")
    ffkit.convert.voc(root, tmp_path / "missing", allow_missing=True)
    assert len(records(tmp_path / "missing", "train")) == 3


def test_voc_beside_pictures(tmp_path):
    for i, split in enumerate(("train", "valid")):
        picture(tmp_path / f"src/{split}/{i}.png")
        text(tmp_path / f"src/{split}/{i}.xml", voc_file([("zebra", (1, 1, 5, 5), {}), ("ant", (2, 2, 5, 5), {})]))
    ffkit.convert.voc(tmp_path / "src", tmp_path / "dst")
    assert records(tmp_path / "dst", "val")["1.png"]["labels"].tolist() == [1, 0]


def test_parts_and_resumption(tmp_path):
    root = yolo_set(tmp_path / "src")
    for i in range(30):
        (root / f"images/train/more{i}.jpg").write_bytes((root / "images/train/0.jpg").read_bytes() + bytes(70000))
        text(root / f"labels/train/more{i}.txt", f"1 0.5 0.5 0.{i + 10} 0.5\n")
    parts = [tmp_path / "part1", tmp_path / "part2"]
    for i, part in enumerate(parts):
        ffkit.convert.yolo(root, part, part=f"{i + 1}/2", splits="train", shard_size="1M")
    ffkit.convert.merge(tmp_path / "dst", parts)
    ffkit.convert.yolo(root, tmp_path / "whole", splits="train")
    merged = {name: record["boxes"].tolist() for name, record in records(tmp_path / "dst", "train").items()}
    assert len(merged) == 33 and merged == {name: record["boxes"].tolist() for name, record in records(tmp_path / "whole", "train").items()}
    ffkit.convert.yolo(root, tmp_path / "one", only=["sub/1.png"], splits="train")
    assert list(records(tmp_path / "one", "train")) == ["sub/1.png"]
    assert ffkit.convert.yolo(root, tmp_path / "none", dry_run=True) is not None and not (tmp_path / "none").exists()


def test_turned_pictures(tmp_path):
    root = yolo_set(tmp_path / "src")
    exif = PIL.Exif()
    exif[0x0112] = 6
    picture(root / "images/train/0.jpg", 64, 48, exif=exif)
    ffkit.convert.yolo(root, tmp_path / "dst", exif="apply")
    first = records(tmp_path / "dst", "train")["0.jpg"]
    assert (int(first["width"]), int(first["height"])) == (48, 64) and first["boxes"][0].tolist() == [18, 16, 12, 32]


def test_folder_names_both(tmp_path):
    root = yolo_set(tmp_path / "yolo")
    with pytest.raises(ffkit.Error, match="the source looks like YOLO, so use ffconvert yolo SRC DST"):
        ffkit.convert.folder(root, tmp_path / "dst")
    voc_set(tmp_path / "VOC2012", random.Random(2))
    with pytest.raises(ffkit.Error, match="the source looks like Pascal VOC, so use ffconvert voc SRC DST"):
        ffkit.convert.folder(tmp_path / "VOC2012", tmp_path / "dst")
