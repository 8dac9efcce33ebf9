"""Data sets that the pages show."""
import io
import json
import os
import random
import subprocess

import numpy as np
import PIL.Image

import ffkit

TEXTS = ["The first document is short. ", "The second one, too: grüße! ", "<b>The third</b> looks like a page. "]
MARKED = 12
CUT, COPY = 5, 9  # the record whose picture is cut off, and the one that is equal to record 2


def convert(*arguments):
    subprocess.run([os.environ["FFKIT_FFCONVERT"], *map(str, arguments)], check=True, capture_output=True)


def write_results(data, split, file):
    """What a network may have found: four fifths are right, the next class is the usual mistake."""
    dataset = ffkit.Dataset(data, split)
    labels, ids = dataset.column("label").tolist(), list(dataset.column("id"))
    names = [str(name) for name in dataset.classes]
    draw = random.Random(1)
    with open(file, "w") as out:
        for record, label in enumerate(labels):
            right = draw.random() < 0.8
            found = label if right else (label + draw.choice([1, 1, 1, 3])) % len(names)
            line = {"id": ids[record], "record": record, "class": names[found], "score": round(draw.uniform(0.4, 1), 4), "label": names[label], "loss": round(draw.uniform(0, 2) + 3 * (not right), 3)}
            out.write(json.dumps(line) + "\n")


def write_coco(root, results):
    """COCO's layout with three pictures of two boxes, and results: in the first picture a kite that is there and a boat elsewhere."""
    (root / "val2017").mkdir(parents=True)
    (root / "annotations").mkdir()
    draw = np.random.default_rng(4)
    images, annotations = [], []
    for number in range(3):
        name = f"{number:012}.jpg"
        (root / "val2017" / name).write_bytes(encoded(draw.integers(40, 220, (120, 160, 3), np.uint8)))
        images.append({"id": 100 + number, "file_name": name, "width": 160, "height": 120})
        for category, box in (7, [30, 20, 60, 40]), (9, [100, 70, 40, 30]):
            x, y, width, height = box
            corners = [x, y, x + width, y, x + width, y + height, x, y + height]
            annotations.append({"id": len(annotations), "image_id": 100 + number, "category_id": category, "bbox": box, "area": width * height, "iscrowd": 0, "segmentation": [corners]})
    categories = [{"id": 7, "name": "kite"}, {"id": 9, "name": "boat"}]
    (root / "annotations/instances_val2017.json").write_text(json.dumps({"images": images, "annotations": annotations, "categories": categories}))
    found = [([31, 21, 60, 40], 7, 0.9), ([5, 5, 20, 15], 9, 0.6)]
    results.write_text(json.dumps([{"image_id": 100, "category_id": category, "bbox": box, "score": score} for box, category, score in found]))


def encoded(array, kind="JPEG"):
    file = io.BytesIO()
    PIL.Image.fromarray(array).save(file, kind)
    return file.getvalue()


def write_marked(folder):
    schema = {"image": "image", "mask": "image", "boxes": "tensor[f32]", "labels": "tensor[i64]", "joints": "tensor[f32]", "id": "string", "weight": "f64"}
    draw = np.random.default_rng(3)
    first = None
    with ffkit.Writer(folder, schema=schema) as writer:
        for record in range(MARKED):
            picture = encoded(np.kron(draw.integers(40, 220, (6, 8, 3), np.uint8), np.ones((20, 20, 1), np.uint8)))
            first = picture if record == 2 else first
            if record == COPY:
                picture = first
            mask = np.zeros((120, 160), np.uint8)
            mask[20:60, 30:90] = 1 + record % 3
            writer.write({
                "image": picture[: len(picture) // 3] if record == CUT else picture, "mask": encoded(mask, "PNG"),
                "boxes": np.array([[30, 20, 60, 40], [100, 70, 40, 30]], np.float32), "labels": np.array([0, 1]),
                "joints": np.array([[20, 100, 1], [40, 110, 0], [60, 100, 1]], np.float32), "id": f"picture <{record}>", "weight": record / 4,
            })  # fmt: skip


def write_table(folder):
    """120 records without pictures: a column with an odd name, one of large numbers, nan, texts without a column, vectors; a name of 70 characters and one from right to left."""
    names = ["long " * 14, "שלום עולם", "c"]
    schema = {"id": ffkit.Field("string", column=True), "label": "i64", "a b": "i32", "weight": "f32", "large": "u64", "text": ffkit.Field("string"), "vector": "tensor[f32]"}
    draw = np.random.default_rng(5)
    with ffkit.Writer(folder, schema=schema, classes=["l", "r", "c"], class_names=names) as writer:
        for record in range(120):
            writer.write({
                "id": f"row {record}", "label": record % 3, "a b": record % 7, "weight": float("nan") if record == 3 else record / 8, "large": 2**64 - 1 - record,
                "text": f"<b>hidden {record}</b> " + "word " * 900, "vector": (draw.normal(size=16) + 9 * (record % 3)).astype(np.float32),
            })  # fmt: skip
