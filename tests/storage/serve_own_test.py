"""ffinspect serve of a set at gs://, hf:// and https://, by servers of our own: the answers are those of the same set on a disk."""

import json
import re
import urllib.parse

import servers
from folder_server import FolderServer
from served_answers import OF_PICTURES, answers, expect_equal
from servers import FOLDER, file_of, serve
from sets import demo, use

ours = demo(FOLDER / "bucket/ours", "--images", 200, "--val-images", 40, "--classes", 4, "--size", 64)
bucket = FolderServer(FOLDER)


class Tokens(servers.Handler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.answer(200, json.dumps({"access_token": "of-google", "expires_in": 3600, "token_type": "Bearer"}).encode())


class Hub(servers.Handler):
    """datasets/o/n is the folder of the set."""

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        path, _, query = urllib.parse.unquote(self.path).partition("?")
        if match := re.fullmatch("/datasets/o/n/resolve/main/(.*)", path):
            file = ours / match[1]
            if not file.is_file():
                return self.answer(404, X_Error_Code="EntryNotFound")
            content, asked = file.read_bytes(), re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
            if not asked:
                return self.answer(200, content, ETag='"v1"')
            first, last = int(asked[1]), min(int(asked[2]), len(content) - 1)
            return self.answer(206, content[first : last + 1], ETag='"v1"', Content_Range=f"bytes {first}-{last}/{len(content)}")
        if match := re.fullmatch("/api/datasets/o/n/tree/main/?(.*)", path):
            top = ours / match[1]
            if not top.is_dir():
                return self.answer(404, X_Error_Code="EntryNotFound")
            found = sorted(top.rglob("*") if "recursive=true" in query else top.iterdir())
            entries = [{"type": "file" if file.is_file() else "directory", "path": str(file.relative_to(ours)), "size": file.stat().st_size, "oid": "git"} for file in found]
            return self.answer(200, json.dumps(entries).encode())
        return self.answer(404, X_Error_Code="EntryNotFound")


user = {"type": "authorized_user", "client_id": "c", "client_secret": "s", "refresh_token": "r", "token_uri": serve(Tokens) + "/token"}
use(STORAGE_EMULATOR_HOST=bucket.url, GOOGLE_APPLICATION_CREDENTIALS=str(file_of("user.json", json.dumps(user).encode())), HF_ENDPOINT=serve(Hub), HF_TOKEN="hf_secret")
here = answers(ours)
for address in "gs://bucket/ours", "hf://datasets/o/n":
    expect_equal(here, answers(address), address)
# A web server lists no splits.
of_train = {"paths": [path for path in OF_PICTURES if "split=train" in path]}
expect_equal(answers(ours, "--split", "train", **of_train), answers(f"{bucket.url}/bucket/ours", "--split", "train", **of_train), "http")
print("ok")
