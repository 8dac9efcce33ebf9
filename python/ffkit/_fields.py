"""Further arrays of a batch: `Loader(fields={name: ...})`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Callable, Literal, Mapping, Sequence

from . import _ffkit
from ._errors import CorruptError, InvalidArgumentError
from ._samples import DtypeObject, dtype_word
from ._image import IMAGENET_MEAN, IMAGENET_STD, Augmentation, Dtype, ImageOptions, Layout
from ._transforms import Resize


@dataclass(frozen=True, slots=True)
class ImageField:
    """A picture: [N, 3, H, W] or [N, H, W, 3]. Pictures of one record with equal sizes and options
    get the same crop and flip.

    A PNG with a palette is a bad sample if it would be resized, because its pixels are usually
    numbers of classes. MaskField keeps them."""

    field: str
    image: ImageOptions = ImageOptions()


@dataclass(frozen=True, slots=True)
class ImagesField:
    """Pictures of several fields, such as the cameras of a vehicle, as one array: [N, len(fields),
    3, H, W] or [.., H, W, 3]. For PNGs with a palette see ImageField."""

    fields: Sequence[str]
    image: ImageOptions = ImageOptions()


@dataclass(frozen=True, slots=True)
class PictureField:
    """A second picture that follows a view of the loader's picture, such as another camera or a
    depth map: [N, 3, H, W], or [N, copies, 3, H, W] for a view with copies.

    It gets the crop, resize and flip of the view. `augment` uses the random numbers of the view, so
    a ColorJitter changes both pictures alike. Another size than that of the view's picture is bad.

    Args:
        field: field of the record: an image, or bytes.
        view: name of the view; "": the loader's only one.
        augment, dtype, layout, normalize, mean, std, channels: see ImageOptions."""

    field: str
    view: str = ""
    augment: Sequence[Augmentation] = ()
    dtype: Dtype = "f32"
    layout: Layout = "nchw"
    normalize: bool | None = None
    mean: float | tuple[float, float, float] = IMAGENET_MEAN
    std: float | tuple[float, float, float] = IMAGENET_STD
    channels: Literal[1, 3] = 3

    def options(self) -> ImageOptions:
        """As ImageOptions; the transform is not used, because the view has its own."""
        return ImageOptions(Resize(), self.augment, None, self.dtype, self.layout, self.normalize, self.mean, self.std, self.channels)


@dataclass(frozen=True, slots=True)
class MaskField:
    """A mask that follows a view: [N, H, W] of ids, or [N, copies, H, W] for a view with copies. It
    takes the nearest pixels, like torchvision for masks, and never blends ids.

    Args:
        field: field of the record: a PNG (a palette gives its indices, grey of 1 to 16 bits its
            values), or a tensor [height, width] of u8, u16 or i32. For a clip, a list with one for
            each frame. Another size than that of the view's picture is bad.
        view: name of the view, or of the array of a FramesField; "": the loader's only one.
        dtype: "u8", "u16", "i32" or "i64". An id that it cannot hold makes a bad sample.
        fill: value where the view has no picture; `ids` does not change it. None: 255, or 0 (no
            segment) for panoptic numbers.
        ids: the new id of each id: a dict, or a sequence for the ids 0, 1, ... A missing id makes a
            bad sample. None: ids stay.
        numbers: "values": those of the file; "panoptic": red + 256 green + 65536 blue."""

    field: str
    view: str = ""
    dtype: Literal["u8", "u16", "i32", "i64", "uint8", "uint16", "int32", "int64"] | DtypeObject = "u8"
    fill: int | None = None
    ids: Mapping[int, int] | Sequence[int] | None = None
    numbers: Literal["values", "panoptic"] = "values"

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", dtype_word(self.dtype))

    def table(self) -> dict[int, int]:
        """`ids` as a dict; empty: ids stay."""
        if self.ids is None:
            return {}
        table = dict(self.ids) if isinstance(self.ids, Mapping) else dict(enumerate(self.ids))
        if not table:
            raise InvalidArgumentError("the ids of a MaskField are empty; give None to keep all ids")
        return table


@dataclass(frozen=True, slots=True)
class PixelMaskField:
    """A mask of padding, for DETR and others: [N, H, W] u8, or [N, copies, H, W] for a view with
    copies; 1 in the picture and 0 in the padding.

    Args:
        view: name of the view; "": the loader's only one."""

    view: str = ""


BoxFormat = Literal["xywh", "xyxy", "cxcywh"]


@dataclass(frozen=True, slots=True)
class BoxesField:
    """Boxes that follow a view: [boxes of all samples, 4] f32 with `batch.row_offsets(name)`, or
    [N, max_boxes, 4] with `padded`.

    A box moves with the pixels. If it is rotated, it becomes the upright box around it. It is
    clipped to the view, and dropped if too little is left; then BoxRowsField, PointsField and
    InstanceMasksField of the same boxes drop their values, too. A box without area, or with values
    that are not numbers, is left out and counted (`loader.statistics().num_items_left_out`).

    Each copy of a view with copies keeps its own boxes: [N, copies, max_boxes, 4] with `padded`;
    otherwise the boxes of sample 0 copy 0, sample 0 copy 1, ... follow each other, and
    `batch.row_offsets(name)`, [N * copies + 1], gives their begins.

    Args:
        field: field of the record: a tensor [n, 4] of f32, f64, i32 or i64.
        view: name of the view; "": the loader's only one.
        stored, stored_relative: form in the record: "xywh" (COCO), "xyxy", "cxcywh"; in pixels, or
            as shares of the picture's width and height.
        format, relative: form in the batch, in pixels of the view or as shares of its width and
            height: "xyxy" for torchvision, "cxcywh" with relative=True for DETR.
        min_size: pixels of the view; a box with a shorter side is dropped.
        min_visible: share of a box's area, 0 .. 1, that must be inside the view.
        max_boxes: a sample with more boxes in a picture is bad.
        padded: zeros after the boxes of a sample, instead of ragged rows."""

    field: str = "boxes"
    view: str = ""
    stored: BoxFormat = "xywh"
    stored_relative: bool = False
    format: BoxFormat = "xyxy"
    relative: bool = False
    min_size: float = 1.0
    min_visible: float = 0.0
    max_boxes: int = 100
    padded: bool = False


@dataclass(frozen=True, slots=True)
class BoxRowsField:
    """Numbers of each box, such as labels, for the boxes that the BoxesField keeps: [boxes of all
    samples, *shape] of the field's dtype. If the BoxesField is padded: [N, max_boxes, *shape], or
    [N, copies, max_boxes, *shape] for a view with copies.

    Args:
        field: field of the record: a tensor [n, *shape]. A wrong n is a bad sample.
        boxes: name of the BoxesField's array.
        shape: of one row."""

    field: str
    boxes: str = "boxes"
    shape: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class PointsField:
    """Key points of boxes: x and y in the view, and visibility: [boxes of all samples, num_points,
    3] f32. If the BoxesField is padded: [N, max_boxes, num_points, 3], or [N, copies, max_boxes,
    num_points, 3] for a view with copies.

    Points outside of the view get the visibility 0. With visibility 0, x and y stay.

    Args:
        field: field of the record: a tensor [n, num_points, 3] of f32 or f64, or [n, num_points, 2]
            if all points are visible (2).
        num_points: 17 for COCO.
        boxes: name of the array of the BoxesField.
        mirrored: pairs of points to swap in a mirrored view, such as left and right eye.
        counts: meaning of x and y, in the record and in the batch. "pixels": column and row of a
            pixel, as in COCO and torchvision's KeyPoints: a flip gives W - 1 - x, and a resize or
            rotation moves the centre of the pixel, (x + 0.5, y + 0.5). "edges": distances from the
            left and upper edge of the picture, like boxes: a flip gives W - x."""

    field: str = "keypoints"
    num_points: int = 17
    boxes: str = "boxes"
    mirrored: Sequence[tuple[int, int]] = ()
    counts: Literal["pixels", "edges"] = "pixels"


@dataclass(frozen=True, slots=True)
class InstanceMasksField:
    """A mask for each box that the BoxesField keeps, 1 inside its object and 0 elsewhere: [boxes of
    all samples, H, W] u8. If the BoxesField is padded: [N, max_boxes, H, W], or [N, copies,
    max_boxes, H, W] for a view with copies.

    The loader reserves memory for `max_boxes` masks of each picture.

    Args:
        field: field of the record: a list with a tensor u32 [runs, 2] for each box, as
            ffkit.convert.coco(segmentation="masks") makes it: runs of pixels [begin, end), counted
            along the rows of the picture, ascending and not touching.
        boxes: name of the BoxesField's array."""

    field: str = "masks"
    boxes: str = "boxes"


@dataclass(frozen=True, slots=True)
class FramesField:
    """A clip, frames of a video: [N, count, 3, H, W] or [N, count, H, W, 3].

    All frames of a clip get the same crop, flip and colours. A clip is a view with the name of its
    array. `MaskField(..., view="clip")` and `PictureField(..., view="clip")` of lists with one item
    per frame follow it, with shapes [N, count, H, W] and [N, count, 3, H, W];
    `batch.geometry("clip")` is [N, 3, 3]. For two clips of a video, use two FramesFields. If frames
    differ in size, the sample is bad. The whole record is read; only the clip's frames are decoded.

    Args:
        field: field of the record: a list of images (`list[image]`) or of bytes.
        count: number of frames in the clip.
        stride: distance of two frames of the clip, in frames of the video. 0: the video is divided
            into `count` equal parts, and each part gives one frame.
        jitter: the clip begins at a random place in the video; with stride 0, each frame is a
            random one of its part. False: the clip is in the middle of the video, or each frame of
            its part.
        if_short: if a video has too few frames: "bad": a bad sample; "loop": it starts again after
            its last frame; "repeat": its last frame is repeated (with stride 0 each frame).
        image: options of each frame."""

    field: str = "frames"
    count: int = 16
    stride: int = 1
    jitter: bool = True
    if_short: Literal["bad", "loop", "repeat"] = "bad"
    image: ImageOptions = ImageOptions()


@dataclass(frozen=True, slots=True)
class FrameNumbersField:
    """The numbers of a clip's frames in the video, from 0: [N, count] i64.

    Args:
        view: name of the FramesField's array; "": the loader's only view."""

    view: str = ""


@dataclass(frozen=True, slots=True)
class IntegerField:
    """A scalar of any integer type: [N] i64."""

    field: str


@dataclass(frozen=True, slots=True)
class CopyField:
    """A scalar, [N], or a tensor with the same `shape` in all records, [N, *shape], of the field's
    dtype. None: the shape in the first record that has one. A record with another shape is bad."""

    field: str
    shape: Sequence[int] | None = None

    def in_records(self, dataset: Any) -> CopyField:
        """With the shape that the tensors of `dataset` have."""
        described = dataset.schema.get(self.field)
        if self.shape is not None or described is None or described.type != "tensor":
            return self if self.shape is not None else replace(self, shape=())
        for i in range(len(dataset)):
            try:
                value = dataset.field(i, self.field)
            except CorruptError:
                continue  # a bad sample, which the loader will name
            if value is not None:
                return replace(self, shape=tuple(value.shape))
        return replace(self, shape=())


@dataclass(frozen=True, slots=True)
class TextField:
    """A string, such as an id or a caption: a list of N str in the batch. A text with more than
    `max_bytes` is a bad sample; 0: no limit."""

    field: str
    max_bytes: int = 0


@dataclass(frozen=True, slots=True)
class ValidField:
    """[N] u8: 1 if the record has the field, 0 if it is null or its data set lacks it."""

    field: str


@dataclass(frozen=True, slots=True)
class ZerosWhereNull:
    """Another field of the batch, but if `field` is null in the record, it gives zeros, an empty
    text or no rows instead of a bad sample. A ValidField tells which samples have it.

    If boxes are null, there are no boxes and no rows of their labels, points and masks:
    ZerosWhereNull("boxes", BoxesField()). Null labels, points or masks are zeros for each box.

    Args:
        field: field of the record; the same as in `array`, if that has one.
        array: a CopyField, IntegerField, ImageField, TextField, PythonField, MaskField,
            PictureField, BoxesField, BoxRowsField, PointsField or InstanceMasksField."""

    field: str
    array: ImageField | IntegerField | CopyField | TextField | PythonField | MaskField | PictureField | BoxesField | BoxRowsField | PointsField | InstanceMasksField


@dataclass(frozen=True, slots=True)
class PythonField:
    """An array made by a function of Python.

    This is slow: because of the GIL, only one thread of the loader runs it at a time, and the
    training loop waits meanwhile. A function that takes 100 us limits a loader to 10,000 samples/s
    on any number of cores. Its arguments are copied, so name only the `inputs` that it needs.

    Args:
        function: (values, key) -> an array of `shape` (with `max_rows`: [rows, *shape]), or
            anything that numpy.asarray takes. `values` is a dict like `ds[i]`. `key`, an
            ffkit.SampleKey, has seed, epoch, record_index, and `key.random()` for random numbers.
            The result must depend only on these. If it raises CorruptError, UnsupportedError or
            FieldNotFoundError, the sample is bad; other exceptions end the loop over the loader.
        dtype: of the array, any except "bf16". Values are converted if numpy's same_kind allows it.
        shape: of a sample, or of a row.
        inputs: names of the fields in `values`; None: all, so the loader reads whole records.
        max_rows: largest number of rows in a sample; the array is ragged, [sum of rows, *shape],
            with `batch.row_offsets(name)`.
        padded: with `max_rows`: [N, max_rows, *shape] instead, filled up with zeros."""

    function: Callable[[dict[str, Any], Any], Any]
    dtype: str | DtypeObject = "f32"
    shape: Sequence[int] = ()
    inputs: Sequence[str] | None = None
    max_rows: int | None = None
    padded: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", dtype_word(self.dtype))


def with_shapes(field: Any, dataset: Any) -> Any:
    """`field` for the loader: with the shape of a CopyField, also inside of ZerosWhereNull."""
    if isinstance(field, CopyField):
        return field.in_records(dataset)
    if isinstance(field, ZerosWhereNull):
        return replace(field, array=with_shapes(field.array, dataset))
    return field


BatchField = (
    ImageField | ImagesField | PictureField | MaskField | PixelMaskField | BoxesField | BoxRowsField | PointsField | InstanceMasksField | FramesField | FrameNumbersField | IntegerField | CopyField | TextField | ValidField | ZerosWhereNull | PythonField | _ffkit.FieldDecoder
)
Fields = Mapping[str, BatchField]
