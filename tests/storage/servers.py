"""Servers on 127.0.0.1 for tests of the stores, and the tool that asks them. Whatever is started here ends with the test."""

import atexit
import http.server
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

TOOL, SERVERS = sys.argv[1], pathlib.Path(sys.argv[2])
FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="ffkit-storage-"))
KEYS = {"AWS_ACCESS_KEY_ID": "AKIATEST", "AWS_SECRET_ACCESS_KEY": "secret/of+tests"}
_running, _claims = [], []


def _end():
    for process in _running:
        process.terminate()
    for process in _running:
        try:
            process.wait(timeout=2)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    shutil.rmtree(FOLDER, ignore_errors=True)


atexit.register(_end)


def installed(name):
    """The program `name` of .deps/servers; without it the test is skipped."""
    program = SERVERS / "bin" / name
    if not program.exists():
        print(f"skipped: {program} is not there; tools/setup --servers installs it")
        sys.exit(77)
    return str(program)


def free_ports(number):
    """Ports that nobody listens to; SeaweedFS also takes each one plus 10,000.

    All are below 32,768: from there on the kernel gives ports to clients, and one could take a port
    before its server does. A name in the kernel keeps each port for this process, so that tests that
    run at the same time choose different ones.
    """
    ports, port = [], 12000 + os.getpid() * 37 % 10000
    while len(ports) < number:
        port = port + 1 if port < 22000 else 12000
        claim = socket.socket(socket.AF_UNIX)
        try:
            claim.bind(f"\0ffkit-test-port-{port}")
            for candidate in (port, port + 10000):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", candidate))
        except OSError:
            claim.close()
            continue
        _claims.append(claim)
        ports.append(port)
    return ports


def start(command, port, **options):
    """Starts a server, and waits until it listens to `port`."""
    log = open(FOLDER / f"{pathlib.Path(command[0]).name}-{port}.log", "w+")
    process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, **options)
    _running.append(process)
    end = time.time() + 60
    while time.time() < end and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return process
        time.sleep(0.05)
    log.seek(0)
    sys.exit(f"FAILED: {command[0]} does not listen to port {port}:\n{log.read()[-3000:]}")


class Handler(http.server.BaseHTTPRequestHandler):
    """What the handlers of our servers share."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def answer(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if "Content_Length" not in headers:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


class _Server(http.server.ThreadingHTTPServer):
    request_queue_size = 512  # of 5, connections that come together are lost, and tried again after a second


def serve(handler):
    """Starts a server of our own in a thread; returns its URL."""
    server = _Server(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    server.handle_error = lambda request, address: None  # a client that went away
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}"


def environment(**variables):
    """Nothing of the machine's own credentials is found, and nobody waits long for a store that is not there."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "GS_", "GOOGLE_", "HF_", "FFKIT_", "STORAGE_", "AZURE_", "IDENTITY_", "R2_", "CLOUDFLARE_")) and "proxy" not in name.lower()}
    return {**clean, "HOME": str(FOLDER / "home"), "AWS_EC2_METADATA_DISABLED": "true", "NO_GCE_CHECK": "true", "FFKIT_RETRY_SECONDS": "5", **variables}


def tool(*arguments, env, code=0):
    """What the tool prints; on an expected failure what it says on stderr."""
    done = subprocess.run([TOOL, *map(str, arguments)], env=env, capture_output=True, text=True, timeout=120)
    if done.returncode != code:
        sys.exit(f"FAILED: {' '.join(map(str, arguments))}: status {done.returncode}, not {code}\n{done.stdout}{done.stderr}")
    for secret in ("secret/of", "role-secret", "hf_secret"):
        expect(secret not in done.stdout + done.stderr, f"a secret is printed: {done.stderr}")
    return (done.stderr if code else done.stdout).strip()


def expect(condition, message="not as expected"):
    if not condition:
        import traceback
        place = traceback.extract_stack()[-2]
        sys.exit(f"FAILED: {pathlib.Path(place.filename).name}:{place.lineno}: {place.line}: {message}")


def file_of(name, content):
    path = FOLDER / name
    path.write_bytes(content)
    return path
