"""Sources of every kind of ffconvert, small, for tests that read them from stores."""

import gzip
import io
import json
import lzma
import pathlib
import random
import tarfile

import PIL.Image

DRAW = random.Random(7)
WNIDS = ("n01440764", "n01443537")


def jpeg(number, size=(48, 40)):
    pixels = PIL.Image.effect_noise(size, 40 + number % 50).convert("RGB")
    out = io.BytesIO()
    pixels.save(out, "JPEG", quality=90)
    return out.getvalue()


def tar(files):
    """A tar of {name: content}."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


def write(path, content):
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


def imagenet(folder, per_class=20):
    classes = {f"{wnid}.tar": tar({f"{wnid}_{i}.JPEG": jpeg(i) for i in range(per_class)}) for wnid in WNIDS}
    write(folder / "ILSVRC2012_img_train.tar", tar(classes))
    write(folder / "ILSVRC2012_img_val.tar", tar({f"ILSVRC2012_val_{i:08}.JPEG": jpeg(i) for i in range(1, 13)}))
    lines = "".join(f"ILSVRC2012_val_{i:08},{WNIDS[i % 2]} 1 2 3 4\n" for i in range(1, 13))
    write(folder / "LOC_val_solution.csv", "ImageId,PredictionString\n" + lines)


def folders(folder):
    for split in ("train", "val"):
        for name in ("cat", "dog", "a b"):
            for i in range(5):
                write(folder / split / name / f"{i}.jpg", jpeg(i))
    write(folder / "train" / "cat" / "notes.txt", "no picture")


def webdataset(folder, num_shards=3, per_shard=8):
    for shard in range(num_shards):
        files = {}
        for i in range(per_shard):
            key = f"{shard * per_shard + i:06}"
            files |= {f"{key}.jpg": jpeg(i), f"{key}.cls": str(i % 3).encode(), f"{key}.json": json.dumps({"id": key}).encode()}
        write(folder / f"train-{shard:03}.tar", tar(files))
    write(folder / "val-000.tar.gz", gzip.compress(tar({"x.jpg": jpeg(1), "x.cls": b"1", "x.json": b"{}"}), mtime=0))


def jsonl(folder):
    for part in range(2):
        lines = "".join(json.dumps({"number": part * 50 + i, "text": "word " * DRAW.randrange(1, 9)}) + "\n" for i in range(50))
        write(folder / "train" / f"part-{part}.jsonl", lines)
    lines = "".join(json.dumps({"number": i, "text": "x"}) + "\n" for i in range(9))
    write(folder / "val" / "part-0.jsonl.gz", gzip.compress(lines.encode(), mtime=0))
    write(folder / "val" / "part-1.jsonl.xz", lzma.compress(lines.encode()))


def texts(folder):
    for split in ("train", "val"):
        for i in range(4):
            write(folder / split / "deep" / f"{i}.txt", f"This is text {i} of {split}. " * 20)
        write(folder / split / "packed.txt.gz", gzip.compress(b"A packed text. " * 10, mtime=0))


def pairs(folder):
    for split in ("train", "val"):
        for i in range(4):
            write(folder / "images" / split / f"{i}.jpg", jpeg(i))
            out = io.BytesIO()
            PIL.Image.new("L", (48, 40), i).save(out, "PNG")
            write(folder / "masks" / split / f"{i}.png", out.getvalue())


def coco(folder):
    for split in ("train2017", "val2017"):
        images = [{"id": i, "file_name": f"{i:012}.jpg", "width": 48, "height": 40} for i in range(1, 6)]
        for image in images:
            write(folder / split / image["file_name"], jpeg(image["id"]))
        notes = [{"id": i, "image_id": i, "category_id": 1, "bbox": [1, 2, 10, 12], "area": 120, "iscrowd": 0, "segmentation": [[1, 2, 10, 2, 10, 12, 1, 12]]} for i in range(1, 6)]
        write(folder / "annotations" / f"instances_{split}.json", json.dumps({"images": images, "annotations": notes, "categories": [{"id": 1, "name": "thing"}]}))


# Of each kind: what makes it, and what stands behind SRC on the command line.
KINDS = {
    "imagenet": (imagenet, []),
    "folder": (folders, []),
    "webdataset": (webdataset, []),
    "jsonl": (jsonl, []),
    "text": (texts, ["--tokenizer", "bytes"]),
    "coco": (coco, ["--segmentation", "json"]),
}
