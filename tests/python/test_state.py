"""state_dict() and load_state_dict(): the contract of torchdata's StatefulDataLoader, and C++'s states."""
import copy
import json
import pickle

import pytest

import ffkit
from conftest import by_topic


def make(ds, batch_size=4, **options):
    return ffkit.Loader(ds, batch_size, **by_topic(**{"image": ffkit.RandomResizedCrop(16, flip_probability=0.5), "num_threads": 2, "tail": "exact", "seed": 3} | options))


def records(batches):
    return [i for batch in batches for i in batch.record_indices.tolist()]


def pixels(batches):
    """Of each record, its picture."""
    return {int(i): image.tobytes() for batch in batches for i, image in zip(batch.record_indices, batch["image"])}


def take(loader, count):
    """`count` batches of a loop, and its state then."""
    taken = []
    for batch in loader:
        taken += batch.record_indices.tolist()
        if batch.step + 1 == count:
            return taken, loader.state_dict()
    raise AssertionError("the epoch is too short")


def test_a_loop_goes_on_where_the_state_was_taken(ds):
    loader = make(ds)
    list(records(loader))
    first, state = take(loader, 6)
    state = pickle.loads(pickle.dumps(copy.deepcopy(json.loads(json.dumps(state)))))
    again = make(ds)
    again.load_state_dict(state)
    assert again.epoch == 1
    assert first + records(again) == records(make_epoch(ds, 1))
    assert again.epoch == 2 and records(again) == records(make_epoch(ds, 2))


def make_epoch(ds, epoch, **options):
    loader = make(ds, **options)
    loader.set_epoch(epoch, restart=True)
    return loader


def test_the_rest_may_go_to_other_ranks_and_batch_sizes(ds):
    whole = pixels(make_epoch(ds, 0))
    ranks = [make(ds, rank=rank, world_size=2) for rank in range(2)]
    taken = [take(loader, 3) for loader in ranks]
    seen = taken[0][0] + taken[1][0]
    assert len(seen) == 24 and taken[0][1] == taken[1][1]
    rest = {}
    for rank in range(3):
        loader = make(ds, 5, rank=rank, world_size=3, num_threads=1)
        loader.load_state_dict(taken[0][1])
        rest |= pixels(loader)
    assert sorted([*seen, *rest]) == list(range(60))
    assert all(whole[i] == picture for i, picture in rest.items())


def test_a_finished_epoch_is_followed_by_the_next(ds):
    loader = make(ds)
    for batch in loader:
        last = loader.state_dict()
    end = loader.state_dict()
    assert last["state"] == end["state"] and (last["epoch_finished"], end["epoch_finished"]) == (False, True)
    for state, expected in ((last, []), (end, records(make_epoch(ds, 1)))):
        again = make(ds)
        again.load_state_dict(state)
        assert records(again) == expected
    again = make(ds)
    again.load_state_dict(end)
    assert again.epoch == 1 and again.state_dict() == end


def test_a_state_before_the_first_loop(ds):
    state = make(ds).state_dict()
    loader = make(ds)
    records(loader)
    loader.load_state_dict(state)
    assert loader.epoch == 0 and records(loader) == records(make_epoch(ds, 0))


def test_foreign_states_are_refused(ds, data):
    loader = make(ds)
    taken, state = take(loader, 2)
    for message, other in (
        ("seed 3, but the seed is 4", make(ds, seed=4)),
        ("belongs to data set", make(ffkit.Dataset(data, "val"))),
        ("sampler options", make(ds, order="sequential")),
    ):
        with pytest.raises(ValueError, match=message):
            other.load_state_dict(state)
        assert records(other)[:1]  # it goes on where it was
    for wrong in ({}, {"state": "?", "epoch_finished": False}, {"epoch": 3}, None):
        with pytest.raises(ValueError):
            loader.load_state_dict(wrong)
    assert loader.state_dict() == state


def test_set_epoch_keeps_the_place_of_the_epoch_under_way(ds):
    """What every script for several ranks calls before each loop, also after load_state_dict()."""
    loader = make(ds)
    loader.set_epoch(2)
    first, state = take(loader, 6)
    again = make(ds)
    again.load_state_dict(state)
    again.set_epoch(2)
    assert first + records(again) == records(make_epoch(ds, 2))
    again.set_epoch(3)
    assert records(again) == records(make_epoch(ds, 3))
    again.set_epoch(3)  # again, from its beginning: it had come to its end
    assert records(again) == records(make_epoch(ds, 3))
    again.set_epoch(1)
    assert records(again) == records(make_epoch(ds, 1))
    again.load_state_dict(state)
    again.set_epoch(2, restart=True)  # from its beginning
    assert records(again) == records(make_epoch(ds, 2))


def test_a_look_at_a_batch_is_no_epoch(ds):
    loader = make(ds, on_warning=lambda text: pytest.fail(text))
    first = next(iter(loader)).record_indices.tolist()
    assert loader.epoch == 0 and "position=4 " in loader.state_dict()["state"]
    again = make(ds)
    again.load_state_dict(loader.state_dict())  # what was seen
    assert first + records(again) == records(make_epoch(ds, 0))
    epochs = []
    for _ in range(loader.epoch, 3):
        epochs.append(records(loader))
    assert epochs == [records(make_epoch(ds, epoch)) for epoch in range(3)]


def test_a_loop_that_was_left_is_begun_again_where_it_began(ds):
    taken, state = take(make(ds), 5)
    rest = records(make_epoch(ds, 0))[20:]
    loader = make(ds)
    loader.load_state_dict(state)
    for _ in range(2):
        assert next(iter(loader)).record_indices.tolist() == rest[:4]
    loader.set_epoch(0)
    assert records(loader) == rest
    assert records(loader) == records(make_epoch(ds, 1))


def test_iter_begins_its_epoch_at_once(ds):
    loader = make(ds)
    for _ in loader:
        break
    loop = iter(loader)
    assert loader.epoch == 0 and "position=0 " in loader.state_dict()["state"]
    assert [i for batch in loop for i in batch.record_indices.tolist()] == records(make_epoch(ds, 0))


@pytest.mark.parametrize("order, num_warnings", [("shuffle", 1), ("sequential", 0)])
def test_loops_that_are_always_left_are_said_to_repeat(ds, order, num_warnings):
    said = []
    loader = make(ds, order=order, on_warning=said.append)
    loops = [take(loader, 3)[0] for _ in range(4)]
    assert loops[0] == loops[1] == loops[3] and len(said) == num_warnings
    assert all("left after 3 of 15 batches" in text and "set_epoch()" in text for text in said)
    by_epoch = []
    for epoch in range(3):
        loader.set_epoch(epoch)
        by_epoch.append(take(loader, 3)[0])
    assert (by_epoch[0] == by_epoch[1]) == (order == "sequential") and len(said) == num_warnings


def by_count(loader):
    """As who counts batches by len(), and never sees the end."""
    loop = iter(loader)
    return [i for _ in range(len(loader)) for i in next(loop).record_indices.tolist()]


def test_a_loop_that_took_all_batches_has_reached_its_end(ds):
    loader = make(ds, on_warning=lambda text: pytest.fail(text))
    assert [by_count(loader) for _ in range(3)] == [records(make_epoch(ds, epoch)) for epoch in range(3)]
    loader.set_epoch(2)  # again, by name
    assert by_count(loader) == records(make_epoch(ds, 2))
    assert list(zip(range(15), loader))[0][1].record_indices.tolist() == records(make_epoch(ds, 3))[:4]
    state = loader.state_dict()
    loader.set_epoch(5)
    assert by_count(loader) == records(make_epoch(ds, 5))
    again = make(ds)
    again.load_state_dict(state)
    again.set_epoch(4)  # what Lightning does then
    assert by_count(again) == records(make_epoch(ds, 4))


def test_set_epoch_moves_a_loop_that_has_taken_nothing(ds):
    """Lightning calls iter(), and then set_epoch()."""
    loader = make(ds)
    for epoch in (0, 3, 3, 1):
        loop = iter(loader)
        loader.set_epoch(epoch)
        assert [i for batch in loop for i in batch.record_indices.tolist()] == records(make_epoch(ds, epoch))
    loop = iter(loader)
    next(loop)
    loader.set_epoch(7)
    with pytest.raises(RuntimeError, match="ended by another loop"):
        next(loop)
