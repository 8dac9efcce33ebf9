"""FFRecord v1 files, and packed folders (FORMAT-v1.md)."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Optional

import numpy

from ._errors import CorruptError, Error, UnsupportedError
from ._files import read_at, size_of
from ._pickle import plain_value
from ._pictures import picture_size
from ._schema import Field, Schema, column_of
from ._shard import MAGIC

_FIXED = 12
_FOR_EACH = 12
_RECORDS_TRIED = 16  # to find out what the payload is
_PACKED = b"piouhjgbr"
_AGAIN = "; copy or make the file again"

RAW: Schema = {"data": Field("bytes")}
PICTURES: Schema = {"image": Field("image")}
IMAGENET: Schema = {"image": Field("image"), "label": Field("scalar", "i64", column=True)}


def looks_like_v1(path: str) -> bool:
    """Whether the table of a v1 file fits this one, and it does not begin as a shard does."""
    size = size_of(path)
    if size < _FIXED:
        return False
    begin = read_at(path, 0, _FIXED)
    return begin[:8] != MAGIC and 0 <= struct.unpack_from("<q", begin, 4)[0] <= (size - _FIXED) // _FOR_EACH


class V1File:
    """An FFRecord v1 file, with Shard's members. `schema`: PICTURES, IMAGENET or RAW; None: from
    the first undamaged record. Pickles of other values are RAW."""

    version = 1

    def __init__(self, path: str, max_record_bytes: int, schema: Optional[Schema] = None) -> None:
        self.path = path
        self.warnings: list[str] = []
        self._max_record_bytes = max_record_bytes
        self.file_bytes = size_of(path)
        self._read_header()
        self.labels: Optional[Any] = None  # of meta.pkl, [num_records] i64
        self.schema = self._find_schema() if schema is None else schema

    def _corrupt(self, reason: str, record: Optional[int] = None) -> CorruptError:
        return CorruptError(reason + _AGAIN, self.path, record)

    def _read_header(self) -> None:
        stored, count = struct.unpack("<Iq", read_at(self.path, 0, _FIXED))
        if not 0 <= count <= (self.file_bytes - _FIXED) // _FOR_EACH:
            raise self._corrupt(f"the file is not an FFRecord file: its header says that it has {count} records")
        header_bytes = _FIXED + _FOR_EACH * count
        header = read_at(self.path, 0, header_bytes)
        self.checksum = zlib.crc32(header[4:])
        self.num_records: int = count
        self.checksums = numpy.frombuffer(header, "<u4", count, _FIXED)
        self.offsets = numpy.frombuffer(header, "<i8", count, _FIXED + 4 * count)
        if stored == 0:
            self.warnings.append(f"{self.path} has no checksum of its header, so ffkit cannot detect damage to the header")
        elif stored != self.checksum:
            raise self._corrupt(f"the header is damaged: its CRC-32 is {self.checksum:08x}, but must be {stored:08x}")
        ends = [header_bytes, *self.offsets.tolist(), self.file_bytes]
        if ends[:2] != [header_bytes] * 2 or any(b < a for a, b in zip(ends, ends[1:])):
            raise self._corrupt("the header is damaged, or the file was cut off: its records do not follow one another up to its end")
        self.record_bytes = self.raw_bytes = self.file_bytes - header_bytes

    def _find_schema(self) -> Schema:
        for i in range(min(self.num_records, _RECORDS_TRIED)):
            try:
                data = self.payload(i)
            except Error:  # a damaged one says nothing
                continue
            if _is_picture(data):
                return PICTURES
            try:
                _picture_and_label(data)
                return IMAGENET
            except Error:
                return RAW
        return RAW

    def sizes(self) -> list[int]:
        """Bytes of each record."""
        ends = numpy.append(self.offsets[1:], self.file_bytes) if self.num_records else self.offsets
        return [int(size) for size in ends - self.offsets]

    def payload(self, i: int, check: bool = True) -> bytes:
        """The bytes of record `i`. `check`: its checksum is compared, where it has one."""
        begin = int(self.offsets[i])
        end = int(self.offsets[i + 1]) if i + 1 < self.num_records else self.file_bytes
        if end - begin > self._max_record_bytes:
            raise UnsupportedError(f"the record has {end - begin} bytes, more than the limit of {self._max_record_bytes} bytes; raise max_record_bytes", self.path, i)
        data = read_at(self.path, begin, end - begin)
        expected = int(self.checksums[i])
        if check and expected != 0 and zlib.crc32(data) != expected:
            raise self._corrupt(f"the record is damaged: its CRC-32 is {zlib.crc32(data):08x}, but must be {expected:08x}", i)
        return data

    def record(self, i: int, check: bool = True, check_fields: bool = False) -> list[Optional[bytes]]:
        """The bytes of each field of record `i`. `check_fields` is checked by `check`: fields have
        no checksums of their own."""
        data = self.payload(i, check or check_fields)
        if self.schema is RAW:
            return [data]
        if self.schema is PICTURES:
            if not _is_picture(data):
                raise CorruptError("the record is not a picture", self.path, i)
            return [data]
        try:
            picture, label = _picture_and_label(data)
        except (CorruptError, UnsupportedError) as error:
            raise type(error)(error.reason, self.path, i) from None
        return [picture, struct.pack("<q", label)]

    def field(self, i: int, position: int, check: bool = True) -> Optional[bytes]:
        return self.record(i, check)[position]

    def index_problems(self) -> Iterator[Error]:
        """Nothing: opening has checked the header."""
        return iter(())

    def column(self, name: str) -> Any:
        """The labels, [num_records] i64: those of meta.pkl if correct, or all records'."""
        column_of(self.schema, name, self.path)
        if self.labels is not None:
            return self.labels
        labels = [struct.unpack("<q", self.record(i)[1] or b"")[0] for i in range(self.num_records)]
        return numpy.array(labels, numpy.int64)


AnyShard = Any  # a Shard or a V1File, which have the same attributes


def _is_picture(data: bytes) -> bool:
    return picture_size(data)[0] not in ("unknown", "dct")


def _picture_and_label(data: bytes) -> tuple[bytes, int]:
    value = plain_value(data)
    if type(value) not in (tuple, list) or [type(item) for item in value] != [bytes, int] or not -(1 << 63) <= value[1] < 1 << 63:
        raise CorruptError("the record is not a pickle of image and label")
    return value[0], value[1]


@dataclass(frozen=True)
class PackedFile:
    """A file in a packed folder.

    Attributes:
        path: its place in the folder, with "/" between names.
        record: the number of its record.
        num_bytes: its length."""

    path: str
    record: int
    num_bytes: int


def is_packed_folder(path: str) -> bool:
    """Whether `path` is a file of FFRecord v1 whose last record is a tree of names."""
    if not looks_like_v1(path):
        return False
    try:
        file = V1File(path, 256 << 20, RAW)
    except CorruptError:  # opening it as a data set says what is wrong
        return False
    begin = int(file.offsets[-1]) if file.num_records else file.file_bytes
    return file.file_bytes - begin > len(_PACKED) and read_at(path, begin, len(_PACKED)) == _PACKED


class PackedFolder:
    """A folder of files in one file of FFRecord v1, whose last record is the tree of their names.

    Attributes:
        files: a PackedFile for each file, in the order of the tree.
        folders: paths of the folders in it.

    Args:
        path: the file.
        max_record_bytes: the longest file that is read; 0: 256 MiB.

    Raises:
        NotFoundError: there is no such file.
        CorruptError: it is no packed folder, or damaged."""

    def __init__(self, path: str, *, max_record_bytes: int = 0) -> None:
        if not looks_like_v1(path):
            raise CorruptError("the file is not an FFRecord v1 file", path)
        self._file = V1File(path, max_record_bytes or 256 << 20, RAW)
        if not is_packed_folder(path):
            raise CorruptError("the file is not a packed folder: its last record is not the tree of a folder", path)
        record = self._file.payload(self._file.num_records - 1)
        self.files: list[PackedFile] = []
        self.folders: list[str] = []
        try:
            tree = plain_value(record[len(_PACKED) :])
            if not isinstance(tree, Mapping):
                raise CorruptError("the tree is not a dict")
            self._walk(tree, "", set(), set(), self._file.sizes())
        except (CorruptError, UnsupportedError) as error:
            raise type(error)(f"the tree of the packed folder is broken: {error.reason}", path) from None

    def _walk(self, folder: Mapping[Any, Any], prefix: str, met: set[int], taken: set[int], sizes: list[int]) -> None:
        if id(folder) in met:
            raise CorruptError(f"the folder '{prefix}' appears twice")
        met.add(id(folder))
        for name, value in folder.items():
            if not isinstance(name, str) or name in ("", ".", "..") or "/" in name or "\0" in name or len(prefix + name) > 4096:
                raise CorruptError(f"{str(name)[:100]!r} in '{prefix}' is not a file name")
            if isinstance(value, Mapping):
                self.folders.append(prefix + name)
                if prefix.count("/") > 500:
                    raise CorruptError(f"the folder '{prefix[:100]}...' lies too deep")
                self._walk(value, f"{prefix}{name}/", met, taken, sizes)
            elif type(value) is not int or not 0 <= value < len(sizes) - 1 or value in taken:
                raise CorruptError(f"'{prefix}{name}' is record {value!r}; expected 0 to {len(sizes) - 2}, each once")
            else:
                taken.add(value)
                self.files.append(PackedFile(prefix + name, value, sizes[value]))

    def read(self, index: int) -> bytes:
        """The content of `files[index]`; its checksum is compared, where it has one."""
        return self._file.payload(self.files[index].record)
