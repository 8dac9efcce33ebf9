"""Reads FFRecord v1 files as FORMAT.md, "Version 1", describes them, with nothing but Python's own library."""
import os
import struct
import zlib


class File:
    def __init__(self, path):
        self.name = os.path.basename(path)
        with open(path, "rb") as file:
            self.data = file.read()
        crc, count = struct.unpack_from("<Iq", self.data)
        header_end = 12 + 12 * count
        if zlib.crc32(self.data[4:header_end]) != crc:
            raise ValueError("header")
        self.checksums = struct.unpack_from(f"<{count}I", self.data, 12)
        self.offsets = struct.unpack_from(f"<{count}q", self.data, 12 + 4 * count)
        if count and self.offsets[0] != header_end or not count and len(self.data) != header_end:
            raise ValueError("gap")

    def __len__(self):
        return len(self.offsets)

    def __iter__(self):
        ends = (*self.offsets[1:], len(self.data))
        for i, (begin, end) in enumerate(zip(self.offsets, ends)):
            record = self.data[begin:end]
            if zlib.crc32(record) != self.checksums[i]:
                raise ValueError(f"record {i}")
            yield record


class Split:
    """DST/<split>.ffr"""

    def __init__(self, folder):
        names = sorted(os.listdir(folder))
        if names != [f"PART_{i:05}.ffr" for i in range(len(names))]:
            raise ValueError(f"files {names}")
        self.parts = [File(os.path.join(folder, name)) for name in names]

    def __iter__(self):
        for part in self.parts:
            yield from part
