"""As much of Hugging Face's package `datasets` as ffkit.convert.from_torch uses, with its names and its answers: a stand-in where it is not installed."""

from __future__ import annotations

import copy
import io

import PIL.Image
import PIL.ImageOps

Features = dict


class Value:
    def __init__(self, dtype):
        self.dtype = dtype


class ClassLabel:
    def __init__(self, names):
        self.names = names


class Image:
    def __init__(self, mode=None, decode=True):
        self.mode = mode
        self.decode = decode

    def decode_example(self, value):
        image = PIL.Image.open(io.BytesIO(value["bytes"])) if value["bytes"] is not None else PIL.Image.open(value["path"])
        image.load()
        if image.getexif().get(PIL.Image.ExifTags.Base.Orientation) is not None:
            image = PIL.ImageOps.exif_transpose(image)
        return image.convert(self.mode) if self.mode and self.mode != image.mode else image


class Dataset:
    def __init__(self, rows, features):
        self.rows = rows
        self.features = features
        self.format = {"type": None, "format_kwargs": {}, "columns": list(features), "output_all_columns": False}
        self.transform = None

    @classmethod
    def from_dict(cls, columns, features):
        return cls([dict(zip(columns, values)) for values in zip(*columns.values())], features)

    def with_format(self, type=None, columns=None, output_all_columns=False):
        other = copy.copy(self)
        other.transform = None
        other.format = {"type": type, "format_kwargs": {}, "columns": columns or list(self.features), "output_all_columns": output_all_columns}
        return other

    def with_transform(self, transform):
        other = self.with_format("custom")
        other.transform = transform
        return other

    def cast_column(self, column, feature):
        other = copy.copy(self)
        other.features = {**self.features, column: feature}
        return other

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        row = {name: self._decoded(name, self.rows[index][name]) for name in self.format["columns"]}
        if self.transform is None:
            return row
        batch = self.transform({name: [value] for name, value in row.items()})
        return {name: values[0] for name, values in batch.items()}

    def _decoded(self, name, value):
        feature = self.features[name]
        return feature.decode_example(value) if isinstance(feature, Image) and feature.decode and value is not None else value
