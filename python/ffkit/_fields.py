"""Further arrays of a batch: what each is made from. `Loader(fields={name: ...})`."""

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
    """A picture: [N, 3, H, W] or [N, H, W, 3]. Pictures of one record with the same options get the same crop and flip, where their sizes agree.

    A PNG with a palette is a bad sample where it would be resized: its pixels are numbers of classes more often than colours, and MaskField keeps them.
    """

    field: str
    image: ImageOptions = ImageOptions()


@dataclass(frozen=True, slots=True)
class ImagesField:
    """Pictures of several fields, such as the cameras of a vehicle, as one array: [N, len(fields), 3, H, W] or [.., H, W, 3]. A PNG with a palette is as in an ImageField."""

    fields: Sequence[str]
    image: ImageOptions = ImageOptions()


@dataclass(frozen=True, slots=True)
class PictureField:
    """A further picture that follows a view of the loader's picture, such as a second camera or a depth map: [N, 3, H, W], or [N, copies, 3, H, W] of a view with copies.

    It gets the view's crop, resize and flip. `augment` draws the view's numbers: a ColorJitter changes both pictures alike. Its size must be that of the view's picture, else it is a bad sample.

    Args:
        field: of the record: an image, or bytes.
        view: name of the view; "": the loader's only one.
        augment, dtype, layout, normalize, mean, std, channels: as of ImageOptions.
    """

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
        """As ImageOptions, whose transform does not count: the view has its own."""
        return ImageOptions(Resize(), self.augment, None, self.dtype, self.layout, self.normalize, self.mean, self.std, self.channels)


@dataclass(frozen=True, slots=True)
class MaskField:
    """A mask that follows a view: [N, H, W] of ids, or [N, copies, H, W] of a view with copies. Pixels are the nearest ones, as torchvision takes them for masks; nothing is blended.

    Args:
        field: of the record: an image or bytes that are a PNG (a palette gives its indices, grey of 1 to 16 bits its values), or a tensor [height, width] of u8, u16 or i32. Its size
            must be that of the view's picture, else it is a bad sample. For a clip a list of these, one for each frame.
        view: name of the view, or of the array of a FramesField; "": the loader's only one.
        dtype: "u8", "u16", "i32" or "i64". An id that it cannot hold makes a bad sample.
        fill: where the view has no picture; a number of the batch, which `ids` does not change. None: 255; of panoptic numbers 0, which is no segment.
        ids: what each id becomes: a dict, or a sequence for the ids 0, 1, ... An id that is not in it makes a bad sample. None: ids stay.
        numbers: "values": those of the file; "panoptic": red + 256 green + 65536 blue, as COCO's panoptic PNGs have them.
    """

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
            raise InvalidArgumentError("ids of a MaskField are empty, so no id would be known; give None to keep them all")
        return table


@dataclass(frozen=True, slots=True)
class PixelMaskField:
    """Which pixels of a view are the picture's: [N, H, W] u8, 1 there and 0 where it has been padded, or [N, copies, H, W] of a view with copies. DETR and others take it.

    Args:
        view: name of the view; "": the loader's only one.
    """

    view: str = ""


BoxFormat = Literal["xywh", "xyxy", "cxcywh"]


@dataclass(frozen=True, slots=True)
class BoxesField:
    """Boxes that follow a view: [boxes of all samples, 4] f32 with `batch.row_offsets(name)`, or [N, max_boxes, 4] with `padded`.

    A box is moved with the pixels, made upright where it is turned, clipped to the view, and dropped if too little of it is left; BoxRowsField, PointsField and InstanceMasksField of the
    same boxes drop theirs alike. A box without area, or with values that are no numbers, is left out and counted (`loader.statistics().num_items_left_out`).

    Each copy of a view with copies keeps the boxes that it shows: [N, copies, max_boxes, 4] with `padded`, else the boxes of sample 0 copy 0, sample 0 copy 1, ... behind each other, of which
    `batch.row_offsets(name)`, [N * copies + 1], says where they begin.

    Args:
        field: of the record: a tensor [n, 4] of f32, f64, i32 or i64.
        view: name of the view; "": the loader's only one.
        stored, stored_relative: how the record has them: "xywh" (COCO), "xyxy", "cxcywh"; in pixels, or as shares of the picture's width and height.
        format, relative: how the batch has them, in pixels of the view or as shares of its width and height: "xyxy" for torchvision, "cxcywh" with relative=True for DETR.
        min_size: pixels of the view; a box with a shorter side is dropped.
        min_visible: share of a box's area, 0 .. 1, that must lie in the view.
        max_boxes: a sample with more of them in one picture is bad.
        padded: zeros behind the boxes of a sample, instead of ragged rows.
    """

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
    """Numbers of each box, such as labels: those of the boxes that the BoxesField keeps, [boxes of all samples, *shape] of the field's dtype, or [N, max_boxes, *shape] where that is padded;
    of a view with copies [N, copies, max_boxes, *shape].

    Args:
        field: of the record: a tensor [n, *shape]; another number of rows than boxes makes a bad sample.
        boxes: name of the BoxesField's array.
        shape: of one row.
    """

    field: str
    boxes: str = "boxes"
    shape: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class PointsField:
    """Key points of boxes: [boxes of all samples, num_points, 3] f32 of x and y in the view, and visibility. Padded where the BoxesField is: [N, max_boxes, num_points, 3], or
    [N, copies, max_boxes, num_points, 3] of a view with copies.

    Points outside of the view get the visibility 0. Points whose visibility is 0 in the record keep their numbers.

    Args:
        field: of the record: a tensor [n, num_points, 3] of f32 or f64, or [n, num_points, 2], whose points are all visible (2).
        num_points: 17 of COCO.
        boxes: name of the BoxesField's array, whose boxes the points belong to.
        mirrored: pairs of points that change places in a mirrored view, such as the left and the right eye.
        counts: what x and y are, in the record and in the batch. "pixels": column and row of a pixel, as in COCO and torchvision's KeyPoints: a flip makes W - 1 - x, and a resize or a turn moves
            the pixel's centre, (x + 0.5, y + 0.5). "edges": distances from the picture's left and upper edge, as of boxes: a flip makes W - x.
    """

    field: str = "keypoints"
    num_points: int = 17
    boxes: str = "boxes"
    mirrored: Sequence[tuple[int, int]] = ()
    counts: Literal["pixels", "edges"] = "pixels"


@dataclass(frozen=True, slots=True)
class InstanceMasksField:
    """A mask of each box: [boxes of all samples, H, W] u8, 1 where its object is and 0 elsewhere, of the boxes that the BoxesField keeps. Padded where that is: [N, max_boxes, H, W], or
    [N, copies, max_boxes, H, W] of a view with copies.

    The loader's memory is for `max_boxes` masks of each picture.

    Args:
        field: of the record: a list of tensors u32 [runs, 2], one for each box: the pixels [begin, end) of its object, counted along the rows of the picture, ascending and apart, as
            ffkit.convert.coco(segmentation="masks") makes them.
        boxes: name of the BoxesField's array.
    """

    field: str = "masks"
    boxes: str = "boxes"


@dataclass(frozen=True, slots=True)
class FramesField:
    """A clip, frames of a video: [N, count, 3, H, W] or [N, count, H, W, 3].

    All frames of a clip get one crop, flip and colours. A clip is a view, called as its array: `MaskField(..., view="clip")` and `PictureField(..., view="clip")` of a list with one item
    for each frame follow it, [N, count, H, W] and [N, count, 3, H, W], and `batch.geometry("clip")` is [N, 3, 3]. Two clips of one video are two FramesFields. Frames that differ in size
    make a bad sample. The whole record is read, but only the clip's frames are decoded.

    Args:
        field: of the record: a list of images (`list[image]`) or of bytes.
        count: frames of the clip.
        stride: from one frame to the next, in frames of the video. 0: the video is cut into `count` parts of equal length, and each gives one frame.
        jitter: the clip begins anywhere in the video, and with a stride of 0 a frame is any of its part. False: the clip in the middle, and the frame in the middle of its part.
        if_short: what becomes of a video with too few frames: "bad": a bad sample; "loop": it begins anew behind its last frame; "repeat": its last frame is repeated, with a stride of 0
            each frame as often as needed.
        image: what is done to each frame.
    """

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
        view: name of the FramesField's array; "": the loader's only view.
    """

    view: str = ""


@dataclass(frozen=True, slots=True)
class IntegerField:
    """A scalar of any integer type: [N] i64."""

    field: str


@dataclass(frozen=True, slots=True)
class CopyField:
    """A scalar, [N], or a tensor that has `shape` in all records, [N, *shape], of the field's dtype; None: that of the first record that has one. A record with another shape
    is a bad sample."""

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
    """A string, such as an id or a caption: a list of N str in the batch. A text of more than `max_bytes` is a bad sample; 0: any length is right."""

    field: str
    max_bytes: int = 0


@dataclass(frozen=True, slots=True)
class ValidField:
    """A mask, [N] u8: 1 where the record has the field, 0 where it is null, as in records of a chain whose data set lacks it."""

    field: str


@dataclass(frozen=True, slots=True)
class ZerosWhereNull:
    """The array of another field of the batch, with zeros, empty texts or no rows where `field` is null in the record, which would be a bad sample otherwise. A ValidField says where that is.

    Null boxes are none, and what belongs to them has no rows either: ZerosWhereNull("boxes", BoxesField()). Labels, points or masks that alone are null are zeros for each box.

    Args:
        field: of the record; that of `array`, where it has one.
        array: a CopyField, IntegerField, ImageField, TextField, PythonField, MaskField, PictureField, BoxesField, BoxRowsField, PointsField or InstanceMasksField.
    """

    field: str
    array: ImageField | IntegerField | CopyField | TextField | PythonField | MaskField | PictureField | BoxesField | BoxRowsField | PointsField | InstanceMasksField


@dataclass(frozen=True, slots=True)
class PythonField:
    """An array made by a function of Python.

    The price: the loader's threads call it one at a time, because it takes the GIL, and while it runs the training loop does not. A function of 100 us limits a
    loader to 10,000 samples a second on any number of cores. What it is given is copied: name the `inputs` that it needs.

    Args:
        function: (values, key) -> anything that numpy.asarray takes, of `shape` (with `max_rows`: [rows, *shape]). `values` is a dict as of `ds[i]`; `key`, an
            ffkit.SampleKey, has seed, epoch, record_index, and `key.random()` for random numbers. It must depend on these alone. When it raises CorruptError,
            UnsupportedError or FieldNotFoundError, the sample is a bad one; what else it raises comes out of the loop over the loader.
        dtype: of the array, all but "bf16". Values are converted as numpy's same_kind allows.
        shape: of one sample, or of one row.
        inputs: names of the fields that `values` has; None: all.
        max_rows: room for rows: the array is ragged, [sum of rows, *shape] with `batch.row_offsets(name)`.
        padded: with `max_rows`: [N, max_rows, *shape] instead, zeros behind the rows of a sample.
    """

    function: Callable[[dict[str, Any], Any], Any]
    dtype: str | DtypeObject = "f32"
    shape: Sequence[int] = ()
    inputs: Sequence[str] | None = None
    max_rows: int | None = None
    padded: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", dtype_word(self.dtype))


def with_shapes(field: Any, dataset: Any) -> Any:
    """`field` as the loader takes it: a CopyField says its shape, also inside of ZerosWhereNull."""
    if isinstance(field, CopyField):
        return field.in_records(dataset)
    if isinstance(field, ZerosWhereNull):
        return replace(field, array=with_shapes(field.array, dataset))
    return field


BatchField = (
    ImageField | ImagesField | PictureField | MaskField | PixelMaskField | BoxesField | BoxRowsField | PointsField | InstanceMasksField | FramesField | FrameNumbersField | IntegerField | CopyField | TextField | ValidField | ZerosWhereNull | PythonField | _ffkit.FieldDecoder
)
Fields = Mapping[str, BatchField]
