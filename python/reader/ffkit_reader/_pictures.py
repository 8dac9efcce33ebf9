"""Encoding and size of an encoded picture, from its header. Pixels are not decoded here."""

from __future__ import annotations

import struct
from typing import Optional

from ._dct import MAGIC as DCT_MAGIC

# Width and height, where they can be read.
Size = Optional[tuple[int, int]]


def _jpeg(data: bytes, at: int) -> Size:
    while at + 9 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if marker == 0xFF:
            at += 1
        elif 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack_from(">HH", data, at + 5)
            return width, height
        elif marker == 0xDA:
            return None
        else:
            at += 2 + struct.unpack_from(">H", data, at + 2)[0]
    return None


def _webp(data: bytes) -> Size:
    kind = data[12:16]
    if kind == b"VP8X":
        return 1 + int.from_bytes(data[24:27], "little"), 1 + int.from_bytes(data[27:30], "little")
    if kind == b"VP8L":
        bits = int.from_bytes(data[21:25], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if kind == b"VP8 " and len(data) >= 30:
        width, height = struct.unpack_from("<HH", data, 26)
        return width & 0x3FFF, height & 0x3FFF
    return None


def _pnm(data: bytes) -> Size:
    numbers = []
    for line in data[2:512].split(b"\n"):
        numbers += [word for word in line.split(b"#")[0].split()]
    return (int(numbers[0]), int(numbers[1])) if len(numbers) >= 2 and all(number.isdigit() for number in numbers[:2]) else None


def picture_size(data: bytes) -> tuple[str, Size]:
    """The encoding (or "unknown"), width and height; None if they cannot be read."""
    try:
        if data.startswith(b"\xff\xd8\xff"):
            return "jpeg", _jpeg(data, 2)
        if data.startswith(b"\x89PNG\r\n\x1a\n"):
            return "png", struct.unpack_from(">II", data, 16)
        if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
            return "webp", _webp(data)
        if data[:2] == b"BM" and int.from_bytes(data[14:18], "little") < 4096:
            width, height = struct.unpack_from("<ii", data, 18)
            return "bmp", (width, abs(height))
        if data[:1] == b"P" and data[1:2] in b"123456" and data[2:3] in b" \t\n\v\f\r#" and len(data) > 2:
            return "ppm", _pnm(data)
        if data.startswith(DCT_MAGIC):
            return "dct", _jpeg(data, 28 + 19 * data[24] + 2)  # DCT.md: the JPEG's head stands behind the tables
    except (struct.error, IndexError):
        return "unknown", None
    return "unknown", None
