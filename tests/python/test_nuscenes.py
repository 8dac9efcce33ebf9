"""nuScenes' keyframes and windows."""
import numpy
import pytest

import ffkit
from ffkit import nuscenes


@pytest.fixture(scope="module")
def split(driving):
    return nuscenes.open_split(driving, "train")


SMALL = nuscenes.CameraOptions(("CAM_FRONT", "CAM_BACK"), ffkit.ImageOptions(ffkit.ResizeCrop((32, 48), factor=(0.3, 0.4), flip_probability=0.5), dtype="u8"))


def make(dataset, fields, batch_size=2, **options):
    return ffkit.Loader(dataset, batch_size, image=None, label_field=None, fields=fields, num_threads=2, **options)


def test_keyframes(split):
    fields = nuscenes.keyframe_fields(split, nuscenes.KeyframeOptions(SMALL, nuscenes.PointOptions(3), nuscenes.PointOptions(1, 0.0), identity=True))
    assert len(split.keyframes) == 8
    tokens = []
    for batch in make(split.keyframes, fields):
        assert batch["images"].shape == (2, 2, 3, 32, 48) and batch["images"].dtype == numpy.uint8
        assert batch["lidar_to_image"].shape == (2, 2, 4, 4) and batch["lidar_to_global"].shape == (2, 4, 4)
        offsets = batch.row_offsets("points")
        assert batch["points"].shape == (offsets[-1], 6) and (numpy.diff(offsets) > 0).all()
        assert batch["radar_points"].shape[1] == 19
        assert len(batch["box_classes"]) == len(batch["boxes"]) == batch.row_offsets("boxes")[-1]
        assert batch["box_classes"].max() < len(nuscenes.CLASSES)
        camera = batch["lidar_to_camera"].astype(float)
        intrinsics = numpy.zeros((2, 2, 4, 4))
        intrinsics[:, :, :3, :3] = batch["intrinsics"]
        intrinsics[:, :, 3, 3] = 1
        assert numpy.allclose(intrinsics @ camera, batch["lidar_to_image"], rtol=1e-3, atol=1e-2)
        tokens += batch["sample_token"]
        assert [split.keyframes[int(i)]["token"] for i in batch.record_indices] == batch["sample_token"]
    assert len(set(tokens)) == 8


def test_what_is_switched_off_is_not_there(split):
    options = nuscenes.KeyframeOptions(nuscenes.CameraOptions(()), lidar=None, boxes=nuscenes.BoxOptions(layout="padded", max_boxes=60, range=(-10, -10, 10, 10)))
    (batch,) = [b for b in make(split.keyframes, nuscenes.keyframe_fields(split, options), 8)]
    assert "images" not in batch and "points" not in batch
    assert batch["boxes"].shape == (8, 60, 9) and numpy.abs(batch["boxes"][..., :2]).max() <= 10
    with pytest.raises(ValueError):
        nuscenes.keyframe_fields(split, nuscenes.KeyframeOptions(lidar=nuscenes.PointOptions(0)))
    with pytest.raises(ValueError, match="layout"):
        nuscenes.keyframe_fields(split, nuscenes.KeyframeOptions(boxes=nuscenes.BoxOptions(layout="square")))


def test_windows(split):
    windows = nuscenes.make_windows(split.keyframes, 2)
    assert (len(windows), windows.length, len(windows.frames)) == (8, 3, 24)
    fields = nuscenes.keyframe_fields(split, nuscenes.KeyframeOptions(SMALL, None, boxes=None, identity=True, motion=True))
    for batch in make(windows.frames, fields, 6, order=windows.order):
        frames = batch["frame_index"].reshape(2, 3)
        scenes = numpy.array(batch["scene_token"]).reshape(2, 3)
        assert (scenes == scenes[:, :1]).all()
        assert (frames == numpy.maximum(frames[:, 2:] + [-2, -1, 0], 0)).all()
        crops = batch["intrinsics"].reshape(2, 3, 2, 3, 3)
        assert (crops == crops[:, :1]).all() and (crops[0] != crops[1]).any()  # one draw a window
        previous = windows.has_previous(batch.record_indices)
        assert (previous.reshape(2, 3)[:, 1:] == (numpy.diff(frames, axis=1) > 0)).all()
        assert windows.mask(batch.record_indices).sum() == windows.is_repeated[batch.record_indices].sum()
        position = batch["motion"][:, :3].copy()
        nuscenes.to_differences(batch["motion"], previous)
        expected = numpy.where(previous[:, None] == 1, numpy.diff(position, axis=0, prepend=position[:1]), 0)
        assert numpy.allclose(batch["motion"][:, :3], expected)
    assert len(windows.select([3, 3, 1]).frames) == 9
    drawn = nuscenes.draw_windows(split.keyframes, 2, seed=1, epoch=0)
    assert len(drawn) == 8 and drawn.length == 3
    assert nuscenes.scene_groups(split.keyframes) == [0, 4]


def test_selection(split):
    kept = nuscenes.read_kept_boxes(split.keyframes)
    assert kept.num_boxes.shape == (8,) and kept.classes.shape == (8, 10)
    chosen = nuscenes.keyframes_with_boxes(kept)
    assert chosen == numpy.flatnonzero(kept.num_boxes).tolist()
    balance = nuscenes.class_balanced(kept, 1, 0)
    assert balance.num_before.tolist() == kept.classes.sum(0).tolist()
    assert set(balance.keyframes.tolist()) <= set(chosen)
    assert (nuscenes.class_balanced(kept, 1, 0).keyframes == balance.keyframes).all()
    assert len(split.keyframes.subset(balance.keyframes)) == len(balance.keyframes)
