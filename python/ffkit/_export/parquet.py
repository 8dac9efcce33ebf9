"""Dataset.to_parquet(): files in the form of Hugging Face's hub."""

from __future__ import annotations

import errno
import fcntl
import os
import pathlib
import shutil
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .._convert_options import Progress, ProgressBar, num_bytes
from .._errors import Error, InvalidArgumentError, add_note, make_error
from .._samples import Field, size_of
from .arrow import Column, metadata_of, require_label, require_pyarrow

if TYPE_CHECKING:
    from .._dataset import Dataset

_GROUP_BYTES = 32 << 20


@dataclass(frozen=True)
class ParquetSummary:
    """Result of Dataset.to_parquet()."""

    files: tuple[str, ...]
    num_records: int
    file_bytes: int
    notes: tuple[str, ...] = ()
    """What is not as it was, a sentence each. They are warnings too."""


def write_parquet(
    dataset: Dataset,
    folder: str | os.PathLike[str],
    *,
    name: str | None,
    fields: Sequence[str],
    file_size: int | str,
    row_group_size: int,
    compression: str,
    classes: bool,
    num_threads: int,
    progress: Progress,
) -> ParquetSummary:
    """See Dataset.to_parquet()."""
    require_pyarrow()
    if row_group_size < 1:
        raise InvalidArgumentError(f"row_group_size is {row_group_size}; expected 1 or more records")
    if "://" in os.fspath(folder):
        raise InvalidArgumentError(f"folder is '{os.fspath(folder)}', an address; give a folder of this machine, and upload the files with another tool")
    stem = dataset.split if name is None else name
    if not stem or "/" in stem or stem.startswith("."):
        raise InvalidArgumentError(f"name is '{stem}'; expected the beginning of the files' names, such as 'train'")
    out = pathlib.Path(folder)
    schema = _schema(dataset, fields)
    with _unfinished(out, stem) as unfinished:
        writer = _Files(dataset, schema, unfinished, num_bytes("file_size", file_size), row_group_size, compression, classes, num_threads)
        bar = ProgressBar(progress, "records")
        try:
            writer.write(stem, bar)
            files = _take_names(sorted(unfinished.glob("*.parquet")), out, stem)
        except OSError as error:
            if isinstance(error, Error):  # ffkit's own, of the data set or the destination
                raise
            raise _cannot_write(out, error) from error
        finally:
            bar.close()
    for note in writer.notes:
        warnings.warn(f"{stem}: {note}", stacklevel=3)
    return ParquetSummary(tuple(str(file) for file in files), len(dataset), sum(file.stat().st_size for file in files), tuple(writer.notes))


def _schema(dataset: Dataset, fields: Sequence[str]) -> dict[str, Field]:
    """Of the chosen fields."""
    schema = dataset.schema
    for name in fields:
        if name not in schema:
            message = f"there is no field '{name}'; the fields are {', '.join(schema)}"
            raise make_error("not_found", message, "field", None, None, None, 0, name, None)
    if len(set(fields)) < len(fields):
        raise InvalidArgumentError(f"fields is {list(fields)}; give each field once")
    return {name: schema[name] for name in fields or schema}


def _cannot_write(out: pathlib.Path, error: OSError) -> Error:
    remedy = "free some space or give another folder" if error.errno in (errno.ENOSPC, errno.EDQUOT) else None
    what = f"{out}: cannot write the files: {error}" + (f"; {remedy}" if remedy else "")
    return make_error("io", what, "destination", str(out), None, None, error.errno or 0, None, remedy)


@contextmanager
def _unfinished(out: pathlib.Path, stem: str) -> Iterator[pathlib.Path]:
    """A folder in `out` for only this process. It removes files of a killed process. At the end it
    removes the folder, and `out` if that is new and empty."""
    made = not out.exists()
    out.mkdir(parents=True, exist_ok=True)
    folder = out / f".ffkit-{stem}-parquet"
    folder.mkdir(exist_ok=True)
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        if not _is_locked(lock, folder):
            raise InvalidArgumentError(f"{out}: '{stem}' is being written by another process; give another folder, or another name")
        try:
            _require_free(out, stem)
            for left in folder.iterdir():
                left.unlink()
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            if made and not any(out.iterdir()):
                out.rmdir()
    finally:
        os.close(lock)


def _is_locked(lock: int, folder: pathlib.Path) -> bool:
    """Whether this process has the folder now: no other process uses it or has just removed it."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP):
            raise
        warnings.warn(f"{folder.parent}: its file system has no locks; make sure that no other process writes the same files", stacklevel=5)
    try:
        return os.path.samestat(os.fstat(lock), os.stat(folder))
    except FileNotFoundError:
        return False


def _require_free(out: pathlib.Path, stem: str) -> None:
    there = sorted(out.glob(f"{stem}-[0-9]*-of-[0-9]*.parquet"))
    if there:
        raise InvalidArgumentError(f"{there[0]}: the file exists already, and nothing is overwritten; give another folder, or another name")


def _different(names: list[str]) -> list[str]:
    """With the number of its class after a name that an earlier class has."""
    taken: set[str] = set()
    for number, name in enumerate(names):
        while name in taken:
            name += f"-{number}"
        taken.add(name)
        names[number] = name
    return names


def _take_names(files: list[pathlib.Path], out: pathlib.Path, stem: str) -> list[pathlib.Path]:
    """Renames the finished files to names that contain their number; if one fails, removes all."""
    _require_free(out, stem)
    moved: list[pathlib.Path] = []
    try:
        for number, file in enumerate(files):
            moved.append(out / f"{stem}-{number:05}-of-{len(files):05}.parquet")
            os.rename(file, moved[-1])
    except BaseException:
        for file in moved:
            file.unlink(missing_ok=True)
        raise
    return moved


class _Files:
    """Writes the records of a data set, in groups of rows, into files of a bounded size."""

    def __init__(
        self,
        dataset: Dataset,
        schema: dict[str, Field],
        folder: pathlib.Path,
        file_bytes: int,
        group_rows: int,
        compression: str,
        with_classes: bool,
        num_threads: int,
    ) -> None:
        self._dataset = dataset
        self._schema = schema
        self._folder = folder
        self._file_bytes = file_bytes
        self._group_rows = group_rows
        self._compression = compression
        self._threads = num_threads or len(os.sched_getaffinity(0))
        self.notes: list[str] = []
        self._classes = self._class_names() if with_classes else []
        self._columns = [
            Column(require_pyarrow(), name, field, self._num_dimensions(name), self._classes if name == "label" and field.type == "scalar" else [])
            for name, field in schema.items()
        ]
        pictures = [name for name, field in schema.items() if field.type == "image"]
        has_id = "id" in schema and schema["id"].type == "string"
        self._named = pictures[0] if has_id and len(pictures) == 1 else None  # the picture whose file name is in the id
        for name, field in schema.items():
            if field.dtype == "bf16":
                self.notes.append(f"field '{name}' of bf16 is written as float32, which loses nothing")

    def _class_names(self) -> list[str]:
        names, identifiers = self._dataset.class_names, self._dataset.classes
        field = self._schema.get("label")
        if field is None or field.type != "scalar" or (field.dtype or "f")[0] not in "ui" or not identifiers:
            return []
        if names and len(set(names)) == len(names):
            if names != identifiers:
                self.notes.append("classes are written with their readable names, as on Hugging Face's hub, not with their identifiers")
            return names
        if names:
            self.notes.append("classes are written with their identifiers, because some of their readable names are equal")
        if len(set(identifiers)) < len(identifiers):
            self.notes.append("classes with equal names get their number after the name, except the first, because Hugging Face's ClassLabel needs unique names")
        return _different(list(identifiers))

    def _num_dimensions(self, name: str) -> int:
        """Of the first array of the field."""
        field = self._schema[name]
        if "tensor" not in (field.type, field.item):
            return 0
        for index in range(len(self._dataset)):
            value = self._dataset.field(index, name)
            if field.type == "list":
                value = value[0] if value else None
            if value is not None:
                return int(value.ndim)
        return 1

    def write(self, split: str, bar: ProgressBar) -> None:
        pa = require_pyarrow()
        schema = pa.schema([(column.name, column.type) for column in self._columns], metadata=metadata_of(self._columns))
        # A dictionary of pictures would cost a hash of each, and hold none twice.
        texts = [column.name for column in self._columns if self._schema[column.name].type in ("scalar", "string")]
        writer: Any = None
        number = 0
        done = bytes_done = 0
        try:
            for rows in self._groups():
                table = pa.table([self._array(column, rows) for column in self._columns], schema=schema)
                if writer is not None and os.path.getsize(self._path(number)) + table.nbytes > self._file_bytes:
                    writer.close()
                    writer = None
                    number += 1
                if writer is None:
                    writer = pa.parquet.ParquetWriter(self._path(number), schema, compression=self._compression, use_dictionary=texts or False)
                writer.write_table(table, row_group_size=len(rows))
                done += len(rows)
                bytes_done += table.nbytes
                bar.tell(split, len(self._dataset), done, bytes_done)
            if writer is None:
                writer = pa.parquet.ParquetWriter(self._path(number), schema, compression=self._compression)
        finally:
            if writer is not None:
                writer.close()
        empty = {column.name: column.num_empty for column in self._columns if column.num_empty}
        for name, count in empty.items():
            self.notes.append(f"field '{name}': arrays without elements lose their shape, because lists in lists have no shape: {count:,}")

    def _path(self, number: int) -> pathlib.Path:
        return self._folder / f"{number:08}.parquet"

    def _groups(self) -> Iterator[list[dict[str, Any]]]:
        """The records in order, read by threads, at most `row_group_size` or 32 MiB at a time."""
        rows: list[dict[str, Any]] = []
        size = 0
        step = max(self._threads, 16)
        with ThreadPoolExecutor(self._threads) as pool:
            for begin in range(0, len(self._dataset), step):
                for row in pool.map(self._read, range(begin, min(begin + step, len(self._dataset)))):
                    rows.append(row)
                    size += sum(size_of(row[name]) for name in self._schema)
                    if len(rows) >= self._group_rows or size >= _GROUP_BYTES:
                        yield rows
                        rows, size = [], 0
        if rows:
            yield rows

    def _read(self, index: int) -> dict[str, Any]:
        row: dict[str, Any] = self._dataset[index]
        if self._classes:
            try:
                require_label(row["label"], len(self._classes))
            except Exception as error:
                add_note(error, f"ffkit: of record {index}")
                raise
        return row

    def _array(self, column: Column, rows: list[dict[str, Any]]) -> Any:
        is_named = column.name == self._named
        paths = [(row["id"] or "").rpartition("/")[2] or None if is_named else None for row in rows]
        return column.array([row[column.name] for row in rows], paths)
