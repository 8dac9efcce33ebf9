"""Masks through Writer and from_torch keep their numbers; null ones load where it is asked for; CutMix cuts them."""

import io
import pathlib

import numpy as np
import pytest
import torch
import torchvision
from PIL import Image

import ffkit
import ffkit.convert
from conftest import by_topic

IDS = np.array([[0, 1, 2, 255], [15, 15, 0, 7], [3, 3, 3, 3]], np.uint8)


def palette(ids: np.ndarray) -> Image.Image:
    image = Image.fromarray(ids, "P")
    image.putpalette([(37 * i) % 256 for i in range(768)])
    return image


def stored(value: object, folder: pathlib.Path, **options: object) -> Image.Image:
    with ffkit.Writer(folder, schema={"mask": "image"}, **options) as writer:
        writer.write({"mask": value})
    return Image.open(io.BytesIO(ffkit.Dataset(folder, "train")[0]["mask"]))


@pytest.mark.parametrize("pixels", ["png", "jpeg", "raw"])
def test_numbers_stay(tmp_path: pathlib.Path, pixels: str) -> None:
    for number, (value, mode, expected) in enumerate([
        (palette(IDS), "P", IDS),
        (Image.fromarray(IDS, "L"), "L", IDS),
        (Image.fromarray(IDS.astype(np.int32), "I"), "L", IDS),
        (Image.fromarray(IDS > 2).convert("1"), "L", (IDS > 2).astype(np.uint8)),
        (IDS, "L", IDS),
        (IDS > 2, "L", (IDS > 2).astype(np.uint8)),
        (IDS[None], "L", IDS),
        (IDS[:, :, None], "L", IDS),
        (torch.from_numpy(IDS).long(), "L", IDS),
        (torch.from_numpy(IDS)[None], "L", IDS),
        (IDS.astype(np.int64) * 256, "I;16", IDS.astype(np.int64) * 256),
        (IDS.astype(np.uint16), "I;16", IDS),
    ]):  # fmt: skip
        picture = stored(value, tmp_path / f"{pixels}{number}", pixels=pixels)
        assert (picture.format, picture.mode) == ("PNG", mode), number
        assert (np.asarray(picture) == expected).all(), number
    # A picture of colours is none.
    assert stored(Image.fromarray(IDS).convert("RGB"), tmp_path / pixels, pixels=pixels).mode == "RGB"


def test_transparency_is_kept_or_refused(tmp_path: pathlib.Path) -> None:
    """An opaque alpha channel says nothing. Another one has a meaning that no field keeps."""
    for number, (image, mode) in enumerate(((palette(IDS).convert("PA"), "P"), (Image.fromarray(IDS, "L").convert("LA"), "L"))):
        picture = stored(image, tmp_path / f"{number}")
        assert picture.mode == mode and (np.asarray(picture) == IDS).all()
        assert picture.convert("RGB").tobytes() == image.convert("RGB").tobytes()
        image.putalpha(Image.fromarray(IDS, "L"))
        with pytest.raises(ValueError, match=rf"mode {mode}A has transparent pixels.*image.getchannel\('{mode}'\)"):
            stored(image, tmp_path / "dst")
        numbers = stored(image.getchannel(mode), tmp_path / f"numbers {number}")
        assert (np.asarray(numbers) == IDS).all()


def test_a_palette_stays(tmp_path: pathlib.Path) -> None:
    assert stored(palette(IDS), tmp_path / "dst").convert("RGB").tobytes() == palette(IDS).convert("RGB").tobytes()


def test_what_is_no_number_of_a_picture_is_refused(tmp_path: pathlib.Path) -> None:
    for value in (np.array([[-1, 3]]), np.array([[70000, 3]]), np.zeros((4, 5), np.float32), np.zeros((2, 4, 5), np.int64)):
        with pytest.raises(ValueError, match="field 'mask'"):
            stored(value, tmp_path / "dst")


def test_masks_are_not_resized_with_pictures_and_it_is_said(tmp_path: pathlib.Path) -> None:
    with pytest.warns(UserWarning, match="may be numbers, are stored unchanged"):
        picture = stored(palette(IDS), tmp_path / "dst", short_side=2)
    assert picture.mode == "P" and (np.asarray(picture) == IDS).all()


def test_voc_goes_over_in_three_lines(tmp_path: pathlib.Path) -> None:
    root = tmp_path / "VOCdevkit" / "VOC2012"
    for folder in ("JPEGImages", "SegmentationClass", "ImageSets/Segmentation"):
        (root / folder).mkdir(parents=True)
    (root / "ImageSets/Segmentation/train.txt").write_text("a\nb\n")
    for number, name in enumerate("ab"):
        Image.fromarray(np.full((3, 4, 3), 60 * number, np.uint8)).save(root / f"JPEGImages/{name}.jpg")
        palette(IDS + number).save(root / f"SegmentationClass/{name}.png")

    voc = torchvision.datasets.VOCSegmentation(tmp_path, "2012", "train")
    ffkit.convert.from_torch(voc, tmp_path / "dst", fields=("image", "mask"), order="sequential", progress=False)
    loader = ffkit.Loader(ffkit.Dataset(tmp_path / "dst", "train"), 2, image=ffkit.Resize((3, 4)), label_field=None, fields={"mask": ffkit.MaskField("mask")}, order="sequential")

    masks = next(iter(loader))["mask"].numpy()
    assert (masks[0] == IDS).all() and (masks[1] == (IDS + 1).astype(np.uint8)).all()


@pytest.fixture(scope="module")
def half_labelled(tmp_path_factory: pytest.TempPathFactory) -> ffkit.Dataset:
    folder = tmp_path_factory.mktemp("null") / "dst"
    schema = {"image": "image", "mask": "image", "boxes": "tensor[f32]", "labels": "tensor[i64]", "keypoints": "tensor[f32]"}
    with ffkit.Writer(folder, schema=schema) as writer:
        for number in range(4):
            sample = {"image": np.full((8, 8, 3), number, np.uint8)}
            if number % 2 == 0:
                sample |= {"mask": np.full((8, 8), number + 1), "boxes": np.array([[1, 1, 4, 4]], np.float32), "labels": np.array([number])}
            if number == 0:
                sample |= {"keypoints": np.full((1, 2, 3), 2, np.float32)}
            writer.write(sample)
    return ffkit.Dataset(folder, "train")


ANNOTATIONS = {
    "mask": ffkit.MaskField("mask"), "boxes": ffkit.BoxesField(), "labels": ffkit.BoxRowsField("labels"), "keypoints": ffkit.PointsField(num_points=2)
}  # fmt: skip


def load(data: ffkit.Dataset, fields: dict, **options: object) -> ffkit.Batch:
    return next(iter(ffkit.Loader(data, 4, **by_topic(image=ffkit.Resize((8, 8)), label_field=None, fields=fields, order="sequential", **options))))


def test_null_annotations_load_where_it_is_asked_for(half_labelled: ffkit.Dataset) -> None:
    for name, field in ANNOTATIONS.items():
        with pytest.raises(ffkit.Error, match="null"):
            load(half_labelled, {"boxes": ffkit.BoxesField(), name: field})
    zeros = {name: ffkit.ZerosWhereNull(getattr(field, "field"), field) for name, field in ANNOTATIONS.items()}
    batch = load(half_labelled, zeros | {"has_mask": ffkit.ValidField("mask")})
    assert batch["has_mask"].tolist() == [1, 0, 1, 0]
    assert [mask.unique().tolist() for mask in batch["mask"]] == [[1], [0], [3], [0]]
    for name in ("boxes", "labels", "keypoints"):
        assert batch.row_offsets(name).tolist() == [0, 1, 1, 2, 2], name
    assert batch["labels"].tolist() == [0, 2]
    assert batch["keypoints"][0].unique().tolist() == [2] and batch["keypoints"][1].unique().tolist() == [0]
    with pytest.raises(ValueError, match="give both the same"):
        load(half_labelled, {"mask": ffkit.ZerosWhereNull("boxes", ffkit.MaskField("mask"))})
    with pytest.raises(ValueError, match="PixelMaskField has no field"):
        load(half_labelled, {"valid": ffkit.ZerosWhereNull("mask", ffkit.PixelMaskField())})


def test_other_forms_of_masks_are_refused_with_a_remedy_that_works(tmp_path: pathlib.Path) -> None:
    """The sentence's own lines make a mask with the same numbers."""
    (tmp_path / "mask.pgm").write_bytes(b"P5\n4 3\n20\n" + (IDS % 21).tobytes())
    palette(IDS).save(tmp_path / "palette.bmp")
    for name in ("grey.bmp", "mask.ppm", "mask.webp"):
        Image.fromarray(IDS).convert("L" if name == "grey.bmp" else "RGB").save(tmp_path / name, lossless=True)
    for name in ("mask.pgm", "palette.bmp", "grey.bmp", "mask.ppm", "mask.webp"):
        with ffkit.Writer(tmp_path / "dst" / name, schema={"image": "image", "mask": "image"}) as writer:
            writer.write({"image": np.zeros((3, 4, 3), np.uint8), "mask": ffkit.File(tmp_path / name)})
        loader = ffkit.Loader(ffkit.Dataset(tmp_path / "dst" / name, "train"), 1, image=ffkit.Resize((3, 4)), label_field=None, fields={"mask": ffkit.MaskField("mask")})
        with pytest.raises(ffkit.UnsupportedError, match="save masks as PNG with one channel") as refused:
            next(iter(loader))
        remedy = str(refused.value).partition("one channel: ")[2]
        assert bool(remedy) == (name != "mask.pgm"), name
        if remedy:
            exec(remedy.replace('"mask.png"', "out"), {"Image": Image, "mask": tmp_path / name, "out": tmp_path / "mask.png"})
            assert (np.asarray(Image.open(tmp_path / "mask.png")) == IDS).all(), name


def test_mixing_refuses_what_it_would_leave(half_labelled: ffkit.Dataset) -> None:
    depth = {"depth": ffkit.PythonField(lambda values, key: np.zeros((8, 8)), shape=[8, 8], inputs=["image"])}
    with pytest.raises(ValueError, match="mixing cannot change the batch's field 'depth', because the field has a number for each pixel"):
        load(half_labelled, depth, mixing=ffkit.Mixing(mixup=0.2))
    zeros = {"mask": ffkit.ZerosWhereNull("mask", ffkit.MaskField("mask"))}
    assert {int(number) for number in load(half_labelled, zeros, mixing=ffkit.Mixing(cutmix=1.0))["mask"].unique()} <= {0, 1, 3}
    for fields, mixing, name in ((zeros, ffkit.Mixing(mixup=0.2), "mask"), ({"boxes": ffkit.BoxesField()}, ffkit.Mixing(cutmix=1.0), "boxes")):
        with pytest.raises(ValueError, match=f"mixing cannot change the batch's field '{name}'"):
            load(half_labelled, fields, mixing=mixing)
