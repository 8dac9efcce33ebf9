"""Data sets, a server for each, and pages of a Chromium and a Firefox."""
import contextlib
import json
import os
import pathlib
import shutil
import subprocess

import pytest
from playwright.sync_api import Error, sync_playwright

import sets


class Served:
    """`ffinspect serve` of a data set."""

    def __init__(self, folder, data, *arguments):
        self.log = open(folder / "serve.log", "w")
        command = [os.environ["FFKIT_FFINSPECT"], "serve", data, "--json", "--hashes", folder / "hashes", *arguments]
        self.process = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=self.log, text=True)
        line = self.process.stdout.readline()
        assert line, (folder / "serve.log").read_text()
        self.address = json.loads(line)["address"]

    def close(self):
        self.process.terminate()
        self.process.wait(timeout=10)
        self.log.close()


@pytest.fixture(scope="session")
def serve(tmp_path_factory):
    with contextlib.ExitStack() as stack:

        def start(data, *arguments):
            served = Served(tmp_path_factory.mktemp("serve"), data, *arguments)
            stack.callback(served.close)
            return served.address

        yield start


@pytest.fixture(scope="session")
def playwright():
    with sync_playwright() as started:
        yield started


@pytest.fixture(scope="session")
def firefox(playwright):
    """Debian's Firefox; the tests that ask for it are skipped without."""
    path = shutil.which("firefox") or shutil.which("firefox-esr")
    if not path:
        pytest.skip("there is no Firefox")
    # WebDriver BiDi: Firefox as it is, not one of Playwright's.
    browser = playwright.firefox.launch(executable_path=path, channel="moz-firefox")
    try:
        browser.new_context().close()
    except Error as error:
        browser.close()
        pytest.skip(f"this Playwright cannot drive Firefox {browser.version}: {error}")
    yield browser
    browser.close()


@pytest.fixture(scope="session")
def chromium(playwright):
    # Root, as in containers, has no sandbox.
    browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"] if os.geteuid() == 0 else [])
    yield browser
    browser.close()


@pytest.fixture
def open_page(chromium):
    """open_page(address, hash): a page there. At the end of the test, no page may have had an error of JavaScript, or have asked another address."""
    contexts, errors, strangers = [], [], []

    def start(address, place="", width=1280, height=800, theme="light"):
        context = chromium.new_context(viewport={"width": width, "height": height}, color_scheme=theme, accept_downloads=True)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda message: errors.append(message.text) if message.type == "error" and "status of" not in message.text else None)
        page.on("request", lambda request: None if request.url.startswith((address, "blob:")) else strangers.append(request.url))
        page.goto(address + place)
        return page

    yield start
    for context in contexts:
        context.close()
    assert errors == []
    assert strangers == []


@pytest.fixture(scope="session")
def many(tmp_path_factory, serve):
    """100,000 pictures of 16 pixels."""
    folder = tmp_path_factory.mktemp("many")
    sets.convert("demo", folder / "many", "--images", 100_000, "--val-images", 0, "--size", 16, "--quiet")
    return serve(folder / "many")


@pytest.fixture(scope="session")
def demo(tmp_path_factory):
    """2,000 pictures for training and 500 for validation, in 10 classes, and results of the latter."""
    folder = tmp_path_factory.mktemp("demo")
    sets.convert("demo", folder / "demo", "--quiet")
    sets.write_results(folder / "demo", "val", folder / "results.jsonl")
    return folder


@pytest.fixture(scope="session")
def shapes(demo, serve):
    return serve(demo / "demo", "--results", demo / "results.jsonl")


@pytest.fixture(scope="session")
def marked(tmp_path_factory, serve):
    """Pictures with boxes, joints and masks; one is cut off, one is equal to another."""
    folder = tmp_path_factory.mktemp("marked")
    sets.write_marked(folder / "marked")
    return serve(folder / "marked")


@pytest.fixture(scope="session")
def coco(tmp_path_factory, serve):
    """Three pictures of COCO's layout, and detections."""
    folder = tmp_path_factory.mktemp("coco")
    sets.write_coco(folder / "coco", folder / "detections.json")
    sets.convert("coco", folder / "coco", folder / "set", "--quiet")
    return serve(folder / "set", "--results", folder / "detections.json")


@pytest.fixture(scope="session")
def scenes(tmp_path_factory, serve):
    """The nuScenes root of the real data, with its detections."""
    shared = os.environ.get("FFKIT_SHARED_DATA")
    if not shared or not pathlib.Path(shared, "nuscenes/root").is_dir():
        pytest.skip("FFKIT_SHARED_DATA names no folder with nuScenes' real data")
    folder = tmp_path_factory.mktemp("scenes")
    sets.convert("nuscenes", pathlib.Path(shared, "nuscenes/root"), folder / "scenes", "--quiet")
    return serve(folder / "scenes")


@pytest.fixture(scope="session")
def driving(tmp_path_factory, serve):
    """A made-up nuScenes set."""
    folder = tmp_path_factory.mktemp("driving")
    sets.convert("demo", folder / "driving", "--kind", "nuscenes", "--scenes", 2, "--val-scenes", 1, "--frames", 6, "--size", 160, "--quiet")
    return serve(folder / "driving")


@pytest.fixture(scope="session")
def table_set(tmp_path_factory):
    folder = tmp_path_factory.mktemp("table")
    sets.write_table(folder / "table")
    return folder / "table"


@pytest.fixture(scope="session")
def table(table_set, serve):
    """Records without pictures: texts, numbers and vectors."""
    return serve(table_set)


@pytest.fixture(scope="session")
def tokens(tmp_path_factory, serve):
    """Blocks of the bytes of three documents."""
    folder = tmp_path_factory.mktemp("tokens")
    (folder / "texts.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in sets.TEXTS))
    sets.convert("text", folder / "texts.jsonl", folder / "tokens", "--tokenizer", "bytes", "--order", "sequential", "--quiet")
    return serve(folder / "tokens")
