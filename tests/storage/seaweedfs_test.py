"""S3Store against SeaweedFS, which checks signatures and conditions."""

import concurrent.futures
import json
import os
import subprocess
import urllib.request

from servers import FOLDER, KEYS, TOOL, environment, expect, file_of, free_ports, installed, start, tool

weed = installed("weed")
master, volume, filer, s3 = free_ports(4)
config = file_of("s3.json", json.dumps({"identities": [{"name": "tests", "credentials": [{"accessKey": KEYS["AWS_ACCESS_KEY_ID"], "secretKey": KEYS["AWS_SECRET_ACCESS_KEY"]}],
                                                         "actions": ["Admin", "Read", "Write", "List", "Tagging"]}]}).encode())
(FOLDER / "data").mkdir()
start([weed, "server", "-s3", f"-dir={FOLDER / 'data'}", "-ip=127.0.0.1", f"-master.port={master}", f"-volume.port={volume}", f"-filer.port={filer}", f"-s3.port={s3}",
       f"-s3.config={config}", "-volume.max=20", "-master.volumeSizeLimitMB=64", "-s3.port.iceberg=0", "-s3.port.lance=0"], s3, env={**os.environ, "GOMEMLIMIT": "300MiB"})
start_url = f"http://127.0.0.1:{s3}"
env = environment(AWS_ENDPOINT_URL_S3=start_url, **KEYS)


def make_bucket(name):
    """The tool makes no buckets; SeaweedFS's shell does."""
    done = subprocess.run([weed, "shell", f"-master=127.0.0.1:{master}", f"-filer=127.0.0.1:{filer}"], input=f"s3.bucket.create -name {name}\n", text=True, capture_output=True, timeout=60)
    expect(done.returncode == 0, done.stdout + done.stderr)


make_bucket("bucket")

# Names of all kinds come back as they are, signed and listed.
small = file_of("small", bytes(range(256)) * 100)
names = ["plain.ffr", "a b/ü+=()'!*~@:,;&$.ffr", "a b/100%25.ffr", "a b/deep/er/x", "#?.ffr"]
for name in names:
    expect(tool("put", f"s3://bucket/set/{name}", small, env=env) == "written", name)
    tool("get", f"s3://bucket/set/{name}", FOLDER / "back", env=env)
    expect((FOLDER / "back").read_bytes() == small.read_bytes(), name)
listed = tool("list", "s3://bucket/set", "--recursive", env=env).splitlines()
expect(listed == sorted(f"object 25600 s3://bucket/set/{name}" for name in names), listed)
here = tool("list", "s3://bucket/set/", env=env).splitlines()
expect(here == ["object 25600 s3://bucket/set/#?.ffr", "object 25600 s3://bucket/set/plain.ffr", "folder s3://bucket/set/a b"], here)
expect(tool("list", "s3://bucket/nothing", env=env) == "")

# Ranges, and versions that change.
size, version = tool("find", "s3://bucket/set/plain.ffr", env=env).split()
expect(size == "25600" and version.startswith('"'), version)
tool("range", "s3://bucket/set/plain.ffr", 250, 20, FOLDER / "part", version, env=env)
expect((FOLDER / "part").read_bytes() == small.read_bytes()[250:270])
message = tool("range", "s3://bucket/set/plain.ffr", 25590, 20, FOLDER / "part", env=env, code=1)
expect(message.startswith("corrupt: "), message)
file_of("other", b"other" * 1000)
tool("put", "s3://bucket/set/plain.ffr", FOLDER / "other", env=env)
message = tool("range", "s3://bucket/set/plain.ffr", 250, 20, FOLDER / "part", version, env=env, code=1)
expect(message.startswith("corrupt: s3://bucket/set/plain.ffr"), message)

# One of several writers.
expect(tool("put", "s3://bucket/set/once", small, "--new", env=env) == "written")
expect(tool("put", "s3://bucket/set/once", FOLDER / "other", "--new", env=env) == "there already")
expect(tool("find", "s3://bucket/set/once", env=env).startswith("25600 "))
writers = [subprocess.Popen([TOOL, "put", "s3://bucket/set/race", small, "--new"], env=env, stdout=subprocess.PIPE, text=True) for _ in range(8)]
outcomes = [writer.communicate()[0].strip() for writer in writers]
expect(sorted(outcomes) == ["there already"] * 7 + ["written"], outcomes)

# Uploads in parts: whole ones, a small one, and one that is never finished.
big = file_of("big", os.urandom(50_000_000))
tool("upload", "s3://bucket/up load/big+1", big, env=env)
tool("get", "s3://bucket/up load/big+1", FOLDER / "back", env=env)
expect((FOLDER / "back").read_bytes() == big.read_bytes())
print(tool("reads", "s3://bucket/up load/big+1", 110_000, 300, env=env))
print(tool("reads", "s3://bucket/up load/big+1", 8 << 20, 30, env=env))
tool("upload", "s3://bucket/up load/small", small, env=env)
expect(tool("find", "s3://bucket/up load/small", env=env).startswith("25600 "))
tool("upload", "s3://bucket/up load/empty", file_of("empty", b""), env=env)
expect(tool("find", "s3://bucket/up load/empty", env=env).startswith("0 "))
tool("cut-upload", "s3://bucket/up load/cut", big, env=env)
expect(tool("find", "s3://bucket/up load/cut", env=env) == "not there")

# More than a page: SeaweedFS gives 1,000 keys at a time.
def fill(i):
    request = urllib.request.Request(f"http://127.0.0.1:{filer}/buckets/bucket/many/{i % 3}/x%20{i:05}", data=b"x", method="PUT")
    urllib.request.urlopen(request, timeout=20).read()


with concurrent.futures.ThreadPoolExecutor(8) as pool:
    list(pool.map(fill, range(2345)))
listed = tool("list", "s3://bucket/many", "--recursive", env=env).splitlines()
expect(len(listed) == 2345 and listed == sorted(f"object 1 s3://bucket/many/{i % 3}/x {i:05}" for i in range(2345)), f"{len(listed)} {listed[:3]}")
expect(tool("list", "s3://bucket/many", env=env).splitlines() == [f"folder s3://bucket/many/{i}" for i in range(3)])

tool("rm", "s3://bucket/set/once", env=env)
tool("rm", "s3://bucket/set/once", env=env)
expect(tool("find", "s3://bucket/set/once", env=env) == "not there")

# What goes wrong is said.
cases = {
    ("get", "s3://bucket/none", FOLDER / "x"): (env, "not_found: s3://bucket/none: "),
    ("list", "s3://no-such-bucket/x"): (env, "not_found: s3://no-such-bucket/x"),
    ("get", "s3://bucket/set/plain.ffr", FOLDER / "x"): ({**env, "AWS_SECRET_ACCESS_KEY": "wrong"}, "invalid_argument: s3://bucket/set/plain.ffr: this address cannot be read, because the keys of the environment are wrong (SignatureDoesNotMatch"),
    ("range", "s3://bucket/set/plain.ffr", 0, 1, FOLDER / "x"): ({**env, "AWS_ACCESS_KEY_ID": "AKIAOTHER"}, "invalid_argument: s3://bucket/set/plain.ffr: this address cannot be read, because the keys of the environment are wrong (InvalidAccessKeyId"),
    ("find", "s3://bucket/set/plain.ffr"): (environment(AWS_ENDPOINT_URL=start_url, AWS_NO_SIGN_REQUEST="yes"), "invalid_argument: s3://bucket/set/plain.ffr: this address cannot be examined, because access is denied to requests that are not signed"),
    ("list", "s3://bucket/set"): (environment(AWS_ENDPOINT_URL=start_url), "invalid_argument: s3://bucket/: has no AWS credentials: "),
    ("range", "s3://bucket/set/plain.ffr", 0, 2, FOLDER / "x"): (environment(AWS_ENDPOINT_URL=start_url), "invalid_argument: s3://bucket/set/plain.ffr: has no AWS credentials: "),
}
for arguments, (variables, message) in cases.items():
    said = tool(*arguments, env=variables, code=1)
    print(said)
    expect(said.startswith(message), said)
