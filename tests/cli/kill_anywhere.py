"""Kills a conversion at moments spread over its whole run: kill_anywhere.py FFCONVERT FFINSPECT [KILLS]

After each kill, whatever is accepted as a data set must be the whole one: byte for byte that of an undisturbed run. The same command
run again, after one kill or several in a row, must give those bytes too. The moments are random under a fixed seed; a third of them lie
where the run ends, because that is where a data set begins to look finished.
"""

import filecmp
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time


def files_of(folder):
    return sorted(path.relative_to(folder) for path in folder.rglob("*"))


def is_same(a, b):
    """Whether two folders hold the same files with the same bytes."""
    names = files_of(a)
    return names == files_of(b) and all(
        (a / name).is_dir() or filecmp.cmp(a / name, b / name, shallow=False) for name in names
    )


def make_pictures(ffconvert, ffinspect, work, bad_every=0):
    """One painted picture in many files, told apart by a few bytes behind its end: a run that is nearly all writing. Each `bad_every`th is no picture; 0: none."""
    subprocess.run([ffconvert, "demo", work / "demo", "--images", "1", "--val-images", "0", "--size", "256", "--quiet"], check=True)
    picture = subprocess.run(
        [ffinspect, "cat", work / "demo", "0", "--split", "train", "--field", "image"], check=True, capture_output=True
    ).stdout
    for split, count in (("train", 250), ("val", 60)):
        for i in range(count):
            folder = work / "source" / split / f"class-{i % 4}"
            folder.mkdir(parents=True, exist_ok=True)
            is_bad = bad_every and i % bad_every == 0
            (folder / f"{i:04}.jpg").write_bytes((b"no picture" if is_bad else picture) + b"%d" % i)


def main():
    ffconvert, ffinspect = sys.argv[1:3]
    kills = int(sys.argv[3]) if len(sys.argv) > 3 else 200
    moments = random.Random(1)
    with tempfile.TemporaryDirectory(prefix="ffkit-kill-") as name:
        work = pathlib.Path(name)
        expected, destination = work / "undisturbed", work / "dst"
        make_pictures(ffconvert, ffinspect, work)

        def command(folder):
            return [ffconvert, "folder", work / "source", folder, "--shard-size", "1M", "--quiet"]

        def timed_run(folder):
            start = time.monotonic()
            subprocess.run(command(folder), check=True, stderr=subprocess.DEVNULL)
            return time.monotonic() - start

        timed_run(expected)
        seconds = timed_run(destination)
        assert is_same(destination, expected), "two undisturbed runs differ"
        shutil.rmtree(destination)

        absent = refused = finished = in_a_row = 0
        for kill in range(kills):
            process = subprocess.Popen(command(destination), stderr=subprocess.PIPE)
            time.sleep(seconds * (moments.uniform(0.85, 1.1) if kill % 3 == 0 else moments.uniform(0, 1)))
            process.kill()
            errors = process.communicate()[1]
            assert process.returncode in (0, -9), errors.decode()

            is_whole = destination.exists() and is_same(destination, expected)
            for path in (destination, destination / "train", destination / "val"):
                verify = subprocess.run([ffinspect, "verify", path], capture_output=True)
                assert is_whole or verify.returncode == 1, f"kill {kill}: {path} looks finished, but is not"
            if is_whole:
                assert subprocess.run([ffinspect, "verify", destination], capture_output=True).returncode == 0
                finished += 1
            elif not destination.exists():
                absent += 1
            else:
                refused += 1
                if moments.random() < 0.5:
                    in_a_row += 1
                    continue  # the next run starts over, and is killed too
                seconds = min(seconds, timed_run(destination))
                assert is_same(destination, expected), f"kill {kill}: the run after it gave other bytes"
            shutil.rmtree(destination, ignore_errors=True)
        print(
            f"{kills} kills over runs of {seconds * 1000:.0f} ms: {absent} before there was a folder, {refused} left one that is refused "
            f"({in_a_row} of them killed again while starting over), {finished} came too late"
        )
        assert refused > kills / 4 and finished > 0, "the moments do not cover the run"


if __name__ == "__main__":
    main()
