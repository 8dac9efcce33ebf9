"""Steps of a Compose: against torchvision.transforms.v2 for the same drawn numbers, on pictures, masks and boxes."""

import pathlib
from typing import Callable

import numpy as np
import pytest
import torch
from torchvision import tv_tensors
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional as F

import ffkit
import ffkit.torch
from view_samples import SIZES, samples, tv_inputs, written
from conftest import by_topic

SIZE = (70, 90)  # height, width of batches
FILL = (10, 200, 30)
FIELDS = {"mask": ffkit.MaskField("mask", fill=99), "boxes": ffkit.BoxesField(min_size=0), "labels": ffkit.BoxRowsField("labels")}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> ffkit.Dataset:
    return written(tmp_path_factory.mktemp("geometry") / "data")


def _batch(data: ffkit.Dataset, steps: list, fields: dict = FIELDS, **more: object) -> ffkit.Batch:
    options = ffkit.ImageOptions(ffkit.Compose(steps), dtype="u8", **more)
    return next(iter(ffkit.Loader(data, len(SIZES), image=options, fields=fields, order="sequential", seed=11)))


def _fills(one: object) -> object:
    if isinstance(one, tv_tensors.Mask):
        return 99
    return 0 if isinstance(one, tv_tensors.BoundingBoxes) else FILL


def _check(batch: ffkit.Batch, i: int, image: object, mask: torch.Tensor, boxes: tv_tensors.BoundingBoxes, kept: torch.Tensor | None = None, mask_share: float = 0.0) -> None:
    """What torchvision made of sample i is what the batch has: pictures to the bit; of masks, `mask_share` may differ, where torchvision's f32 falls on an edge."""
    assert np.array_equal(batch["image"][i].permute(1, 2, 0).numpy(), np.asarray(image))
    assert (batch["mask"][i] != mask).float().mean() <= mask_share
    boxes = F.convert_bounding_box_format(F.clamp_bounding_boxes(boxes), new_format="XYXY")
    has_area = (boxes[:, 2] > boxes[:, 0]) & (boxes[:, 3] > boxes[:, 1])
    kept = has_area if kept is None else has_area & kept
    begin, end = batch.row_offsets("boxes")[i : i + 2]
    assert torch.equal(batch["labels"][begin:end] - 10 * i, torch.arange(5)[kept])
    assert torch.allclose(batch["boxes"][begin:end], boxes[kept].float(), atol=5e-3)


def _check_all(data: ffkit.Dataset, steps: list, theirs: Callable, mask_share: float = 0.0) -> None:
    """`theirs` makes of a picture, a mask or boxes what `steps` do; the last step of both is a resize to SIZE."""
    batch = _batch(data, [*steps, ffkit.Resize(SIZE)])
    for i, sample in enumerate(samples()):
        made = [F.resize(theirs(one), SIZE, antialias=True) for one in tv_inputs(sample)]
        _check(batch, i, *made, mask_share=mask_share)


@pytest.mark.parametrize("filter", ["nearest", "bilinear", "bicubic"])
@pytest.mark.parametrize("angle", [0.0, 30.0, -77.7, 90.0, 180.0])
def test_rotations(data: ffkit.Dataset, angle: float, filter: str) -> None:
    mode = {"nearest": F.InterpolationMode.NEAREST, "bilinear": F.InterpolationMode.BILINEAR, "bicubic": F.InterpolationMode.BICUBIC}[filter]

    def theirs(one: object) -> object:
        return F.rotate(one, angle, interpolation=mode, fill=_fills(one))

    # By 90 degrees, a mask with one odd side is asked for half pixels, and torchvision's f32
    # decides.
    _check_all(data, [ffkit.RandomRotation((angle, angle), filter, fill=FILL)], theirs, 0.04 if angle == 90 else 0.002)


@pytest.mark.parametrize(("expand", "center"), [(True, None), (False, (10.5, 3.0)), (False, (-20.0, 70.0))])
@pytest.mark.parametrize("angle", [30.0, -77.7, 90.0, 180.0, -270.0])
def test_rotations_about_a_point_and_with_a_larger_canvas(data: ffkit.Dataset, angle: float, center: tuple[float, float] | None, expand: bool) -> None:
    steps = [ffkit.RandomRotation((angle, angle), "bilinear", expand, center, FILL)]
    batch = _batch(data, [*steps, ffkit.Resize(SIZE)])
    for i, sample in enumerate(samples()):
        options = {"expand": expand, "center": center and list(center)}
        image, mask, boxes = tv_inputs(sample)
        # The mask by Pillow, too: torchvision turns tensors about a canvas of its own, which may be
        # another by a pixel.
        numbers = F.rotate(F.to_pil_image(mask), angle, F.InterpolationMode.NEAREST, fill=99, **options)
        image = F.rotate(image, angle, F.InterpolationMode.BILINEAR, fill=FILL, **options)
        made = F.resize(image, SIZE, antialias=True)
        assert np.array_equal(batch["image"][i].permute(1, 2, 0).numpy(), np.asarray(made))
        # Pillow counts in fractions of 1/65536, where a number lies on an edge.
        assert (batch["mask"][i] != F.resize(tv_tensors.Mask(F.pil_to_tensor(numbers)), SIZE)[0]).float().mean() <= 0.002


@pytest.mark.parametrize("filter", ["nearest", "bilinear", "bicubic"])
@pytest.mark.parametrize(("angle", "scale", "shear"), [(20.0, 1.3, (0.0, 0.0)), (-50.0, 0.7, (15.0, -10.0)), (0.0, 0.61, (0.0, 0.0)), (0.0, 1.0, (30.0, 0.0))])
def test_affine_maps(data: ffkit.Dataset, angle: float, scale: float, shear: tuple[float, float], filter: str) -> None:
    mode = {"nearest": F.InterpolationMode.NEAREST, "bilinear": F.InterpolationMode.BILINEAR, "bicubic": F.InterpolationMode.BICUBIC}[filter]

    def theirs(one: object) -> object:
        return F.affine(one, angle, [0, 0], scale, list(shear), interpolation=mode, fill=_fills(one))

    step = ffkit.RandomAffine((angle, angle), scale=(scale, scale), shear=(shear[0], shear[0], shear[1], shear[1]), interpolation=filter, fill=FILL)
    _check_all(data, [step], theirs, 0.002)


def _step_matrix(batch: ffkit.Batch, i: int, width: int, height: int) -> np.ndarray:
    """What the steps before a last Resize(SIZE) of width x height pixels did."""
    resize = np.diag([SIZE[1] / width, SIZE[0] / height, 1.0])
    return np.linalg.inv(resize) @ batch.geometry()[i]


def test_shifts(data: ffkit.Dataset) -> None:
    batch = _batch(data, [ffkit.RandomAffine(translate=(0.3, 0.2), fill=FILL), ffkit.Resize(SIZE)])
    drawn = set()
    for i, sample in enumerate(samples()):
        matrix = _step_matrix(batch, i, *SIZES[i])
        x, y = matrix[0, 2], matrix[1, 2]
        assert abs(x - round(x)) < 1e-6 and abs(y - round(y)) < 1e-6 and abs(x) <= 0.3 * SIZES[i][0] + 0.5 and abs(y) <= 0.2 * SIZES[i][1] + 0.5
        drawn.add((round(x), round(y)))
        made = [F.affine(one, 0.0, [round(x), round(y)], 1.0, [0.0, 0.0], fill=_fills(one)) for one in tv_inputs(sample)]
        _check(batch, i, *(F.resize(one, SIZE, antialias=True) for one in made))
    assert len(drawn) == len(SIZES)


@pytest.mark.parametrize("filter", ["nearest", "bilinear"])
def test_perspectives(data: ffkit.Dataset, filter: str) -> None:
    mode = F.InterpolationMode.NEAREST if filter == "nearest" else F.InterpolationMode.BILINEAR
    batch = _batch(data, [ffkit.RandomPerspective(0.4, 1.0, filter, FILL), ffkit.Resize(SIZE)])
    for i, sample in enumerate(samples()):
        width, height = SIZES[i]
        start = [[0, 0], [width - 1, 0], [width - 1, height - 1], [0, height - 1]]
        moved = np.concatenate([np.array(start, float), np.ones((4, 1))], 1) @ _step_matrix(batch, i, width, height).T
        end = moved[:, :2] / moved[:, 2:]
        assert np.allclose(end, np.round(end), atol=1e-3)
        end = np.round(end).astype(int).tolist()
        assert all(0 <= x < width and 0 <= y < height for x, y in end)
        made = [F.perspective(one, start, end, interpolation=mode, fill=_fills(one)) for one in tv_inputs(sample)]
        _check(batch, i, *(F.resize(one, SIZE, antialias=True) for one in made), mask_share=0.002)


def test_flips_and_padding(data: ffkit.Dataset) -> None:
    padding = (3, 0, 11, 6)  # left, top, right, bottom

    def theirs(one: object) -> object:
        return F.vertical_flip(F.horizontal_flip(F.pad(one, list(padding), fill=_fills(one))))

    flips = [ffkit.RandomHorizontalFlip(1.0), ffkit.RandomVerticalFlip(1.0)]
    _check_all(data, [ffkit.Pad(padding, FILL), *flips], theirs)
    _check_all(data, [*reversed(flips), ffkit.Pad(padding, FILL)], lambda one: F.pad(F.horizontal_flip(F.vertical_flip(one)), list(padding), fill=_fills(one)))
    _check_all(data, [ffkit.RandomHorizontalFlip(0.0), ffkit.RandomVerticalFlip(0.0)], lambda one: one)


@pytest.mark.parametrize("other", [ffkit.Pad(4), ffkit.CenterCrop((260, 300)), ffkit.RandomHorizontalFlip(1.0)])
def test_boxes_are_cut_at_each_canvas_that_pads(data: ffkit.Dataset, other: object) -> None:
    """Also where both paddings become one operation on pixels."""

    def theirs(one: object) -> object:
        one = F.pad(one, 3)
        if isinstance(other, ffkit.RandomHorizontalFlip):
            one = F.horizontal_flip(one)
        return F.pad(one, 4) if not isinstance(other, ffkit.CenterCrop) else one

    steps = [ffkit.Pad(3), other] if not isinstance(other, ffkit.RandomHorizontalFlip) else [ffkit.Pad(3), other, ffkit.Pad(4)]
    batch = _batch(data, [*steps, ffkit.Resize(SIZE)], {"boxes": ffkit.BoxesField(min_size=0)})
    for i, sample in enumerate(samples()):
        boxes = theirs(tv_inputs(sample)[2])
        width, height = SIZES[i][0] + 6, SIZES[i][1] + 6
        if isinstance(other, ffkit.CenterCrop):
            left, top = (300 - width) // 2, (260 - height) // 2
            boxes = F.pad(boxes, [left, top, 300 - width - left, 260 - height - top])
        edges = F.convert_bounding_box_format(F.clamp_bounding_boxes(F.resize(boxes, SIZE)), new_format="XYXY")
        edges = edges[(edges[:, 2] > edges[:, 0]) & (edges[:, 3] > edges[:, 1])]
        begin, end = batch.row_offsets("boxes")[i : i + 2]
        assert torch.allclose(batch["boxes"][begin:end], edges.float(), atol=5e-3)


def test_zooming_out(data: ffkit.Dataset) -> None:
    batch = _batch(data, [ffkit.RandomZoomOut(FILL, (1.2, 3.0), 1.0), ffkit.Resize(SIZE)])
    for i, sample in enumerate(samples()):
        width, height = SIZES[i]
        matrix = batch.geometry()[i]
        canvas = round(SIZE[1] / matrix[0, 0]), round(SIZE[0] / matrix[1, 1])
        assert 1.2 * width - 1 <= canvas[0] <= 3 * width and 1.2 * height - 1 <= canvas[1] <= 3 * height
        left, top = (round(v) for v in _step_matrix(batch, i, *canvas)[:2, 2])
        padding = [left, top, canvas[0] - left - width, canvas[1] - top - height]
        assert min(padding) >= 0
        made = [F.pad(one, padding, fill=_fills(one)) for one in tv_inputs(sample)]
        _check(batch, i, *(F.resize(one, SIZE, antialias=True) for one in made))


def test_the_crop_of_ssd(data: ffkit.Dataset) -> None:
    cropped = 0
    for seed in range(5):
        options = ffkit.ImageOptions(ffkit.Compose([ffkit.RandomIoUCrop(), ffkit.Resize(SIZE), ffkit.RandomHorizontalFlip()]), dtype="u8")
        batch = next(iter(ffkit.Loader(data, len(SIZES), image=options, fields=FIELDS, order="sequential", seed=seed)))
        for i, sample in enumerate(samples()):
            matrix = batch.geometry()[i].copy()
            flip = matrix[0, 0] < 0
            if flip:
                matrix[0] *= -1
                matrix[0, 2] += SIZE[1]
            rect = [-matrix[1, 2] / matrix[1, 1], -matrix[0, 2] / matrix[0, 0], SIZE[0] / matrix[1, 1], SIZE[1] / matrix[0, 0]]
            assert np.allclose(rect, np.round(rect), atol=1e-6)
            top, left, height, width = (round(v) for v in rect)
            is_cropped = (width, height) != SIZES[i]
            cropped += is_cropped
            image, mask, boxes = tv_inputs(sample)
            edges = F.convert_bounding_box_format(boxes, new_format="XYXY")
            x, y = (edges[:, 0] + edges[:, 2]) / 2, (edges[:, 1] + edges[:, 3]) / 2
            kept = (left < x) & (x < left + width) & (top < y) & (y < top + height) if is_cropped else torch.ones(5, dtype=torch.bool)
            if is_cropped:
                assert kept.any() and 0.5 <= width / height <= 2.0
            made = [F.resize(F.crop(one, top, left, height, width), SIZE, antialias=True) for one in (image, mask, boxes)]
            _check(batch, i, *(F.horizontal_flip(one) if flip else one for one in made), kept=kept)
    assert 8 < cropped < 40


def test_scale_jitter_and_a_crop_of_fixed_size(data: ffkit.Dataset) -> None:
    smaller = 0
    for seed in range(4):
        transform = ffkit.Compose([ffkit.ScaleJitter(SIZE, (0.3, 2.0)), ffkit.FixedSizeCrop(SIZE, FILL), ffkit.RandomHorizontalFlip(0.5)])
        batch = next(iter(ffkit.Loader(data, len(SIZES), image=ffkit.ImageOptions(transform, dtype="u8"), fields=FIELDS, order="sequential", seed=seed)))
        for i, sample in enumerate(samples()):
            width, height = SIZES[i]
            matrix = batch.geometry()[i].copy()
            flip = matrix[0, 0] < 0
            if flip:
                matrix[0] *= -1
                matrix[0, 2] += SIZE[1]
            resized = round(matrix[1, 1] * height), round(matrix[0, 0] * width)
            factor = min(SIZE[1] / height, SIZE[0] / width)
            assert 0.3 * factor * width - 1 <= resized[1] <= 2 * factor * width
            left, top = round(-matrix[0, 2]), round(-matrix[1, 2])
            smaller += resized[0] < SIZE[0] or resized[1] < SIZE[1]
            made = []
            for one in tv_inputs(sample):
                one = F.resize(one, resized, antialias=True)
                one = F.crop(one, top, left, min(resized[0], SIZE[0]), min(resized[1], SIZE[1]))
                one = F.pad(one, [0, 0, max(SIZE[1] - resized[1], 0), max(SIZE[0] - resized[0], 0)], fill=_fills(one))
                made.append(F.horizontal_flip(one) if flip else one)
            _check(batch, i, *made)
    assert smaller > 5


def test_the_shortest_side(data: ffkit.Dataset) -> None:
    batch = _batch(data, [ffkit.RandomShortestSize((40, 50, 60), max_size=100), ffkit.FixedSizeCrop((100, 100), FILL)])
    seen = set()
    for i, sample in enumerate(samples()):
        width, height = SIZES[i]
        resized = round(batch.geometry()[i][1, 1] * height), round(batch.geometry()[i][0, 0] * width)
        expected = {}
        for size in (40, 50, 60):
            factor = min(size / min(width, height), 100 / max(width, height))
            expected[int(height * factor), int(width * factor)] = size
        seen.add(expected[resized])
        made = [F.pad(F.resize(one, resized, antialias=True), [0, 0, 100 - resized[1], 100 - resized[0]], fill=_fills(one)) for one in tv_inputs(sample)]
        _check(batch, i, *made)
    assert len(seen) > 1
    _check_all(data, [ffkit.RandomShortestSize(40), ffkit.CenterCrop(50)], lambda one: F.center_crop(v2.Resize(40)(one), [50, 50]) if not isinstance(one, tv_tensors.Mask) else _mask_in_centre(one))


def _mask_in_centre(mask: tv_tensors.Mask) -> torch.Tensor:
    """center_crop() pads masks with 0; ffkit fills them as everywhere."""
    cropped = F.center_crop(v2.Resize(40)(mask), [50, 50])
    inside = F.center_crop(tv_tensors.Mask(torch.ones_like(v2.Resize(40)(mask))), [50, 50])
    return tv_tensors.Mask(torch.where(inside.bool(), cropped, torch.full_like(cropped, 99)))


def test_several_steps_one_after_the_other(data: ffkit.Dataset) -> None:
    mode = F.InterpolationMode.BILINEAR
    steps = [
        ffkit.Pad(5, FILL), ffkit.RandomRotation((25.0, 25.0), "bilinear", fill=FILL), ffkit.CenterCrop(64), ffkit.RandomVerticalFlip(1.0),
        ffkit.RandomAffine(0.0, shear=(12.0, 12.0), interpolation="bilinear", fill=FILL), ffkit.RandomHorizontalFlip(1.0),
    ]

    def theirs(one: object) -> object:
        one = F.rotate(F.pad(one, 5, fill=_fills(one)), 25.0, interpolation=mode, fill=_fills(one))
        one = F.center_crop(one, [64, 64])
        return F.horizontal_flip(F.affine(F.vertical_flip(one), 0.0, [0, 0], 1.0, [12.0, 0.0], interpolation=mode, fill=_fills(one)))

    batch = _batch(data, [*steps, ffkit.Resize(SIZE)])
    for i, sample in enumerate(samples()):
        if min(SIZES[i]) + 10 < 64:
            continue  # torchvision's center_crop() pads with 0
        _check(batch, i, *(F.resize(theirs(one), SIZE, antialias=True) for one in tv_inputs(sample)), mask_share=0.005)


@pytest.mark.parametrize("augment", [ffkit.RandAugment(1, 20, fill=7), ffkit.TrivialAugmentWide(fill=7), ffkit.AutoAugment("svhn", 7), ffkit.Apply(0.8, [ffkit.OneOf([ffkit.RandAugment(1, 9), ffkit.Invert()])])])
def test_masks_and_boxes_follow_augmentations_that_move_pixels(data: ffkit.Dataset, augment: object) -> None:
    """A picture that shows the numbers of its mask is moved as the mask is."""
    fields = {"mask": ffkit.MaskField("mask", fill=0), "boxes": ffkit.BoxesField(min_size=0, min_visible=0.0)}
    moved = 0
    for seed in range(8):
        options = ffkit.ImageOptions(ffkit.Resize(SIZE), augment=[augment], dtype="u8")
        plain = ffkit.ImageOptions(ffkit.Resize(SIZE), dtype="u8")
        batch = next(iter(ffkit.Loader(data, len(SIZES), image=options, fields=fields, order="sequential", seed=seed)))
        still = next(iter(ffkit.Loader(data, len(SIZES), image=plain, fields=fields, order="sequential", seed=seed)))
        y, x = np.mgrid[0 : SIZE[0], 0 : SIZE[1]] + 0.5
        for i in range(len(SIZES)):
            step = batch.geometry()[i] @ np.linalg.inv(still.geometry()[i])
            source = np.linalg.inv(step) @ np.stack([x.ravel(), y.ravel(), np.ones(x.size)])
            column, row = np.floor(source[:2]).astype(int)
            inside = (column >= 0) & (column < SIZE[1]) & (row >= 0) & (row < SIZE[0])
            expected = np.where(inside, still["mask"][i].numpy()[row.clip(0, SIZE[0] - 1), column.clip(0, SIZE[1] - 1)], 0).reshape(SIZE)
            assert (batch["mask"][i].numpy() != expected).mean() < 0.01
            if np.allclose(step, np.eye(3)):
                assert torch.equal(batch["mask"][i], still["mask"][i])
                continue
            moved += 1
            assert not torch.equal(batch["mask"][i], still["mask"][i])
            # The edge of the picture's fill is the edge of the mask's, for what lies off it.
            outside = ~inside.reshape(SIZE)
            colours = batch["image"][i].permute(1, 2, 0).numpy()[outside]
            assert outside.sum() < 50 or (np.abs(colours.astype(int) - np.median(colours, 0)) < 2).mean() > 0.9
    assert moved > 3


def test_a_compose_does_not_depend_on_threads_or_other_steps(data: ffkit.Dataset) -> None:
    steps = [ffkit.RandomZoomOut(), ffkit.RandomIoUCrop(), ffkit.RandomRotation(20), ffkit.RandomResizedCrop(32, flip_probability=0.5), ffkit.RandomVerticalFlip(), ffkit.RandomPerspective()]
    views = {"a": ffkit.ImageOptions(ffkit.Compose(steps), augment=[ffkit.TrivialAugmentWide()])}
    fields = {"mask": ffkit.MaskField("mask"), "boxes": ffkit.BoxesField(), "labels": ffkit.BoxRowsField("labels")}

    def epoch(**options: object) -> list:
        return [{**batch, "geometry": batch.geometry("a")} for batch in ffkit.Loader(data, 3, **by_topic(views=views, fields=fields, seed=4, **options))]

    first = epoch(num_threads=1)
    for other in (epoch(num_threads=2), epoch(num_threads=5)):
        for a, b in zip(first, other, strict=True):
            assert all(np.array_equal(np.asarray(a[name]), np.asarray(b[name])) for name in a)
    with_another = _batch(data, [ffkit.RandomRotation(40), ffkit.RandomVerticalFlip(), ffkit.Resize(SIZE)])
    alone = _batch(data, [ffkit.RandomRotation(40), ffkit.Resize(SIZE)])
    a, b = with_another.geometry(), alone.geometry()
    upside_down = np.diag([1.0, -1.0, 1.0])
    upside_down[1, 2] = SIZE[0]
    assert all(np.allclose(a[i], b[i]) or np.allclose(a[i], upside_down @ b[i]) for i in range(len(SIZES)))


def test_what_cannot_be_is_refused(data: ffkit.Dataset) -> None:
    for steps, message in (
        ([], "number of steps of Compose is 0"),
        ([ffkit.RandomRotation(3)], "Compose makes pictures of different sizes"),
        ([ffkit.Resize((32, 32)), ffkit.ScaleJitter()], "Compose makes pictures of different sizes"),
        ([ffkit.Resize((32, 32)), ffkit.RandomRotation((10, 400))], "RandomRotation degrees is 10 to 400"),
        ([ffkit.Resize((32, 32)), ffkit.RandomRotation(10, expand=True)], "Compose makes pictures of different sizes"),
        ([ffkit.RandomRotation(10, expand=True, center=(3, 4)), ffkit.Resize((32, 32))], "RandomRotation has both expand and center"),
        ([ffkit.RandomAffine(10, center=(3, 1e9)), ffkit.Resize((32, 32))], "RandomAffine center is 1e\\+09; expected -32768 to 32768"),
        ([ffkit.Resize((32, 32)), ffkit.RandomAffine(shear=90)], "RandomAffine shear_x"),
        ([ffkit.RandomShortestSize(()), ffkit.Resize((32, 32))], "RandomShortestSize has no sizes"),
        ([ffkit.Resize((8000, 8000)), ffkit.Pad(200)], "Compose size is 8400"),
    ):
        with pytest.raises(ValueError, match=message):
            _batch(data, steps)
    for steps, message in (
        ([ffkit.ScalePad()], "is not a step of a Compose"),
        ([ffkit.RandomRotation(interpolation="lanczos"), ffkit.Resize((3, 3))], "filter"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            _batch(data, steps)
    with pytest.raises(TypeError, match="put it into a Compose"):
        ffkit.Loader(data, 2, image=ffkit.RandomRotation())
    with pytest.raises(ValueError, match="has a RandomIoUCrop, which needs boxes"):
        _batch(data, [ffkit.RandomIoUCrop(), ffkit.Resize((32, 32))], {})


def test_two_random_pictures_of_one_field_are_refused(data: ffkit.Dataset) -> None:
    turned = ffkit.Compose([ffkit.RandomRotation(), ffkit.Resize((32, 32))])
    with pytest.raises(ValueError, match="would show the same crop"):
        ffkit.Loader(data, 2, image=turned, fields={"again": ffkit.ImageField("image", ffkit.ImageOptions(turned))})
    with ffkit.Loader(data, 2, image=ffkit.Compose([ffkit.Pad(3), ffkit.Resize((32, 32))]), fields={"again": ffkit.ImageField("image", ffkit.ImageOptions(turned))}) as loader:
        assert next(iter(loader))["again"].shape == (2, 3, 32, 32)


def test_a_further_picture_goes_where_its_view_goes(data: ffkit.Dataset) -> None:
    """The record's picture as a further picture is the view's, also where boxes decide, or an augmentation moves pixels."""
    steps = [ffkit.RandomIoUCrop(), ffkit.RandomAffine(20, (0.1, 0.1), (0.8, 1.2), 10, "bilinear"), ffkit.RandomResizedCrop(40, scaled_decode=False, flip_probability=0.5)]
    fields = {"again": ffkit.PictureField("image", dtype="u8"), "boxes": ffkit.BoxesField()}
    for augment in ([], [ffkit.TrivialAugmentWide()]):
        seen = 0
        for seed in range(3):
            options = ffkit.ImageOptions(ffkit.Compose(steps), augment=augment, dtype="u8")
            batch = next(iter(ffkit.Loader(data, len(SIZES), image=options, fields=fields, order="sequential", seed=seed)))
            same = [torch.equal(batch["image"][i], batch["again"][i]) for i in range(len(SIZES))]
            seen += sum(same)
            assert augment or all(same)  # an operation on colours changes the view's picture alone
        assert seen > 3


def test_transforms_of_v2_become_a_compose() -> None:
    end = [v2.PILToTensor()]
    for theirs, ours in (
        ([v2.ScaleJitter((512, 640)), v2.RandomCrop((512, 640), pad_if_needed=True, fill=(1, 2, 3)), v2.RandomHorizontalFlip(0.3)],
         ffkit.Compose([ffkit.ScaleJitter((512, 640), (0.1, 2.0)), ffkit.RandomCrop((512, 640), 0, True, (1, 2, 3)), ffkit.RandomHorizontalFlip(0.3)])),
        ([v2.RandomZoomOut(fill=(9, 8, 7)), v2.RandomIoUCrop(), v2.Resize((300, 300))],
         ffkit.Compose([ffkit.RandomZoomOut(fill=(9, 8, 7)), ffkit.RandomIoUCrop(), ffkit.Resize((300, 300))])),
        ([v2.RandomRotation(10, expand=True), v2.RandomAffine(5, center=(3, 4)), v2.Resize((8, 8))],
         ffkit.Compose([ffkit.RandomRotation((-10.0, 10.0), expand=True), ffkit.RandomAffine((-5.0, 5.0), shear=(0.0, 0.0), center=(3.0, 4.0)), ffkit.Resize((8, 8))])),
        ([v2.RandomRotation(10, interpolation=F.InterpolationMode.BILINEAR), v2.RandomAffine((5, 20), (0.1, 0.2), (0.8, 1.5), (1, 2, 3, 4)), v2.RandomResizedCrop(64)],
         ffkit.Compose([ffkit.RandomRotation((-10.0, 10.0), "bilinear"), ffkit.RandomAffine((5.0, 20.0), (0.1, 0.2), (0.8, 1.5), (1.0, 2.0, 3.0, 4.0)),
                        ffkit.RandomResizedCrop(64, flip_probability=0.0, scaled_decode=False)])),
        ([v2.Resize(256), v2.RandomCrop(224), v2.RandomVerticalFlip(0.2), v2.RandomPerspective(0.3, 0.4)],
         ffkit.Compose([ffkit.Resize(256), ffkit.RandomCrop(224, flip_probability=0.0), ffkit.RandomVerticalFlip(0.2), ffkit.RandomPerspective(0.3, 0.4)])),
        ([v2.RandomShortestSize([480, 512], 800), v2.Pad((1, 2)), v2.CenterCrop(100)],
         ffkit.Compose([ffkit.RandomShortestSize((480, 512), 800), ffkit.Pad((1, 2, 1, 2)), ffkit.CenterCrop(100)])),
        ([v2.Resize(256), v2.CenterCrop(224)], ffkit.ResizeCenterCrop(256, 224)),
        ([v2.RandomCrop(32, 4), v2.RandomHorizontalFlip()], ffkit.RandomCrop(32, 4, flip_probability=0.5)),
    ):  # fmt: skip
        assert ffkit.torch.image_options(v2.Compose(theirs + end)).transform == ours
    policy = v2.AutoAugment(v2.AutoAugmentPolicy.CIFAR10, fill=5)
    assert ffkit.torch.image_options(v2.Compose([v2.Resize((8, 8)), policy, *end])).augment == (ffkit.AutoAugment("cifar10", 5),)


def test_the_short_side_is_torchvisions(data: ffkit.Dataset) -> None:
    for size, max_size in ((50, None), (50, 90), (31, 33)):
        batch = _batch(data, [ffkit.Resize(size, max_size=max_size), ffkit.FixedSizeCrop((320, 320), FILL)])
        for i, sample in enumerate(samples()):
            made = []
            for one in tv_inputs(sample):
                one = v2.Resize(size, max_size=max_size)(one)
                height, width = F.get_size(one)
                made.append(F.pad(one, [0, 0, 320 - width, 320 - height], fill=_fills(one)))
            _check(batch, i, *made)


def test_the_pixel_mask_says_where_the_picture_is(data: ffkit.Dataset) -> None:
    """As the batches of DETR: normalised black is padding, and no other pixel of a white picture."""
    steps = [ffkit.RandomHorizontalFlip(), ffkit.RandomShortestSize(range(40, 70, 8), max_size=120), ffkit.FixedSizeCrop(128)]
    batch = _batch(data, steps, {"pixel_mask": ffkit.PixelMaskField(), "ones": ffkit.MaskField("mask", ids={0: 1, 7: 1, 15: 1, 255: 1}, fill=0)})
    assert batch["pixel_mask"].dtype == torch.uint8 and torch.equal(batch["pixel_mask"], batch["ones"])
    for i, (width, height) in enumerate(SIZES):
        matrix = batch.geometry()[i]
        area = round(abs(matrix[0, 0]) * width) * round(matrix[1, 1] * height)
        assert batch["pixel_mask"][i].sum() == area < 128 * 128
    height, width = (-(-int(batch["pixel_mask"].sum(axis).max()) // 32) * 32 for axis in (1, 2))
    assert batch["image"][..., :height, :width].shape == (len(SIZES), 3, height, width) and batch["pixel_mask"][:, height:].sum() == batch["pixel_mask"][:, :, width:].sum() == 0
    copies = {"v": (ffkit.Compose([ffkit.RandomRotation(40), ffkit.CenterCrop(100)]), 2)}
    loader = ffkit.Loader(data, 4, views=copies, fields={"pixel_mask": ffkit.PixelMaskField("v")})
    assert next(iter(loader))["pixel_mask"].shape == (4, 2, 100, 100)
