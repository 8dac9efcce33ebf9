"""`ffinspect view --transform`: its table of transforms is that of the package, and its pictures are those of a Loader."""
import ast
import dataclasses
import inspect
import json
import os
import struct
import subprocess
import typing
import zlib

import numpy as np
import pytest

import ffkit
from ffkit import _image, _transforms
from conftest import by_topic

MARGIN = 8  # of the sheet


def canonical(name, value):
    """What a default means: C++ shows a strength where Python has the range that it stands for, or the other way round."""
    if isinstance(value, list):
        return tuple(value)
    if isinstance(value, tuple):
        return value
    if name in ("brightness", "contrast", "saturation"):
        return max(0, 1 - value), 1 + value
    return value


def parameters_in_python(made):
    """[(name, default or what stands for none)] of a dataclass or a function."""
    return [
        (name, inspect.Parameter.empty if parameter.default is inspect.Parameter.empty else canonical(name, parameter.default))
        for name, parameter in inspect.signature(made).parameters.items()
    ]


def parameters_in_text(signature):
    """The same of "Resize(size=(224, 224), interpolation="bilinear")"."""
    name, rest = signature.split("(", 1)
    call = ast.parse(f"f({rest}", mode="eval").body
    required = [(argument.id, inspect.Parameter.empty) for argument in call.args]
    return name, required + [(keyword.arg, canonical(keyword.arg, ast.literal_eval(keyword.value))) for keyword in call.keywords]


def test_texts_know_the_transforms_of_python():
    lines = subprocess.run([os.environ["FFKIT_TRANSFORM_SIGNATURES"]], check=True, capture_output=True, text=True).stdout.splitlines()
    in_text = dict(map(parameters_in_text, lines))
    assert len(in_text) == len(lines)
    classes = {*typing.get_args(_image.Transform), *typing.get_args(_transforms.Step), *typing.get_args(_image.Augmentation), _image.RandomErasing}
    classes.discard(_image.PythonAugmentation)  # has a function
    functions = [made for name, made in vars(_image).items() if name.startswith("Random") and inspect.isfunction(made)]
    assert all(map(dataclasses.is_dataclass, classes)) and len(functions) == 7
    in_python = {made.__name__: parameters_in_python(made) for made in [*classes, *functions]}
    assert in_text == in_python


def sheet(data, tmp_path, *arguments):
    """The JSON of a sheet and its pixels [height, width, 3]."""
    file = tmp_path / "sheet.png"
    run = subprocess.run([os.environ["FFKIT_FFINSPECT"], "view", str(data), "--output", str(file), "--json", *map(str, arguments)], capture_output=True, text=True)
    if "draws with OpenCV, which this build does not have" in run.stderr:
        pytest.skip("built without OpenCV")
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout), ffkit.decode_image(file.read_bytes())


def pictures(pixels, size, columns, rows, lines):
    """[rows, columns, size, size, 3] of a sheet with so many lines of text under each picture."""
    height = size + MARGIN + 14 * lines + 6
    top = 2 * MARGIN + 14
    return np.array([
        [pixels[top + r * height:][:size, MARGIN + c * (size + MARGIN):][:, :size] for c in range(columns)] for r in range(rows)
    ])


def loaded(data, seed, epoch=0, **options):
    """The whole split in its order, as Python's Loader gives it."""
    ds = ffkit.Dataset(data, "train")
    loader = ffkit.Loader(ds, len(ds), **by_topic(order="sequential", seed=seed, label_field=None, **options))
    loader.set_epoch(epoch, restart=True)
    return next(iter(loader))


def test_a_resize_is_drawn_pixel_by_pixel(data, tmp_path):
    _, pixels = sheet(data, tmp_path, "--split", "train", "--transform", "Resize((96, 96))", "--size", 96, "--count", 6, "--columns", 3)
    drawn = pictures(pixels, 96, 3, 2, 2).reshape(6, 96, 96, 3)
    images = loaded(data, 0, image=ffkit.ImageOptions(ffkit.Resize((96, 96)), dtype="u8", layout="nhwc"))["image"]
    assert (drawn == images[::10]).all()


def test_random_numbers_are_those_of_the_record_in_the_whole_split(data, tmp_path):
    text = 'RandomResizedCrop(64, scale=(0.4, 1), flip_probability=0.5), RandomRotation(20, "bilinear"), ColorJitter(0.4, 0.4), Apply(0.5, GaussianBlur(sigma=(0.1, 2))), RandomErasing(value=7)'
    document, pixels = sheet(
        data, tmp_path, "--split", "train", "--where", "label = 2", "--transform", text, "--size", 64, "--count", 3, "--columns", 2, "--draws", 2, "--draw-seed", 5
    )
    drawn = pictures(pixels, 64, 2, 3, 3)
    records = [sample["record"] for sample in document["samples"]]
    assert records[-1] > 3
    options = ffkit.ImageOptions(
        ffkit.Compose([ffkit.RandomResizedCrop(64, scale=(0.4, 1), flip_probability=0.5), ffkit.RandomRotation(20, "bilinear")]),
        augment=[ffkit.ColorJitter(0.4, 0.4), ffkit.Apply(0.5, ffkit.GaussianBlur(sigma=(0.1, 2)))],
        erasing=ffkit.RandomErasing(value=7), dtype="u8", layout="nhwc",
    )
    for epoch in range(2):
        batch = loaded(data, 5, epoch, image=options)
        assert (drawn[:, epoch] == batch["image"][records]).all()
        for sample in document["samples"]:
            view = sample["views"][epoch]
            assert (view["view"], view["copy"], view["epoch"], view["num_boxes"]) == ("image", 0, epoch, None)
            assert np.array_equal(view["geometry"], batch.geometry()[sample["record"]])


def test_views_with_copies(data, tmp_path):
    document, pixels = sheet(
        data, tmp_path, "--split", "train", "--size", 32, "--count", 2, "--draw-seed", 3,
        "--transform", "global*2: RandomResizedCrop(32)", "--transform", "local: RandomResizedCrop(32, (0.05, 0.4)), RandomGrayscale(0.5)",
    )
    drawn = pictures(pixels, 32, 6, 1, 3)[0].reshape(2, 3, 32, 32, 3)
    as_bytes = {"dtype": "u8", "layout": "nhwc"}
    crop = ffkit.RandomResizedCrop
    batch = loaded(data, 3, views={
        "global": (ffkit.ImageOptions(crop(32), **as_bytes), 2), "local": ffkit.ImageOptions(crop(32, (0.05, 0.4)), augment=[ffkit.RandomGrayscale(0.5)], **as_bytes),
    })
    records = [sample["record"] for sample in document["samples"]]
    assert (drawn[:, :2] == batch["global"][records]).all() and (drawn[:, 2] == batch["local"][records]).all()
    views = document["samples"][1]["views"]
    assert [(view["view"], view["copy"]) for view in views] == [("global", 0), ("global", 1), ("local", 0)]
    assert np.array_equal(views[1]["geometry"], batch.geometry("global")[records[1], 1])


@pytest.fixture(scope="module")
def boxed(tmp_path_factory):
    """Pictures of 60 x 40 black pixels with a mask, three boxes each and a point in the middle of each box."""
    folder = tmp_path_factory.mktemp("boxed") / "data"
    schema = {"image": "image", "mask": "tensor[u8]", "boxes": "tensor[f32]", "labels": "tensor[i64]", "keypoints": "tensor[f32]"}
    random = np.random.default_rng(1)
    with ffkit.Writer(folder, schema=schema, classes=["a", "b", "c"]) as writer:
        for _ in range(8):
            boxes = np.concatenate([random.uniform(0, 20, (3, 2)), random.uniform(8, 20, (3, 2))], 1).astype(np.float32)
            middle = boxes[:, :2] + boxes[:, 2:] / 2
            points = np.concatenate([middle, np.full((3, 1), 2)], 1).astype(np.float32)[:, None]
            mask = np.zeros((40, 60), np.uint8)
            writer.write({"image": np.zeros((40, 60, 3), np.uint8), "mask": mask, "boxes": boxes, "labels": np.arange(3), "keypoints": points})
    return folder


def test_boxes_follow_views_and_their_copies(boxed, tmp_path):
    document, pixels = sheet(
        boxed, tmp_path, "--size", 48, "--count", 8,
        "--transform", "one: RandomResizedCrop(48, (0.2, 0.5), flip_probability=0.5)", "--transform", "two*2: RandomResizedCrop(48, (0.2, 0.5), flip_probability=0.5)",
    )
    options = ffkit.ImageOptions(ffkit.RandomResizedCrop(48, (0.2, 0.5), flip_probability=0.5), dtype="u8")
    batch = loaded(boxed, 0, views={"one": options, "two": (options, 2)}, fields={"boxes": ffkit.BoxesField(view="one"), "keypoints": ffkit.PointsField(num_points=1)})
    counts = np.diff(batch.row_offsets("boxes"))
    kept = [[view["num_boxes"] for view in sample["views"]] for sample in document["samples"]]
    assert [one for one, _, _ in kept] == list(counts) and len(set(counts)) > 1
    # What is kept of the copies follows from their geometry.
    for record, sample in enumerate(document["samples"]):
        corners = ffkit.Dataset(boxed, "train")[record]["boxes"]
        for view in sample["views"][1:]:
            assert np.array_equal(view["geometry"], batch.geometry("two")[record, view["copy"]])
            scale_x, scale_y, x, y = (view["geometry"][r][c] for r, c in ((0, 0), (1, 1), (0, 2), (1, 2)))
            a, b = corners[:, 0] * scale_x + x, (corners[:, 0] + corners[:, 2]) * scale_x + x
            width = np.clip(np.maximum(a, b), 0, 48) - np.clip(np.minimum(a, b), 0, 48)
            height = np.clip((corners[:, 1] + corners[:, 3]) * scale_y + y, 0, 48) - np.clip(corners[:, 1] * scale_y + y, 0, 48)
            assert view["num_boxes"] == (np.minimum(width, height) >= 1).sum()
    # Lines of the first class's colour are drawn where the picture is black.
    drawn = pictures(pixels, 48, 6, 4, 2)
    assert (np.abs(drawn.astype(int) - (230, 60, 60)).max(-1) < 40).any()


def grey_png(numbers):
    height, width = numbers.shape
    rows = b"".join(b"\0" + row.tobytes() for row in numbers)
    chunks = ((b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks)


def test_masks_follow_views(tmp_path):
    random = np.random.default_rng(2)
    folder = tmp_path / "masked"
    with ffkit.Writer(folder, schema={"image": "image", "mask": "image"}) as writer:
        for _ in range(4):
            numbers = random.integers(0, 4, (10, 15), np.uint8).repeat(4, 0).repeat(4, 1)
            writer.write({"image": np.zeros((40, 60, 3), np.uint8), "mask": grey_png(numbers)})
    _, pixels = sheet(folder, tmp_path, "--mask", "mask", "--size", 48, "--count", 4, "--columns", 4, "--transform", "RandomRotation(40), RandomResizedCrop(48, flip_probability=0.5)")
    transform = ffkit.Compose([ffkit.RandomRotation(40), ffkit.RandomResizedCrop(48, flip_probability=0.5)])
    masks = loaded(folder, 0, image=transform, fields={"mask": ffkit.MaskField("mask")})["mask"]
    assert {0, 1, 2, 3, 255} == set(np.unique(masks))
    colors = np.zeros((256, 3), int)
    colors[1], colors[2], colors[3], colors[255] = (128, 0, 0), (0, 128, 0), (128, 128, 0), (224, 224, 192)  # VOC's
    assert (pictures(pixels, 48, 4, 1, 1)[0] == colors[masks] // 2).all()
