"""Data sets written to stores: the same bytes as in a folder; kills, two writers, uploads that fail, and what is refused."""

import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import time

from servers import FOLDER, expect
from bucket_server import Bucket
from sets import ENDPOINT, FFCONVERT, SeaweedFs, error_of, inspect, use



def lines_of(name, sizes, record_bytes, seed):
    """A folder of JSON lines, train.jsonl and val.jsonl; a few lines are broken, so there is a report."""
    draw = random.Random(seed)
    folder = FOLDER / name
    folder.mkdir()
    for split, number in sizes.items():
        with open(folder / f"{split}.jsonl", "w") as file:
            for i in range(number):
                file.write("{broken\n" if i in (7, number - 2) else json.dumps({"id": i, "text": draw.randbytes(record_bytes // 2).hex()}) + "\n")
    return folder


SMALL = ["jsonl", lines_of("small-lines", {"train": 700, "val": 150}, 10_000, 1), "--shard-size", "1M", "--num-threads", "2", "--bad-samples", "skip"]
LARGE = ["jsonl", lines_of("large-lines", {"train": 500, "val": 20}, 100_000, 2), "--num-threads", "2", "--bad-samples", "skip"]  # shards of more than a part


def start_convert(command, place, *options):
    return subprocess.Popen([FFCONVERT, command[0], str(command[1]), str(place), *command[2:], *map(str, options)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def convert(command, place, *options, code=0):
    """What ffconvert says."""
    process = start_convert(command, place, *options)
    said = process.communicate(timeout=200)[0]
    expect(process.returncode == code, f"{command[0]} {place} {options}: status {process.returncode}, not {code}\n{said}")
    expect("secret/of" not in said, "a secret is printed")
    return said


def files_in(folder):
    folder = pathlib.Path(folder)
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def expect_same(found, wanted):
    expect(sorted(found) == sorted(wanted), f"{sorted(found)}\n{sorted(wanted)}")
    for name, content in wanted.items():
        expect(found[name] == content, f"{name} has other bytes")


use()
local = FOLDER / "local"
convert(SMALL, local, "--quiet")
wanted = files_in(local)
large = FOLDER / "large"
convert(LARGE, large, "--quiet")
expect(max(len(content) for content in files_in(large).values()) > 20e6)


def in_bucket(store):
    """A conversion to a bucket in memory: whole, after kills, with two writers, and with an upload that fails."""
    os.environ[ENDPOINT] = store.url

    def objects(name):
        return store.bytes_below(f"{name}/")

    # The bytes of a local conversion; the marker first and the manifest last; nothing else stays.
    said = convert(SMALL, "s3://bucket/set")
    print(said)
    expect_same(objects("set"), wanted)
    writes = [key for method, key, query in store.sent if method in ("PUT", "POST")]
    expect(writes[:2] == ["set/.ffkit-in-use-1", "set/.ffkit-unfinished"], writes[:3])
    last_shard = max(i for i, key in enumerate(writes) if key.startswith("set/val/shard"))
    expect(writes.index("set/val/manifest.json") > last_shard and writes.index("set/train/manifest.json") < last_shard, writes)
    expect(not store.uploads)
    convert(LARGE, "s3://bucket/large/", "--quiet")  # shards in parts
    expect_same(objects("large"), files_in(large))
    expect(not store.uploads)

    # A finished set stays as it is.
    said = convert(SMALL, "s3://bucket/set", code=1)
    expect("s3://bucket/set: the folder already contains a data set (split 'train'); remove the data set or give another folder" in said, said)
    said = convert(SMALL, "s3://bucket/set", "--resume")
    expect("is already finished" in said, said)
    said = convert(SMALL, "s3://bucket/set", "--resume", "--seed", 5, code=1)
    expect("already contains a data set from a conversion that differs in option seed" in said, said)
    expect_same(objects("set"), wanted)
    said = convert(SMALL, "s3://bucket", "--resume", code=1)  # the bucket has other things
    expect("not empty" in said or "already contains" in said or "other files" in said, said)

    # Killed before its first shard, in the middle and near the end; then gone on with.
    for number, pattern in enumerate((r"^kill\d/\.ffkit-unfinished", r"train/shard-00001", r"train/shard-00004", r"train/manifest", r"val/shard-00000", r"val/manifest")):
        place = f"kill{number}"
        process = start_convert(SMALL, f"s3://bucket/{place}")

        def kill(method, key, query):
            if method in ("PUT", "POST") and re.search(pattern, key) and key.startswith(place):
                process.kill()

        store.on_request = kill
        said = process.communicate(timeout=100)[0]
        store.on_request = None
        expect(process.returncode == -signal.SIGKILL, said)
        there = objects(place)
        if pattern.startswith("^"):
            expect(".ffkit-unfinished" not in there or len(there) <= 2, there.keys())
        else:
            said = inspect("verify", f"s3://bucket/{place}", "--split", "train", code=1)
            expect("has not finished" in said and "--resume" in said or "is not a data set" in said, said)
        num_before = len([name for name in there if name.endswith(".ffr")])
        said = convert(SMALL, f"s3://bucket/{place}", "--resume")
        expect(num_before == 0 or f"shards are finished; continuing" in said, said)
        expect_same(objects(place), wanted)
    # Another plan may not go on; without --resume it starts over.
    process = start_convert(SMALL, "s3://bucket/other")
    store.on_request = lambda method, key, query: process.kill() if method == "PUT" and "shard-00003" in key else None
    process.communicate(timeout=100)
    store.on_request = None
    said = convert(SMALL, "s3://bucket/other", "--resume", "--seed", 7, code=1)
    expect("has an unfinished conversion, and this conversion differs in" in said, said)
    said = convert(SMALL, "s3://bucket/other")
    expect("an unfinished conversion was found and removed; starting over" in said, said)
    expect_same(objects("other"), wanted)

    # Ctrl-C: what is finished stays, nobody waits.
    process = start_convert(SMALL, "s3://bucket/stopped")
    store.on_request = lambda method, key, query: process.send_signal(signal.SIGINT) if method == "PUT" and key == "stopped/train/shard-00003.ffr" else None
    said = process.communicate(timeout=100)[0]
    store.on_request = None
    expect(process.returncode == 130 and "run the conversion again with --resume to continue" in said, f"{process.returncode} {said}")
    expect(not any("in-use" in key for key in objects("stopped")), store.names("stopped"))
    expect(".ffkit-unfinished" in objects("stopped"))
    convert(SMALL, "s3://bucket/stopped", "--resume")
    expect_same(objects("stopped"), wanted)

    # Two writers: the second is refused, whatever it wants.
    process = start_convert(SMALL, "s3://bucket/two")
    store.delay_s = 0.05
    while not any(".ffr" in key for key in store.names("two")) and process.poll() is None:
        time.sleep(0.02)
    process.send_signal(signal.SIGSTOP)  # so that it does not end too early
    for options in ([], ["--resume"]):
        said = convert(SMALL, "s3://bucket/two", *options, code=1)
        expect(f"s3://bucket/two: process {process.pid} on " in said and "is writing to this folder; wait for it or give another folder" in said, said)
    store.delay_s = 0
    process.send_signal(signal.SIGCONT)
    expect(process.wait(timeout=100) == 0, process.stdout.read())
    expect_same(objects("two"), wanted)

    # A writer on another machine: one that does not beat is taken over from after 30 s, which is
    # said at once.
    convert(SMALL, "s3://bucket/far", "--quiet")
    claim = "host elsewhere\npid 12\nboot x\npid-space y\nbegin 1\ntoken t\nbeat 3\n"
    with store.lock:
        del store.objects["far/val/manifest.json"], store.objects["far/val/shard-00000.ffr"]
        store.objects["far/.ffkit-in-use-4"] = claim.encode()
        store.objects["far/.ffkit-unfinished"] = store.objects["far/.ffkit-unfinished-copy"] if "far/.ffkit-unfinished-copy" in store.objects else b"A data set\nkind conversion\nplan \ncommand x\n"
    begin = time.time()
    said = convert(SMALL, "s3://bucket/far")
    expect(time.time() - begin > 29, said)
    expect("process 12 on elsewhere (its object is s3://bucket/far/.ffkit-in-use-4) was writing to it; waiting 30 s" in said, said)
    expect_same(objects("far"), wanted)
    with store.lock:
        store.objects["alive/.ffkit-in-use-1"] = claim.encode()
        store.objects["alive/.ffkit-unfinished"] = b"kind conversion\n"
    process = start_convert(SMALL, "s3://bucket/alive", "--resume")
    said = ""
    while "waiting 30 s" not in said:
        said = process.stdout.readline()
        expect(said, "it does not watch")
    with store.lock:
        store.objects["alive/.ffkit-in-use-1"] = claim.replace("beat 3", "beat 4").encode()
    said += process.communicate(timeout=60)[0]
    expect(process.returncode == 1 and "process 12 on elsewhere" in said and "is writing to this folder" in said, said)

    # Uploads that fail. Passing troubles are passed over.
    store.fail("PUT", r"^fail0/train/shard-00002", 503, times=3)
    store.fail("PUT", r"^fail0/train/shard-00003", "cut", times=2)
    store.fail("PUT", r"^fail0/train/manifest", "lost", times=1)
    store.fail("PUT", r"^fail0/\.ffkit-unfinished", "lost", times=1)
    convert(SMALL, "s3://bucket/fail0", "--quiet")
    expect_same(objects("fail0"), wanted)
    store.heal()
    store.fail("PUT", r"^fail1/train/shard-00000.*partNumber=2", 503, times=2)
    store.fail("POST", r"^fail1/train/shard-00000.*uploadId", "lost", times=1)
    convert(LARGE, "s3://bucket/fail1", "--quiet")
    expect_same(objects("fail1"), files_in(large))
    store.heal()
    # Lasting ones end the conversion with a sentence, and it goes on when the store is back.
    for action, words in ((403, "denied"), ("cut", "fail2/train/shard-0000")):
        store.fail("PUT", r"^fail2/train/shard-0000[3-9]", action)
        said = convert(SMALL, "s3://bucket/fail2", "--resume", code=1)
        print(said)
        expect("s3://bucket/fail2/train/shard-0000" in said and words in said, said)
        store.heal()
        expect(not store.uploads and ".ffkit-unfinished" in objects("fail2"), store.names("fail2"))
    convert(SMALL, "s3://bucket/fail2", "--resume")
    expect_same(objects("fail2"), wanted)
    # A part of a large shard that cannot be written leaves no upload behind.
    store.fail("PUT", r"^fail3/train/shard-00000.*partNumber=2", 403)
    said = convert(LARGE, "s3://bucket/fail3", code=1)
    print(said)
    store.heal()
    expect(not store.uploads and not objects("fail3"), store.names("fail3"))

    # Credentials and names that are wrong are said before any work.
    store.key = "ANOTHER"
    said = convert(SMALL, "s3://bucket/keys", code=1)
    store.key = "AKIATEST"
    print(said)
    expect("s3://bucket/keys" in said and "AWS_ACCESS_KEY_ID" in said or "credentials" in said, said)
    said = convert(SMALL, "s3://no-such-bucket/set", code=1)
    print(said)
    expect("no-such-bucket" in said, said)
    expect(not pathlib.Path("s3:").exists())


def with_writer(place):
    """ffkit.Writer and a transcode."""
    import ffkit
    import numpy

    def write(where, number, fails=False):
        with ffkit.Writer(where, split="train", schema={"data": "bytes", "label": "i64"}, shard_size=1 << 20, num_threads=2) as writer:
            for i in range(number):
                writer.write({"data": numpy.random.default_rng(i).bytes(20_000), "label": i})
            if fails:
                raise KeyError("as the test wants")

    folder = FOLDER / "written"
    if not folder.exists():
        write(folder, 300)
    write(place, 300)
    there, here = ffkit.Dataset(place, "train"), ffkit.Dataset(folder, "train")
    expect(there.fingerprint == here.fingerprint and len(there) == 300 and there[7] == here[7])
    expect("already contains a split" in error_of(lambda: write(place, 3)))
    try:
        write(place + "-failed", 300, fails=True)
    except KeyError:
        pass
    expect("is not a data set" in error_of(lambda: ffkit.Dataset(place + "-failed", "train")) or "there is no split" in error_of(lambda: ffkit.Dataset(place + "-failed", "train")))
    pictures, here = FOLDER / "pictures", FOLDER / "dct"
    if not pictures.exists():
        subprocess.run([FFCONVERT, "demo", pictures, "--images", "30", "--val-images", "5", "--size", "64", "--quiet"], check=True)
        ffkit.convert.transcode(pictures, here, store="dct", progress=False)
    ffkit.convert.transcode(pictures, place + "-dct", store="dct", progress=False)
    for split in ("train", "val"):
        expect(ffkit.Dataset(place + "-dct", split).fingerprint == ffkit.Dataset(here, split).fingerprint)
    # An address that Python made a path makes no folder "s3:".
    said = error_of(lambda: write(pathlib.Path("s3://bucket/python"), 3))
    expect("has lost a slash, because it was converted to a path; give the address as text: s3://bucket/python" in said, said)
    said = error_of(lambda: ffkit.convert.transcode(pictures, "https://127.0.0.1/set", store="dct", progress=False))
    expect("ffkit cannot write data sets to web servers" in said, said)
    expect(not pathlib.Path("s3:").exists())


# Parts: several machines write to one place, and a merge moves nothing.
def in_parts(place):
    processes = [start_convert(SMALL, place, "--part", f"{i}/3") for i in (1, 2, 3)]
    for process in processes:
        said = process.communicate(timeout=100)[0]
        expect(process.returncode == 0, said)
    said = inspect("info", place, code=1)
    expect("has not finished" in said and f"ffconvert merge {place}" in said or "is not a data set" in said, said)
    done = subprocess.run([FFCONVERT, "merge", place], capture_output=True, text=True)
    expect(done.returncode == 0, done.stderr)
    print(done.stderr)


# The last part to end merges them, and a part that runs again finds that.
def merged_by_the_last(place):
    more = ("--merge-when-complete", "--resume")
    processes = [start_convert(SMALL, place, "--part", f"{i}/3", *more) for i in (1, 2, 3)]
    said = [process.communicate(timeout=100)[0] for process in processes]
    for process, text in zip(processes, said):
        expect(process.returncode == 0, text)
    expect(sum("all 3 parts are ready and merged" in text for text in said) == 1, said)
    expect("is already finished" in convert(SMALL, place, "--part", "2/3", *more))


memory = Bucket()
in_bucket(memory)
in_parts("s3://bucket/parts")
expect_same(memory.bytes_below("parts/"), wanted)
merged_by_the_last("s3://bucket/together")
expect_same(memory.bytes_below("together/"), wanted)

# A store that checks signatures and conditions: in the same way, and the same objects.
weed = SeaweedFs()
os.environ[ENDPOINT] = weed.url
convert(SMALL, "s3://bucket/set", "--quiet")
import ffkit  # noqa: E402  the environment is read when a store is first used

for split in ("train", "val"):
    expect(ffkit.Dataset("s3://bucket/set", split).fingerprint == ffkit.Dataset(local, split).fingerprint)
said, there = inspect("verify", "s3://bucket/set", "--pictures"), inspect("verify", local, "--pictures")
expect(said.replace("s3://bucket/set", "X") == there.replace(str(local), "X"), said)
process = start_convert(LARGE, "s3://bucket/large")
time.sleep(1.0)
process.kill()
process.communicate()
print(convert(LARGE, "s3://bucket/large", "--resume"))
for split in ("train", "val"):
    expect(ffkit.Dataset("s3://bucket/large", split).fingerprint == ffkit.Dataset(large, split).fingerprint)
writers = [start_convert(SMALL, "s3://bucket/race") for _ in range(3)]
said = [writer.communicate()[0] for writer in writers]
codes = sorted(writer.returncode for writer in writers)
expect(codes[0] == 0, said)
expect(all(code in (0, 1) for code in codes), said)
expect(ffkit.Dataset("s3://bucket/race", "val").fingerprint == ffkit.Dataset(local, "val").fingerprint)
in_parts("s3://bucket/parts")
for split in ("train", "val"):
    expect(ffkit.Dataset("s3://bucket/parts", split).fingerprint == ffkit.Dataset(local, split).fingerprint)
merged_by_the_last("s3://bucket/together")
for split in ("train", "val"):
    expect(ffkit.Dataset("s3://bucket/together", split).fingerprint == ffkit.Dataset(local, split).fingerprint)
with_writer("s3://bucket/python")
with_writer(f"file://{FOLDER}/python")
expect_same(files_in(FOLDER / "python"), files_in(FOLDER / "written"))
