"""ffconvert copy and ffconvert gc, between disks and SeaweedFS, which checks signatures."""

import filecmp
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

from folder_server import FolderServer
from servers import FOLDER, KEYS, environment, expect, file_of, tool
from sets import SeaweedFs, demo

FFCONVERT = os.environ["FFKIT_FFCONVERT"]
weed = SeaweedFs()
ENV = environment(**KEYS, FFKIT_CACHE="off", AWS_ENDPOINT_URL_S3=weed.url)


def ffconvert(*arguments, code=0, env=ENV):
    done = subprocess.run([FFCONVERT, *map(str, arguments)], env=env, capture_output=True, text=True, timeout=120)
    expect(done.returncode == code, f"ffconvert {' '.join(map(str, arguments))}: status {done.returncode}, not {code}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def files_of(folder):
    return sorted(str(path.relative_to(folder)) for path in pathlib.Path(folder).rglob("*") if path.is_file())


def expect_same(one, other):
    names = files_of(one)
    expect(names == files_of(other), f"{names} and {files_of(other)}")
    _, different, failed = filecmp.cmpfiles(one, other, names, shallow=False)
    expect(not different and not failed, f"{different} {failed}")


def listed(address):
    return [line.split(" ")[2] for line in tool("list", address, "--recursive", env=ENV).splitlines()]


# A set of several shards in two splits, with a report.
ours = demo(FOLDER / "ours", "--images", 300, "--classes", 3, "--size", 96, "--shard-size", "1M")
(ours / "report.jsonl").write_text('{"split":"train"}\n')
num_shards = len([name for name in files_of(ours) if name.endswith(".ffr")])
expect(num_shards >= 3, files_of(ours))

# From a disk to a store, from there to another folder of it, and back: the same files.
said = ffconvert("copy", ours, "s3://bucket/ours")
expect("every shard was compared" in said, said)
expect(len(listed("s3://bucket/ours")) == len(files_of(ours)), listed("s3://bucket/ours"))
ffconvert("copy", "s3://bucket/ours", "s3://bucket/other/", "--quiet")
ffconvert("copy", "s3://bucket/other", FOLDER / "back", "--num-threads", "2")
expect_same(ours, FOLDER / "back")
ffconvert("copy", ours, FOLDER / "on-disk", "--quiet")
expect_same(ours, FOLDER / "on-disk")
# Again: all is there.
said = ffconvert("copy", ours, "s3://bucket/ours")
expect(f"{num_shards} of the shards were in DST already" in said and "0.0 MB copied" in said, said)

# One split, by its name and by its folder; from a web server, which has no lists.
ffconvert("copy", "s3://bucket/ours", FOLDER / "one", "--split", "val", "--quiet")
expect([name for name in files_of(FOLDER / "one") if name != "report.jsonl"] == ["val/" + name for name in files_of(ours / "val")], files_of(FOLDER / "one"))
ffconvert("copy", "s3://bucket/ours/val", FOLDER / "split", "--quiet")
expect_same(ours / "val", FOLDER / "split")
web = FolderServer(FOLDER)
ffconvert("copy", web.url + "/ours/val", FOLDER / "of-web", "--quiet")
expect_same(ours / "val", FOLDER / "of-web")
message = ffconvert("copy", web.url + "/ours", FOLDER / "refused", code=1)
expect("lists no splits" in message, message)
message = ffconvert("copy", ours, web.url + "/new", code=1)
expect("cannot be" in message and "s3://" in message, message)

# Another set, and files of none, are refused; the destination is as it was.
others = demo(FOLDER / "others", "--images", 60, "--classes", 3, "--seed", 5)
before = listed("s3://bucket/ours")
message = ffconvert("copy", others, "s3://bucket/ours", code=1)
expect("is not part of the copied data set" in message or "contains another data set" in message or "the shard differs from the manifest" in message, message)
expect(listed("s3://bucket/ours") == before, "something was changed")
(FOLDER / "busy" / "train").mkdir(parents=True)
(FOLDER / "busy" / "train" / "mine.txt").write_text("x")
message = ffconvert("copy", ours, FOLDER / "busy", code=1)
expect("contains 'mine.txt', which is not part of the copied data set" in message, message)
message = ffconvert("copy", ours, ours / "below", code=1)
expect("is inside" in message, message)

# A damaged shard is an error by its name, and no copy of it appears.
damaged = FOLDER / "damaged"
shutil.copytree(ours, damaged)
shard = damaged / "train" / "shard-00001.ffr"
content = bytearray(shard.read_bytes())
content[len(content) // 2] ^= 1
shard.write_bytes(content)
message = ffconvert("copy", damaged, "s3://bucket/damaged", code=1)
expect("shard-00001.ffr" in message and "checksum" in message, message)
names = listed("s3://bucket/damaged")
expect(not any(name.endswith("shard-00001.ffr") or name.endswith("manifest.json") for name in names), names)
expect("s3://bucket/damaged/.ffkit-unfinished" in names, names)

# kill -9 of a copy: the destination says how to go on, and goes on with what is there.
for destination in ("s3://bucket/killed", str(FOLDER / "killed")):
    slow = FolderServer(FOLDER)
    slow.delay_s = 0.15
    env = environment(**KEYS, FFKIT_CACHE="off", AWS_ENDPOINT_URL_S3=weed.url)
    running = subprocess.Popen([FFCONVERT, "copy", slow.url + "/ours/train", destination, "--num-threads", "1"], env=env, stderr=subprocess.DEVNULL)
    deadline = time.time() + 60
    while time.time() < deadline:
        there = listed(destination) if destination.startswith("s3") else files_of(destination) if os.path.isdir(destination) else []
        if any(name.endswith("shard-00000.ffr") for name in there):
            break
        time.sleep(0.05)
    # While it is alive nobody else copies there, and gc takes nothing away. Stopped, it does not
    # end too early.
    running.send_signal(signal.SIGSTOP)
    for options in ([], ["--resume"]):
        message = ffconvert("copy", slow.url + "/ours/train", destination, *options, code=1)
        expect("is writing to this folder" in message, message)
    if destination.startswith("s3"):
        message = ffconvert("gc", destination, "--remove", "--unfinished", code=1)
        expect("is writing to this folder" in message, message)
    else:
        said = ffconvert("gc", destination, "--remove", "--unfinished")
        expect("a process uses it" in said and "0 removed" in said, said)
    running.send_signal(signal.SIGKILL)
    running.wait()
    message = ffconvert("copy", slow.url + "/ours/train", destination, code=1)
    expect("continue the copy with --resume" in message, message)
    message = ffconvert("transcode", destination, FOLDER / "transcoded", "--store", "dct", code=1)
    expect("finish it with: " in message and "--resume" in message, message)
    # What is left over is shown, and stays unless it is asked for.
    said = ffconvert("gc", destination)
    expect("marker of an unfinished data set" in said and "nothing was removed" in said, said)
    said = ffconvert("gc", destination, "--remove")
    expect("give --unfinished to remove them" in said, said)
    slow.delay_s = 0
    said = ffconvert("copy", slow.url + "/ours/train", destination, "--resume")
    expect(re.search(r"[1-9]\d* of the shards (was|were) in DST already", said), said)
    back = destination
    if destination.startswith("s3"):
        back = FOLDER / "killed-back"
        ffconvert("copy", destination, back, "--quiet")
    expect_same(ours / "train", back)

# What gc finds in a store: shards that no manifest names, temporary files, uploads. Others stay.
small = file_of("small", b"x" * 1000)
large = file_of("large", os.urandom(33 << 20))
for name in ("train/shard-00099.ffr", "train/shard-00001.report.tmp", "train/mine.bin", "notes.txt"):
    tool("put", f"s3://bucket/ours/{name}", small, env=ENV)
tool("killed-upload", "s3://bucket/ours/train/shard-00100.ffr", large, env=ENV)
tool("killed-upload", "s3://bucket/ours/train/mine.iso", large, env=ENV)
expect(tool("uploads", "s3://bucket/ours", env=ENV).splitlines() == ["s3://bucket/ours/train/mine.iso", "s3://bucket/ours/train/shard-00100.ffr"], tool("uploads", "s3://bucket/ours", env=ENV))
said = ffconvert("gc", "s3://bucket/ours")
for words in ("train/shard-00099.ffr, 0.0 MB: shard that no manifest names", "train/shard-00001.report.tmp, 0.0 MB: temporary file", "train/shard-00100.ffr: unfinished upload, started 20",
              "mine.bin: kept", "notes.txt: kept", "mine.iso: kept", "nothing was removed; give --remove"):
    expect(words in said, f"{words}\n{said}")
said = ffconvert("gc", "s3://bucket/ours", "--remove")
expect("3 removed" in said, said)
expect(tool("uploads", "s3://bucket/ours", env=ENV) == "s3://bucket/ours/train/mine.iso", "uploads")
expect(set(listed("s3://bucket/ours")) == set(before) | {"s3://bucket/ours/train/mine.bin", "s3://bucket/ours/notes.txt"}, listed("s3://bucket/ours"))
ffconvert("gc", "s3://bucket/damaged", "--remove", "--unfinished")
expect([name for name in listed("s3://bucket/damaged") if "report" not in name] == [], listed("s3://bucket/damaged"))
tool("uploads", "s3://bucket/ours", "--abort", env=ENV)

# The same on a disk; a conversion that runs keeps what is its own.
(FOLDER / "on-disk" / "train" / "shard-00099.ffr").write_bytes(b"x")
(FOLDER / "on-disk" / "train" / ".ffkit-upload-999999999-0").write_bytes(b"x")
said = ffconvert("gc", FOLDER / "on-disk", "--remove")
expect("2 removed" in said, said)
expect_same(ours, FOLDER / "on-disk")
running = subprocess.Popen([FFCONVERT, "demo", FOLDER / "running", "--images", "100000", "--quiet"], env=ENV)
while not (FOLDER / "running" / ".ffkit-unfinished").exists():
    time.sleep(0.05)
time.sleep(0.3)
said = ffconvert("gc", FOLDER / "running", "--remove", "--unfinished")
expect("a process uses it" in said and "\n0 removed" in said, said)
running.send_signal(signal.SIGKILL)
running.wait()
said = ffconvert("gc", FOLDER / "running", "--remove", "--unfinished")
expect("a process uses it" not in said and "\n0 removed" not in said, said)
expect(files_of(FOLDER / "running") == [], files_of(FOLDER / "running"))
message = ffconvert("gc", web.url + "/ours", code=1)
expect("cannot be listed" in message, message)

# A conversion to a store that runs keeps what is its own, a part too; when it was killed, nothing
# of it stays.
for part in ((), ("--part", "1/2")):
    destination = "s3://bucket/making"
    running = subprocess.Popen([FFCONVERT, "demo", destination, "--images", "100000", "--shard-size", "1M", "--quiet", *part], env=ENV)
    deadline = time.time() + 60
    while time.time() < deadline and not any(name.endswith(".ffr") for name in listed(destination)):
        time.sleep(0.05)
    said = ffconvert("gc", destination, "--remove")
    expect("give --unfinished to remove them" in said and "\n0 removed" in said, said)
    message = ffconvert("gc", destination, "--remove", "--unfinished", code=1)
    expect("is writing" in message, message)
    expect(running.poll() is None and any(name.endswith(".ffr") for name in listed(destination)), "the conversion ended")
    running.send_signal(signal.SIGKILL)
    running.wait()
    said = ffconvert("gc", destination, "--remove", "--unfinished")
    expect("\n0 removed" not in said, said)
    expect(listed(destination) == [], listed(destination))
