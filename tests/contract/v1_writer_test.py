#!/usr/bin/env python3
"""What ffconvert writes as FFRecord v1, Python reads: v1_writer_test.py FFCONVERT FFINSPECT"""
import hashlib
import json
import os
import pickle
import subprocess
import sys
import tempfile

import package  # finds ffkit_reader
from ffkit_reader import CorruptError, Dataset


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def generated(ffconvert, folder):
    src, dst = folder + "/demo", folder + "/v1"
    subprocess.run([ffconvert, "demo", src, "--classes", "3", "--images", "260", "--val-images", "5", "--size", "112",
                    "--shard-size", "1M", "--quiet"], check=True)
    subprocess.run([ffconvert, "v1", src, dst, "--quiet"], check=True)
    labels = {}
    for name in ("train", "val"):
        records = Dataset(src, name)
        written = package.v1_payloads(f"{dst}/{name}.ffr")
        assert len(written) == len(records) > 0, (len(written), len(records))
        for record, v1 in zip(records, written):
            value = (record["image"], record["label"])
            assert pickle.loads(v1) == value, record["id"]
            assert v1 == pickle.dumps(value, protocol=4), record["id"]
        if name == "train":
            assert len(os.listdir(f"{dst}/{name}.ffr")) == package.num_shards(records) > 1, "the test wants several parts"
        labels[name] = [record["label"] for record in records]
    with open(dst + "/meta.pkl", "rb") as file:
        meta = pickle.load(file)
    assert meta == {"classes": ["class0000", "class0001", "class0002"],
                    "class_to_idx": {"class0000": 0, "class0001": 1, "class0002": 2}, "targets": labels["train"]}, meta

    # One field's bytes, cut by size.
    subprocess.run([ffconvert, "v1", src, folder + "/ids", "--payload", "raw", "--field", "id", "--shard-size", "1M", "--quiet"],
                   check=True)
    ids = [record["id"].encode() for record in Dataset(src, "train")]
    assert package.v1_payloads(folder + "/ids/train.ffr") == ids
    assert not os.path.exists(folder + "/ids/meta.pkl")

    # A reader that checks must notice: one bit of the last record, one of the header.
    path = dst + "/val.ffr/PART_00000.ffr"
    with open(path, "rb") as file:
        good = file.read()
    for place, message in ((len(good) - 30, "record 4"), (13, "the header is damaged")):
        with open(path, "wb") as file:
            file.write(good[:place] + bytes([good[place] ^ 16]) + good[place + 1:])
        try:
            list(Dataset(dst, "val"))
        except CorruptError as error:
            assert message in str(error), error
        else:
            raise AssertionError(f"damage at {place} was not noticed")


def originals(ffconvert, data, folder):
    """The original's files, to version 2 and back."""
    with open(data + "/expected.json", encoding="utf-8") as file:
        expected = json.load(file)
    for name in ("sizes.ffr", "parts", "imagenet-style"):
        v2, v1 = f"{folder}/{name}-v2", f"{folder}/{name}-v1"
        subprocess.run([ffconvert, "v1", f"{data}/{name}", v2, "--zstd", "3", "--num-threads", "2", "--quiet"], check=True)
        subprocess.run([ffconvert, "v1", v2, v1, "--quiet"], check=True)
        split = {"sizes.ffr": "sizes", "parts": "parts", "imagenet-style": "train"}[name]
        records = package.v1_payloads(f"{v1}/{split}.ffr")
        if name == "imagenet-style":
            sums = [record["record_sha256"] for record in expected["imagenet-style/train.ffr"]]
            with open(f"{v1}/meta.pkl", "rb") as ours, open(f"{data}/{name}/meta.pkl", "rb") as theirs:
                assert pickle.load(ours) == pickle.load(theirs)
        else:
            keys = ["sizes.ffr"] if name == "sizes.ffr" else sorted(key for key in expected if key.startswith("parts/"))
            sums = [record["sha256"] for key in keys for record in expected[key]]
        assert len(sums) > 0 and [sha256(record) for record in records] == sums, name


def main(ffconvert, _):
    data = os.environ.get("FFKIT_SHARED_DATA", "") + "/ffrecord-v1"
    with tempfile.TemporaryDirectory() as folder:
        generated(ffconvert, folder)
        if not os.path.isdir(data):
            print("no ffrecord-v1 in $FFKIT_SHARED_DATA: the original's files are left out")
        else:
            originals(ffconvert, data, folder)
    print("ok")


if __name__ == "__main__":
    main(*sys.argv[1:])
