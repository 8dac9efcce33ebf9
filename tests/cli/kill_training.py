"""Kills a training at moments spread over its whole run: kill_training.py TRAIN_NUMBER FFCONVERT [KILLS]

A third of the runs is of two processes, and a third of the kills is SIGTERM, which leaves a checkpoint; the others are SIGKILL of all
processes. After each kill the same command goes on with --resume. What it ends with must be the run that was left alone: the same bytes
in the last checkpoint, and each step and validation once in metrics.jsonl, with the same numbers. The moments are random under a fixed
seed; a third of them lie where the run ends.
"""

import itertools
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

EPOCHS = 4
CLOCK = ("numbers_per_second", "data_wait_share", "seconds", "fps")  # what differs from run to run


def metrics(folder):
    lines = [json.loads(line) for line in open(folder / "metrics.jsonl")]
    return [{k: v for k, v in line.items() if k not in CLOCK} for line in lines]


def children(pid):
    try:
        return [int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []


def end(process, number):
    """Signals a run; SIGKILL is for its processes too, the youngest first, so that nobody is told by the end of another."""
    if number == signal.SIGKILL:
        for child in reversed(children(process.pid)):
            try:
                os.kill(child, number)
            except ProcessLookupError:
                pass
    process.send_signal(number)
    errors = process.communicate()[1].decode()
    assert process.returncode in (0, 75, 137, -number), f"status {process.returncode}: {errors}"


def main():
    train_number, ffconvert = sys.argv[1:3]
    kills = int(sys.argv[3]) if len(sys.argv) > 3 else 200
    moments = random.Random(1)
    with tempfile.TemporaryDirectory(prefix="ffkit-kill-") as name:
        work = pathlib.Path(name)
        subprocess.run([ffconvert, "demo", work / "data", "--classes", "4", "--images", "40", "--val-images", "10", "--size", "16", "--quiet"], check=True)

        def command(folder, processes):
            return [
                *(train_number, "--task", "number", "--data", work / "data", "--side", "8", "--global-batch-size", "4", "--lr", "0.003"),
                *("--epochs", str(EPOCHS), "--log-every", "1", "--checkpoint-minutes", "0.00001", "--compute-threads", "1", "--num-threads", "1"),
                *("--nproc", str(processes), "--work-dir", folder, "--resume", "--quiet"),
            ]

        expected, seconds = {}, {}
        for processes in (1, 2):
            folder = work / f"alone-{processes}"
            start = time.monotonic()
            subprocess.run(command(folder, processes), check=True)
            seconds[processes] = time.monotonic() - start
            expected[processes] = ((folder / f"epoch-{EPOCHS:04}.safetensors").read_bytes(), metrics(folder))

        killed = runs = 0
        ended_before = {1: 0, 2: 0}
        while killed < kills:
            processes = 2 if runs % 3 == 2 else 1
            runs += 1
            folder = work / "run"
            for _ in range(moments.randint(1, 6)):
                process = subprocess.Popen(command(folder, processes), stderr=subprocess.PIPE)
                time.sleep(seconds[processes] * (moments.uniform(0.7, 1) if killed % 3 == 0 else moments.uniform(0, 1)))
                number = signal.SIGTERM if killed % 3 == 1 else signal.SIGKILL
                was_over = process.poll() is not None
                end(process, number)
                killed += not was_over
                ended_before[processes] += was_over
            last = subprocess.run(command(folder, processes), stderr=subprocess.PIPE)
            assert last.returncode == 0, f"run {runs}: {last.stderr.decode()}"
            checkpoint, lines = expected[processes]
            other = [pair for pair in itertools.zip_longest(metrics(folder), lines) if pair[0] != pair[1]]
            assert not other, f"run {runs}: {other[0][0]} instead of {other[0][1]}"
            assert (folder / f"epoch-{EPOCHS:04}.safetensors").read_bytes() == checkpoint, f"run {runs}: other bytes"
            left = [path.name for path in folder.iterdir() if "tmp" in path.name or "damaged" in path.name]
            assert not left, f"run {runs}: {left}"
            shutil.rmtree(folder)
        print(
            f"{killed} kills over {runs} runs of {seconds[1] * 1000:.0f} ms (one process) and {seconds[2] * 1000:.0f} ms (two): "
            f"all {runs} equal those that were left alone; {sum(ended_before.values())} kills came too late and do not count"
        )


if __name__ == "__main__":
    main()
