"""Types of parquet files: what Hugging Face and Arrow mean by them, types that differ, and nulls in lists."""

import io

import datasets
import numpy
import PIL.Image
import pyarrow
import pyarrow.parquet
import pytest

import ffkit
import ffkit.convert

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # notes


def picture(number):
    file = io.BytesIO()
    PIL.Image.fromarray(numpy.full((8, 9, 3), number, numpy.uint8)).save(file, "PNG")
    return file.getvalue()


def test_names_of_hugging_face_mean_what_they_mean_there(tmp_path):
    """A column may be called 'feature'; names of classes are kept; a tensor of Arrow has its shape."""
    features = datasets.Features({
        "feature": datasets.Value("float32"),
        "label": datasets.ClassLabel(names=["cat", "dog"]),
        "kinds": datasets.Sequence(datasets.ClassLabel(names=["x", "y", "z"])),
    })
    rows = {"feature": [0.5, 1.5], "label": [0, 1], "kinds": [[2], []]}
    datasets.Dataset.from_dict(rows, features=features).to_parquet(tmp_path / "a.parquet")
    ffkit.convert.parquet(tmp_path / "a.parquet", tmp_path / "set", order="sequential")
    dataset = ffkit.Dataset(tmp_path / "set", split="train")
    assert dataset.classes == ["cat", "dog"]
    assert dataset.source["classes of kinds"] == '["x","y","z"]'
    assert [r["feature"] for r in dataset] == [0.5, 1.5]
    tensors = pyarrow.FixedShapeTensorArray.from_numpy_ndarray(numpy.arange(12, dtype=numpy.float32).reshape(2, 2, 3))
    pyarrow.parquet.write_table(pyarrow.table({"t": tensors}), tmp_path / "b.parquet")
    ffkit.convert.parquet(tmp_path / "b.parquet", tmp_path / "tensors", order="sequential")
    assert [r["t"].tolist() for r in ffkit.Dataset(tmp_path / "tensors", split="train")] == numpy.arange(12).reshape(2, 2, 3).tolist()


def test_types_that_differ_are_refused_by_both_names(tmp_path):
    """As numbers they would be equal: 1000 of milliseconds and 10**9 of nanoseconds are one second."""
    def one(kind, value):
        return pyarrow.array([value], kind)

    cases = [
        (one(pyarrow.timestamp("ms"), 1000), one(pyarrow.timestamp("ns"), 10**9), "timestamp.ns. in the file.*timestamp.ms. in the file"),
        (one(pyarrow.int64(), 1), one(pyarrow.timestamp("s"), 1), "timestamp.ms. in the file.*i64 in the file"),
        (one(pyarrow.date32(), 1), one(pyarrow.time32("ms"), 1), "time32.ms. in the file.*date32 in the file"),
        (one(pyarrow.bool_(), True), one(pyarrow.uint8(), 1), "u8 in the file.*bool in the file"),
        (one(pyarrow.duration("s"), 1), one(pyarrow.duration("ms"), 1), "duration.ms. in the file.*duration.s. in the file"),
        (one(pyarrow.float64(), 1), pyarrow.array([None], pyarrow.decimal128(5, 2)), "'t' is of f64 in one file and decimal numbers in the other"),
    ]  # fmt: skip
    for number, (a, b, message) in enumerate(cases):
        for turn, arrays in enumerate(((a, b), (b, a))):
            folder = tmp_path / f"{number} {turn}"
            folder.mkdir()
            for i, values in enumerate(arrays):
                pyarrow.parquet.write_table(pyarrow.table({"t": values, "n": [1]}), folder / f"train-{i}.parquet")
            with pytest.raises(ffkit.Error, match=message if turn == 0 else "train-1.parquet.*has other columns than.*train-0.parquet"):
                ffkit.convert.parquet(folder, tmp_path / "set")
    # Nothing but nulls is of any type.
    for turn, arrays in enumerate(((["a"], [None]), ([None], ["a"]))):
        folder = tmp_path / f"nulls {turn}"
        folder.mkdir()
        for i, values in enumerate(arrays):
            pyarrow.parquet.write_table(pyarrow.table({"t": values, "n": [i]}), folder / f"train-{i}.parquet")
        ffkit.convert.parquet(folder, tmp_path / f"set {turn}", order="sequential")
        assert [r["t"] for r in ffkit.Dataset(tmp_path / f"set {turn}", split="train")] == [a[0] for a in arrays]


def test_a_list_of_fixed_size_means_nothing_without_one_of_its_items(tmp_path):
    """Its field is null, and the row stays; in a list of such lists, the item goes."""
    pair, box = pyarrow.list_(pyarrow.float32(), 2), pyarrow.list_(pyarrow.float32(), 4)
    tensor = pyarrow.fixed_shape_tensor(pyarrow.float32(), (2, 2))
    good = [1.0, 2.0, 3.0, 4.0]
    pyarrow.parquet.write_table(pyarrow.table({
        "xy": pyarrow.array([[1.0, 2.0], [3.0, None], None], pair),
        "words": pyarrow.array([["a", None], ["b", "c"], None], pyarrow.list_(pyarrow.string(), 2)),
        "pictures": pyarrow.array([[picture(1), None], [picture(2), picture(3)], None], pyarrow.list_(pyarrow.binary(), 2)),
        "tensor": pyarrow.ExtensionArray.from_storage(tensor, pyarrow.array([good, [1.0, None, 3.0, 4.0], None], box)),
        "boxes": pyarrow.array([[good, [1.0, None, 3.0, 4.0]], [], None], pyarrow.list_(box)),
        "of one": pyarrow.array([{"a": [1.0, None], "b": [3.0, 4.0]}, None, None], pyarrow.struct([("a", pair), ("b", pair)])),
    }), tmp_path / "a.parquet")  # fmt: skip
    summary = ffkit.convert.parquet(tmp_path / "a.parquet", tmp_path / "set", order="sequential")
    assert summary.splits[0].num_records == 3 and summary.reported == {"left out of its record": 6}
    records = list(ffkit.Dataset(tmp_path / "set", split="train"))
    assert [None if r["xy"] is None else r["xy"].tolist() for r in records] == [[1, 2], None, None]
    assert [r["words"] for r in records] == [None, ["b", "c"], None]
    assert [None if r["pictures"] is None else len(r["pictures"]) for r in records] == [None, 2, None]
    assert [None if r["tensor"] is None else r["tensor"].tolist() for r in records] == [[[1, 2], [3, 4]], None, None]
    assert [None if r["boxes"] is None else r["boxes"].tolist() for r in records] == [[good], [], None]
    assert records[0]["of one/a"] is None and records[0]["of one/b"].tolist() == [3, 4]


@pytest.mark.parametrize("turn", [1, -1])
def test_an_empty_list_of_nothing_is_an_empty_list(tmp_path, turn):
    """As a writer makes it of rows that are all without boxes, in one file of several."""
    others = {
        "numbers": ([[1, 2]], [1, 2]), "boxes": ([[[1.0, 2.0, 3.0, 4.0]]], [[1, 2, 3, 4]]), "ragged": ([[[1.0], [2.0, 3.0]]], [[1], [2, 3]]),
        "words": ([["a"]], ["a"]), "pictures": ([[picture(1)]], [picture(1)]), "objects": ([[{"box": [1.0], "label": 3}]], None),
    }  # fmt: skip
    empty = {name: pyarrow.array([[], None, [None]], pyarrow.list_(pyarrow.null())) for name in others if name != "objects"}
    objects = pyarrow.list_(pyarrow.struct([("box", pyarrow.null()), ("label", pyarrow.null())]))
    tables = [pyarrow.table({**empty, "objects": pyarrow.array([[], None, []], objects)}), pyarrow.table({name: values for name, (values, _) in others.items()})]
    (tmp_path / "src").mkdir()
    for number, table in enumerate(tables[::turn]):
        pyarrow.parquet.write_table(table, tmp_path / "src" / f"train-{number}.parquet")
    summary = ffkit.convert.parquet(tmp_path / "src", tmp_path / "set", order="sequential")
    assert summary.reported == {"left out of its record": 5}

    def plain(value):
        if isinstance(value, list):
            return [plain(item) for item in value]
        return value.tolist() if isinstance(value, numpy.ndarray) else value

    records = [{name: plain(value) for name, value in r.items()} for r in ffkit.Dataset(tmp_path / "set", split="train")]
    full = records.pop(0 if turn < 0 else 3)
    for name, (_, value) in others.items():
        names = [name] if value is not None else ["objects/box", "objects/label"]
        assert value is None or full[name] == value
        assert all([r[one] for r in records] == [[], None, []] for one in names), name
    assert ffkit.Dataset(tmp_path / "set", split="train")[0 if turn > 0 else 1]["boxes"].shape == (0, 4)


def test_nulls_in_lists_cost_their_items(tmp_path):
    """Of structs, whether as a list of them or as Hugging Face's struct of lists, the whole item, so that boxes and labels stay together."""
    box, other = [0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0]
    structs = [
        [{"box": box, "label": 1}, {"box": other, "label": None}, None],
        [{"box": None, "label": 2}, {"box": [1.0, None, 2.0, 3.0], "label": 3}, {"box": other, "label": 4}],
        None,
        [{"box": box, "label": None}],
    ]
    lists = [
        {"box": [box, other], "label": [1, None]},
        {"box": [None, [1.0, None, 2.0, 3.0], other], "label": [2, 3, 4]},
        None,
        {"box": [box], "label": [None]},
    ]
    pyarrow.parquet.write_table(pyarrow.table({
        "x": [[1, 2], [3, None], None, [None]],
        "words": [["a", None, "b"], [], ["c"], None],
        "flags": [[True, None], [False], None, []],
        "nested": [[[1], None, [2, 3]], [[None, 1], [4]], [], None],
        "pictures": [[picture(1), None], [picture(2)], [], [None]],
        "structs": structs,
        "lists": lists,
    }), tmp_path / "a.parquet")  # fmt: skip
    notes = []
    summary = ffkit.convert.parquet(tmp_path / "a.parquet", tmp_path / "set", order="sequential", on_note=notes.append)
    assert summary.splits[0].num_skipped == 0
    assert summary.reported == {"left out of its record": 17}
    assert any("17 bad items were left out of their records" in note for note in notes)
    records = list(ffkit.Dataset(tmp_path / "set", split="train"))
    assert [None if r["x"] is None else r["x"].tolist() for r in records] == [[1, 2], [3], None, []]
    assert [r["words"] for r in records] == [["a", "b"], [], ["c"], None]
    assert [None if r["flags"] is None else r["flags"].tolist() for r in records] == [[1], [0], None, []]
    assert [None if r["nested"] is None else [x.tolist() for x in r["nested"]] for r in records] == [[[1], [2, 3]], [[4]], [], None]
    assert [[bytes(x) for x in r["pictures"]] for r in records] == [[picture(1)], [picture(2)], [], []]
    for name in ("structs", "lists"):
        boxes = [None if r[f"{name}/box"] is None else r[f"{name}/box"].tolist() for r in records]
        labels = [None if r[f"{name}/label"] is None else r[f"{name}/label"].tolist() for r in records]
        assert boxes == [[box], [other], None, []], name
        assert labels == [[1], [4], None, []], name
    # A column that is not taken costs nothing.
    ffkit.convert.parquet(tmp_path / "a.parquet", tmp_path / "boxes", order="sequential", columns=["structs/box"])
    boxes = [r["structs/box"] for r in ffkit.Dataset(tmp_path / "boxes", split="train")]
    assert boxes[0].tolist() == [box, other] and boxes[3].tolist() == [box]
