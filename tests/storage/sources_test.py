"""Every kind of source, read from stores: the data set is the one that the local copy gives, to the byte."""

import http.server
import json
import os
import pathlib
import shutil
import subprocess
import time

import source_data
from clouds import google_of, hub_of
from conversions import FFCONVERT, check_kind, convert, expect_same
from folder_server import FolderServer
from servers import FOLDER, KEYS, environment, expect, free_ports, installed, serve, start
from sets import SeaweedFs, demo

top = FOLDER / "served"
bucket = top / "bucket"

for kind, (make, _) in source_data.KINDS.items():
    make(bucket / kind)
source_data.pairs(bucket / "pairs")

# All kinds from a bucket, through a server that counts; and again from one that checks signatures.
server = FolderServer(top)
weed = SeaweedFs()
weed.put_folder(bucket, "")
for name, env in (("counting", {"AWS_ENDPOINT_URL_S3": server.url}), ("SeaweedFS", {"AWS_ENDPOINT_URL_S3": weed.url})):
    for kind, (_, arguments) in source_data.KINDS.items():
        check_kind(kind, f"s3://bucket/{kind}", bucket / kind, arguments, env)
    check_kind("webdataset", "s3://bucket/webdataset/", bucket / "webdataset", [], env)
    local, remote = FOLDER / "pairs-disk", FOLDER / "pairs-store"
    for folder, root in ((local, bucket), (remote, "s3://bucket")):
        subprocess.run(["rm", "-rf", folder], check=True)
        convert("pairs", folder, f"image={root}/pairs/images", f"mask={root}/pairs/masks", "--quiet", env=env)
    expect_same(local, remote)
    print(f"{name}: {', '.join(source_data.KINDS)}, pairs")
for address, env in (("gs://bucket", google_of(server)), ("hf://datasets/o/n", hub_of(bucket))):
    for kind, (_, arguments) in source_data.KINDS.items():
        check_kind(kind, f"{address}/{kind}", bucket / kind, arguments, env)
    print(f"{address}: {', '.join(source_data.KINDS)}")

# rclone answers ranges with 200, and lists other ETags than it may send.
port = free_ports(1)[0]
start([installed("rclone"), "serve", "s3", "--addr", f"127.0.0.1:{port}", "--auth-key", f"{KEYS['AWS_ACCESS_KEY_ID']},{KEYS['AWS_SECRET_ACCESS_KEY']}", top], port)
for kind in ("imagenet", "folder", "jsonl"):
    check_kind(kind, f"s3://bucket/{kind}", bucket / kind, source_data.KINDS[kind][1], {"AWS_ENDPOINT_URL_S3": f"http://127.0.0.1:{port}"})

# Files of a web server, which has no lists: one, lists in braces, compressed ones.
plain = FOLDER / "webdataset-files"
plain.mkdir()
for shard in range(3):
    (plain / f"train-{shard:03}.tar").write_bytes((bucket / f"webdataset/train-{shard:03}.tar").read_bytes())
check_kind("webdataset", server.url + "/bucket/webdataset/train-{000..002}.tar", plain, [], {})
check_kind("webdataset", "s3://bucket/webdataset/train-{000,001,002}.tar", plain, [], {"AWS_ENDPOINT_URL_S3": server.url})
check_kind("jsonl", server.url + "/bucket/jsonl/val/part-0.jsonl.gz?X-Amz-Signature=secret", bucket / "jsonl/val/part-0.jsonl.gz", [], {})
message = convert("webdataset", server.url + "/bucket/webdataset/train-{000..003}.tar", FOLDER / "missing", code=1)
expect("train-003.tar: there is no such object" in message, message)
for kind in ("imagenet", "folder", "coco", "nuscenes"):
    message = convert(kind, f"{server.url}/bucket/{kind}", FOLDER / "refused", code=1)
    expect("server does not list its files" in message and "copy the folder to a store or a disk" in message, message)
    expect(not (FOLDER / "refused").exists(), kind)

# Objects that are not there, and buckets.
for source, words in (("s3://bucket/nothing", "there is no such"), ("s3://nobucket/x", "there is no bucket")):
    message = convert("folder", source, FOLDER / "refused", env={"AWS_ENDPOINT_URL_S3": server.url}, code=1)
    expect(words in message and source.split("/")[2] in message, message)

# A change between two runs is noticed by --resume, and one in the middle by its name.
source = bucket / "changing"
source_data.folders(source)
env = {"AWS_ENDPOINT_URL_S3": server.url}
convert("folder", "s3://bucket/changing", FOLDER / "changing", "--quiet", env=env)
message = convert("folder", "s3://bucket/changing", FOLDER / "changing", "--resume", env=env)
expect("was finished" in message or "already" in message or "nothing" in message, message)
picture = source / "train/cat/3.jpg"
content = picture.read_bytes()
picture.write_bytes(content[:-1] + b"\0")
message = convert("folder", "s3://bucket/changing", FOLDER / "changing", "--resume", env=env, code=1)
expect("changed" in message or "other" in message, message)


# In the middle of a conversion: the archive is exchanged after it was listed, and is an error by
# its name.
archive = bucket / "changing-tars" / "train-000.tar"
source_data.write(archive, source_data.tar({f"{i:06}.jpg": source_data.jpeg(i, (400, 300)) for i in range(400)}))
server.forget()
server.delay_s = 0.05
running = subprocess.Popen([FFCONVERT, "webdataset", "s3://bucket/changing-tars", FOLDER / "middle", "--num-threads", "1"], env=environment(**KEYS, FFKIT_CACHE="off", **env), stderr=subprocess.PIPE, text=True)
while server.bytes_of("train-000.tar") < 4_000_000:  # headers have less
    time.sleep(0.01)
    expect(running.poll() is None, "ended too early")
os.utime(archive, ns=(1, 1))
said = running.communicate(timeout=120)[1]
server.delay_s = 0
expect(running.returncode == 1 and "train-000.tar" in said and "was changed after ffkit listed it" in said, said)

# Neighbours are read together, and pictures of a shuffled order side by side.
server.forget()
subprocess.run(["rm", "-rf", FOLDER / "counted"], check=True)
convert("webdataset", "s3://bucket/changing-tars", FOLDER / "counted", "--order", "sequential", "--quiet", env=env)
size = archive.stat().st_size
expect(server.requests < 520 and server.bytes_of(".tar") < 1.1 * size + 400 * 4096 + 40_000_000, f"{server.requests} requests, {server.bytes_of('.tar')} bytes of {size}")

# Requests are counted by bytes and not by records, in whatever order; how many there were is said.
lines = [json.dumps({"text": f"line {i}", "label": i % 7}) for i in range(3000)]
source_data.write(bucket / "small-records" / "train.jsonl", "\n".join(lines).encode())
# With 280 MB in a few lines: too much for memory, so the cache of the machine has it.
source_data.write(bucket / "large-file" / "train.jsonl", "\n".join([*lines, *[json.dumps({"text": "x" * 56_000_000, "label": 1})] * 5, *lines]).encode())
for kind, name, cache, most in (("jsonl", "small-records", "off", 12), ("webdataset", "changing-tars", "off", 40), ("jsonl", "large-file", FOLDER / "cache", 300)):
    of_store, of_disk = FOLDER / f"{name}-store", FOLDER / f"{name}-disk"
    server.forget()
    message = convert(kind, f"s3://bucket/{name}", of_store, env={**env, "FFKIT_CACHE": str(cache)})
    print(f"{name}: {server.requests} requests")
    expect(server.requests <= most, f"{name}: {server.requests} requests")
    expect(f"{server.requests} requests to stores, " in message, message)
    convert(kind, bucket / name, of_disk, "--quiet")
    expect_same(of_disk, of_store)

# What a web server without ranges has is refused, with what to do.
class WithoutRanges(http.server.BaseHTTPRequestHandler):
    def log_message(self, *arguments):
        pass

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        content = archive.read_bytes()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)


message = convert("webdataset", serve(WithoutRanges) + "/train-000.tar", FOLDER / "refused", code=1)
expect("ranges" in message and "copy the files to a disk" in message, message)

# FFRecord v1 and transcode take data sets by their addresses; nuScenes where the real data are.
demo(bucket / "demo", "--images", 40, "--classes", 3)
demo_env = {"AWS_ENDPOINT_URL_S3": server.url}
check_kind("v1", "s3://bucket/demo", bucket / "demo", [], demo_env)
check_kind("transcode", "s3://bucket/demo", bucket / "demo", ["--store", "dct"], demo_env)
shared = os.environ.get("FFKIT_SHARED_DATA")
if shared and (pathlib.Path(shared) / "nuscenes/root").is_dir():
    shutil.copytree(pathlib.Path(shared) / "nuscenes/root", bucket / "nuscenes-real")
    check_kind("nuscenes", "s3://bucket/nuscenes-real", pathlib.Path(shared) / "nuscenes/root", [], demo_env)
