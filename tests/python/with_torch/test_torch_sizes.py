"""Pictures of many sizes in one batch, and grey pictures: against torchvision."""

import io
import pathlib
import struct
import zlib
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision.models.detection.image_list import ImageList
from torchvision.models.detection.transform import GeneralizedRCNNTransform
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional as F

import ffkit
import ffkit.torch
from view_samples import SIZES, encoded, samples, written
from conftest import by_topic

MEAN, STD = ffkit.IMAGENET_MEAN, ffkit.IMAGENET_STD


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> ffkit.Dataset:
    return written(tmp_path_factory.mktemp("sizes") / "data")


def _image(sample: dict) -> Image.Image:
    return Image.open(io.BytesIO(sample["image"])).convert("RGB")


PADDED = ffkit.Compose([ffkit.Resize(48, max_size=90), ffkit.PadToLargest(256, multiple=32)])
FIELDS = {
    "mask": ffkit.MaskField("mask"), "valid": ffkit.PixelMaskField(), "depth": ffkit.PictureField("depth", dtype="u8", layout="nhwc"),
    "boxes": ffkit.BoxesField(format="cxcywh", relative=True, min_size=0),
}


def _loader(data: ffkit.Dataset, batch_size: int = len(SIZES), **options: Any) -> ffkit.Loader:
    return ffkit.Loader(data, batch_size, **by_topic(**{"image": PADDED, "fields": FIELDS, "order": "sequential", "seed": 11, "tail": "exact", **options}))


def test_a_batch_is_as_large_as_its_largest_picture(data: ffkit.Dataset) -> None:
    for batch_size in (1, 3, len(SIZES)):
        for number, batch in enumerate(_loader(data, batch_size)):
            first = number * batch_size
            pictures = [v2.Resize(48, max_size=90)(_image(sample)) for sample in samples()[first : first + batch_size]]
            tensors = [F.normalize(F.to_dtype(F.pil_to_tensor(p), torch.float32, scale=True), MEAN, STD) for p in pictures]
            # DETR's, Mask R-CNN's and others': zeros behind normalisation, sizes that are multiples
            # of 32.
            expected = GeneralizedRCNNTransform(1, 1, [0.0], [1.0], size_divisible=32).batch_images(tensors, 32)
            assert batch["image"].shape == expected.shape
            assert batch["image"].is_contiguous()
            torch.testing.assert_close(batch["image"], expected, atol=2e-6, rtol=0)
            height, width = expected.shape[2:]
            assert batch["mask"].shape == batch["valid"].shape == (len(pictures), height, width) and batch["depth"].shape == (len(pictures), height, width, 3)
            assert batch.unpadded_sizes().tolist() == [[p.height, p.width] for p in pictures]
            for i, picture in enumerate(pictures):
                inside = torch.zeros(height, width, dtype=torch.bool)
                inside[: picture.height, : picture.width] = True
                assert torch.equal(batch["valid"][i].bool(), inside)
                assert bool((batch["mask"][i][~inside] == 255).all()) and bool((batch["depth"][i][~inside] == 0).all())
                assert bool((batch["depth"][i][inside] == 40000 >> 8).all())


def test_pictures_come_as_a_list(data: ffkit.Dataset) -> None:
    batch = next(iter(_loader(data)))
    pictures, masks, depths = batch.unpadded(), batch.unpadded("mask"), batch.unpadded("depth")
    for picture, mask, depth, (height, width) in zip(pictures, masks, depths, batch.unpadded_sizes().tolist()):
        assert picture.shape == (3, height, width) and mask.shape == (height, width) and depth.shape == (height, width, 3)
        assert picture.untyped_storage().data_ptr() == batch["image"].untyped_storage().data_ptr()
    assert ImageList(batch["image"], batch.unpadded_sizes().tolist()).tensors.shape[0] == len(SIZES)
    with pytest.raises(ffkit.FieldNotFoundError, match="no array 'boxes' of a view that ends with PadToLargest; the arrays are: image, mask, valid, depth"):
        batch.unpadded("boxes")
    copied = batch.copy()
    assert copied.unpadded_sizes().tolist() == batch.unpadded_sizes().tolist()


def test_relative_boxes_are_shares_of_the_picture_alone(data: ffkit.Dataset) -> None:
    batch = next(iter(_loader(data)))
    offsets = batch.row_offsets("boxes")
    for i, sample in enumerate(samples()):
        boxes = torch.as_tensor(sample["boxes"])  # xywh, within the picture
        width, height = SIZES[i]
        expected = torch.cat([boxes[:, :2] + boxes[:, 2:] / 2, boxes[:, 2:]], 1) / torch.tensor([width, height, width, height])
        torch.testing.assert_close(batch["boxes"][offsets[i] : offsets[i + 1]], expected, atol=1e-5, rtol=1e-5)


def test_views_with_copies_are_cut_alike(data: ffkit.Dataset) -> None:
    steps = ffkit.Compose([ffkit.RandomShortestSize([32, 48, 60], 100), ffkit.PadToLargest((128, 160), multiple=8)])
    views = {"two": (ffkit.ImageOptions(steps, dtype="u8", layout="nhwc"), 2), "small": ffkit.Resize((16, 16))}
    batch = next(iter(_loader(data, views=views, image=None, fields={"mask": ffkit.MaskField("mask", view="two")})))
    sizes = batch.unpadded_sizes("two")
    assert sizes.shape == (8, 2, 2)
    height, width = (-(-int(v) // 8) * 8 for v in sizes.reshape(-1, 2).max(axis=0))
    assert batch["two"].shape == (8, 2, height, width, 3) and batch["mask"].shape == (8, 2, height, width) and batch["small"].shape == (8, 3, 16, 16)
    for sample, pair, both in zip(samples(), batch["two"], sizes):
        for one, (h, w) in zip(pair, both.tolist()):
            assert torch.equal(one[:h, :w], F.pil_to_tensor(F.resize(_image(sample), [h, w], antialias=True)).permute(1, 2, 0))
            assert not one[h:].any() and not one[:, w:].any()
    with pytest.raises(ffkit.InvalidArgumentError, match="view 'two' has copies"):
        batch.unpadded("two")
    with pytest.raises(ffkit.FieldNotFoundError, match="no view 'small' that ends with PadToLargest; the views with it are: two"):
        batch.unpadded_sizes("small")


def test_padded_batches_are_the_same_for_any_number_of_threads_and_after_a_restore(data: ffkit.Dataset) -> None:
    steps = ffkit.Compose([ffkit.RandomHorizontalFlip(), ffkit.RandomShortestSize([32, 48, 60], 100), ffkit.PadToLargest(128)])

    def epoch(threads: int, stop: int | None = None) -> list[np.ndarray]:
        loader = _loader(data, 3, image=steps, order="shuffle", num_threads=threads, arrays="numpy")
        arrays: list[np.ndarray] = []
        for n, batch in enumerate(loader):
            arrays += [np.array(value) for value in (*batch.values(), batch.unpadded_sizes())]
            if n == stop:
                state = loader.state_dict()
                loader = _loader(data, 3, image=steps, order="shuffle", num_threads=threads, arrays="numpy")
                loader.load_state_dict(state)
                return arrays + [np.array(value) for batch in loader for value in (*batch.values(), batch.unpadded_sizes())]
        return arrays

    expected = epoch(1)
    assert len({array.shape for array in expected if array.ndim == 4}) > 2
    for threads, stop in ((2, None), (5, None), (2, 0)):
        made = epoch(threads, stop)
        assert len(made) == len(expected) and all(map(np.array_equal, made, expected))


def test_what_cannot_be_padded_is_refused(data: ffkit.Dataset) -> None:
    for options, message in (
        ({"image": ffkit.Compose([ffkit.PadToLargest(), ffkit.RandomHorizontalFlip()])}, "PadToLargest must be the last step"),
        ({"mixing": ffkit.Mixing(mixup=0.2), "fields": {}}, "mixing would blend the padding of PadToLargest"),
        ({"image": ffkit.Resize((8, 8)), "fields": {"other": ffkit.ImageField("image", ffkit.ImageOptions(PADDED))}}, "PadToLargest works only for the loader's picture"),
        ({"image": ffkit.Compose([ffkit.PadToLargest(multiple=0)])}, "PadToLargest multiple is 0; expected 1 to 1024"),
    ):
        with pytest.raises(ffkit.InvalidArgumentError, match=message):
            _loader(data, **options)
    with pytest.raises(ffkit.UnsupportedError, match="the picture has 72 x 45 pixels before PadToLargest, but PadToLargest has the size 64 x 64 pixels"):
        next(iter(_loader(data, image=ffkit.Compose([ffkit.Resize(48, max_size=72), ffkit.PadToLargest(64)]))))


def test_grey_pictures_are_torchvisions(data: ffkit.Dataset) -> None:
    for transform in (v2.Resize((40, 36)), v2.Compose([v2.Resize(60), v2.CenterCrop(44)])):
        theirs = v2.Compose([transform, v2.Grayscale(1), v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize((0.25,), (0.5,))])
        options = ffkit.torch.image_options(theirs)
        assert options.channels == 1 and options.mean == 0.25
        batch = next(iter(_loader(data, image=options, fields={})))
        torch.testing.assert_close(batch["image"], torch.stack([theirs(_image(sample)) for sample in samples()]), atol=1e-6, rtol=0)
    # Of augmented colours, as bytes, channels last.
    batch = next(iter(_loader(data, image=ffkit.ImageOptions(ffkit.RandomResizedCrop(32, flip_probability=0.5), [ffkit.Solarize(100)], dtype="u8", layout="nhwc"), fields={})))
    grey = next(iter(_loader(data, image=ffkit.ImageOptions(ffkit.RandomResizedCrop(32, flip_probability=0.5), [ffkit.Solarize(100)], dtype="u8", layout="nhwc", channels=1), fields={})))
    assert grey["image"].shape == (8, 32, 32, 1)
    for ours, theirs in zip(grey["image"][..., 0], batch["image"]):
        assert np.array_equal(ours, np.array(Image.fromarray(theirs.numpy()).convert("L")))


def test_grey_values_of_16_bits_stay(tmp_path: pathlib.Path) -> None:
    values = np.arange(48 * 40, dtype=np.uint16).reshape(40, 48) * 30
    with ffkit.Writer(tmp_path / "data", schema={"image": "image"}) as writer:
        writer.write({"image": encoded(Image.fromarray(values), "PNG")})
    data = ffkit.Dataset(tmp_path / "data", "train")
    for dtype in ("u16", "i32"):
        options = ffkit.ImageOptions(ffkit.Resize((40, 48)), dtype=dtype, channels=1)
        batch = next(iter(ffkit.Loader(data, 1, image=options, label_field=None, arrays="numpy")))
        assert np.array_equal(batch["image"][0, 0], values)


def test_a_resize_of_grey_values_of_16_bits_is_said_once(tmp_path: pathlib.Path) -> None:
    values = np.arange(48 * 40, dtype=np.uint16).reshape(40, 48) * 30
    mask = encoded(Image.fromarray(values), "PNG")
    with ffkit.Writer(tmp_path / "data", schema={"image": "image", "mask": "image", "frames": "list[image]"}) as writer:
        for _ in range(4):
            writer.write({"image": np.zeros((40, 48, 3), np.uint8), "mask": mask, "frames": [mask, mask]})
    for size, number in (((40, 48), 0), ((20, 24), 1)):
        options = ffkit.ImageOptions(ffkit.Resize(size), dtype="i32")
        for field in (ffkit.ImageField("mask", options), ffkit.ImagesField(["mask", "mask"], options), ffkit.FramesField("frames", 2, image=options)):
            said: list[str] = []
            for _ in ffkit.Loader(ffkit.Dataset(tmp_path / "data", "train"), 1, image=None, label_field=None, fields={"mask": field}, on_warning=said.append):
                pass
            assert len(said) == number and all("this is right for depths, but class ids need a MaskField" in text for text in said)


def test_palettes_are_not_mixed(tmp_path: pathlib.Path) -> None:
    sample = samples()[0]
    with ffkit.Writer(tmp_path / "data", schema={"image": "image", "mask": "image", "frames": "list[image]"}) as writer:
        writer.write({"image": sample["image"], "mask": sample["mask"], "frames": [sample["mask"]] * 2})
    data = ffkit.Dataset(tmp_path / "data", "train")
    for size, is_refused in (((61, 97), False), ((30, 48), True)):
        options = ffkit.ImageOptions(ffkit.Resize(size))
        for field in (ffkit.ImageField("mask", options), ffkit.ImagesField(["image", "mask"], options), ffkit.FramesField("frames", 2, image=options)):
            loader = ffkit.Loader(data, 1, image=None, label_field=None, fields={"mask": field})
            if not is_refused:
                next(iter(loader))
                continue
            with pytest.raises(ffkit.UnsupportedError, match="record 0: .*this PNG has a palette, as masks have"):
                next(iter(loader))
        # As the loader's picture, or beside it, it is one.
        further = {"again": ffkit.PictureField("mask")}
        next(iter(ffkit.Loader(data, 1, image=options, image_field="mask", label_field=None, fields=further)))


def _colour_png_of_16_bits() -> bytes:
    rows = b"".join(b"\0" + bytes(range(24)) for _ in range(4))  # 4 x 4 pixels, without a filter
    chunks = [(b"IHDR", struct.pack(">IIBBBBB", 4, 4, 16, 2, 0, 0, 0)), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks)


def test_colours_of_16_bits_have_no_grey(tmp_path: pathlib.Path) -> None:
    with ffkit.Writer(tmp_path / "data", schema={"image": "image"}) as writer:
        writer.write({"image": _colour_png_of_16_bits()})
    data = ffkit.Dataset(tmp_path / "data", "train")
    options = {"mean": 0.5, "std": 0.5, "channels": 1}
    with pytest.raises(ffkit.UnsupportedError, match="record 0: .* the picture has 16-bit colours, which ffkit does not convert to grey"):
        next(iter(ffkit.Loader(data, 1, image=ffkit.ImageOptions(ffkit.Resize((4, 4)), **options), label_field=None)))
    batch = next(iter(ffkit.Loader(data, 1, image=ffkit.ImageOptions(ffkit.Resize((4, 4)), dtype="u8", channels=1), label_field=None)))
    assert batch["image"].shape == (1, 1, 4, 4)


def test_grey_mixes_as_colours_do(data: ffkit.Dataset) -> None:
    image = ffkit.ImageOptions(ffkit.Resize((24, 24)), mean=0.5, std=0.5, channels=1)
    for mixing in (ffkit.Mixing(mixup=0.5), ffkit.Mixing(cutmix=1.0)):
        plain = next(iter(_loader(data, image=image, fields={})))["image"].numpy()
        mixed = next(iter(_loader(data, image=image, fields={}, mixing=mixing)))
        other = np.roll(plain, 1, 0)
        if mixing.mixup:
            assert np.allclose(mixed["image"], plain * mixed.mix_lambda + other * (1 - mixed.mix_lambda), atol=1e-6)
        else:
            pixels = mixed["image"].numpy()
            assert np.all((pixels == plain) | (pixels == other)) and abs(np.mean(pixels == plain) - mixed.mix_lambda) < 0.2


def test_grey_needs_one_mean(data: ffkit.Dataset) -> None:
    with pytest.raises(ffkit.InvalidArgumentError, match="mean or std differ between channels"):
        _loader(data, image=ffkit.ImageOptions(ffkit.Resize((24, 24)), channels=1))
    with pytest.raises(ffkit.InvalidArgumentError, match="image output channels is 2; expected 1 .grey. or 3"):
        _loader(data, image=ffkit.ImageOptions(ffkit.Resize((24, 24)), channels=2))
    with pytest.raises(ffkit.UnsupportedError, match="it comes after Grayscale of one channel"):
        ffkit.torch.image_options(v2.Compose([v2.Grayscale(1), v2.Resize((8, 8)), v2.PILToTensor()]))
