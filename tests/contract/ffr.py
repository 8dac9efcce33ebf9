"""A reader of ffkit data sets in plain Python, written from format/FORMAT.md alone.

It exists to show that the specification suffices: it checks every checksum and shares no code with the C++ reader.

    for record in Split("DST/train"): record["image"], record["label"], record["id"]

A picture in the dct code is given as it is stored: dct.jpeg_of() makes its JPEG.
"""
import json
import os
import struct
import subprocess
import tempfile

_TABLE = []
for _byte in range(256):
    for _ in range(8):
        _byte = (_byte >> 1) ^ (0x82F63B78 if _byte & 1 else 0)
    _TABLE.append(_byte)


def crc32c(data, crc=0):
    crc ^= 0xFFFFFFFF
    for byte in data:
        crc = (crc >> 8) ^ _TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


SCALARS = {"u8": "B", "i8": "b", "u16": "H", "i16": "h", "u32": "I", "i32": "i", "u64": "Q", "i64": "q",
           "f16": "e", "f32": "f", "f64": "d"}
NULL = 1 << 63


def check(condition, message):
    if not condition:
        raise ValueError(message)


class Shard:
    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read()
        data = self.data
        header = data[:4096]
        check(header[:8] == b"\x93FFR2\r\n\x1a", f"{path}: magic number")
        major, minor, self.alignment, flags = struct.unpack_from("<4I", header, 8)
        check(major == 2 and minor > 0 and flags == 0, f"{path}: version {major}.{minor}, flags {flags}")
        check(struct.unpack_from("<I", header, 4092)[0] == crc32c(header[:4092]), f"{path}: header checksum")

        trailer = data[-64:]
        check(trailer[60:] == b"FFR2", f"{path}: end of the trailer")
        offset, size, self.catalog_crc, major, count, file_bytes = struct.unpack_from("<QQIIQQ", trailer)
        check(struct.unpack_from("<I", trailer, 56)[0] == crc32c(trailer[:56] + trailer[60:]), f"{path}: trailer checksum")
        check(file_bytes == len(data) and trailer[40:56] == header[24:40], f"{path}: trailer of another file")
        catalog = data[offset:offset + size]
        check(crc32c(catalog) == self.catalog_crc, f"{path}: catalog checksum")
        self.catalog = json.loads(catalog)
        check(self.catalog["num_records"] == count, f"{path}: number of records")
        self.fields = self.catalog["schema"]["fields"]
        self.streams = {s["name"]: self._stream(i, s) for i, s in enumerate(self.catalog["streams"])}

    def _stream(self, number, info):
        payload, crc = b"", 0
        for page in range((info["num_bytes"] + 4063) // 4064):
            begin = info["offset"] + 4096 * page
            data = self.data[begin:begin + 4096]
            index, stream, used = struct.unpack_from("<QII", data, 4064)
            check(struct.unpack_from("<I", data, 4092)[0] == crc32c(data[:4092]), f"page {page} of {info['name']}")
            check((index, stream) == (page, number), f"place of page {page} of {info['name']}")
            payload += data[:used]
            crc = crc32c(data[4092:], crc)
        check(len(payload) == info["num_bytes"] and crc == info["crc32c"], f"stream {info['name']}")
        return payload

    def __len__(self):
        return self.catalog["num_records"]

    def record(self, i):
        offset, stored, raw, crc, codec = struct.unpack_from("<QQQIB", self.streams["entries"], 32 * i)
        data = self.data[offset:offset + stored]
        check(crc32c(data) == crc, f"record {i}")
        # The placement rule: the fewest possible pages.
        pages = (offset + stored - 1) // self.alignment - offset // self.alignment + 1
        check(pages == -(-stored // self.alignment), f"place of record {i}")
        data = self._decompress(codec, data, raw)
        count, values = len(self.fields), {}
        begin = 12 * count
        for k, field in enumerate(self.fields):
            end = struct.unpack_from("<Q", data, 8 * k)[0]
            begin = -(-begin // 8) * 8
            value = data[begin:end & ~NULL]
            check(struct.unpack_from("<I", data, 8 * count + 4 * k)[0] == crc32c(data[8 * k:8 * k + 8] + value),
                  f"field {field['name']} of record {i}")
            values[field["name"]] = None if end & NULL else self._decode(field, value)
            begin = end & ~NULL
        check(begin == len(data), f"length of record {i}")
        return values

    def _decompress(self, codec, data, raw):
        if codec == 0:
            check(raw == len(data), "raw length")
            return data
        check(codec in (1, 2), f"codec {codec}")
        # Python has no zstd of its own before 3.14; the program is everywhere.
        with tempfile.NamedTemporaryFile() as dictionary:
            dictionary.write(self.streams["dictionary"] if codec == 2 else b"")
            dictionary.flush()
            option = ["-D", dictionary.name] if codec == 2 else []
            data = subprocess.run(["zstd", "-dcq", *option], input=data, capture_output=True, check=True).stdout
        check(len(data) == raw, "raw length")
        return data

    def column(self, name):
        field = next(f for f in self.fields if f["name"] == name and f.get("column"))
        if field["type"] == "scalar":
            return list(struct.unpack(f"<{len(self)}{SCALARS[field['dtype']]}", self.streams[f"column/{name}"]))
        ends = (0,) + struct.unpack(f"<{len(self)}Q", self.streams[f"column/{name}/ends"])
        text = self.streams[f"column/{name}/text"]
        return [text[a:b].decode() for a, b in zip(ends, ends[1:])]

    @staticmethod
    def _decode(field, data):
        if field["type"] == "string":
            return data.decode()
        if field["type"] == "scalar":
            return struct.unpack("<" + SCALARS[field["dtype"]], data)[0]
        if field["type"] == "tensor":
            dimensions = struct.unpack_from("<I", data)[0]
            return struct.unpack_from(f"<{dimensions}Q", data, 8), data[8 + 8 * dimensions:]
        if field["type"] == "list":
            count = struct.unpack_from("<Q", data)[0]
            ends = struct.unpack_from(f"<{count}Q", data, 8)
            begins = [-(-begin // 8) * 8 for begin in (8 + 8 * count, *ends)]
            return [Shard._decode({**field, "type": field["item"]}, data[a:b]) for a, b in zip(begins, ends)]
        return data


class Split:
    def __init__(self, folder):
        with open(os.path.join(folder, "manifest.json")) as file:
            self.manifest = json.load(file)
        check(self.manifest["format"] == "ffkit-dataset" and self.manifest["version"] == 2, "manifest")
        self.shards = [Shard(os.path.join(folder, s["file"])) for s in self.manifest["shards"]]
        for shard, listed in zip(self.shards, self.manifest["shards"]):
            check((len(shard), len(shard.data), shard.catalog_crc)
                  == (listed["num_records"], listed["file_bytes"], listed["catalog_crc32c"]), listed["file"])

    def __len__(self):
        return sum(len(shard) for shard in self.shards)

    def __iter__(self):
        for shard in self.shards:
            for i in range(len(shard)):
                yield shard.record(i)
