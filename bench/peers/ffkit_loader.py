#!/usr/bin/env python3
"""ffkit's Python package, over a data set that ffconvert made: ffkit_loader.py DATA. Prints what the peers print."""
import argparse
import json
import time

import ffkit

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("data")
parser.add_argument("--split", default="train")
parser.add_argument("--num-threads", type=int, default=2)
parser.add_argument("--batch", type=int, default=64)
parser.add_argument("--epochs", type=int, default=5)
parser.add_argument("--size", type=int, default=224)
parser.add_argument("--dtype", default="f32", help="u8, f16, bf16 or f32")
parser.add_argument("--eval", action="store_true", help="resize and centre crop instead of random crops")
parser.add_argument("--two-epochs", action="store_true", help="print the rates of the first two epochs, the opening included")
parser.add_argument("--arrays", default="auto", help="torch, numpy or dlpack")
options = parser.parse_args()
if options.arrays in ("auto", "torch"):
    # Imported before the clock runs, as by the peers: it takes longer than an epoch of 3,000
    # pictures.
    import contextlib

    with contextlib.suppress(ImportError):
        import torch  # noqa: F401

opened = time.perf_counter()
dataset = ffkit.Dataset(options.data, options.split)
image = ffkit.ResizeCenterCrop(options.size * 8 // 7, options.size) if options.eval else ffkit.RandomResizedCrop(options.size, flip_probability=0.5)
loader = ffkit.Loader(dataset, options.batch, image=ffkit.ImageOptions(image, dtype=options.dtype), tail="exact", num_threads=options.num_threads, arrays=options.arrays)


def epoch():
    return sum(len(batch["label"]) for batch in loader)


if options.two_epochs:
    num_images = epoch()
    first = time.perf_counter()
    epoch()
    second = time.perf_counter()
    print(json.dumps({"peer": "ffkit", "version": ffkit.__version__, "first_epoch": num_images / (first - opened), "second_epoch": num_images / (second - first),
                      "num_images": num_images}))
    raise SystemExit

epoch()  # fills caches
begin = time.perf_counter()
num_images = sum(epoch() for _ in range(options.epochs))
seconds = time.perf_counter() - begin
print(json.dumps({"peer": "ffkit from Python", "version": "", "images_per_second": num_images / seconds, "num_images": num_images, "seconds": seconds}))
