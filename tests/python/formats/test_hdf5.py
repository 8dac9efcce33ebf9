"""HDF5 files, as h5py writes and reads them."""
import io

import h5py
import numpy
import PIL.Image
import pytest

import ffkit
import ffkit.convert

NUM_ROWS = 1000


def jpeg(number):
    file = io.BytesIO()
    PIL.Image.fromarray(numpy.random.default_rng(number).integers(0, 256, (9, 8, 3), dtype=numpy.uint8)).save(file, "JPEG")
    return file.getvalue()


def test_every_row_is_that_of_the_file(tmp_path):
    generator = numpy.random.default_rng(1)
    boxes = generator.random((NUM_ROWS, 3, 4), dtype=numpy.float32)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        pictures = file.create_dataset("pictures", NUM_ROWS, h5py.vlen_dtype(numpy.uint8))
        for i in range(NUM_ROWS):
            pictures[i] = numpy.frombuffer(jpeg(i), numpy.uint8)
        file["labels"] = numpy.arange(NUM_ROWS) % 7
        file["deep/boxes"] = boxes
        file["names"] = [f"row {i} \u00fc" for i in range(NUM_ROWS)]
        file["fixed"] = numpy.array([b"%04d" % i for i in range(NUM_ROWS)], "S4")
    fields = {"image": "pictures", "label": "labels", "boxes": "deep/boxes", "name": "names"}
    summary = ffkit.convert.from_hdf5(tmp_path / "a.h5", tmp_path / "set", fields, progress=False)
    assert summary.num_records == NUM_ROWS
    for number, record in enumerate(ffkit.Dataset(tmp_path / "set", split="train")):
        assert bytes(record["image"]) == jpeg(number)
        assert record["label"] == number % 7 and record["name"] == f"row {number} \u00fc"
        assert numpy.array_equal(record["boxes"], boxes[number])


def test_pictures_as_arrays_keep_their_pixels(tmp_path):
    pixels = numpy.random.default_rng(2).integers(0, 256, (70, 6, 5, 3), dtype=numpy.uint8)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["image"] = pixels
        file["label"] = numpy.arange(70)
    ffkit.convert.from_hdf5(tmp_path / "a.h5", tmp_path / "set", schema={"image": "image", "label": "i64"}, progress=False)
    for number, record in enumerate(ffkit.Dataset(tmp_path / "set", split="train")):
        assert numpy.array_equal(ffkit.decode_image(record["image"]), pixels[number])


def test_what_does_not_fit_is_refused(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["a"] = [1, 2, 3]
        file["b"] = [1, 2]
    with pytest.raises(ValueError, match="a: 3, b: 2"):
        ffkit.convert.from_hdf5(tmp_path / "a.h5", tmp_path / "set")
    with pytest.raises(KeyError, match="no dataset 'c'; the datasets are a, b"):
        ffkit.convert.from_hdf5(tmp_path / "a.h5", tmp_path / "set", {"x": "c"})
    assert not (tmp_path / "set").exists()
