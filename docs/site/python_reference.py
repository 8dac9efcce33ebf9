"""Writes the reference of the Python package to build/docs-source: names, signatures and
docstrings, as its sources have them."""
import ast
import inspect
import pathlib
import re

package = pathlib.Path("python/ffkit")


def definitions(module):
    """Classes and functions of a module's source, by name."""
    return {node.name: node for node in ast.parse((package / f"{module}.py").read_text()).body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}


def exported(module):
    """The names of `__all__`, or those without an underscore, and of each the module that has its
    source."""
    tree = ast.parse((package / f"{module}.py").read_text())
    places = {name.asname or name.name: node.module for node in tree.body if isinstance(node, ast.ImportFrom) and node.level == 1 and node.module for name in node.names}
    listed = [ast.literal_eval(node.value) for node in tree.body if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__"]
    names = listed[0] if listed else [name for name in definitions(module) if not name.startswith("_")]
    return {name: places.get(name, module) for name in names}


def plain(text):
    """Text as Markdown, in which code alone is marked."""
    return "".join(part if part.startswith("`") else part.replace("*", r"\*").replace("<", "&lt;") for part in re.split(r"(`[^`]*`)", text))


def described(text):
    """A docstring as Markdown: indented lines are code, and those below Args: and its kin a
    list."""
    out, is_list = [], False
    lines = inspect.cleandoc(text or "").split("\n")
    i = 0
    while i < len(lines):
        line = lines[i]
        if re.fullmatch(r"(Args|Raises|Returns|Yields):", line):
            out.append(f"\n**{line}**\n")
            is_list = True
        elif line and not line.startswith(" "):
            if is_list:
                out.append("")
            is_list = False
            out.append(line if line.startswith("|") else plain(line))
            if line.startswith("|") and (i == 0 or not lines[i - 1]):
                out.append(re.sub(r"[^|]", "-", line))
        elif is_list and re.match(r" {4}\S", line):
            if line.endswith(":") and ": " not in line:
                out.append(f"\n{plain(line.strip())}\n")
            else:
                name, colon, rest = line.strip().partition(": ")
                out.append(f"- `{name}`: {plain(rest)}" if colon and "`" not in name else f"- {plain(line.strip())}")
        elif is_list and line:
            out.append(f"  {plain(line.strip())}")
        elif line:
            begin = i
            while i + 1 < len(lines) and (lines[i + 1].startswith("    ") or not lines[i + 1] and i + 2 < len(lines) and lines[i + 2].startswith("    ")):
                i += 1
            out += ["```python", *(code[4:] for code in lines[begin:i + 1]), "```"]
        else:
            out.append("")
        i += 1
    return "\n".join(out)


def signature(node, name):
    """As one writes a call: parameters with defaults, without types that are told in the text."""
    if isinstance(node, ast.ClassDef):
        made = next((part for part in node.body if isinstance(part, ast.FunctionDef) and part.name == "__init__"), None)
        if made is None:
            fields = [ast.unparse(part) for part in node.body if isinstance(part, ast.AnnAssign) and not part.target.id.startswith("_")]
            return f"{name}({', '.join(fields)})" if fields else name
        node = made
    arguments = ast.parse(ast.unparse(node)).body[0].args
    arguments.args = [argument for argument in arguments.args if argument.arg not in ("self", "cls")]
    returns = f" -> {ast.unparse(node.returns)}" if node.returns is not None and node.name != "__init__" else ""
    return f"{name}({ast.unparse(arguments)}){returns}"


def folded(text):
    """A long signature, an argument a line."""
    if len(text) <= 100:
        return text
    head, rest = text.split("(", 1)
    parts, depth, part = [], 0, ""
    for position, letter in enumerate(rest):
        depth += letter in "([{"
        depth -= letter in ")]}"
        if depth < 0:
            return f"{head}(\n" + "".join(f"    {one.strip()},\n" for one in [*parts, part] if one.strip()) + rest[position:]
        if letter == "," and depth == 0:
            parts.append(part)
            part = ""
        else:
            part += letter


def entry(node, name, level):
    yield f"{'#' * level} {name}\n\n```python\n{folded(signature(node, name))}\n```\n\n{described(ast.get_docstring(node))}\n"
    if isinstance(node, ast.ClassDef):
        for part in node.body:
            if isinstance(part, ast.FunctionDef) and not part.name.startswith("_") and ast.get_docstring(part):
                yield from entry(part, f"{name}.{part.name}", level + 1)


def reference(title, modules):
    text = [f"---\nsearch:\n  boost: 4\n---\n\n# {title}\n\nMade from the docstrings; `help()` shows the same.\n"]
    missing = []
    for prefix, module in modules:
        for name, place in exported(module).items():
            node = definitions(place).get(name) if place != "_ffkit" and (package / f"{place}.py").exists() else None
            if node is None:
                missing.append(f"`{prefix}.{name}`")
            else:
                text += entry(node, f"{prefix}.{name}", 2)
    return "\n".join(text) + f"\nOf the extension, a constant, a module or a type: {', '.join(missing)}. `help()` has what there is of them.\n"


pages = {"ffkit": [("ffkit", "__init__")],
         "torch, convert, nuscenes, lightning, hf": [(f"ffkit.{module}", module) for module in ("torch", "convert", "nuscenes", "lightning", "hf")]}
for i, (title, modules) in enumerate(pages.items()):
    (pathlib.Path("build/docs-source") / f"python-reference-{i + 1}.md").write_text(reference(f"Reference of {title}", modules))
