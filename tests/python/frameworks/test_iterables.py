"""Whatever gives samples: generators, IterableDatasets of torch and Hugging Face, dicts of splits."""
import io

import datasets
import numpy
import PIL.Image
import pytest
import torch

import ffkit
import ffkit.convert


def picture(number):
    pixels = numpy.random.default_rng(number).integers(0, 256, (9, 8, 3), dtype=numpy.uint8)
    file = io.BytesIO()
    PIL.Image.fromarray(pixels).save(file, "JPEG")
    return file.getvalue()


def rows(begin, end):
    for number in range(begin, end):
        yield {"image": {"bytes": picture(number), "path": None}, "label": number % 2, "number": number}


FEATURES = datasets.Features({"image": datasets.Image(), "label": datasets.ClassLabel(names=["cat", "dog"]), "number": datasets.Value("int64")})


def check(folder, split, numbers):
    dataset = ffkit.Dataset(folder, split=split)
    assert len(dataset) == len(numbers)
    for record, number in zip(dataset, numbers):
        assert bytes(record["image"]) == picture(number) and record["number"] == number and record["label"] == number % 2


def test_a_generator_is_written_in_its_order(tmp_path):
    samples = ({"image": picture(number), "label": number % 2, "number": number} for number in range(30))
    summary = ffkit.convert.from_iterable(samples, tmp_path / "set", progress=False)
    assert summary.num_records == 30
    check(tmp_path / "set", "train", range(30))


def test_an_iterable_dataset_of_hugging_face_keeps_bytes_and_classes(tmp_path):
    samples = datasets.IterableDataset.from_generator(rows, features=FEATURES, gen_kwargs={"begin": 5, "end": 40})
    ffkit.convert.from_iterable(samples, tmp_path / "set", split="val", progress=False)
    check(tmp_path / "set", "val", range(5, 40))
    assert [str(name) for name in ffkit.Dataset(tmp_path / "set", split="val").classes] == ["cat", "dog"]


def test_an_iterable_dataset_of_torch_gives_tuples(tmp_path):
    class Numbers(torch.utils.data.IterableDataset):
        def __iter__(self):
            return ((torch.arange(number), number) for number in range(20))

    ffkit.convert.from_iterable(Numbers(), tmp_path / "set", fields=("values", "label"), progress=False)
    for number, record in enumerate(ffkit.Dataset(tmp_path / "set", split="train")):
        assert record["values"].tolist() == list(range(number)) and record["label"] == number


def test_what_gives_no_samples_is_refused(tmp_path):
    for samples in ({"image": 1}, "text", 5, lambda: iter([])):
        with pytest.raises(TypeError, match="expected an iterable of samples"):
            ffkit.convert.from_iterable(samples, tmp_path / "set")
    with pytest.raises(TypeError, match="sample 0 is int"):
        ffkit.convert.from_iterable([1], tmp_path / "set", progress=False)

    def broken():
        yield {"a": 1}
        raise OSError("no more")

    with pytest.raises(OSError, match="no more") as raised:
        ffkit.convert.from_iterable(broken(), tmp_path / "set", progress=False)
    assert "while reading sample 1" in raised.value.__notes__[0]
    assert not (tmp_path / "set" / "train").exists()


@pytest.mark.parametrize("is_streamed", [False, True])
def test_a_dict_of_splits_becomes_a_data_set(tmp_path, is_streamed):
    kind = datasets.IterableDataset if is_streamed else datasets.Dataset
    splits = {
        "train": kind.from_generator(rows, features=FEATURES, gen_kwargs={"begin": 0, "end": 12}),
        "validation": kind.from_generator(rows, features=FEATURES, gen_kwargs={"begin": 12, "end": 20}),
    }
    if not is_streamed:
        splits = datasets.DatasetDict(splits)
    summaries = ffkit.convert.from_dataset_dict(splits, tmp_path / "set", progress=False)
    assert {name: summary.num_records for name, summary in summaries.items()} == {"train": 12, "val": 8}
    check(tmp_path / "set", "val", range(12, 20))
    with pytest.raises(ValueError, match="would become 'val'"):
        ffkit.convert.from_dataset_dict({"val": [], "valid": []}, tmp_path / "other")
