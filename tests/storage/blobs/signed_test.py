"""Folders of a web server whose every name needs the query of the folder; and data sets in Azure's containers."""

import os
import pathlib
import pickle
import re
import subprocess
import sys

sys.path.insert(1, str(pathlib.Path(__file__).parents[1]))
from blob_server import ACCOUNT, Container
from folder_server import FolderServer, _Handler
from servers import FOLDER, expect, file_of, serve
from sets import FFCONVERT, demo, error_of, inspect, use

QUERIES = ["sv=2020-12-06&sr=c&se=2099-01-01T00%3A00%3A00Z&sig=secret%2Fof%2Bsas%3D", "Policy=eyJ&Signature=secret-of_cloudfront~&Key-Pair-Id=K1",
           "URLPrefix=aHR0&Expires=99999999999&KeyName=k&Signature=secret-of-gcs", "token=secret-of-token"]
good, refused = "", []


class Signed(_Handler):
    """403 without the query of the moment."""

    def do_GET(self):
        if self.path.partition("?")[2] != good:
            refused.append(self.path)
            return self.answer(403, b"<Error><Code>AuthenticationFailed</Code></Error>")
        return super().do_GET()


def convert(*words, code=0):
    done = subprocess.run([FFCONVERT, *map(str, words)], capture_output=True, text=True, timeout=100)
    expect(done.returncode == code and "secret" not in done.stdout + done.stderr, f"{done.returncode} {done.stdout}{done.stderr}")
    return done.stdout + done.stderr


use()
import ffkit

local = demo(FOLDER / "web/sets")
server = FolderServer(FOLDER / "web")
server_url = serve(type("Handler", (Signed,), {"server_of_folder": server}))
here = ffkit.Dataset(local, "train")
for number, good in enumerate(QUERIES):
    # A token counts for a folder of which no signature is known.
    (FOLDER / f"web/sets{number}").symlink_to(local)
    url = f"{server_url}/sets{number}/train"
    place, cache, out = f"{url}?{good}", FOLDER / f"cache{number}", FOLDER / f"out{number}"
    os.environ["FFKIT_CACHE"] = str(cache)
    ffkit.set_cache(cache)
    refused.clear()
    dataset = ffkit.Dataset(place)
    expect([dataset[i] for i in range(len(here))] == [here[i] for i in range(len(here))] and dataset.fingerprint == here.fingerprint)
    labels = [label for batch in ffkit.Loader(dataset, 16, seed=3, image=ffkit.Resize((32, 32))) for label in batch["label"].tolist()]
    expect(sorted(labels) == sorted(record["label"] for record in here))
    expect(dataset.path == url and "secret" not in repr(dataset) + str(dataset.source), repr(dataset))
    loads = "import pickle, sys; print(pickle.load(open(sys.argv[1], 'rb'))[3]['label'])"
    said = subprocess.run([sys.executable, "-c", loads, file_of("pickled", pickle.dumps(dataset))], capture_output=True, text=True)
    expect(said.stdout.strip() == str(here[3]["label"]), said)
    for command in (["info"], ["verify"], ["cat", "3"]):
        expect(inspect(command[0], place, *command[1:]).replace(url, "DATA") == inspect(command[0], local / "train", *command[1:]).replace(str(local / "train"), "DATA"), command)
    convert("transcode", "--store", "dct", place, out)
    # The marker of the folder above is asked for without: nobody was asked to read that one.
    expect(set(refused) <= {f"/sets{number}/.ffkit-unfinished"}, refused)
    for file in (path for top in (cache, out) for path in top.rglob("*") if path.is_file()):
        expect(not re.search(rb"secret|[?&](sv|Policy|Signature|token)=", file.read_bytes()), f"{file} has the query")
    # Another signature goes on with what the cache has, and so do readers that are open.
    if "token" not in good:
        server.forget()
        good = good.replace("secret", "secret-and-new")
        expect(ffkit.Dataset(f"{url}?{good}")[5] == here[5] and dataset[7] == here[7])
        expect(not server.bytes_of(".ffr"), server.bytes)
    said = error_of(lambda: ffkit.Dataset(f"{url}/none?{good}x"))
    print(said)
    expect("secret" not in said and url in said, said)
    said = convert("transcode", "--store", "dct", f"{url}/none?{good}x", FOLDER / "nothing", code=1)

# Azure: what is copied there is what is here, and is read back; a set is written there.
box = Container(page=4)
use(AZURE_STORAGE_CONNECTION_STRING=box.string())
address = f"az://{ACCOUNT}/box/sets"
convert("copy", local, address)
for file in sorted(path for path in local.rglob("*") if path.is_file()):
    expect(box.blobs[f"sets/{file.relative_to(local)}"][0] == file.read_bytes(), file)
expect(ffkit.splits(address) == ffkit.splits(local) and not box.blocks and not [name for name in box.names() if "unfinished" in name])
expect([record["label"] for record in ffkit.Dataset(address, "val")] == [record["label"] for record in ffkit.Dataset(local, "val")])
expect(inspect("info", address).replace(address, "DATA") == inspect("info", local).replace(str(local), "DATA"))
convert("transcode", "--store", "dct", address, f"abfss://box@{ACCOUNT}.dfs.core.windows.net/again")
expect(len(ffkit.Dataset(f"az://{ACCOUNT}/box/again", "train")) == len(here))
convert("transcode", "--store", "dct", address, f"az://{ACCOUNT}/box/again", code=1)
convert("transcode", "--store", "dct", address, f"az://{ACCOUNT}/box/again", "--resume")
