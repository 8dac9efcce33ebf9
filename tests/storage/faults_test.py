"""Stores that fail while a loader reads: one that is away and comes back, one that is overloaded for a while, credentials that end."""

import hashlib
import os
import threading
import time

from servers import FOLDER, expect
from folder_server import FolderServer
from sets import ENDPOINT, demo, error_of, use

use()
import ffkit  # noqa: E402  the environment is read when a store is first used

local = demo(FOLDER / "bucket/demo", "--images", 600, "--val-images", 20, "--size", 160, "--shard-size", "1M")
server = FolderServer(FOLDER)
use(**{ENDPOINT: server.url})
os.environ["FFKIT_CACHE"] = "off"  # each epoch reads from the store
os.environ["FFKIT_RETRY_SECONDS"] = "3"
THERE = "s3://bucket/demo"


def loader_of(place):
    return ffkit.Loader(ffkit.Dataset(place, "train"), 32, image=ffkit.ImageOptions(ffkit.RandomResizedCrop(24, flip_probability=0.5), layout="nhwc"), seed=5, order="shuffle", num_threads=2)


def sum_of(batch):
    return hashlib.sha256(bytes(memoryview(batch["image"]).cast("B"))).hexdigest()


wanted = [sum_of(batch) for batch in loader_of(local)]

# Overloaded for a while: no error, and as much as there is.
loader = loader_of(THERE)
server.failing = 40
expect([sum_of(batch) for batch in loader] == wanted)
expect(server.failed == 40 and server.failing == 0, server.failed)
print(f"503 for 40 of {server.requests} requests: no error")

# Away in mid-epoch: the error names the object, and what has the state goes on when the store is
# back.
server.forget()
loader = loader_of(THERE)
batches = iter(loader)
seen = [sum_of(next(batches)) for _ in range(4)]
state = loader.state_dict()
server.is_gone = True
begin = time.monotonic()
said = error_of(lambda: [sum_of(batch) for batch in batches])
print(f"{said}\n  after {time.monotonic() - begin:.1f} s and {server.requests} requests")
expect(said.startswith("IoError: s3://bucket/demo/train/shard-0"), said)
said = error_of(lambda: ffkit.Dataset(THERE, "train"))
expect(said.startswith("IoError: s3://bucket/demo/train/manifest.json"), said)
server.is_gone = False
loader.load_state_dict(state)
expect(seen + [sum_of(batch) for batch in loader] == wanted)

# Away for a moment that is shorter than the patience of the requests: nobody notices.
loader = loader_of(THERE)
server.is_gone = True
timer = threading.Timer(0.5, lambda: setattr(server, "is_gone", False))
timer.start()
expect([sum_of(batch) for batch in loader] == wanted)

# Keys that end and are not renewed: the error says whose they are.
server.key = "AKIATEST"
loader = loader_of(THERE)
batches = iter(loader)
next(batches)
server.key = "AKIAOTHER"
said = error_of(lambda: [sum_of(batch) for batch in batches])
print(said)
expect("s3://bucket/demo" in said and "ExpiredToken" in said and "secret/of" not in said, said)
server.key = None
