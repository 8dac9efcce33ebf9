"""Batches of nuScenes keyframes: cameras, aggregated point clouds, boxes, and the matrices that join them; windows of keyframes.

    split = ffkit.nuscenes.open_split("/fast/nuscenes", "train")
    loader = ffkit.Loader(split.keyframes, 4, image=None, label_field=None, fields=ffkit.nuscenes.keyframe_fields(split))
    for batch in loader:
        batch["images"], batch["points"], batch.row_offsets("points"), batch["boxes"]

Arrays of a batch of B with C cameras:

    images           [B, C, 3, H, W]         intrinsics     [B, C, 3, 3] f32, of the pixels of `images`
    lidar_to_camera  [B, C, 4, 4] f32        lidar_to_image [B, C, 4, 4] f32        lidar_to_global [B, 4, 4] f64
    points           [rows, 6] f32: x y z (metres) intensity ring time lag (seconds)
    radar_points     [rows, 19] f32: RADAR_FIELDS, time lag
    boxes            [rows, 9] f32: centre x y z, size l w h, yaw, velocity x y, in the (augmented) lidar frame
    box_classes      [rows] i64: number in CLASSES                                   timestamp       [B] i64, microseconds
    can_bus, motion  [B, 18] f64, when asked for                                     sample_token, scene_token: lists of str; frame_index [B] i64: with identity
    camera_valid [B, C], lidar_valid [B], radar_valid [B, 5] u8: with allow_missing
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Iterable, Literal, NamedTuple, Sequence

from . import _ffkit
from ._dataset import _NO_LIMITS, Dataset, PathLike, numbers_of
from ._errors import refuse_old_name
from ._ffkit import FieldDecoder
from ._image import ImageOptions
from ._loader_options import Order
from ._transforms import ResizeCrop

CAMERAS: tuple[str, ...] = _ffkit.NUSCENES_CAMERAS
RADARS: tuple[str, ...] = _ffkit.NUSCENES_RADARS
CLASSES: tuple[str, ...] = _ffkit.NUSCENES_CLASSES
ATTRIBUTES: tuple[str, ...] = _ffkit.NUSCENES_ATTRIBUTES
RADAR_FIELDS: tuple[str, ...] = _ffkit.NUSCENES_RADAR_FIELDS

Rows = Literal["ragged", "padded"]


class Split(NamedTuple):
    """A converted split: its keyframes, and the frames between them where the conversion stored such."""

    keyframes: Dataset
    sweeps: Dataset | None = None


def open_split(path: PathLike, split: str) -> Split:
    """Opens the folder that ffconvert wrote. Raises what Dataset raises."""
    keyframes, sweeps = _ffkit.nuscenes_open_split(path, split)
    folder = str(path)
    opened = None if sweeps is None else Dataset._made(sweeps, (folder, f"{split}_sweeps"), _NO_LIMITS)
    return Split(Dataset._made(keyframes, (folder, split), _NO_LIMITS), opened)


@dataclass(frozen=True, slots=True)
class CameraOptions:
    """Which cameras, and their transform: a ResizeCrop or a ScalePad, drawn for each camera of a sample. No channels: no pictures."""

    channels: Sequence[str] = CAMERAS
    image: ImageOptions = ImageOptions(ResizeCrop())


@dataclass(frozen=True, slots=True)
class PointOptions:
    """A cloud of several sweeps.

    Args:
        num_sweeps: clouds of a channel, the keyframe's own among them, 1 .. 100.
        min_distance: metres; nearer points are left out.
        max_points: room for points of a sample, what is more (the oldest) is left out; 0: for all that nuScenes has.
        layout: "ragged" or "padded".
    """

    num_sweeps: int = 10
    min_distance: float = 1.0
    max_points: int = 0
    layout: Rows = "ragged"


@dataclass(frozen=True, slots=True)
class RadarFilter:
    """Points are kept whose states are in these sets: the devkit's default."""

    invalid_states: Sequence[int] = (0,)
    dynprop_states: Sequence[int] = (0, 1, 2, 3, 4, 5, 6)
    ambig_states: Sequence[int] = (3,)


@dataclass(frozen=True, slots=True)
class BoxOptions:
    """Which boxes.

    Args:
        only_valid: those with a lidar or radar point inside.
        only_classes: those of the ten classes; the others have class -1.
        zero_unknown_velocity: as mmdetection3d trains; False: NaN.
        range: (x_min, y_min, x_max, y_max) in metres of the lidar frame; None: all.
        max_boxes: room for boxes of a sample; more are an UnsupportedError.
        layout: "ragged" or "padded".
    """

    only_valid: bool = True
    only_classes: bool = True
    zero_unknown_velocity: bool = True
    range: tuple[float, float, float, float] | None = None
    max_boxes: int = 500
    layout: Rows = "ragged"


@dataclass(frozen=True, slots=True)
class BevAugmentation:
    """Points and boxes turned (radians about z), scaled and mirrored about the lidar, all alike; each (low, high)."""

    rotation: tuple[float, float] = (0.0, 0.0)
    scale: tuple[float, float] = (1.0, 1.0)
    flip_x_probability: float = 0.0
    flip_y_probability: float = 0.0


@dataclass(frozen=True, slots=True)
class KeyframeOptions:
    """What a batch of keyframes has. None for `lidar`, `radar` or `boxes`: not; for `radar_filter`: all points.

    Args:
        can_bus: "none", "last_row" (up to the keyframe) or "bevformer_code" (what BEVFormer's converter does).
        motion: BEVFormer's vector of 18 numbers, in place of can_bus; see to_differences().
        identity: sample_token, scene_token and frame_index.
        allow_missing: pictures and clouds without a file are zeros and empty, and camera_valid, lidar_valid and radar_valid say so.
    """

    cameras: CameraOptions = CameraOptions()
    lidar: PointOptions | None = PointOptions()
    radar: PointOptions | None = None
    radar_filter: RadarFilter | None = RadarFilter()
    boxes: BoxOptions | None = BoxOptions()
    bev: BevAugmentation = BevAugmentation()
    can_bus: Literal["none", "last_row", "bevformer_code"] = "none"
    motion: bool = False
    identity: bool = False
    allow_missing: bool = False


def keyframe_fields(split: Split, options: KeyframeOptions = KeyframeOptions()) -> dict[str, FieldDecoder]:
    """The arrays listed above, for `Loader(split.keyframes, image=None, label_field=None, fields=...)`, or a loader of any subset of them.

    Raises:
        InvalidArgumentError: options out of range, or sweeps of another split.
        FieldNotFoundError, NotFoundError: what the conversion left out, such as sweeps.
    """
    return _ffkit.nuscenes_keyframe_fields(split.keyframes._dataset, None if split.sweeps is None else split.sweeps._dataset, options)


def scene_groups(keyframes: Dataset) -> list[int]:
    """The first keyframe of each scene: `Order(groups=...)` keeps scenes together."""
    return _ffkit.nuscenes_scene_groups(keyframes._dataset)


class Windows:
    """Windows of a keyframe and those before it, oldest first: record w * length + i of `frames` is frame i of window w, the last of them keyframe w.

        windows = ffkit.nuscenes.make_windows(split.keyframes, 2)
        loader = ffkit.Loader(windows.frames, 2 * windows.length, order=windows.order, image=None, label_field=None, fields=...)

    A batch [B * length, ...] is [B, length, ...].
    """

    def __init__(self, windows: _ffkit.NuscenesWindows, keyframes: Dataset) -> None:
        self._windows = windows
        self._keyframes = keyframes

    def __len__(self) -> int:
        return self._windows.num_windows

    @property
    def frames(self) -> Dataset:
        """For the loader."""
        return self._keyframes._like(self._windows.frames)

    @property
    def length(self) -> int:
        """Frames in a window."""
        return self._windows.length

    @property
    def order(self) -> Order:
        """For a loader: it keeps windows whole and draws their augmentation once."""
        return Order(groups=self._windows.groups, share_randomness=True)

    def __getattr__(self, name: str) -> Any:
        refuse_old_name(self, name)

    @property
    def is_repeated(self) -> Any:
        """numpy.ndarray [frames] u8: 1 where a scene has no frame so far back and its first one stands in."""
        return self._windows.is_repeated

    def mask(self, record_indices: Iterable[int]) -> Any:
        """is_repeated of a batch's samples."""
        return self._windows.mask(numbers_of(record_indices, len(self.frames), "mask()"))

    def has_previous(self, record_indices: Iterable[int]) -> Any:
        """numpy.ndarray [samples] u8: 1 for a frame that has one before it in its window; 0 where a temporal model starts anew."""
        return self._windows.has_previous(numbers_of(record_indices, len(self.frames), "has_previous()"))

    def select(self, windows: Iterable[int]) -> Windows:
        """The windows with these numbers, in this order; numbers may repeat."""
        return Windows(self._windows.select(numbers_of(windows, len(self), "select()")), self._keyframes)


def make_windows(keyframes: Dataset, num_previous: int) -> Windows:
    """A window for each keyframe: it and `num_previous` (0 .. 1000) before it."""
    return Windows(_ffkit.nuscenes_make_windows(keyframes._dataset, num_previous), keyframes)


def draw_windows(keyframes: Dataset, num_previous: int, seed: int, epoch: int) -> Windows:
    """The same with one frame more to choose from: one is left out, drawn for each epoch, as BEVFormer trains."""
    return Windows(_ffkit.nuscenes_draw_windows(keyframes._dataset, num_previous, seed, epoch), keyframes)


def to_differences(motion: Any, has_previous: Any) -> None:
    """Changes `motion` of a batch, numpy.ndarray or tensor [samples, 18] f64, in place to what BEVFormer's network takes: differences to the sample before where
    has_previous is 1."""
    _ffkit.nuscenes_to_differences(motion, has_previous)


class KeptBoxes(NamedTuple):
    """Of each keyframe: how many boxes are kept, [keyframes] i64, and of which CLASSES, [keyframes, 10] u8."""

    num_boxes: Any
    classes: Any


def read_kept_boxes(keyframes: Dataset, options: BoxOptions = BoxOptions()) -> KeptBoxes:
    """Reads the boxes of all keyframes, and no pictures or points."""
    return KeptBoxes(*_ffkit.nuscenes_kept_boxes(keyframes._dataset, options))


def keyframes_with_boxes(kept: KeptBoxes) -> list[int]:
    """The numbers of the keyframes that have a box, ascending: for Dataset.subset() or Windows.select()."""
    return [i for i, count in enumerate(kept.num_boxes.tolist()) if count > 0]


class ClassBalance(NamedTuple):
    """Numbers of keyframes, repeated, class by class; and of each class the keyframes that have it, before and after."""

    keyframes: Any
    num_before: Any
    num_after: Any


def class_balanced(kept: KeptBoxes, seed: int, epoch: int) -> ClassBalance:
    """CBGSDataset of mmdetection3d: each class gives a tenth. Drawn from (seed, epoch)."""
    return ClassBalance(*_ffkit.nuscenes_class_balanced(kept.num_boxes.tolist(), kept.classes.tolist(), seed, epoch))
