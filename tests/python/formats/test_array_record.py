"""Files of array_record, as its package writes them."""
import json

import pytest
from array_record.python import array_record_module

import ffkit
import ffkit.convert


def write(path, numbers):
    writer = array_record_module.ArrayRecordWriter(str(path), "group_size:1")
    for number in numbers:
        writer.write(json.dumps({"label": number, "text": f"record {number}"}).encode())
    writer.close()


def test_every_record_is_that_of_the_files(tmp_path):
    (tmp_path / "files").mkdir()
    for shard in range(4):
        write(tmp_path / f"files/set-train.array_record-{shard:05d}-of-00004", range(shard * 250, shard * 250 + 250))
    summary = ffkit.convert.from_array_record(tmp_path / "files", tmp_path / "set", json.loads, order="sequential", progress=False)
    assert summary.num_records == 1000
    for number, record in enumerate(ffkit.Dataset(tmp_path / "set", split="train")):
        assert record["label"] == number and record["text"] == f"record {number}"


def test_a_folder_without_files_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="has no files"):
        ffkit.convert.from_array_record(tmp_path, tmp_path / "set", json.loads)
