"""Which arrays batches consist of: torch's tensors, numpy's arrays, or anything by DLPack."""

from __future__ import annotations

import importlib.util
import warnings
from typing import Any, Callable, Literal

from ._errors import InvalidArgumentError, UnsupportedError

_ALIGNMENT = 4096  # of batches
Arrays = Literal["auto", "torch", "numpy", "dlpack"]


def bfloat16() -> Any:
    """numpy's dtype of bfloat16, which the package ml_dtypes brings."""
    try:
        import ml_dtypes
    except ImportError:
        raise UnsupportedError("numpy has no bfloat16; install ml_dtypes, or take torch's tensors, DLPack or float32") from None
    return ml_dtypes.bfloat16


def resolve(arrays: str) -> str:
    """What "auto" means here: "torch" where it is installed, else "numpy"."""
    if arrays == "auto":
        return "torch" if importlib.util.find_spec("torch") is not None else "numpy"
    if arrays not in ("torch", "numpy", "dlpack"):
        raise InvalidArgumentError(f"arrays is {arrays!r}, expected 'auto', 'torch', 'numpy' or 'dlpack'")
    return arrays


def converter(arrays: str, is_pinned: bool) -> Callable[[Any, int], Any]:
    """A function from (batch of the extension, number of the field) to its array, of which large ones are not copied."""
    if arrays == "torch":
        from torch.utils.dlpack import from_dlpack

        def to_torch(batch: Any, i: int) -> Any:
            return from_dlpack(batch.capsule(i))

        # A view of the storage that torch's allocator made: of other tensors in its memory it would
        # not know the copies that are under way.
        def to_pinned(batch: Any, i: int) -> Any:
            array = from_dlpack(batch.capsule(i))
            slab, address = batch.owner(i)
            if array.data_ptr() != address:
                return array.pin_memory()  # small
            begin = address - slab.data_ptr()
            return slab[begin : begin + array.nbytes].view(array.dtype).view(array.shape)

        return to_pinned if is_pinned else to_torch
    if arrays == "dlpack":
        return lambda batch, i: batch.dlpack(i)

    def to_numpy(batch: Any, i: int) -> Any:
        array = batch.numpy(i)
        return array.view(bfloat16()) if batch.is_bfloat16(i) else array

    return to_numpy


def pinned_allocator(required: bool = False) -> Callable[[int], tuple[int, Any]] | None:
    """What allocates a batch's memory as pinned memory, by torch's caching allocator: num_bytes -> (address, tensor). None without CUDA, with a warning where it is `required`, as of torch."""
    import torch

    if not torch.cuda.is_available():
        if required:
            warnings.warn("pin_memory is True, but torch sees no CUDA device; batches lie in ordinary memory", stacklevel=4)
        return None
    return lambda num_bytes: _aligned(torch.empty(num_bytes + _ALIGNMENT, dtype=torch.uint8, pin_memory=True))


def _aligned(memory: Any) -> tuple[int, Any]:
    address = memory.data_ptr()
    return address + -address % _ALIGNMENT, memory
