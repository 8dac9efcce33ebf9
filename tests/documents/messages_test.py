"""docs/messages/ and the tests know each other: messages_test.py SOURCE_DIR BUILD_DIR

Each test that a page names is there: in a binary of the room that is built, or, where none is, in its sources. Each test whose body has
EXPECT_ERROR is on its room's page. What the sentences are, the tests compare themselves (tests/support/message_table.h).
"""

import importlib.machinery
import importlib.util
import pathlib
import re
import sys

source, build = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
loader = importlib.machinery.SourceFileLoader("messages", str(source / "tools/messages"))
sys.dont_write_bytecode = True
messages = importlib.util.module_from_spec(importlib.util.spec_from_loader("messages", loader))
loader.exec_module(messages)

# Tests that a machine may have to skip, and so their sentences may be on no page.
MAY_BE_SKIPPED = set()


def bodies(folder):
    """Tests in the sources below `folder`, and what their bodies are."""
    for file in folder.rglob("*.cpp"):
        parts = re.split(r"^(?:TYPED_)?TEST(?:_F|_P)?\((\w+),\s*(\w+)\)", file.read_text(encoding="utf-8"), flags=re.M)
        for suite, test, rest in zip(parts[1::3], parts[2::3], parts[3::3]):
            yield f"{suite}.{test}", rest.split("\n}\n")[0]


def problems(room):
    page = source / f"docs/messages/{room}.md"
    folder = source / "tests" / ("faults" if room == "faults" else f"unit/{room}")
    in_sources = dict(bodies(folder))
    listed = set(messages.parse(page.read_text(encoding="utf-8"))) if page.exists() else set()
    built = messages.binaries(build, room)
    there = {name for binary in built for name in messages.names_of(binary)} if room != "faults" and built else None
    there_plain = {messages.plain(name) for name in there or ()}
    for name in sorted(listed):
        if messages.plain(name) not in in_sources or (there is not None and name not in there | there_plain):
            yield f"{page}: there is no test {name}; tools/messages {room} takes it off"
    on_page = {messages.plain(name) for name in listed}
    for name, body in sorted(in_sources.items()):
        if "EXPECT_ERROR(" in body and name not in on_page and name not in MAY_BE_SKIPPED:
            yield f"{page}: lacks {name}; tools/messages {room} adds it"


rooms = sorted(folder.name for folder in (source / "tests/unit").iterdir() if folder.is_dir()) + ["faults"]
found = [problem for room in rooms for problem in problems(room)]
found += [f"{page}: there is no such room" for page in (source / "docs/messages").glob("*.md") if page.stem not in rooms]
if found:
    sys.exit("\n".join(["FAILED", *found]))
