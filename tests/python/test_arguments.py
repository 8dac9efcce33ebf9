"""What people pass: indices of every kind, foreign objects, and the sentences that answer."""
import copy
import inspect
import pathlib
import pickle
import shutil

import numpy
import pytest

import conftest
import ffkit
from conftest import by_topic


def make(ds, **options):
    return ffkit.Loader(ds, **by_topic(**{"batch_size": 8, "image": None, "num_threads": 1} | options))


def numbers(ds):
    return [ds.index_in_split(i) for i in range(len(ds))]


def test_indices_of_every_kind(ds):
    for chosen, expected in (
        ([3, 1, 3], [3, 1, 3]),
        ((-1, 0), [59, 0]),
        (range(4, 0, -2), [4, 2]),
        (numpy.array([5, -60]), [5, 0]),
        (numpy.array([7, 8], numpy.uint8), [7, 8]),
        ([numpy.int32(2), numpy.uint64(9)], [2, 9]),
        ((i for i in (6, 5)), [6, 5]),
        ({11: 0}.keys(), [11]),
        (numpy.flatnonzero(ds.column("label") == 2), [i for i, label in enumerate(ds.column("label")) if label == 2]),
    ):
        assert numbers(ds.subset(chosen)) == expected
    assert numbers(ds[[3, 1]]) == [3, 1] and numbers(ds[numpy.array([4])]) == [4] and numbers(ds[-2:]) == [58, 59]
    assert ds[numpy.int64(4)] == ds[4] and ds[-1] == ds[59]
    assert numbers(ds.subset([5, 6, 7]).subset([-1, 0])) == [7, 5]


def test_masks_choose(ds):
    is_one = ds.column("label") == 1
    expected = [i for i in range(60) if is_one[i]]
    assert 0 < len(expected) < 60
    for mask in (is_one, is_one.tolist(), tuple(is_one), list(is_one)):
        assert numbers(ds.subset(mask)) == expected
    assert numbers(ds[is_one]) == expected
    for mask in ([True, False], numpy.ones(61, bool), [True] * 59):
        with pytest.raises(ValueError, match=f"has {len(mask)} values, expected 60"):
            ds.subset(mask)


@pytest.mark.parametrize("wrong", [[1.0], [0.5, 2.7], numpy.array([1.0, 2.0]), ["1"], [None], [True, 3], [[1, 2]], "12", b"12", {"a": 1}, numpy.zeros((2, 2), int), 3, numpy.int64(3), [1 + 0j]])
def test_what_is_no_index_is_refused(ds, wrong):
    with pytest.raises(TypeError):
        ds.subset(wrong)


def test_one_record_is_a_whole_number(ds):
    for wrong in (True, numpy.bool_(False), 1.0, numpy.float32(2), "1", None):
        for read in (lambda i: ds[i], lambda i: ds.field(i, "label"), lambda i: ds.index_in_split(i), lambda i: ds.source_of(i)):
            with pytest.raises(TypeError):
                read(wrong)
    for far in (60, -61):
        with pytest.raises(IndexError):
            ds[far]
        with pytest.raises(ValueError):
            ds.subset([far])


def test_groups_and_windows_take_no_floats(ds, driving):
    with pytest.raises(TypeError, match="groups takes whole numbers"):
        make(ds, groups=[0.0, 30.0])
    starts = numpy.zeros(60, bool)
    starts[[0, 4, 20]] = True
    assert [i for b in make(ds, groups=starts, tail="exact") for i in b.record_indices] == [i for b in make(ds, groups=[0, 4, 20], tail="exact") for i in b.record_indices]
    windows = ffkit.nuscenes.make_windows(ffkit.nuscenes.open_split(driving, "train").keyframes, 1)
    for method in (windows.select, windows.mask, windows.has_previous):
        with pytest.raises(TypeError, match="takes whole numbers"):
            method([0.7])
    assert len(windows.select(numpy.arange(8) % 2 == 0)) == 4


def test_a_loader_takes_a_path(data, ds):
    assert [b.size for b in make(data / "train")] == [b.size for b in make(str(data / "train"))] == [8] * 7
    with pytest.raises(FileNotFoundError, match="train.*val|val.*train"):
        make(data)


class Subset:
    """As of torch.utils.data."""

    def __init__(self, dataset, indices):
        self.dataset = dataset
        self.indices = indices


class ConcatDataset:
    def __init__(self, datasets):
        self.datasets = datasets


def test_a_loader_takes_torchs_parts_of_data_sets(ds):
    part = Subset(Subset(ds, [4, 5, 6, 7]), numpy.array([3, 1]))
    assert [b.record_indices.tolist() for b in make(part, batch_size=2, order="sequential")] == [[0, 1]]
    assert numbers(make(part, batch_size=2).dataset) == [7, 5]
    assert len(make(ConcatDataset([ds, Subset(ds, [1])])).dataset) == 61


@pytest.mark.parametrize("wrong, message", [([1, 2], "builtins.list is not a data set of ffkit.*from_torch"), (3, "builtins.int is not a data set of ffkit, expected an ffkit.Dataset or its path$"), (None, "NoneType")])
def test_other_data_sets_are_named(wrong, message):
    with pytest.raises(TypeError, match=message):
        make(wrong)


def test_foreign_transforms_are_named(ds):
    class Compose:
        transforms = []

    for image in (Compose(), lambda picture: picture):
        with pytest.raises(TypeError, match="ffkit.torch.image_options"):
            make(ds, image=image)


def test_seeds(ds):
    for wrong in (-1, 1 << 64):
        with pytest.raises(ValueError, match=f"seed is {wrong}, expected 0"):
            make(ds, seed=wrong)
    with pytest.raises(TypeError):
        make(ds, seed=1.5)
    assert next(iter(make(ds, seed=numpy.uint64(2**64 - 1)))).size == 8


def test_loaders_are_not_pickled(ds):
    loader = make(ds)
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="belongs to its process.*state_dict"):
            attempt(loader)


def test_a_closed_loader_has_a_repr(ds):
    loader = make(ds)
    assert repr(loader).startswith("<ffkit.Loader: 7 batches an epoch, of <ffkit.Dataset: ")
    loader.close()
    assert repr(loader).startswith("<ffkit.Loader: closed, of <ffkit.Dataset: ")


def test_sentences_have_no_names_of_cpp(ds):
    for options in ({"weights": [1] * 60}, {"order": "weighted"}, {"groups": [0], "order": "windowed"}, {"batch_size": 61}, {"epoch_size": 61}, {"mixture": "equal", "order": "sequential"}):
        with pytest.raises(ValueError) as error:
            make(ds, **options)
        assert "::" not in str(error.value)


def test_a_pickled_data_set_is_the_same_when_it_is_opened_again(tmp_path):
    conftest.convert("demo", tmp_path / "one", "--classes", 2, "--images", 20, "--val-images", 4, "--size", 16, "--quiet")
    conftest.convert("demo", tmp_path / "other", "--classes", 2, "--images", 12, "--val-images", 4, "--size", 20, "--quiet")
    whole = ffkit.Dataset(tmp_path / "one", "train")
    chain = ffkit.Dataset.chain([whole, ffkit.Dataset(tmp_path / "one", "val")])
    pickled = [pickle.dumps(one) for one in (whole, whole.subset([3, 1]), whole.subset([19]), whole.where("label == 1"), chain, chain.subset([21]), ffkit.Dataset.from_files(sorted((tmp_path / "one" / "train").glob("*.ffr"))))]
    for one in pickled:
        assert pickle.loads(one).fingerprint
    shutil.rmtree(tmp_path / "one")
    (tmp_path / "other").rename(tmp_path / "one")
    for one in pickled:
        with pytest.raises(ValueError, match="has changed since it was pickled"):
            pickle.loads(one)


def test_arguments_of_torch_are_answered(ds):
    for name, words in (("num_workers", "num_threads"), ("prefetch_factor", "prefetch_batches"), ("timeout", "read_timeout_s"), ("shuffle", "order='shuffle'"), ("drop_last", "tail="),
                        ("persistent_workers", "no worker processes"), ("collate_fn", "`fields`"), ("batchsize", "batch_size")):  # fmt: skip
        with pytest.raises(TypeError, match=f"Loader has no argument '{name}': .*{words}"):
            ffkit.Loader(ds, **{name: 1})


def test_arguments_by_topic_are_answered(ds):
    """Those that were the Loader's own, and all others that an object by topic has."""
    for name, argument, topic in (("copy", "memory", "Memory"), ("window_block", "order", "Order"), ("weights", "order", "Order"), ("augment", "image", "ImageOptions"),
                                  ("dtype", "image", "ImageOptions"), ("verify_checksums", "io", "IO"), ("queue_depth", "io", "IO")):  # fmt: skip
        with pytest.raises(TypeError, match=rf"Loader has no argument '{name}': .*{argument}=ffkit.{topic}\(..., {name}=...\)"):
            ffkit.Loader(ds, **{name: 1})


def test_a_loader_has_few_parameters():
    parameters = inspect.signature(ffkit.Loader).parameters.values()
    assert len(parameters) <= 20 and not any(p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL) for p in parameters)
    for topic in (ffkit.Order, ffkit.Memory, ffkit.IO, ffkit.ImageOptions, ffkit.Mixing):
        assert len(inspect.signature(topic).parameters) <= 12


def test_old_names_are_answered(ds, tmp_path):
    loader = make(ds)
    for owner, old, now in ((ffkit, "ResizeShortSide", "Resize"), (loader, "start_epoch", "set_epoch")):
        with pytest.raises(AttributeError, match=f"has no attribute '{old}'; it is {now} now"):
            getattr(owner, old)
    with pytest.raises(AttributeError, match="has no attribute 'shuffled'$"):
        loader.shuffled
    with pytest.raises(ValueError, match="unknown order 'shuffled'; it is 'shuffle' now"):
        make(ds, order="shuffled")
    for options, words in (({"threads": 2}, "'threads': it is num_threads now"), ({"on_error": "skip"}, "'on_error': it is bad_samples now"), ({"workers": 2}, "use num_threads instead")):
        with pytest.raises(TypeError, match=words):
            ffkit.convert.folder(tmp_path, tmp_path / "out", **options)
        with pytest.raises(TypeError, match=words):
            ffkit.Writer(tmp_path / "out", **options)
    with pytest.raises(ffkit.Error, match="'order' is 'source', which is order=\"sequential\" now"):
        ffkit.convert.folder(tmp_path, tmp_path / "out", order="source")
    page = (pathlib.Path(__file__).resolve().parents[2] / "docs/stability.md").read_text()
    for _, old, now in ffkit._ffkit.renamed:
        assert any(f"`{old}`" in line and now in line for line in page.splitlines()), f"docs/stability.md lacks {old}"


def test_pictures_and_labels_are_a_pair(ds):
    for images, labels in make(ds, image=ffkit.Resize((8, 8)), arrays="numpy"):
        assert images.shape == (8, 3, 8, 8) and labels.shape == (8,) and labels.dtype == numpy.int64
    for options in ({"image": None}, {"image": ffkit.Resize((8, 8)), "fields": {"id": ffkit.TextField("id")}}, {"image": ffkit.Resize((8, 8)), "label_field": None}):
        batch = next(iter(make(ds, arrays="numpy", **options)))
        with pytest.raises(TypeError, match=f"a batch of .*'{list(batch.keys())[0]}'.* is not a pair"):
            images, labels = batch
        assert list(batch) == list(dict(batch)) == [name for name in batch] == list(batch.keys())


def test_a_folder_of_pictures_names_its_command(tmp_path):
    (tmp_path / "pictures/cat").mkdir(parents=True)
    (tmp_path / "pictures/cat/1.jpg").write_bytes(b"")
    with pytest.raises(FileNotFoundError, match="is not a data set: .*convert it with 'ffconvert folder .*pictures DST'"):
        ffkit.Dataset(tmp_path / "pictures")


def test_dtypes_have_the_names_of_numpy_too(ds):
    for dtype in ("f16", "float16", numpy.float16, numpy.dtype("float16")):
        with make(ds, image=ffkit.ResizeCenterCrop(40, 32), dtype=dtype, arrays="numpy") as loader:
            assert next(iter(loader))["image"].dtype == numpy.float16
    assert ffkit.ImageOptions(dtype=numpy.uint8).normalize is False
    assert ffkit.MaskField("mask", dtype=numpy.int64).dtype == "i64"
    with pytest.raises(ffkit.InvalidArgumentError, match="unknown dtype 'float'"):
        make(ds, image=ffkit.ResizeCenterCrop(40, 32), dtype="float")
