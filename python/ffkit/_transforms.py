"""Crops, resizes and other steps of geometry. Names, parameters and results are those of
torchvision.transforms.v2 on PIL images."""

from __future__ import annotations

import functools
import inspect
from dataclasses import dataclass
from typing import Any, Literal, Sequence, get_args

Size = int | tuple[int, int]  # of a square, or (height, width), in pixels
Sides = int | tuple[int, int] | tuple[int, int, int, int]  # all, (left and right, top and bottom), or (left, top, right, bottom)
Color = int | tuple[int, int, int]  # RGB, 0 .. 255
Interpolation = Literal["bilinear", "bicubic", "opencv_bilinear"]
Degrees = float | tuple[float, float]  # of a strength s, (-s, s); or (low, high)
WarpFilter = Literal["nearest", "bilinear", "bicubic"]


@dataclass(frozen=True, slots=True)
class RandomResizedCrop:
    """torchvision's RandomResizedCrop: a crop of random area and aspect ratio, resized to `size`.

    Args:
        size: pixels, or (height, width).
        scale: share of the image's area, (low, high) in 0 .. 1.
        ratio: width / height, (low, high).
        interpolation: "bilinear" and "bicubic" like Pillow (antialiased), "opencv_bilinear" like
            cv2.resize (builds with OpenCV).
        flip_probability: of a RandomHorizontalFlip after it.
        scaled_decode: decodes JPEGs at 1/2, 1/4 or 1/8 size if the crop is still at least as large
            as `size`. This is faster for large images; values of 0 .. 255 then differ by 1.3 on
            average. False: exactly as Pillow."""

    size: Size = 224
    scale: tuple[float, float] = (0.08, 1.0)
    ratio: tuple[float, float] = (3.0 / 4.0, 4.0 / 3.0)
    interpolation: Interpolation = "bilinear"
    flip_probability: float = 0.0
    scaled_decode: bool = True


@dataclass(frozen=True, slots=True)
class ResizeCenterCrop:
    """torchvision's Resize(resize) + CenterCrop(size), the usual transform for evaluation."""

    resize: int = 256
    size: Size = 224
    interpolation: Interpolation = "bilinear"


@dataclass(frozen=True, slots=True)
class Resize:
    """torchvision's Resize: the whole image.

    Args:
        size: (height, width); or one number, the short side: the aspect ratio stays, and a crop
            must follow in a Compose. None: only max_size counts.
        interpolation: as of RandomResizedCrop.
        max_size: the maximum of the long side. Without `size`: the length of the long side."""

    size: int | tuple[int, int] | None = (224, 224)
    interpolation: Interpolation = "bilinear"
    max_size: int | None = None


@dataclass(frozen=True, slots=True)
class RandomCrop:
    """torchvision's RandomCrop. CIFAR: RandomCrop(32, padding=4).

    Args:
        size: pixels, or (height, width).
        padding: all sides, (horizontal, vertical) or (left, top, right, bottom), 0 .. 8192.
        pad_if_needed: if a padded picture is smaller than `size`, it gets more padding at both
            sides; False: it is a bad sample.
        fill: colour of the padding, 0 .. 255.
        flip_probability: of a RandomHorizontalFlip after it."""

    size: Size = 32
    padding: Sides | None = 0
    pad_if_needed: bool = False
    fill: Color = 0
    flip_probability: float = 0.0


@dataclass(frozen=True, slots=True)
class ResizeCrop:
    """The transform of detectors for vehicle cameras (ImageAug3D of BEVFusion without rotation):
    resizes the picture by a factor, then takes a crop at or above its lower edge.

    Args:
        size: pixels, or (height, width).
        factor: drawn from (low, high), in 0 .. 16; sizes are truncated to whole pixels.
        bottom: share of the resized height below the crop, drawn from (low, high), in 0 .. 1.
        centered: the crop is in the middle horizontally; False: at a random place.
        flip_probability: of mirroring left and right.
        scaled_decode, interpolation: see RandomResizedCrop."""

    size: Size = (256, 704)
    factor: tuple[float, float] = (0.48, 0.48)
    bottom: tuple[float, float] = (0.0, 0.0)
    centered: bool = True
    flip_probability: float = 0.0
    scaled_decode: bool = True
    interpolation: Interpolation = "bilinear"


@dataclass(frozen=True, slots=True)
class ScalePad:
    """BEVFormer's transform: converts the picture to normalised floats, resizes it by a factor, and
    adds zeros at the bottom and right up to `size`. Needs f32, f16 or bf16."""

    size: Size = (480, 800)
    factor: float = 0.5


@dataclass(frozen=True, slots=True)
class RandomHorizontalFlip:
    """Mirrors left and right with probability `p`."""

    p: float = 0.5


@dataclass(frozen=True, slots=True)
class RandomVerticalFlip:
    """Flips the picture upside down with probability `p`."""

    p: float = 0.5


@dataclass(frozen=True, slots=True)
class RandomRotation:
    """Rotates the picture counter-clockwise.

    Args:
        degrees: drawn from (low, high), in -360 .. 360; a number s means (-s, s).
        interpolation: "nearest", or Pillow's "bilinear" or "bicubic". Masks use "nearest".
        expand: the canvas grows to show the whole rotated picture; otherwise the size stays.
        center: (x, y) of the rotation in pixels; None: the middle. Not with `expand`.
        fill: colour outside of the picture, 0 .. 255."""

    degrees: Degrees = 15.0
    interpolation: WarpFilter = "nearest"
    expand: bool = False
    center: tuple[float, float] | None = None
    fill: Color = 0


@dataclass(frozen=True, slots=True)
class RandomAffine:
    """Rotates, shears, scales and shifts the picture. Its size stays.

    Args:
        degrees: see RandomRotation.
        translate: (share of the width, share of the height), 0 .. 1: a shift of whole pixels is
            drawn from (-share, share).
        scale: a factor, drawn from (low, high), in 0.01 .. 100.
        shear: degrees below 90, for x drawn like `degrees`; or (low, high, low, high) for x and y.
        interpolation, fill, center: see RandomRotation."""

    degrees: Degrees = 0.0
    translate: tuple[float, float] | None = (0.0, 0.0)
    scale: tuple[float, float] | None = (1.0, 1.0)
    shear: Degrees | tuple[float, float, float, float] | None = 0.0
    interpolation: WarpFilter = "nearest"
    fill: Color = 0
    center: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class RandomPerspective:
    """Moves each corner inwards with probability `p`, up to `distortion_scale` of half the size."""

    distortion_scale: float = 0.5
    p: float = 0.5
    interpolation: WarpFilter = "bilinear"
    fill: Color = 0


@dataclass(frozen=True, slots=True)
class Pad:
    """Adds pixels around the picture: at all sides, (left and right, top and bottom) or (left, top,
    right, bottom), 0 .. 8192."""

    padding: Sides = 0
    fill: Color = 0


@dataclass(frozen=True, slots=True)
class RandomZoomOut:
    """With probability `p`, puts the picture at a random place on a larger canvas of colour `fill`.
    The canvas is larger by a factor from `side_range`, in 1 .. 16."""

    fill: Color = 0
    side_range: tuple[float, float] = (1.0, 4.0)
    p: float = 0.5


@dataclass(frozen=True, slots=True)
class RandomIoUCrop:
    """The crop of SSD. It needs a BoxesField that follows the view, and drops boxes with their
    centre outside of the crop. After 50 failed draws, it keeps the whole picture.

    Args:
        min_scale, max_scale: share of each side, in 0 .. 1.
        min_aspect_ratio, max_aspect_ratio: width / height of the crop.
        sampler_options: one of these is drawn: the crop must have this intersection over union with
            at least one box; 1 keeps the whole picture.
        trials: number of crops to try for each draw, 1 .. 1000."""

    min_scale: float = 0.3
    max_scale: float = 1.0
    min_aspect_ratio: float = 0.5
    max_aspect_ratio: float = 2.0
    sampler_options: Sequence[float] | None = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)
    trials: int = 40


@dataclass(frozen=True, slots=True)
class ScaleJitter:
    """Resizes to fit into `target_size` times a factor of `scale_range`; keeps the aspect ratio."""

    target_size: Size = 1024
    scale_range: tuple[float, float] = (0.1, 2.0)
    interpolation: Interpolation = "bilinear"


@dataclass(frozen=True, slots=True)
class FixedSizeCrop:
    """A crop of `size` at a random place; a smaller picture gets `fill` at the right and bottom."""

    size: Size = 1024
    fill: Color = 0


@dataclass(frozen=True, slots=True)
class PadToLargest:
    """The last step of a Compose for pictures of different sizes: a batch is as large as its
    largest picture, rounded up to a multiple of `multiple`.

    Pictures are at the top left; the rest is zero, also after normalisation. A picture larger than
    `size` is a bad sample; the loader reserves memory for this size. `batch.unpadded_sizes()`
    returns the size of each picture, `batch.unpadded()` the pictures; PixelMaskField is a mask."""

    size: Size = 1344
    multiple: int = 32


@dataclass(frozen=True, slots=True)
class CenterCrop:
    """Takes the central `size`; a smaller picture gets a black border."""

    size: Size = 224


@dataclass(frozen=True, slots=True)
class RandomShortestSize:
    """Resizes the short side to one of `min_size`, drawn at random. The long side becomes at most
    `max_size` (None: no limit)."""

    min_size: int | Sequence[int] = 800
    max_size: int | None = None
    interpolation: Interpolation = "bilinear"

    def __post_init__(self) -> None:
        object.__setattr__(self, "min_size", (self.min_size,) if isinstance(self.min_size, int) else tuple(self.min_size))


Step = (
    RandomResizedCrop
    | ResizeCenterCrop
    | Resize
    | RandomCrop
    | ResizeCrop
    | RandomHorizontalFlip
    | RandomVerticalFlip
    | RandomRotation
    | RandomAffine
    | RandomPerspective
    | Pad
    | RandomZoomOut
    | RandomIoUCrop
    | ScaleJitter
    | FixedSizeCrop
    | CenterCrop
    | RandomShortestSize
    | PadToLargest
)


@dataclass(frozen=True, slots=True)
class Compose:
    """Several steps, one after the other; masks, boxes and points follow them. The result must have
    the same size for all pictures: Compose([RandomRotation(10), RandomResizedCrop(224)]),
    Compose([ScaleJitter(1024), FixedSizeCrop(1024), RandomHorizontalFlip()]).

    Each step gives the pixels that torchvision's gives for PIL images. Consecutive crops, resizes,
    flips and padding become one operation, if that changes no pixel.

    Args:
        steps: 1 to 64 crops, resizes, flips and other steps. The n-th step of a kind has its own
            random numbers, which do not depend on steps of other kinds."""

    steps: Sequence[Step]

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", tuple(self.steps))


def name_parameters(classes: Sequence[type]) -> None:
    """Makes errors of wrong arguments to these classes name the parameters."""
    for one in classes:
        _name_parameters(one)


def _name_parameters(one: Any) -> None:
    make, signature = one.__init__, f"{one.__name__}({', '.join(list(inspect.signature(one).parameters))})"

    @functools.wraps(make)
    def checked(self: Any, *args: Any, **kwargs: Any) -> None:
        try:
            inspect.signature(make).bind(self, *args, **kwargs)
        except TypeError as wrong:
            raise TypeError(f"{one.__name__}: {wrong}; the signature is {signature}") from None
        make(self, *args, **kwargs)

    one.__init__ = checked


name_parameters((*get_args(Step), ScalePad, Compose))
