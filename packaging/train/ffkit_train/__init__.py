"""ffkit's programs for training, fftrain and ffgenerate, with the library of the installed torch.

There is a program for each minor version of torch, since each has an interface of its own in C++.
torch is found as Python finds it, but is not imported."""
import importlib.util
import os
import re
import sys
from pathlib import Path
from typing import NoReturn

HERE = Path(__file__).resolve().parent


class Refusal(Exception):
    """A sentence for the user."""


def programs(here: Path) -> dict[tuple[int, int], Path]:
    """The folder of each minor version of torch."""
    found = {}
    for folder in here.glob("torch-*"):
        major, minor = folder.name.removeprefix("torch-").split(".")
        found[int(major), int(minor)] = folder
    return dict(sorted(found.items()))


def listing(versions: list[tuple[int, int]]) -> str:
    words = [f"{major}.{minor}" for major, minor in versions]
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def environment(here: Path, name: str) -> tuple[Path, dict[str, str]]:
    """The folder of the programs for the installed torch, and the environment for its libraries."""
    known = programs(here)
    newest = listing([max(known)])
    remedy = f"run pip install 'torch=={newest}.*'"
    try:
        spec = importlib.util.find_spec("torch")
    except ValueError:  # a torch that a program has put together itself
        spec = None
    folders = list(spec.submodule_search_locations or []) if spec else []
    if not folders:
        raise Refusal(f"torch is not installed for {sys.executable}, and {name} computes with its library; {remedy}")
    torch = Path(folders[0])
    try:
        text = (torch / "version.py").read_text()
    except OSError:
        text = ""
    version = re.search(r"^__version__ *(?::[^=]*)?= *['\"]([^'\"]+)", text, re.MULTILINE)
    numbers = re.match(r"(\d+)\.(\d+)(?:\.\d+)?(\+|$)?", version[1]) if version else None
    if version is None or numbers is None:
        raise Refusal(f"{torch} does not say which version of torch it is; {remedy}")
    folder = known.get((int(numbers[1]), int(numbers[2])))
    if folder is None or numbers[3] is None:
        what = "is a version before its release" if folder else "is another version"
        raise Refusal(
            f"torch {version[1]} in {torch} {what}: this ffkit-train has {name} for the releases of torch {listing(list(known))}, and each minor version needs one of its own; "
            f"{remedy}, or a newer ffkit-train"
        )
    libraries = torch / "lib"
    if not (libraries / "libtorch_cpu.so").exists():
        raise Refusal(f"torch {version[1]} in {torch} keeps its libraries somewhere else than in lib, as the wheels of PyPI have them, and {name} would not find them; {remedy}")
    paths = [str(libraries), *gpu_folder(folder, version[1], text, name, os.path.exists("/dev/nvidiactl"))]
    if os.environ.get("LD_LIBRARY_PATH"):
        paths.append(os.environ["LD_LIBRARY_PATH"])
    return folder, {**os.environ, "LD_LIBRARY_PATH": ":".join(paths)}


def gpu_folder(folder: Path, version: str, text: str, name: str, has_gpu: bool) -> list[str]:
    """Where the part for GPUs is, if it fits the CUDA that this torch is built for."""
    cuda = re.search(r"^cuda *(?::[^=]*)?= *['\"](\d+)([^'\"]*)", text, re.MULTILINE)
    if cuda is None:
        return []
    fitting = folder / f"cuda-{cuda[1]}"
    if fitting.exists():
        return [str(fitting)]
    if has_gpu:
        made_for = ", ".join(sorted(path.name.removeprefix("cuda-") for path in folder.glob("cuda-*")))
        print(f"{name}: note: torch {version} is built for CUDA {cuda[1]}{cuda[2]}, and the part of this ffkit-train for GPUs is for CUDA {made_for}: it is left out. "
              "Several GPUs need --dist-backend gloo, and deformable attention is slower", file=sys.stderr)
    return []


def start(name: str) -> NoReturn:
    try:
        folder, variables = environment(HERE, name)
    except Refusal as refusal:
        sys.exit(f"{name}: error: {refusal}")
    os.execve(folder / "ffkit-train-programs", [name, *sys.argv[1:]], variables)


def fftrain() -> NoReturn:
    start("fftrain")


def ffgenerate() -> NoReturn:
    start("ffgenerate")
