"""ffkit_reader gives what ffkit gives, to the type, the dtype and the bit."""
import importlib.util
import os
import pathlib
import pickle
import re
import subprocess
import sys

import numpy
import pytest

import ffkit

ROOT = pathlib.Path(__file__).resolve().parents[3]
GOLDEN = ROOT / "tests" / "golden" / "v2.1"
sys.path[:0] = [str(ROOT / "python" / "reader"), str(ROOT / "tests" / "contract")]

import ffkit_reader  # noqa: E402
from ffkit_reader import _zstd  # noqa: E402

from package import assert_same, with_catalog  # noqa: E402

try:
    _zstd.unpacker(b"")
    HAS_ZSTD = True
except _zstd.NoModuleError:
    HAS_ZSTD = False
needs_zstd = pytest.mark.skipif(not HAS_ZSTD, reason="this Python has no module for zstd (tools/setup --python)")


def convert(*arguments):
    subprocess.run([os.environ["FFKIT_FFCONVERT"], *map(str, arguments), "--quiet"], check=True, capture_output=True)


def compare(ours, theirs):
    """All that both say of a data set."""
    assert len(ours) == len(theirs)
    assert {name: vars(field) for name, field in ours.schema.items()} == {
        name: {key: getattr(field, key) for key in ("type", "dtype", "column", "item")} for name, field in theirs.schema.items()
    }
    for name in ("classes", "class_names", "class_ids", "path", "split", "fingerprint", "source", "conversion", "warnings", "is_subset"):
        assert getattr(ours, name) == getattr(theirs, name), name
    for mine, other in zip(ours, theirs):
        assert_same(mine, other)
    for name, field in ours.schema.items():
        for i in range(min(3, len(ours))):
            assert_same(ours.field(i, name), theirs.field(i, name))
        if field.column:
            assert_same(ours.column(name), theirs.column(name))
    assert ours.verify() == []


def both(*arguments, **options):
    return ffkit_reader.Dataset(*arguments, **options), ffkit.Dataset(*arguments, **options)


@pytest.mark.parametrize("name", ["every_type.ffr", pytest.param("zstd.ffr", marks=needs_zstd), "dataset"])
def test_golden_files(name):
    compare(*both(GOLDEN / name))


@pytest.mark.parametrize("options", [(), ("--store", "dct"), ("--store", "raw"), pytest.param(("--store", "raw", "--zstd", "3", "--zstd-dictionary", "4K"), marks=needs_zstd)])
def test_made_pictures(tmp_path, options):
    convert("demo", tmp_path / "set", "--images", 120, "--val-images", 7, "--classes", 3, "--size", 64, "--shard-size", "1M", *options)
    assert ffkit_reader.splits(tmp_path / "set") == ffkit_reader.list_splits(str(tmp_path / "set")) == ffkit.splits(tmp_path / "set")
    for split in ("train", "val"):
        compare(*both(tmp_path / "set", split))
    compare(*both(tmp_path / "set" / "val"))
    compare(*both(tmp_path / "set" / "val", "val"))


def test_keyframes(driving):
    """Fields of every kind, with nulls, under names with a slash."""
    for split in ffkit.splits(driving):
        compare(*both(driving, split))


# Of each dtype numbers at its ends, and tensors of many shapes.
def samples():
    yield {**{name: 0 for name in NUMBERS}, **{f"t_{name}": numpy.zeros(3, NUMBERS[name]) for name in NUMBERS}, "texts": [], "arrays": [], "blobs": [b""], "text": "", "data": b""}
    for i in range(1, 40):
        record = {"texts": ["ä", "", "x" * i], "arrays": [numpy.full((i, 0, 2), 1, numpy.float32), numpy.float32(i)], "blobs": [bytes(i), b"", b"abc"], "text": None if i % 5 == 0 else "日本" * i,
                  "data": os.urandom(1 << (i % 17))}
        for name, dtype in NUMBERS.items():
            info = numpy.iinfo(dtype) if dtype.kind in "iu" else numpy.finfo(dtype)
            record[name] = [info.min, info.max, 1 / i if dtype.kind == "f" else i][i % 3]
            record[f"t_{name}"] = numpy.full((i % 4, 2)[: i % 3], record[name], dtype)
        if i % 7 == 0:
            record = {name: None if name.startswith("t_") or name in ("f16", "arrays") else value for name, value in record.items()}
        yield record


NUMBERS = {name: numpy.dtype(f"{name[0]}{int(name[1:]) // 8}") for name in ("u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "f16", "f32", "f64")}


def test_written_values_of_every_type(tmp_path):
    schema = {"texts": ffkit.Field("list", item="string"), "arrays": ffkit.Field("list", "f32", item="tensor"), "blobs": ffkit.Field("list", item="bytes"), "text": ffkit.Field("string", column=True),
              "data": "bytes", **{name: ffkit.Field("scalar", name, column=True) for name in NUMBERS}, **{f"t_{name}": ffkit.Field("tensor", name) for name in NUMBERS}}
    with ffkit.Writer(tmp_path / "set", split="train", schema=schema) as writer:
        for sample in samples():
            writer.write(sample)
    compare(*both(tmp_path / "set", "train"))


def test_bfloat16(tmp_path):
    """Tensors are float32 where ml_dtypes is missing; ffkit says what is missing."""
    bits = numpy.array([0x3F80, 0xBF80, 0x7F80, 0x0001, 0x4049, 0xFF80, 0x8000], numpy.uint16)
    with ffkit.Writer(tmp_path / "set", split="train", schema={"scale": ffkit.Field("scalar", "u16", column=True), "values": ffkit.Field("tensor", "u16")}) as writer:
        for number in bits.tolist():
            writer.write({"scale": number, "values": bits.reshape(7, 1)})
    path = tmp_path / "set" / "train" / "shard-00000.ffr"
    path.write_bytes(with_catalog(path.read_bytes(), lambda catalog: [field.update(dtype="bf16") for field in catalog["schema"]["fields"]]))
    mine, theirs = both(path)
    assert_same(mine.column("scale"), theirs.column("scale"))
    wanted = [int(number) << 16 for number in bits]
    for i, number in enumerate(wanted):
        assert_same(mine.field(i, "scale"), theirs.field(i, "scale"))
        values = mine[i]["values"]
        assert values.shape == (7, 1) and values.astype(numpy.float32).view(numpy.uint32).ravel().tolist() == wanted
        assert numpy.float32(mine[i]["scale"]).view(numpy.uint32) == number
        if importlib.util.find_spec("ml_dtypes"):
            assert_same(mine[i], theirs[i])
        else:
            assert values.dtype == numpy.float32
    assert ours("cat", path, 4) == inspect("cat", path, 4)


def test_version_1(data, tmp_path):
    convert("v1", data, tmp_path / "v1")
    for split in ("train", "val"):
        compare(*both(tmp_path / "v1", split))
        compare(*both(tmp_path / "v1" / f"{split}.ffr"))
    compare(*both(tmp_path / "v1" / "val.ffr" / "PART_00000.ffr"))
    convert("v1", data, tmp_path / "raw", "--payload", "raw", "--field", "id")
    compare(*both(tmp_path / "raw", "train"))


def test_files_of_the_original(shared_data):
    folder = shared_data / "ffrecord-v1"
    if not folder.is_dir():
        pytest.skip("no ffrecord-v1 in FFKIT_SHARED_DATA")
    found = sorted(path for path in folder.rglob("*.ffr") if path.is_file())
    assert found
    for path in found:
        try:
            theirs = ffkit.Dataset(path)
        except ffkit.Error as error:
            with pytest.raises(getattr(ffkit_reader, type(error).__name__)):
                ffkit_reader.Dataset(path)
            continue
        compare(ffkit_reader.Dataset(path), theirs)


def inspect(*arguments):
    run = subprocess.run([os.environ["FFKIT_FFINSPECT"], *map(str, arguments)], capture_output=True)
    return run.returncode, run.stdout


def ours(*arguments):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python" / "reader")}
    run = subprocess.run([sys.executable, "-m", "ffkit_reader", *map(str, arguments)], capture_output=True, env=environment)
    return run.returncode, run.stdout


def test_packed_folders(shared_data):
    packed = [path for path in (shared_data / "ffrecord-v1").rglob("*") if path.is_file() and path.stat().st_size > 100 and ffkit_reader._v1.is_packed_folder(str(path))]
    if not packed:
        pytest.skip("no packed folder in FFKIT_SHARED_DATA")
    for path in packed:
        assert ours("ls", path) == inspect("ls", path)
        folder, raw = ffkit_reader.PackedFolder(str(path)), ffkit.Dataset(path)
        assert [folder.read(i) for i in range(len(folder.files))] == [raw[file.record]["data"] for file in folder.files]


def test_subsets(data):
    mine, theirs = both(data, "train")
    mask = theirs.column("label") == 2
    for choice in (slice(3, 40, 7), slice(None, None, -1), [5, 5, -1], range(4), numpy.array([9, 2]), mask, slice(60, 70)):
        compare_subset = mine[choice], theirs[choice]
        assert [type(part).__name__ for part in compare_subset] == ["Dataset", "Dataset"]
        for a, b in (compare_subset, (compare_subset[0][::2], compare_subset[1][::2])):
            assert (len(a), a.fingerprint, a.is_subset) == (len(b), b.fingerprint, True)
            assert_same(list(a), list(b))
            for name in ("label", "id"):
                assert_same(a.column(name), b.column(name))
            assert [a.index_in_split(i) for i in range(len(a))] == [b.index_in_split(i) for i in range(len(b))]
            assert a.whole_split().fingerprint == mine.fingerprint
    assert_same(mine[-1], theirs[59])
    again = pickle.loads(pickle.dumps(mine[[7, 1]]))
    assert again.fingerprint == theirs.subset([7, 1]).fingerprint
    assert_same(ffkit_reader.Dataset.from_files([os.path.join(mine.path, "shard-00000.ffr")])[3], theirs[3])


def test_errors_are_of_the_same_kind(data, tmp_path):
    mine, theirs = both(data, "train")
    (tmp_path / "empty").mkdir()
    for wrong in (lambda ds: ds[60], lambda ds: ds[-61], lambda ds: ds[1 << 70], lambda ds: ds["image"], lambda ds: ds[True], lambda ds: ds[1.5], lambda ds: ds.subset([60]), lambda ds: ds.subset("abc"), lambda ds: ds.subset([True]),
                  lambda ds: ds.subset([True, 1]), lambda ds: ds.field(0, "colour"), lambda ds: ds.column("image"), lambda ds: ds.column("colour"), lambda ds: type(ds)(data, "test"),
                  lambda ds: type(ds)(tmp_path / "none", "train"), lambda ds: type(ds)(data), lambda ds: type(ds)(tmp_path / "empty", "train"), lambda ds: type(ds)(data, "train", max_record_bytes=10)[0]):  # fmt: skip
        failures = []
        for dataset in (mine, theirs):
            with pytest.raises(Exception) as error:
                wrong(dataset)
            failures.append(error.value)
        assert type(failures[0]).__name__ == type(failures[1]).__name__, failures
        for kind in (FileNotFoundError, KeyError, ValueError, OSError, IndexError, TypeError):
            assert isinstance(failures[0], kind) == isinstance(failures[1], kind), failures


def test_damage_is_noticed_where_ffkit_notices_it(data, tmp_path):
    mine, _ = both(data, "val")
    content = pathlib.Path(mine.path, "shard-00000.ffr").read_bytes()
    path = tmp_path / "shard.ffr"
    for place in numpy.random.default_rng(2026).integers(0, len(content), 150):
        path.write_bytes(content[:place] + bytes([content[place] ^ 4]) + content[place + 1 :])
        outcomes = []
        for package in (ffkit_reader, ffkit):
            try:
                dataset = package.Dataset(path)
                outcomes.append([package.__name__ and attempt(lambda i=i: dataset[i]) for i in range(len(dataset))] + [attempt(lambda name=name: list(dataset.column(name))) for name in ("label", "id")])
            except package.Error as error:
                outcomes.append((error.code, error.path))
        assert outcomes[0] == outcomes[1], place
        assert ours("verify", path)[0] == inspect("verify", path)[0] if place % 10 == 0 else True


def attempt(read):
    try:
        return read()
    except (ffkit_reader.Error, ffkit.Error) as error:
        return error.code, error.path, error.record


def test_the_commands_print_what_ffinspect_prints(data, driving):
    commands = [("ls", data), ("ls", data, "--split", "val", "--first", 3, "--limit", 5), ("cat", data, 1, "--split", "val"), ("verify", data), ("verify", data / "train"),
                ("ls", GOLDEN / "every_type.ffr"), ("ls", driving), ("cat", driving, 0, "--split", "train"), ("verify", driving)]  # fmt: skip
    commands += [("cat", GOLDEN / "every_type.ffr", i) for i in (0, 5, 11)]
    commands += [("cat", data, 2, "--split", "train", "--field", name) for name in ("image", "label", "id")]
    for command in commands:
        assert ours(*command) == inspect(*command), command
        assert ours(*command)[0] == 0, command
    status, text = inspect("info", data)
    without_histogram = b"".join(line for line in text.splitlines(True) if not re.match(rb" {5,}[\d.]+ k?B to ", line))
    assert ours("info", data) == (status, without_histogram)
    assert ours("cat", data, 99, "--split", "val")[0] == 1 and ours("frobnicate")[0] == 2


def test_the_version_is_that_of_ffkit():
    header = (ROOT / "base" / "include" / "ffkit" / "base" / "version.h").read_text()
    assert f'#define FFKIT_VERSION "{ffkit_reader.__version__}"' in header


def test_types():
    pytest.importorskip("mypy")
    subprocess.run([sys.executable, "-m", "mypy", "--config-file", str(ROOT / "python" / "reader" / "pyproject.toml"), "--cache-dir", os.devnull, "-p", "ffkit_reader"], check=True, cwd=ROOT / "python" / "reader")


def test_the_licence_is_that_of_ffkit():
    """A copy: a source archive holds no link out of its folder."""
    assert (ROOT / "python" / "reader" / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()
