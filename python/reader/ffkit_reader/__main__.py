"""python -m ffkit_reader info|ls|cat|verify DATA: what ffinspect's commands of these names print,
without --json and histograms."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any, Optional

import numpy

from . import PackedFolder, __version__
from ._dataset import MAX_RECORD_BYTES, Dataset
from ._errors import CorruptError, Error, InvalidArgumentError, NotFoundError
from ._manifest import Manifest
from ._open import is_split_folder, require_local, splits
from ._pictures import picture_size
from ._schema import Field, describe, field_of, is_integer
from ._v1 import is_packed_folder
from ._values import value_of
from ._verify import check_splits

_FACT_BYTES = 100
_CLASSES_SHOWN = 3
_MOST_VALUES = 16


def counted(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def human_bytes(number: int) -> str:
    value = float(number)
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if value < 999.95:
            return f"{number} B" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} PB"


def escaped(text: str) -> str:
    """One line, without what a terminal obeys."""
    names = {"\t": "\\t", "\n": "\\n", "\r": "\\r", "\\": "\\\\"}
    return "".join(names.get(c) or (f"\\x{ord(c):02x}" if ord(c) < 0x20 or c == "\x7f" else c) for c in text)


def number_text(number: Any) -> str:
    """The shortest decimal that is this number: a Python number, or one of numpy's."""
    text = str(number)
    return text[:-2] if text.endswith(".0") else text


def _picture_text(data: bytes) -> str:
    encoding, size = picture_size(data)
    if size is None:
        return f"{len(data)} bytes that are not a {'known' if encoding == 'unknown' else 'readable'} image"
    return f"{encoding} {size[0]} x {size[1]}, {len(data)} bytes"


def _tensor_text(array: Any, dtype: str, values: bool) -> str:
    text = f"{dtype} [{', '.join(map(str, array.shape))}]"
    if not values or array.size > _MOST_VALUES:
        return text
    if dtype in ("f16", "bf16"):
        array = array.astype(numpy.float32)
    return f"{text}: {', '.join(number_text(number) for number in array.reshape(-1))}"


def _content_text(kind: str, dtype: Any, value: Any, values: bool) -> str:
    if kind == "string":
        return escaped(value)
    if kind == "image":
        return _picture_text(value)
    return _tensor_text(value, dtype, values) if kind == "tensor" else f"{len(value)} bytes"


def value_text(field: Field, value: Any, values: bool) -> str:
    """In one line. `values`: also those of small tensors and lists; pictures in the dct code are
    given as they are stored."""
    if value is None:
        return "null"
    if field.type == "scalar":
        return number_text(value if is_integer(field) or field.dtype == "f64" else numpy.float32(value))
    if field.type != "list":
        return _content_text(field.type, field.dtype, value, values)
    text = f"{len(value)} item{'' if len(value) == 1 else 's'}"
    if not values or not 0 < len(value) <= _MOST_VALUES:
        return text
    return f"{text}: {'; '.join(_content_text(str(field.item), field.dtype, item, values) for item in value)}"


def _open_splits(data: str, split: str) -> list[Dataset]:
    require_local(data)
    if not split and os.path.isdir(data) and not is_split_folder(data):
        found = splits(data)
        if found:
            return [Dataset(data, name) for name in found]
    return [Dataset(data, split)]


def _print_facts(title: str, facts: dict[str, str]) -> None:
    for key, value in facts.items():
        num_bytes = len(value.encode("utf-8", "surrogateescape"))
        text = escaped(value) if num_bytes <= _FACT_BYTES else f"{escaped(value[:_FACT_BYTES])}... ({num_bytes:,} bytes)"
        print(f"  {title:<12} {escaped(key)} = {text}")
        title = ""


def _class_text(manifest: Manifest, i: int) -> str:
    number = f"{escaped(str(manifest.class_ids[i]))} = " if manifest.class_ids else ""
    name = manifest.class_names[i] if manifest.class_names else ""
    return number + escaped(manifest.classes[i]) + (f" ({escaped(name)})" if name else "")


def _print_info(dataset: Dataset) -> None:
    opened, manifest = dataset._open, dataset._open.manifest
    print(dataset.path)
    print(f"  split        {manifest.split}")
    print(f"  records      {len(dataset):,} in {counted(len(opened.files), 'shard')}, {human_bytes(manifest.file_bytes)}")
    raw, stored = (sum(getattr(shard, key) for shard in manifest.shards) for key in ("raw_bytes", "record_bytes"))
    ratio = f"ratio {raw / max(1, stored):.2f}: {human_bytes(raw)} of records stored as {human_bytes(stored)}"
    print(f"  compression  {'none (ratio 1.00)' if raw == stored else ratio}")
    sizes = sorted(size for number in range(len(opened.files)) for size in opened.shard(number).sizes())
    if sizes:
        middle, mean = sizes[len(sizes) // 2], sum(sizes) // len(sizes)
        print(f"  record size  {human_bytes(sizes[0])} to {human_bytes(sizes[-1])}, median {human_bytes(middle)}, mean {human_bytes(mean)}")
    for i, (name, field) in enumerate(manifest.schema.items()):
        print(f"  {'fields' if i == 0 else '':<12} {describe(escaped(name), field)}")
    shown = "; ".join(_class_text(manifest, i) for i in range(min(_CLASSES_SHOWN, len(manifest.classes))))
    more = "; ..." if len(manifest.classes) > _CLASSES_SHOWN else ""
    print(f"  classes      {f'{len(manifest.classes):,}: {shown}{more}' if shown else 'none'}")
    _print_facts("source", manifest.source)
    _print_facts("options", manifest.options)
    if manifest.created_by:
        print(f"  made by      {escaped(manifest.created_by)}")
    print(f"  fingerprint  {dataset.fingerprint}")
    for warning in dataset.warnings:
        print(f"  note         {warning}")


def info(options: argparse.Namespace) -> int:
    for i, dataset in enumerate(_open_splits(options.data, options.split)):
        if i > 0:
            print()
        _print_info(dataset)
    return 0


def _stored_values(dataset: Dataset, index: int) -> dict[str, Any]:
    """As dataset[index], with pictures in the dct code as they are stored."""
    shard, i = dataset._place(index)
    try:
        return {
            name: None if data is None else value_of(name, field, data, jpegs=False)
            for (name, field), data in zip(dataset.schema.items(), shard.record(i))
        }  # fmt: skip
    except CorruptError as error:
        raise error if error.path else CorruptError(error.reason, shard.path, i) from None


def ls(options: argparse.Namespace) -> int:
    if os.path.isfile(options.data) and is_packed_folder(options.data):
        if options.split:
            raise InvalidArgumentError("is a packed folder, which does not support --split", options.data)
        packed = PackedFolder(options.data)
        print("file\trecord\tbytes")
        for file in packed.files[options.first :][: options.limit]:
            print(f"{escaped(file.path)}\t{file.record}\t{file.num_bytes}")
        return 0
    for dataset in _open_splits(options.data, options.split):
        label = "label" in dataset.schema and is_integer(dataset.schema["label"])
        print("\t".join(["split", "record", *map(escaped, dataset.schema), *(["class"] if label else [])]))
        for i in range(len(dataset))[options.first :][: options.limit]:
            values = _stored_values(dataset, i)
            line = [dataset.split, str(i), *(value_text(field, values[name], False) for name, field in dataset.schema.items())]
            if label:
                number = values["label"]
                line.append(escaped(dataset.classes[number]) if number is not None and 0 <= number < len(dataset.classes) else "")
            print("\t".join(line))
    return 0


def _write(output: Optional[str], content: bytes) -> None:
    if output is None:
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        return
    with open(output, "wb") as file:
        file.write(content)


def _field_content(dataset: Dataset, index: int, name: str) -> bytes:
    """As ffinspect cat --field writes it."""
    field = field_of(dataset.schema, name)
    value = dataset.field(index, name)
    if value is None:
        raise NotFoundError(f"field '{name}' is null", dataset.path, index)
    if field.type == "list":
        raise InvalidArgumentError(f"field '{name}' is a list; read it in Python with Dataset.field({index}, '{name}')")
    if field.type in ("string", "scalar"):
        text = value if field.type == "string" else value_text(field, value, False)
        return f"{text}\n".encode("utf-8", "surrogateescape")
    if field.type != "tensor":
        return bytes(value)
    shard, i = dataset._place(index)
    stored = shard.field(i, list(dataset.schema).index(name))
    return bytes(stored[len(stored) - value.size * (value.itemsize if field.dtype != "bf16" else 2) :])


def cat(options: argparse.Namespace) -> int:
    found = _open_splits(options.data, options.split)
    if len(found) > 1:
        raise InvalidArgumentError("the data set has several splits; choose one with --split", options.data)
    dataset, index = found[0], options.record
    if not 0 <= index < len(dataset):
        raise InvalidArgumentError(f"there is no record {index}; the split has {len(dataset)} records, and the first is record 0", dataset.path)
    if options.field is not None:
        _write(options.output, _field_content(dataset, index, options.field))
        return 0
    values = _stored_values(dataset, index)
    lines = [f"{escaped(name)}: {value_text(field, values[name], True)}\n" for name, field in dataset.schema.items()]
    _write(options.output, "".join(lines).encode("utf-8", "surrogateescape"))
    return 0


def verify(options: argparse.Namespace) -> int:
    is_whole = True
    for check in check_splits(options.data, options.split, MAX_RECORD_BYTES):
        for problem in check.problems:
            print(problem.message)
        for warning in check.warnings:
            print(f"note: {warning}")
        if not check.problems:
            print(f"{check.path}: whole: {counted(check.num_records, 'record')}, {counted(check.num_shards, 'shard')}, {human_bytes(check.file_bytes)}")
            continue
        is_whole = False
        num_records = sum(problem.record is not None for problem in check.problems)
        others = len(check.problems) - num_records
        rest = f", and {counted(others, 'problem')} outside of the records" if others else ""
        print(f"{check.path}: DAMAGED: {num_records:,} of {check.num_records:,} records{rest}")
    return 0 if is_whole else 1


def _number(text: str) -> int:
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"{number} is below 0")
    return number


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="ffkit-reader", description="Shows ffkit data sets, like ffinspect, on machines without ffkit.")
    top.add_argument("--version", action="version", version=f"ffkit-reader {__version__}")
    commands = top.add_subparsers(required=True, metavar="COMMAND")
    for run, words in (
        (info, "Prints counts, record sizes, schema, classes, source and options of every split"),
        (ls, "Prints one tab-separated line for each record. Images, bytes and tensors are shown by their size"),
        (cat, "Prints all fields of one record, or the content of one field"),
        (verify, "Reads all files, checks every checksum, and lists all damage. The exit status is 1 if anything is damaged"),
    ):
        command = commands.add_parser(run.__name__, help=words, description=words)
        command.set_defaults(run=run)
        command.add_argument("data", metavar="DATA", help="Data set folder, or the folder of one of its splits")
        command.add_argument("--split", metavar="NAME", default="", help="Uses only this split")
        if run is ls:
            command.add_argument("--first", metavar="INT", type=_number, default=0, help="Number of the first record to list")
            command.add_argument("--limit", metavar="INT", type=_number, help="Lists at most this number of records of each split")
        if run is cat:
            command.add_argument("record", metavar="RECORD", type=_number, help="Number of the record in its split, from 0")
            command.add_argument("--field", metavar="NAME", help="Prints only this field. Pictures are printed as files, and bytes and numbers as they are stored")
            command.add_argument("-o", "--output", metavar="FILE", help="Writes to this file instead of standard output")
    return top


def main(arguments: Optional[list[str]] = None) -> int:
    options = parser().parse_args(arguments)
    for stream in (sys.stdout, sys.stderr):
        getattr(stream, "reconfigure")(encoding="utf-8", errors="surrogateescape", newline="\n")
    try:
        status: int = options.run(options)
        sys.stdout.flush()
        return status
    except BrokenPipeError:  # such as `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (Error, OSError) as error:
        print(f"ffkit-reader: error: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
