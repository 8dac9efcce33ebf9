"""The cache of the machine, from Python."""

import datetime
import os

import pytest

import ffkit


@pytest.fixture
def cache(tmp_path):
    before = ffkit._ffkit.cache_options()
    ffkit.set_cache(tmp_path / "cache", max_bytes=1 << 30, min_free_bytes=0)
    yield tmp_path / "cache"
    ffkit._ffkit.set_cache(*before)


def written(folder):
    with ffkit.Writer(folder, schema={"data": "bytes"}) as writer:
        for i in range(100):
            writer.write({"data": bytes([i]) * 10_000})
    return f"file://{folder}"


def test_keeps_what_was_read(cache, tmp_path):
    assert ffkit.cached_sets() == []
    dataset = ffkit.Dataset(written(tmp_path / "set"), "train")
    assert dataset[7]["data"] == bytes([7]) * 10_000
    (one,) = ffkit.cached_sets()
    assert one.address == f"file://{tmp_path}/set/train"
    assert (one.num_objects, one.is_in_use) == (1, True)
    assert abs(datetime.datetime.now() - one.last_used) < datetime.timedelta(minutes=5)
    assert ffkit.clean_cache() == 0  # in use
    assert ffkit.cached_sets(cache)[0].address == one.address


def test_is_off_when_it_is_told_so(cache, tmp_path):
    ffkit.set_cache("off")
    assert ffkit.cached_sets() == [] and ffkit.clean_cache() == 0
    assert ffkit.Dataset(written(tmp_path / "set"), "train")[3]["data"] == bytes([3]) * 10_000
    assert not cache.exists()


def test_refuses_what_cannot_be(cache):
    with pytest.raises(ffkit.InvalidArgumentError, match="at least 67108864"):
        ffkit.set_cache(max_bytes=1000)
    with pytest.raises(ffkit.InvalidArgumentError, match="min_free_bytes must be 0 or more"):
        ffkit.set_cache(min_free_bytes=-1)
    assert ffkit._ffkit.cache_options() == (os.fspath(cache), 1 << 30, 0)
