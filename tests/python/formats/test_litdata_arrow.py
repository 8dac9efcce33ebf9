"""Chunks of LitData that are Arrow tables, against LitData: read by ffconvert's module and by pyarrow."""
import json
import os
import pathlib
import struct
import subprocess
import sys

import litdata
import pyarrow
import pytest

import conversion
import ffkit
from conversion import Refused
from test_litdata import write

pytestmark = pytest.mark.filterwarnings("ignore")
MAGIC = b"LDARW01\0"


def sample(i):
    """All that a table can hold, with Nones anywhere, and a key that comes late."""
    one = {
        "text": "grün " * (i % 4),
        "number": i - 500,
        "real": [0.1, 2.0, float("inf"), 1e300][i % 4],
        "flag": i % 3 == 0,
        "maybe": None if i % 2 == 0 else i,
        "data": bytes([i % 256]) * (i % 9),
        "texts": ["ü", "", "\"\\\n"][: i % 4],
        "numbers": list(range(i % 6)),
        "reals": [i / 7, 1.0],
        "gaps": [1, None, i],
        "nested": {"a": i, "b": {"c": f"c{i}", "d": [[i], []]}},
        "records": [{"x": j, "y": None if j % 2 else f"y{j}"} for j in range(i % 3)],
        "nothing": None,
    }
    if i % 300 == 299:
        one["late"] = {"k": i, "only_here": i > 600}
    return one


def is_table(folder, chunk):
    return (folder / chunk["filename"]).read_bytes().endswith(MAGIC)


def flat(value, columns, prefix=""):
    """The values of a sample by the data set's columns: what is none of these is looked into."""
    found = {}
    for key, item in (value or {}).items():
        name = f"{prefix}{key}"
        if name in columns or not isinstance(item, dict):
            found[name] = item
        else:
            found |= flat(item, columns, name + "/")
    return found


def compare(folder, data, left_out=("nothing",)):
    """Returns how many samples are equal, and how many of their values are not None."""
    dataset = litdata.StreamingDataset(str(folder), shuffle=False)
    records = ffkit.Dataset(data, "train")
    assert len(records) == len(dataset)
    columns = set(records[0]) - {"id"}
    num_values = 0
    for i in range(len(records)):
        ours, theirs = records[i], flat(dataset[i], columns)
        assert all(theirs.get(name) is None for name in set(theirs) - columns), (i, theirs)
        assert not columns & set(left_out)
        for name in columns:
            value, expected = ours[name], theirs.get(name)
            if isinstance(expected, (list, dict)):
                assert repr(json.loads(value)) == repr(expected), (i, name)
            elif isinstance(expected, bool):
                assert value == int(expected), (i, name)
            else:
                assert value == expected and (expected is None or type(expected) is not float or isinstance(value, float)), (i, name, value, expected)
            num_values += expected is not None
    return len(records), num_values


def convert(src, dst, *options):
    try:
        return conversion.convert("litdata", src, dst, *options)
    except Refused as error:
        if "libffkit_parquet.so is missing" in str(error):
            pytest.skip("ffconvert was built without Arrow (tools/setup --parquet)")
        raise


def fingerprint(data):
    return ffkit.Dataset(data, "train").fingerprint


@pytest.mark.parametrize("options", [{}, {"compression": "zstd"}, {"compression": "zstd:9", "compression_level": "chunk"}])
def test_a_thousand_samples_are_those_of_litdata(tmp_path, options):
    index = write(tmp_path / "chunks", (sample(i) for i in range(1100)), chunk_size=300, **options)
    assert len(index["chunks"]) == 4 and all(is_table(tmp_path / "chunks", chunk) for chunk in index["chunks"])
    notes = convert(tmp_path / "chunks", tmp_path / "data")
    assert "the column 'nothing' is left out: no sample has a value in it" in notes
    assert "the column 'records' holds lists or dictionaries" in notes
    count, num_values = compare(tmp_path / "chunks", tmp_path / "data")
    assert count == 1100 and num_values > 13 * 1100
    assert [record["id"] for record in ffkit.Dataset(tmp_path / "data", "train")][299:301] == ["chunk-0-0.bin: 299", "chunk-0-1.bin: 0"]
    # pyarrow in place of the module.
    ffkit.convert.litdata(tmp_path / "chunks", tmp_path / "by_pyarrow", order="sequential", progress=False)
    assert fingerprint(tmp_path / "by_pyarrow") == fingerprint(tmp_path / "data")
    # Shuffled, through temporary files.
    conversion_options = [os.environ["FFKIT_FFCONVERT"], "litdata", tmp_path / "chunks", tmp_path / "shuffled", "--quiet"]
    subprocess.run([*map(str, conversion_options)], check=True)
    assert sorted(r["number"] for r in ffkit.Dataset(tmp_path / "shuffled", "train")) == sorted(i - 500 for i in range(1100))


def test_chunks_of_both_kinds_in_one_data_set(tmp_path):
    """A value that no table holds ends them: chunks behind it are pytrees."""
    samples = [{"a": i, "v": [i] if i < 90 else [i, "x"], "w": {"k": i} if i < 90 else {"k": i}} for i in range(200)]
    index = write(tmp_path / "chunks", samples, chunk_size=50)
    kinds = [is_table(tmp_path / "chunks", chunk) for chunk in index["chunks"]]
    assert kinds == [True, False, False, False]
    convert(tmp_path / "chunks", tmp_path / "data")
    assert compare(tmp_path / "chunks", tmp_path / "data", ()) == (200, 600)
    # LitData reads none of these where the others are in frames, which is what "zstd" is by
    # default.
    write(tmp_path / "frames", samples, chunk_size=50, compression="zstd")
    convert(tmp_path / "frames", tmp_path / "of_frames")
    assert [(r["a"], json.loads(r["v"]), r["w/k"]) for r in ffkit.Dataset(tmp_path / "of_frames", "train")] == [(s["a"], s["v"], s["w"]["k"]) for s in samples]


def table_of(rows, make=pyarrow.ipc.new_file, schema=None):
    table = pyarrow.Table.from_pylist(rows, schema=schema)
    sink = pyarrow.BufferOutputStream()
    with make(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=256)
    return sink.getvalue().to_pybytes()


def put(folder, rows, ipc, count=None, body=None, length=None):
    """A data set of one chunk, whose table is `ipc`."""
    write(folder, rows, chunk_size=len(rows))
    chunk = folder / "chunk-0-0.bin"
    count = len(rows) if count is None else count
    first = 4 + 4 * (count + 1)
    offsets = [first] * (count + 1) if body is None else [first + sum(map(len, body[:i])) for i in range(count + 1)]
    data = struct.pack(f"<{count + 2}I", count, *offsets) + b"".join(body or [])
    num_bytes = chunk.write_bytes(data + ipc + struct.pack("<I", len(ipc) if length is None else length) + MAGIC)
    index = json.loads((folder / "index.json").read_text())
    index["chunks"][0]["chunk_bytes"] = num_bytes
    (folder / "index.json").write_text(json.dumps(index))
    return folder


ROWS = [{"x": i, "s": f"text {i}"} for i in range(600)]


def test_streams_of_older_writers_and_bodies_that_are_there_too(tmp_path):
    put(tmp_path / "stream", ROWS, table_of(ROWS, pyarrow.ipc.new_stream))
    convert(tmp_path / "stream", tmp_path / "data")
    assert compare(tmp_path / "stream", tmp_path / "data", ()) == (600, 1200)
    ffkit.convert.litdata(tmp_path / "stream", tmp_path / "by_pyarrow", order="sequential", progress=False)
    assert fingerprint(tmp_path / "by_pyarrow") == fingerprint(tmp_path / "data")
    # The body is read where it is there, whatever the table is.
    body = [struct.pack("<IIq", 8, 1, i) + b"s" for i in range(600)]
    put(tmp_path / "both", ROWS, b"no Arrow", body=body)
    convert(tmp_path / "both", tmp_path / "of_body")
    assert [(r["x"], r["s"]) for r in ffkit.Dataset(tmp_path / "of_body", "train")] == [(i, "s") for i in range(600)]
    put(tmp_path / "cut", ROWS, b"no Arrow", body=[*body[:-1], body[-1] + b"x"])
    with pytest.raises(Refused, match="are cut short|bytes (after|follow)|must lie one after another"):
        chunk = tmp_path / "cut" / "chunk-0-0.bin"
        chunk.write_bytes(chunk.read_bytes().replace(body[-1] + b"x", body[-1]))
        convert(tmp_path / "cut", tmp_path / "of_cut")


def both_refuse(folder, tmp_path, match):
    """The module and pyarrow."""
    with pytest.raises(Refused, match=match):
        convert(folder, tmp_path / "data")
    with pytest.raises(ffkit.Error, match=match):
        ffkit.convert.litdata(folder, tmp_path / "data", order="sequential", progress=False)


def test_damaged_tables_are_errors_by_name(tmp_path):
    ipc = table_of(ROWS)
    for name, bad in [("no_arrow", b"x" * 1000), ("magic_alone", b"ARROW1\0\0"), ("cut", ipc[: len(ipc) // 2]), ("end", b"\xff\xff\xff\xff\0\0\0\0"), ("huge", b"\xff\xff\xff\xff\xff\xff\xff\x7f" + ipc)]:
        both_refuse(put(tmp_path / name, ROWS, bad), tmp_path, "chunk-0-0.bin.*(cannot be read as an Arrow table|Arrow table has no columns|without values)")
    for length in (0, 2**32 - 1, len(ipc) + 10**6):
        both_refuse(put(tmp_path / f"length{length}", ROWS, ipc, length=length), tmp_path, f"chunk-0-0.bin.*the file ends with an Arrow table of {length} bytes")
    both_refuse(put(tmp_path / "fewer", ROWS, table_of(ROWS[:500])), tmp_path, "the Arrow table ends after 500 rows, but must have 600 rows")
    both_refuse(put(tmp_path / "more", ROWS, table_of([*ROWS, ROWS[0]])), tmp_path, "the Arrow table must have 600 rows, but has more")
    both_refuse(put(tmp_path / "as_many_batches", ROWS[:512], table_of(ROWS)), tmp_path, "the Arrow table must have 512 rows, but has more")


def test_names_that_are_no_utf8_are_said(tmp_path):
    ipc = table_of([{"x": i, "zzzz": ""} for i in range(600)]).replace(b"zzzz", b"\xff\xfe\xfd\xfc")
    both_refuse(put(tmp_path / "chunks", ROWS, ipc), tmp_path, r"chunk-0-0.bin: its column '\\xff\\xfe\\xfd\\xfc' has a name that is not UTF-8")


def test_a_table_whose_offsets_lead_out_of_it_is_not_followed(tmp_path):
    """Nor is what stands behind such a batch: nothing says which rows it is."""
    ipc = bytearray(table_of(ROWS))
    batches = [ipc.find(struct.pack("<4i", 0, 6, 12, 18)), ipc.find(struct.pack("<4i", 0, 8, 16, 24))]
    assert 0 < batches[0] < batches[1]
    for number, at in enumerate(batches):
        bad = bytearray(ipc)
        bad[at + 8 : at + 12] = struct.pack("<i", 2**30)
        folder = put(tmp_path / f"chunks{number}", ROWS, bytes(bad))
        both_refuse(folder, tmp_path, f"chunk-0-0.bin: {256 * number}: the file cannot be read as an Arrow table")
        skipped = convert(folder, tmp_path / f"data{number}", "--bad-samples", "skip") if number else ""
        assert number == 0 or "344" in skipped
    assert [r["x"] for r in ffkit.Dataset(tmp_path / "data1", "train")] == [*range(256)]


def test_an_index_that_counts_fewer_or_more(tmp_path):
    put(tmp_path / "chunks", ROWS, table_of(ROWS))
    index = tmp_path / "chunks" / "index.json"
    made = index.read_text()
    index.write_text(made.replace('"chunk_size": 600, "dim"', '"chunk_size": 590, "dim"'))
    assert "10 samples are left out: they are in its files" in convert(tmp_path / "chunks", tmp_path / "fewer")
    assert [r["x"] for r in ffkit.Dataset(tmp_path / "fewer", "train")] == [*range(590)]
    index.write_text(made.replace('"chunk_size": 600, "dim"', '"chunk_size": 601, "dim"'))
    with pytest.raises(Refused, match="the file has 600 samples, but index.json says 601 samples"):
        convert(tmp_path / "chunks", tmp_path / "more")


def test_values_that_no_column_holds(tmp_path):
    def refused(name, rows, match, schema=None, *options):
        put(tmp_path / name, ROWS[: len(rows)], table_of(rows, schema=schema))
        with pytest.raises(Refused, match=match):
            convert(tmp_path / name, tmp_path / "data", *options)
        return tmp_path / name

    times = pyarrow.schema([("x", pyarrow.int64()), ("s", pyarrow.date32())])
    folder = refused("times", [{"x": 1, "s": 5}], "the column 's' has the Arrow type 'tdD', which no field can hold; to leave out this column, list the other columns with --columns", times)
    assert "ffkit leaves out the column 's'" in convert(folder, tmp_path / "without", "--columns", "x")
    refused("bytes", [{"x": 1, "s": [b"a"]}], "column 's': has bytes in a list or dictionary, but JSON cannot hold them")
    refused("names", [{"x": 1, "a/b": 1, "a": {"b": 2}}], "two values that would both be called 'a/b'")
    refused("large", [{"x": 2**63 + 5, "s": ""}], "9223372036854775813 does not fit in a signed 64-bit integer", pyarrow.schema([("x", pyarrow.uint64()), ("s", pyarrow.string())]))
    refused("size", [{"x": 1, "s": ["a" * 2000]}], "has [0-9]+ bytes, more than the limit of 1024 bytes", None, "--max-sample-bytes", 1024)
    # Workers that saw other values.
    put(tmp_path / "two", ROWS[:2], table_of([{"x": 1, "s": "a"}, {"x": 2, "s": "b"}]))
    index = json.loads((tmp_path / "two" / "index.json").read_text())
    index["chunks"].append({**index["chunks"][0], "filename": "chunk-1-0.bin"})
    (tmp_path / "two" / "index.json").write_text(json.dumps(index))
    other = put(tmp_path / "other", ROWS[:2], table_of([{"x": 2.5, "s": 1}, {"x": 3.5, "s": 2}]))
    (other / "chunk-0-0.bin").rename(tmp_path / "two" / "chunk-1-0.bin")
    with pytest.raises(Refused, match="the column 's' has texts in some chunks, and whole numbers in others"):
        convert(tmp_path / "two", tmp_path / "data")
    convert(tmp_path / "two", tmp_path / "numbers", "--columns", "x")
    assert [r["x"] for r in ffkit.Dataset(tmp_path / "numbers", "train")] == [1.0, 2.0, 2.5, 3.5]


def test_without_pyarrow_python_says_what_to_install(tmp_path):
    put(tmp_path / "chunks", ROWS, table_of(ROWS))
    code = f"import sys; sys.modules['pyarrow'] = None; import ffkit; ffkit.convert.litdata({str(tmp_path / 'chunks')!r}, {str(tmp_path / 'data')!r}, progress=False)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode != 0
    assert f"chunk-0-0.bin: pyarrow, which reads Arrow tables, cannot be imported by {sys.executable} (" in done.stderr
    assert done.stderr.rstrip().endswith("install it there: pip install pyarrow")


@pytest.mark.parametrize("module, expected", [(None, "is missing"), (b"no library", "cannot be opened: ")])
def test_without_the_module_the_program_says_what_to_build(tmp_path, module, expected):
    put(tmp_path / "chunks", ROWS, table_of(ROWS))
    alone = tmp_path / "bin" / "ffconvert"
    alone.parent.mkdir()
    os.link(os.environ["FFKIT_FFCONVERT"], alone) if os.stat(os.environ["FFKIT_FFCONVERT"]).st_dev == os.stat(tmp_path).st_dev else alone.write_bytes(pathlib.Path(os.environ["FFKIT_FFCONVERT"]).read_bytes())
    alone.chmod(0o755)
    if module is not None:
        alone.with_name("libffkit_parquet.so").write_bytes(module)
    done = subprocess.run([alone, "litdata", tmp_path / "chunks", tmp_path / "data"], capture_output=True, text=True)
    assert done.returncode == 1
    assert f"chunk-0-0.bin: ffkit reads Arrow tables with the library Arrow, but libffkit_parquet.so {expected}" in done.stderr
    assert "; run 'tools/setup --no-torch --parquet' in the checkout of ffkit" in done.stderr
