#!/usr/bin/env python3
"""What ffconvert writes in the dct code, ffkit_reader, which was written from DCT.md alone, turns into the JPEG files: dct_test.py FFCONVERT FFINSPECT"""
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

import package  # finds ffkit_reader
from ffkit_reader import Dataset, _dct as dct

# Sampling factors of the components, width and height.
KINDS = {"grey": ([(1, 1)], 35, 17), "grey-2x2": ([(2, 2)], 41, 9), "444": ([(1, 1)] * 3, 27, 19), "420": ([(2, 2), (1, 1), (1, 1)], 33, 31),
         "422": ([(2, 1), (1, 1), (1, 1)], 130, 8), "411": ([(4, 1), (1, 1), (1, 1)], 65, 23), "440": ([(1, 2), (1, 1), (1, 1)], 8, 40),
         "odd": ([(1, 1), (2, 1), (1, 2)], 50, 50), "wide": ([(2, 2), (1, 1), (1, 1)], 1800, 9), "dot": ([(1, 1)], 1, 1)}


def segment(marker, data):
    return struct.pack(">BBH", 0xFF, marker, len(data) + 2) + data


def all_symbols(symbols):
    """A Huffman table in which every one of up to 255 symbols has a code of 8 bits or, behind those, of 16."""
    short = min(len(symbols), 200)
    counts = bytearray(16)
    counts[7], counts[15] = short, len(symbols) - short
    return bytes(counts) + bytes(symbols)


def made_jpeg(factors, width, height, seed):
    """A JPEG of random coefficients, few and small or many and large."""
    rng = random.Random(seed)
    components = b"".join(struct.pack(">BBB", 7 + c, h << 4 | v, 0) for c, (h, v) in enumerate(factors))
    dc = all_symbols(list(range(12)))
    ac = all_symbols([run << 4 | size for run in range(16) for size in range(1, 12)] + [0x00, 0xF0])
    head = b"\xff\xd8" + segment(0xFE, b"a comment") + segment(0xDB, bytes([0]) + bytes([3] * 64))
    head += segment(0xC0, struct.pack(">BHHB", 8, height, width, len(factors)) + components)
    head += segment(0xC4, bytes([0x00]) + dc + bytes([0x11]) + ac)
    scan = b"".join(bytes([7 + c, 0x01]) for c in range(len(factors)))
    head += segment(0xDA, bytes([len(factors)]) + scan + bytes([0, 63, 0]))
    parsed = dct.Head(head)
    rows = []
    for _ in range(parsed.num_rows):
        blocks = [[0] * 64 for _ in parsed.components]
        for block in blocks:
            block[0] = rng.choice([rng.randint(-1000, 1000), 5, 6])
            for _ in range(rng.choice([0, 0, 1, 5, 40])):
                block[rng.randint(1, 63)] = rng.randint(-1, 1) * rng.choice([1, 2, 7, 100, 128, 255, 257, 1023, 2047])
        rows.append(blocks)
    return head + dct.scan_of(parsed, rows, 0) + rng.choice([b"\xff\xd9", b"\xff\xd9 and what follows it"])


def main(ffconvert, ffinspect):
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "source/train/all")
        source.mkdir(parents=True)
        for seed, (name, kind) in enumerate(KINDS.items()):
            (source / f"{name}.jpg").write_bytes(made_jpeg(*kind, seed))
        # As a converter's encoder makes them.
        pictures = folder + "/pictures"
        subprocess.run([ffconvert, "demo", pictures, "--images", "6", "--val-images", "0", "--size", "60", "--short-side", "50", "--jpeg-quality",
                        "100", "--quiet"], check=True)
        subprocess.run([ffinspect, "export", pictures, folder + "/files"], check=True, stdout=subprocess.DEVNULL)
        for i, path in enumerate(pathlib.Path(folder, "files").rglob("*.jpg")):
            (source / f"demo-{i}.jpg").write_bytes(path.read_bytes())
        # Real ones, where they are there.
        shared = os.environ.get("FFKIT_SHARED_DATA", "")
        for name in ("gray.JPEG", "subsampling_422.JPEG", "subsampling_444.JPEG", "tall.JPEG", "wide.JPEG"):
            path = pathlib.Path(shared, "hard-images", name)
            if shared and path.exists():
                (source / name).write_bytes(path.read_bytes())

        pathlib.Path(folder, "classes.txt").write_text("all\n")  # one class alone must be meant
        subprocess.run([ffconvert, "folder", folder + "/source", folder + "/dst", "--classes", folder + "/classes.txt", "--store", "dct", "--quiet"], check=True)
        report = pathlib.Path(folder, "dst/report.jsonl")
        assert not report.exists(), report.read_text()
        records = Dataset(folder + "/dst", "train")
        codes = [package.stored(records, i, "image") for i in range(len(records))]
        assert len(records) == len(list(source.iterdir()))
        for i, (record, code) in enumerate(zip(records, codes)):
            assert code[:6] == dct.MAGIC, record["id"]
            assert record["image"] == (source.parent / record["id"]).read_bytes(), record["id"]
            assert record["image"] == subprocess.run(
                [ffinspect, "cat", folder + "/dst", str(i), "--field", "image"], check=True, capture_output=True).stdout

        # A reader that checks must notice.
        code = codes[0]
        for broken in (code[:-1], code[:6] + b"\x02" + code[7:], code[:24] + b"\x02" + code[25:], code[:-1] + b"\x01"):
            try:
                dct.jpeg_of(broken)
            except (ValueError, IndexError, struct.error):
                continue
            raise AssertionError("a broken code was read")
    print(f"ok: {len(records)} pictures")


if __name__ == "__main__":
    main(*sys.argv[1:])
