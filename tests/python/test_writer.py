"""ffkit.Writer: what goes in comes out, and nothing half-written looks whole."""
import io
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import ffkit
from conftest import files_of

PIL = pytest.importorskip("PIL.Image")
DTYPES = {"u8": "uint8", "i8": "int8", "u16": "uint16", "i16": "int16", "u32": "uint32", "i32": "int32", "u64": "uint64", "i64": "int64",
          "f16": "float16", "f32": "float32", "f64": "float64"}  # fmt: skip


def picture(seed=0, height=20, width=31):
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)


def encoded(array, kind="JPEG"):
    file = io.BytesIO()
    PIL.fromarray(array).save(file, kind)
    return file.getvalue()


def test_every_type_comes_back(tmp_path):
    jpeg = encoded(picture(1))
    schema = {
        "image": "image", "text": "string", "raw": "bytes", "pictures": "list[image]", "words": "list[string]", "blobs": "list[bytes]",
        "clouds": "list[tensor[f32]]", **{f"n_{name}": name for name in DTYPES}, **{f"t_{name}": f"tensor[{name}]" for name in DTYPES},
    }  # fmt: skip
    sample = {
        "image": jpeg, "text": "grüße", "raw": b"\0\1", "pictures": [jpeg, encoded(picture(2), "PNG")], "words": ["a", ""], "blobs": [b"", b"x"],
        "clouds": [np.ones((2, 3), np.float32), np.zeros((0, 3), np.float32)], **{f"n_{name}": 7 for name in DTYPES},
        **{f"t_{name}": np.arange(6, dtype=dtype).reshape(2, 3) for name, dtype in DTYPES.items()},
    }  # fmt: skip
    with ffkit.Writer(tmp_path / "out", schema=schema) as writer:
        assert writer.write(sample) == 0
        assert writer.write({"text": "alone"}) == 1
    back, alone = ffkit.Dataset(tmp_path / "out", "train")
    for name, value in sample.items():
        if name == "clouds":
            assert [item.tolist() for item in back[name]] == [item.tolist() for item in value]
        elif isinstance(value, np.ndarray):
            assert back[name].dtype == value.dtype and back[name].tolist() == value.tolist()
        else:
            assert back[name] == value, name
    assert alone == {**dict.fromkeys(sample), "text": "alone"}


def test_pixels_are_kept(tmp_path):
    array = picture(3)
    grey = array[:, :, 0]
    values = [array, array[::2, ::-1], PIL.fromarray(array), PIL.fromarray(grey), grey, grey[:, :, None], PIL.fromarray(array).convert("RGBA")]
    for pixels in ("png", "raw"):
        with ffkit.Writer(tmp_path / pixels, schema={"image": "image"}, pixels=pixels) as writer:
            for value in values:
                writer.write({"image": value})
        read = [ffkit.decode_image(sample["image"]) for sample in ffkit.Dataset(tmp_path / pixels, "train")]
        for value, back in zip(values, read):
            expected = np.asarray(PIL.fromarray(value.squeeze()) if isinstance(value, np.ndarray) else value).copy()
            expected = np.asarray(PIL.fromarray(expected).convert("RGB"))
            assert np.array_equal(back, expected)


def test_pictures_of_16_bits_keep_them_where_the_batch_asks(tmp_path):
    labels = np.arange(31 * 20, dtype=np.uint16).reshape(20, 31) * 100
    labels[:10] //= 200  # 0 .. 155, whose high bytes are 0
    image = PIL.fromarray(labels)
    assert image.mode == "I;16"
    with ffkit.Writer(tmp_path / "out", schema={"image": "image", "mask": "image"}) as writer:
        writer.write({"image": encoded(labels, "PNG"), "mask": image})
    ds = ffkit.Dataset(tmp_path / "out", "train")
    whole = ffkit.Resize((20, 31))
    fields = {
        "mask": ffkit.ImageField("mask", ffkit.ImageOptions(whole, dtype="i32")),
        "bytes": ffkit.ImageField("mask", ffkit.ImageOptions(whole, dtype="u8")),
        "floats": ffkit.ImageField("mask", ffkit.ImageOptions(whole, dtype="f32", normalize=False)),
    }
    batch = next(iter(ffkit.Loader(ds, batch_size=1, image=ffkit.ImageOptions(whole, dtype="u16"), label_field=None, fields=fields, arrays="numpy")))
    assert batch["image"].dtype == np.uint16 and batch["mask"].dtype == np.int32
    for channel in range(3):
        assert np.array_equal(batch["image"][0, channel], labels) and np.array_equal(batch["mask"][0, channel], labels)
        assert np.array_equal(batch["bytes"][0, channel], labels >> 8)
        assert np.allclose(batch["floats"][0, channel] * 65535, labels, atol=0.01)


def test_pixels_as_jpeg_have_their_quality(tmp_path):
    sizes = []
    for quality in (20, 95):
        with ffkit.Writer(tmp_path / str(quality), schema={"image": "image"}, pixels="jpeg", jpeg_quality=quality) as writer:
            writer.write({"image": picture(4, 64, 64)})
        data = ffkit.Dataset(tmp_path / str(quality), "train")[0]["image"]
        assert data[:3] == b"\xff\xd8\xff"
        sizes.append(len(data))
    assert sizes[0] < sizes[1]
    with pytest.raises(ValueError, match="jpeg_quality works only"):
        ffkit.Writer(tmp_path / "idle", schema={"image": "image"}, jpeg_quality=20)


def test_pictures_are_resized(tmp_path):
    with ffkit.Writer(tmp_path / "out", schema={"image": "image"}, max_resolution=10) as writer:
        writer.write({"image": encoded(picture(5, 40, 20))})
    assert ffkit.decode_image(ffkit.Dataset(tmp_path / "out", "train")[0]["image"]).shape == (10, 5, 3)


def test_schema_is_told_by_the_first_sample(tmp_path):
    sample = {
        "image": PIL.fromarray(picture()), "jpeg": encoded(picture()), "label": 3, "flag": True, "weight": 0.5, "small": np.int16(4), "id": "s1",
        "note": "x", "raw": b"abc", "points": np.zeros((4, 3), np.float16), "tokens": [1, 2, 3], "shares": [[0.5, 0.5]], "words": ["a"],
        "views": [PIL.fromarray(picture())], "clouds": [np.zeros(2, np.float32)],
    }  # fmt: skip
    with ffkit.Writer(tmp_path / "out") as writer:
        writer.write(sample)
    field = ffkit.Field
    assert ffkit.Dataset(tmp_path / "out", "train").schema == {
        "image": field("image"), "jpeg": field("image"), "label": field("scalar", "i64", True), "flag": field("scalar", "u8", True),
        "weight": field("scalar", "f64", True), "small": field("scalar", "i16", True), "id": field("string", column=True), "note": field("string"),
        "raw": field("bytes"), "points": field("tensor", "f16"), "tokens": field("tensor", "i64"), "shares": field("tensor", "f64"),
        "words": field("list", item="string"), "views": field("list", item="image"), "clouds": field("list", "f32", item="tensor"),
    }  # fmt: skip


def test_schema_of_another_data_set_is_taken(tmp_path, data):
    source = ffkit.Dataset(data, "val")
    with ffkit.Writer(tmp_path / "out", "val", source.schema, classes=source.classes) as writer:
        for sample in source:
            writer.write(sample)
    copy = ffkit.Dataset(tmp_path / "out", "val")
    assert copy.classes == source.classes
    assert [copy[i] for i in range(len(source))] == [source[i] for i in range(len(source))]


@pytest.mark.parametrize(
    ("schema", "sample", "error", "text"),
    [
        ({"a": "i8"}, {"a": 200}, ValueError, "cannot hold 200"),
        ({"a": "i64"}, {"a": 1.5}, ValueError, "cannot hold 1.5"),
        ({"a": "i64"}, {"a": "1"}, TypeError, "'a' is a number"),
        ({"a": "tensor[f32]"}, {"a": np.zeros(3)}, ValueError, "got an array of f64"),
        ({"a": "tensor[u8]"}, {"a": [1, 300]}, ValueError, "cannot hold these"),
        ({"a": "string"}, {"a": b"x"}, TypeError, "is of type string; got bytes"),
        ({"a": "list[string]"}, {"a": "x"}, TypeError, "is of type list"),
        ({"a": "image"}, {"a": np.zeros((2, 2, 3))}, ValueError, "expected uint8"),
        ({"a": "image"}, {"a": PIL.fromarray(np.zeros((2, 2), np.float32))}, ValueError, "more than 8 bits"),
        ({"a": "i64"}, {"b": 1}, ValueError, "'b', which the schema does not have"),
        (None, {"a": None}, TypeError, "Give a schema"),
        (None, {"a": object()}, TypeError, "cannot be stored"),
        (None, {"a": []}, ValueError, "empty list"),
        (None, {}, ValueError, "empty"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_and_the_writer_goes_on(tmp_path, schema, sample, error, text):
    with ffkit.Writer(tmp_path / "out", schema=schema) as writer:
        with pytest.raises(error, match=text):
            writer.write(sample)
        writer.write({"a": {"i8": 1, "i64": 1, "string": "x", "image": picture(), "list[string]": [], "tensor[f32]": np.zeros(1, np.float32),
                            "tensor[u8]": [1], None: 1}[schema and schema["a"]]})  # fmt: skip
    assert len(ffkit.Dataset(tmp_path / "out", "train")) == 1


@pytest.mark.parametrize("spec", ["jpeg", "tensor", "list[i64]", "tensor[f8]"])
def test_unknown_types_are_refused(tmp_path, spec):
    with pytest.raises(ValueError, match="is not a type"):
        ffkit.Writer(tmp_path / "out", schema={"a": spec})
    assert not (tmp_path / "out").exists()


def test_output_does_not_depend_on_threads(tmp_path):
    for threads in (1, 4):
        with ffkit.Writer(tmp_path / str(threads), schema={"image": "image", "label": "i64"}, num_threads=threads, shard_size="1M", zstd=1) as writer:
            for i in range(80):
                writer.write({"image": picture(i, 70, 70 + i), "label": i})
    assert files_of(tmp_path / "1") == files_of(tmp_path / "4")
    assert ffkit.Dataset(tmp_path / "1", "train").column("label").tolist() == list(range(80))
    assert len(list((tmp_path / "1" / "train").glob("shard-*.ffr"))) > 1


def test_arrays_may_change_after_write(tmp_path):
    array = np.zeros(100_000, np.int64)
    with ffkit.Writer(tmp_path / "out", schema={"a": "tensor[i64]"}) as writer:
        for i in range(50):
            array[:] = i
            writer.write({"a": array})
    assert [sample["a"][-1] for sample in ffkit.Dataset(tmp_path / "out", "train")] == list(range(50))


def test_an_exception_leaves_nothing(tmp_path):
    with pytest.raises(KeyError):
        with ffkit.Writer(tmp_path / "out", schema={"a": "i64"}) as writer:
            writer.write({"a": 1})
            with pytest.raises(ffkit.Error, match="has not finished"):
                ffkit.Dataset(tmp_path / "out", "train")
            raise KeyError("mine")
    assert not (tmp_path / "out").exists()
    with pytest.raises(ValueError, match="closed"):
        writer.write({"a": 1})


def test_a_broken_picture_is_named_and_nothing_stays(tmp_path):
    with pytest.raises(ffkit.Error, match="record 3: field 'image'") as caught:
        with ffkit.Writer(tmp_path / "out", schema={"image": "image"}, check_images="decode") as writer:
            for i in range(8):
                jpeg = encoded(picture(i))
                writer.write({"image": jpeg[:200] if i == 3 else jpeg})
    assert caught.value.record == 3
    assert not (tmp_path / "out").exists()


def test_other_splits_stay(tmp_path):
    for split in ("train", "val"):
        with ffkit.Writer(tmp_path, split, {"a": "i64"}) as writer:
            writer.write({"a": 1})
    assert ffkit.splits(tmp_path) == ["train", "val"]
    before = files_of(tmp_path)
    with pytest.raises(ffkit.Error, match="already contains a split"):
        ffkit.Writer(tmp_path, "val", {"a": "i64"})
    assert files_of(tmp_path) == before
    with pytest.raises(ValueError, match="no sample was written"):
        with ffkit.Writer(tmp_path, "test"):
            pass
    assert files_of(tmp_path) == before


def test_forgetting_to_close_warns(tmp_path):
    writer = ffkit.Writer(tmp_path / "out", schema={"a": "i64"})
    writer.write({"a": 1})
    with pytest.warns(ResourceWarning, match="was not closed"):
        del writer
    assert not (tmp_path / "out").exists()


def test_killed_writers_leave_nothing_that_looks_whole(tmp_path):
    code = """
import sys, ffkit
writer = ffkit.Writer(sys.argv[1], schema={"a": "bytes"}, shard_size="1M")
while True:
    writer.write({"a": bytes(100_000)})
"""
    child = subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "out")])
    while not (tmp_path / "out/train/shard-00001.ffr").exists():
        assert child.poll() is None
        time.sleep(0.01)
    child.kill()
    child.wait()
    with pytest.raises(ffkit.Error, match="run (it|the conversion) again"):
        ffkit.Dataset(tmp_path / "out", "train")
    with ffkit.Writer(tmp_path / "out", schema={"a": "bytes"}) as writer:
        writer.write({"a": b"x"})
    assert len(ffkit.Dataset(tmp_path / "out", "train")) == 1


def test_ctrl_c_in_the_block_leaves_nothing(tmp_path):
    code = """
import os, signal, sys, ffkit
try:
    with ffkit.Writer(sys.argv[1], schema={"a": "i64"}) as writer:
        for i in range(10_000_000):
            writer.write({"a": i})
            if i == 1000:
                os.kill(os.getpid(), signal.SIGINT)
except KeyboardInterrupt:
    sys.exit(0 if i < 2000 and not os.path.exists(sys.argv[1]) else 1)
"""
    assert subprocess.run([sys.executable, "-c", code, str(tmp_path / "out")], timeout=30).returncode == 0


def test_ctrl_c_ends_the_wait_for_what_is_encoded(tmp_path):
    # By one thread, pictures that take a tenth of a second each: so close() would wait for seconds.
    code = """
import os, signal, sys, threading, numpy, ffkit
noise = numpy.random.default_rng(0).integers(0, 256, (800, 800, 3), numpy.uint8)
writer = ffkit.Writer(sys.argv[1], schema={"a": "image"}, num_threads=1)
for i in range(30):
    writer.write({"a": noise})
threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    writer.close()
except KeyboardInterrupt:
    sys.exit(0 if not os.path.exists(sys.argv[1]) else 1)  # not after it, with the split written
"""
    assert subprocess.run([sys.executable, "-c", code, str(tmp_path / "out")], timeout=30).returncode == 0


def test_forked_processes_leave_the_writer_alone(tmp_path):
    with ffkit.Writer(tmp_path / "out", schema={"a": "i64"}) as writer:
        writer.write({"a": 1})
        child = os.fork()
        if child == 0:
            try:
                writer.write({"a": 2})
            except ffkit.Error:
                writer.abort()
                os._exit(0)
            os._exit(1)
        assert os.waitpid(child, 0)[1] == 0
        writer.write({"a": 3})
    assert ffkit.Dataset(tmp_path / "out", "train").column("a").tolist() == [1, 3]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_files_are_read_and_names_of_pictures_are_no_texts(tmp_path):
    picture = tmp_path / "a.png"
    PIL.new("RGB", (8, 6), (9, 8, 7)).save(picture)
    with ffkit.Writer(tmp_path / "files", split="train") as writer:
        writer.write({"image": ffkit.File(picture), "name": "a.png", "raw": picture.read_bytes()[8:]})
        with pytest.raises(FileNotFoundError):
            writer.write({"image": ffkit.File(tmp_path / "none.png"), "name": "", "raw": b""})
        writer.write({"image": ffkit.File(str(picture)), "name": "", "raw": ffkit.File(picture)})
    ds = ffkit.Dataset(tmp_path / "files", "train")
    assert ds.schema["image"].type == "image" and ds.schema["name"].type == "string" and ds.schema["raw"].type == "bytes"
    assert len(ds) == 2 and ds[0]["image"] == ds[1]["image"] == ds[1]["raw"] == picture.read_bytes()
    for sample in ({"image": "cat"}, {"file": "b/a.JPG", "label": 1}, {"x": [1.0], "png": "x"}):
        with pytest.raises(TypeError, match="looks like the name of a picture; ffkit.File"):
            with ffkit.Writer(tmp_path / "texts", split="train") as writer:
                writer.write(sample)
    with pytest.raises(TypeError, match="A path is not read; give ffkit.File"):
        with ffkit.Writer(tmp_path / "texts", split="train") as writer:
            writer.write({"image": picture})
    with pytest.raises(ValueError, match="is an address"):
        with ffkit.Writer(tmp_path / "texts", split="train") as writer:
            writer.write({"image": ffkit.File("s3://bucket/a.jpg")})
    with ffkit.Writer(tmp_path / "texts", split="train", schema={"image": "string", "x": "float32", "y": "tensor[int64]"}) as writer:
        writer.write({"image": "a.jpg", "x": 1, "y": [2]})
    assert ffkit.Dataset(tmp_path / "texts", "train").schema["y"].dtype == "i64"


def test_nulls_in_lists_cost_themselves(tmp_path):
    with pytest.warns(UserWarning, match="train: 6 items of lists were None, or had None inside, and were left out; the first in field 'texts'"):
        with ffkit.Writer(tmp_path / "dst") as writer:
            writer.write({"texts": [None, "a", None], "boxes": [[1, 2, 3, 4], [1, None, 3, 4], None], "numbers": [1, None, 2]})
            writer.write({"texts": [None], "boxes": [[5, 6, 7, 8]], "numbers": [3]})
    dataset = ffkit.Dataset(tmp_path / "dst", "train")
    assert dataset[0]["texts"] == ["a"] and dataset[0]["boxes"].tolist() == [[1, 2, 3, 4]] and dataset[0]["numbers"].tolist() == [1, 2]
    assert dataset[1]["texts"] == [] and dataset[1]["boxes"].tolist() == [[5, 6, 7, 8]]
