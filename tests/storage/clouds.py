"""The Hugging Face hub and Google's storage, as far as ffkit asks them: of a local folder."""

import json
import pathlib
import re
import urllib.parse

from servers import Handler, file_of, serve


def hub_of(folder):
    """What the environment needs so that hf://datasets/o/n is the folder."""
    return {"HF_ENDPOINT": serve(type("Hub", (_Hub,), {"folder": pathlib.Path(folder)})), "HF_TOKEN": "hf_secret"}


def google_of(server):
    """What the environment needs so that gs:// is the FolderServer, with tokens of a user."""
    user = {"type": "authorized_user", "client_id": "c", "client_secret": "s", "refresh_token": "r", "token_uri": serve(_Tokens) + "/token"}
    return {"STORAGE_EMULATOR_HOST": server.url, "GOOGLE_APPLICATION_CREDENTIALS": str(file_of("user.json", json.dumps(user).encode()))}


class _Tokens(Handler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.answer(200, json.dumps({"access_token": "of-google", "expires_in": 3600, "token_type": "Bearer"}).encode())


class _Hub(Handler):
    disable_nagle_algorithm = True
    wbufsize = -1
    folder: pathlib.Path

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        path, _, query = urllib.parse.unquote(self.path).partition("?")
        if match := re.fullmatch("/datasets/o/n/resolve/main/(.*)", path):
            file = self.folder / match[1]
            if not file.is_file():
                return self.answer(404, X_Error_Code="EntryNotFound")
            content, asked = file.read_bytes(), re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
            if not asked:
                return self.answer(200, content, ETag='"git"')
            first, last = int(asked[1]), min(int(asked[2]), len(content) - 1)
            return self.answer(206, content[first : last + 1], ETag='"git"', Content_Range=f"bytes {first}-{last}/{len(content)}")
        if match := re.fullmatch("/api/datasets/o/n/tree/main/?(.*)", path):
            top = self.folder / match[1]
            if not top.is_dir():
                return self.answer(404, X_Error_Code="EntryNotFound")
            found = sorted(top.rglob("*") if "recursive=true" in query else top.iterdir())
            entries = [{"type": "file" if file.is_file() else "directory", "path": str(file.relative_to(self.folder)), "size": file.stat().st_size, "oid": "git"} for file in found]
            return self.answer(200, json.dumps(entries).encode())
        return self.answer(404, X_Error_Code="EntryNotFound")
