"""A driver of its own process for test_ray.py: driver.py FOLDER FAULT. Prints the fingerprint."""
import os
import resource
import signal
import sys
import time

import numpy as np
import ray

import ffkit
import ffkit.ray

NUM_TASKS = 12
ROWS = 40


def rows(task):
    random = np.random.default_rng(task)
    return [{"number": task * ROWS + i, "content": random.bytes(20_000)} for i in range(ROWS)]


class Sink(ffkit.ray.Datasink):
    def __init__(self, folder, fault):
        super().__init__(folder, schema={"number": "i64", "content": "bytes"}, shard_size="1M")
        self._fault = fault

    def write(self, blocks, ctx):
        if self._fault == "full" and ctx.task_idx == 3:
            resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY))  # as if the disk were full
        if self._fault in ("kills", "slow"):
            blocks = self._slowly(blocks)
        return super().write(blocks, ctx)

    @staticmethod
    def _slowly(blocks):
        for block in blocks:
            for begin in range(0, block.num_rows, 10):
                time.sleep(0.1)
                yield block.slice(begin, 10)

    def on_write_complete(self, result):
        if self._fault == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        super().on_write_complete(result)
        if self._fault == "after":
            os.kill(os.getpid(), signal.SIGKILL)


def start_ray():
    """Ray on this machine alone. Its own start may time out where much else runs."""
    for attempt in range(3):
        try:
            ray.init(num_cpus=2, _node_ip_address="127.0.0.1", include_dashboard=False, log_to_driver=False, logging_level="ERROR", object_store_memory=200 << 20)
            break
        except Exception:
            ray.shutdown()
            if attempt == 2:
                raise
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.execution_options.preserve_order = True


def main(folder, fault):
    start_ray()
    data = ray.data.range(NUM_TASKS, override_num_blocks=NUM_TASKS).flat_map(lambda row: rows(int(row["id"])))
    sink = Sink(folder, fault)
    data.write_datasink(sink)
    print("fingerprint", sink.summary.fingerprint, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
