"""The pictures that the tests inside frameworks load; `from pictures import data` makes it a fixture of a file."""
import pytest
import torch

import conftest


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """61 pictures for training and 21 for validation, which neither two ranks nor batches share evenly."""
    folder = tmp_path_factory.mktemp("pictures") / "demo"
    conftest.convert("demo", folder, "--classes", 4, "--images", 61, "--val-images", 21, "--size", 32, "--quiet")
    torch.set_num_threads(1)
    return folder
