"""Views, masks, boxes and points: against torchvision.transforms.v2 for the same drawn crops, and the same bytes however they are loaded."""

import pathlib

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision import tv_tensors
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional as F

import ffkit
from view_samples import SCHEMA, SIZES, check, encoded, samples, tv_inputs, written
from conftest import by_topic

@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> ffkit.Dataset:
    return written(tmp_path_factory.mktemp("views") / "data")


FIELDS = {
    "mask": ffkit.MaskField("mask"), "boxes": ffkit.BoxesField(min_size=0), "labels": ffkit.BoxRowsField("labels"),
    "keypoints": ffkit.PointsField(num_points=4), "depth": ffkit.PictureField("depth", dtype="i32"),
}


def _batch(data: ffkit.Dataset, transform: object, **more: object) -> ffkit.Batch:
    """All samples as one batch, in their order."""
    options = ffkit.ImageOptions(transform, dtype="u8")
    loader = ffkit.Loader(data, len(SIZES), **by_topic(image=options, fields=FIELDS, order="sequential", seed=11, **more))
    return next(iter(loader))


def _crop(matrix: np.ndarray, size: tuple[int, int]) -> tuple[list[int], bool]:
    """top, left, height, width of the crop, and whether it is mirrored, from the geometry of a RandomResizedCrop."""
    scale_x, offset_x, scale_y, offset_y = matrix[0, 0], matrix[0, 2], matrix[1, 1], matrix[1, 2]
    flip = scale_x < 0
    if flip:
        scale_x, offset_x = -scale_x, size[1] - offset_x
    values = [-offset_y / scale_y, -offset_x / scale_x, size[0] / scale_y, size[1] / scale_x]
    assert np.allclose(values, np.round(values), atol=1e-9)
    return [round(v) for v in values], flip


SIZE = (48, 56)


def test_a_random_resized_crop_is_torchvisions(data: ffkit.Dataset) -> None:
    mirrored = set()
    batch = _batch(data, ffkit.RandomResizedCrop(SIZE, scaled_decode=False, flip_probability=0.5))
    for i, sample in enumerate(samples()):
        (top, left, height, width), flip = _crop(batch.geometry()[i], SIZE)
        mirrored.add(flip)
        made = [F.resized_crop(one, top, left, height, width, SIZE, antialias=True) for one in tv_inputs(sample)]
        check(batch, i, *(F.horizontal_flip(one) if flip else one for one in made))
        assert batch.source_sizes[i].tolist() == [SIZES[i][1], SIZES[i][0]]
    assert mirrored == {False, True}


def test_each_copy_is_torchvisions(data: ffkit.Dataset) -> None:
    crop = ffkit.ImageOptions(ffkit.RandomResizedCrop(SIZE, scale=(0.05, 0.6), scaled_decode=False, flip_probability=0.5), dtype="u8")
    batch = next(iter(ffkit.Loader(data, len(SIZES), views={"image": (crop, 3)}, fields=FIELDS, order="sequential", seed=11)))
    assert batch.row_offsets("boxes").shape == (len(SIZES) * 3 + 1,)
    counts = set()
    for i, sample in enumerate(samples()):
        for copy in range(3):
            (top, left, height, width), flip = _crop(batch.geometry()[i, copy], SIZE)
            made = [F.resized_crop(one, top, left, height, width, SIZE, antialias=True) for one in tv_inputs(sample)]
            check(batch, i, *(F.horizontal_flip(one) if flip else one for one in made), copy=copy)
            counts.add(int(np.diff(batch.row_offsets("boxes"))[i * 3 + copy]))
    assert len(counts) > 2


def test_fixed_transforms_are_torchvisions(data: ffkit.Dataset) -> None:
    for ours, theirs in (
        (ffkit.Resize(SIZE), v2.Resize(SIZE)),
        (ffkit.ResizeCenterCrop(60, 48), v2.Compose([v2.Resize(60), v2.CenterCrop(48)])),
    ):
        batch = _batch(data, ours)
        for i, sample in enumerate(samples()):
            check(batch, i, *theirs(*tv_inputs(sample)))


def test_a_padded_crop_is_torchvisions_with_the_fill_of_each(data: ffkit.Dataset) -> None:
    batch = _batch(data, ffkit.RandomCrop(100, padding=8, pad_if_needed=True, fill=(1, 2, 3), flip_probability=0.5))
    for i, sample in enumerate(samples()):
        matrix = batch.geometry()[i]
        image, mask, boxes = tv_inputs(sample)
        flip = matrix[0, 0] < 0
        left, top = (100 - matrix[0, 2] if flip else matrix[0, 2]), matrix[1, 2]
        x, y = round(left), round(top)
        padding = [max(x, 0), max(y, 0), max(100 - x - image.width, 0), max(100 - y - image.height, 0)]
        made = []
        for one, fill in ((image, (1, 2, 3)), (mask, 255), (boxes, 0)):
            padded = F.pad(one, padding, fill=fill)
            cropped = F.crop(padded, padding[1] - y, padding[0] - x, 100, 100)
            made.append(F.horizontal_flip(cropped) if flip else cropped)
        check(batch, i, *made)


def test_points_follow_and_change_places_when_mirrored(data: ffkit.Dataset) -> None:
    fields = {"boxes": ffkit.BoxesField(min_size=0), "keypoints": ffkit.PointsField(num_points=4, mirrored=[(0, 1)])}
    batch = next(iter(ffkit.Loader(data, len(SIZES), image=ffkit.RandomResizedCrop(SIZE, flip_probability=0.5), fields=fields, order="sequential", seed=3)))
    seen = set()
    for i, sample in enumerate(samples()):
        matrix = batch.geometry()[i]
        begin, end = batch.row_offsets("keypoints")[i : i + 2]
        boxes = sample["boxes"]
        corners = np.stack([boxes[:, :2], boxes[:, :2] + boxes[:, 2:]], 1)
        moved = np.concatenate([corners, np.ones((5, 2, 1))], 2) @ matrix.T
        low, high = moved[..., :2].min(1), moved[..., :2].max(1)
        kept = ((low < (SIZE[1], SIZE[0])) & (high > 0)).all(1)
        points = sample["keypoints"][kept].astype(np.float64)
        inside = points.copy()
        # The centres of the pixels that they name.
        inside[..., :2] = (np.concatenate([points[..., :2] + 0.5, np.ones((*points.shape[:2], 1))], 2) @ matrix.T)[..., :2] - 0.5
        is_inside = (inside[..., 0] >= -0.5) & (inside[..., 0] <= SIZE[1] - 0.5) & (inside[..., 1] >= -0.5) & (inside[..., 1] <= SIZE[0] - 0.5)
        expected = np.where((points[..., 2:] > 0), inside, points)
        expected[..., 2] = np.where((points[..., 2] > 0) & ~is_inside, 0, points[..., 2])
        if matrix[0, 0] < 0:
            expected = expected[:, [1, 0, 2, 3]]
        seen.add(matrix[0, 0] < 0)
        assert np.allclose(batch["keypoints"][begin:end].numpy(), expected, atol=1e-3)
    assert seen == {False, True}


def test_points_flip_as_torchvisions(data: ffkit.Dataset) -> None:
    for step, theirs in ((ffkit.RandomHorizontalFlip(1.0), F.horizontal_flip), (ffkit.RandomVerticalFlip(1.0), F.vertical_flip)):
        steps = ffkit.Compose([step, ffkit.PadToLargest(256)])
        fields = {"boxes": ffkit.BoxesField(min_size=0), "keypoints": ffkit.PointsField(num_points=4)}
        batch = next(iter(ffkit.Loader(data, len(SIZES), image=steps, fields=fields, order="sequential")))
        for i, sample in enumerate(samples()):
            begin, end = batch.row_offsets("keypoints")[i : i + 2]
            points = tv_tensors.KeyPoints(torch.from_numpy(sample["keypoints"][..., :2].copy()), canvas_size=SIZES[i][::-1])
            ours, visible = batch["keypoints"][begin:end, :, :2], torch.from_numpy(sample["keypoints"][..., 2] > 0)
            assert len(ours) == len(points) and torch.equal(ours[visible], theirs(points)[visible])


def test_a_further_picture_has_the_crop_of_its_view(data: ffkit.Dataset) -> None:
    batch = _batch(data, ffkit.RandomCrop(30, flip_probability=0.5))
    for i in range(len(SIZES)):
        assert (batch["depth"][i] == 40000 + i).all()


VIEWS = {
    "global": (ffkit.ImageOptions(ffkit.RandomResizedCrop(48, scale=(0.4, 1.0), flip_probability=0.5), augment=[ffkit.ColorJitter(0.4, 0.4, 0.2, 0.1)]), 2),
    "local": (ffkit.RandomResizedCrop(24, scale=(0.05, 0.4), flip_probability=0.5), 4),
    "eval": ffkit.ResizeCenterCrop(40, 32),
}
VIEW_FIELDS = {
    "mask": ffkit.MaskField("mask", view="global", dtype="i64"), "local_mask": ffkit.MaskField("mask", view="local"),
    "boxes": ffkit.BoxesField(view="eval", padded=True, max_boxes=7, format="cxcywh", relative=True), "labels": ffkit.BoxRowsField("labels"),
    "local_boxes": ffkit.BoxesField(view="local"), "local_labels": ffkit.BoxRowsField("labels", boxes="local_boxes"), "local_points": ffkit.PointsField(num_points=4, boxes="local_boxes"),
    "global_boxes": ffkit.BoxesField(view="global", padded=True, max_boxes=7), "global_points": ffkit.PointsField(num_points=4, boxes="global_boxes"),
}
ROWS = ["boxes", "labels", "local_boxes", "local_labels", "local_points", "global_boxes", "global_points"]


def _all_of(batch: ffkit.Batch) -> dict:
    offsets = {f"offsets of {name}": batch.row_offsets(name) for name in ROWS if name in batch}
    return {**batch, **offsets, "geometry": batch.geometry("global"), "records": batch.record_indices}


def _epoch(data: ffkit.Dataset, views: object = VIEWS, fields: object = VIEW_FIELDS, **options: object) -> list[dict]:
    loader = ffkit.Loader(data, 2, **by_topic(views=views, fields=fields, seed=4, **options))
    return [_all_of(batch) for batch in loader]


def _same(a: list[dict], b: list[dict], names: list[str] | None = None) -> None:
    assert len(a) == len(b)
    for one, other in zip(a, b):
        for name in names or one:
            assert np.array_equal(np.asarray(one[name]), np.asarray(other[name])), name


def test_views_have_their_shapes_and_differ(data: ffkit.Dataset) -> None:
    batch = _epoch(data, copy=True)[0]
    assert batch["global"].shape == (2, 2, 3, 48, 48)
    assert batch["local"].shape == (2, 4, 3, 24, 24)
    assert batch["eval"].shape == (2, 3, 32, 32)
    assert batch["mask"].shape == (2, 2, 48, 48) and batch["mask"].dtype == torch.int64
    assert batch["local_mask"].shape == (2, 4, 24, 24)
    assert batch["boxes"].shape == (2, 7, 4) and batch["boxes"].max() <= 1
    rows = batch["offsets of local_boxes"]
    assert rows.shape == (2 * 4 + 1,) and batch["local_boxes"].shape == (rows[-1], 4)
    assert batch["local_labels"].shape == (rows[-1],) and batch["local_points"].shape == (rows[-1], 4, 3)
    assert batch["global_boxes"].shape == (2, 2, 7, 4) and batch["global_points"].shape == (2, 2, 7, 4, 3)
    counts = np.diff(batch["offsets of global_boxes"]).reshape(2, 2)
    assert ((batch["global_boxes"] != 0).any(-1).sum(-1).numpy() == counts).all()
    assert not np.array_equal(batch["geometry"][:, 0], batch["geometry"][:, 1])
    assert not torch.equal(batch["global"][:, 0], batch["global"][:, 1])


def test_views_do_not_depend_on_threads_or_neighbours(data: ffkit.Dataset) -> None:
    one = _epoch(data, num_threads=1, copy=True)
    for threads in (2, 5):
        _same(one, _epoch(data, num_threads=threads, copy=True))
    # Another view beside it changes no view, where the picture is not decoded at a fraction of its
    # size.
    crop = ffkit.ImageOptions(ffkit.RandomResizedCrop(48, scaled_decode=False, flip_probability=0.5), augment=[ffkit.ColorJitter(0.4)], erasing=ffkit.RandomErasing(1.0))
    alone = _epoch(data, views={"global": (crop, 2)}, fields={"mask": VIEW_FIELDS["mask"]}, copy=True)
    _same(alone, _epoch(data, views={**VIEWS, "global": (crop, 2)}, copy=True), ["global", "mask", "geometry", "records"])


def test_views_go_on_after_a_restore(data: ffkit.Dataset) -> None:
    whole = _epoch(data, copy=True)
    loader = ffkit.Loader(data, 2, views=VIEWS, fields=VIEW_FIELDS, seed=4, memory=ffkit.Memory(copy=True))
    batches = iter(loader)
    next(batches)
    state = loader.state_dict()
    other = ffkit.Loader(data, 2, views=VIEWS, fields=VIEW_FIELDS, seed=4, memory=ffkit.Memory(copy=True), num_threads=1)
    other.load_state_dict(state)
    rest = [_all_of(batch) for batch in other]
    _same(whole[1:], rest)


def test_the_default_picture_is_as_before_views(data: ffkit.Dataset) -> None:
    """A loader without views has the bytes of a picture that is decoded by itself."""
    plain = next(iter(ffkit.Loader(data, 4, image=ffkit.RandomResizedCrop(32, flip_probability=0.5), order="sequential", seed=2)))
    alone = next(iter(ffkit.Loader(data, 4, image=None, fields={"picture": ffkit.ImageField("image", ffkit.ImageOptions(ffkit.RandomResizedCrop(32, flip_probability=0.5)))}, order="sequential", seed=2)))
    assert torch.equal(plain["image"], alone["picture"])


def test_ids_are_renumbered_or_refused(data: ffkit.Dataset) -> None:
    table = {0: 0, 7: 1, 15: 2, 255: 9}
    def load(**options: object) -> ffkit.Batch:
        return next(iter(ffkit.Loader(data, 4, image=ffkit.Resize((40, 40)), fields={"mask": ffkit.MaskField("mask", **options)}, order="sequential")))
    plain = load()
    renumbered = load(ids=table, fill=100)
    assert set(plain["mask"].unique().tolist()) == set(table)
    for old, new in table.items():
        assert torch.equal(plain["mask"] == old, renumbered["mask"] == new)
    with pytest.raises(ffkit.CorruptError, match="has the id 7, but `ids` does not contain it"):
        load(ids={0: 0, 15: 1, 255: 255})
    with pytest.raises(ffkit.CorruptError, match="has the id .*, but `ids` does not contain it"):
        load(ids=range(7))
    with pytest.raises(ffkit.InvalidArgumentError, match="the fill of the mask is 256, which does not fit the dtype u8"):
        load(fill=256)
    with pytest.raises(ffkit.InvalidArgumentError, match="ids of a MaskField are empty"):
        load(ids={})


def test_bad_annotations_name_the_file_and_the_record(tmp_path: pathlib.Path) -> None:
    good = samples()[0]
    other = samples()[1]
    faults = {
        "shape": ({"boxes": np.zeros((5, 3), np.float32)}, "boxes have \\[n, 4\\]"),
        "length": ({"labels": np.arange(3)}, "'labels' has shape \\[3\\], but field 'boxes' has 5 boxes"),
        "size": ({"mask": other["mask"]}, "the mask has 64 x 64 pixels, but its picture has 97 x 61"),
        "jpeg": ({"mask": good["image"]}, "the mask is a JPEG"),
        "colours": ({"mask": encoded(Image.new("RGB", (97, 61)), "PNG")}, "a PNG with colours"),
        "alpha": ({"mask": encoded(Image.new("RGBA", (97, 61)), "PNG")}, "an alpha channel"),
        "depth": ({"depth": other["image"]}, "the further picture has 64 x 64 pixels"),
    }
    for name, (change, message) in faults.items():
        folder = tmp_path / name
        with ffkit.Writer(folder, schema=SCHEMA) as writer:
            for sample in (good, {**good, **change}, good, good):
                writer.write(sample)
        loader = ffkit.Loader(ffkit.Dataset(folder, "train"), 4, image=ffkit.Resize((32, 32)), fields=FIELDS, order="sequential")
        with pytest.raises(ffkit.Error, match=message) as error:
            next(iter(loader))
        assert error.value.record == 1 and str(error.value.path).endswith(".ffr")
        skipping = ffkit.Loader(ffkit.Dataset(folder, "train"), 4, image=ffkit.Resize((32, 32)), fields=FIELDS, order="sequential", bad_samples="skip", on_warning=lambda text: None)
        assert [r.bad_record for r in next(iter(skipping)).replacements] == [1]


def test_options_that_do_not_fit_say_what_to_write(data: ffkit.Dataset) -> None:
    crop = ffkit.RandomResizedCrop(32, flip_probability=0.5)
    views = {"a": crop, "b": (crop, 2)}
    for options, message in (
        ({"fields": {"second": ffkit.ImageField("image", ffkit.ImageOptions(crop))}}, "would show the same crop; give `views`"),
        ({"views": views, "fields": {"mask": ffkit.MaskField("mask")}}, "does not name its view; the views of the loader are a, b"),
        ({"views": views, "fields": {"mask": ffkit.MaskField("mask", view="c")}}, "follows the view 'c', but the views of the loader are a, b"),
        ({"fields": {"labels": ffkit.BoxRowsField("labels")}}, "no BoxesField with this name"),
        ({"views": {"a": (crop, 0)}}, "view 'a' has 0 copies"),
        ({"views": views, "mixing": ffkit.Mixing(mixup=0.2)}, "mixing works only in a loader without views"),
        ({"views": views, "image": ffkit.Resize((32, 32))}, "give it a name and add it to views"),
        ({"views": {"label": crop}}, "two fields 'label'"),
        ({"fields": {"mask": ffkit.MaskField("mask", dtype="f32")}}, "the mask's dtype is f32"),
        ({"fields": {"mask": ffkit.MaskField("labels")}}, "expected a PNG, or a tensor of u8, u16 or i32"),
        ({"image": None, "fields": {"mask": ffkit.MaskField("mask")}}, "has neither a picture nor a clip"),
    ):
        with pytest.raises(ffkit.InvalidArgumentError, match=message):
            ffkit.Loader(data, 2, **by_topic(**options))
    batch = next(iter(ffkit.Loader(data, 2)))
    with pytest.raises(ffkit.FieldNotFoundError, match="no view 'global'; the views are: image"):
        batch.geometry("global")


def test_pictures_without_boxes_have_copies_without_rows(tmp_path: pathlib.Path) -> None:
    some = {"boxes": np.array([[4, 4, 8, 8]] * 3, np.float32), "keypoints": np.full((3, 2, 3), 5, np.float32)}
    none = {"boxes": np.zeros((0, 4), np.float32), "keypoints": np.zeros((0, 2, 3), np.float32)}
    with ffkit.Writer(tmp_path / "d", schema={"image": "image", "boxes": "tensor[f32]", "keypoints": "tensor[f32]"}) as writer:
        for rows in (none, some, none):
            writer.write({"image": np.zeros((20, 30, 3), np.uint8), **rows})
    data = ffkit.Dataset(tmp_path / "d", "train")

    def load(padded: bool, max_boxes: int, count: int = 3) -> ffkit.Batch:
        fields = {"boxes": ffkit.BoxesField(padded=padded, max_boxes=max_boxes), "keypoints": ffkit.PointsField(num_points=2)}
        return next(iter(ffkit.Loader(data.subset(range(count)), count, views={"v": (ffkit.Resize((40, 40)), 2)}, label_field=None, fields=fields, order="sequential")))
    for padded in (False, True):
        batch = load(padded, 4)
        assert batch.row_offsets("boxes").tolist() == batch.row_offsets("keypoints").tolist() == [0, 0, 0, 3, 6, 6, 6]
        assert batch["boxes"].shape == ((3, 2, 4, 4) if padded else (6, 4)) and batch["keypoints"].shape == ((3, 2, 4, 2, 3) if padded else (6, 2, 3))
        nothing = load(padded, 4, 1)
        assert nothing["boxes"].shape == ((1, 2, 4, 4) if padded else (0, 4)) and not nothing["boxes"].any()
        with pytest.raises(ffkit.UnsupportedError, match="record 1: .*field 'boxes' has 3 boxes in copy 0 of the view 'v', but max_boxes is 2"):
            load(padded, 2)


def test_masks_are_tensors_too_and_panoptic(tmp_path: pathlib.Path) -> None:
    ids = np.arange(12 * 10, dtype=np.int32).reshape(12, 10) * 1000
    colours = np.stack([ids % 256, ids // 256 % 256, ids // 65536], 2).astype(np.uint8)
    wide = Image.fromarray((ids % 65536).astype(np.uint16))
    with ffkit.Writer(tmp_path / "d", schema={"image": "image", "ids": "tensor[i32]", "panoptic": "image", "wide": "image", "bits": "image"}) as writer:
        writer.write({"image": encoded(Image.new("RGB", (10, 12)), "PNG"), "ids": ids, "panoptic": encoded(Image.fromarray(colours), "PNG"), "wide": encoded(wide, "PNG"),
                      "bits": encoded(Image.fromarray(ids % 2000 == 0), "PNG")})
    fields = {"ids": ffkit.MaskField("ids", dtype="i32"), "panoptic": ffkit.MaskField("panoptic", dtype="i64", numbers="panoptic"), "wide": ffkit.MaskField("wide", dtype="u16"),
              "bits": ffkit.MaskField("bits")}
    batch = next(iter(ffkit.Loader(ffkit.Dataset(tmp_path / "d", "train"), 1, image=ffkit.Resize((12, 10)), label_field=None, fields=fields)))
    assert np.array_equal(batch["ids"][0].numpy(), ids)
    assert np.array_equal(batch["panoptic"][0].numpy(), ids)
    assert np.array_equal(batch["wide"][0].numpy(), ids % 65536)
    assert np.array_equal(batch["bits"][0].numpy(), ids % 2000 == 0)
    with pytest.raises(ffkit.CorruptError, match="but the dtype u16 cannot store it"):
        next(iter(ffkit.Loader(ffkit.Dataset(tmp_path / "d", "train"), 1, image=ffkit.Resize((12, 10)), label_field=None, fields={"ids": ffkit.MaskField("ids", dtype="u16")})))


def test_a_mask_with_a_palette_is_not_resized_as_a_picture(data: ffkit.Dataset) -> None:
    mixed = {"mask": ffkit.ImageField("mask", ffkit.ImageOptions(ffkit.Resize((32, 32)), dtype="u8"))}
    with pytest.raises(ffkit.UnsupportedError, match="record 0.*PNG has a palette.*MaskField"):
        next(iter(ffkit.Loader(data, 2, image=ffkit.Resize((32, 32)), fields=mixed, order="sequential")))
    kept = {"mask": ffkit.ImageField("mask", ffkit.ImageOptions(ffkit.RandomCrop(32, flip_probability=0.5), dtype="u8"))}
    assert next(iter(ffkit.Loader(data, 2, image=ffkit.Resize((32, 32)), fields=kept)))["mask"].shape == (2, 3, 32, 32)
    assert next(iter(ffkit.Loader(data, 2, image=ffkit.Resize((32, 32)), image_field="mask")))["mask"].shape == (2, 3, 32, 32)
