"""Which share of an epoch a process loads: arguments, and what launchers set."""
import json
import os
import subprocess
import sys

import pytest

import ffkit
from conftest import by_topic

LAUNCHERS = {
    "torchrun": {"RANK": "{rank}", "WORLD_SIZE": "2", "LOCAL_RANK": "{rank}", "LOCAL_WORLD_SIZE": "2"},
    "srun": {"SLURM_JOB_ID": "3000000000", "SLURM_STEP_ID": "0", "SLURM_PROCID": "{rank}", "SLURM_STEP_NUM_TASKS": "2", "SLURM_NTASKS": "2", "SLURM_STEP_TASKS_PER_NODE": "1(x2)"},
    "slurm's variables alone": {"SLURM_PROCID": "{rank}", "SLURM_NTASKS": "2"},
    "Open MPI": {"OMPI_COMM_WORLD_RANK": "{rank}", "OMPI_COMM_WORLD_SIZE": "2"},
    "MPICH": {"PMI_RANK": "{rank}", "PMI_SIZE": "2"},
    "MVAPICH2": {"MV2_COMM_WORLD_RANK": "{rank}", "MV2_COMM_WORLD_SIZE": "2"},
    "MVAPICH": {"MVP_COMM_WORLD_RANK": "{rank}", "MVP_COMM_WORLD_SIZE": "2"},
    "jsrun": {"JSM_NAMESPACE_RANK": "{rank}", "JSM_NAMESPACE_SIZE": "2", "PMIX_RANK": "{rank}"},
    "PALS": {"PMI_RANK": "{rank}", "PMI_SIZE": "2", "PALS_RANKID": "{rank}", "PALS_LOCAL_RANKID": "0"},
    "Flux": {"FLUX_TASK_RANK": "{rank}", "FLUX_JOB_SIZE": "2", "FLUX_TASK_LOCAL_ID": "0", "FLUX_JOB_NNODES": "2"},
    "Flux in Slurm": {"FLUX_TASK_RANK": "{rank}", "FLUX_JOB_SIZE": "2", "SLURM_PROCID": "0", "SLURM_STEP_ID": "0", "SLURM_NTASKS": "4"},
    "srun of PMIx": {"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0", "SLURM_PROCID": "{rank}", "SLURM_STEP_NUM_TASKS": "2", "PMIX_RANK": "{rank}"},
}
ALONE = {
    "nothing": {},
    "one of one": {"RANK": "0", "WORLD_SIZE": "1"},
    "a batch script": {"SLURM_JOB_ID": "7", "SLURM_NTASKS": "8", "SLURM_PROCID": "0", "SLURM_LOCALID": "0"},
    "a terminal of salloc": {"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "4294967290", "SLURM_NTASKS": "8", "SLURM_PROCID": "0"},
    "a terminal of salloc with PMIx": {"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "4294967290", "SLURM_NTASKS": "8", "SLURM_PROCID": "0", "PMIX_RANK": "0"},
}
NAMES = ("RANK", "WORLD_SIZE", "LOCAL_", "OMPI_", "PMI_", "MPI_", "SLURM_", "MV2_", "MVP_", "JSM_", "PALS_", "FLUX_", "PMIX_", "PRTE_", "ALPS_", "MPIRUN_")


@pytest.fixture(autouse=True)
def no_launcher(monkeypatch):
    for name in [name for name in os.environ if name.startswith(NAMES)]:
        monkeypatch.delenv(name)


def make(ds, **options):
    return ffkit.Loader(ds, **by_topic(**{"batch_size": 4, "image": None, "num_threads": 1, "tail": "exact"} | options))


def records(loader):
    return [i for batch in loader for i in batch.record_indices.tolist()]


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_ranks_share_an_epoch(ds, monkeypatch, launcher):
    seen = []
    for rank in range(2):
        for name, value in LAUNCHERS[launcher].items():
            monkeypatch.setenv(name, value.format(rank=rank))
        loader = make(ds)
        assert (loader.rank, loader.world_size, len(loader)) == (rank, 2, 8 if rank == 0 else 7)
        assert str(loader.statistics()).splitlines()[0] == f"share      rank {rank} of 2"
        assert f"rank {rank} of 2 by " in repr(loader)
        seen += records(loader)
        # Arguments come first.
        assert len(records(make(ds, rank=0, world_size=1))) == 60
        assert make(ds, world_size=3).world_size == 3
    assert sorted(seen) == list(range(60))


@pytest.mark.parametrize("launcher", ALONE)
def test_a_process_alone_loads_everything(ds, monkeypatch, launcher):
    for name, value in ALONE[launcher].items():
        monkeypatch.setenv(name, value)
    loader = make(ds)
    assert (loader.rank, loader.world_size) == (0, 1) and sorted(records(loader)) == list(range(60))
    assert str(loader.statistics()).startswith("share      rank 0 of 1: the whole epoch\n")


@pytest.mark.parametrize(
    "message, variables",
    [
        ("WORLD_SIZE is 2, but RANK is not set", {"WORLD_SIZE": "2", "LOCAL_RANK": "1"}),
        ("RANK is 1, but WORLD_SIZE is not set", {"RANK": "1"}),
        ("RANK is 2 and WORLD_SIZE is 2, but RANK must be between 0", {"RANK": "2", "WORLD_SIZE": "2"}),
        ("variable RANK is 'one', which is not a number", {"RANK": "one", "WORLD_SIZE": "2"}),
        ("RANK is '-1', which is not a number", {"RANK": "-1", "WORLD_SIZE": "2"}),
        ("SLURM_PROCID is 1, but SLURM_NTASKS is not set", {"SLURM_PROCID": "1", "SLURM_STEP_ID": "0"}),
        ("PMIX_RANK is 0, but no variable gives the number of", {"PMIX_RANK": "0", "PRTE_LAUNCHED": "1"}),
        ("PMIX_RANK is 1, but no variable gives the number of", {"PMIX_RANK": "1", "PRTE_LAUNCHED": "1", "SLURM_PROCID": "0", "SLURM_STEP_ID": "0", "SLURM_NTASKS": "2"}),
        ("PALS_RANKID is 1, but no variable gives the number of", {"PALS_RANKID": "1"}),
        (
            "SLURM_PROCID says process 1 of 4, but RANK says process 0 of 2",
            {"SLURM_PROCID": "1", "SLURM_STEP_ID": "0", "SLURM_NTASKS": "4", "RANK": "0", "WORLD_SIZE": "2"},
        ),
    ],
)
def test_half_of_it_is_refused(ds, monkeypatch, message, variables):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ValueError, match=message):
        make(ds)
    assert len(records(make(ds, rank=0, world_size=1))) == 60


def test_ranks_share_the_cores(ds, monkeypatch):
    alone = make(ds, num_threads=0).num_threads
    for name, value in {"RANK": "0", "WORLD_SIZE": "64", "LOCAL_WORLD_SIZE": "64"}.items():
        monkeypatch.setenv(name, value)
    assert make(ds, num_threads=0).num_threads == max(1, alone // 64)
    assert make(ds, num_threads=3).num_threads == 3
    for name in ("RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE"):
        monkeypatch.delenv(name)
    for name, value in {"FLUX_TASK_RANK": "0", "FLUX_JOB_SIZE": "128", "FLUX_JOB_NNODES": "2"}.items():
        monkeypatch.setenv(name, value)
    assert make(ds, num_threads=0).num_threads == max(1, alone // 64)


def test_two_processes(data, tmp_path):
    script = "import ffkit, json, sys; print(json.dumps([i for b in ffkit.Loader(sys.argv[1], 4, image=None, tail='exact') for i in b.record_indices.tolist()]))"
    seen = []
    for rank in ("0", "1"):
        environment = os.environ | {"RANK": rank, "WORLD_SIZE": "2"}
        seen += json.loads(subprocess.run([sys.executable, "-c", script, data / "train"], check=True, capture_output=True, text=True, env=environment).stdout)
    assert sorted(seen) == list(range(60))


def test_threads_are_those_that_the_process_is_bound_to(data):
    script = "import ffkit, sys; print(ffkit.Loader(sys.argv[1], 4, image=None).num_threads, ffkit._ffkit.usable_cores(), ffkit._ffkit.core_share(2))"
    core = min(os.sched_getaffinity(0))
    done = subprocess.run(["taskset", "-c", str(core), sys.executable, "-c", script, data / "train"], check=True, capture_output=True, text=True)
    assert done.stdout == "1 1 1\n"
