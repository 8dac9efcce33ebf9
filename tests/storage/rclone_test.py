"""S3Store against `rclone serve s3`, which answers ranges with status 200 and ignores conditions."""

import os

from servers import FOLDER, KEYS, environment, expect, file_of, free_ports, installed, start, tool

rclone = installed("rclone")
(port,) = free_ports(1)
(FOLDER / "data/bucket").mkdir(parents=True)
start([rclone, "serve", "s3", "--addr", f"127.0.0.1:{port}", "--auth-key", f"{KEYS['AWS_ACCESS_KEY_ID']},{KEYS['AWS_SECRET_ACCESS_KEY']}", "--config", "/dev/null", str(FOLDER / "data")], port)
env = environment(AWS_ENDPOINT_URL=f"http://127.0.0.1:{port}", **KEYS)

small = file_of("small", bytes(range(256)) * 100)
for name in ("x.ffr", "a b/y+z.ffr"):
    tool("put", f"s3://bucket/set/{name}", small, env=env)
    tool("get", f"s3://bucket/set/{name}", FOLDER / "back", env=env)
    expect((FOLDER / "back").read_bytes() == small.read_bytes(), name)
listed = tool("list", "s3://bucket/set", "--recursive", env=env).splitlines()
expect(listed == ["object 25600 s3://bucket/set/a b/y+z.ffr", "object 25600 s3://bucket/set/x.ffr"], listed)
expect(tool("list", "s3://bucket/set", env=env).splitlines() == ["object 25600 s3://bucket/set/x.ffr", "folder s3://bucket/set/a b"])
size, version = tool("find", "s3://bucket/set/x.ffr", env=env).split()
expect(size == "25600")
for offset, num_bytes in ((0, 10), (250, 20), (25590, 10), (0, 25600)):
    tool("range", "s3://bucket/set/x.ffr", offset, num_bytes, FOLDER / "part", env=env)
    expect((FOLDER / "part").read_bytes() == small.read_bytes()[offset:offset + num_bytes], offset)
# A version is compared by the answer, since the condition is ignored.
tool("range", "s3://bucket/set/x.ffr", 250, 20, FOLDER / "part", version, env=env)
message = tool("range", "s3://bucket/set/x.ffr", 250, 20, FOLDER / "part", '"other"', env=env, code=1)
expect(message.startswith("corrupt: "), message)
expect(tool("put", "s3://bucket/set/x.ffr", small, "--new", env=env) == "there already")
big = file_of("big", os.urandom(40_000_000))
tool("upload", "s3://bucket/big", big, env=env)
tool("get", "s3://bucket/big", FOLDER / "back", env=env)
expect((FOLDER / "back").read_bytes() == big.read_bytes())
tool("rm", "s3://bucket/big", env=env)
expect(tool("find", "s3://bucket/big", env=env) == "not there")
