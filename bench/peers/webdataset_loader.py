#!/usr/bin/env python3
"""webdataset: tar files of pictures, on the local disk or in a store, shuffled in a buffer, read by the workers of a DataLoader."""
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


def decoded(dataset):
    transform = common.torch_transform(options)
    return dataset.shuffle(200).decode("pil").to_tuple("jpg", "cls").map_tuple(transform, lambda label: label)


def main():
    if options.store:
        cache = options.work / "cache"
        cache.mkdir(exist_ok=True)
        # By curl, as its documents do it. Its own cache is asked for, since it has none otherwise.
        urls = [f"pipe:curl -s -f '{common.presigned(f'{options.store}/webdataset/{shard:03}.tar')}'" for shard in range(NUM_SHARDS)]
        dataset = webdataset.WebDataset(urls, shardshuffle=NUM_SHARDS, cache_dir=str(cache))
        common.measure_epochs("webdataset", "webdataset", common.store_loader(decoded(dataset), options))
        return
    folder = common.made(options.work / "webdataset", make)
    dataset = decoded(webdataset.WebDataset(str(folder / f"{{000..{NUM_SHARDS - 1:03}}}.tar"), shardshuffle=False, resampled=True))
    common.measure("webdataset", "webdataset", common.torch_batches(dataset, options, len(pictures)), options, len(pictures))


main()
