"""A web server and bucket of a local folder, that counts what is asked of it and can be told to fail."""

import collections
import os
import pathlib
import re
import threading
import time
import urllib.parse
import xml.sax.saxutils

from servers import Handler, serve


class FolderServer:
    """`url` + "/bucket/x" is folder/bucket/x by https rules; as an endpoint of S3, keys of the environment are taken as they are."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.lock = threading.Lock()
        self.requests = 0
        self.bytes = collections.Counter()  # of bodies, by path
        self.failing = 0   # so many requests are answered with 503; -1: all of them
        self.failed = 0
        self.is_gone = False  # connections are closed without an answer
        self.delay_s = 0
        self.stalled = None  # requests whose path ends so, but DELETE, get no answer; "": all
        self.ranges = []  # (path, begin, end) of each request for a part of a file
        self.answered = None  # some of those: requests for other parts get no answer
        self.waits = threading.Semaphore(0)  # one for each of these
        self.may_list = True  # else all that is not there is forbidden, as by S3
        self.key = None  # the only access key that is good
        self.url = serve(type("Handler", (_Handler,), {"server_of_folder": self}))

    def bytes_of(self, suffix):
        return sum(number for path, number in self.bytes.items() if path.endswith(suffix))

    def forget(self):
        self.requests = self.failed = 0
        self.bytes.clear()


class _Handler(Handler):
    disable_nagle_algorithm = True
    wbufsize = -1
    server_of_folder: FolderServer

    def asks_for_another_part(self):
        own = self.server_of_folder
        words = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if not words:
            return False
        begin, end = map(int, words.groups())
        own.ranges.append((self.path, begin, end))
        return own.answered is not None and not any(path == self.path and begin <= last and first <= end for path, first, last in own.answered)

    def do_HEAD(self):
        self.do_GET()

    def do_PUT(self):
        own = self.server_of_folder
        path = self.path.partition("?")[0]
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if own.stalled is not None and path.endswith(own.stalled):
            own.waits.release()
            threading.Event().wait()
        file = own.folder / urllib.parse.unquote(path).lstrip("/")
        if self.headers.get("If-None-Match") == "*" and file.is_file():
            return self.answer(412, b"<Error><Code>PreconditionFailed</Code></Error>")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(body)
        return self.answer(200, ETag='"1"')

    def do_DELETE(self):
        own = self.server_of_folder
        if own.stalled == "":
            own.waits.release()
            threading.Event().wait()
        (own.folder / urllib.parse.unquote(self.path.partition("?")[0]).lstrip("/")).unlink(missing_ok=True)
        return self.answer(204)

    def do_GET(self):
        own = self.server_of_folder
        with own.lock:
            own.requests += 1
            fails = own.failing != 0
            own.failing -= own.failing > 0
            own.failed += fails
        if own.is_gone:
            self.close_connection = True
            self.connection.close()
            return None
        if own.delay_s:
            time.sleep(own.delay_s)
        if own.stalled is not None and self.path.partition("?")[0].endswith(own.stalled) or self.asks_for_another_part():
            own.waits.release()
            threading.Event().wait()
        if fails:
            return self.answer(503, b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>")
        if own.key and f"Credential={own.key}/" not in self.headers.get("Authorization", ""):
            return self.answer(400, b"<Error><Code>ExpiredToken</Code><Message>The provided token has expired.</Message></Error>")
        path, _, query = self.path.partition("?")
        path = urllib.parse.unquote(path)
        if not own.may_list and ("list-type" in query or not (own.folder / path.lstrip("/")).is_file()):
            return self.answer(403, b"<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>")
        if "list-type" in query:
            return self.list(path.strip("/"), dict(urllib.parse.parse_qsl(query)))
        file = own.folder / path.lstrip("/")
        if not file.is_file():
            if not (own.folder / path.split("/")[1]).is_dir():
                return self.answer(404, b"<Error><Code>NoSuchBucket</Code></Error>")
            return self.answer(404, b"<Error><Code>NoSuchKey</Code></Error>")
        with open(file, "rb") as opened:
            status = os.fstat(opened.fileno())
            etag = f'"{status.st_mtime_ns:x}-{status.st_size:x}"'
            if self.headers.get("If-Match", etag) != etag:
                return self.answer(412, b"<Error><Code>PreconditionFailed</Code></Error>")
            asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
            if self.command == "HEAD":
                return self.answer(200, ETag=etag, Content_Length=str(status.st_size))
            first, last = (int(asked[1]), min(int(asked[2]), status.st_size - 1)) if asked else (0, status.st_size - 1)
            if asked and first >= status.st_size:
                return self.answer(416, Content_Range=f"bytes */{status.st_size}")
            opened.seek(first)
            body = opened.read(last - first + 1)
        with own.lock:
            own.bytes[path] += len(body)
        if asked:
            return self.answer(206, body, ETag=etag, Content_Range=f"bytes {first}-{last}/{status.st_size}")
        return self.answer(200, body, ETag=etag)

    def list(self, bucket, query):
        if not (self.server_of_folder.folder / bucket).is_dir():
            return self.answer(404, b"<Error><Code>NoSuchBucket</Code></Error>")
        prefix, top = query.get("prefix", ""), self.server_of_folder.folder / bucket
        objects, folders = [], set()
        for file in sorted(path for path in top.rglob("*") if path.is_file()):
            key = str(file.relative_to(top))
            if key.startswith(prefix):
                rest = key[len(prefix):]
                if "/" in rest and query.get("delimiter"):
                    folders.add(prefix + rest.split("/")[0] + "/")
                else:
                    objects.append(f"<Contents><Key>{xml.sax.saxutils.escape(urllib.parse.quote(key))}</Key><Size>{file.stat().st_size}</Size><ETag>&quot;{file.stat().st_mtime_ns:x}-{file.stat().st_size:x}&quot;</ETag></Contents>")
        common = [f"<CommonPrefixes><Prefix>{urllib.parse.quote(folder)}</Prefix></CommonPrefixes>" for folder in sorted(folders)]
        return self.answer(200, ("<ListBucketResult><EncodingType>url</EncodingType><IsTruncated>false</IsTruncated>" + "".join(objects + common) + "</ListBucketResult>").encode())
