"""ffkit.convert.from_torch of Hugging Face's data sets: the picture that dataset[i] gives, in its stored bytes where that is the same."""

import io
import sys
import warnings

import hugging_face
import numpy as np
import pytest

import ffkit
from ffkit import convert

PIL = pytest.importorskip("PIL.Image")


@pytest.fixture(params=["stand-in", "datasets"])
def hub(request, monkeypatch):
    if request.param == "datasets":
        return pytest.importorskip("datasets", reason="Hugging Face's package datasets is not installed; the stand-in was tried")
    monkeypatch.setitem(sys.modules, "datasets", hugging_face)
    return hugging_face


def picture(mode="RGB", kind="JPEG", orientation=None, seed=0):
    """The file of a picture of 24 x 16 pixels."""
    values = np.random.default_rng(seed).integers(0, 255, (2, 3, 3), np.uint8).repeat(8, 0).repeat(8, 1)
    image = PIL.fromarray(values).convert(mode)
    exif = PIL.Exif()
    if orientation is not None:
        exif[0x0112] = orientation
    file = io.BytesIO()
    image.save(file, kind, exif=exif)
    return file.getvalue()


def data_set(hub, files, feature, **columns):
    rows = {"image": [{"bytes": file, "path": None} for file in files], "id": [f"{i:03}" for i in range(len(files))], **columns}
    return hub.Dataset.from_dict(rows, features=hub.Features({"image": feature, "id": hub.Value("string")}))


def converted(dataset, dst, **options):
    """What is written, and the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        convert.from_torch(dataset, dst, order="sequential", progress=False, **options)
    return [sample["image"] for sample in ffkit.Dataset(dst, "train")], [str(warning.message) for warning in caught]


def expect_same_pictures(dataset, written):
    for i, file in enumerate(written):
        expected = np.asarray(dataset[i]["image"].convert("RGB"))
        assert np.array_equal(np.asarray(PIL.open(io.BytesIO(file)).convert("RGB")), expected), i


def test_stored_bytes_are_kept(hub, tmp_path):
    files = [picture(), picture(orientation=1), picture("L"), picture("P", "PNG"), picture("RGBA", "PNG"), picture("CMYK"), picture(kind="WEBP")]
    for name, mode in {"any": None, "rgb": "RGB"}.items():
        dataset = data_set(hub, files, hub.Image(mode=mode))
        assert converted(dataset, tmp_path / name) == (files, [])


def test_a_picture_that_is_turned_is_the_one_that_the_data_set_gives(hub, tmp_path):
    files = [picture(kind=kind, orientation=n, seed=n) for kind in ("JPEG", "PNG", "WEBP") for n in range(1, 9)]
    dataset = data_set(hub, files, hub.Image())
    assert dataset[5]["image"].size == (16, 24)
    written, told = converted(dataset, tmp_path / "out")
    expect_same_pictures(dataset, written)
    assert [written[i] == files[i] for i in range(24)] == ([True] + [False] * 7) * 3
    assert len(told) == 1 and "21 are turned or mirrored by EXIF data" in told[0]


def test_a_mode_is_the_data_sets(hub, tmp_path):
    files = [picture(), picture("L"), picture(orientation=6, seed=1)]
    dataset = data_set(hub, files, hub.Image(mode="L"))
    written, told = converted(dataset, tmp_path / "out")
    expect_same_pictures(dataset, written)
    assert written[1] == files[1]
    assert len(told) == 1 and "1 is turned" in told[0] and "1 is converted to the mode" in told[0]


def test_undecoded_pictures_stay_as_they_are(hub, tmp_path):
    files = [picture(), picture(orientation=6)]
    assert converted(data_set(hub, files, hub.Image(decode=False)), tmp_path / "out") == (files, [])


def test_files_by_path(hub, tmp_path):
    (tmp_path / "0.jpg").write_bytes(picture(orientation=8))
    (tmp_path / "1.jpg").write_bytes(picture())
    rows = {"image": [{"bytes": None, "path": str(tmp_path / f"{i}.jpg")} for i in range(2)], "id": ["a", "b"]}
    dataset = hub.Dataset.from_dict(rows, features=hub.Features({"image": hub.Image(), "id": hub.Value("string")}))
    written, told = converted(dataset, tmp_path / "out")
    expect_same_pictures(dataset, written)
    assert written[1] == picture() and len(told) == 1


def test_a_transform_and_chosen_columns_are_kept(hub, tmp_path):
    dataset = data_set(hub, [picture(seed=i) for i in range(3)], hub.Image())
    mirrored = dataset.with_transform(lambda batch: {"image": [image.transpose(PIL.Transpose.FLIP_LEFT_RIGHT) for image in batch["image"]]})
    written, told = converted(mirrored, tmp_path / "mirrored")
    expect_same_pictures(mirrored, written)
    assert told == [] and ffkit.Dataset(tmp_path / "mirrored", "train").schema.keys() == {"image"}
    converted(dataset.with_format(None, columns=["image"]), tmp_path / "columns")
    assert ffkit.Dataset(tmp_path / "columns", "train").schema.keys() == {"image"}


def test_a_broken_picture_is_named(hub, tmp_path):
    dataset = data_set(hub, [picture(), b"\xff\xd8Exif, but no picture"], hub.Image())
    with pytest.raises(ffkit.Error, match="image"):
        converted(dataset, tmp_path / "out")
    assert not (tmp_path / "out" / "train").exists()


def test_exif_of_writer(tmp_path):
    """Writer turns encoded pictures where it is told to."""
    file = picture(orientation=6)
    for use, size in {"ignore": (24, 16), "apply": (16, 24)}.items():
        with ffkit.Writer(tmp_path / use, schema={"image": "image"}, exif=use) as writer:
            writer.write({"image": file})
        stored = next(iter(ffkit.Dataset(tmp_path / use, "train")))["image"]
        assert (stored == file) == (use == "ignore")
        assert PIL.open(io.BytesIO(stored)).size == size
