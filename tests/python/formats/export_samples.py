"""Records with every type of field, for tests of exports."""

import io
import json

import ml_dtypes
import numpy as np
import PIL.Image

import ffkit

NUMBERS = ["u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "f16", "bf16", "f32", "f64"]
COUNT = 1200


def picture(number, kind="JPEG"):
    values = np.random.default_rng(number).integers(0, 255, (2, 3, 3), np.uint8).repeat(8, 0).repeat(8, 1)
    file = io.BytesIO()
    PIL.Image.fromarray(values).save(file, kind)
    return file.getvalue()


def id_of(number):
    """Names of files, plain ones, ones that are no keys, long and foreign ones, and a repeated one."""
    kinds = [
        f"cat/{number}.JPEG", f"plain/{number}", f"two.dots.{number}.jpg", f"../out/{number}.jpg", f"größe/{number}.jpg", f"{'long/' * 40}{number}.jpg",
        f"{number + 1:04}", "again.jpg", f"__meta__/{number}", f"a folder.with a dot/{number}.jpg",
    ]  # fmt: skip
    return kinds[number % len(kinds)]


def sample(number, lists=True):
    made = {
        "image": picture(number, "PNG" if number % 100 == 7 else "JPEG"),
        "left/image": picture(number + 1, "PNG"),
        "label": number % 3,
        "id": id_of(number),
        "caption/txt": f"Nummer {number}: \"größer\"\n\t",
        "meta/json": json.dumps({"number": number}),
        "note": "" if number % 5 == 0 else f"n{number}",
        "blob": bytes([number % 256, 0, 255]) * (number % 4),
        "boxes/npy": np.full((number % 4, 4), number, np.float32),
        "points": np.arange(6, dtype=np.int16).reshape(1, 2, 3) + number,
        "frames": [picture(number + i) for i in range(1 + number % 3)],
        "tags": ["ä", "b\"", ""][: number % 4],
    }
    for i, name in enumerate(NUMBERS):
        dtype = ml_dtypes.bfloat16 if name == "bf16" else numpy_name(name)
        made[f"n/{name}"] = np.array(number % 100 + (0 if name[0] in "ui" else 0.5)).astype(dtype)
        made[f"t/{name}"] = np.full((2, number % 3), number % 100 + i).astype(dtype)
    made["n/i64"] = -(1 << 62) + number
    made["n/u64"] = (1 << 63) + number
    if lists:
        made["parts"] = [np.full((2,), i, np.float64) for i in range(2)]
        made["raw parts"] = [b"", bytes([number % 256])]
    return made


def numpy_name(dtype):
    """Of the arrays in files, where bf16 is float32."""
    return {"u": "uint", "i": "int"}.get(dtype[0], "float") + (dtype.lstrip("uif") if dtype != "bf16" else "32")


SCHEMA = {
    "image": "image", "left/image": "image", "label": "i64", "id": "string", "caption/txt": "string", "meta/json": "string", "note": "string", "blob": "bytes",
    "boxes/npy": "tensor[f32]", "points": "tensor[i16]", "frames": "list[image]", "tags": "list[string]",
    **{f"n/{name}": name for name in NUMBERS}, **{f"t/{name}": f"tensor[{name}]" for name in NUMBERS},
}  # fmt: skip
LISTS = {"parts": "list[tensor[f64]]", "raw parts": "list[bytes]"}


def written(folder, schema, samples):
    with ffkit.Writer(folder, "train", schema, classes=["c0", "c 1", "größe"], class_names=["zero", "one", "two"]) as writer:
        for made in samples:
            writer.write(made)
    return folder


def check(found, stored):
    """Equal values, where arrays have the same type and shape."""
    if isinstance(stored, np.ndarray):
        assert isinstance(found, np.ndarray) and found.dtype == stored.dtype and found.shape == stored.shape
        assert found.tobytes() == stored.tobytes()
    else:
        assert type(found) is type(stored) and found == stored


def as_numbers(value):
    """bf16 as float32."""
    if isinstance(value, np.ndarray) and value.dtype.name == "bfloat16":
        return value.astype(np.float32)
    return value
