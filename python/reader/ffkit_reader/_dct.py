"""The dct code of a JPEG (DCT.md): the exact JPEG file of a code. Makes the checks of DCT.md.

    jpeg_of(code)                     the file
    scan_of(Head(head), rows, 0)      entropy-coded bytes of coefficients, to make JPEGs in tests"""

from __future__ import annotations

import struct

MAGIC = b"\x93FFDCT"
ZIGZAG = sorted(range(64), key=lambda k: (k // 8 + k % 8, k // 8 if (k // 8 + k % 8) % 2 else k % 8))


def check(condition: bool, message: str) -> None:
    if not condition:
        raise ValueError(message)


class Bits:
    """Numbers from the lowest bit of the first byte on."""

    def __init__(self, data: bytes) -> None:
        self.value = int.from_bytes(data, "little")
        self.size = 8 * len(data)
        self.at = 0

    def number(self, width: int) -> int:
        check(self.at + width <= self.size, "bits are missing")
        number = self.value >> self.at & ((1 << width) - 1)
        self.at += width
        return number

    def signed(self, width: int) -> int:
        number = self.number(width)
        return number - (1 << width) if width and number >> (width - 1) else number

    def finish(self) -> None:
        check(self.size - self.at < 8 and self.value >> self.at == 0, "the bits after the last number are not 0")


Codes = dict[int, tuple[int, int]]


def huffman_codes(counts: bytes, symbols: bytes) -> Codes:
    """T.81, C.2: symbol to (code, length)."""
    codes: Codes = {}
    code, k = 0, 0
    for length, count in enumerate(counts, 1):
        for symbol in symbols[k:k + count]:
            codes[symbol] = (code, length)
            code += 1
        code <<= 1
        k += count
    return codes


class Head:
    """What the scan needs of the bytes up to the end of SOS (T.81, annex B)."""

    def __init__(self, data: bytes) -> None:
        tables: dict[int, Codes] = {}
        frame: dict[int, tuple[int, int]] = {}
        scan: list[tuple[int, int]] | None = None
        at = 2
        check(data[:2] == b"\xff\xd8", "the head is not the head of a JPEG")
        while scan is None:
            check(data[at] == 0xFF, "a marker is missing")
            while data[at + 1] == 0xFF:
                at += 1
            marker, size = data[at + 1], struct.unpack_from(">H", data, at + 2)[0]
            segment = data[at + 4:at + 2 + size]
            at += 2 + size
            if marker in (0xC0, 0xC1):
                precision, self.height, self.width, count = struct.unpack_from(">BHHB", segment)
                check(precision == 8, "its samples do not have 8 bits")
                frame = {segment[6 + 3 * i]: (segment[7 + 3 * i] >> 4, segment[7 + 3 * i] & 15) for i in range(count)}
            elif marker == 0xC4:
                while segment:
                    counts = segment[1:17]
                    tables[segment[0]] = huffman_codes(counts, segment[17:17 + sum(counts)])
                    segment = segment[17 + sum(counts):]
            elif marker == 0xDA:
                scan = [(segment[1 + 2 * i], segment[2 + 2 * i]) for i in range(segment[0])]
        check(at == len(data), "the head does not end with SOS")
        check(len(scan) == len(frame) in (1, 3), "the scan does not have all of 1 or 3 components")
        factors = [frame[name] for name, _ in scan]
        if len(scan) == 1:
            factors, h_max, v_max = [(1, 1)], 1, 1
        else:
            h_max, v_max = (max(factor[i] for factor in frame.values()) for i in (0, 1))
        self.blocks = [h * v for h, v in factors]  # of each component in an MCU
        self.mcus = -(-self.width // (8 * h_max))
        self.num_rows = -(-self.height // (8 * v_max))
        self.dc = [tables[number >> 4] for _, number in scan]
        self.ac = [tables[16 + (number & 15)] for _, number in scan]
        # The component of each block in a row, in the order of the scan.
        self.components = [c for c, count in enumerate(self.blocks) for _ in range(count)] * self.mcus


def scan_of(head: Head, rows: list[list[list[int]]], padding: int) -> bytes:
    """`rows`: for each row of MCUs its blocks in the order of the scan, each as 64 coefficients in
    natural order. T.81, F.1.2."""
    value, length = 1, 0  # all bits so far, below a 1
    out = bytearray()

    def put(bits: int, size: int) -> None:
        nonlocal value, length
        value, length = value << size | bits, length + size
        while length >= 8:
            length -= 8
            byte = value >> length & 0xFF
            out.append(byte)
            if byte == 0xFF:
                out.append(0)
            value = value & ((1 << length) - 1) | 1 << length

    def put_number(codes: Codes, run: int, number: int) -> None:
        size = abs(number).bit_length()
        put(*codes[run << 4 | size])
        put(number if number >= 0 else number + (1 << size) - 1, size)

    last = [0] * len(head.blocks)
    for row in rows:
        for component, block in zip(head.components, row):
            put_number(head.dc[component], 0, block[0] - last[component])
            last[component] = block[0]
            run, codes = 0, head.ac[component]
            for k in ZIGZAG[1:]:
                if block[k] == 0:
                    run += 1
                    continue
                while run >= 16:
                    put(*codes[0xF0])
                    run -= 16
                put_number(codes, run, block[k])
                run = 0
            if run:
                put(*codes[0x00])
    if length:
        check(padding < 1 << (8 - length), "the padding is too long")
        put(padding, 8 - length)
    return bytes(out)


def row_of(head: Head, widths: list[list[list[int]]], common: list[bytes], data: bytes) -> list[list[int]]:
    """The blocks of a row of MCUs, as scan_of() takes them."""
    at = 0

    def take(size: int) -> bytes:
        nonlocal at
        check(at + size <= len(data), "a row ends too early")
        at += size
        return data[at - size:at]

    num_blocks = len(head.components)
    blocks = [[0] * 64 for _ in range(num_blocks)]
    for component in range(len(head.blocks)):
        mine = [block for block, c in zip(blocks, head.components) if c == component]
        dc = struct.unpack("<h", take(2))[0]
        num_groups = -(-(len(mine) - 1) // 8)
        packed = take(-(-num_groups // 2))
        sizes = [packed[g // 2] >> 4 * (g % 2) & 15 for g in range(num_groups)]
        size_of = [sizes[i // 8] for i in range(len(mine) - 1)]
        differences = Bits(take(-(-sum(size_of) // 8)))
        mine[0][0] = dc
        for block, size in zip(mine[1:], size_of):
            dc += differences.signed(size)
            block[0] = dc
        differences.finish()
    num_escapes = struct.unpack("<I", take(4))[0]
    codes = Bits(take(-(-num_blocks // 4)))
    numbers = [codes.number(2) for _ in range(num_blocks)]
    codes.finish()
    flags = [common[c][n] if n < 3 else take(1)[0] for c, n in zip(head.components, numbers)]
    tiles = [(b, t) for b in range(num_blocks) for t in range(8) if flags[b] >> t & 1]
    masks = take(len(tiles))
    classes = Bits(take(-(-len(tiles) // 4)))
    number_of_block = 0
    for _ in range(num_escapes):
        escape = int.from_bytes(take(3), "little")
        number_of_block += escape & 63
        if escape & 63 == 63:
            check(escape == 63, "an escape code has no value")
            continue
        check(number_of_block < num_blocks, "an escape code lies after the end of the row")
        place, number = escape >> 6 & 63, escape >> 12
        check(place > 0 and number != 0, "an escape code has no value")
        blocks[number_of_block][place] = number - (number >> 11 << 12)
    values = Bits(data[at:])
    for (b, t), mask in zip(tiles, masks):
        check(mask != 0 and not (t == 0 and mask & 1), "a mask is impossible")
        width = widths[head.components[b]][t][classes.number(2)]
        for i in range(8):
            if mask >> i & 1:
                x = values.signed(width)
                blocks[b][8 * (2 * (t // 2) + i // 4) + 4 * (t % 2) + i % 4] = x if x < 0 else x + 1
    classes.finish()
    values.finish()
    return blocks


def jpeg_of(code: bytes) -> bytes:
    """The file. Raises ValueError, IndexError, KeyError or struct.error for a broken code."""
    check(code[:6] == MAGIC and code[6] == 1, "it is not version 1 of the dct code")
    padding, num_bytes, head_bytes, tail_bytes, num_rows, count = struct.unpack_from("<B4IB", code, 7)
    check(num_bytes == len(code) and code[25:28] == bytes(3) and code[-16:] == bytes(16), "the length is wrong")
    at = 28 + 19 * count
    widths = [[[code[28 + 19 * c + 2 * t + k // 2] >> 4 * (k % 2) & 15 for k in range(4)] for t in range(8)] for c in range(count)]
    common = [code[28 + 19 * c + 16:28 + 19 * (c + 1)] for c in range(count)]
    check(all(1 <= width <= 8 for of_component in widths for tile in of_component for width in tile), "a code width is not between 1 and 8")
    head_data, tail = code[at:at + head_bytes], code[at + head_bytes:at + head_bytes + tail_bytes]
    head = Head(head_data)
    check(len(head.blocks) == count and head.num_rows == num_rows, "the head belongs to another picture")
    at += head_bytes + tail_bytes
    ends = struct.unpack_from(f"<{num_rows}I", code, at)
    at += 4 * num_rows
    check(at + ends[-1] + 16 == num_bytes and list(ends) == sorted(ends), "the index of the rows is wrong")
    rows = [row_of(head, widths, common, code[at + begin:at + end]) for begin, end in zip((0, *ends), ends)]
    return head_data + scan_of(head, rows, padding) + tail
