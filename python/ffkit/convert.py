"""Converts data sets to ffkit's format, like the program ffconvert.

    ffkit.convert.imagenet("/data/imagenet", "/fast/imagenet", max_resolution=500, num_threads=16)

All functions block, without the GIL, until the data set is complete. Ctrl-C stops them: finished
shards stay, and the same call with resume=True continues. They raise ffkit.Error with file, reason
and remedy. Options have the names of ffconvert's, with _ instead of -."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from . import _ffkit
from ._engines.shard_sink import ShardSink
from ._samples import FieldSpec, LeftOut, parse_schema, prepare_sample
from ._from_samples import from_array_record, from_dataset_dict, from_grain, from_hdf5, from_iterable, from_torch
from ._convert_options import (
    ConvertOptions,
    Exif,
    PictureOptions,
    Pixels,
    Progress,
    ProgressBar,
    ProgressUpdate,
    Unpack,
    document_options,
    documented,
    given_options,
    warn,
)
from ._conversion import convert_kind, run_conversion, summary_of
from ._summary import CopySummary, Leftover, Leftovers, Removed, SplitSummary, Summary, copy, find_leftovers, remove, remove_leftovers

__all__ = [
    "ConvertOptions", "ConvertPictureOptions", "CopySummary", "Leftover", "Leftovers", "PictureOptions", "Progress", "ProgressUpdate", "RowOptions",
    "ShardSink", "Source", "SplitSummary", "Summary", "append", "beton", "coco", "copy", "demo", "find_leftovers", "folder", "from_array_record",
    "from_dataset_dict", "from_grain", "from_hdf5", "from_iterable", "from_source", "from_torch", "imagenet", "jsonl", "litdata", "lmdb", "mds", "merge", "nuscenes", "pairs", "parquet", "recordio",
    "Removed", "remove", "remove_leftovers", "text", "tfrecord", "transcode", "v1", "voc", "webdataset", "yolo",
]  # fmt: skip



def __dir__() -> list[str]:
    return __all__


Path: TypeAlias = str | os.PathLike[str]


class ConvertPictureOptions(ConvertOptions, PictureOptions, total=False):
    """ConvertOptions and PictureOptions."""


class RowOptions(ConvertOptions, total=False):
    """ConvertOptions, and options for files of other libraries."""

    image_column: str | None
    label_column: str | None
    id_column: str | None
    columns: str | Sequence[str] | None
    label_offset: int
    classes: Path | None
    max_sample_bytes: int | None
    store: Literal["jpeg", "dct"]
    exif: Exif


document_options(ConvertOptions, "conversion")
document_options(PictureOptions, "pictures")
document_options(RowOptions, "tfrecord")


@documented("imagenet")
def imagenet(
    src: Path,
    dst: Path,
    *,
    splits: str | Sequence[str] | None = None,
    check_archives: bool = False,
    allow_partial: bool = False,
    **options: Unpack[ConvertPictureOptions],
) -> Summary:
    """ImageNet (ILSVRC2012): the official archives, extracted folders, or Kaggle's layout."""
    return convert_kind("imagenet", locals())


@documented("folder")
def folder(
    src: Path,
    dst: Path,
    *,
    splits: str | Sequence[str] | None = None,
    classes_from: Literal["train", "all"] | None = None,
    classes: Path | None = None,
    classes_of: Path | None = None,
    labels: str | Sequence[str] | None = None,
    name_column: str | None = None,
    label_column: str | None = None,
    multi_label: bool = False,
    allow_missing: bool = False,
    **options: Unpack[ConvertPictureOptions],
) -> Summary:
    """Folders of pictures: src/<split>/<class>/*, src/<class>/*, or with lists of labels."""
    return convert_kind("folder", locals())


@documented("webdataset")
def webdataset(
    src: Path,
    dst: Path,
    *,
    classes: Path | None = None,
    label_key: str | None = None,
    allow_missing: bool = False,
    numbered_frames: bool = False,
    id_member: str | None = None,
    max_sample_bytes: int | None = None,
    store: Literal["jpeg", "dct"] = "jpeg",
    exif: Exif = "ignore",
    **options: Unpack[ConvertOptions],
) -> Summary:
    """WebDataset: a folder of tar files, or one tar file. Compressed files are decompressed once,
    into temporary files beside dst."""
    return convert_kind("webdataset", locals())


@documented("tfrecord")
def tfrecord(src: Path, dst: Path, **options: Unpack[RowOptions]) -> Summary:
    """TFRecord files of tf.train.Example, from TensorFlow Datasets or other programs. Compressed
    files are decompressed once, into temporary files."""
    return convert_kind("tfrecord", locals())


@documented("parquet")
def parquet(src: Path, dst: Path, **options: Unpack[RowOptions]) -> Summary:
    """Parquet files of Hugging Face's datasets, or with any columns. pyarrow reads the files."""
    return convert_kind("parquet", locals())


@documented("mds")
def mds(src: Path, dst: Path, *, check_hashes: bool = False, **options: Unpack[RowOptions]) -> Summary:
    """MDS shards of MosaicML Streaming: a folder with index.json, or a folder of such folders.
    Compressed shards are decompressed once, into temporary files."""
    return convert_kind("mds", locals())


@documented("litdata")
def litdata(src: Path, dst: Path, **options: Unpack[RowOptions]) -> Summary:
    """Chunks of LitData: a folder with index.json, or a folder of such folders. Compressed chunks
    are decompressed once, into temporary files. pyarrow reads chunks that are Arrow tables."""
    return convert_kind("litdata", locals())


@documented("recordio")
def recordio(src: Path, dst: Path, **options: Unpack[RowOptions]) -> Summary:
    """RecordIO of MXNet: a .rec file or a folder of .rec files, with their .idx and .lst files."""
    return convert_kind("recordio", locals())


@documented("beton")
def beton(src: Path, dst: Path, **options: Unpack[RowOptions]) -> Summary:
    """FFCV: a .beton or .ffcv file, or a folder of such files."""
    return convert_kind("beton", locals())


@documented("lmdb")
def lmdb(
    src: Path,
    dst: Path,
    *,
    value: Literal["auto", "picture", "datum", "bytes", "text"] | None = None,
    rgb: bool = False,
    database: str | None = None,
    **options: Unpack[RowOptions],
) -> Summary:
    """LMDB: pictures with keys as in LSUN, Datum messages of Caffe, or bytes."""
    return convert_kind("lmdb", locals())


@documented("pairs")
def pairs(
    dst: Path,
    folders: Mapping[str, Path] | None = None,
    *,
    layout: Literal["ade20k", "cityscapes", "voc"] | None = None,
    root: Path | None = None,
    suffix: Mapping[str, str] | None = None,
    list: Path | Sequence[Path] | None = None,
    splits: str | Sequence[str] | None = None,
    unpaired: Literal["fail", "skip"] | None = None,
    panoptic: str | Sequence[str] | None = None,
    store: Literal["jpeg", "dct"] = "jpeg",
    exif: Exif = "ignore",
    **options: Unpack[ConvertOptions],
) -> Summary:
    """Pictures and masks in separate folders. A picture and its mask have the same name. An example
    is pairs(dst, {"image": pictures, "mask": masks})."""
    return convert_kind("pairs", locals())


@documented("coco")
def coco(
    src: Path,
    dst: Path,
    *,
    annotations: Path | None = None,
    images: Path | None = None,
    keypoints: bool = False,
    segmentation: str | Sequence[str] | None = None,
    panoptic: Path | None = None,
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
    exif: Exif = "ignore",
    **options: Unpack[ConvertOptions],
) -> Summary:
    """COCO: pictures with boxes, key points or segmentations."""
    return convert_kind("coco", locals())


@documented("yolo")
def yolo(
    src: Path,
    dst: Path,
    *,
    splits: str | Sequence[str] | None = None,
    segmentation: str | Sequence[str] | None = None,
    allow_missing: bool = False,
    store: Literal["jpeg", "dct"] = "jpeg",
    exif: Exif = "ignore",
    **options: Unpack[ConvertOptions],
) -> Summary:
    """YOLO: data.yaml, pictures and labels in the layout of Ultralytics."""
    return convert_kind("yolo", locals())


@documented("voc")
def voc(
    src: Path,
    dst: Path,
    *,
    splits: str | Sequence[str] | None = None,
    classes: Path | None = None,
    first_pixel: int | None = None,
    segmentation: str | Sequence[str] | None = None,
    allow_missing: bool = False,
    store: Literal["jpeg", "dct"] = "jpeg",
    exif: Exif = "ignore",
    **options: Unpack[ConvertOptions],
) -> Summary:
    """Pascal VOC: pictures with boxes in XML files."""
    return convert_kind("voc", locals())


@documented("nuscenes")
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
    """nuScenes: keyframes of cameras, lidar and radars with boxes, and sweeps between them."""
    return convert_kind("nuscenes", locals())


@documented("jsonl")
def jsonl(
    src: Path,
    dst: Path,
    *,
    token_dtype: Literal["u16", "i32", "i64"] | None = None,
    real_dtype: Literal["f64", "f32"] | None = None,
    max_line_bytes: int | None = None,
    **options: Unpack[ConvertOptions],
) -> Summary:
    """JSON lines or arrays of objects (.jsonl, .ndjson, .json) with texts, numbers and tokens: one
    file, or a folder of files. The files may be compressed."""
    return convert_kind("jsonl", locals())


@documented("text")
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
    """Texts as tokens, for language models: a text file, a JSON file (.jsonl, .ndjson, .json), or a
    folder of such files. The files may be compressed."""
    return convert_kind("text", locals())


@documented("demo")
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
    """Artificial data that a model can learn: pictures of classes. With kind="nuscenes", the data
    are scenes of driving, and with kind="pose", they are figures of people."""
    return convert_kind("demo", locals())


@documented("transcode")
def transcode(src: Path, dst: Path, *, store: Literal["jpeg", "dct"], **options: Unpack[ConvertOptions]) -> Summary:
    """Converts the pictures of a data set of ffkit to the dct code, or back to the original JPEGs.
    Fields, order and shards stay."""
    return run_conversion("transcode", src, dst, {**options, "store": store}, _ffkit.transcode)


@documented("v1")
def v1(
    src: Path,
    dst: Path,
    *,
    payload: Literal["auto", "raw", "imagenet"] | None = None,
    field: str | None = None,
    **options: Unpack[ConvertOptions],
) -> Summary:
    """Converts FFRecord v1 to a data set of ffkit; if src is a data set of ffkit, converts it to
    FFRecord v1, with the options payload, field, shard_size and max_record."""
    own = {"payload": payload, "field": field}
    return run_conversion("v1", src, dst, {**options, **own}, _ffkit.v1)


@documented("merge")
def merge(
    dst: Path,
    sources: Iterable[Path],
    *,
    transfer: Literal["link", "move", "copy"] = "link",
    duplicates: Literal["fail", "keep"] = "fail",
    duplicate_ids: Path | None = None,
    on_note: Callable[[str], object] | None = None,
) -> Summary:
    """Joins data sets, or the parts of a conversion, to a new one. Shards become hard links."""
    return _join(dst, sources, {"transfer": transfer, "duplicates": duplicates, "duplicate_ids": duplicate_ids}, False, on_note)


@documented("merge")
def append(
    dst: Path,
    sources: Iterable[Path],
    *,
    transfer: Literal["link", "move", "copy"] = "link",
    duplicates: Literal["fail", "keep"] = "fail",
    duplicate_ids: Path | None = None,
    on_note: Callable[[str], object] | None = None,
) -> Summary:
    """Adds shards of other data sets to an existing one, like merge(). It may be read meanwhile."""
    return _join(dst, sources, {"transfer": transfer, "duplicates": duplicates, "duplicate_ids": duplicate_ids}, True, on_note)


class Source(ABC):
    """A source written in Python, for from_source(): a list of samples, each read by its number.

    The conversion's threads call read(). Because of the GIL, only one of them runs Python at a
    time, so one core limits the speed. Calls to C without the GIL (reading files, zlib, Pillow's
    decoder) and everything after read() run in parallel. A C++ source (sources/own_source.md) has
    no such limit."""

    schema: Mapping[str, FieldSpec]
    """As in Writer."""
    classes: Sequence[str] = ()
    class_names: Sequence[str] = ()
    facts: Mapping[str, str] = {}
    """About where the data come from, for the manifest."""

    @abstractmethod
    def splits(self) -> Mapping[str, int]:
        """The number of samples of each split. By default, splits named "train..." are shuffled."""

    @abstractmethod
    def read(self, split: str, index: int) -> Mapping[str, object]:
        """Returns sample `index` of `split`, with values as for Writer.write(). An exception makes
        it a bad sample: see bad_samples. Called by many threads, in any order, maybe twice."""


class _PreparedSource:
    """What python_source.cpp sees of a Source."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._types = parse_schema(source.schema)
        self.left_out = LeftOut()
        self.fields = [field.as_tuple() for field in self._types]
        self.classes = list(source.classes)
        self.class_names = list(source.class_names)
        self.facts = {"kind": "python", "path": type(source).__qualname__, **source.facts}
        self.splits = [(name, count, name.startswith("train")) for name, count in source.splits().items()]
        for name, count, _ in self.splits:
            if count < 1:
                raise ValueError(f"the split '{name}' has {count} samples; leave it out")

    def read(self, split: str, index: int) -> list[Any]:
        return prepare_sample(self._types, self._source.read(split, index), self.left_out)


@documented("from_source")
def from_source(source: Source, dst: Path, *, pixels: Pixels = "png", **options: Unpack[ConvertPictureOptions]) -> Summary:
    """Converts a source written in Python, with all features of other sources: shuffling, resume,
    parts, bad samples, dry_run.

    If Source.read() raises an exception and the conversion ends, this exception is raised."""
    prepared = _PreparedSource(source)
    summary = run_conversion(
        "from_source", "", dst, {**options}, lambda _, dst, given, control: _ffkit.convert_python_source(prepared, dst, pixels, given, control)
    )
    if prepared.left_out.num_items > 0:
        (options.get("on_note") or warn)(f"{os.fspath(dst)}: {prepared.left_out}")
    return summary


def _join(dst: Path, sources: Iterable[Path], options: dict[str, Any], is_append: bool, on_note: Callable[[str], object] | None) -> Summary:
    given = given_options(options, "merge")
    return summary_of(_ffkit.merge(os.fspath(dst), [os.fspath(source) for source in sources], given, is_append, on_note or warn), False)
