"""What lives how long: batches and their memory, loaders, threads, processes."""
import gc
import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import threading

import numpy
import pytest

import ffkit
from conftest import by_topic

KEEPS_FREED_MEMORY = "libasan" in os.environ.get("LD_PRELOAD", "")  # for a while


def make(ds, **options):
    # Batches of 108 kB, which are not copied.
    return ffkit.Loader(ds, **by_topic(**{"batch_size": 4, "image": ffkit.RandomResizedCrop(48, flip_probability=0.5), "num_threads": 2} | options))


def num_held(loader):
    return loader._loader.num_held()


def test_the_last_view_gives_the_memory_back(ds):
    loader = make(ds)
    batch = next(iter(loader))
    view = batch["image"][1, 0]
    kept = batch["image"].copy()
    del batch
    gc.disable()
    try:
        assert num_held(loader) == 1
        loader.set_epoch(1, restart=True)
        for _ in loader:  # all of the memory is used, but that one's
            pass
        assert (view == kept[1, 0]).all()
        del _, view
        assert num_held(loader) == 0
    finally:
        gc.enable()


def test_too_many_held_batches_are_an_error_and_no_deadlock(ds):
    loader = make(ds)
    with pytest.raises(ValueError, match="3 batches are held already.*held_batches, which is 3, or make the loader with memory=ffkit.Memory\\(copy=True"):
        list(loader)
    kept = []
    loader.set_epoch(0, restart=True)
    with pytest.raises(ffkit.InvalidArgumentError):
        for batch in loader:
            kept.append(batch["image"])
    assert len(kept) == 3
    place = loader.state_dict()
    kept.clear()
    del batch
    loader.load_state_dict(place)
    assert len([batch.step for batch in loader]) == len(loader) - 3


def test_batches_in_reference_cycles_are_found(ds):
    class Node:
        pass

    for batch in make(ds):
        node = Node()
        node.self, node.batch = node, batch
        del batch, node


def test_copies_may_be_kept(ds):
    loader = make(ds, copy=True)
    batches = list(loader)
    assert len(batches) == 15 and num_held(loader) == 0
    loader.set_epoch(0, restart=True)
    for batch, again in zip(batches, loader):
        assert (batch["image"] == again["image"]).all() and (batch.record_indices == again.record_indices).all()


def test_batches_outlive_their_loader(ds):
    loader = make(ds)
    batch = next(iter(loader))
    image = batch["image"]
    before = image.copy()
    del loader, batch
    gc.collect()
    assert (image == before).all()


def test_leaving_in_the_middle_is_clean(ds):
    loader = make(ds)
    with pytest.raises(ZeroDivisionError):
        for batch in loader:
            1 / 0
    del batch
    assert [batch.epoch for batch in loader] == [0] * 15  # what was left counts not
    loop = iter(loader)
    next(loop)
    other = iter(loader)
    with pytest.raises(RuntimeError, match="was ended by another loop"):
        next(loop)
    next(other)
    loader.close()
    with pytest.raises(ValueError, match="the loader is closed"):
        next(other)
    with make(ds) as closing:
        next(iter(closing))
    with pytest.raises(ValueError, match="closed"):
        len(closing)


def blocking_field(event):
    def wait(values, key):
        event.wait(30)
        return numpy.float32(1)

    return {"waits": ffkit.PythonField(wait, inputs=[])}


def test_waiting_releases_the_gil(ds):
    event = threading.Event()
    loader = make(ds, fields=blocking_field(event))
    threading.Timer(0.1, event.set).start()  # can run only without the GIL of next()
    assert next(iter(loader))["waits"].tolist() == [1] * 4


def test_ctrl_c_interrupts_waiting(ds):
    event = threading.Event()
    loader = make(ds, fields=blocking_field(event))
    threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        next(iter(loader))
    event.set()
    assert len([batch.size for batch in loader]) == 15


def test_a_loader_belongs_to_one_thread_at_a_time(ds):
    event = threading.Event()
    loader = make(ds, fields=blocking_field(event))
    results = []
    thread = threading.Thread(target=lambda: results.extend(batch.size for batch in loader))
    thread.start()
    while not loader._loader.is_busy():
        pass
    with pytest.raises(ValueError, match="another thread is using this loader"):
        next(iter(loader))
    assert loader.statistics().num_batches == 0  # may be asked by any thread
    event.set()
    thread.join()
    assert results == [4] * 15


def test_closing_ends_the_wait_of_another_thread(ds):
    event = threading.Event()
    loader = make(ds, fields=blocking_field(event))
    errors = []

    def consume():
        try:
            next(iter(loader))
        except ffkit.Error as error:
            errors.append(str(error))

    thread = threading.Thread(target=consume)
    thread.start()
    while not loader._loader.is_busy():
        pass
    threading.Timer(0.2, event.set).start()  # close() waits for the decoders that run
    loader.close()
    thread.join()
    assert errors == ["the loader is closed; make another one"]


def test_two_loaders_work_side_by_side(ds, data):
    train, val = make(ds), make(ffkit.Dataset(data, "val"), image=ffkit.ResizeCenterCrop(20, 16))
    for _ in range(2):
        steps = [(a.step, b.step) for a, b in zip(train, val)]
        assert steps == [(i, i) for i in range(5)]


def run_in_child(code):
    """Runs `code` after fork(); what it prints."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.write(write, code().encode())
            status = 0
        finally:
            os._exit(status)
    os.close(write)
    text = os.fdopen(read).read()
    assert os.waitpid(child, 0)[1] == 0
    return text


def test_after_fork_a_child_makes_its_own_loaders(ds):
    loader = make(ds)
    loop = iter(loader)
    batch = next(loop)
    first = batch["image"].copy()

    def child():
        errors = []
        for call in (lambda: next(loop), lambda: loader.set_epoch(0, restart=True), lambda: iter(loader)):
            try:
                call()
                errors.append("none")
            except ValueError as error:
                errors.append(str(error))
        assert all("belongs to process" in error and "make another loader here" in error for error in errors), errors
        assert (batch["image"] == first).all()
        fresh = make(ds)
        assert (next(iter(fresh))["image"] == first).all()
        return f"{len([b.size for b in fresh])}"

    assert run_in_child(child) == "15"
    assert next(loop).step == 1


def test_fork_while_another_thread_waits(ds):
    event = threading.Event()
    loader = make(ds, fields=blocking_field(event))
    thread = threading.Thread(target=lambda: [batch.size for batch in loader])
    thread.start()
    while not loader._loader.is_busy():
        pass

    def child():
        try:
            loader.set_epoch(0, restart=True)
        except ValueError as error:
            return str(error)
        return "none"

    text = run_in_child(child)
    event.set()
    thread.join()
    assert "belongs to process" in text


SCRIPT = """
import sys, threading, time
import numpy, ffkit
ds = ffkit.Dataset(sys.argv[1], "train")
def slow(values, key):
    time.sleep(0.01)
    return numpy.zeros(3)
options = {"batch_size": 4, "image": ffkit.RandomResizedCrop(16, flip_probability=0.5), "num_threads": 2}
"""
ENDS = {
    "in a loop": "loader = ffkit.Loader(ds, **options)\nfor batch in loader: break",
    "with an iterator in a global": "loop = iter(ffkit.Loader(ds, **options))\nbatch = next(loop)\nimage = batch['image']",
    "in a decoder": "loader = ffkit.Loader(ds, fields={'x': ffkit.PythonField(slow, shape=[3])}, **options)\nnext(iter(loader))",
    "in a daemon thread": """
loader = ffkit.Loader(ds, fields={'x': ffkit.PythonField(slow, shape=[3])}, **options)
def consume():
    for epoch in range(1000):
        for batch in loader: pass
thread = threading.Thread(target=consume, daemon=True)
sys.stderr.flush()
threading.excepthook = lambda args: None
thread.start()
time.sleep(0.1)
""",
    "in a reference cycle": """
class Trainer:
    def __init__(self):
        self.loader = ffkit.Loader(ds, fields={'x': ffkit.PythonField(self.decode, shape=[3])}, on_warning=self.warn, **options)
    def decode(self, values, key): return slow(values, key)
    def warn(self, text): pass
next(iter(Trainer().loader))
""",
    "by sys.exit": "for batch in ffkit.Loader(ds, **options): sys.exit(0)",
}


@pytest.mark.parametrize("where", ENDS)
def test_the_interpreter_may_end_anywhere(data, where):
    done = subprocess.run([sys.executable, "-X", "dev", "-X", "faulthandler", "-c", SCRIPT + textwrap.dedent(ENDS[where]), data], capture_output=True, text=True,
                          timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def resources():
    status = pathlib.Path("/proc/self/status").read_text()
    value = lambda name: int(next(line for line in status.splitlines() if line.startswith(name)).split()[1])
    return value("VmRSS:"), value("Threads:"), len(os.listdir("/proc/self/fd"))


def test_many_epochs_take_no_more(ds):
    loader = make(ds, num_threads=2, image=ffkit.RandomResizedCrop(8, flip_probability=0.5), fields={"id": ffkit.TextField("id"), "x": ffkit.PythonField(lambda v, k: v["label"], inputs=["label"])})
    num_epochs = int(os.environ.get("FFKIT_PYTHON_EPOCHS", "120"))

    def epochs(count):
        for _ in range(count):
            for batch in loader:
                batch["image"]
        gc.collect()

    epochs(num_epochs // 4)
    rss, threads, files = resources()
    epochs(num_epochs)
    rss_now, threads_now, files_now = resources()
    assert (threads_now, files_now) == (threads, files)
    assert KEEPS_FREED_MEMORY or rss_now - rss < 2048, f"{rss_now - rss} KiB more after {num_epochs} epochs"
    for _ in range(10):
        next(iter(make(ds)))
    gc.collect()
    rss, threads, files = resources()
    for _ in range(40):
        next(iter(make(ds)))
    gc.collect()
    rss_now, threads_now, files_now = resources()
    assert threads_now <= threads and files_now == files
    assert KEEPS_FREED_MEMORY or rss_now - rss < 4096, f"{rss_now - rss} KiB more after 40 loaders"


def test_importing_loads_the_standard_library_and_numpy_alone():
    # What makes `import ffkit` slow is a framework that comes with it: torch takes seconds. Its own
    # time is measured by hand (tests do not measure time).
    code = """
import sys
import numpy
before = set(sys.modules)
import ffkit
names = {name.partition(".")[0] for name in set(sys.modules) - before}
print(*sorted(names - set(sys.stdlib_module_names)))
"""
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split() == ["ffkit"]
