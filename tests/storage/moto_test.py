"""Credentials by moto's services: STS by a profile's role and by a web identity, and the metadata service of instances; S3 with conditions and pages."""

import http.server
import json
import urllib.parse
import urllib.request

from servers import FOLDER, KEYS, environment, expect, file_of, free_ports, installed, serve, start, tool

moto = installed("moto_server")
(port,) = free_ports(1)
start([moto, "-p", str(port)], port)
url = f"http://127.0.0.1:{port}"
expect(urllib.request.urlopen(f"{url}/moto-api/", timeout=20).status == 200)
urllib.request.urlopen(urllib.request.Request(f"{url}/bucket", method="PUT", headers={"Authorization": "AWS4-HMAC-SHA256 Credential=x/20260101/us-east-1/s3/aws4_request"}), timeout=20)
small = file_of("small", bytes(range(256)) * 100)


def can_write(variables, name):
    env = environment(AWS_ENDPOINT_URL=url, AWS_REGION="us-east-1", **variables)
    tool("put", f"s3://bucket/{name}", small, env=env)
    tool("range", f"s3://bucket/{name}", 100, 200, FOLDER / "part", env=env)
    expect((FOLDER / "part").read_bytes() == small.read_bytes()[100:300], name)


can_write(KEYS, "environment")

home = FOLDER / "home/.aws"
home.mkdir(parents=True)
(home / "config").write_text("[profile role]\nrole_arn = arn:aws:iam::123456789012:role/reader\nsource_profile = keys\n")
(home / "credentials").write_text("[keys]\naws_access_key_id = AKIAKEYS\naws_secret_access_key = secret/of+keys\n")
can_write({"AWS_PROFILE": "keys"}, "profile")
can_write({"AWS_PROFILE": "role"}, "role")

token = file_of("token", b"header.claim.signature")
can_write({"AWS_WEB_IDENTITY_TOKEN_FILE": str(token), "AWS_ROLE_ARN": "arn:aws:iam::123456789012:role/pod"}, "identity")

can_write({"AWS_EC2_METADATA_DISABLED": "false", "AWS_EC2_METADATA_SERVICE_ENDPOINT": url}, "instance")

env = environment(AWS_ENDPOINT_URL=url, **KEYS)
expect(tool("put", "s3://bucket/once", small, "--new", env=env) == "written")
expect(tool("put", "s3://bucket/once", small, "--new", env=env) == "there already")
size, version = tool("find", "s3://bucket/once", env=env).split()
file_of("other", b"other" * 10000)
tool("put", "s3://bucket/once", FOLDER / "other", env=env)
message = tool("range", "s3://bucket/once", 250, 20, FOLDER / "part", version, env=env, code=1)
expect(message.startswith("corrupt: s3://bucket/once"), message)
big = file_of("big", bytes(40_000_000))
tool("upload", "s3://bucket/big", big, env=env)
tool("get", "s3://bucket/big", FOLDER / "back", env=env)
expect((FOLDER / "back").read_bytes() == big.read_bytes())



# Google's XML API is the same but for names of headers. Moto knows no signatures of Google's, but
# takes tokens.
class Tokens(http.server.BaseHTTPRequestHandler):
    def log_message(self, *arguments):
        pass

    def do_POST(self):
        form = urllib.parse.parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        body = json.dumps({"access_token": "ya29", "expires_in": 3600} if form.get("refresh_token") == ["1//refresh"] else {"error": "invalid_grant"}).encode()
        self.send_response(200 if b"ya29" in body else 400)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


user = {"type": "authorized_user", "client_id": "c", "client_secret": "secret/of+google", "refresh_token": "1//refresh", "token_uri": serve(Tokens) + "/token"}
env = environment(STORAGE_EMULATOR_HOST=url, GOOGLE_APPLICATION_CREDENTIALS=str(file_of("user.json", json.dumps(user).encode())))
expect(tool("put", "gs://bucket/google/x", small, "--new", env=env) == "written")
expect(tool("put", "gs://bucket/google/x", small, "--new", env=env) == "there already")
tool("range", "gs://bucket/google/x", 100, 200, FOLDER / "part", env=env)
expect((FOLDER / "part").read_bytes() == small.read_bytes()[100:300])
expect(tool("list", "gs://bucket/google", env=env) == "object 25600 gs://bucket/google/x")
tool("rm", "gs://bucket/google/x", env=env)
expect(tool("list", "gs://bucket/google", env=env) == "")
tool("upload", "gs://bucket/google/big", big, env=env)
tool("get", "gs://bucket/google/big", FOLDER / "back", env=env)
expect((FOLDER / "back").read_bytes() == big.read_bytes())
file_of("user.json", json.dumps({**user, "refresh_token": "1//old"}).encode())
message = tool("find", "gs://bucket/google/big", env=env, code=1)
print(message)
expect(message.startswith("invalid_argument: gs://bucket/google/big: 127.0.0.1:"), message)
