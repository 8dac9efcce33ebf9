"""Files of other libraries, written as they write them, without them."""
import json
import struct


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def varint(value):
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def field(number, value):
    return varint(number << 3 | 2) + varint(len(value)) + value


def tfrecord(picture, label):
    """A TFRecord file of one tf.train.Example."""
    def feature(name, kind, value):
        return field(1, field(1, name) + field(2, field(kind, field(1, value))))

    def masked(data):
        crc = crc32c(data)
        return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)

    example = field(1, feature(b"image/encoded", 1, picture) + feature(b"image/class/label", 3, varint(label)))
    length = struct.pack("<Q", len(example))
    return length + masked(length) + example + masked(example)


def table_and_rows(rows):
    """How many, where they are, and the rows, as in MDS and LitData."""
    offsets = [4 * (len(rows) + 2)]
    for row in rows:
        offsets.append(offsets[-1] + len(row))
    return struct.pack(f"<{len(rows) + 2}I", len(rows), *offsets) + b"".join(rows)


def write_mds(folder, picture, label):
    """A shard of MosaicML Streaming with one sample, and its index."""
    shard = table_and_rows([struct.pack("<I", len(picture)) + picture + struct.pack("<q", label)])
    entry = {"column_encodings": ["jpeg", "int"], "column_names": ["x", "y"], "column_sizes": [None, 8], "compression": None, "format": "mds", "hashes": [], "samples": 1,
             "raw_data": {"basename": "shard.00000.mds", "bytes": len(shard), "hashes": {}}, "size_limit": None, "version": 2, "zip_data": None}
    folder.mkdir(parents=True)
    (folder / "shard.00000.mds").write_bytes(shard)
    (folder / "index.json").write_text(json.dumps({"shards": [entry], "version": 2}))


def write_litdata(folder, picture, label):
    """A chunk of LitData with one sample, and its index."""
    leaf = {"type": None, "context": None, "children_spec": []}
    spec = [1, {"type": "builtins.dict", "context": json.dumps(["image", "label"]), "children_spec": [leaf, leaf]}]
    config = {"data_format": ["jpeg", "int"], "data_spec": json.dumps(spec), "compression": None, "encryption": None, "item_loader": "PyTreeLoader"}
    folder.mkdir(parents=True)
    (folder / "chunk-0-0.bin").write_bytes(table_and_rows([struct.pack("<II", len(picture), 8) + picture + struct.pack("<q", label)]))
    (folder / "index.json").write_text(json.dumps({"chunks": [{"chunk_bytes": 1, "chunk_size": 1, "dim": None, "filename": "chunk-0-0.bin"}], "config": config}))
