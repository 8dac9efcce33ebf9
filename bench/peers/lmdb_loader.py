#!/usr/bin/env python3
"""LMDB by py-lmdb: entries of pictures, looked up at random by the workers of a DataLoader, with an environment each."""
import lmdb

import common

options = common.parse(__doc__)
pictures = common.pictures(options.folder)


def make(folder):
    environment = lmdb.open(str(folder / "data"), map_size=1 << 40)
    for begin in range(0, len(pictures), 100):
        with environment.begin(write=True) as transaction:
            for i in range(begin, min(begin + 100, len(pictures))):
                transaction.put(b"%08d" % i, pictures[i][0].read_bytes())
    environment.close()


class Pictures:
    def __init__(self, path):
        self.path = str(path)
        self.environment = None
        self.transform = common.torch_transform(options)

    def __len__(self):
        return len(pictures)

    def __getitem__(self, index):
        if self.environment is None:  # in the worker
            self.environment = lmdb.open(self.path, readonly=True, lock=False, readahead=False, meminit=False)
        with self.environment.begin(buffers=True) as transaction:
            return self.transform(common.open_picture(bytes(transaction.get(b"%08d" % index)))), pictures[index][1]


def main():
    folder = common.made(options.work / "lmdb", make)
    common.measure("LMDB + DataLoader", "lmdb", common.torch_batches(Pictures(folder / "data"), options, len(pictures), sampled=True), options, len(pictures))


main()
