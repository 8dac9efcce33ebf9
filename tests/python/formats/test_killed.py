"""Conversions of other libraries' files that are killed half way and gone on with: the data set is that of an undisturbed run."""
import filecmp
import os
import random
import signal
import subprocess
import time

import pyarrow
import pyarrow.parquet
import pytest
from streaming import MDSWriter
from tfrecord.writer import TFRecordWriter

import ffkit
from test_litdata import write

pytestmark = pytest.mark.filterwarnings("ignore")
NUM_ROWS, NUM_FILES = 6000, 4
KINDS = ["parquet", "tfrecord", "mds", "litdata", "tables"]


def row(i):
    return {"x": i, "s": f"{i} " + " ".join(random.Random(i).choices(WORDS, k=150))}


WORDS = ["".join(random.Random(i).choices("abcdefghijklmnop", k=2 + i % 7)) for i in range(2000)]


@pytest.fixture(scope="module", params=KINDS)
def source(request, tmp_path_factory):
    """The kind, and files of it."""
    kind, folder = request.param, tmp_path_factory.mktemp(request.param) / "source"
    folder.mkdir()
    rows = [row(i) for i in range(NUM_ROWS)]
    for number in range(NUM_FILES) if kind in ("parquet", "tfrecord") else ():
        part = rows[number * NUM_ROWS // NUM_FILES : (number + 1) * NUM_ROWS // NUM_FILES]
        name = f"train-{number:05}-of-{NUM_FILES:05}"
        if kind == "parquet":
            pyarrow.parquet.write_table(pyarrow.Table.from_pylist(part), folder / f"{name}.parquet", row_group_size=400)
        else:
            writer = TFRecordWriter(str(folder / f"set-train.tfrecord-{name[6:]}"))
            for one in part:
                writer.write({"x": (one["x"], "int"), "s": (one["s"].encode(), "byte")})
            writer.close()
    if kind == "mds":
        with MDSWriter(out=str(folder), columns={"x": "int", "s": "str"}, size_limit=1 << 20, progress_bar=False) as writer:
            for one in rows:
                writer.write(one)
    elif kind == "litdata":  # not as a table
        write(folder, ((one["x"], one["s"]) for one in rows), chunk_size=1000)
    elif kind == "tables":
        write(folder, rows, chunk_size=1000, compression="zstd")
    return "litdata" if kind == "tables" else kind, folder


def command(source, destination, order, *options):
    kind, folder = source
    return [*map(str, [os.environ["FFKIT_FFCONVERT"], kind, folder, destination, "--order", order, "--shard-size", "1M", "--num-threads", 2, "--zstd", 12, *options])]


def run(*arguments):
    done = subprocess.run(command(*arguments), capture_output=True, text=True)
    if "libffkit_parquet.so is missing" in done.stderr:
        pytest.skip("ffconvert was built without Arrow (tools/setup --parquet)")
    assert done.returncode == 0, done.stderr
    return done.stderr


def files_of(folder):
    return sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())


def is_same(a, b):
    return files_of(a) == files_of(b) and all(filecmp.cmp(a / name, b / name, shallow=False) for name in files_of(a))


def kill_when(there, process):
    """Kills a conversion as soon as a file is there."""
    end = time.monotonic() + 60
    while not there.exists():
        assert process.poll() is None and time.monotonic() < end, process.stderr.read()
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL


@pytest.mark.parametrize("order", ["shuffle", "sequential"])
def test_what_was_killed_goes_on(source, tmp_path, order):
    expected, destination = tmp_path / "undisturbed", tmp_path / "killed"
    run(source, expected, order)
    num_shards = len(list((expected / "train").glob("*.ffr")))
    assert num_shards >= 4
    for shard in (1, 2):
        process = subprocess.Popen(command(source, destination, order, "--resume"), stderr=subprocess.PIPE, text=True)
        kill_when(destination / "train" / f"shard-{shard:05}.ffr", process)
        with pytest.raises(ffkit.Error):
            ffkit.Dataset(destination, "train")
    notes = run(source, destination, order, "--resume")
    assert "shards are finished; continuing" in notes, notes
    assert is_same(destination, expected)
    # The parts of three machines, one of which was killed.
    parts = [tmp_path / f"part-{i}" for i in (1, 2, 3)]
    process = subprocess.Popen(command(source, parts[0], order, "--part", "1/3"), stderr=subprocess.PIPE, text=True)
    kill_when(parts[0] / ".ffkit-unfinished", process)
    for i, part in enumerate(parts):
        run(source, part, order, "--part", f"{i + 1}/3", "--resume")
    subprocess.run([os.environ["FFKIT_FFCONVERT"], "merge", tmp_path / "merged", *parts, "--quiet"], check=True)
    assert ffkit.Dataset(tmp_path / "merged", "train").fingerprint == ffkit.Dataset(expected, "train").fingerprint


def test_a_copy_of_the_source_is_compared_and_another_one_refused(source, tmp_path):
    kind, folder = source
    run(source, tmp_path / "undisturbed", "sequential")
    process = subprocess.Popen(command(source, tmp_path / "killed", "sequential"), stderr=subprocess.PIPE, text=True)
    kill_when(tmp_path / "killed" / "train" / "shard-00001.ffr", process)
    copy = tmp_path / "sequential"
    copy.mkdir()
    for path in folder.iterdir():
        (copy / path.name).write_bytes(path.read_bytes())
    first, second = sorted(path for path in copy.iterdir() if path.name != "index.json")[:2]
    first.rename(copy / "swapped"), second.rename(first), (copy / "swapped").rename(second)
    done = subprocess.run(command((kind, copy), tmp_path / "killed", "sequential", "--resume"), capture_output=True, text=True)
    assert done.returncode == 1 and "ffconvert: error:" in done.stderr, done.stderr
    first.rename(copy / "swapped"), second.rename(first), (copy / "swapped").rename(second)
    notes = run((kind, copy), tmp_path / "killed", "sequential", "--resume")
    assert "the contents are compared" in notes and "shards are finished; continuing" in notes, notes
    assert ffkit.Dataset(tmp_path / "killed", "train").fingerprint == ffkit.Dataset(tmp_path / "undisturbed", "train").fingerprint
