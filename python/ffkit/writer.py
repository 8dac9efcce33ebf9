"""Writing a data set sample by sample."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

from . import _ffkit
from ._samples import FieldSpec, FieldType, LeftOut, infer_schema, parse_schema, prepare_sample
from ._convert_options import PictureOptions, Pixels, Unpack, makes_jpegs_of_others, num_bytes, picture_options
from ._stores import StorageOptions, placed
from ._summary import SplitSummary

__all__ = ["Writer"]


def writer_options(
    pictures: PictureOptions, *, pixels: Pixels, num_threads: int, shard_size: int | str, zstd: int, max_record: int | str, seed: int,
    classes: Sequence[str], class_names: Sequence[str], source: Mapping[str, str] | None, options: Mapping[str, str] | None,
) -> dict[str, Any]:  # fmt: skip
    """The arguments of Writer and ShardSink for C++. Raises ValueError for contradictions."""
    if "jpeg_quality" in pictures and pixels != "jpeg" and not makes_jpegs_of_others(pictures):
        raise ValueError(
            "jpeg_quality works only for pictures that are encoded as JPEG; give pixels='jpeg', max_resolution, short_side, fix_odd or exif='apply'"
        )
    return {
        "pictures": picture_options(pictures),
        "seed": seed,
        "pixels": pixels,
        "num_threads": num_threads,
        "shard_bytes": num_bytes("shard_size", shard_size),
        "zstd": zstd,
        "max_record": num_bytes("max_record", max_record),
        "classes": list(classes),
        "class_names": list(class_names),
        "source": dict(source or {}),
        "options": dict(options or {}),
    }


class Writer:
    """Writes one split of a data set, in the order of the calls. Many threads encode.

        schema = {"image": "image", "label": "i64"}
        with ffkit.Writer("/fast/mine", split="train", schema=schema) as writer:
            for path, label in samples:
                writer.write({"image": path.read_bytes(), "label": label})

    The split appears when the `with` block ends. If an exception ends the block, nothing is left.
    After a kill, readers refuse the folder until the next Writer of the same split cleans it up.
    The output is the same for any number of threads.

    Schema: field names and their types,

    - "image": encoded bytes (JPEG, PNG, WebP, ...), ffkit.File(path), a PIL image, or an array
      uint8 [H, W, 3], [H, W, 1] or [H, W]
    - "string": str; "bytes": bytes, bytearray, memoryview, ffkit.File(path)
    - "u8" ... "i64", "f16", "bf16", "f32", "f64": a number; also a column for filters and samplers
    - "tensor[f32]", ...: an array of NumPy or torch of this dtype, of any shape; or nested lists of
      numbers
    - "list[image]", "list[string]", "list[bytes]", "list[tensor[f32]]": a list of any length

    or ffkit.Field, so you can pass `dataset.schema`. If a sample lacks a field, or the field is
    None, it is null. If a list's item is None or contains None, it is left out with a warning.

    Without a schema, the first sample defines it: bool becomes u8, int i64, float f64; arrays and
    lists of numbers become tensors; PIL images and the bytes of JPEG, PNG and WebP become pictures,
    other bytes stay bytes; the string "id" is a column. If the sample has no picture, a str that
    looks like the name of a picture is an error: give ffkit.File, or a schema."""

    def __init__(
        self,
        dst: str | os.PathLike[str],
        split: str = "train",
        schema: Mapping[str, FieldSpec] | None = None,
        *,
        classes: Sequence[str] = (),
        class_names: Sequence[str] = (),
        source: Mapping[str, str] | None = None,
        pixels: Pixels = "png",
        num_threads: int = 0,
        shard_size: int | str = "256M",
        zstd: int = 0,
        max_record: int | str = "256M",
        seed: int = 0,
        storage_options: StorageOptions | None = None,
        _options: Mapping[str, str] | None = None,
        **pictures: Unpack[PictureOptions],
    ) -> None:
        """Args:
            dst: folder of the data set, created if missing; other splits in it stay. Or an address
                as text, "s3://bucket/set": records are sent while they are written.
            split: the name of the split, and of its folder.
            schema: the fields; None: from the first sample.
            classes: the class of each label.
            class_names: readable names of the same classes.
            source: facts about the origin of the data, for the manifest.
            pixels: how to store pictures that are given as pixels: "png" (lossless), "jpeg"
                (smaller, with jpeg_quality), "raw". Arrays with one channel of whole numbers, and
                PIL images with a palette, may be masks: they are always stored as PNGs with the
                same numbers, and not resized.
            num_threads: number of encoding threads. 0 means one thread for each core.
            shard_size: size of a shard: a number of bytes, or a text such as "64M".
            zstd: level of zstd that compresses each record. Level 1 is fast, level 22 gives the
                smallest records, and levels from -7 to -1 are even faster than 1. 0 means no
                compression.
            max_record: limit for the size of a record. A larger record is an error.
            seed: seed of the choice for store="smart".
            storage_options: options of the store, such as {"profile": "partner", "storage_class":
                "STANDARD_IA"}; None: from the environment.
            pictures: see ffkit.convert.PictureOptions. Resized ones become JPEG.

        Raises:
            ffkit.Error: the split exists, another writer writes it, or the folder cannot be made.
            ValueError: an option or the schema is invalid."""
        self._dst = os.fspath(placed(dst, storage_options))
        self._split = split
        self._fields: list[FieldType] | None = None
        self._writer: _ffkit.SampleWriter | None = None
        self._is_closed = False
        self._summary: SplitSummary | None = None
        self._num_samples = 0
        self._left_out = LeftOut()
        self._options = writer_options(
            pictures, pixels=pixels, num_threads=num_threads, shard_size=shard_size, zstd=zstd,
            max_record=max_record, seed=seed, classes=classes,
            class_names=class_names, source=source, options=_options,
        )  # fmt: skip
        self._tells_of_numbers = makes_jpegs_of_others(pictures) or pictures.get("store") in ("raw", "smart")
        if schema is not None:
            self._open(parse_schema(schema))

    def write(self, sample: Mapping[str, object]) -> int:
        """Takes one sample and returns its number, from 0. Values are copied, so you may change
        arrays at once. Blocks while too many samples wait for encoding.

        Raises:
            TypeError, ValueError: a value does not fit the schema. The sample is not written.
            ffkit.Error: an earlier sample failed, for example with a broken picture; `.record` is
                its number. Nothing more can be written."""
        if self._is_closed:
            raise ValueError("the writer is closed; make a new one")
        if self._fields is None:
            self._open(infer_schema(sample))
        assert self._fields is not None and self._writer is not None
        values = prepare_sample(self._fields, sample, self._left_out)
        if self._tells_of_numbers and any(isinstance(value, tuple) and value[0] == "numbers" for value in values):
            self._tells_of_numbers = False
            warnings.warn("pictures of one channel or with a palette, whose pixels may be numbers, are stored unchanged: not resized, and not as JPEG", stacklevel=2)
        number = self._writer.write(values)
        self._num_samples = number + 1
        return number

    def close(self) -> SplitSummary:
        """Waits until all samples are on disk, and makes the split readable. Raises ffkit.Error
        like write(), or if no sample was written; then nothing is left. You may call it twice."""
        if self._summary is None:
            if self._is_closed:
                raise ValueError("the writer was aborted")
            if self._writer is None:
                self._is_closed = True
                raise ValueError(f"{self._dst}: split '{self._split}': no sample was written; a split needs at least one record")
            try:
                self._summary = SplitSummary(**self._writer.finish())
            except BaseException:
                self.abort()
                raise
            self._is_closed = True
            self._writer = None
            if self._left_out.num_items > 0:
                warnings.warn(f"{self._split}: {self._left_out}", stacklevel=2)
        return self._summary

    def abort(self) -> None:
        """Removes what was written. Does nothing after close()."""
        if self._writer is not None:
            self._writer.abort()
        self._writer = None
        self._is_closed = True

    @property
    def summary(self) -> SplitSummary:
        """Summary of the split; ValueError before close()."""
        if self._summary is None:
            raise ValueError("the writer has not finished")
        return self._summary

    def __len__(self) -> int:
        """Number of samples given to write()."""
        return self._num_samples

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is None:
            self.close()
        else:
            self.abort()

    def __del__(self) -> None:
        if getattr(self, "_writer", None) is not None:
            warnings.warn(f"{_ffkit.without_storage_options(self._dst)}: split '{self._split}' was not closed, so its samples are lost; use `with`", ResourceWarning, stacklevel=2)
            self.abort()

    def __repr__(self) -> str:
        return f"ffkit.Writer({_ffkit.without_storage_options(self._dst)!r}, split={self._split!r}, {self._num_samples} samples{', closed' if self._is_closed else ''})"

    def _open(self, fields: list[FieldType]) -> None:
        self._writer = _ffkit.SampleWriter(self._dst, self._split, [field.as_tuple() for field in fields], self._options)
        self._fields = fields
