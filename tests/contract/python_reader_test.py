#!/usr/bin/env python3
"""What ffconvert writes, a reader written from FORMAT.md alone reads: python_reader_test.py FFCONVERT FFINSPECT"""
import os
import struct
import subprocess
import sys
import tempfile

import ffr


def main(ffconvert, ffinspect):
    with tempfile.TemporaryDirectory() as folder:
        dst = folder + "/demo"
        # Records on both sides of the alignment, several shards.
        subprocess.run([ffconvert, "demo", dst, "--classes", "3", "--images", "260", "--val-images", "2", "--size", "112",
                        "--shard-size", "1M", "--quiet"], check=True)
        split = ffr.Split(dst + "/train")
        listing = subprocess.run([ffinspect, "ls", dst, "--split", "train"], check=True, capture_output=True, text=True)
        lines = [line.split("\t") for line in listing.stdout.splitlines()[1:]]
        assert len(split) == len(lines) == 260, (len(split), len(lines))
        assert len(split.shards) > 1, "the test wants several shards"
        for record, line in zip(split, lines):
            assert record["image"][:2] == b"\xff\xd8" and line[2].endswith(f" {len(record['image'])} bytes"), line
            assert str(record["label"]) == line[3] and record["id"] == line[4], (record["id"], line)
        for name in ("label", "id"):
            column = [value for shard in split.shards for value in shard.column(name)]
            assert column == [record[name] for record in split], name
        image = subprocess.run([ffinspect, "cat", dst, "7", "--split", "train", "--field", "image"], check=True,
                               capture_output=True).stdout
        assert image == [record["image"] for record in split][7]

        # Every field type, stored raw and with zstd, with and without a dictionary: the same values
        # either way.
        golden = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden", "v2.1")
        raw, zstd = (ffr.Shard(os.path.join(golden, name)) for name in ("every_type.ffr", "zstd.ffr"))
        codecs = {struct.unpack_from("<B", zstd.streams["entries"], 32 * i + 28)[0] for i in range(len(zstd))}
        assert {1, 2} <= codecs, codecs
        assert {field["type"] for field in raw.fields} == {"bytes", "string", "scalar", "image", "tensor", "list"}
        for i in range(len(raw)):
            # repr: NaN is not equal to itself.
            assert repr(raw.record(i)) == repr(zstd.record(i)), i
        assert raw.column("label") == [record["label"] or 0 for record in map(raw.record, range(len(raw)))]

        # A reader that checks must notice: one bit of a record.
        path = f"{dst}/train/shard-00000.ffr"
        with open(path, "r+b") as file:
            file.seek(4096 + 50)
            byte = file.read(1)[0]
            file.seek(4096 + 50)
            file.write(bytes([byte ^ 16]))
        try:
            list(ffr.Split(dst + "/train"))
        except ValueError as error:
            assert str(error) == "record 0", error
        else:
            raise AssertionError("the damaged record was read")
    print("ok")


if __name__ == "__main__":
    main(*sys.argv[1:])
