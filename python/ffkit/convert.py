"""Data sets converted to ffkit's format: what the program ffconvert does, from Python.

    ffkit.convert.imagenet("/data/imagenet", "/fast/imagenet", max_resolution=500, threads=16)

All functions block, without the GIL, until the data set is whole. Ctrl-C stops them in order: finished shards stay, and the same call with
resume=True goes on. They raise ffkit.Error, with file, reason and remedy; options are named as ffconvert's, with _ for -.
"""

from __future__ import annotations

import os
import sys
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, Unpack

from . import _ffkit
from ._samples import FieldSpec, parse_schema, prepare_sample
from ._from_torch import from_torch
from ._convert_options import (
    ConvertOptions,
    Exif,
    PictureOptions,
    Pixels,
    Progress,
    ProgressBar,
    ProgressUpdate,
    convert_options,
    picture_options,
    refuse_idle_quality,
    refuse_others,
)
from ._summary import SplitSummary, Summary

__all__ = [
    "ConvertOptions", "ConvertPictureOptions", "PictureOptions", "Progress", "ProgressUpdate", "Source", "SplitSummary", "Summary", "append",
    "coco", "demo", "folder", "from_source", "from_torch", "imagenet", "jsonl", "merge", "nuscenes", "text", "transcode", "v1", "webdataset",
]  # fmt: skip



def __dir__() -> list[str]:
    return __all__


Path: TypeAlias = str | os.PathLike[str]


class ConvertPictureOptions(ConvertOptions, PictureOptions, total=False):
    """ConvertOptions and PictureOptions."""


def imagenet(
    src: Path,
    dst: Path,
    *,
    splits: str | Sequence[str] | None = None,
    check_archives: bool = False,
    allow_partial: bool = False,
    **options: Unpack[ConvertPictureOptions],
) -> Summary:
    """ImageNet (ILSVRC2012): the official archives, extracted folders, or Kaggle's layout.

    splits: what to convert of train, val and test; None: all that are there. check_archives: compares MD5 sums first, which reads everything.
    allow_partial: takes the validation pictures that are there, and counts those that are not.
    """
    return _convert("imagenet", src, dst, {"splits": _names(splits), "check-archives": check_archives, "allow-partial": allow_partial}, options)


def folder(
    src: Path,
    dst: Path,
    *,
    splits: str | Sequence[str] | None = None,
    classes_from: Literal["train", "all"] | None = None,
    **options: Unpack[ConvertPictureOptions],
) -> Summary:
    """Folders of pictures: src/<split>/<class>/* or src/<class>/*.

    splits: what to convert; None: all that are there. A folder that is named here is a split whatever its name. classes_from: "train" (the default), a class
    that val has and train lacks is an error; "all", it gets a label too.
    """
    return _convert("folder", src, dst, {"splits": _names(splits), "classes-from": classes_from}, options)


def webdataset(
    src: Path,
    dst: Path,
    *,
    classes: Path | None = None,
    allow_missing: bool = False,
    max_sample_bytes: int | None = None,
    store: Literal["jpeg", "dct"] = "jpeg",
    exif: Exif = "ignore",
    **options: Unpack[ConvertOptions],
) -> Summary:
    """WebDataset: a folder of tar files, or one tar file; compressed ones are decompressed once, into temporary files beside dst.

    classes: a text file with one class name on each line. allow_missing: samples that lack a member which others have get a null field.
    max_sample_bytes: of a sample; a larger one counts as bad. store, exif: as in PictureOptions.
    """
    parameters = {"classes": _path(classes), "allow-missing": allow_missing, "max-sample-bytes": max_sample_bytes}
    return _convert("webdataset", src, dst, parameters, {**options, "store": store, "exif": exif})


def coco(
    src: Path,
    dst: Path,
    *,
    annotations: Path | None = None,
    images: Path | None = None,
    keypoints: bool = False,
    segmentation: bool = False,
    allow_missing: bool = False,
    persons: Literal["human36m", "mpii", "mscoco", "muco", "mupots", "3dpw"] | None = None,
    detections: Path | None = None,
    min_distance: int | None = None,
    min_depth: int | None = None,
    max_depth: int | None = None,
    box_percent: int | None = None,
    min_box: int | None = None,
    protocol: int | None = None,
    frame_step: int | None = None,
    store: Literal["jpeg", "dct"] = "jpeg",
    **options: Unpack[ConvertOptions],
) -> Summary:
    """COCO: pictures with boxes, key points or segmentations.

    annotations, images: the annotation file of one split and the folder of its pictures, instead of looking for them. keypoints: reads
    person_keypoints_*.json. segmentation: stores segmentations as a field of JSON text. allow_missing: leaves out pictures without a file.

    persons: one record a person, with its root joint, of this set as it is published for RootNet. The rest goes with it. detections: a JSON file
    [{image_id, bbox, score}] with the boxes to test on. min_distance, min_depth, max_depth: leaves out persons nearer than this to another, and
    roots nearer or further than that, mm (muco: 500, 1500 and 7500). box_percent: size of the crop, 125 % of the box. min_box: leaves out boxes with a side of
    fewer pixels. protocol (1 or 2), frame_step (5 to train, 64 to test): of human36m.
    """
    parameters = {
        "annotations": _path(annotations), "images": _path(images), "keypoints": keypoints, "segmentation": segmentation, "allow-missing": allow_missing,
        "persons": persons, "detections": _path(detections), "min-distance": min_distance, "min-depth": min_depth, "max-depth": max_depth,
        "box-percent": box_percent, "min-box": min_box, "protocol": protocol, "frame-step": frame_step,
    }  # fmt: skip
    return _convert("coco", src, dst, parameters, {**options, "store": store})


def nuscenes(
    src: Path,
    dst: Path,
    *,
    version: str | None = None,
    splits: str | Sequence[str] | None = None,
    cameras: str | Sequence[str] | None = None,
    no_radar: bool = False,
    keyframes_only: bool = False,
    sweeps: int | None = None,
    radar_sweeps: int | None = None,
    camera_sweeps: int | None = None,
    lidar_dtype: Literal["f32", "f16"] | None = None,
    allow_partial: bool = False,
    radar_filter: Literal["none", "devkit"] | None = None,
    **options: Unpack[ConvertPictureOptions],
) -> Summary:
    """nuScenes: keyframes of cameras, lidar and radars with boxes, and the sweeps between them.

    version: needed when src has tables of more than one. splits: official ones, or those of the devkit's splits.json; None: all. cameras: names, or "none"; None: all six. keyframes_only: leaves out all sweeps.
    sweeps, radar_sweeps, camera_sweeps: frames before each keyframe, 10, 5 and 0. allow_partial: converts what is there and whole.
    radar_filter: "devkit" keeps the points that the devkit's default filters pass.
    """
    parameters = {
        "version": version, "splits": _names(splits), "cameras": _names(cameras), "no-radar": no_radar, "keyframes-only": keyframes_only, "sweeps": sweeps,
        "radar-sweeps": radar_sweeps, "camera-sweeps": camera_sweeps, "lidar-dtype": lidar_dtype, "allow-partial": allow_partial,
        "radar-filter": radar_filter,
    }  # fmt: skip
    return _convert("nuscenes", src, dst, parameters, options)


def jsonl(
    src: Path,
    dst: Path,
    *,
    token_dtype: Literal["u16", "i32", "i64"] | None = None,
    real_dtype: Literal["f64", "f32"] | None = None,
    max_line_bytes: int | None = None,
    **options: Unpack[ConvertOptions],
) -> Summary:
    """JSON lines, or arrays of objects (.jsonl, .ndjson, .json): texts, numbers and tokens, compressed or not; one file, or a folder of files.

    token_dtype: of arrays of whole numbers, "i32" by default. real_dtype: of arrays of other numbers, "f64" by default. max_line_bytes: a longer
    line counts as bad.
    """
    parameters = {"token-dtype": token_dtype, "real-dtype": real_dtype, "max-line-bytes": max_line_bytes}
    return _convert("jsonl", src, dst, parameters, options)


def text(
    src: Path,
    dst: Path,
    *,
    tokenizer: Path | None = None,
    ending: str | None = None,
    document: Literal["file", "line"] | None = None,
    text_field: str | None = None,
    tokens_field: str | None = None,
    vocabulary_size: int | None = None,
    end_of_text: int | None = None,
    block_bytes: int | None = None,
    max_document_bytes: int | None = None,
    **options: Unpack[ConvertOptions],
) -> Summary:
    """Texts as tokens, for language models: text files or JSON (.jsonl, .ndjson, .json), compressed or not; one file, or a folder of files.

    tokenizer: a tokenizer.json of byte-level BPE, a folder with one or with vocab.json and merges.txt, or "bytes". ending: of the files' names, JSON where
    there is any, else ".txt". document: what one is in texts, "file" by default. text_field, tokens_field: the member of JSON documents with the text, "text",
    or with tokens that are ready; without a tokenizer these need vocabulary_size and end_of_text. block_bytes: of the documents in a record.
    on_error="skip" leaves out a bad document alone, and report.jsonl names it.
    """
    parameters = {
        "tokenizer": _path(tokenizer),
        "ending": ending,
        "document": document,
        "text-field": text_field,
        "tokens-field": tokens_field,
        "vocabulary-size": vocabulary_size,
        "end-of-text": end_of_text,
        "block-bytes": block_bytes,
        "max-document-bytes": max_document_bytes,
    }
    return _convert("text", src, dst, parameters, options)


def demo(
    dst: Path,
    *,
    kind: Literal["pictures", "nuscenes", "pose"] = "pictures",
    size: int | None = None,
    classes: int | None = None,
    images: int | None = None,
    val_images: int | None = None,
    scenes: int | None = None,
    val_scenes: int | None = None,
    frames: int | None = None,
    root: Path | None = None,
    **options: Unpack[ConvertPictureOptions],
) -> Summary:
    """Made-up data that a model can learn: pictures of classes, with kind="nuscenes" scenes of driving, with "pose" people.

    size: width and height, 64; of nuscenes the width, 320. classes, images, val_images: of pictures, 10, 2,000 and 500. scenes, val_scenes,
    frames: of nuscenes, 60, 12 and 10 keyframes a scene. root: of nuscenes: keeps the files in the official layout in this folder.
    """
    parameters = {
        "kind": kind, "size": size, "classes": classes, "images": images, "val-images": val_images, "scenes": scenes, "val-scenes": val_scenes,
        "frames": frames, "root": _path(root),
    }  # fmt: skip
    return _convert("demo", "", dst, parameters, options)


def transcode(src: Path, dst: Path, *, store: Literal["jpeg", "dct"], **options: Unpack[ConvertOptions]) -> Summary:
    """A data set of ffkit with its pictures in the dct code, or back as the JPEGs that they were. All else stays: fields, order, shards.

    shard_size and zstd are those of src unless they are given; order, seed and read do not apply.
    """
    _refuse("transcode", options, ("order", "seed", "read"), "the records keep the order of src")
    arguments = (os.fspath(src), os.fspath(dst), "shard_size" not in options, "zstd" not in options)
    return _run(options, {"store": store}, lambda given: _ffkit.transcode(*arguments, given))


def v1(
    src: Path,
    dst: Path,
    *,
    payload: Literal["auto", "raw", "imagenet"] | None = None,
    field: str | None = None,
    **options: Unpack[ConvertOptions],
) -> Summary:
    """FFRecord v1 to a data set of ffkit; or, where src is a data set of ffkit, back.

    payload, field: for writing v1: what a record is, and the field whose bytes are written. Then only shard_size, max_record, dry_run, progress and
    on_note apply.
    """
    source, target = os.fspath(src), os.fspath(dst)
    max_record = convert_options(options)["max_record"]
    if _ffkit.is_v1(source, max_record):
        if payload is not None or field is not None:
            raise ValueError("payload and field are for writing FFRecord v1; src already is")
        return _run({"order": "source", **options}, {}, lambda given: _ffkit.from_v1(source, target, given))
    names = ("threads", "order", "seed", "on_error", "zstd", "zstd_dictionary", "part", "read", "resume")
    _refuse("v1", options, names, "src is a data set of ffkit, and FFRecord v1 has no such thing")
    part_bytes = convert_options(options)["shard_bytes"] if "shard_size" in options else 0
    return _run(options, {}, lambda given: _ffkit.to_v1(source, target, payload or "auto", field or "", part_bytes, given))


def merge(
    dst: Path, sources: Iterable[Path], *, transfer: Literal["link", "move", "copy"] = "link", on_note: Callable[[str], object] | None = None
) -> Summary:
    """Joins data sets, or the parts of one conversion, to a new one, by hard links; no record is written anew.

    transfer: "move" removes the shards from the sources when the result is safe on disk; "copy" copies them.
    """
    return _join(dst, sources, transfer, False, on_note)


def append(
    dst: Path, sources: Iterable[Path], *, transfer: Literal["link", "move", "copy"] = "link", on_note: Callable[[str], object] | None = None
) -> Summary:
    """Adds the shards of other data sets to an existing one, which may be read meanwhile. As merge()."""
    return _join(dst, sources, transfer, True, on_note)


class Source(ABC):
    """A source written in Python, for from_source(): a list of samples, each read by its number.

    read() is called from the conversion's threads. The GIL lets one of them at a time run Python, so a conversion is as fast as one core reads
    samples; what Python leaves to C without the GIL (reading files, zlib, Pillow's decoder) and everything after read() runs in parallel. A
    source in C++ (converter/own_source.md) has no such limit.
    """

    schema: Mapping[str, FieldSpec]
    """As in Writer."""
    classes: Sequence[str] = ()
    class_names: Sequence[str] = ()
    facts: Mapping[str, str] = {}
    """About where the data come from, for the manifest."""

    @abstractmethod
    def splits(self) -> Mapping[str, int]:
        """The number of samples of each split. Splits whose name begins with "train" are shuffled by default."""

    @abstractmethod
    def read(self, split: str, index: int) -> Mapping[str, object]:
        """Sample `index` of `split`, with values as Writer.write() takes them. An exception makes the sample a bad one: see on_error. Called from
        many threads, in any order, and sometimes more than once."""


class _PreparedSource:
    """What python_source.cpp sees of a Source."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._types = parse_schema(source.schema)
        self.fields = [field.as_tuple() for field in self._types]
        self.classes = list(source.classes)
        self.class_names = list(source.class_names)
        self.facts = {"kind": "python", "path": type(source).__qualname__, **source.facts}
        self.splits = [(name, count, name.startswith("train")) for name, count in source.splits().items()]
        for name, count, _ in self.splits:
            if count < 1:
                raise ValueError(f"the split '{name}' has {count} samples; leave it out")

    def read(self, split: str, index: int) -> list[Any]:
        return prepare_sample(self._types, self._source.read(split, index))


def from_source(source: Source, dst: Path, *, pixels: Pixels = "png", **options: Unpack[ConvertPictureOptions]) -> Summary:
    """Converts a source written in Python, with everything that other sources have: shuffling, resume, parts, bad samples, dry_run.

    pixels: how pictures that come as pixels are stored, as in Writer. What Source.read() has raised for the sample that ended the conversion
    comes out as it is.
    """
    prepared = _PreparedSource(source)
    general, pictures = _split_options(options)
    return _run(general, {**pictures, "pixels": pixels}, lambda given: _ffkit.convert_python_source(prepared, os.fspath(dst), given))


def _convert(kind: str, src: Path, dst: Path, parameters: Mapping[str, object], options: Mapping[str, Any]) -> Summary:
    given = {name: value for name, value in parameters.items() if value is not None and value is not False}
    general, pictures = _split_options(options)
    refuse_idle_quality(pictures)
    return _run(general, pictures, lambda all: _ffkit.convert_kind(kind, os.fspath(src), os.fspath(dst), given, all))


def _split_options(options: Any) -> tuple[ConvertOptions, PictureOptions]:
    refuse_others(options, ConvertPictureOptions)
    general: Any = {name: value for name, value in options.items() if name in ConvertOptions.__annotations__}
    pictures: Any = {name: value for name, value in options.items() if name in PictureOptions.__annotations__}
    return general, pictures


def _run(options: ConvertOptions, pictures: Any, work: Callable[[dict[str, Any]], dict[str, Any]]) -> Summary:
    pixels = pictures.get("pixels", "png")
    storage: Any = {name: value for name, value in pictures.items() if name != "pixels"}
    bar = ProgressBar(options.get("progress", True))
    given = {
        **convert_options(options),
        **picture_options(storage),
        "pixels": pixels,
        "on_progress": bar.callback,
        "on_note": options.get("on_note") or _warn,
    }
    try:
        result = work(given)
    finally:
        bar.close()
    return _summary(result, bool(options.get("dry_run")))


def _summary(result: dict[str, Any], is_estimate: bool) -> Summary:
    if is_estimate:
        splits = tuple(
            SplitSummary(split["split"], split["num_samples"], 0, split["num_shards"], split["file_bytes"], "") for split in result["splits"]
        )
        return Summary(splits, result["seconds"], is_estimate=True)
    return Summary(**{**result, "splits": tuple(SplitSummary(**split) for split in result["splits"])})


def _join(dst: Path, sources: Iterable[Path], transfer: str, is_append: bool, on_note: Callable[[str], object] | None) -> Summary:
    return _summary(_ffkit.merge(os.fspath(dst), [os.fspath(source) for source in sources], transfer, is_append, on_note or _warn), False)


def _refuse(name: str, options: Any, refused: Sequence[str], reason: str) -> None:
    for option in refused:
        if option in options:
            raise ValueError(f"{name}: {option} has no effect: {reason}; leave it out")


def _warn(sentence: str) -> None:
    level = 1
    frame = sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("ffkit."):
        frame = frame.f_back
        level += 1
    warnings.warn(sentence, stacklevel=level)


def _names(names: str | Sequence[str] | None) -> str | None:
    return names if names is None or isinstance(names, str) else ",".join(names)


def _path(path: Path | None) -> str | None:
    return None if path is None else os.fspath(path)
