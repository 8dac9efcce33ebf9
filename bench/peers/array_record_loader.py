#!/usr/bin/env python3
"""array_record (riegeli): records read at random by the workers of a DataLoader."""
import struct

from array_record.python import array_record_module

import common

options = common.parse(__doc__)
pictures = common.pictures(options.folder)


def make(folder):
    # One record a chunk: what its authors advise for random access.
    writer = array_record_module.ArrayRecordWriter(str(folder / "pictures.array_record"), "group_size:1,uncompressed")
    for path, label in pictures:
        writer.write(struct.pack("<q", label) + path.read_bytes())
    writer.close()


class Pictures:
    def __init__(self, path):
        self.path = str(path)
        self.reader = None
        self.transform = common.torch_transform(options)

    def __len__(self):
        return len(pictures)

    def __getitem__(self, index):
        if self.reader is None:  # in the worker: it has threads of its own
            self.reader = array_record_module.ArrayRecordReader(self.path, "readahead_buffer_size:0,max_parallelism:1")
        record = self.reader.read([index])[0]
        return self.transform(common.open_picture(record[8:])), struct.unpack_from("<q", record)[0]


def main():
    folder = common.made(options.work / "array_record", make)
    dataset = Pictures(folder / "pictures.array_record")
    common.measure("array_record", "array-record",
                   common.torch_batches(dataset, options, len(pictures), sampled=True), options, len(pictures))


main()
