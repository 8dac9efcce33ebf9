"""Kills the parts of a conversion at random moments: kill_parts.py FFCONVERT FFINSPECT [KILLS]

Two parts at once write to one folder, and the last to end merges them. In each round one of them, or both, are killed; a third of the
moments lie where a part ends, because that is where a merge is. After each kill, whatever is accepted as a data set must be the whole one,
byte for byte that of a conversion without parts. Then both run again, at the same time: the same bytes, and nothing beside them.
"""

import collections
import filecmp
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

from kill_anywhere import files_of, is_same, make_pictures


def main():
    ffconvert, ffinspect = sys.argv[1:3]
    kills = int(sys.argv[3]) if len(sys.argv) > 3 else 20
    moments = random.Random(1)
    with tempfile.TemporaryDirectory(prefix="ffkit-kill-parts-") as name:
        work = pathlib.Path(name)
        expected, destination, source = work / "undisturbed", work / "dst", work / "source"
        make_pictures(ffconvert, ffinspect, work, bad_every=50)  # which are skipped, and reported

        def command(folder, *more):
            return [ffconvert, "folder", source, folder, "--shard-size", "1M", "--bad-samples", "skip", *more]

        def start(part):
            more = ("--part", f"{part}/2", "--merge-when-complete", "--resume")
            return subprocess.Popen(command(destination, *more), stderr=subprocess.PIPE, text=True)

        def finish(processes):
            errors = [process.communicate(timeout=120)[1] for process in processes]
            for process, text in zip(processes, errors):
                assert process.returncode == 0, text
            return sum("ready and merged" in text for text in errors)

        subprocess.run(command(expected, "--quiet"), check=True)
        begin = time.monotonic()
        assert finish([start(1), start(2)]) == 1, "two undisturbed parts: not one of them has merged"
        seconds = time.monotonic() - begin
        assert is_same(destination, expected), "two undisturbed parts gave other bytes"
        shutil.rmtree(destination)

        seen = collections.Counter()
        for kill in range(kills):
            processes = [start(1), start(2)]
            killed = processes if kill % 4 == 3 else [processes[kill % 2]]
            time.sleep(seconds * (moments.uniform(0.8, 1.05) if kill % 3 == 0 else moments.uniform(0, 1)))
            for process in killed:
                process.kill()
            for process in processes:
                errors = process.communicate(timeout=120)[1]
                assert process.returncode == 0 or (process in killed and process.returncode == -9), errors
            num_merged = sum(process.returncode == 0 for process in processes)
            is_whole = destination.exists() and is_same(destination, expected)
            is_read = False
            for path in (destination, destination / "train", destination / "val"):
                verify = subprocess.run([ffinspect, "verify", path], capture_output=True)
                is_read = is_read or verify.returncode == 0
            if is_read and not is_whole:
                # All is there; what a killed merge had still to remove is beside it.
                names = [path for path in files_of(expected) if not (expected / path).is_dir()]
                for path in names:
                    assert filecmp.cmp(expected / path, destination / path, shallow=False), f"kill {kill}: {path} is read and is not whole"
                more = sorted(str(path) for path in set(files_of(destination)) - set(files_of(expected)))
                assert all(path.startswith((".part-", ".ffkit-in-use-", ".ffkit-upload-")) for path in more), more
            seen["whole" if is_whole else "read, with leftovers" if is_read else "refused"] += 1
            seen["parts that had ended"] += num_merged

            finish([start(1), start(2)])
            stray = [path for path in destination.iterdir() if path.name.startswith(".ffkit-upload-")]
            for path in stray:  # a kill in the instant in which a claim was written: what gc is for
                path.unlink()
                seen["stray names"] += 1
            assert is_same(destination, expected), f"kill {kill}: the run after it gave {files_of(destination)}"
            shutil.rmtree(destination)
        print(f"{kills} kills over runs of {seconds * 1000:.0f} ms: {dict(seen)}")
        assert seen["refused"] > kills / 8, "the moments do not cover the run"


if __name__ == "__main__":
    main()
