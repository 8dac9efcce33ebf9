"""Hugging Face's data sets for from_torch(), with stored pictures if dataset[i] gives the same."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_ORIENTATION = 0x0112  # in EXIF
# Without one of these bytes Pillow finds no orientation in a picture: EXIF data of JPEG, PNG, WebP
# and others, XMP. TIFF has them at its beginning.
_WITH_ORIENTATION = (b"Exif", b"eXIf", b"EXIF", b"exif", b"tiff:Orientation")
_TIFF = (b"II*\0", b"MM\0*")


@dataclass
class Changes:
    """Number of pictures that the data set changes, or gives as pixels."""

    num_turned: int = 0
    num_converted: int = 0
    num_pixels: int = 0  # large pictures that are encoded anew, for the data set gives pixels

    def add(self, other: Changes) -> None:
        self.num_turned += other.num_turned
        self.num_converted += other.num_converted
        self.num_pixels += other.num_pixels

    def __str__(self) -> str:
        reasons = [(self.num_turned, "turned or mirrored by EXIF data"), (self.num_converted, "converted to the mode of the Image feature")]
        return " and ".join(f"{num} {'is' if num == 1 else 'are'} {reason}" for num, reason in reasons if num > 0)


class StoredPictures:
    """The data set with the stored bytes of pictures. If dataset[i] changes one, it gives that."""

    def __init__(self, dataset: Any, features: Mapping[str, Any]) -> None:
        self._dataset = dataset
        self._features = features

    def __len__(self) -> int:
        return len(self._dataset)

    def get(self, index: int) -> tuple[Any, Changes]:
        return _with_pictures(self._dataset[index], self._features)


def stored_pictures(dataset: Any) -> tuple[StoredPictures | None, Sequence[str] | None]:
    """A Hugging Face data set with stored pictures, unless the user's code makes its samples; and
    the names of its classes."""
    datasets = sys.modules.get("datasets")
    if datasets is None or not isinstance(dataset, datasets.Dataset):
        return None, None
    names = _names_of_classes(dataset.features, datasets)
    form = dataset.format
    if form["type"] == "custom":  # set_transform()
        return None, names
    features = {name: feature for name, feature in dataset.features.items() if isinstance(feature, datasets.Image) and feature.decode}
    dataset = dataset.with_format(None, columns=form["columns"], output_all_columns=form["output_all_columns"])
    for name, feature in features.items():
        dataset = dataset.cast_column(name, datasets.Image(mode=feature.mode, decode=False))
    return StoredPictures(dataset, features), names


def stored_iterable(samples: Any) -> tuple[Iterator[tuple[Any, Changes]], Sequence[str] | None]:
    """The samples (with stored pictures for an IterableDataset), and the names of the classes."""
    datasets = sys.modules.get("datasets")
    if datasets is None or not isinstance(samples, datasets.IterableDataset) or samples.features is None:
        return ((sample, Changes()) for sample in samples), None
    names = _names_of_classes(samples.features, datasets)
    features = {name: feature for name, feature in samples.features.items() if isinstance(feature, datasets.Image) and feature.decode}
    for name, feature in features.items():
        samples = samples.cast_column(name, datasets.Image(mode=feature.mode, decode=False))
    return (_with_pictures(sample, features) for sample in samples), names


def _names_of_classes(features: Mapping[str, Any], datasets: Any) -> Sequence[str] | None:
    names: Sequence[str] | None = None
    for name, feature in features.items():
        if isinstance(feature, datasets.ClassLabel) and (names is None or name == "label"):
            names = feature.names
    return names


def _with_pictures(sample: Mapping[str, Any], features: Mapping[str, Any]) -> tuple[dict[str, Any], Changes]:
    sample = dict(sample)
    changes = Changes()
    for name, feature in features.items():
        if sample.get(name) is not None:
            sample[name] = _picture(feature, sample[name], changes)
    return sample, changes


def _picture(feature: Any, stored: Mapping[str, Any], changes: Changes) -> object:
    data = stored["bytes"]
    if data is None:
        with open(stored["path"], "rb") as file:
            data = file.read()
    is_turned, is_converted = _changes(data, feature.mode)
    changes.num_turned += is_turned
    changes.num_converted += is_converted and not is_turned
    return feature.decode_example({"bytes": data, "path": None}) if is_turned or is_converted else stored


def _changes(data: bytes, mode: str | None) -> tuple[bool, bool]:
    """Whether the data set rotates a picture, and whether its pixels differ from ffkit's."""
    may_be_turned = data.startswith(_TIFF) or any(mark in data for mark in _WITH_ORIENTATION)
    if mode is None and not may_be_turned:
        return False, False
    from PIL import Image  # the data set needs it as well

    try:
        image = Image.open(io.BytesIO(data))
        orientation = image.getexif().get(_ORIENTATION) if may_be_turned else None
    except Exception:  # Writer names a picture that cannot be read
        return False, False
    # Decoding gives RGB as Pillow has it, of up to 8 bits. Alpha is not stored.
    is_kept = mode is None or mode == image.mode or (mode in ("RGB", "RGBA") and image.mode[0] not in "IF")
    return orientation in range(2, 9), not is_kept
