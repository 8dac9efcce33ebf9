#!/usr/bin/env python3
"""webdataset: tar files of pictures, shuffled in a buffer, read by the workers of a DataLoader."""
import itertools

import webdataset

import common

NUM_SHARDS = 8

options = common.parse(__doc__)
pictures = common.pictures(options.folder)


def make(folder):
    for shard in range(NUM_SHARDS):
        with webdataset.TarWriter(str(folder / f"{shard:03}.tar")) as tar:
            for i, (path, label) in itertools.islice(enumerate(pictures), shard, None, NUM_SHARDS):
                tar.write({"__key__": f"{i:08}", "jpg": path.read_bytes(), "cls": label})


def main():
    folder = common.made(options.work / "webdataset", make)
    transform = common.torch_transform(options)
    dataset = (webdataset.WebDataset(str(folder / f"{{000..{NUM_SHARDS - 1:03}}}.tar"), shardshuffle=False, resampled=True)
               .shuffle(200).decode("pil").to_tuple("jpg", "cls").map_tuple(transform, lambda label: label))
    common.measure("webdataset", "webdataset", common.torch_batches(dataset, options, len(pictures)), options, len(pictures))


main()
