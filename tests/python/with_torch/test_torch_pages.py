"""The Python blocks of the pages for newcomers run, one after another, in the Python with torch; what a page says of itself is checked."""
import pathlib
import re

import pytest
import torch

import conftest
import ffkit

PAGES = pathlib.Path(__file__).parents[3] / "docs"


def blocks(page):
    """(line, code) of each block that is not marked as not run."""
    lines = (PAGES / f"{page}.md").read_text().split("\n")
    begin = None
    for i, line in enumerate(lines):
        if line == "```python":
            begin = i + 1
        elif line == "```" and begin is not None:
            if not lines[begin - 2].startswith("<!-- not run: "):
                yield begin, "\n".join(lines[begin:i])
            begin = None


@pytest.fixture
def fast(tmp_path):
    """A folder in place of /fast, /data and /tmp: the data sets that the pages name, of 60 and 21 pictures."""
    conftest.convert("demo", tmp_path / "pictures", "--classes", 4, "--images", 60, "--val-images", 21, "--size", 48, "--quiet")
    for name in ("imagenet", "pictures-400", "imagenet-wds", "mds", "hub", "tf"):
        (tmp_path / name).symlink_to("pictures")
    for seed, name in enumerate(("monday", "tuesday", "wednesday")):
        conftest.convert("demo", tmp_path / name, "--classes", 4, "--images", 8, "--val-images", 4, "--size", 48, "--seed", seed, "--quiet")
    (tmp_path / "run").mkdir()
    yield tmp_path
    ffkit.set_cache()


class Run:
    """What a page's blocks did, in which order they stand."""

    def __init__(self, page, fast):
        self.num_steps = self.num_seen = 0
        self.names = {"train_step": self.train_step, "count_right": lambda images, labels: int((labels >= 0).sum()), "ffkit": ffkit}
        torch.set_num_threads(1)
        found = list(blocks(page))
        assert found, f"docs/{page}.md has no block in Python that runs"
        for line, code in found:
            # Few pictures make small batches. Others than the data set's folders stay as they are.
            code = re.sub(r"(?<=\)), 256,", ", 8,", re.sub(r"(?<![\w.$])/(fast|data|tmp)/", f"{fast}/", code))
            exec(compile("\n" * line + code, f"docs/{page}.md", "exec"), self.names)

    def train_step(self, images, labels):
        assert images.shape[2:] == (224, 224) and len(images) == len(labels) and images.dtype in (torch.float32, torch.float16)
        self.num_steps += 1
        self.num_seen += len(labels)


def test_coming_from(fast):
    whole = Run("coming-from", fast)
    # ImageFolder's loop has two epochs of 60, and the one below it a third; the others drop the
    # last four pictures of each.
    assert whole.num_seen == 3 * 60 + 6 * 2 * 56
    # Validation has each picture once.
    assert whole.names["right"] == 21
    again = Run("coming-from", fast)
    # Each goes on where its last state was taken: behind the first step of the last epoch, or, of
    # MosaicML's and DALI's, behind the last one.
    assert again.num_seen == (60 - 8) + 60 + 4 * (56 - 8)


@pytest.mark.parametrize("page", ["install", "slow", "troubleshooting"])
def test_page(page, fast, capsys):
    run = Run(page, fast)
    if page == "troubleshooting":
        assert len(run.names["both"]) == 8 + 8 + 8  # Monday's has Tuesday's
        assert set(ffkit.Dataset(fast / "two-classes", "train").column("label")) == {0, 1}
    else:
        assert "-bound: " in capsys.readouterr().out


def test_blocks_that_do_not_run_say_why():
    """Only the other projects' own loaders."""
    marked = re.findall(r"<!-- not run: (.+) -->\n```python", (PAGES / "coming-from.md").read_text())
    assert len(marked) == 7 and all("own loader" in reason for reason in marked)
