"""Which share of an epoch a process loads: by arguments, or as the launcher says that started it."""

from __future__ import annotations

import os
import re
import sys
from typing import NamedTuple

from ._errors import InvalidArgumentError


class Share(NamedTuple):
    """One of `world_size` equal parts of each epoch."""

    rank: int
    world_size: int
    # Where it was found, for messages; "" for a process that nobody started as one of several.
    source: str
    ranks_on_node: int  # that share this machine's cores; 1 where nobody says


# Of each launcher: rank and number of ranks.
_LAUNCHERS = (
    ("RANK", "WORLD_SIZE"),  # torchrun, and most others for torch
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"),  # MVAPICH2
    ("MVP_COMM_WORLD_RANK", "MVP_COMM_WORLD_SIZE"),  # MVAPICH 3 and later
    ("JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE"),  # jsrun
    ("FLUX_TASK_RANK", "FLUX_JOB_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),  # MPICH, Intel MPI, PALS
)
# Of launchers that do not say how many ranks there are, unless a library of theirs is asked.
_RANKS_ALONE = ("PMIX_RANK", "PALS_RANKID", "ALPS_APP_PE", "PMI_ID", "MPIRUN_RANK")
_RANKS_ON_NODE = (
    "LOCAL_WORLD_SIZE",
    "OMPI_COMM_WORLD_LOCAL_SIZE",
    "MV2_COMM_WORLD_LOCAL_SIZE",
    "MVP_COMM_WORLD_LOCAL_SIZE",
    "JSM_NAMESPACE_LOCAL_SIZE",
    "MPI_LOCALNRANKS",
    "PMI_LOCAL_SIZE",
    "PALS_LOCAL_SIZE",
)
# Slurm's numbers from here on are no steps of srun: a batch script, a terminal of salloc.
_FIRST_STEP_OF_ITS_OWN = 4294967290


def find(rank: int | None, world_size: int | None) -> Share:
    """The share of this process. Arguments come first; then torch.distributed and JAX, where they are initialised; then what the launcher set in the environment.

    Raises:
        InvalidArgumentError: the environment says half of it, or what cannot be.
    """
    on_node = _ranks_on_node()
    if rank is not None or world_size is not None:
        return Share(0 if rank is None else rank, 1 if world_size is None else world_size, "the arguments", on_node)
    torch = _torch_distributed()
    if torch is not None:
        return Share(*torch, "torch.distributed", on_node)
    jax = sys.modules.get("jax")
    if jax is not None and hasattr(jax, "distributed") and getattr(jax.distributed, "is_initialized", bool)():
        return Share(jax.process_index(), jax.process_count(), "jax.distributed", on_node)
    found = next((pair for pair in (_pair(*names) for names in _LAUNCHERS) if pair is not None), None) or _slurm()
    if found is None and not _is_in_slurm():
        _refuse_rank_alone()
    return Share(*found, on_node) if found else Share(0, 1, "", on_node)


def check_still_true(share: Share) -> None:
    """Refuses a loader of the whole epoch in a process that has become one of several since the loader was made."""
    torch = None if share.source else _torch_distributed()
    if torch is not None and torch[1] > 1:
        raise InvalidArgumentError(
            f"this process is rank {torch[0]} of {torch[1]} of torch.distributed, but its loader was made before that was initialised and would load the whole epoch on every "
            "rank; make the loader after init_process_group(), or give rank and world_size (0 and 1 where each rank should load all)"
        )


def _torch_distributed() -> tuple[int, int] | None:
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return None
    return distributed.get_rank(), distributed.get_world_size()


def _number(name: str) -> int | None:
    text = os.environ.get(name)
    if not text:
        return None
    if not re.fullmatch(r"\s*[0-9]+\s*", text):
        raise InvalidArgumentError(f"the environment variable {name} is '{text}', expected a number; unset it, or give rank and world_size")
    return int(text)


def _ranks_on_node() -> int:
    for name in _RANKS_ON_NODE:
        number = _number(name)
        if number:
            return number
    # Flux says how many machines there are, and spreads the ranks evenly.
    nodes, ranks = _number("FLUX_JOB_NNODES"), _number("FLUX_JOB_SIZE")
    if nodes and ranks:
        return -(-ranks // nodes)
    # "4" or "4(x2)": of the first nodes of the step.
    per_node = re.match(r"[0-9]+", os.environ.get("SLURM_STEP_TASKS_PER_NODE", ""))
    return int(per_node[0]) if per_node and _is_task_of_srun() else 1


def _pair(rank_name: str, size_name: str) -> tuple[int, int, str] | None:
    rank, size = _number(rank_name), _number(size_name)
    if rank is None and (size is None or size == 1):
        return None
    if rank is None or size is None:
        known, unknown = (size_name, rank_name) if rank is None else (rank_name, size_name)
        raise InvalidArgumentError(
            f"the environment variable {known} is {os.environ[known]}, but {unknown} is not set, so the share of this process is not known; make the loader after "
            "torch.distributed is initialised, or give rank and world_size"
        )
    if rank >= size:
        raise InvalidArgumentError(f"the environment variables {rank_name} and {size_name} are {rank} and {size}, but ranks are 0 .. {size_name} - 1; give rank and world_size")
    return rank, size, f"{rank_name} and {size_name}"


def _refuse_rank_alone() -> None:
    name = next((name for name in _RANKS_ALONE if os.environ.get(name)), None)
    if name is not None:
        raise InvalidArgumentError(
            f"the environment variable {name} is {os.environ[name]}, but no variable says how many ranks there are, so the share of this process is not known; start the ranks by mpirun, "
            "or make the loader after torch.distributed is initialised, or give rank and world_size"
        )


def _is_in_slurm() -> bool:
    """prterun starts its daemons by srun where it can: Slurm's variables are theirs then."""
    return "SLURM_PROCID" in os.environ and not os.environ.get("PRTE_LAUNCHED")


def _is_task_of_srun() -> bool:
    """A batch script and a terminal of salloc have some of the variables too, but run alone."""
    step = os.environ.get("SLURM_STEP_ID") or os.environ.get("SLURM_STEPID")
    is_alone = "SLURM_JOB_ID" in os.environ if step is None else step.strip().isdecimal() and int(step) >= _FIRST_STEP_OF_ITS_OWN
    return _is_in_slurm() and not is_alone


def _slurm() -> tuple[int, int, str] | None:
    return _pair("SLURM_PROCID", "SLURM_STEP_NUM_TASKS" if "SLURM_STEP_NUM_TASKS" in os.environ else "SLURM_NTASKS") if _is_task_of_srun() else None
