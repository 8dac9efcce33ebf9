"""Data sets for tests of reading from stores, and the stores that have them."""

import json
import os
import pathlib
import subprocess
import sys
import urllib.parse
import urllib.request

from servers import FOLDER, KEYS, environment, expect, file_of, free_ports, installed, start

FFCONVERT, FFINSPECT = os.environ["FFKIT_FFCONVERT"], os.environ["FFKIT_FFINSPECT"]
ENDPOINT = "AWS_ENDPOINT_URL_S3"


def use(**variables):
    """The environment of this process and of what it starts: nothing of the caller's own, a cache in a folder of the test."""
    clean = environment(**KEYS, FFKIT_CACHE=str(FOLDER / "cache"), **variables)
    for name in set(os.environ) - set(clean):
        del os.environ[name]
    os.environ.update(clean)


def demo(folder, *options):
    """A data set of pictures with splits train and val."""
    subprocess.run([FFCONVERT, "demo", folder, "--quiet", *map(str, options)], check=True)
    return folder


def random_set(folder, num_records, record_bytes=100_000, seed=1):
    """Records that are no pictures, in shards of 25 MB."""
    import random

    import ffkit
    import numpy

    draw = random.Random(seed)
    with ffkit.Writer(folder, split="train", shard_size=25_000_000) as writer:
        for i in range(num_records):
            writer.write({"data": numpy.frombuffer(draw.randbytes(record_bytes), "u1"), "label": i})
    return folder


def inspect(*arguments, code=0):
    """What ffinspect prints; on an expected failure what it says on stderr, too."""
    done = subprocess.run([FFINSPECT, *map(str, arguments)], capture_output=True, text=True, timeout=120)
    expect(done.returncode == code, f"ffinspect {' '.join(map(str, arguments))}: status {done.returncode}\n{done.stdout}{done.stderr}")
    expect("secret/of" not in done.stdout + done.stderr, "a secret is printed")
    return done.stdout + done.stderr if code else done.stdout


def error_of(work):
    """The text of what `work` raises."""
    import ffkit

    try:
        work()
    except ffkit.Error as error:
        return f"{type(error).__name__}: {error}"
    sys.exit("FAILED: no error")


class SeaweedFs:
    """A server of S3 that checks signatures."""

    def __init__(self):
        weed = installed("weed")
        master, volume, self.filer, s3 = free_ports(4)
        config = file_of("s3.json", json.dumps({"identities": [{"name": "tests", "actions": ["Admin", "Read", "Write", "List"],
                                                                  "credentials": [{"accessKey": KEYS["AWS_ACCESS_KEY_ID"], "secretKey": KEYS["AWS_SECRET_ACCESS_KEY"]}]}]}).encode())
        (FOLDER / "weed").mkdir()
        start([weed, "server", "-s3", f"-dir={FOLDER / 'weed'}", "-ip=127.0.0.1", f"-master.port={master}", f"-volume.port={volume}", f"-filer.port={self.filer}", f"-s3.port={s3}",
               f"-s3.config={config}", "-volume.max=20", "-master.volumeSizeLimitMB=64", "-s3.port.iceberg=0", "-s3.port.lance=0"], s3, env={**os.environ, "GOMEMLIMIT": "300MiB"})
        for _ in range(4):  # the shell waits for ever when it comes before there is a leader
            try:
                done = subprocess.run([weed, "shell", f"-master=127.0.0.1:{master}", f"-filer=127.0.0.1:{self.filer}"], input="s3.bucket.create -name bucket\n", text=True, capture_output=True, timeout=15)
                break
            except subprocess.TimeoutExpired:
                continue
        expect(done.returncode == 0, done.stdout + done.stderr)
        self.url = f"http://127.0.0.1:{s3}"

    def put(self, key, content):
        request = urllib.request.Request(f"http://127.0.0.1:{self.filer}/buckets/bucket/{urllib.parse.quote(key)}", data=content, method="PUT", headers={"Content-Type": "application/octet-stream"})
        urllib.request.urlopen(request, timeout=30).read()

    def remove(self, key):
        urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{self.filer}/buckets/bucket/{urllib.parse.quote(key)}", method="DELETE"), timeout=30).read()

    def put_folder(self, folder, prefix):
        folder = pathlib.Path(folder)
        for file in sorted(path for path in folder.rglob("*") if path.is_file()):
            self.put(f"{prefix}/{file.relative_to(folder)}", file.read_bytes())
