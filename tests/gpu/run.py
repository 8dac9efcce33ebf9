#!/usr/bin/env python3
"""Checks ffkit on a machine with a GPU, in a folder that tools/gpu-check has packed. Nothing is installed or fetched.

    python3 run.py              all of it, in 10 minutes at most; needs torch 2.11 for Python 3.12, with torchvision and scipy for its speeds
    python3 run.py --dry-run    on any machine: the parts that need no GPU, which the table says of the others
    python3 run.py --part speed Python   these parts alone

Prints a table, and writes it to table.txt (--table FILE). Ends with 1 where something is wrong, 0 else. What was not checked on a machine with a GPU is wrong.
"""
import argparse
import concurrent.futures
import functools
import importlib.util
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
MOST_BYTES = 60_000_000
SECONDS = 570  # of all checks; 600 are promised
TORCH = "2.11.0"
# What every system has, and CUDA's, which torch brings or finds.
SYSTEM = re.compile(r"lib(c|m|dl|rt|pthread|resolv|gcc_s|stdc\+\+|mvec|atomic|util)\.so|lib(cu|nv|nccl)")
# Dense bf16 of the card, for the share of it that a training uses.
PEAK_TFLOPS = {"H100 PCIe": 756, "H100": 989, "H200": 989, "A100": 312, "B200": 2250, "L40S": 362}


class Wrong(Exception):
    """What a check found, as a sentence."""


class NeedsGpu(Exception):
    pass


class Check:
    """The rows of the table, and what all checks share."""

    def __init__(self, dry_run):
        self.dry_run = dry_run
        self.rows = []
        self.end = time.monotonic() + SECONDS
        self.torch_folder = self.find_torch()
        self.environment = os.environ | {"LD_LIBRARY_PATH": str(self.torch_folder and self.torch_folder / "lib"), "PYTHONPATH": str(HERE / "python"),
                                         "OMP_WAIT_POLICY": "PASSIVE"}  # checks run side by side
        if dry_run:
            self.environment |= {"CUDA_VISIBLE_DEVICES": ""}  # a row is the same on every machine
        self.device = "cpu" if dry_run else "cuda:0"

    @staticmethod
    def find_torch():
        spec = importlib.util.find_spec("torch")
        return pathlib.Path(spec.origin).parent if spec and spec.origin else None

    def run(self, *words, seconds=300, cwd=None, fails=False):
        """Standard output of a program; where it fails, what it said last is what is wrong."""
        words = [str(word) for word in words]
        left = self.end - time.monotonic()
        if left < 1:
            raise Wrong("there was no time left for it")
        try:
            done = subprocess.run(words, capture_output=True, text=True, env=self.environment, timeout=min(seconds, left), cwd=cwd)
        except subprocess.TimeoutExpired:
            raise Wrong(f"{pathlib.Path(words[0]).name} took more than {min(seconds, left):.0f} s") from None
        if done.returncode != 0 and not fails:
            lines = (done.stderr.strip() or done.stdout.strip()).splitlines() or ["it said nothing"]
            print("\n".join(["", " ".join(words), *lines[-20:], ""]), flush=True)
            raise Wrong(f"{pathlib.Path(words[0]).name} ended with {done.returncode}: {lines[-1]}")
        return done.stdout

    def add(self, part, name, seen, wanted, is_right):
        self.rows.append((part, name, seen, wanted, "ok" if is_right else "WRONG"))
        print(f"{self.rows[-1][4]:6} {part}: {name}: {seen}", flush=True)

    def part(self, name, action, needs_gpu=False):
        """Runs one part; it adds its rows, or raises."""
        try:
            if needs_gpu and self.dry_run:
                raise NeedsGpu
            action()
        except NeedsGpu:
            self.rows.append((name, "", "needs a GPU", "", "not run"))
        except Exception as error:  # a check that breaks has not passed
            self.add(name, "", str(error) if isinstance(error, Wrong) else f"{type(error).__name__}: {error}", "", False)

    def train(self, options, device=None, seconds=120):
        """The objects that a training prints."""
        out = self.run(HERE / "tools/fftrain", *options, "--device", device or self.device, "--progress", "json", seconds=seconds)
        return [json.loads(line) for line in out.splitlines()]


def losses(objects):
    return [o["loss"] for o in objects if o["kind"] == "train"]


def difference(a, b):
    """The largest one, as a share."""
    if len(a) != len(b) or not a:
        raise Wrong(f"{len(a)} figures against {len(b)}")
    return max(abs(x - y) / max(1, abs(y)) if math.isfinite(x) and math.isfinite(y) else math.inf for x, y in zip(a, b))


def start(check):
    size = sum(file.stat().st_size for file in HERE.rglob("*") if file.is_file() and file.name != "table.txt")
    check.add("start", "size of the folder", f"{size / 1e6:.1f} MB", f"at most {MOST_BYTES / 1e6:.0f} MB", size <= MOST_BYTES)
    check.add("start", "Python", ".".join(map(str, sys.version_info[:3])), "3.12", sys.version_info[:2] == (3, 12))
    if check.torch_folder is None:
        raise Wrong("this Python has no torch")
    version = re.search(r"__version__ = '([^'+]+)", (check.torch_folder / "version.py").read_text())[1]
    check.add("start", "torch", version, TORCH, version == TORCH)
    for program in ("fftrain", "ffconvert"):
        found = dict(re.findall(r"(\S+) => (/\S+|not found)", check.run("ldd", HERE / "tools" / program)))
        ours = (HERE, check.torch_folder.parent)
        strange = [f"{name} ({path})" for name, path in found.items() if not SYSTEM.match(name) and not any(pathlib.Path(path).is_relative_to(folder) for folder in ours)]
        check.add("start", f"libraries of {program}", ", ".join(strange) or f"{len(found)}, none of this system", "in the folder or torch's", not strange)
        said = check.run(HERE / "tools" / program, "--version").strip()
        check.add("start", f"{program} --version", said, f"{program} and a number", re.fullmatch(rf"{program} \d+\.\d+\.\d+", said) is not None)


def tests(check):
    """The unit tests that have something to do with a GPU."""
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.json"
        check.run(HERE / "gpu_checks", f"--gtest_output=json:{report}", seconds=120, fails=True)
        if not report.exists():
            raise Wrong("gpu_checks ended without a report")
        suites = json.loads(report.read_text())["testsuites"]
    if not suites:
        raise Wrong("gpu_checks holds no test")
    for suite in suites:
        for test in suite["testsuite"]:
            name = f"{suite['name']}.{test['name']}"
            if test.get("failures"):
                check.add("tests", name, test["failures"][0]["failure"].splitlines()[-1], "passes", False)
            elif test["result"] != "SKIPPED":
                check.add("tests", name, f"passed in {test['time']}", "passes", True)
            elif test["name"].startswith("SaysWhatToDoWithout"):
                continue  # of machines without a GPU
            elif check.dry_run:
                check.rows.append(("tests", name, "needs a GPU", "passes", "not run"))
            else:
                check.add("tests", name, "skipped", "passes", False)


def convert(check, folder):
    def demo(name, *options):
        check.run(HERE / "tools/ffconvert", "demo", folder / name, *options, "--quiet")
    demo("pictures", "--classes", 4, "--images", 64, "--val-images", 32, "--size", 64)
    demo("people", "--kind", "pose", "--images", 64, "--val-images", 32, "--size", 64)
    demo("driving", "--kind", "nuscenes", "--scenes", 2, "--val-scenes", 1, "--frames", 4, "--size", 96)
    for split, count in (("train", 40), ("val", 6)):
        texts = folder / "texts" / split
        texts.mkdir(parents=True)
        for i in range(count):
            (texts / f"{i:02}.txt").write_text(f"The tower of number {i} is old, and under it a river finds house {i * i}. " * 6)
    check.run(HERE / "tools/ffconvert", "text", folder / "texts", folder / "tokens", "--tokenizer", "bytes", "--quiet")


def task_options(folder):
    """Of each task a network that a CPU trains in seconds too. BEVFormer draws its dropout, which differs between devices."""
    common = ["--log-every", 1, "--seed", 1, "--epochs", 1, "--limit-batches", 6]
    return {
        "ResNet-18": ["--data", folder / "pictures", "--arch", "resnet18", "--image-size", 64, "--batch-size", 8, "--lr", 0.002, *common],
        "RootNet": ["--data", folder / "people", "--task", "rootnet", "--arch", "micro", "--image-size", 64, "--batch-size", 8, "--optimizer", "adamw", "--lr", 1e-4, *common],
        "GPT-2": ["--data", folder / "tokens", "--task", "gpt2", "--layers", 2, "--heads", 2, "--width", 32, "--positions", 32, "--dropout", 0, "--batch-size", 8,
                  "--optimizer", "adamw", "--lr", 1e-3, *common],
        "BEVFormer": ["--data", folder / "driving", "--task", "bevformer", "--arch", "micro", "--batch-size", 1, "--optimizer", "adamw", "--lr", 1e-4, *common],
    }


def task(check, folder, name, options):
    """It trains and is validated on the device; where there is a GPU, as on the CPU."""
    work = folder / f"run-{name}"
    on_cpu = check.train([*options, "--work-dir", work], device="cpu")
    # What the weights that the CPU trained measure.
    expected = next(o for o in on_cpu if o["kind"] == "validation")
    figures = [key for key in expected if key not in ("kind", "step", "epoch", "train_loss", "seconds")]
    seen = check.train(["--evaluate", work])[-1]
    worst = difference([seen[key] for key in figures], [expected[key] for key in figures])
    check.add("tasks", f"{name} validated on {check.device} as in the training on the CPU", f"{worst:.1e} apart", "at most 1e-2", worst <= 1e-2)
    check.add("tasks", f"{name}: losses on the CPU", f"{losses(on_cpu)[0]:.4f} .. {losses(on_cpu)[-1]:.4f}", "six finite ones",
              len(losses(on_cpu)) == 6 and all(map(math.isfinite, losses(on_cpu))))
    if check.dry_run:
        return
    on_gpu = losses(check.train(options))
    if name == "BEVFormer":
        check.add("tasks", f"{name}: losses on the GPU", f"{on_gpu[0]:.4f} .. {on_gpu[-1]:.4f}", "within a quarter of the CPU's",
                  difference(on_gpu, losses(on_cpu)) <= 0.25)
    else:
        # Later ones differ more: cuDNN's convolutions round to TF32, and batch norm amplifies that.
        worst = difference(on_gpu[:3], losses(on_cpu)[:3])
        check.add("tasks", f"{name}: three losses on the GPU", f"{worst:.1e} from the CPU's", "at most 5e-2", worst <= 5e-2)


def resume(check, folder, name, options):
    """A training that is stopped within its second epoch and resumed computes what one that never stopped does."""
    epochs = options.index("--epochs") + 1
    options = [*options[:epochs], 6, *options[epochs + 1:], "--deterministic"]
    whole = losses(check.train(options))
    work = folder / f"resumed-{name}"
    words = [HERE / "tools/fftrain", *options, "--work-dir", work, "--device", check.device, "--progress", "json"]
    first = []
    with subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE, text=True, env=check.environment) as training:
        for line in training.stdout:
            first.append(json.loads(line))
            if len(losses(first)) == 8:
                training.terminate()
    if training.returncode != 75:
        raise Wrong(f"{name}: fftrain ended with {training.returncode}, not 75, after SIGTERM")
    first = losses(first)
    both = first + losses(check.train([*options, "--work-dir", work, "--resume"]))
    same = both == whole
    check.add("resume", f"{name}, --deterministic, stopped after step {len(first)} of {len(whole)}", "the same losses" if same else f"{both}, not {whole}", "equal", same)


def skipped(objects):
    return next(o for o in objects if o["kind"] == "epoch")["skipped_steps"]


def precision(check, folder, name, options):
    """Losses of the first two steps, before small differences grow. The fixed scale is one that no task's gradients overflow with."""
    full = losses(check.train(options))[:2]
    for amp, more in (("bf16", []), ("fp16", ["--loss-scale", 64])):
        objects = check.train([*options, "--amp", amp, *more])
        worst = difference(losses(objects)[:2], full)
        check.add("precision", f"{name}, {amp}: two losses", f"{worst:.1e} from f32's", "at most 0.1", worst <= 0.1)
    check.add("precision", f"{name}, fp16 with a scale of 64: steps left out", str(skipped(objects)), "0", skipped(objects) == 0)


def scales(check, folder):
    pictures = task_options(folder)["ResNet-18"]
    count = skipped(check.train([*pictures, "--amp", "fp16"]))
    check.add("precision", "ResNet-18, fp16 with a scale that is found: steps left out", f"{count} of 6", "at most 3", count <= 3)
    # Gradients that overflow at once: the scaler must notice, and leave the steps out.
    count = skipped(check.train([*pictures, "--amp", "fp16", "--loss-scale", 2.0**40]))
    check.add("precision", "ResNet-18, fp16 with a scale of 2^40: steps left out", f"{count} of 6", "6", count == 6)
    once, again = (losses(check.train([*pictures, "--deterministic"])) for _ in range(2))
    check.add("precision", "ResNet-18, --deterministic twice", "equal" if once == again else "other losses", "equal", once == again)


def processes(check, folder):
    """SyncBN's kernels by two processes that share the GPU, which Gloo allows; NCCL where there are two GPUs."""
    options = task_options(folder)["ResNet-18"]
    # Of eight pictures a step, however many processes share them.
    options = [*options[:options.index("--batch-size")], *options[options.index("--batch-size") + 2:], "--global-batch-size", 8]
    alone = losses(check.train(options, device="cpu"))
    together = losses(check.train([*options, "--nproc", 2, "--sync-bn", "--dist-backend", "gloo"]))
    worst = difference(together[:3], alone[:3])
    check.add("processes", f"two on {check.device}, --sync-bn: three losses", f"{worst:.1e} from those of one process on the CPU", "at most 2e-2", worst <= 2e-2)
    without = losses(check.train([*options, "--nproc", 2, "--dist-backend", "gloo"]))
    apart = difference(without[:3], alone[:3])
    check.add("processes", f"two on {check.device} without --sync-bn", f"{apart:.1e} apart", "more than with it", apart > worst)
    if check.dry_run:
        return
    gpus = len(check.run("nvidia-smi", "-L").splitlines())
    if gpus < 2:
        check.rows.append(("processes", "NCCL between two GPUs", "this machine has one", "", "not run"))
        return
    nccl = losses(check.train([*options, "--nproc", 2, "--sync-bn", "--dist-backend", "nccl"], device="cuda"))
    worst = difference(nccl[:3], alone[:3])
    check.add("processes", "two on two GPUs by NCCL: three losses", f"{worst:.1e} from those of one process on the CPU", "at most 2e-2", worst <= 2e-2)


PACKAGE = """
import hashlib, sys
import numpy
import ffkit
hashes, count = [], 0
for threads in (1, 2):
    pixels = hashlib.sha256()
    for batch in ffkit.Loader(sys.argv[1], 8, image=ffkit.RandomResizedCrop(48, flip_probability=0.5), num_threads=threads, seed=3, arrays="numpy"):
        pixels.update(numpy.ascontiguousarray(batch["image"]).tobytes())
        count += len(batch["label"])
    hashes.append(pixels.hexdigest())
assert hashes[0] == hashes[1], "the pixels depend on the threads"
print(count)
"""
TO_DEVICE = """
import sys
import torch
import ffkit, ffkit.torch
device = sys.argv[2]
make = lambda pin: ffkit.Loader(sys.argv[1], 8, image=ffkit.RandomResizedCrop(48, flip_probability=0.5), seed=3, pin_memory=pin)
count = 0
for epoch in range(20):
    # The device is behind, and the copies of the next batches wait for it: memory that is given out
    # too early shows here.
    late, loader = [], make(device != "cpu")
    for batch in ffkit.torch.to_device(loader, device):
        if device != "cpu": torch.cuda._sleep(2_000_000)
        late.append({name: t.clone() for name, t in batch.items() if torch.is_tensor(t)})
    for got, want in zip(late, make(False), strict=True):
        for name, t in got.items():
            assert t.device.type == torch.device(device).type and torch.equal(t.cpu(), torch.as_tensor(want[name])), name
            count += 1
if device != "cpu": assert next(iter(make(True)))["image"].is_pinned(), "the batches are not in pinned memory"
print(count)
"""


def package(check, folder):
    count = check.run(sys.executable, "-c", PACKAGE, folder / "pictures/train").strip()
    check.add("Python", "an epoch of ffkit.Loader, with one thread and two", f"{count} pictures, the same pixels", "128 pictures", count == "128")


def to_device(check, folder):
    count = int(check.run(sys.executable, "-c", TO_DEVICE, folder / "pictures/train", "cuda"))
    check.add("Python", "to_device() with pinned memory, 20 epochs", f"{count} tensors equal the CPU's", "320 or more", count >= 320)


def python_ratio(out, pattern):
    """(ours, Python's) of what a benchmark printed."""
    found = [float(re.search(rf"^\s+{name}\s+([0-9.]+)", out, re.MULTILINE)[1]) for name in pattern]
    return found[0], max(found[1:])


def beside(check, program, *options):
    """The same in Python: not judged, for the two differ in what they were written for."""
    try:
        out = check.run(sys.executable, HERE / "bench" / program, "--device", "cuda", "--steps", 20, *options, seconds=60)
        return f"; Python {1000 * json.loads(out)['median']:.1f}"
    except (Wrong, ValueError, KeyError) as error:
        return f"; Python's was not measured: {error}"


def speed(check, folder):
    gpu = check.run("nvidia-smi", "--query-gpu=name", "--format=csv,noheader").splitlines()[0]
    peak = next((value for name, value in PEAK_TFLOPS.items() if all(word in gpu for word in name.split())), None)

    def add(name, unit, ours, theirs, samples):
        check.add("speed", f"{name}: ms a step", f"{1000 * samples / ours:.1f}; {ours:.0f} {unit}/s, Python {theirs:.0f}, {ours / theirs:.2f} times",
                  "at least 0.9 times Python's", ours >= 0.9 * theirs)

    common = ["--build", HERE, "--python", sys.executable, "--device", "cuda", "--amp", "bf16", "--repetitions", 2, "--steps", 20]
    out = check.run(sys.executable, HERE / "bench/train", *common, "--batch", 256, seconds=150)
    add("ResNet-50, bf16, 256 pictures", "images", *python_ratio(out, ("fftrain", "python", "python, fused SGD")), 256)
    out = check.run(sys.executable, HERE / "bench/gpt2", *common, "--context", 1024, "--batch", 16, *(["--peak-tflops", peak] if peak else []), seconds=150)
    add("GPT-2 small, bf16, 16 x 1024 tokens", "tokens", *python_ratio(out, ("fftrain", "python")), 16 * 1024)
    share = re.search(r"fftrain .*?([0-9.]+)% of", out)
    check.add("speed", "GPT-2 small: share of the card's bf16 (MFU)", f"{share[1]} % of {peak} TFLOP/s" if share else f"the peak of {gpu} is not known", "more than 0",
              share is not None and float(share[1]) > 0)
    for name, options, program, same in (
            ("BEVFormer tiny, f32, a keyframe", ["--task", "bevformer", "--arch", "tiny", "--batch-size", 1], "bevformer_step.py", []),
            ("RootNet, fp16 (O1, O2), 128 persons", ["--task", "rootnet", "--batch-size", 128, "--amp", "fp16"], "rootnet_step.py", ["--amp", "fp16"]),
            ("RootNet, bf16, 128 persons", ["--task", "rootnet", "--batch-size", 128, "--amp", "bf16"], "rootnet_step.py", ["--amp", "bf16"])):
        out = check.run(HERE / "tools/fftrain", *options, "--optimizer", "adamw", "--lr", 1e-4, "--device", "cuda", "--benchmark", "step", "--limit-batches", 20, seconds=60)
        rate = float(re.search(r"([0-9.]+) \S+/s\s*$", out)[1])
        samples = options[options.index("--batch-size") + 1]
        check.add("speed", f"{name}: ms a step", f"{1000 * samples / rate:.1f}{beside(check, program, *same)}", "more than 0", rate > 0)
    check.run(HERE / "tools/ffconvert", "demo", folder / "many", "--images", 6000, "--val-images", 64, "--size", 256, "--quiet")
    done = check.train(["--data", folder / "many", "--arch", "resnet50", "--batch-size", 128, "--amp", "bf16", "--channels-last", "--lr", 0.01, "--epochs", 2, "--log-every", 20])[-1]
    check.add("speed", "ResNet-50 on data: ms a step, data wait", f"{128000 / done['images_per_second']:.1f}, {100 * done['data_wait_share']:.1f} % of it",
              "a wait below 50 %", done["data_wait_share"] < 0.5)


PARTS = ("start", "tests", "tasks", "resume", "precision", "processes", "Python", "speed")


def checks(check, folder):
    """Of each check the part of the table, what it does, and whether it needs a GPU. They do not touch each other's files."""
    yield "start", lambda: start(check), False
    yield "tests", lambda: tests(check), False
    for name, options in task_options(folder).items():
        yield "tasks", functools.partial(task, check, folder, name, options), False
        yield "resume", functools.partial(resume, check, folder, name, options), False
        yield "precision", functools.partial(precision, check, folder, name, options), True
    yield "precision", lambda: scales(check, folder), True
    yield "processes", lambda: processes(check, folder), False
    yield "Python", lambda: package(check, folder), False
    yield "Python", lambda: to_device(check, folder), True


def table(rows):
    head = ("part", "check", "seen", "wanted", "result")
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    return "\n".join(" | ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip() for row in [head, tuple("-" * w for w in widths), *rows]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dry-run", action="store_true", help="only what needs no GPU")
    parser.add_argument("--part", nargs="+", choices=PARTS, default=PARTS, help="run these parts")
    parser.add_argument("--table", type=pathlib.Path, default=HERE / "table.txt")
    args = parser.parse_args()
    began = time.monotonic()
    check = Check(args.dry_run)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="gpu-check-"))
    try:
        check.part("data", lambda: convert(check, folder))
        # Most of the time is a process's that starts. On a machine with many cores, several start
        # at once; speed is measured alone.
        with concurrent.futures.ThreadPoolExecutor(max(1, len(os.sched_getaffinity(0)) // 4)) as pool:
            for name, action, needs_gpu in checks(check, folder):
                if name in args.part:
                    pool.submit(check.part, name, action, needs_gpu)
        if "speed" in args.part:
            check.part("speed", lambda: speed(check, folder), needs_gpu=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    check.rows.sort(key=lambda row: PARTS.index(row[0]) if row[0] in PARTS else 0)
    num_wrong = sum(row[-1] == "WRONG" for row in check.rows)
    text = table(check.rows) + f"\n{len(check.rows)} rows, {num_wrong} wrong, {sum(row[-1] == 'not run' for row in check.rows)} not run; {time.monotonic() - began:.0f} s\n"
    args.table.write_text(text)
    print("\n" + text, end="")
    return 1 if num_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
