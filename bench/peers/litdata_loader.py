#!/usr/bin/env python3
"""LitData: chunks of its own format on the local disk or in a store."""
import litdata

import common

options = common.parse(__doc__)
pictures = common.pictures(options.folder)


def sample(item):
    path, label = item
    return {"image": path.read_bytes(), "label": label}


def make(folder):
    litdata.optimize(fn=sample, inputs=pictures, output_dir=str(folder / "chunks"), chunk_bytes="64MB", num_workers=options.num_threads)


class Pictures(litdata.StreamingDataset):
    def __init__(self, place, **options_of_store):
        super().__init__(input_dir=f"{place}/chunks", shuffle=True, drop_last=True, seed=1, **options_of_store)
        self.picture_transform = common.torch_transform(options)

    def __getitem__(self, index):
        stored = super().__getitem__(index)
        return self.picture_transform(common.open_picture(stored["image"])), stored["label"]


def loader_of(dataset):
    import torch
    torch.set_num_threads(1)
    return litdata.StreamingDataLoader(dataset, batch_size=options.batch_size, num_workers=options.num_threads, prefetch_factor=3,
                                       drop_last=True, persistent_workers=True)


def batches(folder):
    loader = loader_of(Pictures(folder))
    while True:
        for images, _ in loader:
            yield images.shape[0]


def main():
    if options.store:
        import litdata.streaming.downloader as downloader
        downloader._OBSTORE_CLIENT_OPTIONS["allow_http"] = True  # it has no option for servers without TLS
        dataset = Pictures(f"{options.store}/litdata", cache_dir=str(options.work / "cache"), storage_options={"endpoint_url": common.endpoint()})
        common.measure_epochs("LitData", "litdata", loader_of(dataset))
        return
    folder = common.made(options.work / "litdata", make)
    common.measure("LitData", "litdata", batches(folder), options, len(pictures))


if __name__ == "__main__":
    main()
