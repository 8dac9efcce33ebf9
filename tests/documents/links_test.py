"""Checks the Markdown files: links_test.py SOURCE_DIR [--add-addresses]

Each relative link leads to a file or folder, and to a heading if it names one. Each address that pages ever had (addresses.txt) is still a
page and a heading, or an anchor beside a link to its new place; --add-addresses adds those of today, before a release. README.md has one
picture of less than 100 kB. CITATION.cff names the version of the headers.
"""

import functools
import os
import pathlib
import re
import sys

source = pathlib.Path(sys.argv[1]).resolve()
ADDRESSES = source / "tests/documents/addresses.txt"
# A section that has moved: `- <a id="coco"></a>[COCO](coco.md#coco)`.
MOVED = re.compile(r'<a id="([^"]+)"></a>\[[^]]*\]\(([^)\s]+)\)')


def markdown_files():
    """Of the source; what is built or installed there has many more files."""
    for folder, folders, files in os.walk(source):
        if pathlib.Path(folder) == source:
            folders[:] = set(folders) - {"build", ".deps", ".git"}
        yield from (pathlib.Path(folder, file) for file in files if file.endswith(".md"))


def slug(heading):
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def without_code(text):
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE))


@functools.cache
def anchors(path):
    text = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.DOTALL | re.MULTILINE)
    return {slug(heading) for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}


@functools.cache
def moved(path):
    return dict(MOVED.findall(path.read_text()))


def problems(path):
    for label, link in re.findall(r"\[([^]]*)\]\(([^)\s]+)\)", without_code(path.read_text())):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (path.parent / name).resolve() if name else path
        if not target.exists():
            yield f"[{label}]({link}) leads nowhere"
        elif anchor and anchor in moved(target):
            yield f"[{label}]({link}): this section is now at {moved(target)[anchor]}"
        elif anchor and anchor not in anchors(target):
            yield f"[{label}]({link}): {target.name} has no such heading"
    for anchor in moved(path):
        if anchor in anchors(path):
            yield f"'{anchor}' is a heading and has moved"


def addresses_of(path):
    """Of a page: itself and its headings behind the first, which is its title."""
    name = str(path.relative_to(source))
    yield name
    if not name.startswith("CHANGELOG"):
        text = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.DOTALL | re.MULTILINE)
        yield from (f"{name}#{slug(heading)}" for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE)[1:])


def lost_addresses():
    """Addresses stay in the list for ever."""
    for address in ADDRESSES.read_text().split("\n")[:-1]:
        name, _, anchor = address.partition("#")
        path = source / name
        if not path.exists() or anchor and anchor not in anchors(path) and anchor not in moved(path):
            yield f"{address} was an address; write a line '- <a id=\"{anchor}\"></a>[...](...)' that leads to its new place"


def main():
    files = sorted(markdown_files())
    if "--add-addresses" in sys.argv:
        known = ADDRESSES.read_text().split("\n")[:-1]
        made = {address for path in files if not str(path.relative_to(source)).startswith("tests/golden") for address in addresses_of(path)}
        ADDRESSES.write_text("\n".join(sorted({*known, *made} - {address for address in made if address.endswith("#moved")})) + "\n")
    found = [f"{path.relative_to(source)}: {problem}" for path in files for problem in problems(path)]
    found += lost_addresses()
    readme = (source / "README.md").read_text()
    pictures = re.findall(r"!\[[^]]*\]\(([^)]+)\)", readme)
    if len(pictures) != 1:
        found.append(f"README.md has {len(pictures)} pictures; it should have one")
    found += [f"README.md: {name} has 100 kB or more" for name in pictures if (source / name).exists() and (source / name).stat().st_size >= 100_000]
    versions = [re.search(pattern, (source / name).read_text(), re.MULTILINE)[1]
                for name, pattern in (("CITATION.cff", r"^version: (.+)$"), ("base/include/ffkit/base/version.h", r'FFKIT_VERSION "(.+)"'))]
    if versions[0] != versions[1]:
        found.append(f"CITATION.cff has the version {versions[0]}, and the headers {versions[1]}")
    if found:
        sys.exit("\n".join(["FAILED", *found]))
    print(f"{len(files)} files")


main()
