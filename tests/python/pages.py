"""The Python blocks of README.md and docs/, and how tests run them."""
import pathlib
import re

import conftest

ROOT = pathlib.Path(__file__).parents[2]


def file_of(page):
    return ROOT / "README.md" if page == "README" else ROOT / "docs" / f"{page}.md"


def blocks(page):
    """(line, code) of each block that is not marked as not run."""
    lines = file_of(page).read_text().split("\n")
    begin = None
    for i, line in enumerate(lines):
        if line == "```python":
            begin = i + 1
        elif line == "```" and begin is not None:
            if not lines[begin - 2].startswith("<!-- not run: "):
                yield begin, "\n".join(lines[begin:i])
            begin = None


def small(code, folder):
    """`code` with folders and a bucket of this test, batches of two, two epochs, and the processor for the GPU."""
    code = re.sub(r"(?<![\w.$])/(fast|data|tmp)/", rf"{folder}/\1/", code).replace("s3://bucket/", f"file://{folder}/bucket/")
    code = re.sub(r'(ffkit\.Loader\((?:\w+|ffkit\.Dataset\([^)]*\)), )\d+', r"\g<1>2", code)
    code = re.sub(r"(batch_size=|DataLoader\(\w+, )\d+", r"\g<1>2", code)
    return code.replace("loader.epoch, 90", "loader.epoch, 2").replace("max_epochs=90", "max_epochs=1").replace('"cuda"', '"cpu"')


def run(page, folder, names, before=None):
    """Runs a page's blocks one after another with `names`; before(i) is called before the i-th. Returns the names."""
    found = list(blocks(page))
    assert found, f"{file_of(page)} has no block in Python that runs"
    for i, (line, code) in enumerate(found):
        if before:
            before(i)
        exec(compile("\n" * line + small(code, folder), str(file_of(page)), "exec"), names)
    return names


def make_folders(folder):
    """fast/imagenet of 24 and 8 pictures, data/imagenet as the archives unpack, a bucket."""
    for name in ("fast", "data", "tmp", "bucket"):
        (folder / name).mkdir()
    conftest.convert("demo", folder / "fast/imagenet", "--classes", 3, "--images", 24, "--val-images", 8, "--size", 48, "--quiet")
