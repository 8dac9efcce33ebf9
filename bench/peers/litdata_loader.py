#!/usr/bin/env python3
"""LitData: chunks of its own format on the local disk."""
import litdata

import common

options = common.parse(__doc__)
pictures = common.pictures(options.folder)


def sample(item):
    path, label = item
    return {"image": path.read_bytes(), "label": label}


def make(folder):
    litdata.optimize(fn=sample, inputs=pictures, output_dir=str(folder / "chunks"), chunk_bytes="64MB", num_workers=options.threads)


class Pictures(litdata.StreamingDataset):
    def __init__(self, folder):
        super().__init__(input_dir=str(folder / "chunks"), shuffle=True, drop_last=True, seed=1)
        self.picture_transform = common.torch_transform(options)

    def __getitem__(self, index):
        stored = super().__getitem__(index)
        return self.picture_transform(common.open_picture(stored["image"])), stored["label"]


def batches(folder):
    import torch
    torch.set_num_threads(1)
    loader = litdata.StreamingDataLoader(Pictures(folder), batch_size=options.batch_size, num_workers=options.threads, prefetch_factor=3,
                                         drop_last=True, persistent_workers=True)
    while True:
        for images, _ in loader:
            yield images.shape[0]


def main():
    folder = common.made(options.work / "litdata", make)
    common.measure("LitData", "litdata", batches(folder), options, len(pictures))


if __name__ == "__main__":
    main()
