"""LMDB files by the library's own Python package, compared value by value; Datum messages by protobuf."""
import io
import pickle

import lmdb
import numpy as np
import PIL.Image
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

import ffkit
import ffkit.convert

FIELDS = [("channels", 5, 1), ("height", 5, 2), ("width", 5, 3), ("data", 12, 4), ("label", 5, 5), ("float_data", 2, 6), ("encoded", 8, 7)]


def datum_class():
    """caffe.Datum of caffe.proto: name, protobuf's number of the type, number of the field."""
    file = descriptor_pb2.FileDescriptorProto(name="caffe.proto", package="caffe", syntax="proto2")
    message = file.message_type.add(name="Datum")
    for name, kind, number in FIELDS:
        message.field.add(name=name, number=number, type=kind, label=3 if name == "float_data" else 1)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("caffe.Datum"))


Datum = datum_class()


def picture(rng, kind="JPEG", size=None):
    height, width = size or rng.integers(4, 60, 2).tolist()
    file = io.BytesIO()
    PIL.Image.fromarray(rng.integers(0, 256, (height, width, 3), np.uint8)).save(file, kind)
    return file.getvalue()


def write(path, entries, **options):
    """In several transactions, with entries that are replaced and removed again: pages are reused then."""
    environment = lmdb.open(str(path), map_size=1 << 30, **options)
    entries = list(entries)
    for begin in range(0, len(entries), 250):
        with environment.begin(write=True) as transaction:
            for key, value in entries[begin : begin + 250]:
                transaction.put(key, b"another value" * 99)
                transaction.put(b"gone " + key[:100], value)
                transaction.put(key, value)
        with environment.begin(write=True) as transaction:
            for key, _ in entries[begin : begin + 250]:
                transaction.delete(b"gone " + key[:100])
    environment.close()


def read(path, **options):
    with lmdb.open(str(path), readonly=True, lock=False, **options) as environment, environment.begin() as transaction:
        return list(transaction.cursor())


def converted(src, dst, **options):
    notes = []
    ffkit.convert.lmdb(src, dst, order="sequential", progress=False, on_note=notes.append, **options)
    return ffkit.Dataset(dst, ffkit.splits(dst)[0]), notes


def test_lsun(tmp_path):
    rng = np.random.default_rng(1)
    (tmp_path / "src").mkdir()
    for folder, count in (("tower_train_lmdb", 400), ("bedroom_train_lmdb", 700), ("bedroom_val_lmdb", 60), ("tower_val_lmdb", 50)):
        write(tmp_path / "src" / folder, ((f"{rng.integers(1 << 60):040x}".encode(), picture(rng, ["JPEG", "WEBP"][i % 2])) for i in range(count)))
    converted(tmp_path / "src", tmp_path / "dst")
    compared = 0
    for split in ("train", "val"):
        expected = [(key.decode(), value, label) for label, name in enumerate(("bedroom", "tower")) for key, value in read(tmp_path / "src" / f"{name}_{split}_lmdb")]
        data = ffkit.Dataset(tmp_path / "dst", split)
        assert data.classes == ["bedroom", "tower"] and len(data) == len(expected)
        for sample, (key, value, label) in zip(data, expected):
            assert sample == {"image": value, "label": label, "id": key}
            compared += 1
    assert compared == 1210


@pytest.mark.parametrize("order", ["bgr", "rgb"])
def test_datum_pictures(tmp_path, order):
    rng = np.random.default_rng(2)
    entries = []
    for number in range(1000):
        height, width = rng.integers(2, 30, 2).tolist()
        channels = 3 if number % 3 else 1
        datum = Datum(channels=channels, height=height, width=width, label=number % 10)
        if number % 4:
            datum.data = rng.bytes(channels * height * width)
        else:
            datum.data, datum.encoded = picture(rng), True
        entries.append((f"{number:08d}".encode(), datum.SerializeToString()))
    write(tmp_path / "train_lmdb", entries)
    data, notes = converted(tmp_path / "train_lmdb", tmp_path / "dst", rgb=order == "rgb")
    expected = read(tmp_path / "train_lmdb")
    assert len(data) == len(expected) == 1000
    for sample, (key, value) in zip(data, expected):
        datum = Datum.FromString(value)
        assert sample["id"] == key.decode() and sample["label"] == datum.label
        if datum.encoded:
            assert sample["image"] == datum.data
            continue
        planes = np.frombuffer(datum.data, np.uint8).reshape(datum.channels, datum.height, datum.width)
        planes = planes[::-1] if order == "bgr" else planes
        pixels = np.asarray(PIL.Image.open(io.BytesIO(sample["image"])))
        assert np.array_equal(pixels, planes[0] if datum.channels == 1 else planes.transpose(1, 2, 0))
    assert any("750 pictures have raw pixels" in note for note in notes)


@pytest.mark.parametrize("kind", ["u8", "f32"])
def test_datum_arrays(tmp_path, kind):
    rng = np.random.default_rng(3)
    entries = []
    for number in range(1000):
        shape = (2, *rng.integers(1, 12, 2).tolist())
        datum = Datum(channels=shape[0], height=shape[1], width=shape[2], label=-1 if number == 7 else number)
        if kind == "u8":
            datum.data = rng.bytes(int(np.prod(shape)))
        else:
            datum.float_data.extend(rng.normal(size=int(np.prod(shape))).astype(np.float32).tolist())
        entries.append((f"{number:08d}".encode(), datum.SerializeToString()))
    write(tmp_path / "features", entries)
    data, _ = converted(tmp_path / "features", tmp_path / "dst")
    assert len(data) == 1000
    for sample, (_, value) in zip(data, read(tmp_path / "features")):
        datum = Datum.FromString(value)
        array = np.frombuffer(datum.data, np.uint8) if kind == "u8" else np.array(datum.float_data, np.float32)
        assert sample["data"].dtype == array.dtype and np.array_equal(sample["data"], array.reshape(datum.channels, datum.height, datum.width))
        assert sample["label"] == datum.label


def test_bytes_and_texts_of_any_length(tmp_path):
    rng = np.random.default_rng(4)
    lengths = [0, 1, 2, 1990, 2000, 2030, 2040, 4000, 4079, 4080, 4081, 4096, 8176, 8177, 100_000, *rng.integers(0, 9000, 1000).tolist()]
    entries = [(bytes([1 + number % 200]) * (number % 400 + 1) + str(number).encode(), rng.bytes(length)) for number, length in enumerate(lengths)]
    write(tmp_path / "any", entries)
    data, notes = converted(tmp_path / "any", tmp_path / "dst")
    expected = read(tmp_path / "any")
    assert len(expected) == len(data) == len(lengths)
    for sample, (key, value) in zip(data, expected):
        try:
            name = key.decode()
        except UnicodeDecodeError:
            name = "0x" + key.hex()
        assert sample == {"data": value, "id": name}
    write(tmp_path / "texts.mdb", ((f"{number}".encode(), f"grüße {number}".encode()) for number in range(300)), subdir=False)
    texts, _ = converted(tmp_path / "texts.mdb", tmp_path / "dst2", value="text")
    assert [(sample["id"].encode(), sample["text"].encode()) for sample in texts] == read(tmp_path / "texts.mdb", subdir=False)


def test_keys_that_are_numbers(tmp_path):
    with lmdb.open(str(tmp_path / "src"), max_dbs=1) as environment:
        database = environment.open_db(b"numbers", integerkey=True)
        with environment.begin(db=database, write=True) as transaction:
            for number in (300, 2, 1 << 40):
                transaction.put(number.to_bytes(8, "little"), b"value of %d" % number)
    data, notes = converted(tmp_path / "src", tmp_path / "dst")
    assert [(sample["id"], sample["data"]) for sample in data] == [("2", b"value of 2"), ("300", b"value of 300"), (str(1 << 40), b"value of %d" % (1 << 40))]
    assert any("named database, 'numbers', is used" in note for note in notes)


def test_what_scripts_keep_beside_the_pictures_is_left_out(tmp_path):
    rng = np.random.default_rng(5)
    write(tmp_path / "src", [*((b"%03d" % number, picture(rng)) for number in range(50)), (b"__len__", pickle.dumps(50)), (b"num-samples", b"50")])
    data, notes = converted(tmp_path / "src", tmp_path / "dst")
    assert len(data) == 50
    assert any("left out: '__len__', 'num-samples'" in note for note in notes)


@pytest.mark.parametrize("keys", ["image-{:09d} label-{:09d}", "{:06d}_img {:06d}_text"])
def test_pictures_and_texts_of_text_recognition(tmp_path, keys):
    """As create_lmdb_dataset.py of deep-text-recognition-benchmark writes them, and with the number first."""
    rng = np.random.default_rng(7)
    picture_key, text_key = keys.split()
    entries = []
    for number in range(1, 1101):
        entries.append((picture_key.format(number).encode(), picture(rng)))
        if number % 100:
            entries.append((text_key.format(number).encode(), f"wort {number} \u00fc".encode()))
    write(tmp_path / "training", [*entries, (b"num-samples", b"1100")])
    data, notes = converted(tmp_path / "training", tmp_path / "dst")
    entries = dict(read(tmp_path / "training"))
    field = "label" if "label" in text_key else "text"
    assert len(data) == 1100
    for number, sample in enumerate(data, 1):
        text = entries.get(text_key.format(number).encode())
        assert sample["image"] == entries[picture_key.format(number).encode()]
        assert sample[field] == (None if text is None else text.decode())
        assert int(sample["id"]) == number
    assert any("11 samples do not have all of" in note for note in notes)
    assert not any("num-samples" in note for note in notes)


def test_a_named_database_is_chosen(tmp_path):
    with lmdb.open(str(tmp_path / "src"), max_dbs=2, map_size=1 << 26) as environment:
        for name in (b"one", b"two"):
            with environment.begin(db=environment.open_db(name), write=True) as transaction:
                for number in range(1000):
                    transaction.put(b"%04d" % number, b"%s %d" % (name, number))
    for name in ("one", "two"):
        data, _ = converted(tmp_path / "src", tmp_path / name, database=name)
        with lmdb.open(str(tmp_path / "src"), max_dbs=2, readonly=True, lock=False) as environment:
            with environment.begin(db=environment.open_db(name.encode(), create=False)) as transaction:
                assert [(sample["id"].encode(), sample["data"]) for sample in data] == list(transaction.cursor())
    with pytest.raises(ffkit.Error, match="the file has no database 'three'; the databases are 'one', 'two'"):
        converted(tmp_path / "src", tmp_path / "three", database="three")


def test_what_cannot_be_taken_is_refused_by_name(tmp_path):
    write(tmp_path / "pickles", ((b"%03d" % number, pickle.dumps((b"jpeg", number))) for number in range(20)))
    with pytest.raises(ffkit.Error, match="20 of 20 values are pickles"):
        converted(tmp_path / "pickles", tmp_path / "dst")
    data, _ = converted(tmp_path / "pickles", tmp_path / "dst", value="bytes")
    assert pickle.loads(data[3]["data"]) == (b"jpeg", 3)
    with lmdb.open(str(tmp_path / "two"), max_dbs=2) as environment:
        for name in (b"one", b"two"):
            with environment.begin(db=environment.open_db(name), write=True) as transaction:
                transaction.put(b"key", b"value")
    with pytest.raises(ffkit.Error, match="contains the named databases 'one', 'two'"):
        converted(tmp_path / "two", tmp_path / "dst2")
    with lmdb.open(str(tmp_path / "several"), max_dbs=1) as environment:
        with environment.begin(db=environment.open_db(b"one", dupsort=True), write=True) as transaction:
            transaction.put(b"key", b"value")
            transaction.put(b"key", b"other")
    with pytest.raises(ffkit.Error, match="MDB_DUPSORT"):
        converted(tmp_path / "several", tmp_path / "dst3")


def test_nothing_is_written_and_damage_is_an_error(tmp_path):
    rng = np.random.default_rng(6)
    write(tmp_path / "src", ((b"%05d" % number, picture(rng)) for number in range(300)))
    (tmp_path / "src" / "lock.mdb").unlink()
    (tmp_path / "src").chmod(0o555)
    converted(tmp_path / "src", tmp_path / "dst")
    (tmp_path / "src").chmod(0o755)
    assert [path.name for path in (tmp_path / "src").iterdir()] == ["data.mdb"]
    whole = (tmp_path / "src" / "data.mdb").read_bytes()
    for number in range(80):
        damaged = bytearray(whole)
        if number % 2:
            del damaged[len(whole) * number // 80 :]
        else:
            for at in rng.integers(0, len(whole), 200).tolist():
                damaged[at] ^= 1 << number % 8
        (tmp_path / "src" / "data.mdb").write_bytes(damaged)
        try:
            data, _ = converted(tmp_path / "src", tmp_path / f"dst{number}", bad_samples="skip")
        except ffkit.Error as error:
            assert "data.mdb" in str(error) or "no sample is left" in str(error) or "src" in str(error)
        else:
            assert len(data) <= 300
