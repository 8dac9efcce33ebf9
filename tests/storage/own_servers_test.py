"""Stores against servers of our own: web servers good and bad, a hub of data sets whose signed addresses end, a bucket whose credentials end."""

import json
import re
import threading

import servers
from servers import FOLDER, KEYS, environment, expect, file_of, serve, tool

CONTENT = bytes(range(256)) * 1000
lock = threading.Lock()
problems = []


class Handler(servers.Handler):
    def give(self, content, etag='"v1"', knows_ranges=True):
        """`content`, or the range of it that is asked for."""
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if not asked or not knows_ranges:
            return self.answer(200, content, ETag=etag)
        first, last = int(asked[1]), min(int(asked[2]), len(content) - 1)
        if first >= len(content):
            return self.answer(416, b"", Content_Range=f"bytes */{len(content)}")
        return self.answer(206, content[first:last + 1], ETag=etag, Content_Range=f"bytes {first}-{last}/{len(content)}")

    def do_HEAD(self):
        self.do_GET()


class Web(Handler):
    def do_GET(self):
        if self.path in ("/set/x.ffr", "/a%20b/x"):
            return self.give(CONTENT)
        if self.path == "/signed?for=GET&sig=1%2F2":
            return self.answer(403) if self.command == "HEAD" else self.give(CONTENT)
        if self.path == "/plain":
            return self.give(CONTENT, knows_ranges=False)
        if self.path == "/empty":
            return self.answer(405) if self.command == "HEAD" else self.give(b"")
        if self.path == "/moved":
            return self.answer(302, Location="/set/x.ffr")
        return self.answer(404)


web = serve(Web)
env = environment()
for path in ("/set/x.ffr", "/a b/x", "/signed?for=GET&sig=1%2F2", "/moved"):
    expect(tool("find", web + path, env=env) == f'{len(CONTENT)} "v1"', path)
    tool("range", web + path, 1000, 500, FOLDER / "part", '"v1"', env=env)
    expect((FOLDER / "part").read_bytes() == CONTENT[1000:1500], path)
    tool("get", web + path, FOLDER / "back", env=env)
    expect((FOLDER / "back").read_bytes() == CONTENT, path)
expect(tool("find", web + "/empty", env=env).startswith("0"))
expect(tool("find", web + "/none", env=env) == "not there")
for arguments, message in {
    ("get", web + "/none?sig=secret", FOLDER / "back"): f"not_found: {web}/none?...: this address cannot be read: ",
    ("range", web + "/plain", 10, 10, FOLDER / "part"): f"unsupported: {web}/plain: ffkit asked the server for bytes 10 to 19",
    ("range", web + "/set/x.ffr", len(CONTENT) - 5, 10, FOLDER / "part"): f"corrupt: {web}/set/x.ffr: ",
    ("range", web + "/set/x.ffr", 0, 10, FOLDER / "part", '"v0"'): f"corrupt: {web}/set/x.ffr: ",
    ("list", web + "/set"): f"unsupported: {web}/set: a web server cannot be listed",
    ("put", web + "/set", file_of("x", b"x")): f"unsupported: {web}/set: a web server cannot be written to",
    ("get", "http://127.0.0.1:1/x", FOLDER / "back"): "io: http://127.0.0.1:1/x: ",
}.items():
    said = tool(*arguments, env=env, code=1)
    print(said)
    expect(said.startswith(message), said)


# The hub knows where a file is; its signed address holds for five requests.
resolves = 0
left = {}


class Cdn(Handler):
    def do_GET(self):
        if self.headers.get("Authorization"):
            problems.append("the token went to another host")
        with lock:
            left[self.path] = left.get(self.path, 0) - 1
            is_over = left[self.path] < 0
        if is_over:
            return self.answer(403, b"<Error><Code>AccessDenied</Code><Message>Request has expired</Message></Error>")
        return self.give(CONTENT, etag='"of-the-cdn"')


cdn = serve(Cdn)


class Hub(Handler):
    def do_GET(self):
        global resolves
        if self.path.startswith("/datasets/o/gated/"):
            return self.answer(403, X_Error_Code="GatedRepo")
        if self.headers.get("Authorization") != "Bearer hf_secret":
            return self.answer(401, X_Error_Code="RepoNotFound")
        if self.path == "/datasets/o/n/resolve/refs%2Fpr%2F1/train/a%20b.ffr":
            with lock:
                resolves += 1
                address = f"/file?sig={resolves}"
                left[address] = 5
            return self.answer(302, Location=cdn + address, X_Linked_Size=str(len(CONTENT)), X_Linked_ETag='"sha"', ETag='"commit"')
        if self.path == "/datasets/o/n/resolve/main/manifest.json":
            return self.answer(307, Location="/api/resolve-cache/datasets/o/n/1/manifest.json")
        if self.path == "/api/resolve-cache/datasets/o/n/1/manifest.json":
            return self.give(b'{"small": 1}', etag='"git"')
        if self.path.startswith("/datasets/o/n/resolve/none/"):
            return self.answer(404, X_Error_Code="RevisionNotFound")
        if self.path.startswith("/datasets/o/n/resolve/"):
            return self.answer(404, X_Error_Code="EntryNotFound")
        if self.path == "/api/datasets/o/n/tree/main/train?recursive=true":
            page = [{"type": "directory", "path": "train/d"}, {"type": "file", "path": "train/b c", "size": 5, "oid": "git"}]
            return self.answer(200, json.dumps(page).encode(), Link=f'<{hub}/api/datasets/o/n/tree/main/train?recursive=true&cursor=2>; rel="next"')
        if self.path == "/api/datasets/o/n/tree/main/train?recursive=true&cursor=2":
            return self.answer(200, json.dumps([{"type": "file", "path": "train/a", "size": 7, "oid": "git", "lfs": {"oid": "sha"}}]).encode())
        if self.path == "/api/datasets/o/n/tree/main":
            return self.answer(200, json.dumps([{"type": "directory", "path": "train"}, {"type": "file", "path": "x", "size": 1, "oid": "g"}]).encode())
        return self.answer(404, X_Error_Code="EntryNotFound")


hub = serve(Hub)
env = environment(HF_ENDPOINT=hub, HF_TOKEN="hf_secret")
big = "hf://datasets/o/n@refs/pr/1/train/a b.ffr"
expect(tool("find", big, env=env) == f'{len(CONTENT)} "sha"')
tool("range", big, 300, 300, FOLDER / "part", '"sha"', env=env)
expect((FOLDER / "part").read_bytes() == CONTENT[300:600])
message = tool("range", big, 300, 300, FOLDER / "part", '"other"', env=env, code=1)
expect(message.startswith(f"corrupt: {big}: the object was changed"), message)
before = resolves
print(tool("reads", big, 1000, 13, env=env))
expect(2 <= resolves - before <= 8, f"{resolves - before} resolves")
expect(tool("find", "hf://datasets/o/n/manifest.json", env=env) == '12 "git"')
tool("get", "hf://datasets/o/n/manifest.json", FOLDER / "back", env=env)
expect((FOLDER / "back").read_bytes() == b'{"small": 1}')
tool("range", "hf://datasets/o/n/manifest.json", 1, 5, FOLDER / "part", '"git"', env=env)
expect((FOLDER / "part").read_bytes() == b'"smal')
expect(tool("find", "hf://datasets/o/n/none", env=env) == "not there")
listed = tool("list", "hf://datasets/o/n/train", "--recursive", env=env).splitlines()
expect(listed == ["object 7 hf://datasets/o/n/train/a", "object 5 hf://datasets/o/n/train/b c"], listed)
expect(tool("list", "hf://datasets/o/n", env=env).splitlines() == ["object 1 hf://datasets/o/n/x", "folder hf://datasets/o/n/train"])
expect(tool("list", "hf://datasets/o/n/none", env=env) == "")
for arguments, variables, message in (
    (("get", "hf://datasets/o/n/none", FOLDER / "back"), env, "not_found: hf://datasets/o/n/none: "),
    (("find", "hf://datasets/o/n@none/x"), env, "not_found: hf://datasets/o/n@none/x: this address cannot be found, because the data set has no such revision"),
    (("find", "hf://datasets/o/n/manifest.json"), environment(HF_ENDPOINT=hub), "not_found: hf://datasets/o/n/manifest.json: this address cannot be found, because there is no such data set, or the data set is private"),
    (("find", "hf://datasets/o/gated/x"), env, "invalid_argument: hf://datasets/o/gated/x: this address cannot be found, because the hub answers with GatedRepo; ask for access"),
    (("put", "hf://datasets/o/n/x", FOLDER / "x"), env, "unsupported: hf://datasets/o/n/x: "),
):
    said = tool(*arguments, env=variables, code=1)
    print(said)
    expect(said.startswith(message), said)
expect(not problems, problems)


# Keys of a container, of which each holds for a second by the store's clock.
keys = 1
given = []


class Container(Handler):
    def do_GET(self):
        if self.headers.get("Authorization") != "container-token":
            return self.answer(401)
        given.append(keys)
        return self.answer(200, json.dumps({"AccessKeyId": f"K{keys}", "SecretAccessKey": "secret/of+container", "Token": "T", "Expiration": "2099-01-01T00:00:00Z"}).encode())


class Bucket(Handler):
    def do_GET(self):
        if f"Credential=K{keys}/" not in self.headers.get("Authorization", ""):
            return self.answer(400, b"<Error><Code>ExpiredToken</Code><Message>The provided token has expired.</Message></Error>")
        return self.give(CONTENT)


def change_keys():
    global keys
    keys += 1
    timer = threading.Timer(1, change_keys)
    timer.daemon = True
    timer.start()


container, bucket = serve(Container), serve(Bucket)
change_keys()
env = environment(AWS_ENDPOINT_URL=bucket, AWS_CONTAINER_CREDENTIALS_FULL_URI=container + "/keys", AWS_CONTAINER_AUTHORIZATION_TOKEN="container-token")
print(tool("each", "s3://bucket/x", 3.5, env=env))
expect(3 <= len(given) <= 6 and given == sorted(set(given)), given)

# A child of fork() reads on its own, while its parent reads. ThreadSanitizer wants to be asked for
# that.
print(tool("fork", "s3://bucket/x", env={**env, "TSAN_OPTIONS": env.get("TSAN_OPTIONS", "") + " die_after_fork=0"}))
