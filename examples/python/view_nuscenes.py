"""Draws the cameras of a nuScenes keyframe with their boxes into one PNG, by Pillow.

    python examples/python/view_nuscenes.py /fast/nuscenes --record 17 --output scene.png

DATA is written by `ffconvert nuscenes`. --points also draws the lidar's points by distance."""

import argparse
import io

import numpy
import PIL.Image
import PIL.ImageDraw

import ffkit
from ffkit import nuscenes

ROWS = (("CAM_FRONT_LEFT", "CAM_FRONT", "CAM_FRONT_RIGHT"), ("CAM_BACK_LEFT", "CAM_BACK", "CAM_BACK_RIGHT"))
CHANNELS = ROWS[0] + ROWS[1]
COLORS = ("orange", "tomato", "deeppink", "gold", "orchid", "sienna", "red", "crimson", "dodgerblue", "silver")  # of nuscenes.CLASSES
NEAR = 0.1  # metres: what is nearer to the camera's plane is cut off
# Corners of a box in units of its half length, width and height, and the edges between them; the
# last two mark the front.
CORNERS = numpy.array([(x, y, z) for x in (1, -1) for y in (1, -1) for z in (1, -1)], float)
EDGES = [(i, j) for i in range(8) for j in range(i + 1, 8) if numpy.abs(CORNERS[i] - CORNERS[j]).sum() == 2] + [(0, 3), (1, 2)]


def load_keyframe(data, split_name, record, width, with_points):
    """One keyframe as a batch of one, its pictures `width` pixels wide."""
    split = nuscenes.open_split(data, split_name)
    if not 0 <= record < len(split.keyframes):
        raise SystemExit(f"view_nuscenes.py: error: {data}: split '{split_name}' has keyframes 0 .. {len(split.keyframes) - 1}, not {record}")
    stored = PIL.Image.open(io.BytesIO(split.keyframes.field(record, "CAM_FRONT/image"))).size
    factor = width / stored[0]
    image = ffkit.ImageOptions(ffkit.ResizeCrop((int(factor * stored[1]), width), (factor, factor)), dtype="u8", layout="nhwc")
    options = nuscenes.KeyframeOptions(nuscenes.CameraOptions(CHANNELS, image), lidar=nuscenes.PointOptions(1) if with_points else None, identity=True)
    fields = nuscenes.keyframe_fields(split, options)
    loader = ffkit.Loader(split.keyframes.subset([record]), 1, image=None, label_field=None, fields=fields, num_threads=1, arrays="numpy")
    return next(iter(loader))


def corners_of(boxes):
    """[N, 9] -> [N, 8, 3] in the lidar's frame."""
    corners = CORNERS * boxes[:, None, 3:6] / 2
    cos, sin = numpy.cos(boxes[:, 6:7]), numpy.sin(boxes[:, 6:7])
    x, y = corners[..., 0], corners[..., 1]
    return numpy.stack([cos * x - sin * y, sin * x + cos * y, corners[..., 2]], -1) + boxes[:, None, :3]


def project(points, lidar_to_image):
    """[..., 3] of the lidar's frame -> [..., 3]: x and y times the depth, and the depth."""
    return points @ lidar_to_image[:3, :3].T + lidar_to_image[:3, 3]


def draw_line(draw, a, b, **style):
    """Between two projected points; the part behind the camera is cut off."""
    if a[2] < b[2]:
        a, b = b, a
    if a[2] < NEAR:
        return
    if b[2] < NEAR:
        b = a + (b - a) * (a[2] - NEAR) / (a[2] - b[2])
    draw.line([tuple(a[:2] / a[2]), tuple(b[:2] / b[2])], **style)


def draw_camera(pixels, lidar_to_image, boxes, classes, points):
    picture = PIL.Image.fromarray(pixels)
    draw = PIL.ImageDraw.Draw(picture)
    lidar_to_image = lidar_to_image.astype(float)
    seen = project(points[:, :3], lidar_to_image)
    seen = seen[seen[:, 2] > 1]
    for x, y, depth in seen:
        near = max(0.0, 1 - depth / 50)
        draw.point((x / depth, y / depth), fill=(int(255 * near), 255, int(255 * (1 - near))))
    for box, number in zip(project(corners_of(boxes), lidar_to_image), classes):
        for i, j in EDGES:
            draw_line(draw, box[i], box[j], fill=COLORS[number], width=2)
    return picture


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Draws six cameras with their boxes into one PNG.")
    parser.add_argument("data", help="folder that ffconvert nuscenes has written")
    parser.add_argument("--split", default="train")
    parser.add_argument("--record", type=int, default=0, help="number of the keyframe")
    parser.add_argument("--width", type=int, default=640, help="pixels of each picture")
    parser.add_argument("--points", action="store_true", help="draw the lidar's points")
    parser.add_argument("--output", default="keyframe.png")
    args = parser.parse_args(arguments)

    batch = load_keyframe(args.data, args.split, args.record, args.width, args.points)
    boxes, classes, points = batch["boxes"].astype(float), batch["box_classes"], batch["points"].astype(float) if args.points else numpy.zeros((0, 6))
    _, _, height, width, _ = batch["images"].shape
    sheet = PIL.Image.new("RGB", (3 * width, 2 * height + 20))
    for i, channel in enumerate(CHANNELS):
        picture = draw_camera(batch["images"][0, i], batch["lidar_to_image"][0, i], boxes, classes, points)
        PIL.ImageDraw.Draw(picture).text((4, 4), channel, fill="white")
        sheet.paste(picture, (i % 3 * width, i // 3 * height))
    legend = PIL.ImageDraw.Draw(sheet)
    x = 4
    for number in sorted(set(classes.tolist())):
        legend.text((x, 2 * height + 4), nuscenes.CLASSES[number], fill=COLORS[number])
        x += 10 + legend.textlength(nuscenes.CLASSES[number])
    sheet.save(args.output)
    print(f"{args.output}: keyframe {args.record}, {batch['sample_token'][0]}, {len(boxes)} boxes")


if __name__ == "__main__":
    main()
