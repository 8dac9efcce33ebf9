"""ImageOptions from the arguments of users, such as torchvision's transforms. Only looks at names
and attributes: torchvision is not imported."""

from __future__ import annotations

import operator
from dataclasses import replace
from typing import Any, Callable, Iterable

from ._errors import InvalidArgumentError, UnsupportedError
from ._image import (
    Apply,
    Augmentation,
    AutoAugment,
    ColorJitter,
    GaussianBlur,
    Grayscale,
    ImageOptions,
    OneOf,
    RandAugment,
    RandomAdjustSharpness,
    RandomAutocontrast,
    RandomEqualize,
    RandomErasing,
    RandomGrayscale,
    RandomInvert,
    RandomPosterize,
    RandomSolarize,
    TrivialAugmentWide,
)
from ._transforms import (
    CenterCrop,
    Color,
    Compose,
    Pad,
    RandomAffine,
    RandomCrop,
    RandomHorizontalFlip,
    RandomIoUCrop,
    RandomPerspective,
    RandomResizedCrop,
    RandomRotation,
    RandomShortestSize,
    RandomVerticalFlip,
    RandomZoomOut,
    Resize,
    ResizeCenterCrop,
    ScaleJitter,
    Step,
)


class _NoCounterpart(Exception):
    """What of a transform has none."""


def image_options(transform: Any) -> ImageOptions:
    """See ffkit.torch.image_options."""
    reader = _Reader()
    for step in _steps(transform):
        reader.read(step)
    return reader.finished()


def image_options_of(what: str, image: Any) -> ImageOptions:
    """`image` as ImageOptions, or the options of a transform."""
    if isinstance(image, ImageOptions) and _is_theirs(image.transform):
        raise InvalidArgumentError(f"torchvision's transforms as {what} set all options of the picture; give no other options, or use dataclasses.replace(ffkit.torch.image_options(transform), dtype=...)")
    if _is_theirs(image):
        return image_options(image)
    if hasattr(image, "transforms") or (callable(image) and not isinstance(image, type)):
        raise TypeError(
            f"{what} is {image!r}, which ffkit cannot run; convert torchvision's transforms with ffkit.torch.image_options(), or call a function by an ffkit.PythonAugmentation "
            "in `augment`"
        )
    return image if isinstance(image, ImageOptions) else ImageOptions(image)


def view_of(name: str, view: Any) -> tuple[str, ImageOptions, int]:
    """(name, options, copies); copies is 0 for a picture without this dimension."""
    image, copies = view, 0
    if isinstance(view, (tuple, list)):
        if len(view) != 2:
            raise InvalidArgumentError(f"view '{name}' is {view!r}; expected a transform or ImageOptions, or a pair of one of them and a number of copies")
        image, copies = view[0], operator.index(view[1])
        if copies < 1:
            raise InvalidArgumentError(f"view '{name}' has {copies} copies; expected 1 or more, or only the transform for one picture")
    return name, image_options_of(f"view '{name}'", image), copies


def _is_theirs(transform: Any) -> bool:
    return type(transform).__module__.startswith(("torchvision.", "torch.nn.modules.container"))


def _steps(transform: Any) -> list[Any]:
    name = type(transform).__name__
    if name == "Sequential" or (name == "Compose" and hasattr(transform, "transforms")):
        return [step for part in (transform if name == "Sequential" else transform.transforms) for step in _steps(part)]
    return [transform]


def _require(holds: bool, reason: str) -> None:
    if not holds:
        raise _NoCounterpart(reason)


def _interpolation(step: Any) -> Any:
    value = getattr(step.interpolation, "value", step.interpolation)
    _require(value in ("bilinear", "bicubic"), f"its interpolation is {value}, not bilinear or bicubic")
    _require(getattr(step, "antialias", True) is not False, "it has antialias=False")
    return value


def _pair(value: Any) -> tuple[int, int]:
    if isinstance(value, int):
        return value, value
    return (int(value[0]), int(value[-1]))


def _size(value: Any) -> int | tuple[int, int]:
    height, width = _pair(value)
    return height if height == width else (height, width)


def _filter(step: Any) -> Any:
    value = getattr(step.interpolation, "value", step.interpolation)
    _require(value in ("nearest", "bilinear", "bicubic"), f"its interpolation is {value}, not nearest, bilinear or bicubic")
    return value


def _list(values: Any) -> tuple[float, ...]:
    """A number or several, of Python's, NumPy's or torch's."""
    values = values.tolist() if hasattr(values, "tolist") else values
    return tuple(map(float, values)) if isinstance(values, (list, tuple)) else (float(values),)


def _range(values: Any) -> tuple[float, float]:
    return float(values[0]), float(values[1])


def _padding(padding: Any) -> int | tuple[int, int, int, int]:
    if isinstance(padding, int):
        return padding
    values = [int(v) for v in padding]
    left, top = values[0], values[-1] if len(values) < 3 else values[1]
    right, bottom = (values[2], values[3]) if len(values) == 4 else (left, top)
    return left if left == top == right == bottom else (left, top, right, bottom)


def _center(step: Any) -> tuple[float, float] | None:
    return None if step.center is None else (float(step.center[0]), float(step.center[1]))


_SAME_SIZE = (RandomHorizontalFlip, RandomVerticalFlip, RandomRotation, RandomAffine, RandomPerspective, Pad)
_ANY_SIZE = (RandomZoomOut, RandomIoUCrop, ScaleJitter, RandomShortestSize)


class _Reader:
    """Takes the transforms in their order: crops, resizes, flips and other geometry, augmentations,
    conversion to numbers, Normalize, RandomErasing."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.is_within = False  # a RandomApply or RandomChoice
        self.augment: list[Augmentation] = []
        self.erasing: RandomErasing | None = None
        self.is_tensor = False
        self.is_float = False
        self.normalize: tuple[Any, Any] | None = None
        self.is_grey = False

    def read(self, step: Any) -> None:
        name = type(step).__name__
        read: Callable[[Any], None] | None = getattr(self, f"read_{name}", None)
        try:
            if read is None or not type(step).__module__.startswith("torchvision."):
                raise _NoCounterpart("ffkit has no such transform")
            read(step)
        except _NoCounterpart as reason:
            remedy = "" if ";" in str(reason) else "; leave it out, do it on the batch, or write it as an ffkit.PythonAugmentation"
            raise UnsupportedError(f"{name} in these transforms has no exact counterpart: {reason}{remedy}") from None

    def geometry(self, step: Step) -> None:
        _require(not self.is_within, "it changes geometry, but ffkit's Apply and OneOf are for augmentations of colours")
        _require(not self.augment, "it comes after an augmentation of colours; put it before")
        self.colours()
        self.steps.append(step)

    def colours(self) -> None:
        self.pixels()
        _require(not self.is_grey, "it comes after Grayscale of one channel, and ffkit makes a picture grey after all colour changes; put it before")

    def pixels(self) -> None:
        _require(not self.is_float, "it comes after the conversion to floats; put it before")

    def fill(self, step: Any) -> Color:
        fill = getattr(step, "fill", 0)
        if isinstance(fill, dict):  # transforms.v2 keeps it by type of input: Pillow's, or torchvision's after ToImage(); a MaskField has its own
            kinds = [kind for kind in fill if isinstance(kind, type) and kind.__name__ == "Image" and kind.__module__.startswith("torchvision.") == self.is_tensor]
            _require(bool(kinds) or "others" in fill, "its fill has no value for this kind of picture")
            fill = fill[kinds[0] if kinds else "others"]
        if fill is None:
            return 0
        if isinstance(fill, (int, float)):
            values: tuple[Any, ...] = (fill,) * 3
        else:
            _require(isinstance(fill, (tuple, list)) and len(fill) in (1, 3), f"its fill is {fill}")
            values = tuple(fill) * (3 // len(fill))
        _require(all(v == int(v) and 0 <= v <= 255 for v in values), f"its fill is {fill}, not whole numbers from 0 to 255")
        red, green, blue = (int(v) for v in values)
        return red if red == green == blue else (red, green, blue)

    def read_RandomResizedCrop(self, step: Any) -> None:
        self.geometry(RandomResizedCrop(_size(step.size), tuple(step.scale), tuple(step.ratio), _interpolation(step), scaled_decode=False))

    def read_Resize(self, step: Any) -> None:
        size: int | tuple[int, int] | None = None
        if step.size is not None:
            sides = [int(side) for side in ([step.size] if isinstance(step.size, int) else step.size)]
            size = sides[0] if len(sides) == 1 else (sides[0], sides[1])
        self.geometry(Resize(size, _interpolation(step), getattr(step, "max_size", None)))

    def read_CenterCrop(self, step: Any) -> None:
        last = self.steps[-1] if self.steps else None
        self.geometry(CenterCrop(_size(step.size)))
        if isinstance(last, Resize) and isinstance(last.size, int) and last.max_size is None:
            self.steps[-2:] = [ResizeCenterCrop(last.size, _size(step.size), last.interpolation)]

    def read_RandomCrop(self, step: Any) -> None:
        _require(getattr(step, "padding_mode", "constant") == "constant", f"its padding_mode is {getattr(step, 'padding_mode', None)}")
        self.geometry(RandomCrop(_size(step.size), _padding(step.padding or 0), bool(step.pad_if_needed), self.fill(step)))

    def read_RandomHorizontalFlip(self, step: Any) -> None:
        self.geometry(RandomHorizontalFlip(float(step.p)))

    def read_RandomVerticalFlip(self, step: Any) -> None:
        self.geometry(RandomVerticalFlip(float(step.p)))

    def read_RandomRotation(self, step: Any) -> None:
        _require(not (step.expand and step.center is not None), "it has expand and a center, which torchvision applies to pictures but not to masks and boxes")
        self.geometry(RandomRotation(_range(step.degrees), _filter(step), bool(step.expand), _center(step), self.fill(step)))

    def read_RandomAffine(self, step: Any) -> None:
        shear: Any = tuple(float(v) for v in step.shear or (0, 0))
        self.geometry(RandomAffine(_range(step.degrees), _range(step.translate or (0, 0)), _range(step.scale or (1, 1)), shear, _filter(step), self.fill(step), _center(step)))

    def read_RandomPerspective(self, step: Any) -> None:
        self.geometry(RandomPerspective(float(step.distortion_scale), float(step.p), _filter(step), self.fill(step)))

    def read_Pad(self, step: Any) -> None:
        _require(step.padding_mode == "constant", f"its padding_mode is {step.padding_mode}")
        self.geometry(Pad(_padding(step.padding), self.fill(step)))

    def read_RandomZoomOut(self, step: Any) -> None:
        self.geometry(RandomZoomOut(self.fill(step), _range(step.side_range), float(step.p)))

    def read_RandomIoUCrop(self, step: Any) -> None:
        overlaps = tuple(float(overlap) for overlap in step.options)
        self.geometry(RandomIoUCrop(step.min_scale, step.max_scale, step.min_aspect_ratio, step.max_aspect_ratio, overlaps, int(step.trials)))

    def read_ScaleJitter(self, step: Any) -> None:
        self.geometry(ScaleJitter(_size(step.target_size), _range(step.scale_range), _interpolation(step)))

    def read_RandomShortestSize(self, step: Any) -> None:
        self.geometry(RandomShortestSize(tuple(step.min_size), step.max_size, _interpolation(step)))

    def augmentation(self, augmentation: Augmentation) -> None:
        self.colours()
        _require(len(self.steps) > 0, "ffkit augments after the crop or resize")
        self.augment.append(augmentation)

    def read_ColorJitter(self, step: Any) -> None:
        values = [getattr(step, name) for name in ("brightness", "contrast", "saturation", "hue")]
        nothing = [(1.0, 1.0)] * 3 + [(0.0, 0.0)]
        ranges = [n if value is None else (float(value[0]), float(value[1])) for value, n in zip(values, nothing)]
        self.augmentation(ColorJitter(*ranges))

    def read_RandAugment(self, step: Any) -> None:
        self.nearest(step)
        self.augmentation(RandAugment(step.num_ops, step.magnitude, step.num_magnitude_bins, self.fill(step)))

    def read_TrivialAugmentWide(self, step: Any) -> None:
        self.nearest(step)
        self.augmentation(TrivialAugmentWide(step.num_magnitude_bins, self.fill(step)))

    def read_AutoAugment(self, step: Any) -> None:
        self.nearest(step)
        self.augmentation(AutoAugment(step.policy.value, self.fill(step)))

    def read_GaussianBlur(self, step: Any) -> None:
        width, height = _pair(step.kernel_size)
        low, high = (float(sigma) for sigma in step.sigma)
        _require(width == height, f"its kernel_size is {width} x {height}, not a square")
        _require(width <= 255 and high <= 100, f"its kernel_size is {width} and its sigma {high:g}; ffkit allows at most 255 and 100")
        self.augmentation(GaussianBlur(width, (low, high)))

    def read_RandomSolarize(self, step: Any) -> None:
        _require(0 <= step.threshold <= 256, f"its threshold is {step.threshold}, not from 0 to 256")
        self.augmentation(RandomSolarize(float(step.threshold), float(step.p)))

    def read_RandomPosterize(self, step: Any) -> None:
        _require(1 <= step.bits <= 8, f"its bits are {step.bits}, not 1 .. 8")
        self.augmentation(RandomPosterize(int(step.bits), float(step.p)))

    def read_with_p(self, step: Any) -> None:
        makers = (RandomEqualize, RandomAutocontrast, RandomInvert, RandomGrayscale)
        self.augmentation(next(make for make in makers if make.__name__ == type(step).__name__)(float(step.p)))

    read_RandomEqualize = read_RandomAutocontrast = read_RandomInvert = read_RandomGrayscale = read_with_p

    def read_RandomAdjustSharpness(self, step: Any) -> None:
        self.augmentation(RandomAdjustSharpness(float(step.sharpness_factor), float(step.p)))

    def read_Grayscale(self, step: Any) -> None:
        if step.num_output_channels == 3:
            self.augmentation(Grayscale(3))
            return
        _require(not self.is_within, "it gives one channel for only some pictures")
        self.pixels()
        self.is_grey = True

    def read_RandomApply(self, step: Any) -> None:
        self.augmentation(Apply(float(step.p), self.within(step.transforms)))

    def read_RandomChoice(self, step: Any) -> None:
        choices = [self.within([one]) for one in step.transforms]
        weights = step.p if step.p is not None and len(set(step.p)) > 1 else ()
        self.augmentation(OneOf([one[0] if len(one) == 1 else Apply(1.0, one) for one in choices], [float(weight) for weight in weights]))

    def within(self, transforms: Iterable[Any]) -> list[Augmentation]:
        """The transforms inside a RandomApply or RandomChoice."""
        outer, self.augment = self.augment, []
        was_within, self.is_within = self.is_within, True
        for step in (step for part in transforms for step in _steps(part)):
            before = len(self.augment)
            self.read(step)
            _require(len(self.augment) == before + 1, f"{type(step).__name__} in it is not an augmentation")
        _require(len(self.augment) > 0, "it has no transforms")
        inner, self.augment = self.augment, outer
        self.is_within = was_within
        return inner

    def nearest(self, step: Any) -> None:
        value = getattr(step.interpolation, "value", step.interpolation)
        _require(value == "nearest", f"its interpolation is {value}, not nearest")

    def read_ImageClassification(self, step: Any) -> None:
        """The transform that `Weights.transforms()` returns."""
        _require(len(step.resize_size) == 1, f"its resize_size is {step.resize_size}, not one number")
        self.geometry(ResizeCenterCrop(_pair(step.resize_size)[0], _size(step.crop_size), _interpolation(step)))
        self.is_tensor = self.is_float = True
        self.read_Normalize(step)

    def read_ToTensor(self, step: Any) -> None:
        self.pixels()
        self.is_tensor = self.is_float = True

    def read_PILToTensor(self, step: Any) -> None:
        self.is_tensor = True

    read_ToImage = read_ToPureTensor = read_PILToTensor

    def read_nothing(self, step: Any) -> None:
        """Ignores transforms of boxes and points: a BoxesField and a PointsField do this."""

    read_Identity = read_ClampBoundingBoxes = read_ClampKeyPoints = read_SanitizeKeyPoints = read_nothing

    def read_SanitizeBoundingBoxes(self, step: Any) -> None:
        _require(step.min_size == 1 and getattr(step, "min_area", 1) == 1, "its min_size and min_area are not 1; leave it out, and give min_size= to the BoxesField")

    def read_ConvertBoundingBoxFormat(self, step: Any) -> None:
        _require(False, "options of pictures have no boxes; leave it out, and give format= to the BoxesField")

    def read_RGB(self, step: Any) -> None:
        """Pictures have three channels already."""
        if self.is_grey:
            self.is_grey = False
            self.augmentation(Grayscale(3))

    def read_ConvertImageDtype(self, step: Any) -> None:
        self.read_dtype(step.dtype, True)

    def read_ToDtype(self, step: Any) -> None:
        dtype = step.dtype
        if isinstance(dtype, dict):  # by type of input
            dtype = next((value for kind, value in dtype.items() if getattr(kind, "__name__", "") == "Image"), dtype.get("others"))
        if dtype is not None:
            self.read_dtype(dtype, step.scale)

    def read_dtype(self, dtype: Any, is_scaled: bool) -> None:
        if str(dtype) == "torch.uint8" and not self.is_float:
            return
        _require(str(dtype) == "torch.float32", f"its dtype is {dtype}, not torch.float32")
        _require(is_scaled or self.is_float, "it has scale=False, so values are not from 0 to 1; give scale=True")
        self.is_tensor = self.is_float = True

    def read_Normalize(self, step: Any) -> None:
        _require(self.is_float, "it does not follow the conversion to float32")
        _require(self.erasing is None, "it comes after RandomErasing")
        channels = 1 if self.is_grey else 3
        mean, std = (values * channels if len(values) == 1 else values for values in (_list(step.mean), _list(step.std)))
        _require(len(mean) == len(std) == channels, f"its mean and std are not for {'one channel' if self.is_grey else 'three channels'}")
        if self.normalize is not None:  # ((x - m) / s - mean) / std
            before = self.normalize
            mean = tuple(m + s * value for m, s, value in zip(*before, mean))
            std = tuple(s * value for s, value in zip(before[1], std))
        self.normalize = mean, std

    def read_RandomErasing(self, step: Any) -> None:
        _require(self.is_float, "it does not follow the conversion to float32")
        _require(self.erasing is None, "ffkit erases once, at the end")
        value = step.value
        if isinstance(value, (tuple, list)):
            _require(len(set(value)) == 1, f"its value is {value}, a different one for each channel")
            value = value[0]
        if value is None:
            value = "random"
        self.erasing = RandomErasing(float(step.p), tuple(step.scale), tuple(step.ratio), value if value == "random" else float(value))

    def finished(self) -> ImageOptions:
        if not self.steps:
            raise UnsupportedError("there is no crop or resize in these transforms, so pictures have different sizes and cannot form a batch; end with a crop or resize")
        if not self.is_tensor:
            raise UnsupportedError("these transforms give pictures; end them with ToTensor(), or PILToTensor() for u8")
        transform: Any = self.steps[0] if len(self.steps) == 1 else Compose(self.steps)
        if len(self.steps) == 2 and isinstance(self.steps[0], (RandomResizedCrop, RandomCrop)) and isinstance(self.steps[1], RandomHorizontalFlip):
            transform = replace(self.steps[0], flip_probability=self.steps[1].p)
        elif len(self.steps) == 1 and not isinstance(transform, (RandomResizedCrop, ResizeCenterCrop, Resize, RandomCrop)):
            transform = Compose(self.steps)
        last_sizes = [step for step in self.steps if not isinstance(step, _SAME_SIZE) or getattr(step, "expand", False)]
        last: Any = last_sizes[-1] if last_sizes else self.steps[-1]
        if not last_sizes or isinstance(last, (*_ANY_SIZE, RandomRotation)) or (isinstance(last, Resize) and not isinstance(last.size, tuple)):
            side = last.size or last.max_size if isinstance(last, Resize) else 224
            raise UnsupportedError(
                f"these transforms give pictures of different sizes after {type(last).__name__}, and they cannot form a batch; end with a crop or resize to (height, width), such as "
                f"CenterCrop or Resize(({side}, {side}))"
            )
        options = ImageOptions(
            transform, tuple(self.augment), self.erasing, dtype="f32" if self.is_float else "u8", normalize=self.normalize is not None, channels=1 if self.is_grey else 3
        )
        if self.normalize is None:
            return options
        mean, std = (values[0] if self.is_grey else values for values in self.normalize)
        return replace(options, mean=mean, std=std)

