#!/usr/bin/env python3
"""The package tfrecord: TFRecord files for torch without TensorFlow, shuffled in a buffer, read by the workers of a DataLoader."""

import torch.utils.data
from tfrecord.torch.dataset import MultiTFRecordDataset

import common
import tf_records

options = common.parse(__doc__)


class Shards(torch.utils.data.IterableDataset):
    """Each worker has shards of its own, without end, as MultiTFRecordDataset mixes them."""

    def __init__(self, folder, transform):
        self.folder, self.transform = folder, transform

    def __iter__(self):
        worker = torch.utils.data.get_worker_info()
        mine = [tf_records.name(shard) for shard in range(worker.id, tf_records.NUM_SHARDS, worker.num_workers)]
        dataset = MultiTFRecordDataset(str(self.folder / "{}"), None, {name: 1 / len(mine) for name in mine}, {"image/encoded": "byte", "image/class/label": "int"},
                                       shuffle_queue_size=200, infinite=True)
        # Its own sharding by worker would need index files.
        torch.utils.data._utils.worker._worker_info = None
        for row in dataset:
            yield self.transform(common.open_picture(bytes(row["image/encoded"]))), int(row["image/class/label"][0])


def main():
    dataset = Shards(tf_records.made(options), common.torch_transform(options))
    common.measure("tfrecord + DataLoader", "tfrecord", common.torch_batches(dataset, options, None), options, len(common.pictures(options.folder)))


main()
