#!/usr/bin/env python3
"""Untidy folders of pictures: what ffconvert folder makes of them, against torchvision's ImageFolder.

    compare_folders.py FFCONVERT FFINSPECT WORK_FOLDER

A tree is a list of paths: a picture by its name, "x/" an empty folder, "x -> y" a link, "x = text" a file of text. Its truth is a folder a split, over
which ImageFolder gives samples and labels (those of the training split's classes for all), or None where ffconvert must refuse the tree by one sentence.
Prints a table of equal, refused and different; exit status 1 when one is different.

ImageFolder ends with an error at a class folder without pictures, and takes macOS' "._1.jpg" for pictures: here it passes over both, as ffconvert says in notes.
"""
import os
import pathlib
import subprocess
import sys

from PIL import Image
from torchvision.datasets import ImageFolder

TWO = ["train/cat/1.jpg", "train/dog/1.jpg", "val/cat/2.jpg", "val/dog/2.jpg"]
BOTH = {"train": "train", "val": "val"}
ALONE = {"train": "."}
TINY = ["train/n01/images/n01_0.JPEG", "train/n01/n01_boxes.txt = x", "train/n02/images/n02_0.JPEG", "test/images/t.JPEG", "wnids.txt = n01"]

TREES = [
    ("splits and classes", TWO, BOTH),
    ("classes alone", ["cat/1.jpg", "dog/1.jpg"], ALONE),
    ("an empty folder before the classes", ["@eaDir/", "cat/1.jpg", "dog/1.jpg"], ALONE),
    ("a folder of ._ files", ["@eaDir/._1.jpg", "cat/1.jpg", "cat/._1.jpg", "dog/1.jpg"], ALONE),
    ("__MACOSX beside the splits", [*TWO, "__MACOSX/train/cat/._1.jpg"], BOTH),
    ("__MACOSX beside the classes", ["__MACOSX/cat/._1.jpg", "cat/1.jpg", "dog/1.jpg"], ALONE),
    ("thumbnails as a class, as ImageFolder has it", ["@eaDir/1.jpg/thumb.jpg", "cat/1.jpg"], ALONE),
    ("annotations beside the splits", [*TWO, "annotations/a/x.xml = <x/>", "annotations/b/y.xml = <y/>"], BOTH),
    ("lists and readme beside the splits", [*TWO, "README.md = x", "train.txt = x", "scripts/a.py = x"], BOTH),
    ("an empty class in train", [*TWO, "train/aardvark/"], None),
    ("a class of text files in train", [*TWO, "train/aardvark/1.txt = x"], None),
    ("a class that val lacks", [*TWO, "train/bird/1.jpg"], BOTH),
    ("a class that is empty in val", [*TWO, "train/bird/1.jpg", "val/bird/"], BOTH),
    ("a class that train lacks", [*TWO, "val/bird/1.jpg"], None),
    ("a class that is empty in train", [*TWO, "val/bird/1.jpg", "train/bird/"], None),
    ("a class of another case", [*TWO, "val/Cat/1.jpg"], None),
    ("pictures in folders of the classes", ["train/cat/a/1.jpg", "train/cat/b/c/2.jpg", "train/dog/1.jpg", "val/dog/x/1.jpg"], BOTH),
    ("classes whose pictures are all in folders", ["cat/2020/1.jpg", "cat/2021/1.jpg", "dog/2020/1.jpg"], ALONE),
    ("some classes have folders, some not", ["cat/2020/1.jpg", "dog/1.jpg", "elk/a/b/c/1.png"], ALONE),
    ("a stray picture in train", [*TWO, "train/sheet.jpg"], None),
    ("stray pictures in both", [*TWO, "train/sheet.jpg", "val/sheet.jpg"], None),
    ("a stray picture beside the classes", ["cat/1.jpg", "dog/1.jpg", "sheet.png"], None),
    ("a stray picture beside the splits", [*TWO, "sheet.png"], BOTH),
    ("flat train and val", ["train/1.jpg", "val/2.jpg"], None),
    ("a class called train", ["bus/1.jpg", "car/1.jpg", "train/1.jpg"], None),
    ("Train and valid", ["Train/cat/1.jpg", "Train/dog/1.jpg", "valid/dog/2.jpg"], {"train": "Train", "val": "valid"}),
    ("training, validation and testing", ["training/cat/1.jpg", "training/dog/1.jpg", "validation/cat/1.jpg", "testing/cat/1.jpg"],
     {"train": "training", "val": "validation", "test": "testing"}),
    ("val and valid", [*TWO, "valid/cat/1.jpg"], None),
    ("a flat test without labels", [*TWO, "test/1.jpg", "test/2.jpg"], {**BOTH, "test": -1}),
    ("tiny-imagenet as published", [*TINY, "val/images/val_0.JPEG", "val/val_annotations.txt = val_0.JPEG\tn02\t0\t0\t9\t9\n"],
     {"train": "train", "val": {"images/val_0.JPEG": 1}, "test": -1}),
    ("tiny-imagenet without its annotations", [*TINY, "val/images/val_0.JPEG"], None),
    ("the folder above", ["tiny/train/cat/1.jpg", "tiny/val/cat/1.jpg"], None),
    ("unpacked into a folder of its name", ["train/train/cat/1.jpg", "val/val/cat/1.jpg"], None),
    ("splits below the classes", ["cat/train/1.jpg", "cat/test/1.jpg", "dog/train/1.jpg"], None),
    ("images and labels of a detector", ["train/images/1.jpg", "train/labels/1.txt = x", "valid/images/1.jpg"], None),
    ("a hidden folder of pictures", ["train/.cat/1.jpg", "train/dog/1.jpg"], None),
    ("a hidden folder in a class", [*TWO, "train/cat/.thumbnails/"], BOTH),
    ("a link to a split", ["disk/val/cat/1.jpg", "data/train/cat/1.jpg", "data/train/dog/1.jpg", "data/val -> ../disk/val"], {"train": "data/train", "val": "data/val"}, "data"),
    ("a link to a class and to a picture", ["disk/cats/1.jpg", "data/dog/1.jpg", "data/cat -> ../disk/cats", "data/dog/2.jpg -> ../../disk/cats/1.jpg"],
     {"train": "data"}, "data"),
    ("a split that is not mounted", ["train/cat/1.jpg", "val -> /gone/val"], None),
    ("a class that is not mounted", [*TWO, "train/elk -> /gone/elk"], None),
    ("a folder of a class that is not mounted", [*TWO, "train/cat/more -> /gone/more"], None),
    ("a picture that is not mounted", [*TWO, "train/cat/3.jpg -> /gone/3.jpg"], None),
    ("no train", ["val/cat/1.jpg", "val/dog/1.jpg"], {"val": "val"}),
    ("other names in capitals, spaces and other letters", ["train/Black bear/1.JPG", "train/ağaç/1.jpeg", "train/zebra/1.webp", "val/zebra/2.Png"], BOTH),
    ("files of other kinds", ["train/cat/1.jpg", "train/cat/1.gif = GIF89a", "train/cat/1.jpg.bak = x", "train/cat/Thumbs.db = x", "train/dog/1.bmp"], None),
]  # fmt: skip


def make(root, paths):
    for path in paths:
        if " -> " in path:
            name, target = path.split(" -> ")
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).symlink_to(target)
        elif " = " in path:
            name, text = path.split(" = ", 1)
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        elif path.endswith("/"):
            (root / path).mkdir(parents=True, exist_ok=True)
        elif os.path.basename(path).startswith("._"):
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(b"\0\5\x16\7AppleDouble")
        else:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            Image.new("RGB", (8, 8), (len(path) * 5 % 256, 80, 90)).save(root / path)


def is_picture(path):
    return not os.path.basename(path).startswith(".") and path.lower().endswith((".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp"))


class WithoutEmpty(ImageFolder):
    """ImageFolder without classes that hold no pictures; `of`: those of another folder."""

    of = None

    def find_classes(self, directory):
        _, found = ImageFolder.find_classes(self, self.of or directory)
        full = [name for name in sorted(found) if any(is_picture(file) for _, _, files in os.walk(os.path.join(self.of or directory, name), followlinks=True) for file in files)]
        return full, {name: i for i, name in enumerate(full)}


def samples_of(root, classes_of):
    """What ImageFolder gives for `root` with the classes of another folder: {path: label}, paths below root."""
    kind = type("Of", (WithoutEmpty,), {"of": str(classes_of)})
    # A class without pictures in this split is none of ImageFolder's errors here.
    folder = kind(str(root), is_valid_file=is_picture, allow_empty=True)
    return {os.path.relpath(path, root): label for path, label in folder.samples}


def expected(root, truth):
    train = truth.get("train", next(iter(truth.values())))
    all_samples = {}
    for split, where in truth.items():
        if isinstance(where, dict):
            found = where
        elif where == -1:
            found = {os.path.relpath(p, root / split): -1 for p in sorted((root / split).rglob("*")) if is_picture(str(p)) and p.is_file()}
        else:
            found = samples_of(root / where, root / train)
        all_samples.update({(split, name): label for name, label in found.items()})
    return all_samples


def converted(ffinspect, dst):
    rows = subprocess.run([ffinspect, "ls", dst], capture_output=True, text=True, check=True).stdout.splitlines()
    found = {}
    for row in rows:
        if row.startswith("split\t"):  # a heading for each split
            names = row.split("\t")
            continue
        values = dict(zip(names, row.split("\t")))
        found[values["split"], values["id"]] = int(values["label"])
    return found


def main():
    ffconvert, ffinspect, work = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    counts = {"equal": 0, "refused": 0, "different": 0}
    for number, (name, paths, truth, *rest) in enumerate(TREES):
        root, dst = work / f"tree{number}", work / f"dst{number}"
        make(root, paths)
        run = subprocess.run([ffconvert, "folder", root / (rest[0] if rest else "."), dst], capture_output=True, text=True)
        errors = [line for line in run.stderr.splitlines() if line.startswith("ffconvert: error: ")]
        if run.returncode == 0:
            got = converted(ffinspect, dst)
            verdict = "equal" if truth is not None and got == expected(root, truth) else "different"
            detail = "" if verdict == "equal" else f"{got} against {truth and expected(root, truth)}"
        else:
            verdict = "refused" if run.returncode == 1 and len(errors) == 1 and truth is None else "different"
            detail = (errors or ["no sentence"])[0].replace(str(root.resolve()), "SRC").replace("ffconvert: error: ", "")
        counts[verdict] += 1
        print(f"{verdict:9} {name}{': ' if detail else ''}{detail}")
    print(f"{len(TREES)} trees: {counts['equal']} equal, {counts['refused']} refused by a sentence, {counts['different']} different")
    return 1 if counts["different"] else 0


if __name__ == "__main__":
    sys.exit(main())
