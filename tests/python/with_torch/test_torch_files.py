"""from_torch() of data sets that open files: the files' bytes are kept, and names of classes are found where torchvision has them."""

import io
import warnings

import numpy as np
import pytest

import ffkit

torchvision = pytest.importorskip("torchvision")
torch = pytest.importorskip("torch")
PIL = pytest.importorskip("PIL.Image")


@pytest.fixture
def folder(tmp_path):
    numbers = np.random.default_rng(0)
    for name in "ab":
        (tmp_path / "src" / name).mkdir(parents=True)
        for i in range(3):
            PIL.fromarray(numbers.integers(0, 255, (150, 160, 3), np.uint8)).save(tmp_path / f"src/{name}/{i}.jpg")
    PIL.fromarray(numbers.integers(0, 255, (150, 160, 4), np.uint8), "CMYK").save(tmp_path / "src/a/7.jpg")  # ffkit's pixels of CMYK are its own
    PIL.fromarray(numbers.integers(0, 255, (150, 160), np.uint8)).save(tmp_path / "src/a/8.gif")
    return tmp_path / "src"


def converted(dataset, dst):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ffkit.convert.from_torch(dataset, dst, order="sequential")
    return ffkit.Dataset(dst, "train"), [str(warning.message) for warning in caught]


def test_files_keep_their_bytes(folder, tmp_path):
    dataset = torchvision.datasets.ImageFolder(folder, is_valid_file=lambda path: True)
    part = torch.utils.data.Subset(dataset, [0, 4, 6])
    joined = torch.utils.data.ConcatDataset([part, dataset])
    for name, source, num_pixels in (("whole", dataset, 2), ("part", part, 1), ("joined", joined, 3)):
        records, notes = converted(source, tmp_path / name)
        assert list(records.classes) == ["a", "b"] and len(records) == len(source)
        assert len(notes) == 1 and f"gives {num_pixels} pictures as pixels" in notes[0]
        for i in range(len(source)):
            picture = PIL.open(io.BytesIO(bytes(records[i]["image"])))
            assert int(records[i]["label"]) == source[i][1]
            np.testing.assert_array_equal(np.asarray(picture.convert("RGB")), np.asarray(source[i][0]))
    whole = ffkit.Dataset(tmp_path / "whole", "train")
    for i, (path, _) in enumerate(dataset.samples):
        if "7" not in path and "8" not in path:
            assert bytes(whole[i]["image"]) == open(path, "rb").read()
    assert dataset[0][0].mode == "RGB" and dataset.loader is torchvision.datasets.folder.default_loader  # it stays as it was


def test_transforms_and_to_sample_are_the_users(folder, tmp_path):
    dataset = torchvision.datasets.ImageFolder(folder, transform=lambda image: image.rotate(180), is_valid_file=lambda path: True)
    records, notes = converted(dataset, tmp_path / "turned")
    assert "gives 8 pictures as pixels, which are stored as PNGs" in notes[0]
    np.testing.assert_array_equal(np.asarray(PIL.open(io.BytesIO(bytes(records[0]["image"])))), np.asarray(dataset[0][0]))
    plain = torchvision.datasets.ImageFolder(folder, is_valid_file=lambda path: True)
    ffkit.convert.from_torch(plain, tmp_path / "mine", to_sample=lambda item: {"size": item[0].width, "label": item[1]})
    assert int(ffkit.Dataset(tmp_path / "mine", "train")[0]["size"]) == 160


@pytest.mark.parametrize("name", ["classes", "categories", "all_categories"])
def test_names_of_classes(name, tmp_path):
    class Numbers(torch.utils.data.Dataset):
        def __len__(self):
            return 4

        def __getitem__(self, index):
            return np.full((8, 8, 3), index, np.uint8), index % 2

    dataset = Numbers()
    setattr(dataset, name, ["even", "odd"])
    parts = torch.utils.data.random_split(dataset, [2, 2])
    for i, source in enumerate((dataset, parts[0], torch.utils.data.ConcatDataset(parts))):
        ffkit.convert.from_torch(source, tmp_path / str(i), schema={"image": "image", "label": "i64"})
        assert list(ffkit.Dataset(tmp_path / str(i), "train").classes) == ["even", "odd"]
