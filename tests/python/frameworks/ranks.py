"""Processes that train together, as torchrun makes them, but forked: what is imported is there already."""
import multiprocessing
import os
import socket

import torch
import torch.distributed


def _run(rank, world_size, port, function, arguments, pipe):
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(world_size), LOCAL_RANK=str(rank), LOCAL_WORLD_SIZE=str(world_size), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.set_num_threads(1)
    pipe.send(function(*arguments))
    pipe.close()


def run(function, *arguments, world_size=2, timeout=100):
    """What function(*arguments) returns in each of the processes, by rank."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    fork = multiprocessing.get_context("fork")
    processes, pipes = [], []
    for rank in range(world_size):
        ours, theirs = fork.Pipe(duplex=False)
        processes.append(fork.Process(target=_run, args=(rank, world_size, port, function, arguments, theirs)))
        processes[-1].start()
        theirs.close()
        pipes.append(ours)
    results = []
    for pipe in pipes:
        assert pipe.poll(timeout), "a rank has not ended"
        try:
            results.append(pipe.recv())
        except EOFError:
            results.append(None)
    for process in processes:
        process.join(timeout)
    assert [process.exitcode for process in processes] == [0] * world_size
    return results


def in_group(function, *arguments):
    """function(*arguments) in a process group of gloo."""
    torch.distributed.init_process_group("gloo")
    try:
        return function(*arguments)
    finally:
        torch.distributed.destroy_process_group()
