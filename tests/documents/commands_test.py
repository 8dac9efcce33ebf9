"""Runs the commands of README.md and docs/*.md, each document from a fresh folder, with the programs found through PATH.

    commands_test.py SOURCE_DIR PROGRAMS_DIR MAKE_NUSCENES_ROOT [DOCUMENT...]

Every ```sh block is run, unless the line before it is a comment <!-- not run: reason -->. /data, /fast and /tmp become folders with tiny
made-up data sets, and training is made tiny by options behind those of the command, of which the last counts. Beside that, every option
that stands in code, in a block or in a sentence, must be in the help of a program, and the pages of options must be made from it.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import struct
import sys
import tarfile
import tempfile
import time
import zlib

import other_files

source, programs, make_nuscenes_root = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
documents = [source / name for name in sys.argv[4:]] or [source / "README.md", *sorted((source / "docs").glob("*.md"))]
has_trainer = (programs / "fftrain").exists()

# The last of several counts. The epochs are of a run that begins; one that continues gets one more.
TINY = "--arch mobilenet_v3_small --image-size 32 --eval-size 32 --eval-resize 32 --batch-size 4 --global-batch-size 4 --limit-batches 1 " \
       "--compute-threads 1 --num-threads 1 --progressive-size 0 --warmup-epochs 0 --device cpu"
WRAPPERS = {
    "fftrain": f"""#!/bin/bash
tiny=({TINY} --epochs 1)
for argument in "$@"; do
  case $argument in --resume-from) tiny+=(--epochs 2) ;; --nproc) tiny+=(--nproc 1) ;; esac
done
exec {programs}/fftrain "$@" "${{tiny[@]}}"
""",
    # A data set of one shard has no parts.
    "ffconvert": f"""#!/bin/bash
case " $* " in *" --part "*) set -- "$@" --shard-size 1M ;; esac
exec {programs}/ffconvert "$@"
""",
}
# nuScenes' made-up set has the names of the small one.
RENAMED = {"v1.0-trainval": "v1.0-mini", "nuscenes --split val": "nuscenes --split mini_val", "--record 17 --output scene": "--record 0 --output scene",
           "--record 17 --results": "--record 0 --results"}
# Options of other programs that the documents name.
OTHERS = {"--full", "--preset", "--build", "--target", "--install", "--prefix", "--no-torch", "--no-packages", "--recipe", "--rm", "--gpus", "--shm-size", "--reference", "--work", "--nnodes",
          "--nproc-per-node", "--model", "--ckpt", "--frameworks", "--bf16", "--python", "--rdzv-backend", "--rdzv-endpoint", "--no-python", "--requeue", "--signal", "--logdir", "--nv",
          "--bind", "--cpus-per-task", "--folder", "--record-bytes", "--batch", "--cold", "--machine", "--wheel", "--parquet", "--pack-label",
          "--array", "--ntasks", "--ntasks-per-node", "--gpus-per-task", "--open-mode", "--engines", "--spark", "--train", "--no-deps", "--development", "--branch", "--add", "--add-addresses", "--table", "--check", "--write"}


def call(*command, **options):
    return subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE, **options).stdout


def blocks(text):
    """The sh blocks, as (line number, commands); those that are not run as (line number, None)."""
    lines = text.split("\n")
    begin = None
    for i, line in enumerate(lines):
        if line == "```sh":
            begin = i + 1
        elif line == "```" and begin is not None:
            marked = re.fullmatch(r"<!-- not run: .+ -->", lines[begin - 2])
            yield begin, None if marked else "\n".join(lines[begin:i])
            begin = None


def grey_png(width, height):
    def chunk(name, content):
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes((width + 1) * height))) + chunk(b"IEND", b"")


def make_data(root):
    """Tiny data sets, by the paths that the documents use."""
    data, pool = root / "data", root / "pool"
    data.mkdir()
    demo = [programs / "ffconvert", "demo", pool, "--quiet", "--size", "32", "--classes", "3", "--images", "24", "--val-images", "24"]
    call(*demo)
    call(programs / "ffinspect", "export", pool, data / "pictures")
    wnids = ["n01440764", "n01443537", "n01484850"]
    for split in ("train", "val"):
        for wnid, folder in zip(wnids, sorted((data / "pictures" / split).iterdir())):
            target = data / "imagenet" / split / wnid
            target.mkdir(parents=True)
            for picture in folder.iterdir():
                # Bytes behind a picture count for nothing; here they make five shards, for a
                # conversion in parts.
                (target / f"{picture.stem}.JPEG").write_bytes(picture.read_bytes() + bytes(220_000 if split == "train" else 0))
    picture = next((data / "pictures/val").rglob("*.jpg"))
    wds = data / "imagenet-wds"
    wds.mkdir()
    (root / "label.cls").write_text("1")
    with tarfile.open(wds / "train-000000.tar", "w") as tar:
        tar.add(picture, "a.jpg")
        tar.add(root / "label.cls", "a.cls")
    (data / "imagenet-tfrecord").mkdir()
    (data / "imagenet-tfrecord/train-00000-of-00001").write_bytes(other_files.tfrecord(picture.read_bytes(), 1))
    for split in ("train", "val"):
        other_files.write_mds(data / "imagenet-mds" / split, picture.read_bytes(), 1)
        other_files.write_litdata(data / "imagenet-chunks" / split, picture.read_bytes(), 1)
    (data / "tokens").mkdir()
    (data / "tokens/train.jsonl").write_text('{"tokens": [1, 2]}\n{"tokens": [3]}\n')
    (data / "coco/annotations").mkdir(parents=True)
    (data / "coco/val2017").mkdir()
    shutil.copy(picture, data / "coco/val2017/1.jpg")
    (data / "coco/annotations/instances_val2017.json").write_text(json.dumps(
        {"images": [{"id": 1, "file_name": "1.jpg", "width": 32, "height": 32}], "categories": [{"id": 1, "name": "dog"}],
         "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 2, 3, 4], "area": 12, "iscrowd": 0, "segmentation": []}]}))
    voc = "VOCdevkit/VOC2012"
    for folder in ("coco8/images/train", "coco8/labels/train", f"{voc}/JPEGImages", f"{voc}/Annotations", f"{voc}/ImageSets/Main"):
        (data / folder).mkdir(parents=True)
    for folder in ("coco8/images/train", f"{voc}/JPEGImages"):
        shutil.copy(picture, data / folder / "1.jpg")
    (data / "coco8/data.yaml").write_text("train: images/train\nnames: [dog]\n")
    (data / "coco8/labels/train/1.txt").write_text("0 0.1 0.1 0.9 0.1 0.5 0.9\n")
    (data / voc / "ImageSets/Main/trainval.txt").write_text("1\n")
    box = "<bndbox><xmin>1</xmin><ymin>2</ymin><xmax>9</xmax><ymax>9</ymax></bndbox>"
    (data / voc / "Annotations/1.xml").write_text(f"<annotation><object><name>dog</name>{box}</object></annotation>")
    for folder, name, content in (("pictures", "1.jpg", picture.read_bytes()), ("masks", "1.png", grey_png(32, 32))):
        (data / "street" / folder).mkdir(parents=True)
        (data / "street" / folder / name).write_bytes(content)
    call(make_nuscenes_root, data / "nuscenes")
    (data / "books").mkdir()
    for name in ("train", "val"):
        (data / "books" / f"{name}.jsonl").write_text("".join(json.dumps({"text": f"Page {page} of a book."}) + "\n" for page in range(40)))
    shutil.copytree(source / "tests/golden/tokenizer", data / "gpt2")
    ready = root / "ready"
    call(programs / "ffconvert", "imagenet", data / "imagenet", ready / "imagenet", "--quiet")
    call(programs / "ffconvert", "v1", ready / "imagenet", data / "imagenet-v1", "--quiet")
    call(programs / "ffconvert", "nuscenes", data / "nuscenes", ready / "nuscenes", "--quiet")
    call(programs / "ffconvert", "text", data / "books", ready / "books", "--tokenizer", "bytes", "--quiet")
    call(programs / "ffinspect", "export", ready / "nuscenes", root / "keyframes", "--split", "mini_val")
    demo[2], demo[3:] = ready / "flowers", demo[3:]
    for seed, name in enumerate(["flowers", "monday", "tuesday", "wednesday"], 1):  # 0 are the pictures
        demo[2] = ready / name
        call(*demo, "--seed", seed)
    tokens = {path.read_text() for path in (root / "keyframes").glob("mini_val/*/token.txt")}
    assert tokens, "the made-up nuScenes set has no tokens"
    (root / "detections.json").write_text(json.dumps({"meta": {}, "results": {token.strip(): [] for token in tokens}}))
    if has_trainer:
        train = [programs / "fftrain", *TINY.split()]
        call(*train, "--data", ready / "imagenet", "--epochs", 1, "--work-dir", root / "weights")
        call(*train, "--export", root / "weights", "--output", root / "resnet50.pth")


def make_folder(root, name, commands):
    """A fresh folder with what a user has beside the documents; /fast holds what the document does not make itself."""
    folder = root / "pages" / name
    folder.mkdir(parents=True)
    (folder / "trainer").symlink_to(source / "trainer")
    shutil.copytree(root / "data/pictures", folder / "my-pictures")
    shutil.copytree(root / "data/pictures", folder / "cifar10")
    (folder / "numbers.txt").write_text("0\n2\n")
    for file in ("detections.json", "resnet50.pth"):
        if (root / file).exists():
            shutil.copy(root / file, folder)
    shutil.rmtree(root / "fast", ignore_errors=True)
    (root / "fast").mkdir()
    (root / "tmp").mkdir(exist_ok=True)
    made = set(re.findall(r"^ffconvert (?!merge|append)\S+ (?:\S+ )?/fast/([\w-]+)", commands, re.MULTILINE))
    for ready in (root / "ready").iterdir():
        if ready.name not in made:
            shutil.copytree(ready, root / "fast" / ready.name)
    return folder


def run_document(root, document):
    """The failures, as sentences."""
    text = document.read_text()
    found = list(blocks(text))
    folder = make_folder(root, document.stem, "\n".join(commands or "" for _, commands in found))
    environment = {**os.environ, "XDG_CACHE_HOME": f"{root}/cache", "PATH": f"{root}/bin:{programs}:{os.environ['PATH']}"}
    failures = []
    for line, commands in found:
        if commands is None or (not has_trainer and "fftrain" in commands):
            continue
        commands = re.sub(r"(?<![\w.$])/(data|fast|tmp)/", rf"{root}/\1/", commands)
        for name, other in RENAMED.items():
            commands = commands.replace(name, other)
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", commands], cwd=folder, env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True)
        if done.returncode != 0:
            failures.append(f"{document.name}:{line}: exit status {done.returncode} of\n{commands}\n{done.stdout[-1500:]}")
    return failures


def known_options():
    options = set(OTHERS)
    for name in ("ffconvert", "ffinspect", "ffeval", "fftrain", "ffgenerate"):
        if not (programs / name).exists():
            continue
        text = call(programs / name, "--help", text=True)
        listed = text.split("Subcommands:\n")[1].split("\n\n")[0] if "Subcommands:\n" in text else ""
        for command in re.findall(r"^  (\w+)", listed, re.MULTILINE):
            text += call(programs / name, command, "--help", text=True)
        if name == "fftrain":
            for task in ("classification", "bevformer", "rootnet", "gpt2"):
                text += call(programs / name, "--task", task, "--help", text=True)
        options |= set(re.findall(r"--[a-z][a-z0-9-]*", text))
    return options | {"--order", "--bad-samples"}


def unknown_options(document, known):
    code = re.findall(r"```sh\n(.*?)```", document.read_text(), re.DOTALL)
    code += re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", document.read_text(), flags=re.DOTALL))
    named = {option for text in code for option in re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", text)}
    return [f"{document.name}: no program has the option {option}" for option in sorted(named - known)]


def main():
    failures = []
    with tempfile.TemporaryDirectory(prefix="ffkit-documents-") as name:
        root = pathlib.Path(name)
        (root / "bin").mkdir()
        for program, text in WRAPPERS.items():
            if (programs / program).exists():
                (root / "bin" / program).write_text(text)
                (root / "bin" / program).chmod(0o755)
        if has_trainer:
            made = subprocess.run([source / "tools/maintain/options-pages", "--check", programs], stderr=subprocess.PIPE, text=True)
            failures += made.stderr.splitlines()
        begin = time.monotonic()
        make_data(root)
        print(f"{time.monotonic() - begin:5.1f} s  made-up data")
        known = known_options()
        for document in documents:
            begin = time.monotonic()
            failures += run_document(root, document)
            if has_trainer:
                failures += unknown_options(document, known)
            print(f"{time.monotonic() - begin:5.1f} s  {document.relative_to(source)}", flush=True)
    if failures:
        sys.exit("\n".join(["FAILED", *failures]))


main()
