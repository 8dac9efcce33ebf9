"""A bucket in memory that is written to, that counts what is asked of it, and that can be told to fail. It takes any signature of its key."""

import collections
import hashlib
import re
import threading
import time
import urllib.parse
import xml.sax.saxutils

from servers import KEYS, Handler, serve


class Bucket:
    """`url` is an endpoint of S3 with the one bucket "bucket"."""

    def __init__(self, knows_conditions=True):
        self.lock = threading.RLock()
        self.objects = {}                    # by key
        self.uploads = {}                    # parts by number, by id
        self.counts = collections.Counter()  # of requests, by method
        self.sent = []                       # method, key and query, in order
        self.faults = []                     # [method, pattern of key and query, action, how often]
        self.knows_conditions = knows_conditions
        self.key = KEYS["AWS_ACCESS_KEY_ID"]
        self.delay_s = 0
        self.on_write = None                 # called with key, headers and body of what begins or writes an object; a code that it returns is a refusal
        self.on_request = None               # called with method, key and query before the answer
        self.url = serve(type("Handler", (_Handler,), {"bucket": self}))

    def fail(self, method, pattern, action, times=-1):
        """`action`: a status such as 503, or "cut": the connection is closed without an answer; "lost": done, but the answer is not sent."""
        with self.lock:
            self.faults.append([method, re.compile(pattern), action, times])

    def heal(self):
        with self.lock:
            self.faults.clear()

    def names(self, prefix=""):
        with self.lock:
            return sorted(key for key in self.objects if key.startswith(prefix))

    def bytes_below(self, prefix):
        with self.lock:
            return {key[len(prefix):]: content for key, content in self.objects.items() if key.startswith(prefix)}


class _Handler(Handler):
    disable_nagle_algorithm = True
    wbufsize = -1
    bucket: Bucket

    def refuse(self, status, code):
        self.answer(status, f"<Error><Code>{code}</Code><Message>as the test wants</Message></Error>".encode())

    def handle_any(self):
        own = self.bucket
        num_bytes = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(num_bytes)
        if len(body) < num_bytes:  # the client is gone: no store keeps a part of an object
            self.close_connection = True
            return
        path, _, query = self.path.partition("?")
        name, _, key = urllib.parse.unquote(path).lstrip("/").partition("/")
        asked = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        with own.lock:
            own.counts[self.command] += 1
            own.sent.append((self.command, key, query))
            action = None
            for fault in own.faults:
                if fault[0] == self.command and fault[1].search(f"{key}?{query}") and fault[3] != 0:
                    fault[3] -= 1
                    action = fault[2]
                    break
        if own.on_request:
            own.on_request(self.command, key, query)
        if own.delay_s:
            time.sleep(own.delay_s)
        if action == "cut":
            self.close_connection = True
            return self.connection.close()
        if isinstance(action, int):
            return self.refuse(action, {503: "SlowDown", 403: "AccessDenied", 500: "InternalError"}[action])
        if f"Credential={own.key}/" not in self.headers.get("Authorization", ""):
            return self.refuse(403, "InvalidAccessKeyId")
        if name != "bucket":
            return self.refuse(404, "NoSuchBucket")
        if action == "lost":
            self.answer = lambda *arguments, **headers: (setattr(self, "close_connection", True), self.connection.close())
        with own.lock:
            getattr(self, f"{self.command.lower()}_object")(key, asked, body)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = handle_any

    def put_object(self, key, asked, body):
        own = self.bucket
        etag = '"' + hashlib.md5(body).hexdigest() + '"'
        if own.on_write and (code := own.on_write(f"{key}?{self.path.partition('?')[2]}", self.headers, body)):
            return self.refuse(403, code)
        if "uploadId" in asked:
            if asked["uploadId"] not in own.uploads:
                return self.refuse(404, "NoSuchUpload")
            own.uploads[asked["uploadId"]][int(asked["partNumber"])] = body
        elif self.headers.get("If-None-Match") == "*" and key in own.objects and own.knows_conditions:
            return self.refuse(412, "PreconditionFailed")
        else:
            own.objects[key] = body
        return self.answer(200, ETag=etag)

    def post_object(self, key, asked, body):
        own = self.bucket
        if "uploads" in asked:
            if own.on_write and (code := own.on_write(key, self.headers, body)):
                return self.refuse(403, code)
            number = f"upload-{len(own.sent)}"
            own.uploads[number] = {}
            return self.answer(200, f"<InitiateMultipartUploadResult><UploadId>{number}</UploadId></InitiateMultipartUploadResult>".encode())
        if asked.get("uploadId") not in own.uploads:
            return self.refuse(404, "NoSuchUpload")
        parts = own.uploads.pop(asked["uploadId"])
        own.objects[key] = b"".join(parts[number] for number in sorted(parts))
        return self.answer(200, b"<CompleteMultipartUploadResult></CompleteMultipartUploadResult>")

    def delete_object(self, key, asked, body):
        own = self.bucket
        own.uploads.pop(asked["uploadId"], None) if "uploadId" in asked else own.objects.pop(key, None)
        self.answer(204)

    def head_object(self, key, asked, body):
        self.get_object(key, asked, body)

    def get_object(self, key, asked, body):
        own = self.bucket
        if "list-type" in asked:
            return self.list(asked)
        if key not in own.objects:
            return self.refuse(404, "NoSuchKey")
        content = own.objects[key]
        etag = '"' + hashlib.md5(content).hexdigest() + '"'
        if self.headers.get("If-Match", etag) != etag:
            return self.refuse(412, "PreconditionFailed")
        wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if not wanted or self.command == "HEAD":
            return self.answer(200, content, ETag=etag)
        first, last = int(wanted[1]), min(int(wanted[2]), len(content) - 1)
        if first >= len(content):
            return self.answer(416, Content_Range=f"bytes */{len(content)}")
        return self.answer(206, content[first:last + 1], ETag=etag, Content_Range=f"bytes {first}-{last}/{len(content)}")

    def list(self, asked):
        prefix, objects, folders = asked.get("prefix", ""), [], set()
        for key in self.bucket.names(prefix):
            rest = key[len(prefix):]
            if "/" in rest and asked.get("delimiter"):
                folders.add(prefix + rest.split("/")[0] + "/")
            else:
                objects.append(f"<Contents><Key>{xml.sax.saxutils.escape(urllib.parse.quote(key))}</Key><Size>{len(self.bucket.objects[key])}</Size><ETag>\"{hashlib.md5(self.bucket.objects[key]).hexdigest()}\"</ETag></Contents>")
        common = [f"<CommonPrefixes><Prefix>{urllib.parse.quote(folder)}</Prefix></CommonPrefixes>" for folder in sorted(folders)]
        return self.answer(200, ("<ListBucketResult><IsTruncated>false</IsTruncated>" + "".join(objects + common) + "</ListBucketResult>").encode())
