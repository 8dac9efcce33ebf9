"""The examples that need no torch: they run, and what they print and draw is right."""
import importlib.util
import io
import pathlib
import subprocess
import sys

import numpy
import PIL.Image

import conftest
import ffkit
from ffkit import nuscenes

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples" / "python"


def load(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(name, *arguments):
    return subprocess.run([sys.executable, EXAMPLES / f"{name}.py", *map(str, arguments)], check=True, capture_output=True, text=True).stdout


def test_numpy_classifier(tmp_path):
    conftest.convert("demo", tmp_path / "demo", "--classes", 4, "--images", 200, "--val-images", 40, "--size", 48, "--quiet")
    right, mean, std = load("numpy_classifier").main([str(tmp_path / "demo")])
    assert right >= 28  # of 40; 35 were seen, 10 are chance
    pictures = [PIL.Image.open(io.BytesIO(sample["image"])).resize((32, 32), PIL.Image.Resampling.BILINEAR) for sample in ffkit.Dataset(tmp_path / "demo", "train")]
    pixels = numpy.stack(pictures).reshape(-1, 3) / 255
    assert numpy.allclose(mean, pixels.mean(0)) and numpy.allclose(std, pixels.std(0))


def test_nuscenes_viewer(driving, tmp_path):
    printed = run("view_nuscenes", driving, "--record", 5, "--width", 320, "--output", tmp_path / "boxes.png")
    token = nuscenes.open_split(driving, "train").keyframes[5]["token"]
    assert token in printed
    assert PIL.Image.open(tmp_path / "boxes.png").size == (3 * 320, 2 * 180 + 20)
    assert "keyframes 0 .. 7, not 8" in subprocess.run(
        [sys.executable, EXAMPLES / "view_nuscenes.py", driving, "--record", "8"], capture_output=True, text=True, cwd=tmp_path).stderr


def test_boxes_are_drawn_where_they_are(driving):
    """What changes in a picture lies about the projections of the corners, by matrices that were multiplied here, and nowhere else."""
    viewer = load("view_nuscenes")
    num_boxes = 0
    for record in range(8):
        batch = viewer.load_keyframe(driving, "train", record, 320, with_points=False)
        boxes = batch["boxes"].astype(float)
        for i in range(6):
            pixels = batch["images"][0, i]
            camera = batch["lidar_to_camera"][0, i].astype(float)
            intrinsics = batch["intrinsics"][0, i].astype(float)
            for box, number in zip(boxes, batch["box_classes"]):
                x, y, z, length, width, height, yaw = box[:7]
                forward, left = numpy.array([numpy.cos(yaw), numpy.sin(yaw), 0]) * length / 2, numpy.array([-numpy.sin(yaw), numpy.cos(yaw), 0]) * width / 2
                up = numpy.array([0, 0, height / 2])
                corners = [numpy.array([x, y, z]) + a * forward + b * left + c * up for a in (1, -1) for b in (1, -1) for c in (1, -1)]
                seen = [camera[:3, :3] @ corner + camera[:3, 3] for corner in corners]
                if min(corner[2] for corner in seen) < 0.5:
                    continue
                at = numpy.array([(intrinsics @ corner)[:2] / corner[2] for corner in seen])
                drawn = viewer.draw_camera(pixels, batch["lidar_to_image"][0, i], box[None], [number], numpy.zeros((0, 6)))
                rows, columns = numpy.nonzero((numpy.asarray(drawn) != pixels).any(-1))
                low, high = at.min(0), at.max(0)
                inside = (low >= 3).all() and high[0] < 317 and high[1] < 177
                if inside:
                    assert numpy.allclose([columns.min(), rows.min(), columns.max(), rows.max()], [*low, *high], atol=2)
                    num_boxes += 1
                elif len(rows):
                    assert (columns >= low[0] - 2).all() and (columns <= high[0] + 2).all() and (rows >= low[1] - 2).all() and (rows <= high[1] + 2).all()
    assert num_boxes >= 3


def test_a_box_that_reaches_behind_the_camera_is_cut_off():
    viewer = load("view_nuscenes")
    # A camera at the origin that looks along x: right is -y, down is -z.
    lidar_to_image = numpy.array([[160, -100, 0, 0], [90, 0, -100, 0], [1, 0, 0, 0], [0, 0, 0, 1]], float)
    pixels = numpy.zeros((180, 320, 3), numpy.uint8)
    around = numpy.array([[0, 0, 0, 20, 2, 2, 0]], float)
    drawn = numpy.asarray(viewer.draw_camera(pixels, lidar_to_image, around, [0], numpy.zeros((0, 6)))).any(-1)
    assert drawn[80, 150] and drawn[100, 170]  # its far end, 10 m away: 10 pixels about the middle
    assert drawn[40, 110] and drawn[140, 210]  # its long edges 2 m away
    behind = numpy.array([[-20, 0, 0, 4, 2, 2, 0]], float)
    assert not numpy.asarray(viewer.draw_camera(pixels, lidar_to_image, behind, [0], numpy.zeros((0, 6)))).any()
