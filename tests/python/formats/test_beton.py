"""beton files of FFCV, written as ffcv/writer.py writes them and compared sample by sample with a reader in NumPy that follows ffcv/reader.py.
(FFCV itself needs Numba, OpenCV and a compiler.)"""
import io
import json

import numpy as np
import PIL.Image
import pytest

import ffkit
import ffkit.convert

HEADER = np.dtype([("version", "<u2"), ("num_fields", "<u2"), ("page_size", "<u4"), ("num_samples", "<u8"), ("alloc_table_ptr", "<u8")], align=True)
ALLOCATION = np.dtype([("sample_id", "<u8"), ("ptr", "<u8"), ("size", "<u8")])
DESCRIPTOR = np.dtype([("type_id", "<u1"), ("name", ("<u1", 16)), ("arguments", ("<u1", (1024,)))], align=True)
ARRAY_ARGUMENTS = np.dtype([("shape", "<u8", 32), ("type_length", "<u8")])
IMAGE = np.dtype([("mode", "<u1"), ("width", "<u2"), ("height", "<u2"), ("data_ptr", "<u8")])
BYTES = np.dtype([("ptr", "<u8"), ("size", "<u8")])
FLOAT, INT, RGB, BLOB, ARRAY, JSON, TENSOR = range(7)
ROWS = {FLOAT: "<f8", INT: "<i8", RGB: IMAGE, BLOB: BYTES, ARRAY: "<u8", JSON: BYTES, TENSOR: "<u8"}


class Pages:
    """ffcv/memory_allocator.py, of one worker."""

    def __init__(self, start, page_size):
        self.start, self.page_size = -(-start // page_size) * page_size, page_size
        self.pages, self.left, self.allocations = [], 0, []

    def malloc(self, sample, data):
        if len(data) > self.left:
            self.pages.append(bytearray())
            self.left = self.page_size
        place = self.start + (len(self.pages) - 1) * self.page_size + (len(self.pages[-1]) if self.pages else 0)
        if self.pages:
            self.pages[-1] += data
        self.left -= len(data)
        self.allocations.append((sample, place & (1 << 64) - 1, len(data)))
        return place & (1 << 64) - 1


def write(path, fields, samples, page_size=1 << 21):
    """`fields`: name, type and, of arrays, dtype and shape; `samples` as ffcv's Field.encode() takes them, pictures as (mode, array or JPEG, height, width)."""
    descriptors = np.zeros(len(fields), DESCRIPTOR)
    for descriptor, (name, kind, *array) in zip(descriptors, fields):
        descriptor["type_id"] = kind
        name = name.encode("ascii")[:16]
        descriptor["name"][: len(name)] = np.frombuffer(name, np.uint8)
        if array:
            arguments = np.zeros(1, ARRAY_ARGUMENTS)
            arguments["shape"][0][: len(array[1])] = array[1]
            encoded = json.dumps(np.dtype(array[0]).descr).encode()
            arguments["type_length"] = len(encoded)
            everything = arguments.tobytes() + encoded
            descriptor["arguments"][: len(everything)] = np.frombuffer(everything, np.uint8)
    rows = np.zeros(len(samples), np.dtype([("", ROWS[kind]) for _, kind, *_ in fields], align=True))
    pages = Pages(HEADER.itemsize + descriptors.nbytes + rows.nbytes, page_size)
    for number, sample in enumerate(samples):
        for column, (_, kind, *_), value in zip(rows.dtype.names, fields, sample):
            if kind in (FLOAT, INT):
                rows[column][number] = value
            elif kind == RGB:
                mode, data, height, width = value
                rows[column][number] = (mode, width, height, pages.malloc(number, data if isinstance(data, bytes) else data.tobytes()))
            elif kind in (BLOB, JSON):
                data = (json.dumps(value) + "\0").encode() if kind == JSON else value
                rows[column][number] = (pages.malloc(number, data), len(data))
            else:
                rows[column][number] = pages.malloc(number, value.tobytes())
    body = descriptors.tobytes() + rows.tobytes()
    body += bytes(pages.start - HEADER.itemsize - len(body)) + b"".join(bytes(page).ljust(page_size, b"\0") for page in pages.pages)
    header = np.array([(2, len(fields), page_size, len(samples), HEADER.itemsize + len(body))], HEADER)
    path.write_bytes(header.tobytes() + body + np.array(pages.allocations, ALLOCATION).tobytes())


class Reader:
    """ffcv/reader.py, and what the decoders of ffcv/fields/*.py take from memory."""

    def __init__(self, path):
        self.data = path.read_bytes()
        header = np.frombuffer(self.data, HEADER, 1)[0]
        descriptors = np.frombuffer(self.data, DESCRIPTOR, header["num_fields"], HEADER.itemsize)
        self.names = [descriptor["name"].tobytes().decode().split("\0")[0] for descriptor in descriptors]
        self.descriptors = descriptors
        rows = np.dtype([("", ROWS[int(descriptor["type_id"])]) for descriptor in descriptors], align=True)
        self.rows = np.frombuffer(self.data, rows, header["num_samples"], HEADER.itemsize + descriptors.nbytes)
        allocations = np.frombuffer(self.data, ALLOCATION, -1, int(header["alloc_table_ptr"]))
        self.sizes = {}
        for place, size in zip(allocations["ptr"].tolist(), allocations["size"].tolist()):
            self.sizes[place] = max(size, self.sizes.get(place, 0))

    def read(self, place, size):
        return self.data[int(place) : int(place) + int(size)] if size else b""

    def value(self, number, field):
        kind, stored = int(self.descriptors[field]["type_id"]), self.rows[f"f{field}"][number]
        if kind in (FLOAT, INT):
            return stored.item()
        if kind in (BLOB, JSON):
            data = self.read(stored["ptr"], stored["size"])
            return data if kind == BLOB else data[:-1].decode()
        if kind == RGB:
            data = self.read(stored["data_ptr"], self.sizes[int(stored["data_ptr"])])
            return data if stored["mode"] == 0 else np.frombuffer(data, np.uint8).reshape(stored["height"], stored["width"], 3)
        arguments = self.descriptors[field]["arguments"]
        header = np.frombuffer(arguments.tobytes(), ARRAY_ARGUMENTS, 1)[0]
        described = arguments.tobytes()[ARRAY_ARGUMENTS.itemsize :][: int(header["type_length"])]
        dtype = np.dtype(json.loads(described)[0][1])
        shape = np.trim_zeros(header["shape"], "b").astype(int).tolist()
        return np.frombuffer(self.read(stored, dtype.itemsize * int(np.prod(shape))), dtype).reshape(shape)


def picture(rng, mode, size=None):
    height, width = size or rng.integers(3, 50, 2).tolist()
    pixels = rng.integers(0, 256, (height, width, 3), np.uint8)
    if mode == 1:
        return (1, pixels, height, width)
    file = io.BytesIO()
    PIL.Image.fromarray(pixels).save(file, "JPEG", quality=90)
    return (0, file.getvalue(), height, width)


def converted(src, dst, split="train", **options):
    notes = []
    ffkit.convert.beton(src, dst, order="sequential", progress=False, on_note=notes.append, **options)
    return ffkit.Dataset(dst, split), notes


def assert_equal(found, value):
    if isinstance(value, np.ndarray) and isinstance(found, bytes):
        found = np.asarray(PIL.Image.open(io.BytesIO(found)))
    if isinstance(value, np.ndarray):
        assert found.shape == value.shape and found.tobytes() == value.tobytes()
        assert found.dtype == (np.uint8 if value.dtype == bool else value.dtype)
    else:
        assert found == value


ARRAYS = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64"]


def test_every_field_of_every_sample_is_ffcvs(tmp_path):
    rng = np.random.default_rng(1)
    fields = [("image", RGB), ("label", INT), ("weight", FLOAT), ("blob", BLOB), ("thumb", RGB), ("text", JSON)]
    fields += [(f"a_{name}", TENSOR if number % 2 else ARRAY, name, (2, 3)[: number % 3]) for number, name in enumerate(ARRAYS) if number % 3]
    src = tmp_path / "src"
    src.mkdir()
    for split, count in (("train_400", 1100), ("val_400", 150)):
        samples = []
        for number in range(count):
            sample = [picture(rng, number % 2), number % 11, rng.normal(), rng.bytes(int(rng.integers(0, 40))) if number % 4 else b"", picture(rng, 1, (2, 2))]
            sample.append({"number": number, "text": "grüße \0 \n", "list": [1, 2.5, None]})
            sample += [rng.integers(0, 100, array[1]).astype(array[0]) for _, kind, *array in fields if array]
            samples.append(sample)
        write(src / f"{split}.ffcv", fields, samples)
    converted(src, tmp_path / "dst", image_column="image")
    compared = 0
    for split in ("train", "val"):
        reader, data = Reader(src / f"{split}_400.ffcv"), ffkit.Dataset(tmp_path / "dst", split)
        assert len(reader.rows) == len(data)
        for number, sample in enumerate(data):
            for field, name in enumerate(reader.names):
                assert_equal(sample[name], reader.value(number, field))
                compared += 1
            assert sample["id"] == f"{split}_400.ffcv: {number}"
    assert compared == 1250 * len(fields)


def test_labels_and_classes(tmp_path):
    rng = np.random.default_rng(2)
    write(tmp_path / "train.beton", [("picture", RGB), ("y", INT)], [[picture(rng, 0), 1 + number % 3] for number in range(30)])
    (tmp_path / "classes.txt").write_text("cat\ndog\nbird\n")
    data, notes = converted(tmp_path / "train.beton", tmp_path / "dst", label_offset=-1, classes=tmp_path / "classes.txt")
    assert data.classes == ["cat", "dog", "bird"] and [sample["label"] for sample in data] == [number % 3 for number in range(30)]
    assert any("the label is column 'y' (3 classes)" in note for note in notes)


def test_a_file_whose_writing_was_interrupted_is_refused(tmp_path):
    rng = np.random.default_rng(3)
    write(tmp_path / "train.beton", [("image", RGB)], [[picture(rng, 0)] for _ in range(10)])
    whole = (tmp_path / "train.beton").read_bytes()
    (tmp_path / "train.beton").write_bytes(whole[:16] + bytes(8) + whole[24:])
    with pytest.raises(ffkit.Error, match="is incomplete"):
        converted(tmp_path / "train.beton", tmp_path / "dst")
    (tmp_path / "train.beton").write_bytes(whole[: 1 << 21])
    with pytest.raises(ffkit.Error, match="is cut short"):
        converted(tmp_path / "train.beton", tmp_path / "dst")


def test_damage_makes_errors_or_bad_samples(tmp_path):
    rng = np.random.default_rng(4)
    write(tmp_path / "train.beton", [("image", RGB), ("blob", BLOB), ("label", INT)], [[picture(rng, i % 2), b"abc", i] for i in range(20)])
    whole = bytearray((tmp_path / "train.beton").read_bytes())
    rows = 24 + 3 * DESCRIPTOR.itemsize
    for number in range(60):
        damaged = bytearray(whole)
        at = int(rng.integers(0, 24)) if number % 3 == 0 else int(rng.integers(rows, rows + 20 * 40)) if number % 3 == 1 else len(whole) - 1 - number
        damaged[at] ^= 1 << number % 8
        (tmp_path / "train.beton").write_bytes(damaged)
        try:
            data, _ = converted(tmp_path / "train.beton", tmp_path / f"dst{number}", bad_samples="skip")
        except ffkit.Error as error:
            assert "train.beton" in str(error) or "label" in str(error)
        else:
            assert len(data) <= 20
