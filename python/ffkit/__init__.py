"""ffkit packs image and driving data sets into large indexed record files and feeds them to training as fast as disk and decoder allow.

    import ffkit

    ds = ffkit.Dataset("/fast/imagenet", "train")
    loader = ffkit.Loader(ds, batch_size=256, image=ffkit.RandomResizedCrop(224))
    for epoch in range(90):
        for batch in loader:
            images, labels = batch["image"], batch["label"]

docs/python.md is the page about it.
"""

from . import convert, nuscenes
from ._batch import Batch, Replacement
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
)
from ._ffkit import FieldDecoder, Random, SampleKey, Statistics, class_balanced_weights
from ._ffkit import version as __version__
from ._fields import (
    BoxesField,
    BoxRowsField,
    CopyField,
    ImageField,
    ImagesField,
    IntegerField,
    MaskField,
    PictureField,
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
    RandomCrop,
    RandomEqualize,
    RandomErasing,
    RandomGrayscale,
    RandomInvert,
    RandomPosterize,
    RandomResizedCrop,
    RandomSolarize,
    Resize,
    ResizeCenterCrop,
    ResizeCrop,
    ScalePad,
    Solarize,
    TrivialAugmentWide,
)
from ._loader import IO, Loader
from ._schema import Field
from .writer import Writer

__all__ = [
    "IMAGENET_MEAN",
    "IMAGENET_STD",
    "IO",
    "AdjustSharpness",
    "Apply",
    "AutoContrast",
    "Batch",
    "BoxesField",
    "BoxRowsField",
    "CancelledError",
    "ColorJitter",
    "CopyField",
    "CorruptError",
    "Dataset",
    "Equalize",
    "Error",
    "Field",
    "FieldDecoder",
    "FieldNotFoundError",
    "GaussianBlur",
    "Grayscale",
    "ImageField",
    "ImageOptions",
    "ImagesField",
    "IntegerField",
    "InvalidArgumentError",
    "Invert",
    "IoError",
    "Loader",
    "MaskField",
    "Mixing",
    "NotFoundError",
    "OneOf",
    "PhotoMetricDistortion",
    "PictureField",
    "PointsField",
    "Posterize",
    "PythonAugmentation",
    "PythonField",
    "RandAugment",
    "RandomAdjustSharpness",
    "RandomAutocontrast",
    "RandomCrop",
    "RandomEqualize",
    "RandomErasing",
    "RandomGrayscale",
    "RandomInvert",
    "RandomPosterize",
    "RandomResizedCrop",
    "RandomSolarize",
    "Replacement",
    "Resize",
    "ResizeCenterCrop",
    "ResizeCrop",
    "Random",
    "SampleKey",
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
    "class_balanced_weights",
    "convert",
    "decode_image",
    "nuscenes",
    "splits",
]


def __dir__() -> list[str]:
    return [*__all__, *(name for name in ("hf", "lightning", "torch") if name in globals())]
