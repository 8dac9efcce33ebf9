#!/usr/bin/env python3
"""ffconvert coco against pycocotools, by untidy annotation files.

    coco_test.py FFCONVERT          against pycocotools.json, and against pycocotools itself where it is installed
    coco_test.py --record           writes pycocotools.json, by the pycocotools that is installed

Of each file pycocotools takes, the pictures must have the same annotations with the same ids, categories, boxes and crowds, or ffconvert must refuse
it by one sentence that says which annotation it is. Of each file that it does not take, ffconvert must refuse it too.
"""
import contextlib
import io
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "contract"))
import coco_files  # noqa: E402
import package  # noqa: E402, F401  finds the reader, and skips without numpy
import ffkit_reader  # noqa: E402

RECORDED = os.path.join(HERE, "pycocotools.json")


def f32(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def whole(value):
    """Python holds 5.0 and 5 equal."""
    return int(value) if isinstance(value, float) and value == int(value) else value


def by_pycocotools(path):
    from pycocotools.coco import COCO

    try:
        with contextlib.redirect_stdout(io.StringIO()):
            coco = COCO(path)
    except Exception as error:
        return {"refused": type(error).__name__}
    pictures = {}
    for number, picture in coco.imgs.items():
        rows = coco.loadAnns(coco.getAnnIds(imgIds=[number]))
        pictures[json.dumps(whole(number))] = [
            [whole(row["id"]), whole(row["category_id"]) if "category_id" in row else None, row.get("bbox"), int(bool(row.get("iscrowd")))] for row in rows
        ]
    return {"pictures": pictures, "categories": [[whole(number), row.get("name")] for number, row in coco.cats.items()]}


def by_ffconvert(ffconvert, folder):
    """What the converted records hold, or the sentence."""
    done = subprocess.run([ffconvert, "coco", "src", "dst", "--quiet"], cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        return {"refused": done.stderr}
    split = ffkit_reader.Dataset(folder + "/dst", "train")
    pictures = {}
    for record in split:
        ids = record["annotation_ids"]
        ids = json.loads(ids) if isinstance(ids, str) else ids.tolist()
        categories = record.get("category_ids")
        if categories is not None:
            categories = json.loads(categories) if isinstance(categories, str) else categories.tolist()
        boxes = record["boxes"].ravel().tolist()
        crowds = record["iscrowd"].tolist()
        pictures[json.dumps(record["image_id"])] = [
            [ids[i], categories[i] if categories is not None else None, boxes[4 * i : 4 * i + 4], crowds[i]] for i in range(len(ids))
        ]
    with open(folder + "/dst/train/manifest.json") as file:
        manifest = json.load(file)
    return {"pictures": pictures, "categories": [list(pair) for pair in zip(manifest.get("class_ids", []), manifest["classes"])]}


def comparable(answer):
    """Categories in any order, boxes as f32."""
    pictures = {number: [[i, category, [f32(x) for x in box], crowd] for i, category, box, crowd in rows] for number, rows in answer["pictures"].items()}
    return pictures, sorted(answer["categories"], key=str)


def png():
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + bytes(24) for _ in range(8))
    header = struct.pack(">IIBBBBB", 8, 8, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def write(folder, content):
    for name in coco_files.PICTURES:
        os.makedirs(os.path.dirname(f"{folder}/src/train/{name}"), exist_ok=True)
        with open(f"{folder}/src/train/{name}", "wb") as file:
            file.write(png())
    os.makedirs(f"{folder}/src/annotations")
    path = f"{folder}/src/annotations/instances_train.json"
    with open(path, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())
    return path


def with_boxes(theirs):
    """Without annotations that have no box, which ffconvert leaves out and names."""
    if isinstance(theirs, dict) and "pictures" in theirs:
        return {**theirs, "pictures": {picture: [one for one in annotations if one[2]] for picture, annotations in theirs["pictures"].items()}}
    return theirs


def compare(theirs, ours, sentence):
    """"equal", "refused by a sentence", or what differs."""
    if "refused" in ours:
        if not re.fullmatch(r"ffconvert: error: [^\n]+\n", ours["refused"]):
            return f"no sentence: {ours['refused']}"
        if "refused" in theirs:
            return "equal (both refuse)"
        if sentence is None or not re.search(sentence, ours["refused"]):
            return f"is refused otherwise: {ours['refused']}"
        return "refused by a sentence" if "offset" not in ours["refused"] else f"gives an offset: {ours['refused']}"
    if "refused" in theirs:
        return f"is taken, but pycocotools raises {theirs['refused']}"
    if sentence is not None:
        return "is taken, but was expected to be refused"
    return "equal" if comparable(theirs) == comparable(ours) else f"{comparable(ours)} instead of {comparable(theirs)}"


def record():
    answers = {}
    for name, content, _ in coco_files.files():
        with tempfile.TemporaryDirectory() as folder:
            answers[name] = by_pycocotools(write(folder, content))
    with open(RECORDED, "w") as file:
        rows = ",\n".join(f"{json.dumps(name)}: {json.dumps(answer)}" for name, answer in answers.items())
        file.write("{\n" + rows + "\n}\n")


def main(ffconvert):
    with open(RECORDED) as file:
        recorded = json.load(file)
    try:
        import pycocotools  # noqa: F401

        is_live = True
    except ImportError:
        is_live = False
    counts = {}
    different = []
    for name, content, sentence in coco_files.files():
        with tempfile.TemporaryDirectory() as folder:
            path = write(folder, content)
            theirs = recorded[name]
            if is_live:
                live = json.loads(json.dumps(by_pycocotools(path)))
                if repr(live) != repr(theirs):
                    different.append(f"{name}: pycocotools says {live}, but {theirs} is recorded")
            outcome = compare(with_boxes(theirs), by_ffconvert(ffconvert, folder), sentence)
        if not outcome.startswith(("equal", "refused by")):
            different.append(f"{name}: {outcome}")
            outcome = "different"
        counts[outcome] = counts.get(outcome, 0) + 1
        print(f"{outcome:24} {name}")
    print(", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items())), "" if is_live else "(pycocotools as recorded)")
    for line in different:
        print("DIFFERENT:", line)
    return 1 if different else 0


if __name__ == "__main__":
    if sys.argv[1:] == ["--record"]:
        record()
    else:
        sys.exit(main(sys.argv[1]))
