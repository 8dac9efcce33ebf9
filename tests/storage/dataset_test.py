"""Data sets by addresses: from SeaweedFS with signatures, from a web server and by file://, each compared with the local folder. Also what is not there, or was exchanged."""

import re
import shutil
import subprocess

from servers import FOLDER, expect
from folder_server import FolderServer
from sets import ENDPOINT, FFCONVERT, SeaweedFs, demo, error_of, inspect, use

weed = SeaweedFs()
use(**{ENDPOINT: weed.url})
import ffkit  # noqa: E402  the environment is read when a store is first used

local = demo(FOLDER / "sets/demo", "--images", 300, "--val-images", 60, "--size", 256, "--shard-size", "1M")
weed.put_folder(local, "set s/demo")
web = FolderServer(FOLDER / "sets")
places = {"s3": "s3://bucket/set s/demo", "http": web.url + "/demo", "file": f"file://{local}"}
num_shards = len(list((local / "train").glob("*.ffr")))
expect(num_shards > 4, num_shards)
here = ffkit.Dataset(local, "train")


def same_records(one, other):
    expect(len(one) == len(other) > 0, f"{len(one)} {len(other)}")
    for i in range(len(one)):
        expect(one[i] == other[i], f"record {i} of {one}")


for name, place in places.items():
    there = ffkit.Dataset(place, "train")
    same_records(there, here)
    expect(there.schema == here.schema and there.classes == here.classes)
    expect((there.column("label") == here.column("label")).all() and list(there.column("id")) == list(here.column("id")))
    same_records(there.where("label in {1, 3}"), here.where("label in {1, 3}"))
    same_records(there.subset([7, 250, 7]), here.subset([7, 250, 7]))
    same_records(ffkit.Dataset.chain([there, ffkit.Dataset(local, "val"), there]), ffkit.Dataset.chain([here, ffkit.Dataset(local, "val"), here]))
    same_records(ffkit.Dataset(place + "/train"), here)
    same_records(ffkit.Dataset(place + "/train/"), here)
    same_records(ffkit.Dataset(place, "train", max_open_shards=2), here)
    same_records(ffkit.Dataset(place, "train", check_shards="at_once"), here)
    shard = "train/shard-00002.ffr"
    same_records(ffkit.Dataset(f"{place}/{shard}"), ffkit.Dataset(local / shard))
    same_records(ffkit.Dataset.from_files([f"{place}/train/shard-0000{i}.ffr" for i in (3, 1)]), ffkit.Dataset.from_files([local / f"train/shard-0000{i}.ffr" for i in (3, 1)]))

    # ffinspect says the same of it, but for its name.
    for arguments in (["info", "--split", "train"], ["info", "--split", "train", "--json"], ["ls", "--split", "train"], ["ls", "--split", "val", "--where", "label == 2"], ["cat", "3", "--split", "val"],
                      ["cat", "3", "--split", "val", "--json"], ["stats", "--split", "train"], ["verify", "--split", "train"], ["verify", "--split", "val", "--pictures", "--json"]):
        said, wanted = (inspect(arguments[0], data, *arguments[1:]).replace(str(data), "DATA") for data in (place, local))
        expect(said == wanted, f"{arguments} of {place}:\n{said}\n{wanted}")
    expect(inspect("verify", f"{place}/{shard}").replace(place, "DATA") == inspect("verify", local / shard).replace(str(local), "DATA"))
    if name != "http":  # a web server has no listing: splits are named
        for command in ("info", "verify"):
            expect(inspect(command, place).replace(place, "DATA") == inspect(command, local).replace(str(local), "DATA"), command)
        expect(ffkit.splits(place) == ffkit.splits(local))
    inspect("view", place, "--split", "val", "--count", 4, "--output", FOLDER / f"{name}.png")
    inspect("export", place, FOLDER / f"out-{name}", "--split", "val")
    inspect("cat", place, 5, "--split", "val", "--field", "image", "--output", FOLDER / f"{name}.jpg")
    print(f"{name}: {num_shards} shards as in the local folder")
expect(len({(FOLDER / f"{name}.png").read_bytes() for name in places}) == 1)
expect(len({(FOLDER / f"{name}.jpg").read_bytes() for name in places}) == 1)
expect(len({tuple((str(path.relative_to(FOLDER / f'out-{name}')), path.read_bytes()) for path in sorted((FOLDER / f"out-{name}").rglob("*")) if path.is_file()) for name in places}) == 1)

# What is not there.
for name, place in places.items():
    said = error_of(lambda: ffkit.Dataset(place, "tset"))
    print(said)
    expect(said.startswith("NotFoundError: " + place), said)
    if name == "http":
        expect(f"there is no manifest.json in {place}/tset" in said, said)
    else:
        expect("there is no split 'tset'; the splits are train, val" in said, said)
        expect("name the split that you mean; the splits are train, val" in error_of(lambda: ffkit.Dataset(place)))
    for nothing in (place + "/none", place + "-none"):
        said = error_of(lambda: ffkit.Dataset(nothing))
        expect(said.startswith("NotFoundError: " + nothing), said)
    said = inspect("verify", place + "/none", code=1)
    expect(said.startswith(f"ffinspect: error: {place}/none"), said)
for address in ("s3://no-such-bucket/set", "s3://no-such-bucket/set/train/shard-00000.ffr"):
    said = error_of(lambda: ffkit.Dataset(address, ""))
    print(said)
    expect(said.startswith(f"NotFoundError: {address}") or said.startswith("NotFoundError: s3://no-such-bucket"), said)

# A set whose shards are not what its manifest says: an error by the shard's name, never another
# record.
shards = sorted((local / "train").glob("*.ffr"))
damaged = bytearray(shards[2].read_bytes())
damaged[len(damaged) // 2] ^= 1
broken = FOLDER / "sets/broken"
shutil.copytree(local, broken)
weed.put_folder(broken, "broken")


def read_all(dataset):
    """What reading each record raises, by shard; a record that can be read is the right one."""
    errors = {}
    for i in range(len(here)):
        try:
            expect(dataset[i] == here[i], f"another record {i}")
        except ffkit.Error as error:
            errors.setdefault(re.search(r"shard-\d+", str(error))[0], f"{type(error).__name__}: {error}")
    return errors


def change_in_bucket(name, content):
    weed.put(f"broken/{name}", content) if content else weed.remove(f"broken/{name}")


def change_on_web(name, content):
    (broken / name).write_bytes(content) if content else (broken / name).unlink()


for place, change in ((f"{web.url}/broken", change_on_web), ("s3://bucket/broken", change_in_bucket)):
    for is_cached in (True, False):
        for name in ("train/shard-00001.ffr", "train/shard-00002.ffr", "train/shard-00003.ffr"):
            change(name, (local / name).read_bytes())
        ffkit.clean_cache()
        ffkit.set_cache(FOLDER / f"cache-{place[:2]}" if is_cached else "off")
        before = ffkit.Dataset(place, "train")
        expect(read_all(before) == {})
        opened = [ffkit.Dataset(f"{place}/train/shard-0000{i}.ffr") for i in (1, 2)]
        first = [dataset[0] for dataset in opened]
        change("train/shard-00001.ffr", shards[0].read_bytes())
        change("train/shard-00002.ffr", bytes(damaged))
        change("train/shard-00003.ffr", None)
        errors = read_all(before)
        print(place, is_cached, errors)
        expect(is_cached and not errors or not is_cached and sorted(errors) == ["shard-00001", "shard-00002", "shard-00003"], errors)
        errors = read_all(ffkit.Dataset(place, "train"))
        expect(is_cached and not errors or sorted(errors) == ["shard-00001", "shard-00002", "shard-00003"], errors)
        said = inspect("verify", place, "--split", "train", code=1)  # by a process with another cache
        expect(is_cached or "DAMAGED: 1 of 300 records, and 2 problems outside of the records" in said, said)
        # A single shard has no manifest: what it is now counts.
        expect(ffkit.Dataset(f"{place}/train/shard-00001.ffr")[0] == here[0])
        expect("no such object" in error_of(lambda: ffkit.Dataset(f"{place}/train/shard-00003.ffr")))
ffkit.set_cache(FOLDER / "cache")

# A marker of a conversion that has not finished.
shutil.rmtree(broken)
shutil.copytree(local, broken)
weed.put_folder(broken, "broken")
marker = b"A data set is being made in this folder\nkind conversion\nplan x\ncommand ffconvert demo x --resume\n"
weed.put("broken/.ffkit-unfinished", marker)
(broken / ".ffkit-unfinished").write_bytes(marker)
for place in ("s3://bucket/broken", web.url + "/broken", f"file://{broken}"):
    for said in (error_of(lambda: ffkit.Dataset(place, "train")), error_of(lambda: ffkit.Dataset(place + "/train")), inspect("verify", place, "--split", "train", code=1)):
        expect("has not finished" in said and place in said, said)

# FFRecord v1.
v1 = FOLDER / "sets/v1"
subprocess.run([FFCONVERT, "v1", local, v1], check=True, capture_output=True)
weed.put_folder(v1, "v1")
print(sorted(str(path.relative_to(v1)) for path in v1.rglob("*"))[:4])
for place in ("s3://bucket/v1", f"file://{v1}"):
    for split in ("train", "val"):
        same_records(ffkit.Dataset(place, split), ffkit.Dataset(v1, split))
    expect(inspect("verify", place).replace(place, "DATA") == inspect("verify", v1).replace(str(v1), "DATA"))
    expect(ffkit.splits(place) == ["train", "val"])
