"""The Python blocks of README.md and of the pages about loading, writing and stores run as they stand."""
import json
import pathlib
import re
import shutil

import numpy
import pytest
import torch
import torchvision
from torchvision.transforms import v2

import ffkit
import ffkit.torch
import pages
import view_samples

# Pages whose blocks other files run.
ELSEWHERE = {"coming-from", "coming-from-pipelines", "coming-from-shards", "exporting", "faq", "install", "keeping", "nuscenes", "python-frameworks",
             "python-huggingface", "python-jax", "python-lightning", "slow"}  # fmt: skip
HERE = {"README", "coco", "engines", "python", "python-writing", "storage", "storage-writing", "views"}
TRANSFORM = v2.Compose([v2.RandomResizedCrop(32), v2.RandomHorizontalFlip(), v2.ToImage(), v2.ToDtype(torch.float32, scale=True)])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    pages.make_folders(tmp_path)
    monkeypatch.chdir(tmp_path)
    torch.set_num_threads(1)
    return tmp_path


class Batches:
    """`batch` of a page: the first one of the loader that was made last."""

    def __init__(self, monkeypatch):
        make = ffkit.Loader

        def remember(*arguments, **options):
            self.loader = make(*arguments, **options)
            return self.loader

        monkeypatch.setattr(ffkit, "Loader", remember)

    def __getitem__(self, name):
        return next(iter(self.loader))[name]

    def __getattr__(self, name):
        return getattr(next(iter(self.loader)), name)


def names_of(**more):
    return {"ffkit": ffkit, "numpy": numpy, "pathlib": pathlib, **more}


def test_every_page_is_run_or_says_why():
    with_blocks = {path.stem for path in [pages.ROOT / "README.md", *(pages.ROOT / "docs").glob("*.md")] if list(pages.blocks(path.stem))}
    assert with_blocks == HERE | ELSEWHERE


def test_readme(folder):
    names = pages.run("README", folder, names_of(transform=TRANSFORM))
    assert len(names["labels"]) == 2 and len(names["loader"]) == 12


def test_python(folder, monkeypatch):
    monkeypatch.syspath_prepend(pages.ROOT / "python/reader")
    for name, depth in (("muco", 1.5), ("mscoco", None)):
        with ffkit.Writer(folder / "fast" / name, schema={"image": "image", "label": "i64", "depth": "f32"}) as writer:
            for sample in ffkit.Dataset(folder / "fast/imagenet", "train"):
                writer.write({"image": sample["image"], "label": 0, "depth": depth})
    shutil.copytree(folder / "fast/imagenet", folder / "demo")
    names = names_of(compose=TRANSFORM, model=lambda images: images.float().mean((2, 3)), criterion=torch.nn.functional.cross_entropy)

    def before(i):
        if i == 2:  # the loader of the first block
            names["loader"] = ffkit.Loader(names["ds"], batch_size=2, image=ffkit.Resize((16, 16)))
        elif i == 4:  # the set of the first block, not the reader's
            names["ds"] = ffkit.Dataset(folder / "fast/imagenet", "train")

    pages.run("python", folder, names, before)
    batch = next(iter(names["loader"]))
    assert batch["target"].shape == (2, 1000) and batch["target"].sum() == 2
    assert len(names["labels"]) == 2 and names["loss"] > 0


def test_python_writing(folder):
    (folder / "1.jpg").write_bytes(ffkit.Dataset(folder / "fast/imagenet", "train")[0]["image"])
    for split in ("train", "val"):
        for wnid in ("n01440764", "n01443537"):
            (folder / "data/imagenet" / split / wnid).mkdir(parents=True)
            shutil.copy(folder / "1.jpg", folder / "data/imagenet" / split / wnid / "a.JPEG")
    shutil.rmtree(folder / "fast/imagenet")
    pages.run("python-writing", folder, names_of(dataset=torchvision.datasets.FakeData(6, (3, 16, 16))))
    assert [len(ffkit.Dataset(folder / place, "train")) for place in ("fast/mine", "fast/imagenet", "bucket/imagenet", "fast/cifar", "fast/numbers")] == [1, 2, 2, 6, 1000]


def test_storage(folder):
    shutil.copytree(folder / "fast/imagenet", folder / "bucket/imagenet")
    assert next(iter(pages.run("storage", folder, names_of())["loader"]))["image"].shape == (2, 3, 224, 224)


def test_storage_writing(folder):
    (folder / "1.jpg").write_bytes(ffkit.Dataset(folder / "fast/imagenet", "train")[0]["image"])
    pages.run("storage-writing", folder, names_of(samples=[(folder / "1.jpg", 3)]))
    assert ffkit.Dataset(folder / "bucket/mine", "train")[0]["label"] == 3 and len(ffkit.Dataset(folder / "bucket/imagenet", "val")) == 8


def test_engines(folder):
    assert pages.run("engines", folder, names_of(__name__="__main__"))["summary"].num_records == 400


def test_coco(folder):
    picture = ffkit.Dataset(folder / "fast/imagenet", "train")[0]["image"]
    (folder / "coco/annotations").mkdir(parents=True)
    (folder / "coco/val2017").mkdir()
    for i in (1, 2):
        (folder / f"coco/val2017/{i}.jpg").write_bytes(picture)
    (folder / "coco/annotations/instances_val2017.json").write_text(json.dumps(
        {"images": [{"id": i, "file_name": f"{i}.jpg", "width": 48, "height": 48} for i in (1, 2)], "categories": [{"id": 17, "name": "cat"}, {"id": 18, "name": "dog"}],
         "annotations": [{"id": i, "image_id": i, "category_id": 18, "bbox": [1, 2, 30, 40], "area": 1200, "iscrowd": 0} for i in (1, 2)]}))  # fmt: skip
    ffkit.convert.coco(folder / "coco", folder / "fast/coco", on_note=lambda note: None)
    dataset = ffkit.Dataset(folder / "fast/coco", "val2017")
    fields = {"image_id": ffkit.IntegerField("image_id"), "boxes": ffkit.BoxesField(), "labels": ffkit.BoxRowsField("labels")}
    loader = ffkit.Loader(dataset, 2, image=ffkit.Resize((32, 32)), label_field=None, fields=fields, order="sequential")

    def detect(batch):
        for i, number in enumerate(batch["image_id"]):
            yield number, batch["boxes"][i : i + 1], batch["labels"][i : i + 1], [0.9]

    names = pages.run("coco", folder, names_of(loader=loader, dataset=dataset, results=[], detect=detect))
    assert [(row["image_id"], row["category_id"]) for row in names["results"]] == [(1, 18), (2, 18)]


def test_views(folder, monkeypatch):
    schema = {**view_samples.SCHEMA, "width": "i64", "height": "i64"}
    with ffkit.Writer(folder / "coco", schema=schema) as writer:
        for (width, height), sample in zip(view_samples.SIZES, view_samples.samples(), strict=True):
            points = numpy.concatenate([numpy.random.default_rng(7).uniform(0, 30, (5, 17, 2)), numpy.full((5, 17, 1), 2)], 2).astype("f4")
            writer.write({**sample, "keypoints": points, "width": width, "height": height})
    mask = numpy.random.default_rng(1).choice(numpy.array([0, 7, 8], numpy.uint8), (48, 48))
    with ffkit.Writer(folder / "city", schema={"image": "image", "mask": "image"}) as writer:
        for sample in ffkit.Dataset(folder / "fast/imagenet", "train"):
            writer.write({"image": sample["image"], "mask": mask})
    (folder / "video").mkdir()
    for i in range(64):
        (folder / f"video/{i:03}.jpg").write_bytes(ffkit.Dataset(folder / "fast/imagenet", "train")[i % 24]["image"])
    batch = Batches(monkeypatch)
    seen = []
    names = names_of(batch=batch, videos=[(folder / "video", 0), (folder / "video", 1)], model=lambda pictures, _: seen.extend(pictures), targets=None,
                     ds=ffkit.Dataset(folder / "fast/imagenet", "train"), city=ffkit.Dataset(folder / "city", "train"), coco=ffkit.Dataset(folder / "coco", "train"))  # fmt: skip
    pages.run("views", folder, names)
    assert len(seen) == 2 and all(picture.shape[0] == 3 for picture in seen)
    assert batch["image"].shape == (2, 3, 300, 300)


def test_blocks_that_do_not_run_say_why():
    for path in sorted((pages.ROOT / "docs").glob("*.md")):
        for reason in re.findall(r"<!-- not run: (.+) -->\n```python", path.read_text()):
            assert re.search("own loader|needs .+|takes .+|two engines", reason), (path.name, reason)
