"""A shard: a file with records, their index and checksums (FORMAT.md, "Shard")."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Optional

import numpy

from . import _zstd
from ._crc import crc32c, crc32c_of_rows
from ._errors import CorruptError, Error, UnsupportedError
from ._files import read_at, size_of
from ._schema import DTYPES, Field, Schema, column_of, schema_of
from ._values import align8, numbers_of, text_of

MAGIC = b"\x93FFR2\r\n\x1a"
_HEADER = 4096
_TRAILER = 64
_PAGE = 4096
_PAYLOAD = 4064
_ENTRY = 32
_NULL = 1 << 63
_MOST_ALIGNMENT = 1 << 20
_MOST_CATALOG = 64 << 20
_MOST_COMPRESSED = 1 << 30
_MOST_RATIO = 1 << 15
_MOST_DICTIONARY = 16 << 20
_PAGES_AT_ONCE = 256
_PAGES_KEPT = 256  # of the index, for each shard
_AGAIN = "; copy or convert the shard again"


@dataclass(frozen=True)
class Entry:
    """Where a record is, as the index says."""

    offset: int
    stored_bytes: int
    raw_bytes: int
    crc: int
    codec: int


@dataclass(frozen=True)
class _Stream:
    number: int
    name: str
    offset: int
    num_bytes: int
    crc: int

    @property
    def num_pages(self) -> int:
        return -(-self.num_bytes // _PAYLOAD)


def _count(json_object: Any, key: str) -> int:
    value = json_object[key]
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 63:
        raise ValueError(f"{key} is {value!r}")
    return value


class Shard:
    """Opening reads header, trailer and catalog; `record()` a page of the index and the record.

    Attributes: path, schema, num_records, file_bytes, record_bytes (stored), raw_bytes (before
        compression), checksum (of the catalog)."""

    version = 2

    def __init__(self, path: str, max_record_bytes: int) -> None:
        self.path = path
        self.warnings: list[str] = []
        self._max_record_bytes = max_record_bytes
        self._pages: dict[int, bytes] = {}
        self._unpackers: dict[int, _zstd.Unpack] = {}
        self.file_bytes = size_of(path)
        if self.file_bytes < _HEADER + _TRAILER:
            raise self._corrupt(f"the file has {self.file_bytes} bytes, too few for a shard")
        self._read_header()
        catalog = self._read_trailer()
        try:
            self.num_records = _count(catalog, "num_records")
            self.record_bytes = _count(catalog, "record_bytes")
            self.raw_bytes = _count(catalog, "raw_bytes")
            self.schema: Schema = schema_of(catalog["schema"])
            self._streams: dict[str, _Stream] = {}
            for i, item in enumerate(catalog["streams"]):
                stream = _Stream(i, str(item["name"]), *(_count(item, key) for key in ("offset", "num_bytes", "crc32c")))
                self._streams.setdefault(stream.name, stream)
        except UnsupportedError as error:
            raise UnsupportedError(error.reason, path) from None
        except CorruptError as error:
            raise self._corrupt(error.reason) from None
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            raise self._corrupt(f"the catalog cannot be read ({error!r})") from None
        self._check_streams()

    def _corrupt(self, reason: str, record: Optional[int] = None) -> CorruptError:
        return CorruptError(reason + _AGAIN, self.path, record)

    def _check_crc(self, crc: int, expected: int, what: str, record: Optional[int] = None) -> None:
        if crc != expected:
            raise self._corrupt(f"{what} is damaged: its CRC-32C is {crc:08x}, but must be {expected:08x}", record)

    def _check_major(self, version: int) -> None:
        if version > 2:
            raise UnsupportedError(f"the shard has format version {version}, but this package knows only versions up to 2; use a newer ffkit-reader", self.path)
        if version < 2:
            raise self._corrupt(f"the shard has version {version}, but the magic number of version 2")

    def _read_header(self) -> None:
        header = read_at(self.path, 0, _HEADER)
        if header[:8] != MAGIC:
            raise self._corrupt("the file is neither an ffkit shard nor an FFRecord v1 file: it does not begin with the magic number of a shard")
        major, minor, alignment, flags = struct.unpack_from("<4I", header, 8)
        self._check_major(major)
        self._check_crc(crc32c(header[:4092]), struct.unpack_from("<I", header, 4092)[0], "the header")
        if flags != 0:
            raise UnsupportedError(f"the shard uses features (flags {flags:08x}) that this package does not know; use a newer ffkit-reader", self.path)
        if not 1 <= alignment <= _MOST_ALIGNMENT or alignment & (alignment - 1):
            raise self._corrupt(f"alignment {alignment} is not a power of two from 1 to {_MOST_ALIGNMENT}")
        self.alignment: int = alignment
        self._uuid = header[24:40]

    def _read_trailer(self) -> Any:
        at = self.file_bytes - _TRAILER
        trailer = read_at(self.path, at, _TRAILER)
        if trailer[60:] != MAGIC[1:5]:
            raise self._corrupt("the file does not end with the trailer of a shard: the file was cut off, or other data follow the trailer")
        self._check_crc(crc32c(trailer[:56] + trailer[60:]), struct.unpack_from("<I", trailer, 56)[0], "the trailer")
        offset, size, self.checksum, major, count, file_bytes = struct.unpack_from("<QQIIQQ", trailer)
        self._check_major(major)
        if file_bytes != self.file_bytes:
            raise self._corrupt(f"the file has {self.file_bytes} bytes, but the trailer says {file_bytes}")
        if not _HEADER <= offset <= at or size != at - offset or size > _MOST_CATALOG:
            raise self._corrupt(f"the trailer has a wrong place of the catalog ({size} bytes at {offset})")
        if trailer[40:56] != self._uuid:
            raise self._corrupt("header and trailer belong to different shards")
        self._catalog_offset: int = offset
        text = read_at(self.path, offset, size)
        self._check_crc(crc32c(text), self.checksum, "the catalog")
        try:
            catalog = json.loads(text)
            counted = _count(catalog, "num_records")
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            raise self._corrupt(f"the catalog cannot be read ({error!r})") from None
        if counted != count:
            raise self._corrupt(f"the catalog has {counted} records, but the trailer has {count}")
        return catalog

    def _check_streams(self) -> None:
        needed: dict[str, Optional[int]] = {"entries": _ENTRY * self.num_records}
        for name, field in self.schema.items():
            if field.column and field.type == "scalar":
                needed[f"column/{name}"] = self.num_records * DTYPES[str(field.dtype)]
            elif field.column:
                needed[f"column/{name}/ends"] = 8 * self.num_records
                needed[f"column/{name}/text"] = None
        for name, num_bytes in needed.items():
            if name not in self._streams:
                raise self._corrupt(f"the catalog has no stream '{name}'")
            if num_bytes is not None and self._streams[name].num_bytes != num_bytes:
                raise self._corrupt(f"the stream '{name}' has {self._streams[name].num_bytes} bytes, but must have {num_bytes} bytes")
        for stream in self._streams.values():
            end = stream.offset + _PAGE * stream.num_pages
            if stream.offset < _HEADER or stream.offset % _PAGE != 0 or end > self._catalog_offset:
                raise self._corrupt(f"the stream '{stream.name}' is not inside the file")

    def _read_pages(self, stream: _Stream, first: int, count: int) -> Any:
        """Pages of a stream, checked: numpy.ndarray [count, 4096] u8."""
        pages = numpy.frombuffer(read_at(self.path, stream.offset + _PAGE * first, _PAGE * count), numpy.uint8).reshape(count, _PAGE)
        found = crc32c_of_rows(pages[:, :4092])
        expected = numpy.ascontiguousarray(pages[:, 4092:]).view("<u4")[:, 0]
        for i in range(count):
            what = f"page {first + i} of the index stream '{stream.name}'"
            self._check_crc(found[i], expected[i], what)
            used = min(_PAYLOAD, stream.num_bytes - _PAYLOAD * (first + i))
            if struct.unpack("<QII", pages[i, 4064:4080].tobytes()) != (first + i, stream.number, used):
                raise self._corrupt(f"{what} contains another page")
        return pages

    def stream(self, name: str) -> bytes:
        """The payload of a stream, every page of it checked."""
        stream = self._streams[name]
        payload = []
        crc = 0
        for first in range(0, stream.num_pages, _PAGES_AT_ONCE):
            pages = self._read_pages(stream, first, min(_PAGES_AT_ONCE, stream.num_pages - first))
            payload.append(pages[:, :_PAYLOAD].tobytes())
            crc = crc32c(pages[:, 4092:].tobytes(), crc)
        if crc != stream.crc:
            raise self._corrupt(f"the index stream '{name}' is damaged: the CRC-32C of its pages is {crc:08x}, but must be {stream.crc:08x}")
        return b"".join(payload)[: stream.num_bytes]

    def entry(self, i: int) -> Entry:
        """Where record `i` is; reads a page of the index unless that was read before."""
        number, place = divmod(_ENTRY * i, _PAYLOAD)
        page = self._pages.get(number)
        if page is None:
            page = self._read_pages(self._streams["entries"], number, 1).tobytes()
            if len(self._pages) >= _PAGES_KEPT:
                self._pages.clear()
            self._pages[number] = page
        entry = Entry(*struct.unpack_from("<QQQIB", page, place))
        if entry.codec not in (0, 1, 2):
            raise UnsupportedError(f"the record is stored with codec {entry.codec}, which this package does not know; use a newer ffkit-reader", self.path, i)
        if entry.offset < _HEADER or entry.stored_bytes < 1 or entry.offset + entry.stored_bytes > self._catalog_offset:
            raise self._corrupt("the index entry of the record points outside of the shard", i)
        if entry.codec == 0 and entry.raw_bytes != entry.stored_bytes:
            raise self._corrupt("the index entry of the record has two different lengths", i)
        if entry.codec != 0 and not 1 <= entry.raw_bytes <= min(_MOST_COMPRESSED, _MOST_RATIO * entry.stored_bytes):
            raise self._corrupt(f"the index entry of the record has wrong sizes: {entry.raw_bytes} bytes cannot be compressed to {entry.stored_bytes} bytes", i)
        if max(entry.raw_bytes, entry.stored_bytes) > self._max_record_bytes:
            raise UnsupportedError(
                f"the record has {max(entry.raw_bytes, entry.stored_bytes)} bytes, more than the limit of {self._max_record_bytes} bytes; raise max_record_bytes", self.path, i
            )  # fmt: skip
        return entry

    def _unpack(self, i: int, entry: Entry, stored: bytes) -> bytes:
        if entry.codec == 0:
            return stored
        if _zstd.content_size(stored) != entry.raw_bytes:
            raise self._corrupt("the size of the record's zstd frame differs from its index entry", i)
        try:
            if entry.codec not in self._unpackers:
                self._unpackers[entry.codec] = _zstd.unpacker(self._dictionary(i) if entry.codec == 2 else b"")
            return self._unpackers[entry.codec](stored, entry.raw_bytes)
        except CorruptError as error:
            raise error if error.path else self._corrupt(error.reason, i) from None
        except UnsupportedError as error:
            raise type(error)(error.reason, self.path, i) from None

    def _dictionary(self, i: int) -> bytes:
        stream = self._streams.get("dictionary")
        if stream is None or not 0 < stream.num_bytes <= _MOST_DICTIONARY:
            raise self._corrupt("the record needs a zstd dictionary, but the shard has no dictionary", i)
        return self.stream("dictionary")

    def _record_bytes(self, i: int, check: bool) -> bytes:
        entry = self.entry(i)
        stored = read_at(self.path, entry.offset, entry.stored_bytes)
        if check:
            self._check_crc(crc32c(stored), entry.crc, "the record", i)
        return self._unpack(i, entry, stored)

    def record(self, i: int, check: bool = True, check_fields: bool = False) -> list[Optional[bytes]]:
        """The bytes of each field of record `i`, None of a null one. `check`: the record's checksum
        is compared; `check_fields`: that of each field."""
        data = self._record_bytes(i, check)
        places = self._places(data, i)
        if places[-1][1] != len(data):
            raise self._corrupt(f"the last field ends at byte {places[-1][1]}, but the record has {len(data)} bytes", i)
        for position, (begin, end, _) in enumerate(places if check_fields else ()):
            self._check_field(data, position, data[begin:end], i)
        return [None if is_null else data[begin:end] for begin, end, is_null in places]

    def _places(self, table: bytes, i: int, size: Optional[int] = None) -> list[tuple[int, int, bool]]:
        """Begin, end and whether it is null of each field, from the table at the begin of a record
        of `size` bytes, which are `table` without."""
        num_fields = len(self.schema)
        size = len(table) if size is None else size
        end = align8(12 * num_fields)
        if size < end:
            raise self._corrupt(f"the record has {size} bytes, too few for the table of its {num_fields} fields", i)
        places = []
        for name, word in zip(self.schema, struct.unpack_from(f"<{num_fields}Q", table)):
            begin, end, is_null = align8(end), word & (_NULL - 1), bool(word & _NULL)
            if end < begin or end > size or (is_null and end != begin):
                raise self._corrupt(f"field '{name}' ends at byte {end}, but the record has {size} bytes", i)
            places.append((begin, end, is_null))
        return places

    def _check_field(self, table: bytes, position: int, data: bytes, i: int) -> None:
        num_fields = len(self.schema)
        (expected,) = struct.unpack_from("<I", table, 8 * num_fields + 4 * position)
        crc = crc32c(data, crc32c(table[8 * position : 8 * position + 8]))
        self._check_crc(crc, expected, f"field '{list(self.schema)[position]}'", i)

    def field(self, i: int, position: int, check: bool = True) -> Optional[bytes]:
        """The bytes of one field of record `i`, None when it is null. Reads the table and the field
        alone where the record is not compressed."""
        entry = self.entry(i)
        if entry.codec != 0:
            return self.record(i, check)[position]
        table = read_at(self.path, entry.offset, min(align8(12 * len(self.schema)), entry.stored_bytes))
        begin, end, is_null = self._places(table, i, entry.stored_bytes)[position]
        data = read_at(self.path, entry.offset + begin, end - begin)
        if check:
            self._check_field(table, position, data, i)
        return None if is_null else data

    def index_problems(self) -> Iterator[Error]:
        """What is wrong with the index; reads all of it."""
        is_whole = True
        for name in self._streams:
            try:
                self.stream(name)
            except Error as error:
                is_whole = False
                yield error
        if not is_whole:
            return
        entries = numpy.frombuffer(self.stream("entries"), "<u8").reshape(-1, 4)
        sums = [sum(entries[:, k].tolist()) for k in (1, 2)]
        if sums != [self.record_bytes, self.raw_bytes]:
            yield self._corrupt(
                f"the records have {sums[0]} bytes ({sums[1]} before compression), but the catalog says {self.record_bytes} ({self.raw_bytes})"
            )  # fmt: skip

    def column(self, name: str) -> Any:
        """The values of a column: an array of its dtype, or a list of texts."""
        field: Field = column_of(self.schema, name, self.path)
        if field.type == "scalar":
            return numbers_of(self.stream(f"column/{name}"), str(field.dtype))
        ends = numpy.frombuffer(self.stream(f"column/{name}/ends"), "<u8").tolist()
        text = self.stream(f"column/{name}/text")
        begins = [0, *ends[:-1]]
        for i, (begin, end) in enumerate(zip(begins, ends)):
            if not begin <= end <= len(text):
                raise self._corrupt(f"the value of column '{name}' ends at byte {end}, but the column has {len(text)} bytes and values must follow one another", i)
        return [text_of(text[begin:end]) for begin, end in zip(begins, ends)]

    def sizes(self) -> list[int]:
        """Stored bytes of each record."""
        return [int(size) for size in numpy.frombuffer(self.stream("entries"), "<u8").reshape(-1, 4)[:, 1]]
