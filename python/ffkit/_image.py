"""Options of pictures: from an encoded image to its place in a batch. Names and parameters are
torchvision's; pixels equal Pillow's.

    decode -> transform (crop, resize, flip) -> augment -> normalise, convert, lay out -> erasing

Ranges are checked when the loader is made: InvalidArgumentError (a ValueError) names the first
value that is out of range."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Iterable, Literal, Sequence

from ._samples import DtypeObject, dtype_word
from ._transforms import Color, Compose, RandomCrop, RandomResizedCrop, Resize, ResizeCenterCrop, ResizeCrop, ScalePad, Size, name_parameters

Range = float | tuple[float, float]  # a strength, or (low, high)
Dtype = Literal["u8", "u16", "i32", "f16", "bf16", "f32", "uint8", "uint16", "int32", "float16", "bfloat16", "float32"] | DtypeObject
"""Of arrays: ffkit's word, NumPy's and torch's name, or their dtype (torch.float16)."""
Layout = Literal["nchw", "nhwc"]

IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)

Transform = RandomResizedCrop | ResizeCenterCrop | Resize | RandomCrop | ResizeCrop | ScalePad | Compose


@dataclass(frozen=True, slots=True)
class ColorJitter:
    """torchvision's ColorJitter. Each is (low, high) or a strength s: (max(0, 1 - s), 1 + s), or
    (-s, s)."""

    brightness: Range = 0.0
    contrast: Range = 0.0
    saturation: Range = 0.0
    hue: Range = 0.0


@dataclass(frozen=True, slots=True)
class RandAugment:
    """torchvision's RandAugment: `num_ops` of 14 operations, `magnitude` of
    `num_magnitude_bins`."""

    num_ops: int = 2
    magnitude: int = 9
    num_magnitude_bins: int = 31
    fill: Color = 0


@dataclass(frozen=True, slots=True)
class TrivialAugmentWide:
    """torchvision's TrivialAugmentWide: one of 14 operations, with one of `num_magnitude_bins`
    magnitudes, both drawn at random."""

    num_magnitude_bins: int = 31
    fill: Color = 0


@dataclass(frozen=True, slots=True)
class AutoAugment:
    """torchvision's AutoAugment: a pair of operations for "imagenet", "cifar10" or "svhn"."""

    policy: Literal["imagenet", "cifar10", "svhn"] = "imagenet"
    fill: Color = 0


@dataclass(frozen=True, slots=True)
class PhotoMetricDistortion:
    """PhotoMetricDistortion of mmdetection and BEVFormer. It needs a ScalePad, which makes floats,
    and must be the only augmentation."""

    brightness_delta: float = 32.0
    contrast: Range = (0.5, 1.5)
    saturation: Range = (0.5, 1.5)
    hue_delta: float = 18.0


@dataclass(frozen=True, slots=True)
class GaussianBlur:
    """A blur with one of two kernels. The standard deviation is drawn for each picture.

    Args:
        kernel_size: odd number in 1 .. 255: torchvision's GaussianBlur(kernel_size, sigma); a value
            may differ by 1 if the exact one is within 1/2000 of a half. 0: exactly Pillow's
            ImageFilter.GaussianBlur(sigma), as in SimCLR, MoCo v2 and DINO.
        sigma: pixels, or (low, high), in 0 .. 100; with a kernel_size it must be above 0."""

    kernel_size: int | tuple[int, int] = 0
    sigma: float | tuple[float, float] = (0.1, 2.0)


@dataclass(frozen=True, slots=True)
class Solarize:
    """Always inverts values of `threshold` (0 .. 256) or more; RandomSolarize has a probability."""

    threshold: float = 128


@dataclass(frozen=True, slots=True)
class Posterize:
    """Keeps the highest `bits` of each value, 1 .. 8."""

    bits: int = 4


@dataclass(frozen=True, slots=True)
class Equalize:
    """Spreads each channel's values so that all of them are about equally frequent."""


@dataclass(frozen=True, slots=True)
class AutoContrast:
    """Stretches each channel's values to 0 .. 255."""


@dataclass(frozen=True, slots=True)
class Grayscale:
    """torchvision's Grayscale(3): the luma in all three channels. For one channel, torchvision's
    Grayscale(), use `channels=1` of the picture."""

    num_output_channels: int = 1


@dataclass(frozen=True, slots=True)
class Invert:
    """value -> 255 - value."""


@dataclass(frozen=True, slots=True)
class AdjustSharpness:
    """A factor of 0 smooths, 1 changes nothing, 2 sharpens as much as 0 smooths."""

    factor: float = 2.0


@dataclass(frozen=True, slots=True)
class Apply:
    """torchvision's RandomApply: with `probability`, applies all augmentations in order; otherwise
    none. Apply and OneOf may be nested, up to 16 levels.

    Args:
        probability: 0 .. 1.
        augmentations: one, or several with at most 16 of a kind."""

    probability: float
    augmentations: Augmentation | Sequence[Augmentation]

    def __post_init__(self) -> None:
        object.__setattr__(self, "augmentations", _tuple_of(self.augmentations))


@dataclass(frozen=True, slots=True)
class OneOf:
    """torchvision's RandomChoice: exactly one of the augmentations.

    Args:
        augmentations: at least one, at most 16 of a kind.
        weights: one for each; probabilities are proportional to them. None: all are equal."""

    augmentations: Sequence[Augmentation]
    weights: Sequence[float] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "augmentations", _tuple_of(self.augmentations))
        object.__setattr__(self, "weights", tuple(self.weights))


def _tuple_of(augmentations: Augmentation | Sequence[Augmentation]) -> tuple[Augmentation, ...]:
    return tuple(augmentations) if isinstance(augmentations, Iterable) else (augmentations,)


def RandomSolarize(threshold: float, p: float = 0.5) -> Apply:  # noqa: N802, torchvision's name
    return Apply(p, Solarize(threshold))


def RandomPosterize(bits: int, p: float = 0.5) -> Apply:  # noqa: N802
    return Apply(p, Posterize(bits))


def RandomEqualize(p: float = 0.5) -> Apply:  # noqa: N802
    return Apply(p, Equalize())


def RandomAutocontrast(p: float = 0.5) -> Apply:  # noqa: N802
    return Apply(p, AutoContrast())


def RandomGrayscale(p: float = 0.1) -> Apply:  # noqa: N802
    return Apply(p, Grayscale(3))


def RandomInvert(p: float = 0.5) -> Apply:  # noqa: N802
    return Apply(p, Invert())


def RandomAdjustSharpness(sharpness_factor: float, p: float = 0.5) -> Apply:  # noqa: N802
    return Apply(p, AdjustSharpness(sharpness_factor))


@dataclass(frozen=True, slots=True)
class PythonAugmentation:
    """An augmentation in Python. Because of the GIL, only one thread runs it at a time. A call
    costs about 5 us beside the function.

    Args:
        function: (pixels, random) -> None or pixels. Changes `pixels`, numpy.ndarray [height,
            width, 3] u8 RGB, in place, or returns an array of the same shape and dtype; anything
            else is a TypeError. It must take random numbers only from `random`, an ffkit.Random of
            this sample, so that batches do not depend on the number of threads."""

    function: Callable[[Any, Any], Any]


Operation = GaussianBlur | Solarize | Posterize | Equalize | AutoContrast | Grayscale | Invert | AdjustSharpness
Augmentation = ColorJitter | RandAugment | TrivialAugmentWide | AutoAugment | PhotoMetricDistortion | PythonAugmentation | Operation | Apply | OneOf


@dataclass(frozen=True, slots=True)
class RandomErasing:
    """torchvision's RandomErasing, of the finished, normalised sample.

    Args:
        p: probability of erasing a rectangle.
        scale: its share of the image's area, (low, high).
        ratio: height / width, (low, high).
        value: in units of the output, or "random": normally distributed (not for u8)."""

    p: float = 0.5
    scale: tuple[float, float] = (0.02, 0.33)
    ratio: tuple[float, float] = (0.3, 3.3)
    value: float | Literal["random"] = 0.0


name_parameters((ColorJitter, RandAugment, TrivialAugmentWide, AutoAugment, GaussianBlur, Solarize, Posterize, Grayscale, AdjustSharpness, Apply, OneOf, RandomErasing))


@dataclass(frozen=True, slots=True)
class Mixing:
    """MixUp and CutMix of the images of a finished batch; see `Batch.mix_lambda`. An alpha of 0
    turns the method off; with both, each batch uses one of them.

    Args:
        mixup: alpha of lambda ~ Beta(alpha, alpha), 0 .. 1000; 0.2 in torchvision's recipes.
        cutmix: alpha of 1 - (share of the image that the box covers); 1.0 there."""

    mixup: float = 0.0
    cutmix: float = 0.0


@dataclass(frozen=True, slots=True)
class ImageOptions:
    """All steps from an encoded image to its place in the batch.

    Args:
        transform: crop, resize and flip, or a Compose of several steps.
        augment: augmentations, in this order, at most 16 of a kind.
        erasing: RandomErasing of the finished sample.
        dtype: "f32", "f16", "bf16" or "u8"; "u16" or "i32" for maps of labels and depths. Pictures
            with 16 bits per channel (PNG, PGM, PPM) keep them, except with "u8", which has the high
            bytes. In floats they are value / 65535; then `augment`, ScalePad, and a bilinear or
            bicubic rotation, which need bytes, make a bad sample.
        layout: "nchw" for [N, 3, H, W], "nhwc" for [N, H, W, 3] (for torch's channels_last).
        normalize: (pixel / 255 - mean) / std; False: pixel / 255. None: True for floats. u8, u16
            and i32 are never normalised.
        mean, std: of each channel, or of all.
        channels: 3; or 1: grey, [N, 1, H, W], Pillow's convert("L") after all augmentations, with
            one mean and std: ImageOptions(Resize((28, 28)), mean=0.1307, std=0.3081, channels=1).
            Then a colour picture with 16 bits is a bad sample."""

    transform: Transform = RandomResizedCrop()
    augment: Sequence[Augmentation] = ()
    erasing: RandomErasing | None = None
    dtype: Dtype = "f32"
    layout: Layout = "nchw"
    normalize: bool | None = None
    mean: float | tuple[float, float, float] = IMAGENET_MEAN
    std: float | tuple[float, float, float] = IMAGENET_STD
    channels: Literal[1, 3] = 3

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", dtype_word(self.dtype))
        if self.normalize is None:
            object.__setattr__(self, "normalize", self.dtype not in ("u8", "u16", "i32"))


ViewSpec = Transform | ImageOptions | tuple[Transform | ImageOptions, int]  # a picture, or copies of it
