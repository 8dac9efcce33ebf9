"""Clips of videos, which are lists of pictures: against torchvision.transforms.v2 for the same drawn crop, and the same bytes however they are loaded."""

import pathlib
import tarfile
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision import tv_tensors
from torchvision.transforms.v2 import functional as F

import ffkit
from view_samples import encoded
from conftest import by_topic

COUNTS = [12, 9, 30, 5, 17, 8, 12, 21]  # frames of each video
SIZE = (40, 48)


def _videos() -> list[list[tuple[Image.Image, Image.Image]]]:
    """Frames and their masks. Frames of a video have one size."""
    random = np.random.default_rng(3)
    videos = []
    for i, count in enumerate(COUNTS):
        width, height = 64 + 5 * i, 90 - 4 * i
        pixels = [random.integers(0, 256, (height // 4, width // 4, 3), np.uint8) for _ in range(count)]
        frames = [Image.fromarray(one).resize((width, height), Image.Resampling.BICUBIC) for one in pixels]
        masks = [Image.fromarray((np.arange(width) // 8 + 10 * k % 200 + np.zeros((height, 1))).astype(np.uint8)) for k in range(count)]
        videos.append(list(zip(frames, masks)))
    return videos


VIDEOS = _videos()


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> ffkit.Dataset:
    folder = tmp_path_factory.mktemp("clips") / "data"
    with ffkit.Writer(folder, schema={"frames": "list[image]", "masks": "list[image]", "label": "i64"}) as writer:
        for i, video in enumerate(VIDEOS):
            writer.write({"frames": [encoded(f, "PNG") for f, _ in video], "masks": [encoded(m, "PNG") for _, m in video], "label": i})
    return ffkit.Dataset(folder, "train")


def _fields(**options: Any) -> dict[str, Any]:
    image = ffkit.ImageOptions(ffkit.RandomResizedCrop(SIZE, scaled_decode=False, flip_probability=0.5), dtype="u8")
    return {"clip": ffkit.FramesField("frames", image=image, **options), "mask": ffkit.MaskField("masks"), "numbers": ffkit.FrameNumbersField()}


def _loader(data: ffkit.Dataset, batch_size: int = len(COUNTS), *, fields: dict[str, Any], **options: Any) -> ffkit.Loader:
    return ffkit.Loader(data, batch_size, **by_topic(image=None, fields=fields, **{"order": "sequential", "seed": 11, "arrays": "numpy", **options}))


def test_all_frames_get_torchvisions_crop(data: ffkit.Dataset) -> None:
    batch = next(iter(_loader(data, fields=_fields(count=5, stride=1))))
    assert batch["clip"].shape == (8, 5, 3, *SIZE) and batch["mask"].shape == (8, 5, *SIZE)
    mirrored = set()
    for i, video in enumerate(VIDEOS):
        matrix = batch.geometry("clip")[i]
        flip = matrix[0, 0] < 0
        mirrored.add(bool(flip))
        scale_x, offset_x = (-matrix[0, 0], SIZE[1] - matrix[0, 2]) if flip else (matrix[0, 0], matrix[0, 2])
        top, left, height, width = (round(v) for v in (-matrix[1, 2] / matrix[1, 1], -offset_x / scale_x, SIZE[0] / matrix[1, 1], SIZE[1] / scale_x))
        numbers = batch["numbers"][i].tolist()
        assert np.diff(numbers).tolist() == [1] * 4 and numbers[-1] < len(video)
        for k, number in enumerate(numbers):
            frame, mask = video[number]
            expected = F.resized_crop(frame, top, left, height, width, SIZE, antialias=True)
            expected_mask = F.resized_crop(tv_tensors.Mask(F.pil_to_tensor(mask)), top, left, height, width, SIZE)
            if flip:
                expected, expected_mask = F.horizontal_flip(expected), F.horizontal_flip(expected_mask)
            assert torch.equal(torch.as_tensor(batch["clip"][i, k]), F.pil_to_tensor(expected))
            assert np.array_equal(batch["mask"][i, k], expected_mask[0].numpy())
        assert batch.source_sizes[i].tolist() == [video[0][0].height, video[0][0].width]
    assert mirrored == {False, True}


def test_clips_are_the_same_for_any_number_of_threads_and_after_a_restore(data: ffkit.Dataset) -> None:
    fields = _fields(count=4, stride=2, if_short="loop")
    fields["other"] = ffkit.FramesField("frames", 3, 0, if_short="repeat", image=ffkit.ImageOptions(ffkit.RandomResizedCrop(24, flip_probability=0.5), [ffkit.ColorJitter(0.4, 0.4, 0.4)]))
    fields["mask"] = ffkit.MaskField("masks", view="clip")
    fields["numbers"] = ffkit.FrameNumbersField("other")

    def epoch(threads: int, restore_after: int | None = None) -> list[np.ndarray]:
        loader = _loader(data, 2, fields=fields, order="shuffle", num_threads=threads)
        arrays: list[np.ndarray] = []
        for n, batch in enumerate(loader):
            arrays += [np.array(value) for value in (*batch.values(), batch.geometry("clip"), batch.geometry("other"))]
            if n == restore_after:
                state = loader.state_dict()
                break
        else:
            return arrays
        loader = _loader(data, 2, fields=fields, order="shuffle", num_threads=threads)
        loader.load_state_dict(state)
        for batch in loader:
            arrays += [np.array(value) for value in (*batch.values(), batch.geometry("clip"), batch.geometry("other"))]
        return arrays

    expected = epoch(1)
    for threads, restore_after in ((2, None), (5, None), (2, 1)):
        made = epoch(threads, restore_after)
        assert len(made) == len(expected) and all(map(np.array_equal, made, expected))


def test_short_videos(data: ffkit.Dataset) -> None:
    with pytest.raises(ffkit.UnsupportedError, match="a clip of 6 frames with a stride of 2 needs a video with 11 frames, but the video has 9 frames"):
        next(iter(_loader(data, fields=_fields(count=6, stride=2))))
    batch = next(iter(_loader(data, fields=_fields(count=6, stride=2), bad_samples="skip")))
    assert [r.bad_record for r in batch.replacements] == [1, 3, 5]
    batch = next(iter(_loader(data, fields=_fields(count=6, stride=2, if_short="repeat", jitter=False))))
    assert batch["numbers"][3].tolist() == [0, 2, 4, 4, 4, 4]


def test_clips_of_webdatasets(tmp_path: pathlib.Path) -> None:
    with tarfile.open(tmp_path / "shard.tar", "w") as tar:
        for i, video in enumerate(VIDEOS):
            # Frames come in the order of their numbers, not of their names in the tar.
            order = np.random.default_rng(i).permutation(len(video))
            members = [(f"v{i}.{k}.jpg", encoded(video[k][0], "JPEG")) for k in order] + [(f"v{i}.mask_{k:03}.png", encoded(video[k][1], "PNG")) for k in order]
            for name, content in (*members, (f"v{i}.cls", b"%d" % i)):
                (tmp_path / "one").write_bytes(content)
                tar.add(tmp_path / "one", name)
    with pytest.raises(ffkit.InvalidArgumentError, match="the sample has no member for the field '.*', but other samples have this member; add the member, .* frames of a video, make them one list with numbered_frames=True"):
        ffkit.convert.webdataset(tmp_path / "shard.tar", tmp_path / "refused")
    ffkit.convert.webdataset(tmp_path / "shard.tar", tmp_path / "data", numbered_frames=True, order="sequential")
    data = ffkit.Dataset(tmp_path / "data", "train")
    assert {"frames", "mask/frames"} <= set(data.schema)
    for i, video in enumerate(VIDEOS):
        assert data[i]["frames"] == [encoded(f, "JPEG") for f, _ in video]
        assert data[i]["mask/frames"] == [encoded(m, "PNG") for _, m in video]
    fields = {"clip": ffkit.FramesField("frames", 4), "mask": ffkit.MaskField("mask/frames")}
    batch = next(iter(ffkit.Loader(data, 8, image=None, fields=fields)))
    assert batch["clip"].shape == (8, 4, 3, 224, 224) and batch["mask"].shape == (8, 4, 224, 224)


def test_a_resize_of_grey_frames_of_16_bits_is_said_once(tmp_path: pathlib.Path) -> None:
    with ffkit.Writer(tmp_path / "data", schema={"frames": "list[image]"}) as writer:
        writer.write({"frames": [encoded(Image.fromarray(np.full((20, 24), 40000 + k, np.uint16)), "PNG") for k in range(3)]})
    for size, number in (((20, 24), 0), ((10, 12), 1)):
        said: list[str] = []
        fields = {"clip": ffkit.FramesField("frames", 3, image=ffkit.ImageOptions(ffkit.Resize(size), dtype="i32"))}
        for _ in ffkit.Loader(ffkit.Dataset(tmp_path / "data", "train"), 1, image=None, label_field=None, fields=fields, on_warning=said.append):
            pass
        assert len(said) == number
