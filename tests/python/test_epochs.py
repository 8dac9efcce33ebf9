"""Batches from Python are those of C++ to the byte."""
import os
import subprocess
import zlib

import numpy
import pytest

import epoch_cases
import ffkit
from conftest import by_topic


def contents(loader, case, copy):
    """The bytes of each array, batch by batch."""
    if case != "weighted_bf16":
        for batch in loader:
            for value in batch.values():
                yield "".join(value).encode() if isinstance(value, list) else numpy.ascontiguousarray(numpy.from_dlpack(value)).tobytes()
        return
    for _ in range(len(loader)):  # numpy has no bf16: the extension's batches give it as u16
        batch = loader._loader.next(copy)
        for i in range(len(batch.names)):
            yield batch.numpy(i).tobytes()
    assert list(loader) == []


@pytest.mark.parametrize("case", epoch_cases.CASES)
@pytest.mark.parametrize("copy", [False, True])
def test_an_epoch_has_the_bytes_of_cpp(data, case, copy):
    expected = subprocess.run([os.environ["FFKIT_EPOCH_HASH"], data, "train", case], check=True, capture_output=True, text=True).stdout.split(" ", 2)
    ds = ffkit.Dataset(data, "train")
    loader = ffkit.Loader(ds, **by_topic(**epoch_cases.arguments(case, ds), copy=copy), arrays="dlpack", num_threads=3)
    loader.set_epoch(2, restart=True)
    crc = num_bytes = 0
    for content in contents(loader, case, copy):
        crc = zlib.crc32(content, crc)
        num_bytes += len(content)
    assert num_bytes > 1000
    assert [str(crc), str(num_bytes)] == expected[:2]
    assert loader.state_dict() == {"state": expected[2].strip(), "epoch_finished": True}
