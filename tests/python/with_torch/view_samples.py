"""Samples with masks, boxes and points, and what torchvision makes of them."""

import io
import pathlib

import numpy as np
import torch
from PIL import Image
from torchvision import tv_tensors
from torchvision.transforms.v2 import functional as F

import ffkit

SIZES = [(97, 61), (64, 64), (40, 120), (150, 149), (33, 200), (80, 57), (61, 97), (120, 90)]  # width, height


def encoded(image: Image.Image, kind: str) -> bytes:
    out = io.BytesIO()
    image.save(out, kind)
    return out.getvalue()


def _mask(random: np.random.Generator, width: int, height: int) -> Image.Image:
    """Blocks of ids with a palette, as VOC's."""
    ids = random.choice(np.array([0, 7, 15, 255], np.uint8), (height // 8 + 1, width // 8 + 1)).repeat(8, 0).repeat(8, 1)
    mask = Image.fromarray(ids[:height, :width].copy(), "P")
    mask.putpalette(list(random.integers(0, 256, 768)))
    return mask


def samples() -> list[dict]:
    random = np.random.default_rng(5)
    samples = []
    for i, (width, height) in enumerate(SIZES):
        small = Image.fromarray(random.integers(0, 256, (6, 6, 3), np.uint8))
        image = small.resize((width, height), Image.Resampling.BICUBIC)
        mask = _mask(random, width, height)
        corner = random.uniform(0, 0.7, (5, 2)) * (width, height)
        extent = (0.1 + 0.2 * random.uniform(size=(5, 2))) * (width, height)
        points = np.concatenate([random.uniform(0, 1, (5, 4, 2)) * (width, height), random.integers(0, 3, (5, 4, 1))], 2)
        samples.append({
            "image": encoded(image, "JPEG"), "mask": encoded(mask, "PNG"), "depth": encoded(Image.fromarray(np.full((height, width), 40000 + i, np.uint16)), "PNG"),
            "boxes": np.concatenate([corner, extent], 1).astype(np.float32), "labels": np.arange(5) + 10 * i, "keypoints": points.astype(np.float32), "label": i,
        })
    return samples


SCHEMA = {"image": "image", "mask": "image", "depth": "image", "boxes": "tensor[f32]", "labels": "tensor[i64]", "keypoints": "tensor[f32]", "label": "i64"}


def written(folder: pathlib.Path) -> ffkit.Dataset:
    with ffkit.Writer(folder, schema=SCHEMA) as writer:
        for sample in samples():
            writer.write(sample)
    return ffkit.Dataset(folder, "train")


def tv_inputs(sample: dict) -> tuple:
    image = Image.open(io.BytesIO(sample["image"])).convert("RGB")
    mask = tv_tensors.Mask(torch.from_numpy(np.array(Image.open(io.BytesIO(sample["mask"])))))
    boxes = tv_tensors.BoundingBoxes(torch.from_numpy(sample["boxes"]), format="XYWH", canvas_size=(image.height, image.width))
    return image, mask, boxes


def check(batch: ffkit.Batch, i: int, image: Image.Image, mask: torch.Tensor, boxes: torch.Tensor, copy: int | None = None) -> None:
    """What torchvision made of sample i, of a copy of it in a view with copies, is what the batch has."""
    at, rows = (i, i) if copy is None else ((i, copy), i * batch["image"].shape[1] + copy)
    assert np.array_equal(batch["image"][at].permute(1, 2, 0).numpy(), np.asarray(image))
    assert torch.equal(batch["mask"][at], mask)
    boxes = F.convert_bounding_box_format(F.clamp_bounding_boxes(boxes), new_format="XYXY")
    kept = (boxes[:, 2] > boxes[:, 0]) & (boxes[:, 3] > boxes[:, 1])
    begin, end = batch.row_offsets("boxes")[rows : rows + 2]
    assert torch.equal(batch["labels"][begin:end] - 10 * i, torch.arange(5)[kept])
    assert torch.allclose(batch["boxes"][begin:end], boxes[kept].float(), atol=2e-3)
