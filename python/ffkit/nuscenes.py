"""Batches of nuScenes keyframes: cameras, aggregated point clouds, boxes, and the matrices that
join them; windows of keyframes.

    split = ffkit.nuscenes.open_split("/fast/nuscenes", "train")
    fields = ffkit.nuscenes.keyframe_fields(split)
    loader = ffkit.Loader(split.keyframes, 4, image=None, label_field=None, fields=fields)
    for batch in loader:
        batch["images"], batch["points"], batch.row_offsets("points"), batch["boxes"]

Arrays of a batch of B with C cameras:

    images           [B, C, 3, H, W]
    intrinsics       [B, C, 3, 3] f32, for the pixels of `images`
    lidar_to_camera  [B, C, 4, 4] f32; lidar_to_image the same; lidar_to_global [B, 4, 4] f64
    points           [rows, 6] f32: x y z (metres) intensity ring time lag (seconds)
    radar_points     [rows, 19] f32: RADAR_FIELDS, time lag
    boxes            [rows, 9] f32: centre x y z, size l w h, yaw, velocity x y, in the lidar frame
    box_classes      [rows] i64: number in CLASSES
    timestamp        [B] i64, microseconds
    can_bus, motion  [B, 18] f64, if asked for
    sample_token, scene_token: lists of str, and frame_index [B] i64: with identity
    camera_valid [B, C], lidar_valid [B], radar_valid [B, 5] u8: with allow_missing"""

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
    """A converted split: its keyframes, and the sweeps between them, if they were converted."""

    keyframes: Dataset
    sweeps: Dataset | None = None


def open_split(path: PathLike, split: str) -> Split:
    """Opens the folder that ffconvert wrote. Raises the errors of Dataset."""
    keyframes, sweeps = _ffkit.nuscenes_open_split(path, split)
    folder = str(path)
    opened = None if sweeps is None else Dataset._made(sweeps, (folder, f"{split}_sweeps"), _NO_LIMITS)
    return Split(Dataset._made(keyframes, (folder, split), _NO_LIMITS), opened)


@dataclass(frozen=True, slots=True)
class CameraOptions:
    """The cameras, and their transform: a ResizeCrop or a ScalePad, drawn for each camera of a
    sample. No channels: no pictures."""

    channels: Sequence[str] = CAMERAS
    image: ImageOptions = ImageOptions(ResizeCrop())


@dataclass(frozen=True, slots=True)
class PointOptions:
    """A cloud of several sweeps.

    Args:
        num_sweeps: number of clouds of a channel, including the keyframe's, 1 .. 100.
        min_distance: metres; nearer points are left out.
        max_points: largest number of points in a sample; if there are more, the oldest are left
            out. 0: enough for nuScenes.
        layout: "ragged" or "padded"."""

    num_sweeps: int = 10
    min_distance: float = 1.0
    max_points: int = 0
    layout: Rows = "ragged"


@dataclass(frozen=True, slots=True)
class RadarFilter:
    """Keeps points with states in these sets. Default: those of the devkit."""

    invalid_states: Sequence[int] = (0,)
    dynprop_states: Sequence[int] = (0, 1, 2, 3, 4, 5, 6)
    ambig_states: Sequence[int] = (3,)


@dataclass(frozen=True, slots=True)
class BoxOptions:
    """The boxes of a batch.

    Args:
        only_valid: only boxes with a lidar or radar point inside.
        only_classes: only boxes of the ten classes; other boxes have class -1.
        zero_unknown_velocity: unknown velocities are 0, as in mmdetection3d; False: NaN.
        range: (x_min, y_min, x_max, y_max) in metres of the lidar frame; None: all.
        max_boxes: largest number of boxes in a sample; more raise UnsupportedError.
        layout: "ragged" or "padded"."""

    only_valid: bool = True
    only_classes: bool = True
    zero_unknown_velocity: bool = True
    range: tuple[float, float, float, float] | None = None
    max_boxes: int = 500
    layout: Rows = "ragged"


@dataclass(frozen=True, slots=True)
class BevAugmentation:
    """Rotates (radians about z), scales and mirrors points and boxes together, about the lidar;
    each parameter is (low, high)."""

    rotation: tuple[float, float] = (0.0, 0.0)
    scale: tuple[float, float] = (1.0, 1.0)
    flip_x_probability: float = 0.0
    flip_y_probability: float = 0.0


@dataclass(frozen=True, slots=True)
class KeyframeOptions:
    """Contents of a batch. `lidar`, `radar`, `boxes` None: none; `radar_filter` None: all points.

    Args:
        can_bus: "none", "last_row" (last message before) or "bevformer_code" (as published).
        motion: BEVFormer's vector of 18 numbers, instead of can_bus; see to_differences().
        identity: sample_token, scene_token and frame_index.
        allow_missing: missing pictures are zeros and missing clouds are empty; camera_valid,
            lidar_valid and radar_valid mark them."""

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
    """The arrays listed above, for `Loader(split.keyframes, image=None, label_field=None,
    fields=...)`, or for a subset of the keyframes.

    Raises:
        InvalidArgumentError: options out of range, or sweeps of another split.
        FieldNotFoundError, NotFoundError: the conversion left something out, such as sweeps."""
    return _ffkit.nuscenes_keyframe_fields(split.keyframes._dataset, None if split.sweeps is None else split.sweeps._dataset, options)


def scene_groups(keyframes: Dataset) -> list[int]:
    """The first keyframe of each scene: `Order(groups=...)` keeps scenes together."""
    return _ffkit.nuscenes_scene_groups(keyframes._dataset)


class Windows:
    """Windows: each is a keyframe and the keyframes before it, oldest first. Record w * length + i
    of `frames` is frame i of window w; the last frame of window w is keyframe w.

        windows = ffkit.nuscenes.make_windows(split.keyframes, 2)
        options = dict(order=windows.order, image=None, label_field=None, fields=...)
        loader = ffkit.Loader(windows.frames, 2 * windows.length, **options)

    View a batch [B * length, ...] as [B, length, ...]."""

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
        """For a loader: keeps windows together and augments each as a whole."""
        return Order(groups=self._windows.groups, share_randomness=True)

    def __getattr__(self, name: str) -> Any:
        refuse_old_name(self, name)

    @property
    def is_repeated(self) -> Any:
        """numpy.ndarray [frames] u8: 1 if the scene's first frame replaces a missing one."""
        return self._windows.is_repeated

    def mask(self, record_indices: Iterable[int]) -> Any:
        """is_repeated for the samples of a batch."""
        return self._windows.mask(numbers_of(record_indices, len(self.frames), "mask()"))

    def has_previous(self, record_indices: Iterable[int]) -> Any:
        """numpy.ndarray [samples] u8: 1 if the window has an earlier frame; 0: start again."""
        return self._windows.has_previous(numbers_of(record_indices, len(self.frames), "has_previous()"))

    def select(self, windows: Iterable[int]) -> Windows:
        """The windows with these numbers, in this order; numbers may repeat."""
        return Windows(self._windows.select(numbers_of(windows, len(self), "select()")), self._keyframes)


def make_windows(keyframes: Dataset, num_previous: int) -> Windows:
    """A window for each keyframe: the keyframe and the `num_previous` (0 .. 1000) before it."""
    return Windows(_ffkit.nuscenes_make_windows(keyframes._dataset, num_previous), keyframes)


def draw_windows(keyframes: Dataset, num_previous: int, seed: int, epoch: int) -> Windows:
    """The same, with one frame more; one is left out at random in each epoch, as in BEVFormer."""
    return Windows(_ffkit.nuscenes_draw_windows(keyframes._dataset, num_previous, seed, epoch), keyframes)


def to_differences(motion: Any, has_previous: Any) -> None:
    """Changes `motion` of a batch, numpy.ndarray or tensor [samples, 18] f64, in place for
    BEVFormer's network: if has_previous is 1, to the difference from the sample before."""
    _ffkit.nuscenes_to_differences(motion, has_previous)


class KeptBoxes(NamedTuple):
    """For each keyframe: the number of kept boxes, i64, and their CLASSES, [keyframes, 10] u8."""

    num_boxes: Any
    classes: Any


def read_kept_boxes(keyframes: Dataset, options: BoxOptions = BoxOptions()) -> KeptBoxes:
    """Reads only the boxes of all keyframes, not pictures or points."""
    return KeptBoxes(*_ffkit.nuscenes_kept_boxes(keyframes._dataset, options))


def keyframes_with_boxes(kept: KeptBoxes) -> list[int]:
    """The numbers of keyframes with a box: for Dataset.subset() or Windows.select()."""
    return [i for i, count in enumerate(kept.num_boxes.tolist()) if count > 0]


class ClassBalance(NamedTuple):
    """Repeated numbers of keyframes; for each class, its number of keyframes before and after."""

    keyframes: Any
    num_before: Any
    num_after: Any


def class_balanced(kept: KeptBoxes, seed: int, epoch: int) -> ClassBalance:
    """Like mmdetection3d's CBGSDataset, draws a tenth of the keyframes for each class."""
    return ClassBalance(*_ffkit.nuscenes_class_balanced(kept.num_boxes.tolist(), kept.classes.tolist(), seed, epoch))
