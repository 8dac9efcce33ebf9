"""Crops, resizes and other steps of geometry. Names, parameters and results are those of torchvision.transforms.v2 on PIL images."""

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
    """torchvision's RandomResizedCrop: a crop of random area and aspect ratio (log-uniform), resized to `size`.

    Args:
        size: pixels, or (height, width).
        scale: share of the image's area, (low, high) in 0 .. 1.
        ratio: width / height, (low, high).
        interpolation: "bilinear" and "bicubic" as Pillow (antialiased), "opencv_bilinear" as cv2.resize (builds with OpenCV).
        flip_probability: of mirroring left and right as well, as a RandomHorizontalFlip behind it does.
        scaled_decode: decode JPEGs at 1/2, 1/4 or 1/8 size when the crop is still at least as large as `size` at that scale: faster for large images,
            values of 0 .. 255 differ by 1.3 in the mean where it applies. False: exactly as Pillow.
    """

    size: Size = 224
    scale: tuple[float, float] = (0.08, 1.0)
    ratio: tuple[float, float] = (3.0 / 4.0, 4.0 / 3.0)
    interpolation: Interpolation = "bilinear"
    flip_probability: float = 0.0
    scaled_decode: bool = True


@dataclass(frozen=True, slots=True)
class ResizeCenterCrop:
    """torchvision's Resize(resize) + CenterCrop(size), as models are evaluated: the short side becomes `resize`, then the central `size`."""

    resize: int = 256
    size: Size = 224
    interpolation: Interpolation = "bilinear"


@dataclass(frozen=True, slots=True)
class Resize:
    """torchvision's Resize: the whole image.

    Args:
        size: one number is the short side, and the aspect ratio stays: a crop must follow in a Compose. (height, width): both sides. None: max_size alone says it.
        interpolation: as of RandomResizedCrop.
        max_size: with a short side, the long side becomes no longer than this. Without a size it becomes this.
    """

    size: int | tuple[int, int] | None = (224, 224)
    interpolation: Interpolation = "bilinear"
    max_size: int | None = None


@dataclass(frozen=True, slots=True)
class RandomCrop:
    """torchvision's RandomCrop. CIFAR: RandomCrop(32, padding=4).

    Args:
        size: pixels, or (height, width).
        padding: at all sides, (left and right, top and bottom) or (left, top, right, bottom), 0 .. 8192.
        pad_if_needed: a picture that is smaller with its padding gets more at both sides; False: it is a bad sample.
        fill: colour of the padding, 0 .. 255.
        flip_probability: of mirroring left and right as well, as a RandomHorizontalFlip behind it does.
    """

    size: Size = 32
    padding: Sides | None = 0
    pad_if_needed: bool = False
    fill: Color = 0
    flip_probability: float = 0.0


@dataclass(frozen=True, slots=True)
class ResizeCrop:
    """What detectors in pictures of vehicles' cameras do (ImageAug3D of BEVFusion without its rotation): the picture is resized by a factor, and a crop is
    taken whose lower edge is the picture's or lies above it.

    Args:
        size: pixels, or (height, width).
        factor: drawn from (low, high), in 0 .. 16; sizes are truncated to whole pixels.
        bottom: share of the resized height below the crop, drawn from (low, high), in 0 .. 1.
        centered: horizontally: in the middle, or at a place drawn uniformly.
        flip_probability: of mirroring left and right.
        scaled_decode, interpolation: as of RandomResizedCrop.
    """

    size: Size = (256, 704)
    factor: tuple[float, float] = (0.48, 0.48)
    bottom: tuple[float, float] = (0.0, 0.0)
    centered: bool = True
    flip_probability: float = 0.0
    scaled_decode: bool = True
    interpolation: Interpolation = "bilinear"


@dataclass(frozen=True, slots=True)
class ScalePad:
    """What BEVFormer does: the whole picture becomes normalised floats, is resized by a factor and gets zeros at the bottom and right up to `size`. f32, f16 or bf16."""

    size: Size = (480, 800)
    factor: float = 0.5


@dataclass(frozen=True, slots=True)
class RandomHorizontalFlip:
    """Mirrors left and right with probability `p`."""

    p: float = 0.5


@dataclass(frozen=True, slots=True)
class RandomVerticalFlip:
    """Turns upside down with probability `p`."""

    p: float = 0.5


@dataclass(frozen=True, slots=True)
class RandomRotation:
    """Turns the picture counter-clockwise.

    Args:
        degrees: drawn from (low, high), in -360 .. 360; a number s stands for (-s, s).
        interpolation: "nearest", or Pillow's "bilinear" or "bicubic". Masks always take the nearest number.
        expand: the canvas becomes as large as the turned picture needs it; else its size stays.
        center: (x, y) in pixels from the top left corner, about which it turns; None: its middle. Not with `expand`.
        fill: colour where there is no picture, 0 .. 255.
    """

    degrees: Degrees = 15.0
    interpolation: WarpFilter = "nearest"
    expand: bool = False
    center: tuple[float, float] | None = None
    fill: Color = 0


@dataclass(frozen=True, slots=True)
class RandomAffine:
    """Turns, shears and scales the picture, and shifts it. Its size stays.

    Args:
        degrees: as of RandomRotation.
        translate: shares (of the width, of the height), 0 .. 1: a shift of whole pixels is drawn from (-share, share).
        scale: a factor, drawn from (low, high), in 0.01 .. 100.
        shear: degrees below 90, drawn as `degrees` are, of x; or (low, high, low, high) of x and of y.
        interpolation, fill, center: as of RandomRotation.
    """

    degrees: Degrees = 0.0
    translate: tuple[float, float] | None = (0.0, 0.0)
    scale: tuple[float, float] | None = (1.0, 1.0)
    shear: Degrees | tuple[float, float, float, float] | None = 0.0
    interpolation: WarpFilter = "nearest"
    fill: Color = 0
    center: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class RandomPerspective:
    """Moves each corner inwards with probability `p`, by up to `distortion_scale` (0 .. 1) of half the size."""

    distortion_scale: float = 0.5
    p: float = 0.5
    interpolation: WarpFilter = "bilinear"
    fill: Color = 0


@dataclass(frozen=True, slots=True)
class Pad:
    """Adds pixels around the picture: at all sides, (left and right, top and bottom) or (left, top, right, bottom), 0 .. 8192."""

    padding: Sides = 0
    fill: Color = 0


@dataclass(frozen=True, slots=True)
class RandomZoomOut:
    """Puts the picture somewhere on a larger canvas of `fill` with probability `p`; a factor of both sides is drawn from `side_range`, in 1 .. 16."""

    fill: Color = 0
    side_range: tuple[float, float] = (1.0, 4.0)
    p: float = 0.5


@dataclass(frozen=True, slots=True)
class RandomIoUCrop:
    """The crop of SSD. It takes the boxes of the BoxesField that follows the view, drops those whose centres lie outside, and leaves the picture as it is where 50 draws of `sampler_options` were in vain.

    Args:
        min_scale, max_scale: of each side, in 0 .. 1.
        min_aspect_ratio, max_aspect_ratio: width / height of the crop.
        sampler_options: intersection over union of the crop with one box at least, of which one is drawn; 1 leaves the picture as it is.
        trials: crops drawn for each of them, 1 .. 1000.
    """

    min_scale: float = 0.3
    max_scale: float = 1.0
    min_aspect_ratio: float = 0.5
    max_aspect_ratio: float = 2.0
    sampler_options: Sequence[float] | None = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)
    trials: int = 40


@dataclass(frozen=True, slots=True)
class ScaleJitter:
    """Resizes by a factor, drawn from `scale_range`, of what makes the picture fit into `target_size`. The aspect ratio stays."""

    target_size: Size = 1024
    scale_range: tuple[float, float] = (0.1, 2.0)
    interpolation: Interpolation = "bilinear"


@dataclass(frozen=True, slots=True)
class FixedSizeCrop:
    """Takes `size` at a random place; a smaller picture gets `fill` at the right and at the bottom."""

    size: Size = 1024
    fill: Color = 0


@dataclass(frozen=True, slots=True)
class PadToLargest:
    """The last step of a Compose whose pictures have many sizes: a batch is as large as its largest picture, rounded up to `multiple`s.

    Pictures lie at the top left, with zeros around them, also behind normalisation. `size` is the largest: a larger picture is a bad sample, and the loader's memory is for it.
    `batch.unpadded_sizes()` says how large each is, `batch.unpadded()` gives a list of them, and a PixelMaskField which pixels are theirs.
    """

    size: Size = 1344
    multiple: int = 32


@dataclass(frozen=True, slots=True)
class CenterCrop:
    """The central `size`; a smaller picture gets black around it."""

    size: Size = 224


@dataclass(frozen=True, slots=True)
class RandomShortestSize:
    """Resizes the short side to one of `min_size`, drawn at random, or as far as the long side stays within max_size (None: any)."""

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
    """Several steps, one after the other, which masks, boxes and points follow. The last steps must give pictures of one size:
    Compose([RandomRotation(10), RandomResizedCrop(224)]), Compose([ScaleJitter(1024), FixedSizeCrop(1024), RandomHorizontalFlip()]).

    Each step does to pixels what torchvision's does to PIL images. Crops, resizes, flips and padding that follow each other become one, where that changes no pixel.

    Args:
        steps: 1 to 64 crops, resizes, flips and other steps. The n-th of a kind draws numbers of its own, whatever steps of other kinds are there.
    """

    steps: Sequence[Step]

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", tuple(self.steps))


def name_parameters(classes: Sequence[type]) -> None:
    """A call that fits no parameter of these classes names those that there are."""
    for one in classes:
        _name_parameters(one)


def _name_parameters(one: Any) -> None:
    make, signature = one.__init__, f"{one.__name__}({', '.join(list(inspect.signature(one).parameters))})"

    @functools.wraps(make)
    def checked(self: Any, *args: Any, **kwargs: Any) -> None:
        try:
            inspect.signature(make).bind(self, *args, **kwargs)
        except TypeError as wrong:
            raise TypeError(f"{one.__name__}: {wrong}; it is {signature}") from None
        make(self, *args, **kwargs)

    one.__init__ = checked


name_parameters((*get_args(Step), ScalePad, Compose))
