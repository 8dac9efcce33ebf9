"""torch's and torchvision's data sets for from_torch(): picture files and names of classes."""

from __future__ import annotations

import copy
import io
import sys
from collections.abc import Sequence
from typing import Any

_NAMES = ("classes", "categories", "all_categories")
_LARGE = 128 * 128  # pixels: smaller pictures are seldom files
# Kinds of files that ffkit decodes to what Pillow's convert("RGB") gives.
_FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "PPM")


def names_of_classes(dataset: Any) -> Sequence[str] | None:
    """Of a data set, and of those that a Subset or a ConcatDataset is made of."""
    for name in _NAMES:
        names = getattr(dataset, name, None)
        if isinstance(names, (list, tuple)) and names:
            return names
    if (parts := getattr(dataset, "datasets", None)) is not None:  # ConcatDataset
        found = [names_of_classes(part) for part in parts]
        return found[0] if found and all(names == found[0] for names in found) else None
    inner = getattr(dataset, "dataset", None)  # Subset
    return None if inner is None else names_of_classes(inner)


def with_file_bytes(dataset: Any) -> Any:
    """The data set with pictures as bytes: those of the files that its loader= opens. None if a
    data set does not use torchvision's own loader, or changes its pictures."""
    folder = sys.modules.get("torchvision.datasets.folder")
    return None if folder is None else _with_bytes(dataset, folder.default_loader)


def _with_bytes(dataset: Any, default_loader: Any) -> Any:
    if isinstance(parts := getattr(dataset, "datasets", None), list):
        changed = [_with_bytes(part, default_loader) for part in parts]
        return None if None in changed else _copy_with(dataset, "datasets", changed)
    if hasattr(dataset, "indices") and hasattr(dataset, "dataset"):
        inner = _with_bytes(dataset.dataset, default_loader)
        return None if inner is None else _copy_with(dataset, "dataset", inner)
    if any(getattr(dataset, name, None) is not None for name in ("transform", "transforms")):
        return None
    for name in ("loader", "_loader"):
        if getattr(dataset, name, None) is default_loader:
            return _copy_with(dataset, name, file_bytes)
    return None


def _copy_with(dataset: Any, name: str, value: Any) -> Any:
    dataset = copy.copy(dataset)
    setattr(dataset, name, value)
    return dataset


def file_bytes(path: Any) -> Any:
    """The picture of a sample: the file's bytes, or its pixels if ffkit would decode others."""
    from PIL import Image  # the data set needs it as well

    with open(path, "rb") as file:
        data = file.read()
    image = Image.open(io.BytesIO(data))
    is_kept = image.format in _FORMATS and image.mode[0] not in "IFC" and "transparency" not in image.info
    return {"bytes": data, "path": None} if is_kept else image.convert("RGB")


def num_large_pictures(sample: Any) -> int:
    """Number of values of a sample that are Pillow's pictures and may come from files."""
    pil = sys.modules.get("PIL.Image")
    if pil is None:
        return 0
    values = sample.values() if isinstance(sample, dict) else sample if isinstance(sample, (list, tuple)) else ()
    return sum(isinstance(value, pil.Image) and value.width * value.height >= _LARGE for value in values)
