#!/usr/bin/env python3
"""The public names of ffkit: of the installed headers, of the package, of the programs and of their JSON.

    public_names.py ROOT FFINSPECT            compares them with public_names.txt
    public_names.py ROOT FFINSPECT --write    writes that file

They are read from the sources: a name that appears, goes or changes is seen in the diff of public_names.txt.
"""
import ast
import difflib
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(sys.argv[1]).resolve()
FFINSPECT = sys.argv[2]
LIST = ROOT / "tests/package/public_names.txt"
MAY_CHANGE = "// May change in any version"
PRIVATE = {"__init__", "__len__", "__iter__", "__getitem__"}  # of dunders, those that people call


def without_comments(text):
    return re.sub(r"/\*.*?\*/", "", re.sub(r"//[^\n]*", "", text), flags=re.S)


def names_of_header(path):
    """Types with their members, functions and constants of namespaces: what a clang-format of two columns shows."""
    text = path.read_text()
    if MAY_CHANGE in text:
        yield "may change"
        return
    owner, is_public = "", True
    for line in without_comments(text).splitlines():
        if names := re.match(r"inline constexpr auto kNames<([\w:]+)>", line):
            yield f"names of {names[1]}"
            continue
        while (shorter := re.sub(r"<[^<>]*>", "", line)) != line:
            line = shorter
        if begun := re.match(r"(?:template )?(class|struct|enum class|enum) (\w+)(?: final)?(?: : [\w: ]+)? ?\{?(.*)$", line):
            kind, name, rest = begun.groups()
            if rest.strip() == ";":
                continue
            owner, is_public = name, kind != "class"
            yield f"{kind} {name}"
            for value in re.findall(r"\w+", rest) if kind.startswith("enum") and "}" in rest else ():
                yield f"{name}::{value}"
            continue
        if line.startswith("}"):
            owner, is_public = "", True
        elif line.strip() in ("public:", "private:", "protected:"):
            is_public = line.strip() == "public:"
        elif owner and is_public and re.match(r"  \S", line) and (member := re.match(r"[^(={]*?(~?\w+|operator[^(]+)(?:\(| = |\{|;|,|$)", line.strip().replace("[[nodiscard]] ", ""))):
            if not line.strip().startswith(("return", "using", "friend", "if", "}", ":", "template")):
                yield f"{owner}::{member[1]}"
        elif not owner and (made := re.match(r"(?!\s)(?:inline |constexpr |static )*[\w:<>,&* ]+?[ &*](\w+)(?:\(| = |\[)", line)):
            yield made[1]
        elif not owner and (alias := re.match(r"using (\w+) =|#define (FFKIT_\w+)", line)):
            yield alias[1] or alias[2]


def parameters(function):
    arguments = function.args
    names = [a.arg for a in arguments.posonlyargs + arguments.args if a.arg not in ("self", "cls")]
    names += ["*" + (arguments.vararg.arg if arguments.vararg else "")] if arguments.vararg or arguments.kwonlyargs else []
    names += [a.arg for a in arguments.kwonlyargs] + (["**" + arguments.kwarg.arg] if arguments.kwarg else [])
    return f"({', '.join(names)})"


def definitions(path):
    return {node.name: node for node in ast.parse(path.read_text()).body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}


def names_of_definition(name, node):
    if isinstance(node, ast.FunctionDef):
        yield name + parameters(node)
        return
    fields = [part.target.id for part in node.body if isinstance(part, ast.AnnAssign) and not part.target.id.startswith("_")]
    yield name + (f"({', '.join(fields)})" if fields else "")
    for part in node.body:
        if isinstance(part, ast.FunctionDef) and (not part.name.startswith("_") or part.name in PRIVATE):
            is_property = any(getattr(d, "id", "") == "property" for d in part.decorator_list)
            yield f"{name}.{part.name}" + ("" if is_property else parameters(part))


def listed(path):
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            return ast.literal_eval(node.value)
    return []


def names_of_package():
    package = ROOT / "python/ffkit"
    known = {name: node for path in sorted(package.rglob("_*.py")) for name, node in definitions(path).items()}
    for path in sorted(p for p in package.rglob("*.py") if not p.relative_to(package).parts[0].startswith("_") or p == package / "__init__.py"):
        module = ".".join(("ffkit", *path.relative_to(package).with_suffix("").parts)).removesuffix(".__init__")
        own = definitions(path)
        for name in listed(path) or [name for name in own if not name.startswith("_")]:
            node = own.get(name) or known.get(name) or next((definitions(p)[name] for p in package.glob("*.py") if name in definitions(p)), None)
            for line in names_of_definition(name, node) if node is not None else [name]:
                yield f"{module}.{line}"
    for kind, body in re.findall(r'nb::class_<\w+>\(\s*module, "([A-Z]\w+)"(.*?);\n', "".join(p.read_text() for p in sorted((ROOT / "python/src").glob("*.cpp"))), re.S):
        for name in re.findall(r'\.def\w*\(\s*"([a-z]\w*)"', body) if kind in ("Statistics", "Random", "SampleKey") else ():
            yield f"ffkit.{kind}.{name}"


def names_of_programs():
    for page in sorted((ROOT / "docs").glob("options*.md")):
        command = "ffconvert" if page.stem == "options" else page.stem.removeprefix("options-")
        for line in page.read_text().splitlines():
            if heading := re.match(r"## `?(.+?)`?$", line):
                section = heading[1]
            elif option := re.match(r"\| `(?:(-\w),)?(?:--)?([a-zA-Z][\w-]*)[^|]*`? \|", line):
                yield f"{command}: {section}: {option[2].replace('_', '-')}"


def keys_of(value, at=""):
    for key, below in value.items() if isinstance(value, dict) else [("[]", v) for v in value] if isinstance(value, list) else ():
        yield f"{at}.{key}".removeprefix(".")
        yield from keys_of(below, f"{at}.{key}")


def names_of_json():
    data = ROOT / "tests/golden/v2.1/dataset"
    yield from (f"manifest.json: {key}" for key in keys_of(json.loads((data / "manifest.json").read_text())))
    for words in (["info"], ["ls"], ["stats"], ["verify"], ["cat", "0"], ["duplicates", "--exact"]):
        told = subprocess.run([FFINSPECT, words[0], data, *words[1:], "--json"], capture_output=True, text=True, check=True).stdout
        for text in [told] if words != ["ls"] else told.splitlines():
            yield from (f"ffinspect {words[0]} --json: {key}" for key in keys_of(json.loads(text)))


def all_names():
    for path in sorted(ROOT.glob("*/include/ffkit/*/*.h")) + sorted(ROOT.glob("*/loader/include/ffkit/*/*.h")):
        header = path.as_posix().split("/include/")[1]
        yield from (f"<{header}> {name}" for name in dict.fromkeys(names_of_header(path)))
    yield from names_of_package()
    yield from dict.fromkeys(names_of_programs())
    yield from dict.fromkeys(names_of_json())


def main():
    now = [name + "\n" for name in all_names()]
    if "--write" in sys.argv:
        LIST.write_text("".join(now))
        return 0
    difference = list(difflib.unified_diff(LIST.read_text().splitlines(True), now, "public_names.txt", "the sources", n=0))
    if difference:
        print("".join(difference) + "\nA public name has changed. If it is meant, note it in CHANGELOG.md and docs/stability.md, and run\n"
              f"    {sys.argv[0]} {sys.argv[1]} {FFINSPECT} --write")
    return 1 if difference else 0


if __name__ == "__main__":
    sys.exit(main())
