#!/usr/bin/env python3
"""Rooms of the library name options by option_names.h, never as one program writes them: no string has --NAME in it.

    tests/house/option_names_test.py     says where one has, one line each; exit status 1 when there is one

Options of other programs, and whole commands, are what they are: `tar --sort=name`, `ffconvert coco --persons`.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROOMS = ("converter", "format", "image", "loader", "nuscenes", "pose", "text")
# A comment, a raw string, strings side by side, or a character: what comes first counts.
TOKEN = re.compile(r"""//[^\n]*|/\*.*?\*/|R"\((?P<raw>.*?)\)"|(?P<text>"(?:\\.|[^"\\\n])*"(?:\s*"(?:\\.|[^"\\\n])*")*)|'(?:\\.|[^'\\])'""", re.DOTALL)
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
COMMAND = re.compile(r"\b(tar|sbatch|ffconvert|ffinspect|fftrain|ffeval)\b[^;(]*--")


# SourceKind::example is the rest of a command.
EXAMPLE = re.compile(r'\.example =\s*("(?:\\.|[^"\\\n])*"\s*)+')


def offences(code):
    code = EXAMPLE.sub(lambda match: "\n" * match[0].count("\n"), code)
    for token in TOKEN.finditer(code):
        text = token["raw"] or re.sub(r'"\s*"', "", token["text"] or "")
        if OPTION.search(text) and not COMMAND.search(text):
            yield code.count("\n", 0, token.start()) + 1, OPTION.search(text)[0]


def main():
    # It can fail, and knows comments, numbers and commands.
    samples = {'f("give --num-threads")': 1, '// "--num-threads"\nf("a " "--on-" "error")': 2, 'f(1\'000, "tar --sort=name", "a -- b", x--)': 0}
    for code, line in samples.items():
        assert [place for place, _ in offences(code)] == ([line] if line else []), code
    found = 0
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*")):
            if path.suffix not in (".cpp", ".h", ".in") or not path.is_file():
                continue
            for line, option in offences(path.read_text()):
                print(f"{path.relative_to(ROOT)}:{line}: has '{option}' in a string; name the option by option_names.h")
                found += 1
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
