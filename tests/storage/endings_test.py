"""Processes that end while a store says nothing, fails or is away: with their own exit status, and soon."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from servers import FOLDER, expect
from folder_server import FolderServer
from sets import ENDPOINT, FFCONVERT, FFINSPECT, demo, use

FFTRAIN = os.environ.get("FFKIT_FFTRAIN")
use()
demo(FOLDER / "bucket/demo", "--images", 600, "--val-images", 20, "--size", 160, "--shard-size", "1M")
server = FolderServer(FOLDER)
use(**{ENDPOINT: server.url, "FFKIT_RETRY_SECONDS": "300"})
os.environ["FFKIT_CACHE"] = "off"
BEGIN = """
import sys, threading, time
import ffkit
data = ffkit.Dataset("s3://bucket/demo", "train")
def loader(): return ffkit.Loader(data, 8, image=ffkit.RandomResizedCrop(24), num_threads=2)
def say(): print("last word", flush=True)
"""
# How a process ends, each while the store's shards say nothing.
ENDINGS = {
    "the end of the script": "batches = iter(loader()); say()",
    "sys.exit": "batches = iter(loader()); say(); sys.exit(3)",
    "an exception": "batches = iter(loader()); say(); raise SystemExit(3)",
    "a waiting thread": "threading.Thread(target=lambda: next(iter(loader())), daemon=True).start(); time.sleep(0.3); say()",
    "a record that a thread waits for": "threading.Thread(target=lambda: data[300], daemon=True).start(); time.sleep(0.3); say()",
}
STATUS = {"sys.exit": 3, "an exception": 3}


def ended(begin, process, expected, what, most_s=5):
    """Waits for the process, and expects its exit status `most_s` after `begin` at the latest."""
    try:
        said = process.communicate(timeout=max(0.1, begin + most_s + 20 - time.monotonic()))
    except subprocess.TimeoutExpired:
        process.kill()
        sys.exit(f"FAILED: {what}: still runs\n{process.communicate()}")
    expect(process.returncode == expected, f"{what}: status {process.returncode}, not {expected}\n{said}")
    return said


def waited_for():
    """How many requests have got no answer since the last call."""
    number = 0
    while server.waits.acquire(blocking=False):
        number += 1
    return number


def told(process):
    expect(process.stdout.readline() == "last word\n", f"it said nothing: {process.stderr.read() if process.poll() is not None else ''}")
    return time.monotonic()


FAULTS = {"stalled": {"stalled": ".ffr"}, "busy": {"failing": -1}, "cut": {"is_gone": True}}
for fault, values in FAULTS.items():
    for what, code in ENDINGS.items():
        for name, value in {"stalled": None, "failing": 0, "is_gone": False, **({} if fault != "stalled" else values)}.items():
            setattr(server, name, value)
        # What a data set needs when it is opened is there; the fault begins then.
        process = subprocess.Popen([sys.executable, "-c", BEGIN + "print('open', flush=True); sys.stdin.readline()\n" + code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        expect(process.stdout.readline() == "open\n", process.stderr.read() if process.poll() is not None else "")
        for name, value in values.items():
            setattr(server, name, value)
        process.stdin.write("\n")
        process.stdin.flush()
        begin = told(process)
        ended(begin, process, STATUS.get(what, 0), f"{fault}, {what}")
        print(f"{fault}, {what}: {time.monotonic() - begin:.1f} s")

# Ctrl-C, while a store says nothing at all.
for name, value in {"stalled": "", "failing": 0, "is_gone": False}.items():
    setattr(server, name, value)
OPENING = "import ffkit\nffkit.Dataset('s3://bucket/demo', 'train')"
for what, command, status in (("ffconvert", [FFCONVERT, "folder", "s3://bucket/pictures", FOLDER / "out"], 130),
                              ("ffconvert copy", [FFCONVERT, "copy", "s3://bucket/demo", FOLDER / "copy"], 130),
                              ("ffinspect", [FFINSPECT, "info", "s3://bucket/demo"], -signal.SIGINT),
                              ("ffinspect export", [FFINSPECT, "export", "s3://bucket/demo", FOLDER / "exported"], 130),
                              ("Dataset()", [sys.executable, "-c", OPENING], -signal.SIGINT)):
    waited_for()
    process = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    expect(server.waits.acquire(timeout=60), f"{what} asks nothing")
    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    said = ended(begin, process, status, f"Ctrl-C in {what}", most_s=3)
    print(f"Ctrl-C in {what}: {time.monotonic() - begin:.1f} s")
    expect(what != "Dataset()" or "KeyboardInterrupt" in said[1], said)
# Ctrl-C that the script catches, to close its loader: the reads that the store does not answer
# are given up after 2 s, not after 10.
server.stalled = None
CLOSING = """
batches = loader()
print("open", flush=True)
sys.stdin.readline()
say()
try:
    for batch in batches: pass
except KeyboardInterrupt:
    begin = time.monotonic()
    batches.close()
    sys.exit(5 if time.monotonic() - begin < 8 else 6)
"""
process = subprocess.Popen([sys.executable, "-c", BEGIN + CLOSING], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
expect(process.stdout.readline() == "open\n", process.stderr.read() if process.poll() is not None else "")
server.stalled = ".ffr"
process.stdin.write("\n")
process.stdin.flush()
told(process)
time.sleep(1)
begin = time.monotonic()
process.send_signal(signal.SIGINT)
ended(begin, process, 5, "close() after a caught Ctrl-C", most_s=8)
print(f"close() after a caught Ctrl-C: {time.monotonic() - begin:.1f} s")
# A writer whose store takes no shard, or says nothing at all. What it has claimed is given back,
# if the store answers that.
SAMPLES = """
import os, ffkit
def samples():
    print("last word", flush=True)
    input()
    for _ in range(100): yield {"x": os.urandom(100_000)}
"""
OPTIONS = "'s3://bucket/written', 'train', {'x': 'bytes'}, shard_size='1M'"
for what, code in {"Writer": f"with ffkit.Writer({OPTIONS}) as writer:\n    for sample in samples(): writer.write(sample)",
                   "ShardSink": f"with ffkit.convert.ShardSink({OPTIONS}) as sink: sink.write(samples(), 0)"}.items():
    for stalled in (".ffr", ""):
        server.stalled = None
        process = subprocess.Popen([sys.executable, "-c", SAMPLES + code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        told(process)
        server.stalled = stalled
        waited_for()
        process.stdin.write("\n")
        process.stdin.flush()
        expect(server.waits.acquire(timeout=60), f"{what} sends nothing")
        time.sleep(1)
        begin = time.monotonic()
        process.send_signal(signal.SIGINT)
        said = ended(begin, process, -signal.SIGINT, f"Ctrl-C in {what}, '{stalled}' stalled", most_s=3)
        print(f"Ctrl-C in {what}, '{stalled}' stalled: {time.monotonic() - begin:.1f} s")
        expect("KeyboardInterrupt" in said[1], said[1])
        left = [file.name for file in (FOLDER / "bucket/written").rglob("*") if file.is_file()]
        expect(stalled == "" or not left, f"{left} is left")
        shutil.rmtree(FOLDER / "bucket/written", ignore_errors=True)
# A training that has its data ends in order, also while the store says nothing to what it reads
# ahead. One that waits for its next batch leaves a checkpoint when Ctrl-C comes.
if FFTRAIN:
    server.stalled = None
    server.ranges.clear()

    def train(name, *options):
        return subprocess.Popen([FFTRAIN, "--data", "s3://bucket/demo", "--arch", "mobilenet_v3_small", "--image-size", "32", "--batch-size", "8", "--num-threads", "2", "--compute-threads", "1",
                                 "--order", "shuffle", "--log-every", "1", "--work-dir", FOLDER / name, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    # What the first step needs is answered, in whatever order it is asked for.
    ended(time.monotonic(), train("healthy", "--steps", "1", "--prefetch-batches", "1"), 0, "fftrain", most_s=100)
    server.answered = list(server.ranges)
    waited_for()
    process = train("finished", "--steps", "1", "--prefetch-batches", "16")
    for line in process.stdout:
        begin = time.monotonic()
    said = ended(begin, process, 0, "fftrain whose steps are done")
    expect(waited_for() and not said[1], said[1])
    print(f"fftrain whose steps are done: {time.monotonic() - begin:.1f} s")

    def stop(name, process, sent):
        begin = time.monotonic()
        started = [int(one) for one in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]
        os.kill(started[-1] if name.endswith("one of them") else process.pid, sent)
        said = ended(begin, process, 130 if sent == signal.SIGINT else 75, f"{sent.name} in {name}", most_s=3)
        expect("has all state: the same command with --resume continues" in said[0], said)
        print(f"{sent.name} in {name}: {time.monotonic() - begin:.1f} s")

    def heal():
        for key, value in {"stalled": None, "failing": 0, "is_gone": False, "answered": None}.items():
            setattr(server, key, value)

    process = train("stopped", "--steps", "40", "--prefetch-batches", "16")
    expect("step 1/" in process.stdout.readline() or "step 1/" in process.stdout.readline(), "there was no step")
    expect(server.waits.acquire(timeout=60), "fftrain asks for nothing that the store keeps back")
    time.sleep(2)
    stop("fftrain", process, signal.SIGINT)
    heal()
    said = ended(time.monotonic(), train("stopped", "--steps", "3", "--resume"), 0, "fftrain --resume", most_s=100)
    expect("continuing from" in said[0], said)

    # Several processes, several batches a step, tokens: what was stopped goes on to the weights of
    # a run that was not.
    corpus = FOLDER / "corpus"
    for split, num_files in (("train", 40), ("val", 1)):
        (corpus / split).mkdir(parents=True)
        for i in range(num_files):
            (corpus / split / f"{i}.txt").write_bytes(bytes(97 + (i + j * j // 7) % 26 for j in range(100_000)))
    subprocess.run([FFCONVERT, "text", corpus, FOLDER / "bucket/tokens", "--tokenizer", "bytes", "--shard-size", "1M", "--quiet"], check=True)
    tokens = ["--data", "s3://bucket/tokens", "--task", "gpt2", "--layers", "1", "--heads", "1", "--width", "8", "--positions", "64", "--batch-size", "128", "--window-tokens", "70000",
              "--compute-threads", "1", "--log-every", "1"]

    def start(name, options):
        if "gpt2" not in options:
            return train(name, *options)
        return subprocess.Popen([FFTRAIN, *options, "--work-dir", FOLDER / name], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def last_weights(name):
        raw = max((FOLDER / name).glob("*.safetensors"), key=lambda file: file.stat().st_mtime_ns).read_bytes()
        end = 8 + int.from_bytes(raw[:8], "little")
        header = json.loads(raw[8:end])
        return {key: raw[end + value["data_offsets"][0]:end + value["data_offsets"][1]] for key, value in header.items() if key != "__metadata__"}

    for name, sent, values, options in (("fftrain of two processes", signal.SIGTERM, FAULTS["busy"], ["--nproc", "2", "--steps", "20"]),
                                        ("fftrain of two processes, one of them", signal.SIGTERM, FAULTS["stalled"], ["--nproc", "2", "--steps", "20"]),
                                        ("fftrain of several batches a step", signal.SIGINT, FAULTS["stalled"], ["--accumulate", "4", "--prefetch-batches", "1", "--steps", "12"]),
                                        ("fftrain of tokens", signal.SIGINT, FAULTS["stalled"], [*tokens, "--steps", "100"]),
                                        ("fftrain of tokens, two processes, one of them", signal.SIGUSR1, FAULTS["stalled"], [*tokens, "--nproc", "2", "--steps", "60"]),
                                        ("fftrain of tokens, two processes", signal.SIGTERM, FAULTS["cut"], [*tokens, "--nproc", "2", "--steps", "60"])):
        process = start(name, options)
        while "step 1/" not in (line := process.stdout.readline()):
            expect(line, f"{name}: there was no step: {process.stderr.read() if process.poll() is not None else ''}")
        for key, value in values.items():
            setattr(server, key, value)
        time.sleep(3)
        stop(name, process, sent)
        heal()
        for run, more in ((name, ["--resume"]), (name + ", whole", [])):
            ended(time.monotonic(), start(run, [*options, *more]), 0, run, most_s=200)
        expect(last_weights(name) == last_weights(name + ", whole"), f"{name}: other weights than those of a run that was not stopped")
os._exit(0)  # without the threads of the server, which wait
