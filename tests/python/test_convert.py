"""ffkit.convert: what ffconvert does, from Python."""
import errno
import gzip
import io
import json
import os
import pickle
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

import ffkit
from ffkit import convert
from conftest import convert as ffconvert, files_of


def test_bytes_are_those_of_ffconvert(tmp_path):
    ffconvert("demo", tmp_path / "program", "--images", 50, "--val-images", 7, "--size", 32, "--seed", 3, "--store", "raw", "--zstd", 2)
    summary = convert.demo(tmp_path / "package", images=50, val_images=7, size=32, seed=3, store="raw", zstd=2, num_threads=2)
    assert files_of(tmp_path / "program") == files_of(tmp_path / "package")
    assert summary["train"].num_records == 50 and summary.num_records == 57 and summary.num_classes == 10
    assert summary["train"].fingerprint == ffkit.Dataset(tmp_path / "package", "train").fingerprint
    assert summary.file_bytes == sum(len(data) for name, data in files_of(tmp_path / "package").items() if name.endswith(".ffr"))
    estimate = convert.demo(tmp_path / "none", images=50, val_images=7, size=32, dry_run=True)
    assert estimate.is_estimate and estimate["train"].num_records == 50 and not (tmp_path / "none").exists()



def test_people_and_persons(tmp_path):
    convert.demo(tmp_path / "people", kind="pose", images=4, val_images=2, size=64)
    sample = ffkit.Dataset(tmp_path / "people", "train")[0]
    assert {"image", "box", "root_camera", "focal"} <= set(sample), sorted(sample)
    with pytest.raises(ValueError, match="min_depth has no effect without 'persons'"):
        convert.coco(tmp_path / "people", tmp_path / "dst", min_depth=3)
    with pytest.raises(ffkit.Error, match="does not contain mpii"):
        convert.coco(tmp_path / "people", tmp_path / "dst", persons="mpii", box_percent=130)


def test_categories_keep_their_ids(tmp_path):
    convert.demo(tmp_path / "demo", images=1, val_images=1, classes=2, size=32)
    image = ffkit.Dataset(tmp_path / "demo", "train")[0]["image"]
    for folder in ("src/train", "src/annotations"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "src/train/a.jpg").write_bytes(image)
    coco = {
        "images": [{"id": 1, "file_name": "a.jpg", "width": 32, "height": 32}],
        "annotations": [{"id": 7, "image_id": 1, "category_id": 90, "bbox": [1, 2, 3, 4]}],
        "categories": [{"id": 90, "name": "toothbrush"}, {"id": 3, "name": "car"}],
    }
    (tmp_path / "src/annotations/instances_train.json").write_text(json.dumps(coco))
    convert.coco(tmp_path / "src", tmp_path / "dst")
    dataset = ffkit.Dataset(tmp_path / "dst", "train")
    assert dataset.classes == ["car", "toothbrush"] and dataset.class_ids == [3, 90]
    assert dataset[0]["labels"].tolist() == [1] and dataset[0]["category_ids"].tolist() == [90]
    assert ffkit.Dataset(tmp_path / "demo", "train").class_ids == []
    coco["annotations"][0]["segmentation"] = [[4, 4, 12, 4, 12, 8, 4, 8]]
    (tmp_path / "src/annotations/instances_train.json").write_text(json.dumps(coco))
    convert.coco(tmp_path / "src", tmp_path / "masks", segmentation=["semantic", "instances"])
    PIL = pytest.importorskip("PIL.Image")
    sample = ffkit.Dataset(tmp_path / "masks", "train")[0]
    semantic, instances = (np.array(PIL.open(io.BytesIO(sample[name]))) for name in ("semantic", "instances"))
    assert semantic.dtype == np.uint8 and instances.dtype == np.uint16
    assert set(np.unique(semantic)) == {0, 90} and (semantic == 90).sum() == (instances == 1).sum() == 32
    PIL.fromarray(np.full((32, 32, 3), (7, 1, 0), np.uint8)).save(tmp_path / "src/a.png")
    coco["annotations"] = [{"image_id": 1, "file_name": "a.png", "segments_info": [{"id": 263, "category_id": 3, "bbox": [0, 0, 32, 32], "iscrowd": 0}]}]
    (tmp_path / "src/panoptic.json").write_text(json.dumps(coco))
    convert.coco(tmp_path / "src", tmp_path / "panoptic", annotations="panoptic.json", images="train", panoptic=tmp_path / "src")
    sample = ffkit.Dataset(tmp_path / "panoptic", "panoptic")[0]
    assert sample["panoptic"] == (tmp_path / "src/a.png").read_bytes() and sample["segment_ids"].tolist() == [263]
    with pytest.raises(ValueError, match="'mask' is unknown; the known names are semantic, instances, masks, json"):
        convert.coco(tmp_path / "src", tmp_path / "none", segmentation="mask")


def test_pairs(tmp_path):
    PIL = pytest.importorskip("PIL.Image")
    for kind in ("pictures", "masks"):
        (tmp_path / kind).mkdir()
    for i in range(3):
        PIL.fromarray(np.full((8, 12, 3), 20 * i, np.uint8)).save(tmp_path / f"pictures/{i}.jpg")
        PIL.fromarray(np.full((8, 12), 1000 * i, np.uint16)).save(tmp_path / f"masks/{i}_ids.png")
    (tmp_path / "val.txt").write_text("2\n0\n")
    folders = {"image": tmp_path / "pictures", "mask": str(tmp_path / "masks")}
    convert.pairs(tmp_path / "all", folders, suffix={"mask": "_ids"}, order="sequential")
    dataset = ffkit.Dataset(tmp_path / "all", "train")
    assert [sample["id"] for sample in dataset] == ["0.jpg", "1.jpg", "2.jpg"]
    assert dataset[2]["mask"] == (tmp_path / "masks/2_ids.png").read_bytes()
    convert.pairs(tmp_path / "list", {"image": "pictures", "mask": "masks"}, root=tmp_path, suffix={"mask": "_ids"}, list=tmp_path / "val.txt")
    assert [sample["id"] for sample in ffkit.Dataset(tmp_path / "list", "val")] == ["2.jpg", "0.jpg"]
    with pytest.raises(ValueError, match="give at least two"):
        convert.pairs(tmp_path / "none", {"image": "pictures"})
    with pytest.raises(ffkit.Error, match="no name appears in all folders.*give these ends with"):
        convert.pairs(tmp_path / "none", folders)
    with pytest.raises(TypeError, match="folders is 'pictures', expected mapping"):
        convert.pairs(tmp_path / "none", "pictures")
    (tmp_path / "pictures/3.jpg").write_bytes((tmp_path / "pictures/0.jpg").read_bytes())
    with pytest.raises(ffkit.Error, match="1 of 4 names lacks a file in one of the folders: '3' has no mask.*unpaired=\"skip\""):
        convert.pairs(tmp_path / "none", folders, suffix={"mask": "_ids"})
    notes = []
    assert convert.pairs(tmp_path / "some", folders, suffix={"mask": "_ids"}, unpaired="skip", on_note=notes.append).num_records == 3
    assert any("leaves out these names" in note for note in notes), notes
    with pytest.raises(ffkit.Error, match="no such folder.*give another folder with 'folders'"):
        convert.pairs(tmp_path / "none", layout="voc", root=tmp_path)
    with pytest.raises(ffkit.Error):
        convert.pairs(tmp_path / "none", folders, list=[tmp_path / "val.txt", tmp_path / "nowhere.txt"], suffix={"mask": "_ids"}, unpaired="skip")


def test_sources_with_files(tmp_path):
    PIL = pytest.importorskip("PIL.Image")
    for i in range(6):
        folder = tmp_path / "src" / f"class{i % 2}"
        folder.mkdir(parents=True, exist_ok=True)
        PIL.fromarray(np.full((40, 60, 3), 20 * i, np.uint8)).save(folder / f"{i}.jpg")
    (tmp_path / "src" / "class0" / "bad.jpg").write_bytes(b"no picture")
    with pytest.raises(ffkit.Error, match="bad.jpg"):
        convert.folder(tmp_path / "src", tmp_path / "dst")
    notes = []
    summary = convert.folder(tmp_path / "src", tmp_path / "dst", bad_samples="skip", max_resolution=30, on_note=notes.append)
    assert (summary.num_records, summary.num_skipped, summary.num_reported) == (6, 1, 1)
    assert summary.headers_only
    assert "bad.jpg" in json.loads((tmp_path / "dst" / "report.jsonl").read_text())["source"]
    assert all(ffkit.decode_image(sample["image"]).shape == (20, 30, 3) for sample in ffkit.Dataset(tmp_path / "dst", "train"))
    splits = {"splits": ["src"], "classes_from": "all", "bad_samples": "skip", "check_images": "decode", "on_note": notes.append}
    assert not convert.folder(tmp_path, tmp_path.parent / f"{tmp_path.name}-splits", **splits).headers_only
    (tmp_path / "lines.jsonl").write_text('{"tokens": [1, 2], "id": "a"}\n{"tokens": [3], "id": "b"}\n')
    convert.jsonl(tmp_path / "lines.jsonl", tmp_path / "lines", token_dtype="u16", order="sequential", on_note=notes.append)
    assert [sample["tokens"].tolist() for sample in ffkit.Dataset(tmp_path / "lines", "train")] == [[1, 2], [3]]
    convert.demo(tmp_path / "driving", kind="nuscenes", scenes=1, val_scenes=0, frames=2, size=64)
    assert "train_maps" in ffkit.splits(tmp_path / "driving")


def test_texts_as_people_have_them(tmp_path):
    corpus = tmp_path / "corpus" / "en"
    corpus.mkdir(parents=True)
    lines = [json.dumps({"text": f"document {i}", "x": [0.5 if i == 3 else i]}) for i in range(5)]
    with gzip.open(corpus / "c4-train.00000-of-00002.json.gz", "wt") as file:
        file.write("\n".join(lines[:3]) + '\n{"t": 1}\n')
    (corpus / "c4-train.00001-of-00002.json").write_text("[" + ",\n".join(lines[3:]) + "]")
    notes = []
    with pytest.raises(ffkit.Error, match="has no member 'text'"):
        convert.text(tmp_path / "corpus", tmp_path / "text", tokenizer="bytes", on_note=notes.append)
    summary = convert.text(tmp_path / "corpus", tmp_path / "text", tokenizer="bytes", bad_samples="skip", resume=True, on_note=notes.append)
    assert summary["train"].totals["num_documents"] == 5
    assert summary.reported == {"document left out": 1}
    assert any("1 compressed file " in note for note in notes), notes
    (corpus / "c4-train.00000-of-00002.json.gz").unlink()
    convert.jsonl(tmp_path / "corpus", tmp_path / "lines", order="sequential", on_note=notes.append)
    assert [sample["x"].tolist() for sample in ffkit.Dataset(tmp_path / "lines", "train")] == [[0.5], [4.0]]
    convert.jsonl(tmp_path / "corpus", tmp_path / "lines32", real_dtype="f32", on_note=notes.append)
    assert ffkit.Dataset(tmp_path / "lines32", "train")[0]["x"].dtype == np.float32


def test_wrong_use_is_refused(tmp_path):
    refused = [
        (TypeError, "no option 'treads'", lambda: convert.demo(tmp_path / "x", treads=2)),
        (ValueError, "raw_share works only", lambda: convert.demo(tmp_path / "x", raw_share=0.1)),
        (ValueError, "jpeg_quality works only", lambda: convert.demo(tmp_path / "x", jpeg_quality=10)),
        (ValueError, "'images' is 0", lambda: convert.demo(tmp_path / "x", images=0)),
        (ValueError, "has no effect", lambda: convert.demo(tmp_path / "x", scenes=3)),
        (ValueError, "'order' is", lambda: convert.demo(tmp_path / "x", order="random")),
        (ValueError, "shard_size is '5Q'", lambda: convert.demo(tmp_path / "x", shard_size="5Q")),
        (ValueError, "'seed' has no effect", lambda: convert.transcode(tmp_path, tmp_path / "x", store="dct", seed=1)),
        (FileNotFoundError, "no such folder", lambda: convert.imagenet(tmp_path / "none", tmp_path / "x")),
        (ValueError, "'transfer' is", lambda: convert.merge(tmp_path / "x", [tmp_path], transfer="steal")),
    ]
    for error, text, call in refused:
        with pytest.raises(error, match=text):
            call()
        assert not (tmp_path / "x").exists()


LIMITED = """
import pickle, resource, sys
import ffkit
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
try:
    ffkit.convert.demo(sys.argv[1], images=400, val_images=0, size=128, order="sequential")
except ffkit.IoError as error:
    sys.stdout.buffer.write(pickle.dumps(error))
"""


def test_an_error_of_the_system_keeps_its_number_its_file_and_its_remedy(tmp_path):
    told = subprocess.run([sys.executable, "-c", LIMITED, str(tmp_path / "dst")], capture_output=True, check=True)
    error = pickle.loads(told.stdout)
    assert isinstance(error, OSError) and error.errno == errno.EFBIG and error.code == "io"
    assert error.path.startswith(str(tmp_path / "dst")) and ".ffr" in error.path
    assert error.remedy.startswith("raise the limit")
    assert "give a smaller shard_size" in error.remedy and error.remedy in str(error) and "--" not in str(error)


def test_what_remains_to_be_done_is_told_in_pythons_words(tmp_path):
    lines = tmp_path / "in.jsonl"
    lines.write_text("".join(f'{{"x": "{"a" * 1000}"}}\n' for _ in range(3000)) + "nonsense\n")
    with pytest.raises(ffkit.CorruptError) as bad:
        convert.jsonl(lines, tmp_path / "dst", shard_size="1M", order="sequential")
    assert bad.value.subject == "sample" and bad.value.path == f"{lines}:3001"
    assert bad.value.remedy.endswith('run the conversion again with bad_samples="skip" and resume=True to continue')
    convert.jsonl(lines, tmp_path / "dst", shard_size="1M", order="sequential", bad_samples="skip", resume=True)


def test_transcode_merge_append_and_v1(tmp_path, data):
    convert.transcode(data, tmp_path / "dct", store="dct")
    convert.transcode(tmp_path / "dct", tmp_path / "jpeg", store="jpeg")
    assert ffkit.Dataset(tmp_path / "jpeg", "train").fingerprint == ffkit.Dataset(data, "train").fingerprint
    assert (tmp_path / "dct/train/shard-00000.ffr").read_bytes() != (data / "train/shard-00000.ffr").read_bytes()
    for part in (1, 2):
        convert.demo(tmp_path / f"part{part}", images=500, val_images=0, size=48, shard_size="1M", part=f"{part}/2")
    merged = convert.merge(tmp_path / "whole", [tmp_path / "part2", tmp_path / "part1"])
    assert merged["train"].num_records == 500
    for name in ("one", "two"):
        convert.demo(tmp_path / name, images=10, val_images=0, size=32, seed=len(name) + (name == "two"))
    assert convert.append(tmp_path / "one", [tmp_path / "two"])["train"].num_records == 20
    convert.v1(data, tmp_path / "v1", on_note=print)
    assert (tmp_path / "v1/train.ffr/PART_00000.ffr").exists()
    with pytest.raises(ValueError, match="already is"):
        convert.v1(tmp_path / "v1", tmp_path / "back", payload="raw")
    convert.v1(tmp_path / "v1", tmp_path / "back")
    assert ffkit.Dataset(tmp_path / "back", "train")[5]["image"] == ffkit.Dataset(data, "train")[5]["image"]


def test_parts_find_their_number_and_the_last_one_merges(tmp_path, monkeypatch):
    for name in ("SLURM_PROCID", "SLURM_JOB_ID", "PMI_RANK", "PMIX_RANK", "RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)

    def make(name, **options):
        return convert.demo(tmp_path / name, images=1200, val_images=0, size=64, shard_size="1M", num_threads=1, on_note=notes.append, **options)

    notes = []
    whole = make("whole")
    with pytest.raises(ValueError, match='or give the part as part="i/n"'):
        make("set", part="auto")
    with pytest.raises(ValueError, match="there are no parts to merge without 'part'"):
        make("set", merge_when_complete=True)
    monkeypatch.setenv("SLURM_STEP_ID", "0")
    monkeypatch.setenv("SLURM_NTASKS", "2")
    monkeypatch.setenv("SLURM_PROCID", "1")
    first = make("set", part="auto", merge_when_complete=True)
    assert (first.num_parts, first.num_finished_parts, first.merged) == (2, 1, ())
    with pytest.raises(ValueError, match="has not finished"):
        ffkit.Dataset(tmp_path / "set", "train")
    monkeypatch.setenv("SLURM_PROCID", "0")
    last = make("set", part="auto", merge_when_complete=True)
    assert notes == ["part 2 of 2, from SLURM_PROCID", "part 1 of 2, from SLURM_PROCID"]
    assert last.merged == whole.splits and last.num_finished_parts == 2
    assert (tmp_path / "set/train/manifest.json").read_bytes() == (tmp_path / "whole/train/manifest.json").read_bytes()
    assert make("set", part="auto", merge_when_complete=True, resume=True).was_finished


def test_progress_comes_to_the_calling_thread(tmp_path):
    updates, threads = [], set()

    def tell(update):
        updates.append(update)
        threads.add(threading.get_ident())

    convert.demo(tmp_path / "dst", images=400, val_images=0, size=32, progress=tell)
    assert threads == {threading.get_ident()}
    assert updates[-1]["num_done"] <= updates[-1]["num_samples"] == 400
    assert [update["num_done"] for update in updates] == sorted(update["num_done"] for update in updates)

    def stop(update):
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        convert.demo(tmp_path / "stopped", images=4000, val_images=0, size=32, progress=stop)
    with pytest.raises(ffkit.Error):
        ffkit.Dataset(tmp_path / "stopped", "train")


def test_python_runs_meanwhile(tmp_path):
    counted = 0
    is_done = threading.Event()

    def count():
        nonlocal counted
        while not is_done.wait(0.001):
            counted += 1

    thread = threading.Thread(target=count)
    thread.start()
    convert.demo(tmp_path / "dst", images=300, val_images=0, size=64)
    is_done.set()
    thread.join()
    assert counted > 10  # with the GIL held it would be none


def test_ctrl_c_stops_and_resume_goes_on(tmp_path):
    code = """
import os, signal, sys
from ffkit import convert
def stop(update):
    if update["num_done"] > 300:
        os.kill(os.getpid(), signal.SIGINT)
try:
    convert.demo(sys.argv[1], images=600, val_images=0, size=64, shard_size="1M", progress=stop)
except KeyboardInterrupt:
    sys.exit(42)
"""
    dst = tmp_path / "dst"
    assert subprocess.run([sys.executable, "-c", code, str(dst)], timeout=60).returncode == 42
    assert list(dst.glob("train/shard-*.ffr"))
    with pytest.raises(ffkit.Error, match="has not finished"):
        ffkit.Dataset(dst, "train")
    notes = []
    convert.demo(dst, images=600, val_images=0, size=64, shard_size="1M", resume=True, on_note=notes.append)
    assert any("are finished; continuing" in note for note in notes)
    ffconvert("demo", tmp_path / "whole", "--images", 600, "--val-images", 0, "--size", 64, "--shard-size", "1M")
    assert files_of(dst) == files_of(tmp_path / "whole")


class Numbers(convert.Source):
    schema = {"image": "image", "label": "i64", "id": "string"}
    classes = ("even", "odd")

    def splits(self):
        return {"train": 100, "val": 10}

    def read(self, split, index):
        if split == "train" and index == 40:
            raise LookupError("number 40 is missing")
        return {"image": np.full((8, 8, 3), index, np.uint8), "label": index % 2, "id": f"{split}{index}"}


def test_a_source_of_python(tmp_path):
    with pytest.raises(LookupError, match="number 40 is missing") as caught:
        convert.from_source(Numbers(), tmp_path / "dst")
    assert "train[40]" in "".join(getattr(caught.value, "__notes__", caught.value.args))  # Python 3.10 has no notes
    assert not (tmp_path / "dst").exists()
    for threads in (1, 3):
        summary = convert.from_source(Numbers(), tmp_path / str(threads), bad_samples="skip", num_threads=threads, seed=5)
        assert summary["train"].num_skipped == 1 and summary["val"].num_records == 10
    assert files_of(tmp_path / "1") == files_of(tmp_path / "3")
    train = ffkit.Dataset(tmp_path / "1", "train")
    ids = train.column("id")
    assert sorted(ids) == sorted(f"train{i}" for i in range(100) if i != 40) and ids != sorted(ids, key=lambda name: int(name[5:]))
    assert train.classes == ["even", "odd"]
    assert "LookupError" in (tmp_path / "1/report.jsonl").read_text()
    sample = train[0]
    assert (ffkit.decode_image(sample["image"]) == int(sample["id"][5:])).all()


class Pairs:
    """A map-style data set of tuples."""

    classes = ["a", "b"]

    def __len__(self):
        return 40

    def __getitem__(self, index):
        if not 0 <= index < 40:
            raise IndexError(index)
        return np.full((4, 4), index, np.float32), index % 2


def test_map_style_data_sets(tmp_path):
    updates = []
    summary = convert.from_torch(Pairs(), tmp_path / "dst", fields=("points", "label"), progress=updates.append)
    assert summary.num_records == 40 and updates[-1]["num_done"] == 40
    train = ffkit.Dataset(tmp_path / "dst", "train")
    order = [int(sample["points"][0, 0]) for sample in train]
    assert sorted(order) == list(range(40)) and order != sorted(order) and train.classes == ["a", "b"]
    convert.from_torch(Pairs(), tmp_path / "again", fields=("points", "label"), num_threads=1)
    assert files_of(tmp_path / "dst") == files_of(tmp_path / "again")
    convert.from_torch(Pairs(), tmp_path / "dst", split="val", to_sample=lambda item: {"label": item[1], "x": item[0]})
    assert [int(sample["x"][0, 0]) for sample in ffkit.Dataset(tmp_path / "dst", "val")] == list(range(40))
    with pytest.raises(TypeError, match="expected a dict or a tuple of the fields a"):
        convert.from_torch(Pairs(), tmp_path / "bad", fields=("a",))
    assert not (tmp_path / "bad").exists()


def test_hugging_face(tmp_path):
    """Stored bytes are kept, and the names of the classes found."""
    PIL = pytest.importorskip("PIL.Image")
    hub = pytest.importorskip("datasets")
    PIL.fromarray(np.zeros((9, 8, 3), np.uint8)).save(tmp_path / "0.jpg", quality=33)
    stored = (tmp_path / "0.jpg").read_bytes()
    features = hub.Features({"image": hub.Image(), "label": hub.ClassLabel(names=["cat", "dog"]), "caption": hub.Value("string")})
    rows = {"image": [{"bytes": stored, "path": None}, {"bytes": None, "path": str(tmp_path / "0.jpg")}], "label": [1, 0], "caption": ["x", "y"]}
    convert.from_torch(hub.Dataset.from_dict(rows, features=features), tmp_path / "out", order="sequential")
    written = ffkit.Dataset(tmp_path / "out", "train")
    assert written.classes == ["cat", "dog"]
    assert list(written) == [{"image": stored, "label": 1, "caption": "x"}, {"image": stored, "label": 0, "caption": "y"}]


def test_notes_are_warnings(tmp_path):
    PIL = pytest.importorskip("PIL.Image")
    for name in ("a", "b"):
        (tmp_path / "src" / name).mkdir(parents=True)
        PIL.fromarray(np.zeros((4, 4, 3), np.uint8)).save(tmp_path / "src" / name / "1.png")
    (tmp_path / "src" / "a" / "notes.txt").write_text("x")
    with pytest.warns(UserWarning, match="it is not a picture") as caught:
        convert.folder(tmp_path / "src", tmp_path / "dst")
    assert caught[0].filename == __file__
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_errors_and_notes_name_options_as_python_does(tmp_path):
    lines, deep, empty = tmp_path / "lines", tmp_path / "deep", tmp_path / "empty"
    for folder in (lines, deep / "one" / "two", empty):
        folder.mkdir(parents=True)
    (lines / "a.jsonl").write_text('{"text": "a"}\n')
    (deep / "three" / "four").mkdir(parents=True)
    for file in ("one/two/a.jpg", "three/four/b.jpg"):
        (deep / file).write_bytes(b"\xff\xd8\xff\xe0 and no picture")
    wrong = {
        "a text source needs 'tokenizer'": lambda: convert.text(lines, tmp_path / "dst"),
        "give the ending of the text files with 'ending'": lambda: convert.text(lines, tmp_path / "dst", tokenizer="bytes", tokens_field="t", ending=".txt"),
        "'document' is 'page'": lambda: convert.text(lines, tmp_path / "dst", tokenizer="bytes", document="page"),
        "token_dtype is 'u8'": lambda: convert.jsonl(lines, tmp_path / "dst", token_dtype="u8"),
        "raise the limit with max_line_bytes": lambda: convert.jsonl(long_line(tmp_path), tmp_path / "dst", max_line_bytes=1024),
        "'annotations' and 'images'": lambda: convert.coco(empty, tmp_path / "dst", annotations="a.json"),
        "with 'annotations' and 'images'": lambda: convert.coco(empty, tmp_path / "dst"),
        '\'protocol\' has no effect without persons="human36m"': lambda: convert.coco(empty, tmp_path / "dst", persons="mpii", protocol=1),
        "keyframes_only=True": lambda: convert.nuscenes(empty, tmp_path / "dst", sweeps=3, keyframes_only=True),
        "radar_filter": lambda: convert.nuscenes(empty, tmp_path / "dst", radar_filter="some"),
        '\'scenes\' has no effect with kind="pictures"': lambda: convert.demo(tmp_path / "dst", scenes=3),
        "'splits': 'trian' is unknown": lambda: convert.imagenet(empty, tmp_path / "dst", splits="trian"),
        "leave out 'exif'": lambda: convert.nuscenes(empty, tmp_path / "dst", exif="apply"),
    }
    for words, call in wrong.items():
        with pytest.raises(ffkit.Error) as raised:
            call()
        assert words in str(raised.value) and "--" not in str(raised.value), raised.value
    notes = []
    with pytest.raises(ffkit.Error):
        convert.folder(deep, tmp_path / "dst", on_note=notes.append)
    assert any("with 'splits'" in note for note in notes) and not any("--" in note for note in notes), notes


def long_line(folder):
    (folder / "long.jsonl").write_text('{"text": "' + "a" * 2000 + '"}\n')
    return folder / "long.jsonl"


def test_a_log_file_gets_a_line_now_and_then(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("ffkit._convert_options.LOG_INTERVAL", 0.0)
    convert.demo(tmp_path / "a", images=40, val_images=0, classes=2)
    assert "train 100 %  40 of 40 samples" in capsys.readouterr().err
    monkeypatch.setattr("ffkit._convert_options.LOG_INTERVAL", 30.0)
    convert.demo(tmp_path / "b", images=40, val_images=0, classes=2)
    assert "of 40" not in capsys.readouterr().err
