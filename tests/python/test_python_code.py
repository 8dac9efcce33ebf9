"""Field decoders and augmentations written in Python."""
import numpy
import pytest

import ffkit
from conftest import by_topic


def make(ds, **options):
    return ffkit.Loader(ds, **by_topic(**{"batch_size": 8, "image": ffkit.Resize((48, 48)), "num_threads": 3, "order": "sequential", "seed": 9} | options))


def one_hot(values, key):
    target = numpy.zeros(4)
    target[values["label"]] = 1
    return target


def test_a_decoder_of_numbers(ds):
    loader = make(ds, fields={"target": ffkit.PythonField(one_hot, "f16", [4], inputs=["label"])})
    for batch in loader:
        assert batch["target"].dtype == numpy.float16 and batch["target"].shape == (8, 4)
        assert (batch["target"].argmax(1) == batch["label"]).all() and batch["target"].sum() == 8


def test_a_decoder_sees_the_record_and_the_key(ds):
    seen = []

    def look(values, key):
        seen.append((values, key.seed, key.epoch, key.record_index))
        return key.random().uniform(2, 3)

    loader = make(ds, fields={"x": ffkit.PythonField(look, "f64")}, copy=True, read_ahead_epochs=False)
    loader.set_epoch(4, restart=True)
    drawn = numpy.concatenate([batch["x"] for batch in loader])
    assert sorted(index for *_, index in seen) == list(range(56)) and {(seed, epoch) for _, seed, epoch, _ in seen} == {(9, 4)}
    assert all(values == ds[index] for values, *_, index in seen)
    assert len(set(drawn)) == 56 and drawn.min() >= 2 and drawn.max() < 3
    assert drawn[5] == ffkit.SampleKey(9, 4, 5).random().uniform(2, 3)


def test_rows(ds):
    def rows(values, key):
        return numpy.full((values["label"], 2), values["label"])

    for batch in make(ds, fields={"rows": ffkit.PythonField(rows, "i32", [2], max_rows=3)}):
        offsets = batch.row_offsets("rows")
        assert (numpy.diff(offsets) == batch["label"]).all() and batch["rows"].shape == (batch["label"].sum(), 2)
        for i, label in enumerate(batch["label"]):
            assert (batch["rows"][offsets[i] : offsets[i + 1]] == label).all()
    for batch in make(ds, fields={"rows": ffkit.PythonField(rows, "i32", [2], max_rows=3, padded=True)}):
        assert batch["rows"].shape == (8, 3, 2) and (batch["rows"].sum((1, 2)) == 2 * batch["label"] ** 2).all()
    with pytest.raises(ValueError, match="3 rows, more than max_rows, which is 2"):
        list(make(ds, copy=True, fields={"rows": ffkit.PythonField(rows, "i32", [2], max_rows=2)}))


def test_what_a_decoder_raises_comes_out_of_the_loop(ds):
    def fail(values, key):
        raise OverflowError(f"record {key.record_index}")

    loader = make(ds, fields={"x": ffkit.PythonField(fail)})
    for _ in range(2):
        loader.set_epoch(0, restart=True)
        with pytest.raises(OverflowError, match="record 0") as error:
            next(iter(loader))
        assert error.traceback[-1].name == "fail"

    def bad(values, key):
        if key.record_index in (3, 17):
            raise ffkit.CorruptError("no such label")
        return 1

    with pytest.raises(ffkit.CorruptError, match="no such label") as error:
        next(iter(make(ds, fields={"x": ffkit.PythonField(bad)})))
    assert error.value.record == 3
    loader = make(ds, fields={"x": ffkit.PythonField(bad)}, bad_samples="skip", on_warning=lambda text: None)
    assert [one.bad_record for batch in loader for one in batch.replacements] == [3, 17]

    # A decoder may name a file of its own: that is no damage of the data set.
    def bad_file(values, key):
        if key.record_index in (3, 17):
            raise ffkit.CorruptError("labels.json: no such label", path="labels.json")
        return 1

    loader = make(ds, fields={"x": ffkit.PythonField(bad_file)}, bad_samples="skip", on_warning=lambda text: None)
    assert [one.bad_record for batch in loader for one in batch.replacements] == [3, 17]


def test_wrong_results_are_refused(ds):
    for message, function, options in (
        (r"shape \[3\], expected \[4\]", lambda v, k: numpy.zeros(3), {"shape": [4]}),
        (r"shape \[\], expected \[4\]", lambda v, k: 0, {"shape": [4]}),
    ):
        with pytest.raises(ValueError, match=message):
            next(iter(make(ds, fields={"x": ffkit.PythonField(function, **options)})))
    with pytest.raises(TypeError, match="same_kind"):
        next(iter(make(ds, fields={"x": ffkit.PythonField(lambda v, k: 1.5, "i64")})))
    with pytest.raises(ValueError, match="bf16"):
        make(ds, fields={"x": ffkit.PythonField(lambda v, k: 1.5, "bf16")})
    with pytest.raises(KeyError, match="colour"):
        make(ds, fields={"x": ffkit.PythonField(lambda v, k: 1.5, inputs=["colour"])})


def test_an_augmentation(ds):
    def darken(pixels, random):
        assert pixels.dtype == numpy.uint8
        pixels //= 2
        pixels[random.below(48)] = 255

    plain = [batch["image"].copy() for batch in make(ds, dtype="u8", layout="nhwc")]
    epochs = [[batch["image"].copy() for batch in make(ds, dtype="u8", layout="nhwc", augment=[ffkit.PythonAugmentation(darken)], num_threads=n)] for n in (1, 3)]
    for image, dark, again in zip(plain, *epochs):
        assert (dark == again).all()
        white = (dark == 255).all(axis=(2, 3))
        assert (white.sum(1) == 1).all()
        assert (dark[~white] == image[~white] // 2).all()
    with pytest.raises(ZeroDivisionError):
        next(iter(make(ds, augment=[ffkit.PythonAugmentation(lambda pixels, random: 1 / 0)])))


def test_random_numbers_are_those_of_cpp():
    random = ffkit.SampleKey(1, 2, 3).random(128)
    assert [random.next() for _ in range(2)] == EXPECTED
    assert 0 <= random.uniform() < 1 and 0 <= random.below(10) < 10
    with pytest.raises(ValueError):
        random.below(0)


# std::printf of CounterRandom({.seed = 1, .epoch = 2, .record_index = 3}, 128).next(), twice.
EXPECTED = [73834359089884359, 521131842936107492]


@pytest.mark.parametrize("keep", [lambda pixels: pixels, lambda pixels: pixels[3:5], lambda pixels: memoryview(pixels), lambda pixels: pixels.reshape(-1)])
def test_pixels_that_are_kept_stay_as_they_are(ds, keep):
    kept = []

    def look(pixels, random):
        view = keep(pixels)
        kept.append((view, bytes(view)))

    loader = make(ds, augment=[ffkit.PythonAugmentation(look)], dtype="u8")
    for _ in range(2):
        for _ in loader:
            pass
    loader.close()
    del loader
    assert len(kept) >= 112 and all(bytes(view) == before for view, before in kept)


def test_a_traceback_may_keep_pixels(ds):
    def fail(pixels, random):
        raise LookupError("here")

    loader = make(ds, augment=[ffkit.PythonAugmentation(fail)])
    with pytest.raises(LookupError) as raised:
        next(iter(loader))
    frame = raised.traceback[-1].frame.f_locals
    before = frame["pixels"].copy()
    loader.close()
    del loader
    for _ in make(ds):
        pass
    assert before.shape == (48, 48, 3) and (frame["pixels"] == before).all()


def test_what_an_augmentation_returns(ds):
    plain = [batch["image"] for batch in make(ds, dtype="u8", copy=True)]
    for function in (lambda p, r: 255 - p, lambda p, r: numpy.subtract(255, p, out=p), lambda p, r: p.__setitem__(..., 255 - p), lambda p, r: (255 - p).tolist() and memoryview(255 - p)):
        for image, batch in zip(plain, make(ds, dtype="u8", augment=[ffkit.PythonAugmentation(function)]), strict=True):
            assert (batch["image"] == 255 - image).all()
    for message, function in (
        (r"returned float64 of shape \[48, 48, 3\]; expected uint8 of \[48, 48, 3\], or None", lambda p, r: p / 255),
        (r"returned uint8 of shape \[24, 48, 3\]", lambda p, r: p[::2]),
        (r"returned uint8 of shape \[48, 48, 1\]", lambda p, r: p[..., :1]),
        (r"returned bool of shape \[\]", lambda p, r: True),
        (r"returned object of shape \[\]", lambda p, r: object()),
    ):
        with pytest.raises(TypeError, match=message):
            next(iter(make(ds, augment=[ffkit.PythonAugmentation(function)])))


def notes(error):
    return "\n".join(getattr(error, "__notes__", error.args))  # Python 3.10 has no notes


def test_errors_of_python_code_name_field_and_record(ds):
    def fail_at_5(values, key):
        return 1 / (key.record_index - 5)

    shard = ds.path
    for fields, message, kind in (
        ({"x": ffkit.PythonField(fail_at_5)}, "field 'x' of record 5 of ", ZeroDivisionError),
        ({"y": ffkit.ZerosWhereNull("id", ffkit.PythonField(fail_at_5))}, "field 'y' of record 5 of ", ZeroDivisionError),
        ({"z": ffkit.PythonField(lambda values, key: 1.5, "i64")}, "field 'z' of record 0 of ", TypeError),
    ):
        with pytest.raises(kind) as raised:
            for _ in make(ds, fields=fields, num_threads=1):
                pass
        assert message + shard in notes(raised.value)
    with pytest.raises(ValueError, match=r"PythonField 'w' returned shape \[2\], expected \[\]") as raised:
        next(iter(make(ds, fields={"w": ffkit.PythonField(lambda values, key: [1, 2])}, num_threads=1)))
    assert raised.value.record == 0 and raised.value.path.endswith(".ffr")
    with pytest.raises(ValueError, match="PythonField 'rows' returned 9 rows, more than max_rows, which is 2"):
        next(iter(make(ds, fields={"rows": ffkit.PythonField(lambda values, key: [0] * 9, max_rows=2)})))
    with pytest.raises(ZeroDivisionError) as raised:
        next(iter(make(ds, augment=[ffkit.PythonAugmentation(lambda pixels, random: 1 / 0)], num_threads=1)))
    assert "field 'image' of record 0 of " + shard in notes(raised.value)
    part = ds.subset([9, 5])
    with pytest.raises(ZeroDivisionError) as raised:
        next(iter(make(part, batch_size=2, fields={"x": ffkit.PythonField(lambda values, key: 1 / 0)}, num_threads=1)))
    assert "of record 9 of " in notes(raised.value)  # of the split, as other errors
