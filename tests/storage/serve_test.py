"""ffinspect serve and ffinspect duplicates of a set in SeaweedFS: the answers are those of the same set on a disk."""

import json
import signal
import subprocess
import time
import urllib.request

from servers import FOLDER, expect
from sets import ENDPOINT, FFCONVERT, FFINSPECT, SeaweedFs, demo, use

weed = SeaweedFs()
use(**{ENDPOINT: weed.url})
ours = demo(FOLDER / "ours", "--images", 200, "--val-images", 40, "--classes", 4, "--size", 64)
subprocess.run([FFCONVERT, "copy", ours, "s3://bucket/ours"], check=True, capture_output=True)


def answers(data):
    process = subprocess.Popen([FFINSPECT, "serve", str(data), "--json", "--hashes", str(FOLDER / "hashes")], stdout=subprocess.PIPE, text=True)
    try:
        address = json.loads(process.stdout.readline())["address"]

        def get(path):
            with urllib.request.urlopen(address + path, timeout=60) as answer:
                return answer.read()

        got = [get("api/rows?split=train&sort=size&text=class0001"), get("api/histogram?split=val"), get("api/record?split=train&record=77"), get("picture?split=train&record=77"),
               get("thumbnail?split=val&record=7&size=32"), get("view?split=train&record=3&transform=RandomResizedCrop(32)&draw=2"), get("list?split=train&label=2&as=ids")]
        get("api/duplicates/start")
        while json.loads(get("api/duplicates"))["state"] == "running":
            time.sleep(0.05)
        return [*got, get("api/duplicates")]
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(20)


for i, (here, there) in enumerate(zip(answers(ours), answers("s3://bucket/ours"), strict=True)):
    expect(here == there, f"answer {i}: {here[:300]} and {there[:300]}")
print("ok")
