"""Every test that tests/hostile*.md name is there: Suite.Name of GoogleTest, or the name of a test of ctest's.

    named_tests_test.py SOURCE_DIR
"""

import pathlib
import re
import sys

source = pathlib.Path(sys.argv[1])
known = set()
for file in (source / "tests").rglob("*.cpp"):
    text = file.read_text(encoding="utf-8")
    known |= {f"{suite}.{name}" for suite, name in re.findall(r"^(?:TYPED_)?TEST(?:_F|_P)?\((\w+),\s*(\w+)\)", text, re.M)}
known |= {f"cli.{case.stem}" for case in (source / "tests/cli/cases").glob("*/*.sh")}
for file in (source / "tests").rglob("CMakeLists.txt"):
    known |= set(re.findall(r"add_test\(NAME ([\w.]+)\s", file.read_text(encoding="utf-8")))

pages = sorted((source / "tests").glob("hostile*.md"))
named = [(page, name) for page in pages for name in re.findall(r"`([A-Za-z_]\w*\.\w+)`", page.read_text(encoding="utf-8"))]
missing = [(page, name) for page, name in named if name not in known]
for page, name in missing:
    print(f"{page}: there is no test {name}")
if len(named) < 100:
    print(f"tests/hostile*.md: only {len(named)} tests are named")
sys.exit(1 if missing or len(named) < 100 else 0)
