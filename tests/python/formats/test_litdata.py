"""ffconvert litdata against LitData: every leaf of every sample, in the library's order."""
import io
import json
import pathlib

import litdata
import numpy
import PIL.Image
import pytest
import torch
from litdata.streaming.item_loader import TokensLoader
from litdata.streaming.serializers import _SERIALIZERS
from litdata.streaming.writer import BinaryWriter
from litdata.types import File, Image, Jpeg, JpegArray, Text

import conversion
import ffkit
from conversion import Refused

pytestmark = pytest.mark.filterwarnings("ignore")  # torch's, of buffers that LitData shares
TORCH = [torch.float32, torch.float64, torch.float16, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.bool, torch.uint16]
NUMPY = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64", "bool"]


def picture(rng, mode="RGB"):
    size = (int(rng.integers(4, 20)), int(rng.integers(4, 20)))
    if mode == "I;16":
        return PIL.Image.fromarray(rng.integers(0, 65536, size, numpy.uint16))
    return PIL.Image.fromarray(rng.integers(0, 256, size + (3,), numpy.uint8)).convert(mode)


def jpeg(rng):
    file = io.BytesIO()
    picture(rng).save(file, "jpeg")
    return file.getvalue()


def array(rng, dtype, shape):
    return (rng.integers(0, 2, shape) if dtype == "bool" else rng.integers(0, 100, shape)).astype(dtype)


def sample(i):
    """All types: the pictures' files are kept beside it, since LitData gives pixels."""
    rng = numpy.random.default_rng(i)
    nested = [[1, 2, i], ["a", "ü" * (i % 3)], [0.5, 1.0], [True, False], {"a": {"b": None, "c": [i]}}, [{"x": i, "y": None, "z": "\n\"\\"}, {"x": 1.5, "y": True, "z": "b"}], [], [1, "mixed", None]]
    return {
        "label": i % 10,
        "real": float([rng.normal(), float("nan"), float("inf"), 1e300][i % 4]),
        "flag": i % 3 == 0,
        "text": "grün " * (i % 7),
        "document": Text(text=f"document {i}"),
        "data": rng.bytes(1 + i % 50),
        "file": File(bytes=rng.bytes(1 + i % 20)),
        "image": Jpeg(bytes=jpeg(rng)),
        "any_image": Image(bytes=jpeg(rng)),
        "pixels": picture(rng),
        "grey": picture(rng, ["L", "P", "1"][i % 3]),
        "wide": picture(rng, "I;16"),
        "frames": JpegArray(images=[Jpeg(bytes=jpeg(rng)) for _ in range(1 + i % 3)]),
        "json": nested[i % len(nested)] if i % 100 else [1],
        "inner": {"a": i, "b": (float(i), [i, i + 1])},
        **{f"t{n}": torch.from_numpy(array(rng, "uint8", (1 + i % 3, 2))).to(dtype) for n, dtype in enumerate(TORCH)},
        **{f"t1_{n}": torch.from_numpy(array(rng, "uint8", (i % 9,))).to(dtype) for n, dtype in enumerate(TORCH)},
        **{f"n_{dtype}": array(rng, dtype, (2, 1 + i % 3)) for dtype in NUMPY},
        **{f"n1_{dtype}": array(rng, dtype, (i % 9,)) for dtype in NUMPY},
        "scalar": torch.tensor(float(i)),
    }


def write(folder, samples, item_loader=None, chunk_size=64, **options):
    writer = BinaryWriter(str(folder), chunk_size=chunk_size, item_loader=item_loader, **options)
    for i, one in enumerate(samples):
        writer[i] = one
    writer.done()
    writer.merge()
    return json.loads((pathlib.Path(folder) / "index.json").read_text())


def leaves(value, prefix=""):
    """As the columns are called."""
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, (list, tuple)):
        items = enumerate(value)
    else:
        return {prefix or "value": value}
    found = {}
    for key, item in items:
        found |= leaves(item, f"{prefix}/{key}" if prefix else str(key))
    return found


def decoded(data, mode=None):
    image = PIL.Image.open(io.BytesIO(data))
    return numpy.asarray(image.convert(mode) if mode else image)


def same(ours, value, name, format):
    if format in ("jpeg", "image"):
        numpy.testing.assert_array_equal(decoded(ours, "RGB"), value.permute(1, 2, 0).numpy())
    elif format == "pil":
        numpy.testing.assert_array_equal(decoded(ours), numpy.asarray(value.convert("L") if value.mode == "1" else value))
    elif format == "jpeg_array":
        assert len(ours) == len(value)
        for one, other in zip(ours, value):
            same(one, other, name, "jpeg")
    elif format == "json":
        assert json.loads(ours) == value
        assert repr(json.loads(ours)) == repr(value)  # 1 is not 1.0, nor True
    elif format in ("tensor", "numpy", "no_header_tensor", "no_header_numpy"):
        value = numpy.asarray(value)
        if value.dtype == bool:
            value = value.astype(numpy.uint8)
        assert ours.dtype == value.dtype and ours.shape == value.shape, name
        numpy.testing.assert_array_equal(ours, value)
    else:
        value = bytes(value) if isinstance(value, memoryview) else value
        assert ours == value or (ours != ours and value != value), name


def convert(src, dst, *options):
    return conversion.convert("litdata", src, dst, *options)


def compare(folder, data, tmp_path, split="train"):
    """Returns how many samples are equal. Lists and dictionaries that are one leaf are a column."""
    formats = json.loads((folder / "index.json").read_text())["config"]["data_format"]
    dataset = litdata.StreamingDataset(str(folder), shuffle=False)
    records = ffkit.Dataset(data, split)
    assert len(records) == len(dataset)
    for i in range(len(records)):
        ours, theirs = dict(records[i]), dataset[i]
        ours.pop("id")
        if isinstance(theirs, dict):
            theirs = {key: Leaf(value) if key in ("json", "frames") else value for key, value in theirs.items()}
            if "inner" in theirs:
                theirs["inner"] = {"a": theirs["inner"]["a"], "b": theirs["inner"]["b"]}
        theirs = {name: value.value if isinstance(value, Leaf) else value for name, value in leaves(theirs).items()}
        assert list(theirs) == [name for name in theirs if name in ours] and len(theirs) == len(ours) == len(formats)
        for (name, value), format in zip(theirs.items(), formats):
            same(ours[name], value, name, format.split(":")[0])
    return len(records)


class Leaf:
    """A value that leaves() does not walk into."""

    def __init__(self, value):
        self.value = value


def test_all_formats_are_known():
    """A new version of the library may have more."""
    assert set(_SERIALIZERS) == {"str", "text", "bool", "int", "float", "video", "audio", "image", "nifti", "mesh", "pdf", "graph", "tifffile", "file", "pil", "jpeg", "jpeg_array", "bytes",
                                 "no_header_numpy", "numpy", "no_header_tensor", "tensor", "json", "pickle"}


def test_a_thousand_samples_of_all_types_in_many_chunks(tmp_path):
    index = write(tmp_path / "chunks", (sample(i) for i in range(1000)))
    assert len(index["chunks"]) > 10
    formats = {format.split(":")[0] for format in index["config"]["data_format"]}
    assert formats == set(_SERIALIZERS) - {"pickle", "graph", "video", "audio", "nifti", "mesh", "pdf", "tifffile"}
    notes = convert(tmp_path / "chunks", tmp_path / "data")
    assert "the column 'json' holds lists or dictionaries" in notes
    assert compare(tmp_path / "chunks", tmp_path / "data", tmp_path) == 1000
    ids = [record["id"] for record in ffkit.Dataset(tmp_path / "data", "train")]
    assert ids[0] == "chunk-0-0.bin: 0" and len(set(ids)) == 1000


@pytest.mark.parametrize("level", ["chunk", "batch", "sample"])
@pytest.mark.parametrize("compression", ["zstd", "zstd:9"])
def test_compressed_chunks_and_splits(tmp_path, compression, level):
    for split, indices in (("train", range(100)), ("valid", range(100, 130))):
        index = write(tmp_path / "chunks" / split, (sample(i) for i in indices), chunk_size=40, compression=compression, compression_level=level, compression_batch_size=16 if level == "batch" else None)
        assert index["config"]["compression"] == compression
    convert(tmp_path / "chunks", tmp_path / "data")
    assert ffkit.splits(tmp_path / "data") == ["train", "val"]
    assert compare(tmp_path / "chunks" / "train", tmp_path / "data", tmp_path) == 100
    assert compare(tmp_path / "chunks" / "valid", tmp_path / "data", tmp_path, "val") == 30


@pytest.mark.parametrize("make", [
    lambda i: (i, torch.arange(i), {"a": f"text {i}"}),
    lambda i: [i, [float(i), (i + 1,)]],
    lambda i: torch.arange(i + 1),
    lambda i: numpy.full((2, 2), i),
    lambda i: i,
])
def test_samples_of_other_structures(tmp_path, make):
    write(tmp_path / "chunks", (make(i) for i in range(20)), chunk_size=8)
    formats = json.loads((tmp_path / "chunks" / "index.json").read_text())["config"]["data_format"]
    convert(tmp_path / "chunks", tmp_path / "data", *(["--columns", "0,1/0,1/1"] if formats == ["int", "pickle"] else []))
    assert compare(tmp_path / "chunks", tmp_path / "data", tmp_path) == 20


def test_tokens_are_as_long_as_they_were_written(tmp_path):
    documents = [torch.randint(0, 50000, (5 + i,)) for i in range(50)]
    write(tmp_path / "chunks", documents, item_loader=TokensLoader(), chunk_size=400)
    notes = convert(tmp_path / "chunks", tmp_path / "data")
    assert "written for a TokensLoader" in notes
    records = ffkit.Dataset(tmp_path / "data", "train")
    for record, document in zip(records, documents, strict=True):
        numpy.testing.assert_array_equal(record["value"], document.numpy())
    # The library's blocks, cut from the same stream.
    blocks = litdata.StreamingDataset(str(tmp_path / "chunks"), item_loader=TokensLoader(block_size=5), shuffle=False)
    first = torch.cat(documents)[:5]
    assert blocks[0].tolist() == first.tolist()


def test_pickles_are_refused_or_left_out(tmp_path):
    write(tmp_path / "chunks", [{"x": i, "t": torch.ones(2, 2), "code": {1, 2}} for i in range(3)])
    with pytest.raises(Refused, match="column 'code' has the format 'pickle'.*run programs"):
        convert(tmp_path / "chunks", tmp_path / "data")
    assert "ffkit leaves out the column 'code'" in convert(tmp_path / "chunks", tmp_path / "data", "--columns", "x")
    assert [record["x"] for record in ffkit.Dataset(tmp_path / "data", "train")] == [0, 1, 2]


def test_complex_numbers_are_refused_by_name(tmp_path):
    write(tmp_path / "chunks", [{"x": i, "c": torch.ones(2, 2, dtype=torch.complex64), "d": torch.ones(2, dtype=torch.complex64)} for i in range(3)])
    with pytest.raises(Refused, match="column 'd'.*complex numbers|column 'c'.*complex numbers"):
        convert(tmp_path / "chunks", tmp_path / "data")
    convert(tmp_path / "chunks", tmp_path / "data", "--columns", "x")


def test_none_among_values(tmp_path):
    """The library writes a pickle where the first value is None, and a default where a later one is."""
    write(tmp_path / "first", [{"x": None if i == 0 else i, "t": torch.ones(2, 2)} for i in range(4)])
    with pytest.raises(Refused, match="column 'x' has the format 'pickle'"):
        convert(tmp_path / "first", tmp_path / "data")
    write(tmp_path / "later", [{"x": None if i == 2 else i, "t": torch.ones(2, 2)} for i in range(4)])
    convert(tmp_path / "later", tmp_path / "data")
    theirs = [one["x"] for one in litdata.StreamingDataset(str(tmp_path / "later"), shuffle=False)]
    assert [record["x"] for record in ffkit.Dataset(tmp_path / "data", "train")] == theirs == [0, 1, 0, 3]


def test_an_index_that_was_edited_and_a_missing_chunk(tmp_path):
    write(tmp_path / "chunks", [(i, torch.ones(2, 2)) for i in range(30)], chunk_size=10)
    index = tmp_path / "chunks" / "index.json"
    edited = json.loads(index.read_text())
    edited["chunks"][1]["chunk_size"] = 7
    index.write_text(json.dumps(edited))
    assert "3 samples are left out: they are in its files" in convert(tmp_path / "chunks", tmp_path / "fewer")
    assert [record["0"] for record in ffkit.Dataset(tmp_path / "fewer", "train")] == [*range(17), *range(20, 30)]
    edited["chunks"][1]["chunk_size"] = 11
    index.write_text(json.dumps(edited))
    with pytest.raises(Refused, match="the file has 10 samples, but index.json says 11 samples"):
        convert(tmp_path / "chunks", tmp_path / "more")
    (tmp_path / "chunks" / "chunk-0-2.bin").unlink()
    with pytest.raises(Refused, match="1 of the 3 files that index.json lists are missing, for example 'chunk-0-2.bin'"):
        convert(tmp_path / "chunks", tmp_path / "missing")


def test_what_is_not_read_is_refused_by_name(tmp_path):
    write(tmp_path / "chunks", [(i, torch.ones(2, 2)) for i in range(30)], chunk_size=10)
    index = tmp_path / "chunks" / "index.json"
    made = index.read_text()
    for key, value, expected in [("encryption", {"level": "sample"}, "encrypted"), ("item_loader", "ParquetLoader", "item loader 'ParquetLoader'"), ("compression", "lz4", "compression 'lz4'"),
                                 ("compression_level", "file", "compression_level 'file'"), ("data_format", ["int", "mine"], "'mine', which LitData does not define")]:
        edited = json.loads(made)
        edited["config"][key] = value
        index.write_text(json.dumps(edited))
        with pytest.raises(Refused, match=expected):
            convert(tmp_path / "chunks", tmp_path / "data")
