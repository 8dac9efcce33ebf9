"""What ffinspect serve answers of a set, wherever that is."""

import json
import signal
import subprocess
import time
import urllib.request

from servers import FOLDER, expect
from sets import FFINSPECT

OF_PICTURES = ["api/rows?split=train&sort=size&text=class0001", "api/histogram?split=val", "api/record?split=train&record=77", "picture?split=train&record=77",
               "thumbnail?split=val&record=7&size=32", "view?split=train&record=3&transform=RandomResizedCrop(32)&draw=2", "list?split=train&label=2&as=ids"]


def answers(data, *arguments, paths=OF_PICTURES):
    process = subprocess.Popen([FFINSPECT, "serve", str(data), *arguments, "--json", "--hashes", str(FOLDER / "hashes")], stdout=subprocess.PIPE, text=True)
    try:
        line = process.stdout.readline()
        expect(line, f"ffinspect serve {data}: status {process.poll()}")
        address = json.loads(line)["address"]

        def get(path):
            with urllib.request.urlopen(address + path, timeout=60) as answer:
                return answer.read()

        expect(b'id="set"' in get(""), "the page")
        got = [get(path) for path in paths]
        get("api/duplicates/start")
        while json.loads(get("api/duplicates"))["state"] == "running":
            time.sleep(0.05)
        return [*got, get("api/duplicates")]
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(20)


def expect_equal(here, there, what):
    for i, (one, other) in enumerate(zip(here, there, strict=True)):
        expect(one == other, f"{what}: answer {i}: {one[:300]} and {other[:300]}")
