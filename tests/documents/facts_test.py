"""A fact stands once: facts_test.py SOURCE_DIR

FACTS is the table: where a fact stands, and how pages say it. A page that says it otherwise fails. Pages link to the place that has the
facts of a subject: docs/install.md systems and versions, docs/converting.md sources, docs/benchmarks.md figures of speed, docs/build-times.md
budgets, docs/stability.md promises.
"""

import pathlib
import re
import sys

source = pathlib.Path(sys.argv[1]).resolve()


def found(name, pattern):
    values = re.findall(pattern, (source / name).read_text(), re.MULTILINE)
    assert values, f"{name}: nothing fits {pattern}"
    return set(values)


VERSION = found("base/include/ffkit/base/version.h", r'FFKIT_VERSION "(.+)"').pop()
GLIBC = found("packaging/wheel/toolchain.py", r"^GLIBC = '(.+)'")

# What it is, the values that it may have, and how sentences say it.
FACTS = [
    ("the oldest Python", found("pyproject.toml", r'^requires-python = ">=(.+)"') | found("python/reader/pyproject.toml", r'^requires-python = ">=(.+)"'),
     r"Python (\d\.\d+) (?:or|and) newer"),
    ("the oldest Python of `ffkit`", found("pyproject.toml", r'^requires-python = ">=(.+)"'), r"glibc [\d.]+, Python (\d\.\d+) or newer|needs Linux, numpy, and Python (\d\.\d+)"),
    ("the glibc of the wheels", GLIBC, r"(?:need|needs|than) glibc (\d\.\d+)"),
    ("the glibc of the wheels", {value.replace(".", "_") for value in GLIBC}, r"manylinux_(\d+_\d+)"),
    ("the oldest pyarrow", found("pyproject.toml", r"pyarrow>=(\d+)"), r"pyarrow, (\d+) or newer"),
    ("the oldest libcurl", found("storage/http/curl_library.cpp", r"libcurl ([\d.]+) or newer"), r"libcurl (\d[\d.]*\d) or newer"),
    ("the torch of `ffkit-train`", {" and ".join(sorted(found("packaging/wheel/train.py", r"^    '(\d\.\d+)': \(")))}, r"^\| (2\.\d+(?:(?:, | and )2\.\d+)*) of PyPI"),
    ("the version", {".".join(VERSION.split(".")[:2])}, r"find_package\(ffkit (\d+\.\d+) "),
    ("the version", {VERSION}, r"(?:ffkit|ffkit_train|ffkit_reader)[-_](\d+\.\d+\.\d+)"),
    ("the size of the wheel", found("packaging/README.md", r"It has ([\d.]+ MB) for x86-64"), r"([\d.]+ MB), `manylinux"),
]
# History, and words of other projects.
NOT_HERE = ("CHANGELOG.md", "tests/", "docs/decisions/")


def wrong_facts(name, text):
    for what, values, pattern in FACTS:
        for match in re.finditer(pattern, text, re.MULTILINE):
            value = next(group for group in match.groups() if group)
            if value not in values:
                yield f"{name}: says {value} of {what}, which is {' or '.join(sorted(values))}"


def missing_sources():
    """Each kind of source has its row in the table of converting.md, and a function in Python."""
    page, module = (source / "docs/converting.md").read_text(), (source / "python/ffkit/convert.py").read_text()
    for path in sorted((source / "sources").glob("*/*_kind.cpp")):
        name = re.search(r'\.name = "(\w+)"', path.read_text())[1]
        if f"\n| `{name}` | " not in page:
            yield f"docs/converting.md: the table of sources has no row of `{name}`"
        if f"\ndef {name}(" not in module:
            yield f"python/ffkit/convert.py: there is no {name}()"


def other_speeds():
    """The rows of README.md are rows of benchmarks.md."""
    pages = [(source / name).read_text() for name in ("README.md", "docs/benchmarks.md")]
    rows, known = ({int(value) for value in re.findall(r"\| (\d{3,5}) \|", page)} for page in pages)
    assert len(rows) > 5, "README.md has no table of speeds"
    for value in sorted(rows - known):
        yield f"README.md: {value} images/s are not in docs/benchmarks.md"


def main():
    assert list(wrong_facts("page", "It needs glibc 2.35, and pyarrow, 14 or newer")) == [f"page: says 2.35 of the glibc of the wheels, which is {' or '.join(GLIBC)}"]
    problems = [*missing_sources(), *other_speeds()]
    num_said = dict.fromkeys(range(len(FACTS)), 0)
    for path in sorted(source.rglob("*.md")):
        name = str(path.relative_to(source))
        if {"build", ".deps", ".git"} & set(path.relative_to(source).parts) or name.startswith(NOT_HERE):
            continue
        # A sentence goes on in the next line; a row of a table does not.
        text = re.sub(r"(?<!\|)\n *(?=[^\s|])", " ", path.read_text())
        problems += wrong_facts(name, text)
        for i, (_, _, pattern) in enumerate(FACTS):
            num_said[i] += len(re.findall(pattern, text, re.MULTILINE))
    problems += [f"no page says {FACTS[i][0]} as {FACTS[i][2]}" for i, number in num_said.items() if not number]
    if problems:
        sys.exit("\n".join(["FAILED", *problems]))
    print(f"{len(FACTS)} facts, said {sum(num_said.values())} times")


main()
