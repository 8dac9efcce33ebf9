"""Checks the Markdown files: links_test.py SOURCE_DIR

Every relative link leads to a file or folder that is there, and to a heading where it names one. README.md has at most 150 lines and one
picture of less than 100 kB. CITATION.cff names the version of the headers.
"""

import functools
import os
import pathlib
import re
import sys

source = pathlib.Path(sys.argv[1]).resolve()


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


def problems(path):
    for label, link in re.findall(r"\[([^]]*)\]\(([^)\s]+)\)", without_code(path.read_text())):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (path.parent / name).resolve() if name else path
        if not target.exists():
            yield f"[{label}]({link}) leads nowhere"
        elif anchor and anchor not in anchors(target):
            yield f"[{label}]({link}): {target.name} has no such heading"


def main():
    files = sorted(markdown_files())
    found = [f"{path.relative_to(source)}: {problem}" for path in files for problem in problems(path)]
    readme = (source / "README.md").read_text()
    if len(readme.splitlines()) > 150:
        found.append("README.md has more than 150 lines; details go into docs/")
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
