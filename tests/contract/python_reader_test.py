#!/usr/bin/env python3
"""What ffconvert writes, ffkit_reader, which was written from FORMAT.md alone, reads: python_reader_test.py FFCONVERT FFINSPECT"""
import os
import subprocess
import sys
import tempfile

import package  # finds ffkit_reader
from ffkit_reader import CorruptError, Dataset


def main(ffconvert, ffinspect):
    with tempfile.TemporaryDirectory() as folder:
        dst = folder + "/demo"
        # Records on both sides of the alignment, several shards.
        subprocess.run([ffconvert, "demo", dst, "--classes", "3", "--images", "260", "--val-images", "2", "--size", "112",
                        "--shard-size", "1M", "--quiet"], check=True)
        split = Dataset(dst, "train")
        listing = subprocess.run([ffinspect, "ls", dst, "--split", "train"], check=True, capture_output=True, text=True)
        lines = [line.split("\t") for line in listing.stdout.splitlines()[1:]]
        assert len(split) == len(lines) == 260, (len(split), len(lines))
        assert package.num_shards(split) > 1, "the test wants several shards"
        package.check_places(split)
        for record, line in zip(split, lines):
            assert record["image"][:2] == b"\xff\xd8" and line[2].endswith(f" {len(record['image'])} bytes"), line
            assert str(record["label"]) == line[3] and record["id"] == line[4], (record["id"], line)
        for name in ("label", "id"):
            column = split.column(name)
            assert list(column) == [record[name] for record in split], name
        image = subprocess.run([ffinspect, "cat", dst, "7", "--split", "train", "--field", "image"], check=True,
                               capture_output=True).stdout
        assert image == [record["image"] for record in split][7]

        # A reader that checks must notice: one bit of a record.
        path = f"{dst}/train/shard-00000.ffr"
        with open(path, "r+b") as file:
            file.seek(4096 + 50)
            byte = file.read(1)[0]
            file.seek(4096 + 50)
            file.write(bytes([byte ^ 16]))
        try:
            list(Dataset(dst, "train"))
        except CorruptError as error:
            assert (error.path, error.record) == (path, 0), error
        else:
            raise AssertionError("the damaged record was read")

        # Every field type, stored raw and with zstd, with and without a dictionary: the same values
        # either way.
        golden = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden", "v2.1")
        package.require_zstd()
        raw, zstd = (Dataset(os.path.join(golden, name)) for name in ("every_type.ffr", "zstd.ffr"))
        assert {0, 1, 2} >= package.codecs(zstd) >= {1, 2}, package.codecs(zstd)
        assert {field.type for field in raw.schema.values()} == {"bytes", "string", "scalar", "image", "tensor", "list"}
        package.check_places(raw)
        for i in range(len(raw)):
            package.assert_same(raw[i], zstd[i])
        assert raw.column("label").tolist() == [record["label"] or 0 for record in raw]
        assert raw.verify() == zstd.verify() == []
    print("ok")


if __name__ == "__main__":
    main(*sys.argv[1:])
