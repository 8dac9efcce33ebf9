"""Memory of batches that CUDA copies from without a detour: torch's."""

from __future__ import annotations

import warnings
from typing import Any, Callable

import torch

_ALIGNMENT = 4096  # of batches


def pinned_allocator(required: bool = False) -> Callable[[int], tuple[int, Any]] | None:
    """What allocates a batch's memory as pinned memory, by torch's caching allocator: num_bytes -> (address, tensor). None without CUDA, with a warning where it is `required`, as of torch."""
    if not torch.cuda.is_available():
        if required:
            warnings.warn("pin_memory is True, but torch sees no CUDA device; batches lie in ordinary memory", stacklevel=4)
        return None
    return lambda num_bytes: _aligned(torch.empty(num_bytes + _ALIGNMENT, dtype=torch.uint8, pin_memory=True))


def _aligned(memory: Any) -> tuple[int, Any]:
    address = memory.data_ptr()
    return address + -address % _ALIGNMENT, memory
