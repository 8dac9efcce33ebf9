"""ffkit packs image and driving data sets into large indexed record files and loads them quickly.

    import ffkit

    ds = ffkit.Dataset("/fast/imagenet", "train")
    loader = ffkit.Loader(ds, batch_size=256, image=ffkit.RandomResizedCrop(224))
    for epoch in range(90):
        for batch in loader:
            images, labels = batch["image"], batch["label"]

docs/python.md is the page about it."""

from . import convert, nuscenes
from ._batch import Batch, LeftOut, Replacement
from ._stores import CachedSet, cached_sets, clean_cache, name_libcurl, set_cache
from ._dataset import Dataset, decode_image, splits
from ._errors import (
    CancelledError,
    CorruptError,
    Error,
    FieldNotFoundError,
    InvalidArgumentError,
    IoError,
    NotFoundError,
    UnsupportedError,
    refuse_old_name,
)
from ._ffkit import FieldDecoder, Random, SampleKey, Statistics, aspect_ratio_buckets, class_balanced_weights
from ._ffkit import version as __version__
from ._fields import (
    BoxesField,
    BoxRowsField,
    CopyField,
    FrameNumbersField,
    FramesField,
    ImageField,
    ImagesField,
    InstanceMasksField,
    IntegerField,
    MaskField,
    PictureField,
    PixelMaskField,
    PointsField,
    PythonField,
    TextField,
    ValidField,
    ZerosWhereNull,
)
from ._image import (
    IMAGENET_MEAN,
    IMAGENET_STD,
    AdjustSharpness,
    Apply,
    AutoAugment,
    AutoContrast,
    ColorJitter,
    Equalize,
    GaussianBlur,
    Grayscale,
    ImageOptions,
    Invert,
    Mixing,
    OneOf,
    PhotoMetricDistortion,
    Posterize,
    PythonAugmentation,
    RandAugment,
    RandomAdjustSharpness,
    RandomAutocontrast,
    RandomEqualize,
    RandomErasing,
    RandomGrayscale,
    RandomInvert,
    RandomPosterize,
    RandomSolarize,
    Solarize,
    TrivialAugmentWide,
)
from ._loader import Loader
from ._loader_options import IO, Memory, Order
from ._samples import Field, File
from ._transforms import (
    CenterCrop,
    Compose,
    FixedSizeCrop,
    Pad,
    PadToLargest,
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
    ResizeCrop,
    ScaleJitter,
    ScalePad,
)
from .writer import Writer

__all__ = [
    "IMAGENET_MEAN",
    "IMAGENET_STD",
    "IO",
    "AdjustSharpness",
    "Apply",
    "AutoAugment",
    "AutoContrast",
    "Batch",
    "BoxRowsField",
    "BoxesField",
    "CachedSet",
    "CancelledError",
    "CenterCrop",
    "ColorJitter",
    "Compose",
    "CopyField",
    "CorruptError",
    "Dataset",
    "Equalize",
    "Error",
    "Field",
    "File",
    "FieldDecoder",
    "FieldNotFoundError",
    "FixedSizeCrop",
    "FrameNumbersField",
    "FramesField",
    "GaussianBlur",
    "Grayscale",
    "ImageField",
    "ImageOptions",
    "ImagesField",
    "InstanceMasksField",
    "IntegerField",
    "InvalidArgumentError",
    "Invert",
    "IoError",
    "Loader",
    "MaskField",
    "Memory",
    "Mixing",
    "NotFoundError",
    "OneOf",
    "Order",
    "Pad",
    "PadToLargest",
    "PhotoMetricDistortion",
    "PictureField",
    "PixelMaskField",
    "PointsField",
    "Posterize",
    "PythonAugmentation",
    "PythonField",
    "RandAugment",
    "Random",
    "RandomAdjustSharpness",
    "RandomAffine",
    "RandomAutocontrast",
    "RandomCrop",
    "RandomEqualize",
    "RandomErasing",
    "RandomGrayscale",
    "RandomHorizontalFlip",
    "RandomInvert",
    "RandomIoUCrop",
    "RandomPerspective",
    "RandomPosterize",
    "RandomResizedCrop",
    "RandomRotation",
    "RandomShortestSize",
    "RandomSolarize",
    "RandomVerticalFlip",
    "RandomZoomOut",
    "Replacement",
    "Resize",
    "ResizeCenterCrop",
    "ResizeCrop",
    "SampleKey",
    "ScaleJitter",
    "ScalePad",
    "Solarize",
    "Statistics",
    "TextField",
    "TrivialAugmentWide",
    "UnsupportedError",
    "ValidField",
    "Writer",
    "ZerosWhereNull",
    "__version__",
    "aspect_ratio_buckets",
    "cached_sets",
    "class_balanced_weights",
    "clean_cache",
    "convert",
    "decode_image",
    "nuscenes",
    "set_cache",
    "splits",
]

name_libcurl()
del name_libcurl


def __dir__() -> list[str]:
    return [*__all__, *(name for name in ("hf", "lightning", "torch") if name in globals())]


def __getattr__(name: str) -> object:
    refuse_old_name("ffkit", name)
