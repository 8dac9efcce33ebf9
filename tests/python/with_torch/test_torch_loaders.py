"""ffkit.torch.DataLoader and to_device against torch's own, and a Batch as torch's tree; runs in the Python that has torch."""
import pytest
import torch
import torch.distributed
from torch.utils import _pytree
from torchvision import transforms

import conftest
import ffkit
import ffkit.torch

COMPOSE = transforms.Compose([transforms.Resize((80, 80)), transforms.ToTensor()])


@pytest.fixture(scope="module")
def ds(tmp_path_factory):
    """51 records: neither ranks nor batches divide them."""
    folder = tmp_path_factory.mktemp("odd") / "demo"
    conftest.convert("demo", folder, "--classes", 4, "--images", 60, "--val-images", 20, "--size", 48, "--quiet")
    return ffkit.Dataset(folder, "train").subset(range(51))


def make(ds, batch_size=8, shuffle=False, **options):
    return ffkit.torch.DataLoader(ds, batch_size, shuffle, **{"transform": COMPOSE, "num_workers": 1} | options)


class Numbers(torch.utils.data.Dataset):
    def __init__(self, ds):
        self.labels = ds.column("label")

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return i, int(self.labels[i])


def torchs(ds, batch_size, shuffle, world_size, rank, drop_last=False):
    numbers = Numbers(ds)
    sampler = torch.utils.data.DistributedSampler(numbers, world_size, rank, shuffle=shuffle)
    return torch.utils.data.DataLoader(numbers, batch_size, sampler=sampler, drop_last=drop_last)


def sizes(loader):
    return [len(label) for _, label in loader]


@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("world_size", [1, 2, 3, 4])
@pytest.mark.parametrize("num_records, batch_size", [(51, 8), (51, 1), (48, 8), (47, 8), (49, 24), (7, 16), (51, 5)])
def test_training_has_torchs_numbers(ds, num_records, batch_size, world_size, drop_last):
    part = ds.subset(range(num_records))
    options = {"world_size": world_size, "drop_last": drop_last}
    if drop_last and batch_size > -(-num_records // world_size):
        with pytest.raises(ValueError, match="no batch"):
            make(part, batch_size, True, rank=0, **options)
        return
    for rank in range(world_size):
        ours, theirs = make(part, batch_size, True, rank=rank, **options), torchs(part, batch_size, True, rank=rank, **options)
        assert len(ours) == len(theirs) and len(ours.sampler) == len(theirs.sampler)
        assert sizes(ours) == sizes(theirs)


@pytest.mark.parametrize("world_size", [1, 2, 3, 8])
@pytest.mark.parametrize("num_records, batch_size", [(51, 8), (49, 8), (50, 2), (48, 8), (33, 4)])
def test_evaluation_is_exact(ds, num_records, batch_size, world_size):
    seen, numbers = [], set()
    for rank in range(world_size):
        loader = make(ds.subset(range(num_records)), batch_size, rank=rank, world_size=world_size)
        records = [i for batch in loader.loader for i in batch.record_indices.tolist()]
        numbers.add(len(loader))
        assert sum(sizes(loader)) == len(records) and len(sizes(loader)) == len(loader)
        seen += records
    assert sorted(seen) == list(range(num_records)) and len(numbers) == 1  # a DDP model waits for nobody


def test_scripts_for_several_ranks_go_on_where_they_were(ds):
    """load_state_dict(), then set_epoch() as every script calls it: nothing twice."""
    for set_epoch in (lambda loader, epoch: loader.set_epoch(epoch), lambda loader, epoch: loader.sampler.set_epoch(epoch)):
        loader = make(ds, shuffle=True)
        set_epoch(loader, 1)
        first, state = [], None
        for i, (_, label) in enumerate(loader):
            first.append(label)
            if i == 4:
                state = loader.state_dict()
                break
        again = make(ds, shuffle=True)
        again.load_state_dict(state)
        for epoch in range(again.epoch, 3):
            set_epoch(again, epoch)
            rest = [label for _, label in again]
            if epoch == 1:
                assert len(rest) == 2 and torch.cat(first + rest).sort().values.tolist() == sorted(ds.column("label"))
            else:
                assert len(rest) == 7


def test_iter_begins_its_epoch(ds):
    for loader in (make(ds, shuffle=True), ffkit.torch.to_device(make(ds, shuffle=True), "cpu"), ffkit.torch.to_device(make(ds, shuffle=True), "meta")):
        for _ in loader:
            break
        assert "position=8 " in loader.state_dict()["state"]
        loop = iter(loader)
        assert "epoch=0 position=0 " in loader.state_dict()["state"]
        assert len(list(loop)) == 7 and loader.epoch == 1


def test_batches_may_be_kept(ds):
    """As of torch's DataLoader: in a list, in a queue, by a loss that is summed with its graph."""
    loader = make(ds)
    kept = [images for images, _ in loader]
    again = [images.clone() for images, _ in loader]
    assert all(torch.equal(one, other) for one, other in zip(kept, again, strict=True))
    assert loader.loader._loader.copied_bytes() > 0
    kept.clear()
    del again
    weight = torch.ones(3 * 80 * 80, 4, requires_grad=True)
    total = 0
    for images, labels in loader:
        total = total + torch.nn.functional.cross_entropy(images.flatten(1) @ weight, labels)
    total.backward()
    del images, labels, total
    assert loader.loader._loader.copied_bytes() == 0
    loader.loader._max_copied_bytes = 1
    with pytest.raises(ValueError, match="4 batches are held already"):
        list(loader)


def test_a_loop_that_keeps_nothing_copies_nothing(ds):
    loader = make(ds)
    last = None
    for images, _ in loader:
        last, _ = images, last  # one more than the loop's own
        assert loader.loader._loader.copied_bytes() == 0


def test_to_device_takes_a_data_loader(ds):
    plain = [images.clone() for images, _ in make(ds)]
    moved = ffkit.torch.to_device(make(ds), "cpu")
    assert len(moved) == 7
    for (images, labels), expected in zip(moved, plain, strict=True):
        assert torch.equal(images, expected) and len(labels) == len(images)
    for images, _ in ffkit.torch.to_device(make(ds), "meta"):
        assert images.device.type == "meta"
    with pytest.raises(TypeError, match="takes an ffkit.Loader or an ffkit.torch.DataLoader, not torch.utils.data"):
        ffkit.torch.to_device(torch.utils.data.DataLoader(Numbers(ds)), "cpu")


def test_on_the_cpu_no_batch_is_held_for_nothing(ds):
    loader = ffkit.Loader(ds, 8, image=ffkit.Resize((80, 80)), memory=ffkit.Memory(held_batches=1), num_threads=1)
    held = 0
    for batch in ffkit.torch.to_device(loader, "cpu"):
        held = max(held, loader._loader.num_held())
        del batch
    assert held == 1


@pytest.mark.parametrize("name, value, words", [
    ("collate_fn", list, "ffkit.Mixing"), ("sampler", [1], "weights"), ("batch_sampler", [[1]], "groups"), ("worker_init_fn", print, "seed"), ("multiprocessing_context", "fork", "threads"),
])
def test_arguments_that_cannot_be_kept_are_refused(ds, name, value, words):
    with pytest.raises(TypeError, match=f"takes no {name}: .*{words}"):
        make(ds, **{name: value})


def test_arguments_of_torch(ds):
    def order(**options):
        return torch.cat([label for _, label in make(ds, shuffle=True, **options)]).tolist()

    assert order(generator=torch.Generator().manual_seed(5)) == order(seed=5) != order()
    loader = make(ds, shuffle=None, persistent_workers=True, prefetch_factor=2, timeout=7, drop_last=True)
    assert (loader.num_workers, loader.drop_last, loader.batch_size) == (1, True, 8) and len(loader) == 6 and len(loader.dataset) == 51
    assert loader.loader.statistics().prefetch_batches == 2
    both = make(ds, prefetch_factor=2, memory=ffkit.Memory(prefetch_batches=7, held_batches=9)).loader
    assert (both.statistics().prefetch_batches, both._held_batches) == (2, 9)
    assert "DataLoader of <ffkit.Loader: 6 batches" in repr(loader)
    assert len(make(torch.utils.data.Subset(ds, [1, 2, 3]), 2).dataset) == 3
    first, second = torch.utils.data.random_split(ds, [40, 11])
    assert len(make(first)) == 5 and len(ffkit.Loader(torch.utils.data.ConcatDataset([first, second]), 51).dataset) == 51


def test_transforms_of_torchvision_are_taken_and_others_named(ds):
    with ffkit.Loader(ds, 8, image=COMPOSE, seed=3) as one, ffkit.Loader(ds, 8, image=ffkit.torch.image_options(COMPOSE), seed=3) as other:
        assert torch.equal(next(iter(one))["image"], next(iter(other))["image"])
    with pytest.raises(ffkit.UnsupportedError, match="end them with ToTensor"):
        ffkit.Loader(ds, 8, image=transforms.RandomHorizontalFlip())
    with pytest.raises(TypeError, match="ffkit.torch.image_options"):
        ffkit.Loader(ds, 8, image=lambda picture: picture)


def test_ranks_of_torch_distributed(ds, monkeypatch):
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "3")
    before = ffkit.Loader(ds, 8)
    monkeypatch.delenv("RANK")
    monkeypatch.delenv("WORLD_SIZE")
    alone = ffkit.Loader(ds, 8)
    whole = ffkit.Loader(ds, 8, rank=0, world_size=1)
    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.distributed, "get_rank", lambda: 1)
    monkeypatch.setattr(torch.distributed, "get_world_size", lambda: 2)
    assert (before.rank, before.world_size) == (1, 3)
    loader = ffkit.Loader(ds, 8)
    assert (loader.rank, loader.world_size) == (1, 2) and "by torch.distributed" in repr(loader)
    with pytest.raises(ValueError, match="rank 1 of 2 of torch.distributed, but its loader was made before"):
        iter(alone)
    assert sum(1 for _ in whole) == 6


def test_a_batch_is_a_tree_of_torch(ds):
    batch = next(iter(ffkit.Loader(ds, 8, image=ffkit.Resize((16, 16)))))
    doubled = _pytree.tree_map(lambda array: 2 * array, batch)
    assert type(doubled) is ffkit.Batch and torch.equal(doubled["label"], 2 * batch["label"]) and not hasattr(doubled, "epoch")
    leaves, tree = _pytree.tree_flatten(batch)
    assert len(leaves) == 2 and torch.equal(_pytree.tree_unflatten(leaves, tree)["image"], batch["image"])
    named, _ = _pytree.tree_flatten_with_path(batch)
    assert [_pytree.keystr(path) for path, _ in named] == ["['image']", "['label']"]
    gathered = torch.utils.data.default_collate([dict(batch), dict(batch)])
    assert gathered["image"].shape == (2, 8, 3, 16, 16)
    assert type(torch.utils.data.default_convert(batch)) is ffkit.Batch
