"""A name of torchvision's means what it means there: parameters, their order and defaults, and what they make."""

import inspect
import pathlib

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision import tv_tensors
from torchvision.transforms import v2

import ffkit
import ffkit.convert
import ffkit.torch
from conftest import by_topic

# What ffkit leaves out, which it refuses: pixels are Pillow's, which has neither.
LEFT_OUT = {"antialias", "inplace", "padding_mode"}
# Where None stands for a value.
NONE_IS = {"padding": 0, "translate": (0.0, 0.0), "scale": (1.0, 1.0), "shear": 0.0, "brightness": 0.0, "contrast": 0.0, "saturation": 0.0, "hue": 0.0, "fill": 0,
           "sampler_options": (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)}  # fmt: skip
NAMES = [name for name in dir(ffkit) if hasattr(v2, name) and name not in ("Compose",) and inspect.isclass(getattr(v2, name))]


def plain(name: str, value: object) -> object:
    value = getattr(value, "value", value)
    return NONE_IS.get(name) if value is None else value


def test_many_names_are_torchvisions() -> None:
    assert len(NAMES) > 25 and {"Resize", "RandomCrop", "GaussianBlur", "RandomErasing", "RandomSolarize"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_parameters_are_torchvisions(name: str) -> None:
    theirs = {key: p.default for key, p in inspect.signature(getattr(v2, name)).parameters.items() if key not in LEFT_OUT}
    ours = {key: p.default for key, p in inspect.signature(getattr(ffkit, name)).parameters.items()}
    if "Augment" in name:  # theirs is "nearest"; ffkit refuses others
        theirs.pop("interpolation")
    assert list(ours)[: len(theirs)] == list(theirs)
    for key, default in theirs.items():
        if default is not inspect.Parameter.empty:
            assert plain(key, ours[key]) == plain(key, default), key


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> ffkit.Dataset:
    folder = tmp_path_factory.mktemp("names") / "dst"
    pixels = np.random.default_rng(1).integers(0, 256, (100, 400, 3), dtype=np.uint8)
    with ffkit.Writer(folder, "train", schema={"image": "image", "label": "i64"}) as writer:
        for label in range(24):
            writer.write({"image": pixels, "label": label})
    return ffkit.Dataset(folder, "train")


def first(data: ffkit.Dataset, image: object, **options: object) -> np.ndarray:
    with ffkit.Loader(data, 24, image=ffkit.ImageOptions(image, dtype="u8"), order="sequential", arrays="numpy", **options) as loader:
        return next(iter(loader))["image"]


def test_one_number_of_resize_is_the_short_side(data: ffkit.Dataset) -> None:
    picture = Image.fromarray(np.asarray(ffkit.decode_image(data[0]["image"])))
    for ours, theirs in (
        ([ffkit.Resize(64)], v2.Resize(64)),
        ([ffkit.Resize(64, max_size=200)], v2.Resize(64, max_size=200)),
        ([ffkit.Resize(None, max_size=300)], v2.Resize(size=None, max_size=300)),
        ([ffkit.Resize((64, 80))], v2.Resize((64, 80))),
    ):
        expected = np.asarray(v2.CenterCrop(48)(theirs(picture))).transpose(2, 0, 1)
        assert (first(data, ffkit.Compose([*ours, ffkit.CenterCrop(48)]))[0] == expected).all()
    for alone in (ffkit.Resize(64), ffkit.Compose([ffkit.Resize(64)]), ffkit.Resize(64)):
        with pytest.raises(ValueError, match=r"Resize\(\(64, 64\)\)"):
            first(data, alone)
    with pytest.raises(ValueError, match=r"Resize\(\(64, 64\)\)"):
        ffkit.Loader(data, 4, views={"a": (ffkit.Resize(64), 2)})


def test_crops_mirror_only_where_it_is_asked_for(data: ffkit.Dataset) -> None:
    def mirrored(image: object) -> set[bool]:
        with ffkit.Loader(data, 24, image=image, order="sequential") as loader:
            return {matrix[0, 0] < 0 for matrix in next(iter(loader)).geometry()}

    steps = [ffkit.RandomResizedCrop(32), ffkit.RandomHorizontalFlip()]
    for crop in (ffkit.RandomResizedCrop(32), ffkit.RandomCrop(32), ffkit.Compose(steps[:1]), ffkit.ImageOptions()):
        assert mirrored(crop) == {False}
    for crop in (ffkit.RandomResizedCrop(32, flip_probability=0.5), ffkit.RandomCrop(32, flip_probability=0.5), ffkit.Compose(steps)):
        assert mirrored(crop) == {False, True}


def test_a_crop_pads_only_where_it_is_asked_for(data: ffkit.Dataset) -> None:
    with pytest.raises(ValueError):
        v2.RandomCrop(120)(Image.new("RGB", (400, 100)))
    with pytest.raises(ffkit.UnsupportedError, match="give pad_if_needed=True"):
        first(data, ffkit.RandomCrop(120))
    assert first(data, ffkit.RandomCrop(120, pad_if_needed=True)).shape == (24, 3, 120, 120)


@pytest.mark.parametrize("call, message", [
    (lambda: {"augment": [ffkit.GaussianBlur((0.1, 2.0))]}, r"in GaussianBlur\(kernel_size, sigma\)"),
    (lambda: {"augment": [ffkit.GaussianBlur(1.5, 9)]}, r"in GaussianBlur\(kernel_size, sigma\)"),
    (lambda: {"augment": [ffkit.Grayscale()]}, r"Grayscale\(3\)"),
    (lambda: {"image": ffkit.RandomCrop(32, 4, (1, 2, 3))}, r"in RandomCrop\(size, padding, pad_if_needed, fill, flip_probability\)"),
    (lambda: {"image": ffkit.RandomCrop(32, 4, 0)}, "RandomCrop.pad_if_needed is 0"),
    (lambda: {"image": ffkit.RandomResizedCrop(32, (0.1, 1), (1, 1), 0.5)}, "RandomResizedCrop.interpolation is 0.5"),
    (lambda: {"image": ffkit.Compose([ffkit.RandomZoomOut((1, 4)), ffkit.CenterCrop(8)])}, r"in RandomZoomOut\(fill, side_range, p\)"),
    (lambda: {"image": ffkit.Compose([ffkit.RandomRotation(3, "nearest", 0), ffkit.CenterCrop(8)])}, "RandomRotation.expand is 0"),
    (lambda: {"image": ffkit.RandomHorizontalFlip(probability=0.5)}, r"the signature is RandomHorizontalFlip\(p\)"),
    (lambda: {"image": ffkit.ScaleJitter(size=8)}, r"the signature is ScaleJitter\(target_size, scale_range, interpolation\)"),
    (lambda: {"erasing": ffkit.RandomErasing(probability=0.5)}, r"the signature is RandomErasing\(p, scale, ratio, value\)"),
])  # fmt: skip
def test_former_calls_are_refused_with_the_parameters(data: ffkit.Dataset, call: object, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        ffkit.Loader(data, 4, **by_topic(**{"image": ffkit.Resize((8, 8)), **call()}))


@pytest.mark.parametrize("colours", [v2.ColorJitter(contrast=(1.5, 1.5)), v2.GaussianBlur(9, (2.0, 2.0)), v2.RandomEqualize(1.0), v2.RandomAutocontrast(1.0)])
def test_a_crop_behind_colours_is_no_crop_before_them(colours: object) -> None:
    """Contrast, blur and histograms are of the whole picture there."""
    with pytest.raises(ffkit.UnsupportedError, match="CenterCrop.*comes after an augmentation of colours"):
        ffkit.torch.image_options(v2.Compose([v2.Resize(50), colours, v2.CenterCrop(32), *FLOATS]))


def test_a_fill_by_kind_of_picture_is_that_of_this_kind(data: ffkit.Dataset) -> None:
    picture = Image.fromarray(np.asarray(ffkit.decode_image(data[0]["image"])))
    for first in ([], [v2.ToImage()]):
        for fill in ({tv_tensors.Image: (1, 2, 3), "others": 9}, {Image.Image: 7, "others": (4, 5, 6)}, {"others": 8}):
            transform = v2.Compose([v2.CenterCrop(40), *first, v2.Pad([1, 2], fill=fill), *FLOATS])
            with ffkit.Loader(data, 24, image=transform, order="sequential") as loader:
                assert torch.allclose(next(iter(loader))["image"][0], transform(picture), atol=1e-6)
    with pytest.raises(ffkit.UnsupportedError, match="its fill has no value for this kind"):
        ffkit.torch.image_options(v2.Compose([v2.CenterCrop(40), v2.Pad(1, fill={tv_tensors.Image: 1}), *FLOATS]))


FLOATS = [v2.ToImage(), v2.ToDtype(torch.float32, scale=True)]


@pytest.mark.parametrize("end", [
    [*FLOATS, v2.Normalize((0.5,), (0.5,))],
    [*FLOATS, v2.Normalize(torch.tensor([0.5]), torch.tensor([0.25]))],
    [*FLOATS, v2.Normalize((0.1, 0.2, 0.3), (0.5, 0.6, 0.7)), v2.Normalize((0.5,), (2.0,))],
    [v2.RGB(), *FLOATS],
    [v2.Grayscale(1), v2.RGB(), *FLOATS],
    [*FLOATS, v2.ClampBoundingBoxes(), v2.ToPureTensor()],
])  # fmt: skip
def test_pipelines_as_torchvisions_pages_have_them(data: ffkit.Dataset, end: list[object]) -> None:
    transform = v2.Compose([v2.Resize((24, 60)), *end])
    picture = Image.fromarray(np.asarray(ffkit.decode_image(data[0]["image"])))
    expected = transform(picture)
    for given in (transform, torch.nn.Sequential(*transform.transforms)):
        with ffkit.Loader(data, 24, image=given, order="sequential") as loader:
            assert torch.allclose(next(iter(loader))["image"][0], expected, atol=1e-6)


def test_a_tensor_first_and_sequential_are_taken(data: ffkit.Dataset) -> None:
    page = [v2.ToImage(), v2.ToDtype(torch.uint8, scale=True), v2.RandomResizedCrop(32, antialias=True), v2.RandomHorizontalFlip(0.5), v2.ToDtype(torch.float32, scale=True)]
    options = ffkit.torch.image_options(torch.nn.Sequential(*page))
    assert options.transform == ffkit.RandomResizedCrop(32, flip_probability=0.5, scaled_decode=False)
    boxes = ffkit.torch.image_options(v2.Compose([v2.ToImage(), v2.Resize(size=None, max_size=60), v2.CenterCrop(48), v2.SanitizeBoundingBoxes(), *FLOATS]))
    assert boxes.transform == ffkit.Compose([ffkit.Resize(None, max_size=60), ffkit.CenterCrop(48)])
    for step, message in ((v2.ConvertBoundingBoxFormat("CXCYWH"), "ConvertBoundingBoxFormat.*format="), (v2.SanitizeBoundingBoxes(min_size=9), "SanitizeBoundingBoxes.*min_size=")):
        with pytest.raises(ffkit.UnsupportedError, match=message):
            ffkit.torch.image_options(v2.Compose([v2.Resize((8, 8)), step, *FLOATS]))
