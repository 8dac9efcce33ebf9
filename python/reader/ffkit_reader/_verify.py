"""Whether a split is whole: everything is read, every checksum compared, and all damage listed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Optional

from ._errors import CorruptError, Error
from ._manifest import NAME, Listed, read_manifest, shard_difference
from ._open import is_split_folder, open_file, open_split, refuse_unfinished, require_local, splits, v1_files
from ._schema import Schema
from ._v1 import AnyShard
from ._values import value_of
from ._zstd import NoModuleError

_AGAIN = "; copy or convert it again"


@dataclass(frozen=True)
class Problem:
    """Damage.

    Attributes:
        file: the shard or manifest.
        record: its number in the file, or None of what is no record's.
        record_index: its number in the split, or None.
        message: the sentence, which names file and record."""

    file: str
    record: Optional[int]
    record_index: Optional[int]
    message: str


@dataclass
class SplitCheck:
    """What was found in a split, which is whole where there are no problems."""

    path: str
    split: str
    num_records: int = 0
    num_shards: int = 0
    file_bytes: int = 0
    warnings: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


def _record_problem(shard: AnyShard, i: int) -> Optional[Error]:
    """Raises NoModuleError: without a module for zstd nothing is known of a compressed record,
    which nobody is to take for damaged."""
    try:
        for (name, kind), data in zip(shard.schema.items(), shard.record(i, check_fields=True)):
            if data is not None:
                value_of(name, kind, data, jpegs=False)
    except CorruptError as error:
        return error if error.path else CorruptError(error.reason, shard.path, i)
    except NoModuleError:
        raise
    except Error as error:
        return error
    return None


def _content_problems(shard: AnyShard, first: Optional[int]) -> Iterator[Problem]:
    for error in shard.index_problems():
        yield Problem(shard.path, None, None, str(error))
    for i in range(shard.num_records):
        problem = _record_problem(shard, i)
        if problem:
            yield Problem(shard.path, i, None if first is None else first + i, str(problem))


def _check_split_folder(folder: str, max_record_bytes: int) -> SplitCheck:
    check = SplitCheck(folder, os.path.basename(os.path.normpath(folder)))
    try:
        manifest = read_manifest(os.path.join(folder, NAME))
    except Error as error:
        check.problems.append(Problem(os.path.join(folder, NAME), None, None, str(error)))
        return check
    check.split, check.num_records, check.num_shards, check.file_bytes = manifest.split, manifest.num_records, len(manifest.shards), manifest.file_bytes
    first = 0
    for listed in manifest.shards:
        check.problems += _shard_problems(os.path.join(folder, listed.file), listed, manifest.schema, first, max_record_bytes)
        first += listed.num_records
    return check


def _shard_problems(path: str, listed: Listed, schema: Schema, first: int, max_record_bytes: int) -> list[Problem]:
    try:
        shard = open_file(path, max_record_bytes)
    except Error as error:
        return [Problem(path, None, None, str(error))]
    other = shard_difference(shard, listed, schema)
    problems = [Problem(path, None, None, f"{path}: {other}{_AGAIN}")] if other else []
    return problems + list(_content_problems(shard, first))


def _check_files(path: str, split: str, files: list[str], max_record_bytes: int) -> SplitCheck:
    check = SplitCheck(path, split, num_shards=len(files))
    first: Optional[int] = 0
    for file in files:
        try:
            shard = open_file(file, max_record_bytes)
        except Error as error:
            check.problems.append(Problem(file, None, None, str(error)))
            first = None
            continue
        check.num_records += shard.num_records
        check.file_bytes += shard.file_bytes
        check.warnings += shard.warnings
        check.problems += _content_problems(shard, first)
        first = None if first is None else first + shard.num_records
    return check


def check_splits(path: str, split: str, max_record_bytes: int) -> list[SplitCheck]:
    """The split `split` of what `path` stands for, or all of them where `split` is empty. Raises an
    Error where there is nothing to check."""
    require_local(path)
    if os.path.isdir(path):
        refuse_unfinished(path)
        one = os.path.join(path, split) if split else path
        if is_split_folder(one):
            return [_check_split_folder(one, max_record_bytes)]
        found = [] if split else splits(path)
        if found:
            return [check for name in found for check in check_splits(path, name, max_record_bytes)]
    files = v1_files(path, split)
    whole = None if files else open_split(path, split, max_record_bytes)  # says what is wrong
    if whole is not None:
        return [_check_split_folder(path, max_record_bytes)]  # the folder of a split, by its name
    try:
        check = _check_files(path, split or os.path.splitext(os.path.basename(os.path.normpath(path)))[0], files, max_record_bytes)
        if not check.problems:
            open_split(path, split, max_record_bytes)  # what is wrong with whole files together, or with meta.pkl
    except NoModuleError:
        raise
    except Error as error:
        check.problems.append(Problem(error.path or path, None, None, str(error)))
    return [check]
