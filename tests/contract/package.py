"""The package ffkit_reader, found in the repository, and what the tests see of it that users do not. Exit status 77, which ctest shows as skipped, where a module is missing."""
import importlib.util
import json
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python" / "reader"))

if importlib.util.find_spec("numpy") is None:
    print(f"skipped: {sys.executable} has no numpy, which ffkit-reader needs (tools/setup --python)")
    sys.exit(77)

import numpy  # noqa: E402
from ffkit_reader import _crc, _v1, _zstd  # noqa: E402


def require_zstd():
    try:
        _zstd.unpacker(b"")
    except _zstd.NoModuleError as error:
        print(f"skipped: {error}")
        sys.exit(77)


def num_shards(dataset):
    return len(dataset._open.files)


def stored(dataset, index, field):
    """The bytes of a field as they are stored: a picture in the dct code is no JPEG."""
    shard, i = dataset._place(index)
    return shard.field(i, list(dataset.schema).index(field))


def _entries(dataset):
    for index in range(len(dataset)):
        shard, i = dataset._place(index)
        yield shard, shard.entry(i)


def codecs(dataset):
    return {entry.codec for _, entry in _entries(dataset)}


def check_places(dataset):
    """FORMAT.md, "Records and alignment": every record touches as few pages as possible."""
    for shard, entry in _entries(dataset):
        pages = (entry.offset + entry.stored_bytes - 1) // shard.alignment - entry.offset // shard.alignment + 1
        assert pages == -(-entry.stored_bytes // shard.alignment), entry


def with_catalog(data, change):
    """With a changed catalog, and a trailer that fits it."""
    trailer = data[-64:]
    offset = struct.unpack_from("<Q", trailer)[0]
    catalog = json.loads(data[offset:-64])
    change(catalog)
    text = json.dumps(catalog).encode()
    trailer = struct.pack("<QQI", offset, len(text), _crc.crc32c(text)) + trailer[20:32] + struct.pack("<Q", offset + len(text) + 64) + trailer[40:]
    checked = trailer[:56] + trailer[60:]
    return data[:offset] + text + trailer[:56] + struct.pack("<I", _crc.crc32c(checked)) + trailer[60:]


def v1_payloads(folder):
    """The records of a split of FFRecord v1, DST/<split>.ffr, whose files have the names that its readers expect."""
    files = sorted(pathlib.Path(folder).iterdir())
    assert [file.name for file in files] == [f"PART_{i:05}.ffr" for i in range(len(files))]
    shards = [_v1.V1File(str(file), 256 << 20, _v1.RAW) for file in files]
    assert not any(shard.warnings for shard in shards)
    return [shard.payload(i) for shard in shards for i in range(shard.num_records)]


def assert_same(a, b):
    """Values of records, to the type, the dtype and the bit."""
    # ffkit's bytes of a file may say what they were made from, which the reader leaves out.
    assert type(a) is type(b) or {type(a).__name__, type(b).__name__} == {"bytes", "FileBytes"}, (type(a), type(b))
    if isinstance(a, dict):
        assert list(a) == list(b)
        for name in a:
            assert_same(a[name], b[name])
    elif isinstance(a, list):
        assert len(a) == len(b)
        for x, y in zip(a, b):
            assert_same(x, y)
    elif isinstance(a, numpy.ndarray):
        assert (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes()) and a.flags.writeable == b.flags.writeable
    else:
        assert a == b or (a != a and b != b), (a, b)
