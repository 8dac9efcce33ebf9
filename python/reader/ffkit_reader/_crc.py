"""CRC-32C (Castagnoli) of bytes, by numpy: hundreds of megabytes a second instead of ten.

A message is a polynomial over GF(2), and its checksum what is left of it modulo P. So a row of
32-bit words may be folded: each word is carried over the next one (multiplied by x^32) and added to
it, which halves the row; then by x^64, x^128, ... One fold is two looks into tables of 65,536
numbers for each word. Zeros in front of a message change nothing, so rows of any length fold."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Union

import numpy

Bytes = Union[bytes, bytearray, memoryview]

_POLYNOMIAL = 0x82F63B78
_ONES = 0xFFFFFFFF
_SHORT = 384  # bytes: below, a loop over them is faster than numpy's calls
_PIECE = 1 << 20  # bytes that are folded at once: what stands between two folds stays in the processor's caches


def _table_of_bytes() -> list[int]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = (byte >> 1) ^ (_POLYNOMIAL if byte & 1 else 0)
        table.append(byte)
    return table


_BYTES = _table_of_bytes()


def _carried(crc: int, data: Bytes) -> int:
    """The register after `data`, without the xor of the beginning and the end."""
    for byte in data:
        crc = (crc >> 8) ^ _BYTES[(crc ^ byte) & 0xFF]
    return crc


def _apply(columns: list[int], value: int) -> int:
    """A linear map, given by what it makes of each bit, of `value`."""
    result = 0
    for column in columns:
        if value & 1:
            result ^= column
        value >>= 1
    return result


@lru_cache(maxsize=None)
def _columns(level: int) -> list[int]:
    """What carrying over 4 * 2^level bytes of zeros makes of each bit of the register."""
    if level == 0:
        return [_carried(1 << bit, bytes(4)) for bit in range(32)]
    half = _columns(level - 1)
    return [_apply(half, column) for column in half]


@lru_cache(maxsize=None)
def _tables(level: int) -> tuple[Any, Any]:
    """The same for all numbers of the lower and of the upper 16 bits: two arrays [65536] u32."""
    tables = []
    for columns in (_columns(level)[:16], _columns(level)[16:]):
        table = numpy.zeros(1, numpy.uint32)
        for column in columns:
            table = numpy.concatenate([table, table ^ numpy.uint32(column)])
        tables.append(table)
    return tables[0], tables[1]


def _folded(words: Any) -> Any:
    """The registers after the rows of `words`, [rows, count] u32 of little-endian bytes, which
    begin with a register of 0: [rows] u32."""
    level = 0
    while words.shape[1] > 1:
        count = words.shape[1]
        odd = count % 2
        low, high = _tables(level)
        halves = numpy.ascontiguousarray(words[:, odd:]).view("<u2").reshape(len(words), count // 2, 4)
        rest = words[:, odd + 1 :: 2] ^ low.take(halves[:, :, 0])
        rest ^= high.take(halves[:, :, 1])
        words = numpy.concatenate([words[:, :1], rest], axis=1) if odd else rest
        level += 1
    low, high = _tables(0)
    return low.take(words[:, 0] & 0xFFFF) ^ high.take(words[:, 0] >> 16)


def crc32c(data: Bytes, crc: int = 0) -> int:
    """The CRC-32C of `data`. If `crc` is the checksum of earlier bytes: of these and `data`."""
    register = crc ^ _ONES
    view = memoryview(data)
    while len(view) >= _SHORT:
        piece = view[:_PIECE]
        piece = piece[: len(piece) // 4 * 4]
        words = numpy.frombuffer(piece, "<u4").reshape(1, -1).copy()
        words[0, 0] ^= register
        register = int(_folded(words)[0])
        view = view[len(piece) :]
    return _carried(register, view) ^ _ONES


def crc32c_of_rows(rows: Any) -> Any:
    """The CRC-32C of each row of an array [rows, bytes] u8, whose rows have a multiple of 4 bytes,
    and at least 4: [rows] u32."""
    words = numpy.ascontiguousarray(rows).view("<u4").copy()
    words[:, 0] ^= numpy.uint32(_ONES)
    return _folded(words) ^ numpy.uint32(_ONES)
