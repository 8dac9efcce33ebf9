"""A container of Azure's Blob Storage in memory, as far as ffkit asks it. It checks signatures by code of its own, which azure_test.py compares with Azure's client."""

import base64
import collections
import hmac
import re
import threading
import urllib.parse
import xml.etree.ElementTree
import xml.sax.saxutils

from servers import Handler, serve

ACCOUNT = "ffkitaccount"
KEY = base64.b64encode(b"secret/of an account, 64 bytes".ljust(64, b"-")).decode()
SAS = "sv=2020-12-06&sr=c&sp=rwdl&se=2099-01-01T00%3A00%3A00Z&sig=secret%2Fof%2Bsas%3D"


class Container:
    """`url` is the endpoint of the account, in whose path it is; there is the one container "box"."""

    def __init__(self, page=1000):
        self.lock = threading.RLock()
        self.blobs = {}    # content and ETag, by name
        self.blocks = {}   # content by block, by name
        self.page = page
        self.sent = []     # method, name and query, in order
        self.signed = collections.Counter()  # by how requests were signed
        self.faults = []   # [method, pattern of name and query, status, how often]
        self.folders = set()  # names of folders, of an account that has them
        self.is_public = False
        self.token = None
        self.number = 0
        self.url = serve(type("Handler", (_Handler,), {"own": self})) + "/" + ACCOUNT

    def fail(self, method, pattern, status, times=-1):
        self.faults.append([method, re.compile(pattern), status, times])

    def names(self, prefix=""):
        with self.lock:
            return sorted(name for name in self.blobs if name.startswith(prefix))

    def string(self, **more):
        """A connection string."""
        return ";".join(f"{name}={value}" for name, value in {"AccountName": ACCOUNT, "AccountKey": KEY, "BlobEndpoint": self.url, **more}.items() if value)


def text_to_sign(method, headers, path, query):
    """By Microsoft's page on Shared Key."""
    lines = [method]
    for name in ("Content-Encoding", "Content-Language", "Content-Length", "Content-MD5", "Content-Type", "Date", "If-Modified-Since", "If-Match", "If-None-Match", "If-Unmodified-Since", "Range"):
        value = headers.get(name, "")
        lines.append("" if (name, value) == ("Content-Length", "0") or (name == "Date" and "x-ms-date" in headers) else value)
    own = sorted((name.lower(), value.strip()) for name, value in headers.items() if name.lower().startswith("x-ms-"))
    lines += [f"{name}:{value}" for name, value in own]
    lines.append(f"/{ACCOUNT}{path}")
    asked = collections.defaultdict(list)
    for name, value in urllib.parse.parse_qsl(query, keep_blank_values=True):
        asked[name.lower()].append(value)
    lines += [f"{name}:{','.join(sorted(values))}" for name, values in sorted(asked.items())]
    return "\n".join(lines)


class _Handler(Handler):
    disable_nagle_algorithm = True
    wbufsize = -1
    own: Container

    def refuse(self, status, code):
        self.answer(status, f"<?xml version='1.0' encoding='utf-8'?><Error><Code>{code}</Code><Message>as the test wants</Message></Error>".encode(), x_ms_error_code=code)

    def how_signed(self, path, query):
        """Nothing: by nobody who may."""
        authorization = self.headers.get("Authorization", "")
        if authorization.startswith("SharedKey "):
            text = text_to_sign(self.command, self.headers, path, query)
            digest = base64.b64encode(hmac.digest(base64.b64decode(KEY), text.encode(), "sha256")).decode()
            return "key" if authorization == f"SharedKey {ACCOUNT}:{digest}" else None
        if authorization.startswith("Bearer "):
            return "token" if authorization == f"Bearer {self.own.token}" else None
        if "sig=" in query:
            return "sas" if SAS in query else None
        return "nobody" if self.own.is_public else None

    def handle_any(self):
        own = self.own
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        path, _, query = self.path.partition("?")
        account, _, name = urllib.parse.unquote(path).lstrip("/").partition("/")
        container, _, name = name.partition("/")
        asked = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        with own.lock:
            own.sent.append((self.command, name, query))
            for fault in own.faults:
                if fault[0] == self.command and fault[1].search(f"{name}?{query}") and fault[3] != 0:
                    fault[3] -= 1
                    return self.refuse(fault[2], {503: "ServerBusy", 500: "InternalError"}[fault[2]])
            signed = self.how_signed(path, query)
            own.signed[signed] += 1
            if not signed:
                is_token = self.headers.get("Authorization", "").startswith("Bearer ")
                return self.refuse(401, "InvalidAuthenticationInfo") if is_token else self.refuse(403, "AuthenticationFailed")
            if account != ACCOUNT or container != "box":
                return self.refuse(404, "ContainerNotFound")
            if "x-ms-version" not in self.headers:
                return self.refuse(400, "MissingRequiredHeader")
            getattr(self, f"{self.command.lower()}_blob")(name, asked, body)

    do_GET = do_HEAD = do_PUT = do_DELETE = handle_any

    def write(self, name, content):
        self.own.number += 1
        self.own.blocks.pop(name, None)
        self.own.blobs[name] = (content, f'"0x8D{self.own.number:08X}"')
        self.answer(201, ETag=self.own.blobs[name][1])

    def put_blob(self, name, asked, body):
        own = self.own
        if asked.get("comp") == "block":
            blocks = own.blocks.setdefault(name, {})
            if len({len(block) for block in [*blocks, asked["blockid"]]}) > 1:
                return self.refuse(400, "InvalidBlobOrBlock")
            blocks[asked["blockid"]] = body
            return self.answer(201)
        if asked.get("comp") == "blocklist":
            listed = [block.text for block in xml.etree.ElementTree.fromstring(body)]
            if not set(listed) <= set(own.blocks.get(name, {})):
                return self.refuse(400, "InvalidBlockList")
            return self.write(name, b"".join(own.blocks[name][block] for block in listed))
        if self.headers.get("x-ms-blob-type") != "BlockBlob":
            return self.refuse(400, "MissingRequiredHeader")
        if self.headers.get("If-None-Match") == "*" and name in own.blobs:
            return self.refuse(409, "BlobAlreadyExists")
        return self.write(name, body)

    def delete_blob(self, name, asked, body):
        if name not in self.own.blobs:
            return self.refuse(404, "BlobNotFound")
        if self.headers.get("If-Match", self.own.blobs[name][1]) != self.own.blobs[name][1]:
            return self.refuse(412, "ConditionNotMet")
        del self.own.blobs[name]
        return self.answer(202)

    def head_blob(self, name, asked, body):
        self.get_blob(name, asked, body)

    def get_blob(self, name, asked, body):
        own = self.own
        if asked.get("comp") == "list":
            return self.list(asked)
        if name in own.folders:
            return self.answer(200, x_ms_resource_type="directory")
        if name not in own.blobs:
            return self.refuse(404, "BlobNotFound")
        content, etag = own.blobs[name]
        if self.headers.get("If-Match", etag) != etag:
            return self.refuse(412, "ConditionNotMet")
        wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", self.headers.get("x-ms-range", "")))
        if not wanted or self.command == "HEAD":
            return self.answer(200, content, ETag=etag, x_ms_blob_type="BlockBlob")
        first, last = int(wanted[1]), min(int(wanted[2]), len(content) - 1)
        if first >= len(content):
            return self.refuse(416, "InvalidRange")
        return self.answer(206, content[first:last + 1], ETag=etag, Content_Range=f"bytes {first}-{last}/{len(content)}", x_ms_blob_type="BlockBlob")

    def list(self, asked):
        """In pages, which folders take room in, too."""
        own, prefix = self.own, asked.get("prefix", "")
        names = {*own.blobs, *own.folders, *(own.blocks if "uncommittedblobs" in asked.get("include", "") else ())}
        found = {}
        for name in sorted(name for name in names if name.startswith(prefix)):
            rest = name[len(prefix):]
            is_below = "/" in rest and asked.get("delimiter")
            found[prefix + rest.split("/")[0] + "/" if is_below else name] = bool(is_below)
        page = [name for name in sorted(found) if name >= asked.get("marker", "")]
        text = ""
        for name in page[:own.page]:
            shown = f"<Name>{xml.sax.saxutils.escape(name)}</Name>"
            if found[name]:
                text += f"<BlobPrefix>{shown}</BlobPrefix>"
            elif name in own.folders:
                text += f"<Blob>{shown}<Properties><Content-Length>0</Content-Length><Etag>0x1</Etag><ResourceType>directory</ResourceType></Properties></Blob>"
            elif name in own.blobs:
                content, etag = own.blobs[name]
                text += f"<Blob>{shown}<Properties><Content-Length>{len(content)}</Content-Length><Etag>{etag.strip(chr(34))}</Etag><BlobType>BlockBlob</BlobType></Properties></Blob>"
            else:
                text += f"<Blob>{shown}<Properties /></Blob>"
        marker = page[own.page] if len(page) > own.page else ""
        self.answer(200, f"\ufeff<?xml version=\"1.0\" encoding=\"utf-8\"?><EnumerationResults><Blobs>{text}</Blobs><NextMarker>{xml.sax.saxutils.escape(marker)}</NextMarker></EnumerationResults>".encode(), Content_Type="application/xml")
