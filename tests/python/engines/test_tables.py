"""Tables of Arrow written the straight way, by Arrow's C interface, and by rows: the same records."""
import io
import json

import numpy as np
import pyarrow as pa
import pytest
from ray.data.extensions import ArrowTensorArray

import ffkit
from ffkit import _ffkit, convert
from ffkit._engines import shard_sink


class Spy:
    """A ShardTask that says which way each table went."""

    went = []
    describe_empty = staticmethod(_ffkit.ShardTask.describe_empty)

    def __init__(self, *arguments):
        self._task = SHARD_TASK(*arguments)

    def write_table(self, *arguments):
        Spy.went.append(self._task.write_table(*arguments))
        return Spy.went[-1]

    def __getattr__(self, name):
        return getattr(self._task, name)


SHARD_TASK = _ffkit.ShardTask


@pytest.fixture
def spied(monkeypatch):
    Spy.went = []
    monkeypatch.setattr(_ffkit, "ShardTask", Spy)
    return Spy


def written(folder, tables, schema=None, **options):
    sink = convert.ShardSink(folder, schema=schema, **options)
    with sink:
        return sink.commit([sink.write_tables(tables, task=0)])


def both(tmp_path, monkeypatch, tables, schema=None, **options):
    """Both ways; returns the data set."""
    straight = written(tmp_path / "straight", tables, schema, **options)
    with monkeypatch.context() as patched:
        patched.setattr(shard_sink, "straight_table", lambda table: None)
        rows = written(tmp_path / "rows", tables, schema, **options)
    assert straight.num_records == rows.num_records == sum(len(table) for table in tables)
    assert straight.fingerprint == rows.fingerprint
    contents = [[path.read_bytes() for path in sorted((tmp_path / name).rglob("*.ffr"))] for name in ("straight", "rows")]
    assert contents[0] == contents[1]
    return ffkit.Dataset(tmp_path / "straight", "train")


TEXTS = ["a", "", None, "föö" * 10, "x" * 13]
BYTES = [b"a", b"", None, b"\0\xff" * 10, b"y" * 12]


def column(values, kind):
    return pa.array(values, kind)


STRAIGHT = {
    "string": (column(TEXTS, pa.string()), None),
    "large_string": (column(TEXTS, pa.large_string()), None),
    "string_view": (column(TEXTS, pa.string_view()), None),
    "binary": (column(BYTES, pa.binary()), None),
    "large_binary": (column(BYTES, pa.large_binary()), None),
    "binary_view": (column(BYTES, pa.binary_view()), None),
    "fixed_size_binary": (column([b"abc", None, b"\0\1\2", b"xyz", b"123"], pa.binary(3)), None),
    "dictionary": (column(["a", "b", None, "a", "b"], pa.string()).dictionary_encode(), None),
    "dictionary_of_8_bits": (pa.DictionaryArray.from_arrays(pa.array([1, 0, None, 1, 1], pa.int8()), pa.array(["a", "b"], pa.large_string())), None),
    "bool": (column([True, False, None, True, True], pa.bool_()), None),
    "f16": (pa.array(np.array([1, 2.5, -3, 0, 65504], np.float16)), None),
    "nulls_alone": (pa.nulls(5), "i32"),
    "lists": (column([[1, 2], [], None, [3], [4, 5, 6]], pa.list_(pa.int16())), None),
    "lists_of_bool": (column([[True], [], None, [False, True], [True]], pa.list_(pa.bool_())), None),
    "large_lists": (column([[1.5, 2], [], None, [3], [4, 5, 6]], pa.large_list(pa.float32())), None),
    "lists_of_a_size": (column([[1, 2], [3, 4], None, [5, 6], [7, 8]], pa.list_(pa.int32(), 2)), None),
    "nested": (column([[[1, 2], [3, 4]], [], None, [[], []], [[5]]], pa.list_(pa.list_(pa.float64()))), None),
    "nested_thrice": (column([[[[1], [2]]], [[]], None, [], [[[3, 4]]]], pa.list_(pa.large_list(pa.list_(pa.uint8())))), None),
    "nested_of_a_size": (column([[[1, 2, 3]], [[4, 5, 6], [7, 8, 9]], None, [], [[0, 0, 0]]], pa.list_(pa.list_(pa.int64(), 3))), None),
    "lists_of_texts": (column([["a", "b"], [], None, ["cc"], [""]], pa.list_(pa.string())), None),
    "lists_of_views": (column([["a", "b" * 20], [], None, ["cc"], [""]], pa.list_(pa.string_view())), None),
    "lists_of_bytes": (column([[b"a", b"b"], [], None, [b"cc"], [b""]], pa.large_list(pa.binary())), None),
    "lists_of_tensors": (column([[[1, 2], [3]], [], None, [[]], [[5]]], pa.list_(pa.list_(pa.float32()))), "list[tensor[f32]]"),
    "narrower": (column([1, -2, None, 127, -128], pa.int64()), "i8"),
    "wider": (column([1, 2, None, 255, 0], pa.uint8()), "i64"),
    "signed_to_unsigned": (column([1, 2, None, 255, 0], pa.int32()), "u64"),
    "large_unsigned": (column([1, 2**64 - 1, None, 2**63, 0], pa.uint64()), None),
    "unsigned_to_real": (column([1, 2**64 - 1, None, 2**63 + 1025, 2**53 + 1], pa.uint64()), "f32"),
    "whole_to_real": (column([1, -(2**63), None, 2**53 + 1, 2**62 + 2**38 + 1], pa.int64()), "f32"),
    "real_to_shorter": (column([1.1, float("nan"), None, float("-inf"), 1e-50], pa.float64()), "f32"),
    "real_to_longer": (column([1.1, float("nan"), None, float("-inf"), 1e-40], pa.float32()), "f64"),
    "bool_to_real": (column([True, False, None, True, True], pa.bool_()), "f64"),
    "bool_to_whole": (column([True, False, None, True, True], pa.bool_()), "i32"),
    "fixed_shape_tensors": (pa.FixedShapeTensorArray.from_numpy_ndarray(np.arange(30, dtype=np.float32).reshape(5, 2, 3)), None),
    "tensors_of_ray": (ArrowTensorArray.from_numpy(np.arange(60, dtype=np.int32).reshape(5, 3, 4)), None),
    "tensors_of_bool_of_ray": (ArrowTensorArray.from_numpy((np.arange(60) % 3 == 0).reshape(5, 3, 4)), None),
}

for _name in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64"):
    STRAIGHT[_name] = (column([1, 2, None, 100, 0], getattr(pa, _name)()), None)


@pytest.mark.parametrize("name", STRAIGHT)
def test_types(tmp_path, monkeypatch, spied, name):
    array, spec = STRAIGHT[name]
    whole = pa.table({"number": pa.array(range(5), pa.int64()), "value": array})
    schema = None if spec is None else {"number": "i64", "value": spec}
    # Whole; in chunks, one of them empty; a slice, whose arrays have offsets; a batch.
    tables = [whole, pa.concat_tables([whole.slice(3), whole.slice(2, 0), whole.slice(0, 3)]), whole.slice(1, 3), whole.slice(5), *whole.slice(2).to_batches(max_chunksize=2)]
    data = both(tmp_path, monkeypatch, tables, schema)
    assert spied.went == [True] * (len(tables) - 1)
    assert [data[i]["number"] for i in range(8)] == [0, 1, 2, 3, 4, 3, 4, 0]


BY_ROWS = {
    "dictionary_of_bytes": (column([b"a", b"b", None, b"a"], pa.binary()).dictionary_encode(), None),
    "dictionary_of_numbers": (column([5, 6, None, 5], pa.int64()).dictionary_encode(), "i64"),
    "dictionary_with_a_null": (pa.DictionaryArray.from_arrays(pa.array([1, 0, 0, 1]), pa.array(["a", None])), None),
    "nulls_in_lists": (column([[1.0, None], [], None, [2.0]], pa.list_(pa.float32())), None),
    "lists_of_another_dtype": (column([[1, 2], [3, 4], None, [5, 6]], pa.list_(pa.int32(), 2)), "tensor[f32]"),
    "real_to_half": (column([1.5, 2, None, 3], pa.float32()), "f16"),
    "tensors_of_different_shapes": (ArrowTensorArray.from_numpy([np.zeros((2, 3), np.float32), np.ones((4, 1), np.float32), np.ones((1, 1), np.float32), np.ones((2, 2), np.float32)]), None),
    "permuted_tensors": (
        pa.ExtensionArray.from_storage(pa.fixed_shape_tensor(pa.int32(), (2, 3), permutation=[1, 0]), pa.array([list(range(6))] * 4, pa.list_(pa.int32(), 6))),
        None,
    ),
}


@pytest.mark.parametrize("name", BY_ROWS)
def test_what_goes_by_rows(tmp_path, monkeypatch, spied, name):
    array, spec = BY_ROWS[name]
    schema = {"number": "i64", "value": spec} if spec else None
    both(tmp_path, monkeypatch, [pa.table({"number": pa.array(range(4), pa.int64()), "value": array})], schema)
    assert True not in spied.went


def test_pictures(tmp_path, monkeypatch, spied, pictures):
    (tmp_path / "a.jpg").write_bytes(pictures[3])
    kind = pa.struct({"bytes": pa.binary(), "path": pa.string()})
    files = [{"bytes": pictures[0], "path": None}, None, {"bytes": pictures[1], "path": "x"}, {"bytes": pictures[2], "path": None}]
    plain = pa.table({
        "image": pa.array([pictures[0], None, pictures[1], pictures[2]]),
        "file": pa.array(files, kind),
        "views": pa.array([[pictures[0], pictures[1]], [], None, [pictures[2]]]),
        "files": pa.array([[files[0], files[2]], [], None, [files[0]]], pa.list_(kind)),
        "id": ["a", None, "c", "d"],
    })  # fmt: skip
    schema = {"image": "image", "file": "image", "views": "list[image]", "files": "list[image]", "id": "string"}
    data = both(tmp_path / "plain", monkeypatch, [plain, plain.slice(2)], schema)
    assert spied.went == [True, True] and data[0]["image"] == pictures[0] and data[0]["files"] == [pictures[0], pictures[1]] and data[1]["file"] is None
    # Some draw by the id, some are encoded anew.
    for i, options in enumerate(({"store": "smart", "raw_share": 0.5}, {"max_resolution": 4}, {"store": "dct"})):
        both(tmp_path / str(i), monkeypatch, [plain], schema, **options)
    # Files elsewhere are read by Python.
    spied.went.clear()
    paths = pa.table({"image": pa.array([{"bytes": None, "path": str(tmp_path / "a.jpg")}, files[0]], kind)})
    data = both(tmp_path / "paths", monkeypatch, [paths], {"image": "image"})
    assert spied.went == [False] and data[0]["image"] == pictures[3]


def test_modes_of_hugging_face(tmp_path, monkeypatch, spied):
    """Image(mode="L") is one channel, the straight way and by rows; what is not applied is said."""
    from PIL import Image

    colours = np.random.default_rng(3).integers(0, 256, (4, 5, 3), np.uint8)
    file = io.BytesIO()
    Image.fromarray(colours).save(file, "PNG")
    kind = pa.struct({"bytes": pa.binary(), "path": pa.string()})
    rows = [{"bytes": file.getvalue(), "path": None}, None]
    features = {"image": {"mode": "L", "_type": "Image"}, "images": {"feature": {"mode": "L", "_type": "Image"}, "_type": "Sequence"}}
    table = pa.table({"image": pa.array(rows, kind), "images": pa.array([[rows[0]], []], pa.list_(kind))})
    table = table.replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})
    data = both(tmp_path, monkeypatch, [table])
    grey = np.asarray(Image.fromarray(colours).convert("L"))
    for stored in (data[0]["image"], data[0]["images"][0]):
        picture = Image.open(io.BytesIO(stored))
        assert picture.mode == "L" and (np.asarray(picture) == grey).all()
    assert spied.went == [True] and data[1]["image"] is None
    features["image"]["mode"] = "CMYK"
    with pytest.warns(UserWarning, match="CMYK"):
        written(tmp_path / "cmyk", [table.replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})])


def test_fields_without_a_column_are_null_and_their_order_is_free(tmp_path, monkeypatch, spied):
    table = pa.table({"b": ["x", "y"], "a": pa.array([1, 2], pa.int32())})
    data = both(tmp_path, monkeypatch, [table, table.select(["a"])], {"a": "i64", "b": "string", "c": "f32"})
    assert spied.went == [True, True] and data[0] == {"a": 1, "b": "x", "c": None} and data[3]["b"] is None


def test_a_list_of_fixed_size_with_a_null_in_it_is_null(tmp_path):
    table = pa.table({"x": pa.array([[1, 2], [3, None], None, [5, 6]], pa.list_(pa.float32(), 2)), "y": pa.array([[[1, 2]], [[3, None], [4, 5]], [], None], pa.list_(pa.list_(pa.int64(), 2)))})
    with pytest.warns(UserWarning, match="2 items of lists were None, or had None inside"):
        written(tmp_path / "set", [table])
    data = ffkit.Dataset(tmp_path / "set", "train")
    assert [None if row["x"] is None else row["x"].tolist() for row in data] == [[1, 2], None, None, [5, 6]]
    assert [None if row["y"] is None else row["y"].tolist() for row in data][:2] == [[[1, 2]], [[4, 5]]]


FAULTS = {
    "does not fit": ({"value": pa.array([1, 300])}, {"value": "u8"}, "cannot hold 300"),
    "sign": ({"value": pa.array([1, -1])}, {"value": "u64"}, "cannot hold -1"),
    "large": ({"value": pa.array([1, 2**63], pa.uint64())}, {"value": "i64"}, "cannot hold 9223372036854775808"),
    "real as whole": ({"value": pa.array([1.0])}, {"value": "i64"}, "cannot hold 1.0"),
    "irregular": ({"value": pa.array([[[1, 2], [3]]])}, {"value": "tensor[i64]"}, "value.*different lengths|inhomogeneous"),
    "another dtype": ({"value": pa.array([[1, 2]])}, {"value": "tensor[f32]"}, "Arrays are not converted automatically"),
    "unknown": ({"value": pa.array([1]), "other": pa.array([2])}, {"value": "i64"}, "a field 'other', which the schema does not have"),
    "date": ({"value": pa.array([1], pa.timestamp("s"))}, {"value": "i64"}, "value"),
    "date, without a schema": ({"value": pa.array([1], pa.timestamp("s"))}, None, "'value' is of the type timestamp"),
    "map": ({"value": pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64()))}, None, "'value' is of the type map"),
    "struct": ({"value": pa.array([{"x": 1}])}, None, "'value' is of the type struct"),
    "text as bytes": ({"value": pa.array(["a"])}, {"value": "bytes"}, "'value' is of type bytes"),
    "no picture": ({"value": pa.array([b"abc"])}, {"value": "image"}, "field 'value'"),
    "no UTF-8": ({"value": pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(np.array([0, 1], np.int32)), pa.py_buffer(b"\xff")])}, {"value": "string"}, "field 'value': the value is not UTF-8 text"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_what_no_field_takes_is_an_error_that_names_it(tmp_path, name):
    columns, schema, words = FAULTS[name]
    with pytest.raises((ffkit.Error, ValueError, TypeError), match=words):
        written(tmp_path / "set", [pa.table(columns)], schema)
    assert not list(tmp_path.rglob("*.ffr"))


def test_memory_comes_back_and_a_failure_does_not_hang(tmp_path):
    """Buffers that are Python's need the GIL to end, in threads that the task waits for."""
    import gc
    import weakref

    class Memory(bytearray):
        pass

    alive = []
    for fails in (False, True):
        memory = Memory(b"z" * 3_000_000)
        alive.append(weakref.ref(memory))
        offsets = pa.py_buffer(np.arange(0, 3_000_001, 10_000, np.int32))
        table = pa.table({"value": pa.Array.from_buffers(pa.binary(), 300, [None, offsets, pa.py_buffer(memory)])})
        del memory
        sink = convert.ShardSink(tmp_path / str(fails), schema={"value": "bytes"}, max_record=20_000 if not fails else 5_000, num_threads=2)
        sink.begin()
        if fails:
            with pytest.raises(ffkit.Error, match="more than the limit of 5000"):
                sink.write_tables([table], task=0)
            sink.abort()
        else:
            sink.commit([sink.write_tables([table], task=0)])
        del table
    gc.collect()
    assert [reference() for reference in alive] == [None, None]


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pictures") / "demo"
    convert.demo(folder, images=4, val_images=0, classes=2, size=16, on_note=lambda note: None)
    return [bytes(record["image"]) for record in ffkit.Dataset(folder, "train")]
