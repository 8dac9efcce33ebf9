"""Loaders of data sets in SeaweedFS, against loaders of the same local folder: batches to the byte, states that change places, ranks, processes."""

import hashlib
import multiprocessing
import os
import pickle

from servers import FOLDER, expect
from sets import ENDPOINT, SeaweedFs, demo, use

weed = SeaweedFs()
use(**{ENDPOINT: weed.url})
import ffkit  # noqa: E402  the environment is read when a store is first used

local = demo(FOLDER / "demo", "--images", 400, "--val-images", 40, "--size", 160, "--shard-size", "1M")
weed.put_folder(local, "demo")
THERE, HERE = "s3://bucket/demo", str(local)


def loader_of(place, **options):
    dataset = place if isinstance(place, ffkit.Dataset) else ffkit.Dataset(place, "train")
    return ffkit.Loader(dataset, 32, **{"image": ffkit.ImageOptions(ffkit.RandomResizedCrop(24, flip_probability=0.5), layout="nhwc"), "seed": 5, "order": "shuffle", **options})


def sums_of(loader):
    """A hash of each batch of the rest of the epoch."""
    return [hashlib.sha256(b"".join(bytes(memoryview(batch[name]).cast("B")) for name in ("image", "label"))).hexdigest()[:16] for batch in loader]


labels = ffkit.Dataset(HERE, "train").column("label")
for number, order in enumerate(({"order": "shuffle"}, {"order": "windowed"}, {"order": ffkit.Order("windowed", window_block_bytes=100_000, window_blocks=3, num_streams=2)}, {"order": "sequential"}, {"order": ffkit.Order("weighted", weights=ffkit.class_balanced_weights(list(labels)))})):
    wanted = sums_of(loader_of(HERE, **order))
    expect(len(wanted) == 12 and len(set(wanted)) == 12)
    for num_threads in (1, 2, 5):
        for cache in ("off", FOLDER / f"cache-{number}-{num_threads}"):
            ffkit.set_cache(cache)
            with loader_of(THERE, num_threads=num_threads, **order) as loader:
                expect(sums_of(loader) == wanted, f"{order} {num_threads} {cache}")
                text = str(loader.statistics())
            if cache != "off":
                with loader_of(THERE, num_threads=num_threads, **order) as loader:  # warm
                    expect(sums_of(loader) == wanted, f"{order} {num_threads} {cache}, warm")
                    expect("network-bound" not in str(loader.statistics()) and "not in the cache" not in str(loader.statistics()), str(loader.statistics()))
            else:
                expect("MB were not in the cache" in text and "disk-bound" not in text, text)
print(text)

# A state goes from one place to the other and back, in the order of the place where it began.
for place, order in ((HERE, "shuffle, 400 samples"), (THERE, "windowed by 8388608 bytes x 64, 400 samples")):
    expect(loader_of(place, order="automatic").statistics().order == order)
for start, then in ((HERE, THERE), (THERE, HERE), (THERE, THERE)):
    wanted = sums_of(loader_of(start, order="automatic"))
    loader = loader_of(start, order="automatic")
    batches = iter(loader)
    for _ in range(5):
        next(batches)
    state = loader.state_dict()
    loader.close()
    loader = loader_of(then, order="automatic")
    loader.load_state_dict(state)
    expect(sums_of(loader) == wanted[5:], f"{start} to {then}")

# Two ranks, and chains of local and remote sets.
for rank in range(2):
    for order in ({}, {"order": ffkit.Order("windowed", window_block_bytes=100_000, num_streams=2)}):
        expect(sums_of(loader_of(THERE, rank=rank, world_size=2, **order)) == sums_of(loader_of(HERE, rank=rank, world_size=2, **order)), rank)
mixed, same = (ffkit.Dataset.chain([ffkit.Dataset(one, "train"), ffkit.Dataset(HERE, "val")]) for one in (THERE, HERE))
expect(sums_of(loader_of(mixed)) == sums_of(loader_of(same)))
expect(sums_of(loader_of(ffkit.Dataset(THERE, "train").where("label < 3"))) == sums_of(loader_of(ffkit.Dataset(HERE, "train").where("label < 3"))))


# Processes: pickled to new ones, and inherited by fork() while a loader of the parent reads.
def read_in_child(dataset, queue):
    queue.put((os.getpid(), hashlib.sha256(b"".join(dataset[i]["image"] for i in range(0, len(dataset), 3))).hexdigest()))


def load_in_child(dataset, queue):
    queue.put((os.getpid(), sums_of(loader_of(dataset))))


def in_child(method, work, dataset):
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    process = context.Process(target=work, args=(dataset, queue), daemon=True)
    process.start()
    result = queue.get(timeout=60)[1]
    process.join(30)
    expect(process.exitcode == 0, f"{method} {work}: {process.exitcode}")
    return result


if __name__ == "__main__":
    dataset = ffkit.Dataset(THERE, "train")
    expect(pickle.loads(pickle.dumps(dataset))[3] == dataset[3])
    wanted = hashlib.sha256(b"".join(ffkit.Dataset(HERE, "train")[i]["image"] for i in range(0, 400, 3))).hexdigest()
    for cache in ("off", FOLDER / "cache-fork"):
        ffkit.set_cache(cache)
        for _ in range(3):
            ffkit.clean_cache()
            dataset = ffkit.Dataset(THERE, "train")
            loader = loader_of(dataset)
            next(iter(loader))
            expect(in_child("fork", read_in_child, dataset) == wanted)
            expect(in_child("fork", load_in_child, dataset) == sums_of(loader_of(HERE)))
            loader.close()
    print("processes are through")
