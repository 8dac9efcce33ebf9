"""The cache of the machine, by processes that load one data set: each byte is asked for once, whoever is killed, and nothing grows."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import threading
import time

from servers import FOLDER, KEYS, expect
from folder_server import FolderServer
from sets import ENDPOINT, random_set, use

READER = """
import hashlib, os, sys
import ffkit
address, epochs = sys.argv[1], int(sys.argv[2])
loader = ffkit.Loader(ffkit.Dataset(address, "train"), 16, image=None, fields={"data": ffkit.CopyField("data", [100_000])}, num_threads=2, order=os.environ.get("READ_ORDER", "shuffle"))
for epoch in range(epochs):
    total = hashlib.sha256()
    for batch in loader:
        total.update(bytes(memoryview(batch["data"]).cast("B")))
    print(total.hexdigest(), flush=True)
"""

use()
import ffkit  # noqa: E402

SMALL, LARGE = 600, 900  # records of 100 kB: 60 MB, and 90 MB, which is more than the least bound
small = random_set(FOLDER / "bucket/small", SMALL)
large = random_set(FOLDER / "bucket/large", LARGE, seed=2)
server = FolderServer(FOLDER)
use(**{ENDPOINT: server.url})


def size_of(folder):
    return sum(path.stat().st_size for path in folder.rglob("*.ffr"))


def start_reader(address, epochs=1, **variables):
    return subprocess.Popen([sys.executable, "-c", READER, str(address), str(epochs)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **variables})


def end_of(reader, code=0):
    out, err = reader.communicate(timeout=100)
    expect(reader.returncode == code, f"{reader.returncode}: {err}")
    return out.split(), err


def read(address, epochs=1, **variables):
    server.forget()
    sums, err = end_of(start_reader(address, epochs, **variables))
    return sums, err, server.bytes_of(".ffr")


def cache_folder(name):
    return {"FFKIT_CACHE": str(FOLDER / "caches" / name)}


wanted = {name: read(folder, 3)[0] for name, folder in (("small", small), ("large", large))}

# Off: each epoch asks for all of it. On: once, and never again. Until the first blocks come, a
# process reads records alone, whose blocks come later: at most what it has in flight, 64 records of
# 100 kB.
ALONE = 64 * 100_000
sums, err, num_bytes = read("s3://bucket/small", 2, FFKIT_CACHE="off")
expect(sums == wanted["small"][:2] and err == "")
print(f"off: {num_bytes / size_of(small) / 2:.3f} of the set an epoch, {server.requests / 2:.0f} requests")
sums, err, num_bytes = read("s3://bucket/small", 3, **cache_folder("small"))
expect(sums == wanted["small"] and err == "" and num_bytes <= 1.05 * size_of(small) + ALONE, num_bytes / size_of(small))
print(f"cold: {num_bytes / size_of(small):.3f} of the set in 3 epochs, {server.requests} requests")
sums, err, num_bytes = read("s3://bucket/small", 3, **cache_folder("small"))
expect(sums == wanted["small"] and num_bytes == 0, num_bytes)
# The default order: few records are read alone while their blocks are on their way. Without a
# cache, and with one that is full, each block of a window is one request too.
ends = len(list(small.rglob("*.ffr"))) * (260 << 10)
for name, epochs, variables in (("cold", 1, cache_folder("small-windowed")), ("off", 3, {"FFKIT_CACHE": "off"}), ("full", 3, {"FFKIT_CACHE_BYTES": "64Mi", **cache_folder("full")})):
    folder = large if name == "full" else small
    sums, err, num_bytes = read(f"s3://bucket/{folder.name}", epochs, READ_ORDER="automatic", **variables)
    print(f"{name}, default order: {num_bytes / size_of(folder) / epochs:.3f} of the set an epoch, {server.requests / epochs:.0f} requests")
    expect(len(set(sums)) == epochs and sums[0] != wanted[folder.name][0] and ("is full" in err) == (name == "full"), err)
    expect(num_bytes - ends <= epochs * (1.02 * size_of(folder) + 40 * 100_000) and server.requests <= epochs * 200, f"{num_bytes / size_of(folder)} {server.requests}")
print(f"warm: {num_bytes} bytes, {server.requests} requests")

# A bound that is less than the set: what is kept stays, the rest comes from the store in each
# epoch.
sums, err, first = read("s3://bucket/large", 1, FFKIT_CACHE_BYTES="64Mi", **cache_folder("large"))
expect(sums == wanted["large"][:1] and "is full" in err, err)
sums, err, both = read("s3://bucket/large", 2, FFKIT_CACHE_BYTES="64Mi", **cache_folder("large"))
print(f"a bound of {(64 << 20) / size_of(large):.2f} of the set: {first / size_of(large):.2f} of it in the first epoch, {both / 2 / size_of(large):.2f} in later ones")
expect(sums == wanted["large"][:2] and both < 2 * 0.6 * size_of(large), both / size_of(large))
on_disk = sum(path.stat().st_blocks * 512 for path in (FOLDER / "caches/large").iterdir())
expect((40 << 20) < on_disk <= (64 << 20) + (1 << 20), on_disk)

# Sets that nobody uses make room for one that is used.
sums, err, _ = read("s3://bucket/small", 1, FFKIT_CACHE_BYTES="80M", **cache_folder("large"))
ffkit.set_cache(FOLDER / "caches/large")
expect(sums == wanted["small"][:1] and [one.address for one in ffkit.cached_sets()] == ["s3://bucket/small/train"], ffkit.cached_sets())
expect(err == "" and ffkit.cached_sets()[0].num_bytes > 0.9 * size_of(small), err)

# A disk without room.
sums, err, num_bytes = read("s3://bucket/small", 1, FFKIT_CACHE=str(FOLDER / "caches/none"), FFKIT_CACHE_BYTES="64M")
code = READER.replace("import ffkit\n", "import ffkit\nffkit.set_cache(min_free_bytes=1 << 60)\n", 1)
server.forget()
done = subprocess.run([sys.executable, "-c", code, "s3://bucket/small", "2"], capture_output=True, text=True, timeout=100, env={**os.environ, **cache_folder("no-room")})
expect(done.returncode == 0 and done.stdout.split() == wanted["small"][:2] and "is full" in done.stderr, done.stderr)
print(f"no room: {server.bytes_of('.ffr') / size_of(small) / 2:.3f} of the set an epoch")
# A folder that cannot be one, and one in memory.
(FOLDER / "file").write_bytes(b"")
for folder in (FOLDER / "file/x", "/dev/shm/ffkit-test-cache"):
    if pathlib.Path("/dev/shm").is_dir() or "file" in str(folder):
        sums, err, _ = read("s3://bucket/small", 1, FFKIT_CACHE=str(folder))
        expect(sums == wanted["small"][:1] and "there is no cache" in err, err)
shutil.rmtree("/dev/shm/ffkit-test-cache", ignore_errors=True)

# Four processes that begin together.
server.forget()
readers = [start_reader("s3://bucket/small", 1, **cache_folder("four")) for _ in range(4)]
for reader in readers:
    expect(end_of(reader) == (wanted["small"][:1], ""))
ends = 4 * len(list(small.rglob("*.ffr"))) * (260 << 10)  # which each process reads to open a shard, until the cache has them
share, without_ends = server.bytes_of(".ffr") / size_of(small), (server.bytes_of(".ffr") - ends) / size_of(small)
print(f"four processes: {share:.3f} of the set, {without_ends:.3f} without what opening shards reads")
expect(without_ends <= 1.01 + 4 * ALONE / size_of(small), share)

# Two machines that share an epoch: in the default order each downloads its streams, and one block
# at each of their ends; in a full shuffle almost all.
shares = {}
for order in ("automatic", "shuffle"):
    server.forget()
    readers = [start_reader("s3://bucket/large", 1, READ_ORDER=order, RANK=str(rank), WORLD_SIZE="2", LOCAL_WORLD_SIZE="1", **cache_folder(f"{order}-{rank}")) for rank in range(2)]
    for reader in readers:
        expect(end_of(reader)[1] == "")
    shares[order] = (server.bytes_of(".ffr") - 2 * len(list(large.rglob("*.ffr"))) * (260 << 10)) / size_of(large)
print(f"two machines: {shares['automatic']:.3f} of the set in the default order, {shares['shuffle']:.3f} in a full shuffle")
expect(shares["automatic"] <= 1 + (4 * (2 << 20) + 80 * 100_000) / size_of(large) and shares["shuffle"] > shares["automatic"], shares)

# One of them is killed, and one is interrupted, while they fetch: the others have all of it, and
# what was kept is right.
server.forget()
server.delay_s = 0.05
readers = [start_reader("s3://bucket/small", 1, **cache_folder("killed")) for _ in range(4)]
while server.bytes_of(".ffr") < 8e6:
    time.sleep(0.01)
readers[0].send_signal(signal.SIGKILL)
readers[1].send_signal(signal.SIGINT)
readers[0].communicate(timeout=30)
_, err = readers[1].communicate(timeout=30)
expect(readers[0].returncode == -signal.SIGKILL and readers[1].returncode in (-signal.SIGINT, 1, 130), readers[1].returncode)
expect("KeyboardInterrupt" in err, err)
for reader in readers[2:]:
    expect(end_of(reader) == (wanted["small"][:1], ""))
server.delay_s = 0
share = server.bytes_of(".ffr") / size_of(small)  # what the two had underway is fetched again: of so small a set that may be all
print(f"one killed, one interrupted: {share:.3f} of the set")
expect(share < 2.2, share)
sums, err, num_bytes = read("s3://bucket/small", 1, **cache_folder("killed"))
expect(sums == wanted["small"][:1] and num_bytes == 0, num_bytes)

# Blocks of a shard that was replaced are not taken for the new one's.
other = random_set(FOLDER / "bucket/other", SMALL, seed=3)
other_sums = read(other)[0]
for file in (other / "train").iterdir():
    os.replace(file, small / "train" / file.name)
sums, err, num_bytes = read("s3://bucket/small", 1, **cache_folder("killed"))
expect(sums == other_sums != wanted["small"][:1] and num_bytes > 0.9 * size_of(small), num_bytes)


# Ten epochs in this process: nothing grows.
def held():
    memory = int(next(line for line in open("/proc/self/status") if line.startswith("VmRSS")).split()[1])
    return {"descriptors": len(os.listdir("/proc/self/fd")), "threads": len(os.listdir("/proc/self/task")), "memory": memory,
            "cache": sum(path.stat().st_blocks * 512 for path in (FOLDER / "caches/epochs").iterdir())}


ffkit.set_cache(FOLDER / "caches/epochs")
dataset = ffkit.Dataset("s3://bucket/small", "train")
fields = {"data": ffkit.CopyField("data", [100_000])}
after = []
for epoch in range(10):
    with ffkit.Loader(dataset, 16, image=None, fields=fields, num_threads=2) as loader:
        for batch in loader:
            pass
    del batch, loader
    after.append(held())
print(f"after 2 and 10 epochs: {after[1]} {after[-1]}")
for name, slack in (("descriptors", 2), ("threads", 2), ("memory", 40_000), ("cache", 0)):
    expect(after[-1][name] <= after[1][name] + slack, f"{name}: {[one[name] for one in after]}")
