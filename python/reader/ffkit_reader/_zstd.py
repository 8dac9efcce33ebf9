"""zstd frames, by the module that is installed: compression.zstd, backports.zstd or zstandard."""

from __future__ import annotations

import importlib
from functools import lru_cache
from typing import Any, Callable

from ._errors import CorruptError, UnsupportedError

MAGIC = b"\x28\xb5\x2f\xfd"
_MISSING = (
    "the record is compressed with zstd, but this Python has no module for zstd; run `pip install ffkit-reader[zstd]` or `pip install zstandard`, "
    "or use Python 3.14 or newer"
)


class NoModuleError(UnsupportedError):
    """This Python has no module for zstd."""


def content_size(frame: bytes) -> int:
    """The content size in the header of a frame (RFC 8878, 3.1.1.1); -1 without one."""
    if len(frame) < 6 or frame[:4] != MAGIC:
        return -1
    descriptor = frame[4]
    is_single = bool(descriptor & 0x20)
    size_bytes = (1 if is_single else 0, 2, 4, 8)[descriptor >> 6]
    begin = 5 + (0 if is_single else 1) + (0, 1, 2, 4)[descriptor & 3]
    if size_bytes == 0 or len(frame) < begin + size_bytes:
        return -1
    return int.from_bytes(frame[begin : begin + size_bytes], "little") + (256 if size_bytes == 2 else 0)


Unpack = Callable[[bytes, int], bytes]


@lru_cache(maxsize=1)
def _module() -> tuple[str, Any]:
    for name in ("compression.zstd", "backports.zstd", "zstandard"):
        try:
            return name, importlib.import_module(name)
        except ImportError:
            continue
    raise NoModuleError(_MISSING)


def unpacker(dictionary: bytes) -> Unpack:
    """A function from (frame, its content size) to the content. `dictionary` is empty without one.
    UnsupportedError where there is no module."""
    name, module = _module()
    failure: Any = getattr(module, "ZstdError")
    shared: Any = None
    try:
        if dictionary:
            shared = (module.ZstdCompressionDict if name == "zstandard" else module.ZstdDict)(dictionary)
    except (failure, ValueError) as error:
        raise CorruptError(f"the shard's zstd dictionary is damaged ({error})") from None

    def unpack(frame: bytes, size: int) -> bytes:
        # An object for each frame: threads must not share one.
        try:
            if name == "zstandard":
                content: bytes = module.ZstdDecompressor(dict_data=shared).decompress(frame, max_output_size=size)
            else:
                content = module.ZstdDecompressor(shared).decompress(frame, size + 1)
        except failure as error:
            raise CorruptError(f"the record cannot be decompressed ({error})") from None
        if len(content) != size:
            raise CorruptError(f"the record cannot be decompressed: it has {len(content)} bytes, but must have {size}")
        return content

    return unpack
