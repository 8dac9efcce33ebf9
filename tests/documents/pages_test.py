"""Checks how the Markdown files are written: pages_test.py SOURCE_DIR

Lines have at most 120 columns, but for rows of tables, code and links (tools/maintain/wrap wraps them). A page of docs/ has at most 15,000
bytes, README.md 120 lines, CHANGELOG.md 160, and a room's README.md 150; pages that a tool makes may be longer.
"""

import importlib.machinery
import importlib.util
import pathlib
import sys

source = pathlib.Path(sys.argv[1]).resolve()
MAX_BYTES = 15_000
MAX_LINES = {"README.md": 120, "CHANGELOG.md": 160}
MAX_ROOM_LINES = 150
MADE = ("options",)


def tool(name):
    """A program of tools/maintain as a module."""
    loader = importlib.machinery.SourceFileLoader(name, str(source / "tools/maintain" / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    sys.dont_write_bytecode = True
    loader.exec_module(module)
    return module


wrap = tool("wrap")


def problems(path):
    name = str(path.relative_to(source))
    text = path.read_text()
    if not name.startswith(wrap.NOT_OURS):
        yield from wrap.long_lines(name, text)
    num_bytes, num_lines = len(text.encode()), text.count("\n")
    if name.startswith("docs/") and num_bytes > MAX_BYTES and not path.name.startswith(MADE):
        yield f"{name}: {num_bytes} bytes, more than {MAX_BYTES}; divide it by questions"
    max_lines = MAX_LINES.get(name, MAX_ROOM_LINES if path.name == "README.md" and len(path.relative_to(source).parts) == 2 else None)
    if max_lines and num_lines > max_lines:
        yield f"{name}: {num_lines} lines, more than {max_lines}"
    if name == "README.md" and max(map(len, text.split("\n"))) > wrap.COLUMNS:
        yield f"{name}: a line of more than {wrap.COLUMNS} columns"


def main():
    long = wrap.long_lines("page.md", "word " * 30 + "\n| " + "cell " * 30 + "|\n[" + "x" * 130 + "](a.md)\n")
    assert list(long) == ["page.md:1: longer than 120 columns"]  # it can fail
    files = [path for path in sorted(source.rglob("*.md")) if not {"build", ".deps", ".git"} & set(path.relative_to(source).parts)]
    found = [problem for path in files for problem in problems(path)]
    if found:
        sys.exit("\n".join(["FAILED", *found]))
    print(f"{len(files)} files")


main()
