#!/usr/bin/env python3
"""mosaicml-streaming: MDS shards on the local disk or in a store."""
import os

import streaming

import common

options = common.parse(__doc__)
pictures = common.pictures(options.folder)


def make(folder):
    with streaming.MDSWriter(out=str(folder / "mds"), columns={"image": "bytes", "label": "int"}) as writer:
        for path, label in pictures:
            writer.write({"image": path.read_bytes(), "label": label})


class Pictures(streaming.StreamingDataset):
    def __init__(self, folder, **places):
        super().__init__(local=str(folder / "mds"), shuffle=True, batch_size=options.batch_size, **places)
        self.transform = common.torch_transform(options)

    def __getitem__(self, index):
        sample = super().__getitem__(index)
        return self.transform(common.open_picture(sample["image"])), sample["label"]


def main():
    streaming.base.util.clean_stale_shared_memory()
    if options.store:
        os.environ["S3_ENDPOINT_URL"] = common.endpoint()
        dataset = Pictures(options.work / "cache", remote=f"{options.store}/streaming/mds")
        common.measure_epochs("mosaicml-streaming", "mosaicml-streaming", common.store_loader(dataset, options))
        return
    # One long epoch: its workers start anew with each.
    num_samples = (options.epochs + 3) * len(pictures)
    folder = common.made(options.work / "streaming", make)
    common.measure("mosaicml-streaming", "mosaicml-streaming",
                   common.torch_batches(Pictures(folder, epoch_size=num_samples), options, len(pictures)), options, len(pictures))


if __name__ == "__main__":
    main()
