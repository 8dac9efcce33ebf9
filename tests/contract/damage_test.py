#!/usr/bin/env python3
"""ffkit_reader refuses what is damaged, cut, unfinished or newer, by names: damage_test.py FFCONVERT FFINSPECT"""
import json
import os
import pathlib
import pickle
import random
import shutil
import struct
import subprocess
import sys
import tempfile

import package
import ffkit_reader
from ffkit_reader import CorruptError, Dataset, InvalidArgumentError, NotFoundError, UnsupportedError, _crc, _zstd


def refused(kind, words, call, **attributes):
    """The error of this class, whose text has all of `words` and which has these attributes."""
    try:
        call()
    except kind as error:
        for word in words:
            assert word in str(error), (word, str(error))
        for name, value in attributes.items():
            assert getattr(error, name) == value, (name, error)
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again)) == (type(error), str(error))
        return
    raise AssertionError(f"no {kind.__name__} with {words}")


def checksums():
    assert _crc.crc32c(b"123456789") == 0xE3069283  # FORMAT.md
    rng = random.Random(2026)
    for size in [*range(0, 20), 383, 384, 385, 387, 4092, 9001, (1 << 20) - 1, (1 << 20) + 385]:
        data, cut = rng.randbytes(size), rng.randrange(size + 1)
        if size < 10_000:
            assert _crc.crc32c(data) == _crc._carried(0xFFFFFFFF, data) ^ 0xFFFFFFFF, size  # byte by byte
        assert _crc.crc32c(data[cut:], _crc.crc32c(data[:cut])) == _crc.crc32c(data), size
    rows = rng.randbytes(5 * 4092)
    array = _crc.numpy.frombuffer(rows, "u1").reshape(5, 4092)
    assert _crc.crc32c_of_rows(array).tolist() == [_crc.crc32c(rows[4092 * i:4092 * (i + 1)]) for i in range(5)]


def sealed(data, begin, end, at):
    """With the CRC of data[begin:end] at `at`."""
    return data[:at] + struct.pack("<I", _crc.crc32c(data[begin:end])) + data[at + 4:]


def every_byte_counts(path, records):
    """A changed byte or another length is noticed, or is in padding: the values are never others."""
    good = path.read_bytes()
    rng = random.Random(7)
    num_noticed = 0
    places = [*range(0, 48), *range(len(good) - 64, len(good)), *(rng.randrange(len(good)) for _ in range(250))]
    for place in places:
        path.write_bytes(good[:place] + bytes([good[place] ^ 1 << rng.randrange(8)]) + good[place + 1:])
        try:
            dataset = Dataset(path)
            assert dataset.verify() or list(dataset) == records, place
            num_noticed += bool(dataset.verify())
        except (CorruptError, UnsupportedError) as error:
            assert error.path == str(path), error
            num_noticed += 1
    assert num_noticed > len(places) / 2, num_noticed
    for size in (0, 1, 11, 12, 4095, 4160, len(good) // 2, len(good) - 1):
        path.write_bytes(good[:size])
        refused(CorruptError, [str(path)], lambda: Dataset(path))
    path.write_bytes(good + b"\0")
    refused(CorruptError, ["the file was cut off, or other data follow the trailer"], lambda: Dataset(path))
    path.write_bytes(good)


def newer_versions(path):
    good = path.read_bytes()
    for data, words in ((good[:8] + struct.pack("<I", 3) + good[12:], ["format version 3"]),
                        (sealed(good[:20] + struct.pack("<I", 4) + good[24:], 0, 4092, 4092), ["flags 00000004"]),
                        (package.with_catalog(good, lambda catalog: catalog["schema"]["fields"][0].update(type="cloud")), ["unknown field type 'cloud'"])):
        path.write_bytes(data)
        refused(UnsupportedError, [str(path), *words, "use a newer ffkit-reader"], lambda: Dataset(path))
    entries = json.loads(good[struct.unpack_from("<Q", good, len(good) - 64)[0]:-64])["streams"][0]["offset"]
    codec = good[:entries + 28] + b"\7" + good[entries + 29:]
    page = sealed(codec[entries:entries + 4096], 0, 4092, 4092)
    path.write_bytes(codec[:entries] + page + codec[entries + 4096:])
    refused(UnsupportedError, [f"{path}: record 0: ", "codec 7"], lambda: Dataset(path)[0], record=0)
    # A newer minor version and unknown keys are read.
    path.write_bytes(package.with_catalog(sealed(good[:12] + struct.pack("<I", 9) + good[16:], 0, 4092, 4092), lambda catalog: catalog.update(colour="green")))
    assert len(Dataset(path)) == 40
    path.write_bytes(good)


def with_entry(good, change, record=lambda data: data):
    """With another first record and a changed index entry of it, in a page and a catalog whose checksums fit."""
    entries = json.loads(good[struct.unpack_from("<Q", good, len(good) - 64)[0]:-64])["streams"][0]["offset"]
    offset, stored, *rest = struct.unpack_from("<QQQI", good, entries)
    data = record(good[offset:offset + stored])
    fields = change([offset, stored, rest[0], _crc.crc32c(data)])
    page = sealed(struct.pack("<QQQI", *fields) + good[entries + 28:entries + 4096], 0, 4092, 4092)
    made = good[:offset] + data + good[offset + stored:entries] + page + good[entries + 4096:]
    return package.with_catalog(made, lambda catalog: catalog["streams"][0].update(crc32c=_crc.crc32c(page[4092:])))


def lies_that_fit_their_checksums(path):
    """What is wrong although the checksum around it is right."""
    good = path.read_bytes()
    entries = json.loads(good[struct.unpack_from("<Q", good, len(good) - 64)[0]:-64])["streams"][0]["offset"]

    def found(data, words):
        path.write_bytes(data)
        refused(CorruptError, words, lambda: raise_first(Dataset(path)))

    def raise_first(dataset):
        raise CorruptError(dataset.verify()[0].message)

    page = sealed(good[entries:entries + 4064] + struct.pack("<Q", 5) + good[entries + 4072:entries + 4096], 0, 4092, 4092)
    found(good[:entries] + page + good[entries + 4096:], ["page 0 of the index stream 'entries' contains another page"])
    found(package.with_catalog(good, lambda catalog: catalog["streams"][0].update(crc32c=7)), ["the index stream 'entries' is damaged"])
    found(package.with_catalog(good, lambda catalog: catalog.update(record_bytes=7)), ["the catalog says 7"])
    found(sealed(good[:24] + bytes(16) + good[40:], 0, 4092, 4092), ["header and trailer belong to different shards"])
    # The last byte of the record is the id's: the field's checksum notices it.
    path.write_bytes(with_entry(good, lambda fields: fields, lambda data: data[:-1] + b"\xff"))
    dataset = Dataset(path)
    assert dataset[0]["id"].endswith("\udcff")
    refused(CorruptError, [f"{path}: record 0: field 'id' is damaged"], lambda: dataset.field(0, "id"))
    assert [problem.record for problem in dataset.verify()] == [0] and "field 'id' is damaged" in dataset.verify()[0].message
    path.write_bytes(good)
    items = struct.pack("<QQ", 1, 18) + b"ab"
    assert ffkit_reader._values.items_of(items) == [b"ab"]
    refused(CorruptError, ["are not a list"], lambda: ffkit_reader._values.items_of(items + b"c"))


def zstd_frames(path):
    """A frame of another size than the index says is refused before it is decompressed."""
    good = path.read_bytes()
    path.write_bytes(with_entry(good, lambda fields: [*fields[:2], fields[2] + 1, fields[3]]))
    refused(CorruptError, ["record 0: the size of the record's zstd frame differs"], lambda: Dataset.from_files([path])[0])


def changed_manifest(folder, words, kind=CorruptError, **changes):
    path = folder / "manifest.json"
    good = path.read_text()
    path.write_text(json.dumps({**json.loads(good), **changes}))
    refused(kind, [str(path), *words], lambda: Dataset(folder), path=str(path))
    path.write_text(good)


def folders(ffconvert, ffinspect, demo):
    shard = demo / "train" / "shard-00000.ffr"
    manifest = json.loads((demo / "train" / "manifest.json").read_text())
    changed_manifest(demo / "train", ["format version 3"], UnsupportedError, version=3)
    changed_manifest(demo / "train", ["is not the manifest"], format="other")
    changed_manifest(demo / "train", ["'num_records' is not the sum"], num_records=7)
    changed_manifest(demo / "train", ["listed twice"], shards=2 * manifest["shards"])
    changed_manifest(demo / "train", ["would lead out"], split="../train")
    for name in ("../shard-00000.ffr", "C:shard", ""):
        changed_manifest(demo / "train", ["cannot be the file name of a shard"], shards=[{**manifest["shards"][0], "file": name}])
    good = shard.read_bytes()
    shutil.copy(demo / "val" / "shard-00000.ffr", shard)
    refused(CorruptError, [f"{shard}: the shard differs from the manifest"], lambda: Dataset(demo, "train"))
    shard.unlink()
    refused(NotFoundError, [str(shard), "the file does not exist"], lambda: Dataset(demo, "train"))
    assert subprocess.run([ffinspect, "verify", demo], capture_output=True).returncode == 1
    run = subprocess.run([sys.executable, "-m", "ffkit_reader", "verify", demo], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": sys.path[0]})
    assert run.returncode == 1 and f"{demo / 'train'}: DAMAGED: 0 of 40 records, and 1 problem outside of the records\n" in run.stdout, run
    shard.write_bytes(good)

    refused(NotFoundError, ["there is no split 'test'; the splits are train, val"], lambda: Dataset(demo, "test"))
    refused(NotFoundError, ["name the split that you mean"], lambda: Dataset(demo))
    refused(NotFoundError, ["there is no such folder"], lambda: Dataset(demo / "none"))
    refused(NotFoundError, ["this folder is the split 'train', not a data set"], lambda: Dataset(demo / "train", "val"))
    refused(UnsupportedError, ["s3://bucket/set", "ffkit"], lambda: Dataset("s3://bucket/set", "train"))
    refused(UnsupportedError, ["ffkit"], lambda: Dataset(demo, "train").where("label == 3"))
    refused(UnsupportedError, ["more than the limit of 100", "max_record_bytes"], lambda: Dataset(demo, "train", max_record_bytes=100)[0])
    (demo / "train" / "manifest.json").rename(demo / "manifest.json")
    refused(InvalidArgumentError, ["has no manifest.json beside it"], lambda: Dataset(demo / "train"))
    (demo / "manifest.json").rename(demo / "train" / "manifest.json")
    for place in (demo, demo / "train"):
        (place / ".ffkit-unfinished").write_text("...\nkind conversion\nplan 1\ncommand ffconvert demo x --resume\n")
        for path, split in ((demo, "train"), (demo / "train", "")):
            refused(InvalidArgumentError, ["has not finished", "finish it with: ffconvert demo x --resume"], lambda: Dataset(path, split))
        (place / ".ffkit-unfinished").unlink()
    try:
        getattr(ffkit_reader, "Loader")
    except AttributeError as error:
        assert "the package ffkit" in str(error)
    assert not hasattr(ffkit_reader, "Loader")


def without_zstd(ffconvert, folder):
    """What is missing is named, for each record that needs it; others are read."""
    subprocess.run([ffconvert, "demo", folder / "zstd", "--images", "4", "--val-images", "0", "--store", "raw", "--zstd", "3", "--quiet"], check=True)
    _zstd._module.cache_clear()
    modules = dict.fromkeys(("compression", "compression.zstd", "backports.zstd", "zstandard"))
    saved = {name: sys.modules.pop(name) for name in modules if name in sys.modules}
    sys.modules.update(modules)  # None: the import fails
    try:
        dataset = Dataset(folder / "zstd", "train")
        assert len(dataset) == len(dataset.column("id")) == 4
        refused(UnsupportedError, ["record 2: ", "pip install ffkit-reader[zstd]"], lambda: dataset[2], record=2)
        refused(UnsupportedError, ["pip install ffkit-reader[zstd]"], dataset.verify)
    finally:
        for name in modules:
            del sys.modules[name]
        sys.modules.update(saved)
        _zstd._module.cache_clear()


def version_1(ffconvert, demo, folder):
    subprocess.run([ffconvert, "v1", demo, folder / "v1", "--quiet"], check=True)
    path = folder / "v1" / "val.ffr" / "PART_00000.ffr"
    good = path.read_bytes()
    path.write_bytes(good[:-30] + bytes([good[-30] ^ 16]) + good[-29:])
    refused(CorruptError, [f"{path}: record 9: the record is damaged: its CRC-32"], lambda: Dataset(folder / "v1", "val")[9], path=str(path), record=9)
    assert [(problem.record, problem.record_index) for problem in Dataset(folder / "v1", "val").verify()] == [(9, 9)]
    path.write_bytes(good[:13] + bytes([good[13] ^ 16]) + good[14:])
    refused(CorruptError, ["the header is damaged"], lambda: Dataset(folder / "v1", "val"))
    path.write_bytes(good[:-len(good) // 2])
    refused(CorruptError, ["was cut off"], lambda: Dataset(folder / "v1", "val"))
    # Labels of meta.pkl that are not those of the records are not believed.
    labels = [record["label"] for record in Dataset(demo, "train")]
    meta = folder / "v1" / "meta.pkl"
    known = pickle.loads(meta.read_bytes())
    for targets in (labels, [label + 1 for label in labels], labels[1:]):
        meta.write_bytes(pickle.dumps({**known, "targets": targets}))
        assert Dataset(folder / "v1", "train").column("label").tolist() == labels
    # A pickle that would call something is bytes, and is not called.
    evil = pickle.dumps(pathlib.PurePosixPath("a"))
    body = struct.pack("<q", 1) + struct.pack("<I", 0) + struct.pack("<q", 24)
    (folder / "evil.ffr").write_bytes(struct.pack("<I", package._v1.zlib.crc32(body)) + body + evil)
    assert Dataset(folder / "evil.ffr")[0] == {"data": evil}


def main(ffconvert, ffinspect):
    checksums()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        demo = folder / "demo"
        subprocess.run([ffconvert, "demo", demo, "--images", "40", "--val-images", "10", "--classes", "3", "--size", "32", "--quiet"], check=True)
        dataset = Dataset(demo, "train")
        assert dataset.verify() == []
        shard = folder / "shard.ffr"
        shutil.copy(demo / "train" / "shard-00000.ffr", shard)
        every_byte_counts(shard, list(dataset))
        newer_versions(shard)
        lies_that_fit_their_checksums(shard)
        folders(ffconvert, ffinspect, demo)
        without_zstd(ffconvert, folder)
        zstd_frames(folder / "zstd" / "train" / "shard-00000.ffr")
        version_1(ffconvert, demo, folder)
    print("ok")


if __name__ == "__main__":
    main(*sys.argv[1:])
