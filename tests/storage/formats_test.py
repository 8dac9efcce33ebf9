"""Files of other libraries, read from stores: the data set is the one that the local copy gives, to the byte.

Runs in the Python of tools/setup --formats, which FFKIT_FORMATS_PYTHON names.
"""

import os
import pathlib
import random
import subprocess
import sys
import sysconfig

PACKAGES = "FFKIT_PYTEST_PACKAGES"  # of the Python that began: helpers of tests/python/formats import pytest
if PACKAGES not in os.environ:
    python = os.environ.get("FFKIT_FORMATS_PYTHON")
    if not python:
        print("skipped: FFKIT_FORMATS_PYTHON names no Python with the libraries whose files are converted (tools/setup --formats)")
        sys.exit(77)
    sys.exit(subprocess.run([python, *sys.argv], env={**os.environ, PACKAGES: sysconfig.get_paths()["purelib"]}).returncode)
sys.path.append(os.environ[PACKAGES])
sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "python/formats"))

import lmdb
import pyarrow
import pyarrow.parquet
import source_data
import test_beton
import test_litdata
import test_recordio
from clouds import google_of, hub_of
from conversions import FFCONVERT, check_kind, convert
from folder_server import FolderServer
from servers import FOLDER, expect
from source_data import jpeg
from streaming import MDSWriter
from tfrecord.writer import TFRecordWriter

top = FOLDER / "served"
bucket = top / "bucket"
ROWS = {split: [(jpeg(i), i % 5) for i in range(count)] for split, count in (("train", 60), ("val", 20))}


def halves(split):
    """(name of a file of two, its rows)"""
    rows = ROWS[split]
    return [(f"{split}-{part:05}-of-00002", rows[part::2]) for part in range(2)]


def parquet(folder):
    for split in ROWS:
        for name, rows in halves(split):
            table = pyarrow.table({"image": [{"bytes": image, "path": f"{label}.jpg"} for image, label in rows], "label": [label for _, label in rows]})
            pyarrow.parquet.write_table(table, folder / f"{name}.parquet", row_group_size=7)


def tfrecord(folder):
    for split in ROWS:
        for name, rows in halves(split):
            writer = TFRecordWriter(str(folder / name))
            for image, label in rows:
                writer.write({"image/encoded": (image, "byte"), "image/class/label": (label, "int")})
            writer.close()


def mds(folder):
    for split, rows in ROWS.items():
        with MDSWriter(out=str(folder / split), columns={"image": "jpeg_bytes" if False else "bytes", "label": "int"}, size_limit=20_000, compression="zstd" if split == "val" else None) as writer:
            for image, label in rows:
                writer.write({"image": image, "label": label})


def litdata(folder):
    for split, rows in ROWS.items():
        test_litdata.write(folder / split, [{"image": image, "label": label} for image, label in rows], chunk_size=16)


def recordio(folder):
    for split, rows in ROWS.items():
        test_recordio.write(folder / f"{split}.rec", [test_recordio.pack(float(label), number, image) for number, (image, label) in enumerate(rows)])


def beton(folder):
    for split, rows in ROWS.items():
        samples = [((0, image, 40, 48), label) for image, label in rows]
        test_beton.write(folder / f"{split}.beton", [("image", test_beton.RGB), ("label", test_beton.INT)], samples)


def of_lmdb(folder):
    for split, rows in ROWS.items():
        environment = lmdb.open(str(folder / f"{split}_lmdb"), map_size=1 << 30)
        with environment.begin(write=True) as transaction:
            for number, (image, _) in enumerate(rows):
                transaction.put(b"%06d" % number, image)
        environment.close()


KINDS = {"parquet": parquet, "tfrecord": tfrecord, "mds": mds, "litdata": litdata, "recordio": recordio, "beton": beton, "lmdb": of_lmdb}
for kind, make in KINDS.items():
    (bucket / kind).mkdir(parents=True)
    make(bucket / kind)
for kind in ("webdataset", "jsonl"):
    source_data.KINDS[kind][0](bucket / kind)
if "libffkit_parquet.so is missing" in subprocess.run([FFCONVERT, "parquet", bucket / "parquet", FOLDER / "tried", "--quiet"], capture_output=True, text=True).stderr:
    print("without parquet: ffconvert was built without Arrow (tools/setup --parquet)")
    del KINDS["parquet"]

server = FolderServer(top)
s3 = {"AWS_ENDPOINT_URL_S3": server.url}
for address, env in (("s3://bucket", s3), ("gs://bucket", google_of(server)), ("hf://datasets/o/n", hub_of(bucket))):
    for kind in KINDS:
        check_kind(kind, f"{address}/{kind}", bucket / kind, [], env)
    print(f"{address}: {', '.join(KINDS)}")

# Files of a web server, which has no lists: what may be beside them need not be there.
for kind, files, name in (
    ("parquet", "parquet/{train,val}-{00000..00001}-of-00002.parquet", "parquet"),
    ("tfrecord", "tfrecord/{train,val}-{00000..00001}-of-00002", "tfrecord"),
    ("mds", "mds/train", "mds/train"),
    ("mds", "mds/val", "mds/val"),
    ("litdata", "litdata/train", "litdata/train"),
    ("recordio", "recordio/{train,val}.rec", "recordio"),
    ("beton", "beton/{train,val}.beton", "beton"),
    ("lmdb", "lmdb/train_lmdb", "lmdb/train_lmdb"),
):
    if kind in KINDS:
        check_kind(kind, f"{server.url}/bucket/{files}", bucket / name, [], {})
for kind, file in (("recordio", "recordio/val.rec"), ("tfrecord", "tfrecord/train-00001-of-00002")):
    check_kind(kind, f"{server.url}/bucket/{file}?X-Amz-Signature=secret/of", bucket / file, [], {})

# Who may not list is told of what is not there that it is forbidden.
server.may_list = False
for kind, file in (
    ("parquet", "parquet/val-00000-of-00002.parquet"),
    ("tfrecord", "tfrecord/train-00001-of-00002"),
    ("mds", "mds/train"),
    ("mds", "mds/val"),
    ("litdata", "litdata/train"),
    ("recordio", "recordio/val.rec"),
    ("beton", "beton/val.beton"),
    ("lmdb", "lmdb/train_lmdb/data.mdb"),
    ("webdataset", "webdataset/train-000.tar"),
    ("jsonl", "jsonl/val/part-0.jsonl.gz"),
):
    if kind in KINDS or kind in source_data.KINDS:
        check_kind(kind, f"s3://bucket/{file}", bucket / file, [], s3)
server.may_list = True

# A server that is busy now and then is asked again; a file that is not there is named.
for kind in KINDS:
    server.failing = 2
    check_kind(kind, f"s3://bucket/{kind}", bucket / kind, [], s3)
    expect(server.failing == 0, f"{kind}: asked too little")
for kind, gone in (("mds", "mds/train/shard.00001.mds"), ("litdata", "litdata/train/chunk-0-1.bin")):
    (bucket / gone).rename((bucket / gone).with_name("away"))
    message = convert(kind, f"s3://bucket/{kind}", FOLDER / "refused", env=s3, code=1)
    expect(gone.rsplit("/", 1)[1] in message and "copy" in message, message)
print("ok")
