"""The Python blocks of the pages for newcomers run, one after another, in the Python with torch; what a page says of itself is checked."""
import pathlib
import re

import pytest
import torch

import conftest
import ffkit
from pages import blocks

PAGES = pathlib.Path(__file__).parents[3] / "docs"


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
        if page.startswith("coming-from-"):
            found.insert(0, next(blocks("coming-from")))  # their blocks begin with its first one
        for line, code in found:
            # Few pictures make small batches. Others than the data set's folders stay as they are.
            code = re.sub(r"(?<=\)), 256,", ", 8,", re.sub(r"(?<![\w.$])/(fast|data|tmp)/", f"{fast}/", code))
            exec(compile("\n" * line + code, f"docs/{page}.md", "exec"), self.names)

    def train_step(self, images, labels):
        assert images.shape[2:] == (224, 224) and len(images) == len(labels) and images.dtype in (torch.float32, torch.float16)
        self.num_steps += 1
        self.num_seen += len(labels)


def test_coming_from(fast):
    # ImageFolder's loop has two epochs of 60; the others drop the last four pictures of each. Each
    # goes on where its last state was taken: behind the first step of the last epoch, or, of
    # MosaicML's and DALI's, behind the last one.
    for page, num_first, num_again in (
        ("coming-from", 2 * 60 + 2 * 56, (60 - 8) + (56 - 8)),
        ("coming-from-shards", 2 * 2 * 56, 56 - 8),
        ("coming-from-pipelines", 3 * 2 * 56, 2 * (56 - 8)),
    ):
        whole = Run(page, fast)
        assert whole.num_seen == num_first
        # Validation has each picture once.
        assert whole.names["right"] == 21
        assert Run(page, fast).num_seen == num_again


@pytest.mark.parametrize("page", ["install", "slow", "faq", "keeping", "nuscenes"])
def test_page(page, fast, capsys):
    if page == "nuscenes":
        conftest.convert("demo", fast / "nuscenes", "--kind", "nuscenes", "--scenes", 1, "--val-scenes", 1, "--frames", 4, "--quiet")
    run = Run(page, fast)
    if page == "faq":
        assert len(run.names["both"]) == 8 + 8 + 8  # Monday's has Tuesday's
        assert set(ffkit.Dataset(fast / "two-classes", "train").column("label")) == {0, 1}
    elif page == "keeping":
        assert ffkit.Dataset(fast / "imagenet-2", "train").column("label")[0] == 1
        assert len(run.names["free"]) == 1
    elif page == "nuscenes":
        batch = run.names["batch"]
        assert batch["images"].shape[:3] == (4, 6, 3) and batch["boxes"].shape[1] == 9
    else:
        assert "-bound: " in capsys.readouterr().out


def test_blocks_that_do_not_run_say_why():
    """Only the other projects' own loaders."""
    pages = "".join(path.read_text() for path in sorted(PAGES.glob("coming-from*.md")))
    marked = re.findall(r"<!-- not run: (.+) -->\n```python", pages)
    assert len(marked) == 7 and all("own loader" in reason for reason in marked)
