#!/usr/bin/env python3
"""The original FFRecord: random records in batches of 64, from a warm page cache, checksums on, in one process.

ffrecord is not on PyPI: build it from github.com/HFAiLab/ffrecord (needs libaio-dev and pybind11) into the peers' environment.
"""
import argparse
import importlib.metadata
import json
import pathlib
import random
import time

import ffrecord

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--work", type=pathlib.Path, required=True)
parser.add_argument("--bytes", type=int, default=110_000)
parser.add_argument("--records", type=int, default=10_000)
parser.add_argument("--passes", type=int, default=3)
options = parser.parse_args()

path = options.work / f"ffrecord-{options.bytes}-{options.records}.ffr"
if not path.exists():
    options.work.mkdir(parents=True, exist_ok=True)
    draw = random.Random(1)
    writer = ffrecord.FileWriter(str(path), options.records)
    for _ in range(options.records):
        writer.write_one(draw.randbytes(options.bytes))
    writer.close()

reader = ffrecord.FileReader(str(path), check_data=True)
order = list(range(options.records))


def read_all(seed):
    random.Random(seed).shuffle(order)
    for first in range(0, len(order), 64):
        reader.read(order[first:first + 64])


read_all(0)
begin = time.perf_counter()
for seed in range(1, options.passes + 1):
    read_all(seed)
seconds = time.perf_counter() - begin
print(json.dumps({"peer": "ffrecord FileReader, checked, one process", "version": importlib.metadata.version("ffrecord"),
                  "megabytes_per_second": options.passes * options.records * options.bytes / seconds / 1e6}))
