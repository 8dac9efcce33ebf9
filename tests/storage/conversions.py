"""Conversions from stores, compared with those from a disk."""

import functools
import json
import os
import subprocess

from servers import FOLDER, KEYS, environment, expect

FFCONVERT = os.environ["FFKIT_FFCONVERT"]


def convert(*arguments, env=None, code=0):
    """What ffconvert says on stderr."""
    clean = environment(**{**KEYS, "FFKIT_CACHE": "off", **(env or {})})
    done = subprocess.run([FFCONVERT, *map(str, arguments)], env=clean, capture_output=True, text=True, timeout=180)
    expect(done.returncode == code, f"ffconvert {' '.join(map(str, arguments))}: status {done.returncode}, not {code}\n{done.stdout}{done.stderr}")
    expect("secret" not in done.stdout + done.stderr, done.stderr)
    return done.stdout + done.stderr


def expect_same(one, other):
    """Files are equal to the byte; of manifests, all but where the source is and when it was written."""
    names = sorted(str(path.relative_to(one)) for path in one.rglob("*") if path.is_file())
    expect(names == sorted(str(path.relative_to(other)) for path in other.rglob("*") if path.is_file()), f"{one} and {other} have other files")
    for name in names:
        a, b = (one / name).read_bytes(), (other / name).read_bytes()
        if name.endswith("manifest.json"):
            a, b = json.loads(a), json.loads(b)
            for manifest in (a, b):
                for fact in ("path", "annotations", "images", "listing", "folder_mask", "list"):
                    manifest["source"].pop(fact, None)
        elif name == "report.jsonl":
            continue
        expect(a == b, f"{name} of {other} differs: {[(key, a[key], b[key]) for key in a if a[key] != b.get(key)] if isinstance(a, dict) else len(a)}")


@functools.cache
def of_disk(kind, local, arguments):
    folder = FOLDER / f"disk-{of_disk.cache_info().misses}"
    convert(kind, local, folder, "--quiet", *arguments)
    return folder


def check_kind(kind, source, local, arguments, env):
    """The address gives what the local source gives, which does not change meanwhile."""
    of_store = FOLDER / f"{kind}-store"
    subprocess.run(["rm", "-rf", of_store], check=True)
    convert(kind, source, of_store, "--quiet", *arguments, env=env)
    expect_same(of_disk(kind, local, tuple(arguments)), of_store)
    for manifest in of_store.rglob("manifest.json"):
        path = json.loads(manifest.read_text())["source"].get("path")
        expect(path is None or path == str(source).split("?")[0].rstrip("/"), f"{manifest}: {path}")
    return of_store
