"""Masks of boxes: from COCO's polygons and runs to the loader, against pycocotools' pixels and torchvision's transforms."""

import json
import pathlib
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision import tv_tensors
from torchvision.transforms.v2 import functional as F

import ffkit
from conftest import by_topic

SIZES = [(97, 61), (64, 64), (40, 120), (150, 149)]  # width, height
pycocotools = pytest.importorskip("pycocotools.mask")


def _counts(mask: np.ndarray) -> list[int]:
    """COCO's uncompressed runs."""
    flat = mask.T.reshape(-1)
    edges = np.flatnonzero(np.diff(flat)) + 1
    lengths = np.diff([0, *edges, len(flat)]).tolist()
    return lengths if flat[0] == 0 else [0, *lengths]


def _annotations(random: np.random.Generator, width: int, height: int) -> list[dict[str, Any]]:
    made = []
    for kind in ("polygon", "polygons", "runs", "text", "none"):
        corner, extent = random.uniform(0, 0.6, 2) * (width, height), 0.4 * np.array([width, height])
        angles = np.sort(random.uniform(0, 2 * np.pi, 9))
        polygon = (corner + extent * (0.5 + 0.5 * np.stack([np.cos(angles), np.sin(angles)], 1))).reshape(-1).tolist()
        mask = np.zeros((height, width), np.uint8)
        x, y = map(int, corner)
        mask[y : y + height // 4 + 2, x : x + width // 3 + 2] = random.integers(0, 2, (1, 1, 1))[0, 0, 0] | (random.random(mask[y : y + height // 4 + 2, x : x + width // 3 + 2].shape) > 0.2)
        segmentation: Any = {
            "polygon": [polygon], "polygons": [polygon, [v + 7 for v in polygon]], "runs": {"size": [height, width], "counts": _counts(mask)},
            "text": {"size": [height, width], "counts": pycocotools.encode(np.asfortranarray(mask))["counts"].decode()}, "none": [],
        }[kind]
        made.append({"bbox": [float(corner[0]), float(corner[1]), float(extent[0]), float(extent[1])], "area": 10.0, "iscrowd": 0, "category_id": 1, "segmentation": segmentation})
    return made


def _pixels(segmentation: Any, width: int, height: int) -> np.ndarray:
    """What pycocotools makes of it."""
    if not segmentation:
        return np.zeros((height, width), np.uint8)
    if isinstance(segmentation, list):
        return pycocotools.decode(pycocotools.merge(pycocotools.frPyObjects(segmentation, height, width)))
    if isinstance(segmentation["counts"], list):
        segmentation = pycocotools.frPyObjects(segmentation, height, width)
    return pycocotools.decode(segmentation)


@pytest.fixture(scope="module")
def coco(tmp_path_factory: pytest.TempPathFactory) -> tuple[ffkit.Dataset, list[list[np.ndarray]]]:
    folder = tmp_path_factory.mktemp("coco")
    (folder / "coco/annotations").mkdir(parents=True)
    (folder / "coco/train").mkdir()
    random = np.random.default_rng(4)
    images, annotations, masks = [], [], []
    for i, (width, height) in enumerate(SIZES):
        Image.fromarray(random.integers(0, 256, (height, width, 3), np.uint8)).save(folder / f"coco/train/{i}.png")
        images.append({"id": i, "file_name": f"{i}.png", "width": width, "height": height})
        own = _annotations(random, width, height)
        masks.append([_pixels(one["segmentation"], width, height) for one in own])
        annotations += [{"id": len(annotations) + k, "image_id": i, **one} for k, one in enumerate(own)]
    (folder / "coco/annotations/instances_train.json").write_text(json.dumps({"images": images, "annotations": annotations, "categories": [{"id": 1, "name": "x"}]}))
    ffkit.convert.coco(folder / "coco", folder / "data", segmentation="masks", order="sequential")
    return ffkit.Dataset(folder / "data", "train"), masks


def test_stored_runs_are_pycocotools_pixels(coco: tuple[ffkit.Dataset, list[list[np.ndarray]]]) -> None:
    data, masks = coco
    for record, expected, (width, height) in zip(data, masks, SIZES, strict=True):
        assert len(record["masks"]) == 5 and record["masks"][4].shape == (0, 2)
        for runs, mask in zip(record["masks"], expected, strict=True):
            made = np.zeros(width * height, np.uint8)
            for begin, end in runs:
                made[begin:end] = 1
            assert np.array_equal(made.reshape(height, width), mask)
            assert np.all(np.diff(runs.reshape(-1).astype(np.int64)) > 0)  # ascending and apart


def _loader(data: ffkit.Dataset, image: Any, *, padded: bool = False, min_size: float = 0, batch_size: int = 4, **options: Any) -> ffkit.Loader:
    fields = {"boxes": ffkit.BoxesField(padded=padded, max_boxes=8, min_size=min_size), "masks": ffkit.InstanceMasksField()}
    return ffkit.Loader(data, batch_size, **by_topic(**{"image": image, "label_field": None, "fields": fields, "order": "sequential", "seed": 3, **options}))


def test_masks_follow_crops_as_torchvisions(coco: tuple[ffkit.Dataset, list[list[np.ndarray]]]) -> None:
    data, masks = coco
    batch = next(iter(_loader(data, ffkit.Resize((50, 70)))))
    offsets = batch.row_offsets("masks")
    assert offsets.tolist() == batch.row_offsets("boxes").tolist() == [0, 5, 10, 15, 20] and batch["masks"].shape == (20, 50, 70)
    for i, expected in enumerate(masks):
        theirs = F.resize(tv_tensors.Mask(torch.from_numpy(np.stack(expected))), [50, 70])
        assert torch.equal(batch["masks"][offsets[i] : offsets[i + 1]], theirs)


def test_masks_of_dropped_boxes_are_dropped(coco: tuple[ffkit.Dataset, list[list[np.ndarray]]]) -> None:
    data, masks = coco
    crop = ffkit.RandomResizedCrop(40, scale=(0.1, 0.4), flip_probability=0.5)
    every = next(iter(_loader(data, crop)))
    some = next(iter(_loader(data, crop, min_size=12)))
    dropped = 0
    for i in range(len(SIZES)):
        def rows(batch: ffkit.Batch, name: str) -> torch.Tensor:
            return batch[name][batch.row_offsets(name)[i] : batch.row_offsets(name)[i + 1]]
        boxes = rows(every, "boxes")
        kept = (boxes[:, 2] - boxes[:, 0] >= 12) & (boxes[:, 3] - boxes[:, 1] >= 12)
        dropped += int((~kept).sum())
        assert torch.equal(rows(every, "masks")[kept], rows(some, "masks"))
    assert dropped > 0
    padded = next(iter(_loader(data, crop, padded=True)))
    assert padded["masks"].shape == (4, 8, 40, 40)
    for i in range(len(SIZES)):
        begin, end = every.row_offsets("masks")[i : i + 2]
        assert torch.equal(padded["masks"][i, : end - begin], every["masks"][begin:end]) and not padded["masks"][i, end - begin :].any()


def test_each_copy_has_its_masks(coco: tuple[ffkit.Dataset, list[list[np.ndarray]]]) -> None:
    data, masks = coco
    views = {"v": (ffkit.RandomResizedCrop((40, 50), scale=(0.1, 0.6), scaled_decode=False, flip_probability=0.5), 3)}
    ragged, padded = (next(iter(_loader(data, None, views=views, padded=padded))) for padded in (False, True))
    offsets = ragged.row_offsets("masks")
    assert offsets.shape == (13,) and (offsets == padded.row_offsets("masks")).all() and padded["masks"].shape == (4, 3, 8, 40, 50)
    assert ragged["masks"].shape == (offsets[-1], 40, 50) and offsets[-1] < 4 * 3 * 5
    for i, expected in enumerate(masks):
        for copy in range(3):
            matrix = ragged.geometry("v")[i, copy]
            flip = matrix[0, 0] < 0
            scale, offset = (-matrix[0, 0], 50 - matrix[0, 2]) if flip else (matrix[0, 0], matrix[0, 2])
            box = [round(v) for v in (-matrix[1, 2] / matrix[1, 1], -offset / scale, 40 / matrix[1, 1], 50 / scale)]
            theirs = F.resized_crop(tv_tensors.Mask(torch.from_numpy(np.stack(expected))), *box, [40, 50])
            theirs = F.horizontal_flip(theirs) if flip else theirs
            begin, end = offsets[i * 3 + copy : i * 3 + copy + 2]
            # Boxes are kept as they are; which masks those are follows from the boxes of the
            # record.
            boxes = np.asarray(data[i]["boxes"], np.float64)
            left, right = np.clip([boxes[:, 0], boxes[:, 0] + boxes[:, 2]], box[1], box[1] + box[3])
            top, bottom = np.clip([boxes[:, 1], boxes[:, 1] + boxes[:, 3]], box[0], box[0] + box[2])
            kept = torch.from_numpy((right > left) & (bottom > top))
            assert torch.equal(ragged["masks"][begin:end], theirs[kept])
            assert torch.equal(padded["masks"][i, copy, : end - begin], theirs[kept]) and not padded["masks"][i, copy, end - begin :].any()


def test_masks_are_cut_with_padded_pictures(coco: tuple[ffkit.Dataset, list[list[np.ndarray]]]) -> None:
    data, masks = coco
    steps = ffkit.Compose([ffkit.Resize(40, max_size=90), ffkit.PadToLargest(128, multiple=8)])
    for padded in (False, True):
        for batch in _loader(data, steps, padded=padded, batch_size=2):
            height, width = batch["image"].shape[2:]
            assert batch["masks"].shape[-2:] == (height, width)
            offsets = batch.row_offsets("masks")
            for i, record in enumerate(batch.record_indices):
                size = batch.unpadded_sizes()[i].tolist()
                expected = F.resize(tv_tensors.Mask(torch.from_numpy(np.stack(masks[record]))), size)
                made = batch["masks"][i, :5] if padded else batch["masks"][offsets[i] : offsets[i + 1]]
                assert torch.equal(made[:, : size[0], : size[1]], expected) and not made[:, size[0] :].any() and not made[:, :, size[1] :].any()
                alone = batch.unpadded("masks")[i]
                assert torch.equal(alone[:5], expected) and alone.shape[0] == (8 if padded else 5)
        views = {"v": (steps, 2)}
        for batch in _loader(data, None, views=views, padded=padded, batch_size=2):
            height, width = batch["v"].shape[3:]
            assert batch["masks"].shape == ((2, 2, 8, height, width) if padded else (20, height, width))
            for i, record in enumerate(batch.record_indices):
                for copy in range(2):
                    size = batch.unpadded_sizes("v")[i, copy].tolist()
                    expected = F.resize(tv_tensors.Mask(torch.from_numpy(np.stack(masks[record]))), size)
                    made = batch["masks"][i, copy, :5] if padded else batch["masks"][10 * i + 5 * copy :][:5]
                    assert torch.equal(made[:, : size[0], : size[1]], expected) and not made[:, size[0] :].any() and not made[:, :, size[1] :].any()


def test_masks_are_the_same_for_any_number_of_threads_and_after_a_restore(coco: tuple[ffkit.Dataset, list[list[np.ndarray]]]) -> None:
    steps = ffkit.Compose([ffkit.RandomRotation(20), ffkit.RandomResizedCrop(48, flip_probability=0.5)])

    def epoch(threads: int, copies: int, restored: bool = False) -> list[np.ndarray]:
        def make() -> ffkit.Loader:
            image, views = (None, {"views": {"v": (steps, copies)}}) if copies else (steps, {})
            return _loader(coco[0], image, batch_size=1, order="shuffle", num_threads=threads, arrays="numpy", **views)
        loader, arrays = make(), []
        for batch in loader:
            arrays += [np.array(batch["masks"]), np.array(batch["boxes"])]
            if restored:
                state = loader.state_dict()
                loader = make()
                loader.load_state_dict(state)
                return arrays + [np.array(batch[name]) for batch in loader for name in ("masks", "boxes")]
        return arrays

    for copies in (0, 2):
        expected = epoch(1, copies)
        for made in (epoch(2, copies), epoch(5, copies), epoch(2, copies, restored=True)):
            assert len(made) == len(expected) and all(map(np.array_equal, made, expected))


def test_bad_masks_are_bad_samples(tmp_path: pathlib.Path) -> None:
    for number, (masks, message) in enumerate((
        ([np.array([[0, 4]], np.uint32)] * 3, "field 'masks' has 3 items, but field 'boxes' has 2 boxes"),
        ([np.array([[0, 4]], np.uint32), np.array([[3, 9], [8, 12]], np.uint32)], "mask 1 of field 'masks' has a run from 8 to 12; runs must ascend, and the picture has 100 pixels"),
        ([np.array([[0, 101]], np.uint32)] * 2, "mask 0 of field 'masks' has a run from 0 to 101"),
        ([np.array([0, 4], np.uint32)] * 2, r"mask 0 of field 'masks' has shape \[2\]; expected \[n, 2\]"),
    )):
        folder = tmp_path / str(number)
        with ffkit.Writer(folder, schema={"image": "image", "boxes": "tensor[f32]", "masks": "list[tensor[u32]]"}) as writer:
            writer.write({"image": np.zeros((10, 10, 3), np.uint8), "boxes": np.array([[1, 1, 5, 5]] * 2, np.float32), "masks": masks})
        with pytest.raises(ffkit.CorruptError, match=message):
            next(iter(_loader(ffkit.Dataset(folder, "train"), ffkit.Resize((10, 10)), batch_size=1)))
    with pytest.raises(ffkit.InvalidArgumentError, match="field 'image' is an image; expected a list of tensors of u32"):
        ffkit.Loader(ffkit.Dataset(folder, "train"), 1, image=ffkit.Resize((10, 10)), label_field=None, fields={"boxes": ffkit.BoxesField(), "masks": ffkit.InstanceMasksField("image")})
