"""ffconvert mds against MosaicML Streaming: every field of every sample, in the library's order."""
import decimal
import io
import json
import pathlib

import numpy
import PIL.Image
import pytest
import streaming
import streaming.base.util
from streaming.base.format.mds.encodings import get_mds_encodings
from streaming.base.hashing import get_hashes

import conversion
import ffkit
from conversion import Refused

DTYPES = ["uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16", "float32", "float64"]
COLUMNS = {
    **{f"n_{dtype}": dtype for dtype in DTYPES},
    "label": "int",
    "image": "jpeg",
    "png": "png",
    "pixels": "pil",
    "grey": "pil",
    "wide": "pil",
    "frames": "jpeg_array",
    "jpegs": "list[jpeg]",
    "pngs": "list[png]",
    "raws": "list[pil]",
    "data": "bytes",
    "text": "str",
    "as_int": "str_int",
    "as_float": "str_float",
    "as_decimal": "str_decimal",
    "tree": "json",
    "array": "ndarray",
    "array_typed": "ndarray:float32",
    "array_fixed": "ndarray:uint8:3,4",
}


def picture(rng, mode="RGB"):
    size = (int(rng.integers(4, 20)), int(rng.integers(4, 20)))
    if mode == "I;16":
        return PIL.Image.fromarray(rng.integers(0, 65536, size, numpy.uint16))
    return PIL.Image.fromarray(rng.integers(0, 256, size + (3,), numpy.uint8)).convert(mode)


def jpeg(rng):
    file = io.BytesIO()
    picture(rng).save(file, "jpeg")
    return file.getvalue()


def number(rng, dtype):
    if dtype.startswith("float"):
        return numpy.dtype(dtype).type(rng.normal())
    limits = numpy.iinfo(dtype)
    return rng.integers(limits.min, limits.max, dtype=dtype, endpoint=True)


def sample(i):
    rng = numpy.random.default_rng(i)
    opened = PIL.Image.open(io.BytesIO(jpeg(rng)))
    return {
        **{f"n_{dtype}": number(rng, dtype) for dtype in DTYPES},
        "label": i % 10,
        "image": opened,
        "png": picture(rng, "RGBA"),
        "pixels": picture(rng),
        "grey": picture(rng, ["L", "1", "P"][i % 3]),
        "wide": picture(rng, "I;16"),
        "frames": [jpeg(rng) for _ in range(1 + i % 3)],
        "jpegs": [picture(rng) for _ in range(i % 3)],
        "pngs": [picture(rng) for _ in range(i % 4)],
        "raws": [picture(rng) for _ in range(i % 2)],
        "data": rng.bytes(i % 50),
        "text": "grün " * (i % 7),
        "as_int": int(rng.integers(-1 << 62, 1 << 62)),
        "as_float": float([rng.normal(), float("nan"), float("inf"), 1e300][i % 4]),
        "as_decimal": decimal.Decimal("1.10") * i,
        "tree": {"a": [1, None, {"b": i}], "c": "ü"},
        "array": rng.integers(-99, 99, (1 + i % 3, 2), dtype=numpy.int16),
        "array_typed": rng.normal(size=(1 + i % 300,)).astype(numpy.float32),
        "array_fixed": rng.integers(0, 256, (3, 4), dtype=numpy.uint8),
    }


def decoded(data):
    return numpy.asarray(PIL.Image.open(io.BytesIO(data)))


def same_picture(stored, image):
    if image.mode == "1":
        image = image.convert("L")
    numpy.testing.assert_array_equal(decoded(stored), numpy.asarray(image))


def same(record, theirs):
    """All fields of a record, against the library's sample."""
    assert set(record) - {"id"} == set(theirs)
    for name, encoding in COLUMNS.items():
        ours, value = record[name], theirs[name]
        if encoding in ("jpeg", "png", "pil"):
            same_picture(ours, value)
        elif encoding in ("jpeg_array", "list[jpeg]", "list[png]", "list[pil]"):
            assert len(ours) == len(value), name
            for one, other in zip(ours, value):
                same_picture(one, other)
        elif encoding.startswith("ndarray"):
            assert ours.dtype == value.dtype and ours.shape == value.shape, name
            numpy.testing.assert_array_equal(ours, value)
        elif encoding == "json":
            assert json.loads(ours) == value
        elif encoding == "str_decimal":
            assert decimal.Decimal(ours) == value
        else:
            assert ours == value or (ours != ours and value != value), name


def write(folder, indices, **options):
    with streaming.MDSWriter(out=str(folder), columns=options.pop("columns", COLUMNS), **options) as writer:
        for i in indices:
            writer.write(sample(i))


def theirs(folder):
    streaming.base.util.clean_stale_shared_memory()
    return streaming.StreamingDataset(local=str(folder), batch_size=1, shuffle=False)


def convert(src, dst, *options):
    return conversion.convert("mds", src, dst, *options)


def compare(folder, data, split="train"):
    """Returns how many samples are equal."""
    dataset, records = theirs(folder), ffkit.Dataset(data, split)
    assert len(records) == len(dataset)
    for i in range(len(records)):
        same(records[i], dataset[i])
    return len(records)


def test_all_encodings_are_known():
    """A new version of the library may have more."""
    named = {encoding.split(":")[0] for encoding in COLUMNS.values()}
    assert set(get_mds_encodings()) == named | {"pkl", "jpegarray"}


def test_a_thousand_samples_of_all_types_in_many_shards(tmp_path):
    write(tmp_path / "mds", range(1000), size_limit=1 << 18)
    assert len(list((tmp_path / "mds").glob("*.mds"))) > 10
    convert(tmp_path / "mds", tmp_path / "data")
    assert compare(tmp_path / "mds", tmp_path / "data") == 1000
    ids = [record["id"] for record in ffkit.Dataset(tmp_path / "data", "train")]
    assert ids[0] == "shard.00000.mds: 0" and len(set(ids)) == 1000


@pytest.mark.parametrize("compression", ["zstd", "zstd:15", "gz:3", "bz2"])
def test_compressed_shards_and_splits(tmp_path, compression):
    for split, indices in (("train", range(60)), ("validation", range(60, 90))):
        write(tmp_path / "mds" / split, indices, compression=compression, hashes=["sha1", "xxh64"], size_limit=1 << 16)
    notes = convert(tmp_path / "mds", tmp_path / "data")
    assert "decompressed" in notes and "hashes in index.json are not checked" in notes
    assert ffkit.splits(tmp_path / "data") == ["train", "val"]
    # The library leaves decompressed shards beside the others: what it reads is compared last.
    assert compare(tmp_path / "mds" / "train", tmp_path / "data") == 60
    assert compare(tmp_path / "mds" / "validation", tmp_path / "data", "val") == 30


def test_hashes_are_those_of_the_library(tmp_path):
    known = ["blake2b", "blake2s", "md5", "sha1", "sha224", "sha256", "sha384", "sha3_224", "sha3_256", "sha3_384", "sha3_512", "sha512"]
    hashes = sorted(name for name in get_hashes() if not name.startswith("shake"))
    assert set(known) < set(hashes) and all(name in known or name.startswith("xxh") for name in hashes)
    for compression in (None, "zstd"):
        folder = tmp_path / f"mds-{compression}"
        write(folder, range(60), compression=compression, hashes=hashes, size_limit=1 << 16)
        notes = convert(folder, tmp_path / f"data-{compression}", "--check-hashes")
        compared, others = (next(line for line in notes.splitlines() if text in line) for text in ("were compared: ", "are not checked: "))
        assert all(name in compared for name in known) and "xxh" not in compared
        assert all(name in others for name in hashes if name not in known)
    shard = tmp_path / "mds-None" / "shard.00001.mds"
    damaged = bytearray(shard.read_bytes())
    damaged[-1] ^= 1
    shard.write_bytes(damaged)
    convert(tmp_path / "mds-None", tmp_path / "unseen")
    with pytest.raises(Refused, match="shard.00001.mds: the file has the blake2b .*, but .*index.json"):
        convert(tmp_path / "mds-None", tmp_path / "seen", "--check-hashes")


@pytest.mark.parametrize("compression", ["br", "snappy"])
def test_other_compressions_are_refused_until_the_library_has_decompressed(tmp_path, compression):
    write(tmp_path / "mds", range(5), compression=compression)
    with pytest.raises(Refused, match=f"is compressed with '{compression}', which ffkit cannot read"):
        convert(tmp_path / "mds", tmp_path / "data")
    for i, _ in enumerate(theirs(tmp_path / "mds")):
        assert i < 5
    convert(tmp_path / "mds", tmp_path / "data")
    assert compare(tmp_path / "mds", tmp_path / "data") == 5


def test_pickles_are_refused_or_left_out(tmp_path):
    with streaming.MDSWriter(out=str(tmp_path / "mds"), columns={"x": "int", "code": "pkl"}) as writer:
        for i in range(3):
            writer.write({"x": i, "code": {1, 2}})
    with pytest.raises(Refused, match="column 'code' has the encoding 'pkl'.*run programs"):
        convert(tmp_path / "mds", tmp_path / "data")
    notes = convert(tmp_path / "mds", tmp_path / "data", "--columns", "x")
    assert "ffkit leaves out the column 'code'" in notes
    assert [record["x"] for record in ffkit.Dataset(tmp_path / "data", "train")] == [0, 1, 2]


def test_a_merged_index_lists_the_shards_of_its_folders(tmp_path):
    for part in range(3):
        write(tmp_path / "mds" / str(part), range(10 * part, 10 * part + 10))
    streaming.base.util.merge_index(str(tmp_path / "mds"))
    notes = convert(tmp_path / "mds", tmp_path / "data")
    assert "have their own index.json" in notes
    assert compare(tmp_path / "mds", tmp_path / "data") == 30
    ids = [record["id"] for record in ffkit.Dataset(tmp_path / "data", "train")]
    assert ids[10] == "1/shard.00000.mds: 0"


def test_an_index_that_was_edited(tmp_path):
    write(tmp_path / "mds", range(30), size_limit=1 << 16)
    index = tmp_path / "mds" / "index.json"
    edited = json.loads(index.read_text())
    first = edited["shards"][0]["samples"]
    edited["shards"][0]["samples"] = first - 2  # fewer: the library reads as many as the index says
    index.write_text(json.dumps(edited))
    notes = convert(tmp_path / "mds", tmp_path / "fewer")
    assert "2 samples are left out: they are in its files" in notes
    assert compare(tmp_path / "mds", tmp_path / "fewer") == 28
    edited["shards"][0]["samples"] = first + 2
    index.write_text(json.dumps(edited))
    with pytest.raises(Refused, match=f"the file has {first} samples, but index.json says {first + 2} samples"):
        convert(tmp_path / "mds", tmp_path / "more")
    edited["shards"][0]["samples"] = 0  # a shard without samples
    index.write_text(json.dumps(edited))
    notes = convert(tmp_path / "mds", tmp_path / "none")
    assert "1 of " in notes and "have no samples in index.json" in notes
    assert compare(tmp_path / "mds", tmp_path / "none") == 30 - first


def test_a_missing_shard_is_named(tmp_path):
    write(tmp_path / "mds", range(30), size_limit=1 << 15)
    (tmp_path / "mds" / "shard.00001.mds").unlink()
    with pytest.raises(Refused, match="1 of the .* files that index.json lists are missing, for example 'shard.00001.mds'"):
        convert(tmp_path / "mds", tmp_path / "data")


def test_large_samples_and_other_array_types_are_bad_samples(tmp_path):
    with streaming.MDSWriter(out=str(tmp_path / "mds"), columns={"x": "ndarray"}) as writer:
        for i in range(6):
            writer.write({"x": numpy.zeros(3 if i != 2 else 5000, numpy.float32 if i != 4 else numpy.int8)})
    with pytest.raises(Refused, match="more than the limit of 4096 bytes"):
        convert(tmp_path / "mds", tmp_path / "data", "--max-sample-bytes", "4K")
    convert(tmp_path / "mds", tmp_path / "skipped", "--max-sample-bytes", "4K", "--bad-samples", "skip")
    assert len(ffkit.Dataset(tmp_path / "skipped", "train")) == 4
    report = (tmp_path / "skipped" / "report.jsonl").read_text()
    assert "the value is an array of i8, but earlier arrays have f32" in report


def test_what_python_refuses_is_a_bad_sample(tmp_path):
    """A str_int beyond 64 bits has no scalar here."""
    with streaming.MDSWriter(out=str(tmp_path / "mds"), columns={"x": "str_int"}) as writer:
        writer.write({"x": 5})
        writer.write({"x": 1 << 80})
    with pytest.raises(Refused, match="does not fit into 64 bits"):
        convert(tmp_path / "mds", tmp_path / "data")


def test_bytes_of_jpegs_are_kept_and_bytes_may_be_pictures(tmp_path):
    rng = numpy.random.default_rng(1)
    files = [jpeg(rng) for _ in range(20)]
    with streaming.MDSWriter(out=str(tmp_path / "mds"), columns={"x": "bytes", "y": "jpeg"}) as writer:
        for file in files:
            writer.write({"x": file, "y": file})
    convert(tmp_path / "mds", tmp_path / "data", "--image-column", "x")
    records = ffkit.Dataset(tmp_path / "data", "train")
    assert records.schema["image"] == ffkit.Field("image")
    assert [record["image"] for record in records] == [record["y"] for record in records] == files


def test_the_format_of_mds_is_told_from_litdata(tmp_path):
    (tmp_path / "index.json").write_text(json.dumps({"chunks": [], "config": {}}))
    with pytest.raises(Refused, match="has the format of LitData"):
        convert(tmp_path, pathlib.Path(str(tmp_path) + "-data"))
