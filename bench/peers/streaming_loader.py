#!/usr/bin/env python3
"""mosaicml-streaming: MDS shards on the local disk."""
import streaming

import common

options = common.parse(__doc__)
pictures = common.pictures(options.folder)


def make(folder):
    with streaming.MDSWriter(out=str(folder / "mds"), columns={"image": "bytes", "label": "int"}) as writer:
        for path, label in pictures:
            writer.write({"image": path.read_bytes(), "label": label})


class Pictures(streaming.StreamingDataset):
    def __init__(self, folder):
        # One long epoch: its workers start anew with each.
        super().__init__(local=str(folder / "mds"), shuffle=True, batch_size=options.batch_size,
                         epoch_size=(options.epochs + 3) * len(pictures))
        self.transform = common.torch_transform(options)

    def __getitem__(self, index):
        sample = super().__getitem__(index)
        return self.transform(common.open_picture(sample["image"])), sample["label"]


def main():
    streaming.base.util.clean_stale_shared_memory()
    folder = common.made(options.work / "streaming", make)
    common.measure("mosaicml-streaming", "mosaicml-streaming",
                   common.torch_batches(Pictures(folder), options, len(pictures)), options, len(pictures))


if __name__ == "__main__":
    main()
