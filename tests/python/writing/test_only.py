"""Conversions of the samples with some ids alone: only=."""
import os
import subprocess

import pytest

import ffkit
from ffkit import convert
from conftest import files_of


def ids_of(folder, split="train"):
    return [record["id"] for record in ffkit.Dataset(folder, split)]


class Numbers(convert.Source):
    """200 samples, of which the ids are known by reading them."""

    schema = {"number": "i64", "id": "string"}

    def __init__(self):
        self.num_reads = 0

    def splits(self):
        return {"train": 200}

    def read(self, split, index):
        self.num_reads += 1
        return {"number": index, "id": f"#{index} of {split}"}


@pytest.fixture
def notes():
    return []


def test_a_path_and_ids_are_the_same_choice_and_that_of_ffconvert(tmp_path, notes):
    wanted = ["class0001/00000031.jpg", "class0000/00000010.jpg"]
    (tmp_path / "ids.txt").write_text("\n".join(reversed(wanted)) + "\n")
    options = {"images": 40, "val_images": 5, "classes": 2, "on_note": notes.append}
    for name, only in (("a", tmp_path / "ids.txt"), ("b", str(tmp_path / "ids.txt")), ("c", wanted), ("d", set(wanted)), ("e", (id for id in wanted))):
        summary = convert.demo(tmp_path / name, only=only, **options)
        assert summary.num_records == 2 and files_of(tmp_path / name) == files_of(tmp_path / "a"), name
    assert sorted(ids_of(tmp_path / "a")) == sorted(wanted)
    assert "'val' has none of these ids, so is left out" in "\n".join(notes)
    command = ["demo", tmp_path / "f", "--images", "40", "--val-images", "5", "--classes", "2", "--only", tmp_path / "ids.txt"]
    done = subprocess.run([os.environ["FFKIT_FFCONVERT"], *map(str, command)], check=True, capture_output=True, text=True)
    assert f"note: {tmp_path}/ids.txt: the samples with these ids are taken: 2 of 40 of 'train'" in done.stderr + done.stdout
    assert files_of(tmp_path / "f") == files_of(tmp_path / "a")


def test_what_is_missing_is_a_warning_and_nothing_at_all_an_error(tmp_path):
    with pytest.warns(UserWarning, match="warning: the ids given: 1 of 2 ids belongs to no sample: 'nothing'"):
        convert.demo(tmp_path / "a", images=10, val_images=0, only=["class0000/00000000.jpg", "nothing"])
    with pytest.raises(ffkit.InvalidArgumentError, match="the ids given: no sample has any of 2 ids: '3', '4', but an id of this source is 'class0000.*give ids, not record numbers"):
        convert.demo(tmp_path / "b", images=10, val_images=0, only=["3", "4"])
    for only in ([], (), ""):
        with pytest.raises(ffkit.InvalidArgumentError, match="give at least one id|'only' is empty"):
            convert.demo(tmp_path / "b", images=10, only=only)
    with pytest.raises(ffkit.NotFoundError, match="no-such-file"):
        convert.demo(tmp_path / "b", images=10, only=tmp_path / "no-such-file")
    for only, words in ((["a", 17], "an id is 17; ids are texts"), (17, "only is 17; expected a path"), (b"ids.txt", "expected a path"), ([b"a"], "an id is b'a'")):
        with pytest.raises(TypeError, match=words):
            convert.demo(tmp_path / "b", images=10, only=only)
    assert not (tmp_path / "b").exists()


def test_a_source_of_python_is_read_for_its_ids(tmp_path, notes):
    source = Numbers()
    options = {"order": "sequential", "on_note": notes.append}
    convert.from_source(source, tmp_path / "a", only=["#7 of train", "#150 of train"], **options)
    assert ids_of(tmp_path / "a") == ["#7 of train", "#150 of train"]
    assert any("200 of 200 samples are first read once to get their ids" in note for note in notes)
    assert source.num_reads >= 202
    estimate = convert.from_source(source, tmp_path / "b", only=["#7 of train"], dry_run=True, **options)
    assert estimate.num_records == 1 and not (tmp_path / "b").exists()


def test_resume_and_parts_know_the_choice(tmp_path):
    wanted = [f"class0000/{i:08}.jpg" for i in range(0, 40, 2)]
    options = {"images": 40, "val_images": 0, "classes": 2, "on_note": lambda note: None}
    convert.demo(tmp_path / "a", only=wanted, **options)
    assert convert.demo(tmp_path / "a", only=wanted, resume=True, **options).was_finished
    for other in ({}, {"only": wanted[1:]}):
        with pytest.raises(ffkit.InvalidArgumentError):
            convert.demo(tmp_path / "a", resume=True, **options, **other)


def test_records_that_refer_to_others_cannot_be_chosen(tmp_path):
    with pytest.raises(ValueError, match="'only': the records of this source refer to each other by number, so no record can be left out"):
        convert.nuscenes("nowhere", tmp_path / "a", only=["1"])
    assert "\nonly" not in (convert.nuscenes.__doc__ or "")


def test_data_sets_of_ffkit(tmp_path):
    options = {"on_note": lambda note: None}
    convert.demo(tmp_path / "a", images=10, val_images=0, classes=2, **options)
    some = ids_of(tmp_path / "a")[3:5]
    convert.transcode(tmp_path / "a", tmp_path / "b", store="dct", only=some, **options)
    assert ids_of(tmp_path / "b") == some
    with pytest.raises(ValueError, match="'only'.* is for reading FFRecord v1"):
        convert.v1(tmp_path / "a", tmp_path / "c", only=some, **options)
    convert.v1(tmp_path / "a", tmp_path / "c", **options)
    with pytest.raises(ValueError, match="'only': this option needs a field 'id'.*'image', 'label'"):
        convert.v1(tmp_path / "c", tmp_path / "d", only=some, **options)
