"""ffinspect serve of a set at gs://, hf:// and https://, by servers of our own: the answers are those of the same set on a disk."""

from clouds import google_of, hub_of
from folder_server import FolderServer
from served_answers import OF_PICTURES, answers, expect_equal
from servers import FOLDER
from sets import demo, use

ours = demo(FOLDER / "bucket/ours", "--images", 200, "--val-images", 40, "--classes", 4, "--size", 64)
bucket = FolderServer(FOLDER)
use(**google_of(bucket), **hub_of(ours))
here = answers(ours)
for address in "gs://bucket/ours", "hf://datasets/o/n":
    expect_equal(here, answers(address), address)
# A web server lists no splits.
of_train = {"paths": [path for path in OF_PICTURES if "split=train" in path]}
expect_equal(answers(ours, "--split", "train", **of_train), answers(f"{bucket.url}/bucket/ours", "--split", "train", **of_train), "http")
print("ok")
