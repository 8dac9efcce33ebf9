"""Every test that tests/hostile.md names is there: Suite.Name of GoogleTest, or the name of a test of ctest's.

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

page = source / "tests/hostile.md"
named = re.findall(r"`([A-Za-z_]\w*\.\w+)`", page.read_text(encoding="utf-8"))
missing = [name for name in named if name not in known]
for name in missing:
    print(f"{page}: there is no test {name}")
if len(named) < 100:
    missing.append("names")
    print(f"{page}: only {len(named)} tests are named")
sys.exit(1 if missing else 0)
