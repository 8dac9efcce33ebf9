"""The share of each epoch that a process loads, from arguments, frameworks or the launcher."""

from __future__ import annotations

import sys
from typing import NamedTuple

from . import _ffkit
from ._errors import InvalidArgumentError


class Share(NamedTuple):
    """One of `world_size` equal parts of each epoch."""

    rank: int
    world_size: int
    # Where it was found, for messages; "" for a process that nobody started as one of several.
    source: str
    ranks_on_node: int  # that share this machine's cores; 1 where nobody says


def find(rank: int | None, world_size: int | None) -> Share:
    """The share of this process: from arguments; otherwise from torch.distributed or JAX, if they
    are initialised; otherwise from the launcher's environment variables.

    Raises:
        InvalidArgumentError: the environment is incomplete or contradicts itself."""
    on_node = _ffkit.ranks_on_node()
    if rank is not None or world_size is not None:
        return Share(0 if rank is None else rank, 1 if world_size is None else world_size, "the arguments", on_node)
    found = _of_torch() or _of_jax() or _ffkit.launched_share() or (0, 1, "")
    return Share(*found, on_node)


def check_still_true(share: Share) -> None:
    """Refuses a loader of the whole epoch if this process became one of several later."""
    torch = None if share.source else _of_torch()
    if torch is not None and torch[1] > 1:
        raise InvalidArgumentError(
            f"this process is rank {torch[0]} of {torch[1]} of torch.distributed, but its loader was made before init_process_group() and would load the whole epoch on every "
            "rank; make the loader after init_process_group(), or give rank and world_size (0 and 1 if each rank should load all)"
        )


# Both look at modules that somebody else has imported: who does not use them has no ranks of
# theirs.
def _of_torch() -> tuple[int, int, str] | None:
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return None
    return distributed.get_rank(), distributed.get_world_size(), "torch.distributed"


def _of_jax() -> tuple[int, int, str] | None:
    jax = sys.modules.get("jax")
    if jax is None or not hasattr(jax, "distributed") or not getattr(jax.distributed, "is_initialized", bool)():
        return None
    return jax.process_index(), jax.process_count(), "jax.distributed"
