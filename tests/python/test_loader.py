"""ffkit.Loader: loops, arrays, options, statistics."""
import logging
import pathlib
import pickle
import re

import numpy
import pytest

import ffkit
from conftest import by_topic


def make(ds, **options):
    return ffkit.Loader(ds, **by_topic(**{"batch_size": 8, "image": ffkit.RandomResizedCrop(16, flip_probability=0.5), "num_threads": 2} | options))


def damaged_copy(ds, record, folder):
    """The same records, of which one's picture has a flipped bit."""
    (shard,) = pathlib.Path(ds.path).glob("*.ffr")
    content = bytearray(shard.read_bytes())
    content[content.find(ds[record]["image"])] ^= 1
    (folder / shard.name).write_bytes(content)
    return ffkit.Dataset.from_files([folder / shard.name])


def test_a_loop_is_an_epoch(ds):
    loader = make(ds, tail="exact")
    assert len(loader) == 8 and loader.epoch == 0
    epochs = []
    for epoch in range(3):
        assert loader.epoch == epoch
        seen = []
        for step, batch in enumerate(loader):
            assert (batch.epoch, batch.step, loader.epoch) == (epoch, step, epoch)
            assert batch.size == len(batch["label"]) == len(batch["image"])
            seen += batch.record_indices.tolist()
        assert sorted(seen) == list(range(60))
        epochs.append(seen)
    assert epochs[0] != epochs[1] != epochs[2]
    assert loader.epoch == 3
    loader.set_epoch(1, restart=True)
    assert [i for batch in loader for i in batch.record_indices.tolist()] == epochs[1]
    for batch in loader:
        assert batch.epoch == 2
        break
    assert [batch.epoch for batch in loader] == [2] * 8  # a loop that was left counts not


def test_arrays_are_what_was_asked_for(ds):
    batch = next(iter(make(ds)))
    assert isinstance(batch, dict) and list(batch.keys()) == ["image", "label"]
    assert batch["image"].shape == (8, 3, 16, 16) and batch["image"].dtype == numpy.float32
    assert batch["label"].dtype == numpy.int64
    labels = ds.column("label")
    assert batch["label"].tolist() == labels[batch.record_indices].tolist()
    for dtype, expected in (("u8", numpy.uint8), ("f16", numpy.float16)):
        image = next(iter(make(ds, dtype=dtype, layout="nhwc")))["image"]
        assert image.shape == (8, 16, 16, 3) and image.dtype == expected
    batch["image"][:] = 3  # a view that may be written to
    with pytest.raises(ffkit.UnsupportedError, match="ml_dtypes"):
        next(iter(make(ds, dtype="bf16")))
    dlpack = next(iter(make(ds, dtype="bf16", arrays="dlpack")))["image"]
    assert dlpack.__dlpack_device__() == (1, 0)
    image = next(iter(make(ds, arrays="dlpack")))["image"]
    assert numpy.from_dlpack(image).shape == (8, 3, 16, 16)


def test_fields(ds):
    loader = make(ds, image=None, fields={"id": ffkit.TextField("id"), "copy": ffkit.CopyField("label")})
    for batch in loader:
        assert list(batch.keys()) == ["label", "id", "copy"]
        assert batch["id"] == [ds.column("id")[i] for i in batch.record_indices]
        assert (batch["copy"] == batch["label"]).all()
        assert batch.row_offsets("id").tolist() == numpy.cumsum([0] + [len(x) for x in batch["id"]]).tolist()
        with pytest.raises(KeyError):
            batch.row_offsets("label")


def test_options_are_checked_by_cpp(ds):
    for message, options in (
        ("batch_size", {"batch_size": 0}),
        ("scale", {"image": ffkit.RandomResizedCrop(16, scale=(0.5, 0.1), flip_probability=0.5)}),
        ("unknown order 'sorted'; expected one of sequential", {"order": "sorted"}),
        ("rank", {"rank": 1}),
        ("arrays is 'jax'", {"arrays": "jax"}),
        ("u8", {"dtype": "u8", "normalize": True}),
        ("has no batch", {"batch_size": 61}),
        ("GaussianBlur kernel_size is 4", {"augment": [ffkit.GaussianBlur(4, 1)]}),
        ("OneOf has 1 augmentations and 2 weights", {"augment": [ffkit.OneOf([ffkit.Invert()], (1, 2))]}),
        ("Solarize threshold is 300", {"augment": [ffkit.Apply(0.5, ffkit.Solarize(300))]}),
        ("nested more than 16 levels deep", {"augment": [nested(17)]}),
        ("opencv", {"image": ffkit.Resize((16, 16), "nearest")}),
    ):
        with pytest.raises(ValueError, match=message):
            make(ds, **options)
    with pytest.raises(KeyError, match="'colour'"):
        make(ds, label_field="colour")
    for message, options in (
        ("RandomResizedCrop.scale is 0.5, expected two numbers", {"image": ffkit.RandomResizedCrop(16, scale=0.5, flip_probability=0.5)}),
        ("batch_size is 'many', which has the wrong type", {"batch_size": "many"}),
        ("'flip' is not an augmentation", {"augment": ["flip"]}),
        ("None is not an augmentation", {"augment": [ffkit.Apply(0.5, [ffkit.Invert(), None])]}),
        ("OneOf.weights is 'x'", {"augment": [ffkit.OneOf([ffkit.Invert()], ["x"])]}),
        ("GaussianBlur.sigma", {"augment": [ffkit.GaussianBlur(5, "soft")]}),
        ("is not a field of a batch", {"fields": {"x": 3}}),
        ("is not a transform", {"image": "crop"}),
    ):
        with pytest.raises(TypeError, match=message):
            make(ds, **options)
    with pytest.raises(RecursionError, match="in augmentations"):
        make(ds, augment=[nested(100_000)])


def nested(levels):
    augmentation = ffkit.Invert()
    for _ in range(levels):
        augmentation = ffkit.Apply(1.0, augmentation)
    return augmentation


def test_apply_and_one_of(ds):
    plain, negative, grey = (
        numpy.concatenate([batch["image"] for batch in make(ds, image=ffkit.Resize((16, 16)), dtype="u8", order="sequential", tail="exact", augment=augment)])
        for augment in ((), [ffkit.Invert()], [ffkit.Grayscale(3)])
    )
    assert numpy.array_equal(negative, 255 - plain) and numpy.array_equal(grey[:, 0], grey[:, 2])
    assert ffkit.Apply(0.5, ffkit.Invert()) == ffkit.Apply(0.5, [ffkit.Invert()]) == ffkit.RandomInvert()

    def images(augmentation, **options):
        loader = make(ds, image=ffkit.Resize((16, 16)), dtype="u8", order="sequential", tail="exact", augment=[augmentation], **options)
        return numpy.concatenate([batch["image"] for batch in loader])

    for augmentation, results in ((ffkit.RandomInvert(0.4), (plain, negative)), (ffkit.OneOf([ffkit.Invert(), ffkit.Grayscale(3)]), (negative, grey))):
        found = images(augmentation)
        taken = [[numpy.array_equal(image, result[i]) for result in results] for i, image in enumerate(found)]
        assert all(sum(which) == 1 for which in taken) and 5 < sum(which[0] for which in taken) < 55
        assert numpy.array_equal(found, images(augmentation, num_threads=1, batch_size=3))
        assert not numpy.array_equal(found, images(augmentation, seed=99))


def test_statistics(ds):
    loader = make(ds, tail="exact")
    for _ in loader:
        pass
    before = loader.statistics()
    for _ in loader:
        pass
    now = loader.statistics()
    assert (before.num_batches, before.num_samples, now.num_samples) == (8, 60, 120)
    assert now.since(before).num_samples == 60 == loader.epoch_statistics().num_samples
    assert now.verdict() == str(now).strip().splitlines()[-1]
    assert re.search("bound:", now.verdict()) and now.num_threads == loader.num_threads == 2
    assert loader.memory_bound > 5 * 8 * 3 * 16 * 16 * 4


def test_bad_samples(ds, tmp_path, caplog):
    damaged = damaged_copy(ds, 4, tmp_path)
    loader = make(damaged, order="sequential", tail="exact")
    with pytest.raises(ffkit.CorruptError, match="CRC") as error:
        next(iter(loader))
    assert error.value.record == 4
    # Another epoch can be started, and the same error comes again.
    loader.set_epoch(0, restart=True)
    with pytest.raises(ffkit.CorruptError):
        list(loader)

    with caplog.at_level(logging.WARNING, logger="ffkit"):
        loader = make(damaged, order="sequential", tail="even", bad_samples="skip")
        replacements = [(batch, one) for batch in loader for one in batch.replacements]
    ((batch, one),) = replacements
    assert (one.index_in_batch, one.bad_record, batch.step) == (4, 4, 0) and "CRC" in one.reason
    assert batch.record_indices[4] != 4
    assert any("CRC" in record.getMessage() for record in caplog.records)
    mine = []
    loader = make(damaged, bad_samples="skip", on_warning=mine.append, tail="exact")
    for _ in loader:
        pass
    assert any("CRC" in text for text in mine)
    assert loader.statistics().num_replaced == 1


@pytest.mark.parametrize("tail", ["exact", "balanced"])
def test_bad_samples_are_left_out_where_each_counts_once(ds, tmp_path, tail):
    damaged = damaged_copy(ds, 4, tmp_path)
    said = []
    ranks = [make(damaged, order="sequential", tail=tail, bad_samples="skip", on_warning=said.append, rank=rank, world_size=2) for rank in range(2)]
    batches = [batch for loader in ranks for batch in loader]
    assert sorted(int(i) for batch in batches for i in batch.record_indices) == [i for i in range(60) if i != 4]
    assert len(batches) == sum(len(loader) for loader in ranks) and not any(batch.replacements for batch in batches)
    assert all(len(batch["image"]) == len(batch["label"]) == batch.size for batch in batches)
    ((index, bad, reason),) = [one for batch in batches for one in batch.left_out]
    assert (index, bad) == (4, 4) and "CRC" in reason and any("record 4 is left out" in text for text in said)
    assert sum(loader.statistics().num_left_out for loader in ranks) == 1
    # A batch of bad records alone has no sample.
    first = next(iter(make(damaged.subset([4]), order="sequential", tail=tail, bad_samples="skip", batch_size=1)))
    assert first.size == 0 and first["image"].shape[0] == 0 and len(first.left_out) == 1


def test_engines_and_threads_give_the_same_bytes(ds):
    def epoch(**options):
        return [batch["image"].tobytes() for batch in make(ds, augment=[ffkit.RandAugment()], **options)]

    expected = epoch()
    assert epoch(num_threads=1) == expected
    assert epoch(io=ffkit.IO(engine="pread", decoders_read_cache=False, queue_depth=2)) == expected
    assert epoch(seed=1) != expected
    with pytest.raises(ValueError, match="unknown engine 'aio'"):
        make(ds, io=ffkit.IO(engine="aio"))


def test_groups_stay_together(ds):
    groups = list(range(0, 60, 4))
    loader = make(ds, groups=numpy.array(groups), share_randomness=True)
    order = [i for batch in loader for i in batch.record_indices.tolist()]
    assert all(order[i : i + 4] == list(range(order[i], order[i] + 4)) and order[i] % 4 == 0 for i in range(0, len(order), 4))
    assert order != sorted(order)


def test_options_are_plain_values():
    options = ffkit.ImageOptions(ffkit.RandomCrop(32, padding=4, flip_probability=0.5), [ffkit.ColorJitter(0.4)], ffkit.RandomErasing(), dtype="u8")
    assert pickle.loads(pickle.dumps(options)) == options and options.normalize is False
    assert "padding=4" in repr(options)


def test_texts_have_no_limit_but_the_one_that_is_given(tmp_path):
    texts = ["a", "", "grüße", "x" * 660, "b", None, "y" * 100_000, "c"]
    with ffkit.Writer(tmp_path / "out", schema={"text": "string", "label": "i64"}) as writer:
        for label, text in enumerate(texts):
            writer.write({"text": text, "label": label} if text is not None else {"label": label})
    ds = ffkit.Dataset(tmp_path / "out", "train")

    def loader(max_bytes=0, **options):
        fields = {"text": ffkit.TextField("text", max_bytes) if max_bytes else ffkit.TextField("text")}
        return ffkit.Loader(ds, 4, **by_topic(image=None, order="sequential", fields=fields, num_threads=2, **options))

    for bad_samples in ("fail", "skip"):
        batches = list(loader(bad_samples=bad_samples))
        assert [text for batch in batches for text in batch["text"]] == [text or "" for text in texts]
        assert not any(batch.replacements for batch in batches)
    with pytest.raises(ffkit.UnsupportedError, match=r"field 'text' has a text of 660 bytes, but max_bytes is 256; give") as error:
        list(loader(256))
    assert error.value.record == 3 and error.value.path.endswith(".ffr")
    replaced = [one for batch in loader(256, bad_samples="skip") for one in batch.replacements]
    assert [one[:2] for one in replaced] == [(3, 3), (2, 6)] and "a text of 660 bytes" in replaced[0][2]
    with pytest.raises(ValueError, match="max_bytes is -1"):
        loader(-1)


@pytest.mark.parametrize("mixing", [{"mixup": 0.5}, {"cutmix": 1.0}])
def test_mixing_refuses_all_pictures_that_it_would_leave(tmp_path, mixing):
    pixels = numpy.zeros((16, 16, 3), numpy.uint8)
    with ffkit.Writer(tmp_path / "dst", "train", {"image": "image", "left": "image", "right": "image", "label": "i64"}, classes=["a"]) as writer:
        for _ in range(4):
            writer.write({"image": pixels, "left": pixels, "right": pixels, "label": 0})
    dataset = ffkit.Dataset(tmp_path / "dst", "train")
    options = ffkit.ImageOptions(ffkit.ResizeCenterCrop(8, 8))
    one = ffkit.ImageField("left", options)
    for field in (one, ffkit.ImagesField(["left", "right"], options), ffkit.ZerosWhereNull("left", one)):
        with pytest.raises(ffkit.Error, match="field 'other', because the field is a separate picture"):
            ffkit.Loader(dataset, 2, image=options, fields={"other": field}, mixing=ffkit.Mixing(**mixing))
