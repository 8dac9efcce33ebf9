"""az:// against a server of our own, which Azure's own client shows to be right; and r2://."""

import json
import os
import pathlib
import subprocess
import sys
import time

sys.path.insert(1, str(pathlib.Path(__file__).parents[1]))
from blob_server import ACCOUNT, KEY, SAS, Container
from bucket_server import Bucket
from servers import FOLDER, KEYS, SERVERS, TOOL, Handler, environment, expect, file_of, serve, tool

NOBODY = {"AZURE_POD_IDENTITY_AUTHORITY_HOST": "http://127.0.0.1:9"}
box = Container(page=3)


def azure(**variables):
    return environment(**{**NOBODY, **variables})


def at(name):
    return f"az://{ACCOUNT}/box/{name}"


by_key = azure(AZURE_STORAGE_CONNECTION_STRING=box.string())
by_sas = azure(AZURE_STORAGE_CONNECTION_STRING=box.string(AccountKey="", SharedAccessSignature=SAS))
endpoint = {"AZURE_STORAGE_CONNECTION_STRING": f"BlobEndpoint={box.url}"}

# Azure's client is content with the server, so its signatures are those that the server checks.
sys.path += map(str, SERVERS.glob("lib/python3*/site-packages"))
try:
    from azure.core import MatchConditions
    from azure.core.exceptions import HttpResponseError
    from azure.storage.blob import BlobBlock, BlobServiceClient
except ImportError:
    print("skipped: the server is not compared with azure-storage-blob, which tools/setup --servers installs")
else:
    theirs = BlobServiceClient.from_connection_string(box.string(), max_single_put_size=1000, max_block_size=400, retry_total=0).get_container_client("box")
    theirs.upload_blob("peer/a b+ü&.ffr", b"0123456789" * 500)
    theirs.upload_blob("peer/small", b"x")
    blob = theirs.get_blob_client("peer/a b+ü&.ffr")
    expect(blob.download_blob(offset=7, length=10, etag=blob.get_blob_properties().etag, match_condition=MatchConditions.IfNotModified).readall() == b"7890123456")
    expect([found.name for found in theirs.list_blobs("peer/")] == ["peer/a b+ü&.ffr", "peer/small"])
    expect([found.name for found in theirs.walk_blobs()] == ["peer/"])
    theirs.get_blob_client("peer/left").stage_block("YQ==", b"never finished")
    for work in (lambda: theirs.upload_blob("peer/small", b"y", overwrite=False), lambda: theirs.get_blob_client("peer/left").commit_block_list([BlobBlock("Yg==")]),
                 lambda: BlobServiceClient(box.url, {"account_name": ACCOUNT, "account_key": "d3Jvbmc="}, retry_total=0).get_container_client("box").upload_blob("x", b"x")):
        try:
            work()
            expect(False, "Azure's client has no error")
        except HttpResponseError as error:
            expect(error.status_code in (400, 403, 409), error)
    expect(set(box.signed) == {"key", None}, box.signed)
    # What it has written is read here, and the reverse.
    tool("get", at("peer/a b+ü&.ffr"), FOLDER / "back", env=by_key)
    expect((FOLDER / "back").read_bytes() == b"0123456789" * 500)
    tool("put", at("peer/ours"), file_of("ours", b"ours"), env=by_key)
    expect(theirs.download_blob("peer/ours").readall() == b"ours")
    print(f"azure-storage-blob agrees, over {len(box.sent)} requests")

small = file_of("small", bytes(range(256)) * 100)
big = file_of("big", os.urandom(40_000_000))
for who, env in (("key", by_key), ("sas", by_sas)):
    box.blobs.clear()
    box.blocks.clear()
    box.signed.clear()
    # Names of all kinds come back as they are, signed and listed, in pages of three.
    names = ["plain.ffr", "a b/ü+=()'!*~@:,;&$.ffr", "a b/100%25.ffr", "a b/deep/er/x", "#?.ffr"]
    for name in names:
        expect(tool("put", at(f"set/{name}"), small, env=env) == "written", name)
        tool("get", at(f"set/{name}"), FOLDER / "back", env=env)
        expect((FOLDER / "back").read_bytes() == small.read_bytes(), name)
    listed = tool("list", at("set"), "--recursive", env=env).splitlines()
    expect(listed == sorted(f"object 25600 {at('set')}/{name}" for name in names), listed)
    here = tool("list", at("set/"), env=env).splitlines()
    expect(here == [f"object 25600 {at('set/#?.ffr')}", f"object 25600 {at('set/plain.ffr')}", f"folder {at('set/a b')}"], here)
    expect(tool("list", at("nothing"), env=env) == "")

    # Ranges, and versions that change; conditions.
    size, version = tool("find", at("set/plain.ffr"), env=env).split()
    tool("range", at("set/plain.ffr"), 250, 20, FOLDER / "part", version, env=env)
    expect((FOLDER / "part").read_bytes() == small.read_bytes()[250:270])
    tool("put", at("set/plain.ffr"), file_of("other", b"other" * 1000), env=env)
    said = tool("range", at("set/plain.ffr"), 250, 20, FOLDER / "part", version, env=env, code=1)
    expect(said.startswith(f"corrupt: {at('set/plain.ffr')}"), said)
    expect(tool("put", at("set/once"), small, "--new", env=env) == "written")
    expect(tool("put", at("set/once"), big, "--new", env=env) == "there already")
    writers = [subprocess.Popen([TOOL, "put", at("set/race"), small, "--new"], env=env, stdout=subprocess.PIPE, text=True) for _ in range(8)]
    expect(sorted(writer.communicate()[0].strip() for writer in writers) == ["there already"] * 7 + ["written"])

    # Blobs in blocks: whole, small, given up, killed, cleaned up.
    tool("upload", at("up load/big+1"), big, env=env)
    expect(box.blobs["up load/big+1"][0] == big.read_bytes() and not box.blocks)
    print(tool("reads", at("up load/big+1"), 110_000, 100, env=env))
    tool("upload", at("up load/small"), small, env=env)
    tool("upload", at("up load/empty"), file_of("empty", b""), env=env)
    expect(len(box.blobs["up load/small"][0]) == 25600 and box.blobs["up load/empty"][0] == b"")
    tool("cut-upload", at("up load/cut"), big, env=env)
    expect("up load/cut" not in box.blobs and not box.blocks, box.blocks.keys())
    tool("killed-upload", at("up load/killed"), big, env=env)
    for _ in range(50):
        if "up load/killed" in box.blocks:
            break
        time.sleep(0.1)
    expect(tool("list", at("up load"), env=env).count("object") == 3)
    expect(tool("uploads", at("up load"), env=env) == at("up load/killed") and tool("uploads", at("set"), env=env) == "")
    expect(tool("uploads", at(""), "--abort", env=env) == at("up load/killed") and not box.blocks and "up load/killed" not in box.blobs)
    tool("rm", at("set/once"), env=env)
    tool("rm", at("set/once"), env=env)
    expect(tool("find", at("set/once"), env=env) == "not there")
    expect(set(box.signed) == {who}, box.signed)

# Folders of accounts that have them are no objects.
box.folders = {"set/a b", "set"}
expect(tool("find", at("set/a b"), env=by_key) == "not there")
expect(len(tool("list", at("set"), "--recursive", env=by_key).splitlines()) == 6)
box.folders = set()

# What passes is repeated.
for status in (500, 503):
    box.fail("GET", r"^set/plain", status, times=2)
    box.fail("PUT", r"^set/again", status, times=2)
tool("range", at("set/plain.ffr"), 0, 10, FOLDER / "part", env=by_key)
expect(tool("put", at("set/again"), small, env=by_key) == "written" and all(fault[3] == 0 for fault in box.faults))

# Other forms of an address, and other places of a key.
variables = azure(**endpoint, AZURE_STORAGE_ACCOUNT=ACCOUNT, AZURE_STORAGE_KEY=KEY + "\n")
for address in (f"abfss://box@{ACCOUNT}.dfs.core.windows.net/set/plain.ffr", f"ABFS://box@{ACCOUNT}.dfs.core.windows.net/set/plain.ffr", f"AZ://{ACCOUNT}/box/set/plain.ffr"):
    expect(tool("find", address, env=variables).startswith("5000 "), address)
expect(tool("find", at("set/plain.ffr"), env=azure(**endpoint, AZURE_STORAGE_SAS_TOKEN="?" + SAS)).startswith("5000 "))
box.is_public = True
expect(tool("find", at("set/plain.ffr"), env=azure(**endpoint, AZURE_NO_SIGN_REQUEST="yes")).startswith("5000 "))
box.is_public = False

# Identities: of an app and of a machine; a token that the store refuses is asked for anew.
asked = []


class Identity(Handler):
    def do_GET(self):
        asked.append(self.path)
        if self.headers.get("X-IDENTITY-HEADER") != "secret/of an app" and self.headers.get("Metadata") != "true":
            return self.answer(401)
        token = "secret/of+token" if len(asked) % 2 == 0 else "one that has ended"
        return self.answer(200, json.dumps({"access_token": token, "expires_on": str(int(time.time()) + 3600), "token_type": "Bearer"}).encode())


identity = serve(Identity)
box.token = "secret/of+token"
for variables, path in (({"IDENTITY_ENDPOINT": identity + "/msi/token", "IDENTITY_HEADER": "secret/of an app"}, "/msi/token?api-version=2019-08-01"),
                        ({"AZURE_POD_IDENTITY_AUTHORITY_HOST": identity}, "/metadata/identity/oauth2/token?api-version=2018-02-01")):
    asked.clear()
    expect(tool("find", at("set/plain.ffr"), env=azure(**endpoint, AZURE_CLIENT_ID="me", **variables)).startswith("5000 "))
    expect(asked == [f"{path}&resource=https%3A%2F%2Fstorage.azure.com%2F&client_id=me"] * 2, asked)

# What goes wrong is said.
cases = [
    (("get", at("none"), FOLDER / "x"), by_key, f"not_found: {at('none')}: this address cannot be read, because the object does not exist"),
    (("list", f"az://{ACCOUNT}/no-such-box/x"), by_key, f"not_found: az://{ACCOUNT}/no-such-box/x: this address cannot be listed, because there is no container 'no-such-box' at 127.0.0.1"),
    (("find", f"az://{ACCOUNT}/no-such-box/x"), azure(AZURE_STORAGE_CONNECTION_STRING=box.string(AccountKey="d3Jvbmc=")), f"invalid_argument: az://{ACCOUNT}/no-such-box/x: this address cannot be examined, because the keys of AZURE_STORAGE_CONNECTION_STRING are wrong (AuthenticationFailed"),
    (("find", at("x")), azure(**endpoint, AZURE_STORAGE_SAS_TOKEN="sv=1&sig=secret%2Fof"), f"invalid_argument: {at('x')}: this address cannot be examined, because the keys of AZURE_STORAGE_SAS_TOKEN are wrong"),
    (("find", at("x")), azure(**endpoint), f"invalid_argument: {at('x')}: has no Azure credentials: AZURE_STORAGE_KEY is not set, AZURE_STORAGE_SAS_TOKEN is not set, IDENTITY_ENDPOINT and IDENTITY_HEADER are not set, the identity at 127.0.0.1:9 gives no token"),
    (("find", at("x")), azure(**endpoint, AZURE_STORAGE_ACCOUNT="other", AZURE_STORAGE_KEY=KEY), f"invalid_argument: {at('x')}: has no Azure credentials: AZURE_STORAGE_KEY belongs to the account other"),
    (("find", at("x")), azure(AZURE_STORAGE_KEY="secret/of none"), "invalid_argument: the key in AZURE_STORAGE_KEY is not valid base64 text"),
    (("find", at("x")), azure(AZURE_STORAGE_CONNECTION_STRING="secret/of none"), "invalid_argument: a part of AZURE_STORAGE_CONNECTION_STRING lacks '='"),
    (("find", at("x?sv=1&sig=secret%2Fof")), by_key, f"invalid_argument: {at('x?...')}: the address has a signature, so set AZURE_STORAGE_SAS_TOKEN instead"),
    (("find", f"az://{ACCOUNT}"), by_key, f"invalid_argument: az://{ACCOUNT}: the address has no container; write the address as az://ACCOUNT/CONTAINER/PATH"),
    (("put", at("x"), small), azure(**endpoint, AZURE_NO_SIGN_REQUEST="1"), f"invalid_argument: {at('x')}: this address cannot be written, because access is denied to requests that are not signed (AuthenticationFailed: as the test wants); give credentials, and unset AZURE_NO_SIGN_REQUEST"),
]

# R2 is S3 elsewhere, and never AWS.
bucket = Bucket()
r2 = environment(**KEYS, R2_ENDPOINT_URL=bucket.url, AWS_ENDPOINT_URL="http://127.0.0.1:9")
expect(tool("put", "R2://bucket/x", small, env=r2) == "written" and tool("list", "r2://bucket/", env=r2) == "object 25600 r2://bucket/x")
expect(tool("find", "s3a://bucket/x", env=environment(**KEYS, AWS_ENDPOINT_URL=bucket.url)).startswith("25600 "))
cases.append((("find", "r2://bucket/x"), environment(**KEYS), "invalid_argument: r2://bucket: neither an R2 endpoint nor an R2 account is given; set R2_ACCOUNT_ID"))
for arguments, variables, message in cases:
    said = tool(*arguments, env=variables, code=1)
    print(said)
    expect(said.startswith(message), said)
