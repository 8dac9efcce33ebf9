"""Small data sets that the tests share, made by ffconvert."""
import dataclasses
import os
import pathlib
import subprocess

import pytest


def convert(*arguments):
    subprocess.run([os.environ["FFKIT_FFCONVERT"], *map(str, arguments)], check=True, capture_output=True)


def files_of(folder):
    """The bytes of all files below a folder, by their paths."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in pathlib.Path(folder).rglob("*") if path.is_file()}


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    """A data set folder: train of 60 and val of 20 pictures of 48 pixels, in 4 classes."""
    folder = tmp_path_factory.mktemp("data") / "demo"
    convert("demo", folder, "--classes", 4, "--images", 60, "--val-images", 20, "--size", 48, "--quiet")
    return folder


@pytest.fixture(scope="module")
def ds(data):
    import ffkit  # not there where a wheel is tried

    return ffkit.Dataset(data, "train")


@pytest.fixture(scope="session")
def driving(tmp_path_factory):
    """A made-up nuScenes set, converted: two scenes for training."""
    folder = tmp_path_factory.mktemp("driving")
    convert("demo", folder / "driving", "--kind", "nuscenes", "--scenes", 2, "--val-scenes", 1, "--frames", 4, "--size", 160, "--quiet")
    return folder / "driving"


@pytest.fixture(scope="session")
def shared_data():
    folder = os.environ.get("FFKIT_SHARED_DATA")
    if not folder or not pathlib.Path(folder).is_dir():
        pytest.skip("FFKIT_SHARED_DATA names no folder with real data")
    return pathlib.Path(folder)


def by_topic(**flat):
    """Arguments of ffkit.Loader from one flat list of options, since tests try many, one at a time: copy=True becomes memory=Memory(copy=True)."""
    import ffkit

    options = dict(flat)
    for argument, topic in {"order": ffkit.Order, "memory": ffkit.Memory, "io": ffkit.IO}.items():
        own = {field.name: options.pop(field.name) for field in dataclasses.fields(topic) if field.name in options}
        if own:
            given = options.get(argument, topic())
            options[argument] = dataclasses.replace(topic(given) if isinstance(given, str) else given, **own)
    names = {field.name for field in dataclasses.fields(ffkit.ImageOptions)} - {"transform"}
    of_pictures = {name: options.pop(name) for name in names if name in options}
    of_pictures = {name: value for name, value in of_pictures.items() if value is not None}

    def with_pictures(view):
        return ffkit.ImageOptions(view, **of_pictures) if not isinstance(view, tuple) else (with_pictures(view[0]), view[1])

    if of_pictures and options.get("views"):
        options["views"] = {name: with_pictures(view) for name, view in options["views"].items()}
    elif of_pictures and options.get("image", True) is not None:
        options["image"] = with_pictures(options.get("image", ffkit.RandomResizedCrop()))
    return options
