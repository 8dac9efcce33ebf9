"""Loader: batches of decoded samples, in order, as fast as disk and decoder allow."""

from __future__ import annotations

import atexit
import dataclasses
import gc
import logging
import operator
import os
import sys
import weakref
from typing import Any, Callable, Iterator, Literal, Mapping

from . import _ffkit
from . import _share
from ._batch import Arrays, Batch, Facts, array_converter, pinned_allocator, resolve_arrays
from ._dataset import Dataset, PathLike, dataset_of, mixture_of, numbers_of, plain_numbers
from ._errors import InvalidArgumentError, names_arguments, refuse_old_name
from ._fields import BatchField, with_shapes
from ._image import ImageOptions, Mixing, Transform, ViewSpec
from ._loader_options import IO, Memory, Order, OrderName
from ._torchvision import image_options_of, view_of
from ._transforms import RandomResizedCrop

Tail = Literal["drop", "pad", "exact", "even", "balanced"]
Allocate = Callable[[int], tuple[int, object]]

_log = logging.getLogger("ffkit")
_open_loaders: weakref.WeakSet[Loader] = weakref.WeakSet()


@names_arguments({"order": Order, "memory": Memory, "io": IO, "image": ImageOptions})
class Loader:
    """Batches of decoded samples from a Dataset.

        picture = ffkit.RandomResizedCrop(224, flip_probability=0.5)
        loader = ffkit.Loader(ds, batch_size=256, image=picture)
        for epoch in range(loader.epoch, 90):
            for batch in loader:                                   # an epoch
                images, labels = batch["image"], batch["label"]    # [256, 3, 224, 224] f32, [256]

    Batches have the same bytes for any number of threads, and in C++. Threads of this process work
    ahead; there are no worker processes. A loop over the loader is an epoch: that of `set_epoch()`
    or `load_state_dict()`, else the first, else the one after the last loop. If a loop is left
    before its end, the next one begins where it began.

    `for images, labels in loader` works if a batch has only one picture and one label.

    A loader belongs to one thread at a time and to its process: after fork(), a child makes its own
    loaders. Dropping it is immediate, also in an epoch.

    Args:
        dataset: a Dataset, its path, or torch's Subset or ConcatDataset of some.
        batch_size: samples in a batch of this rank.

        Contents of a batch:

        image: a transform, or ImageOptions, which also have augmentations, dtype, layout and
            normalisation; None: no pictures.
        views: several views of the picture by name, instead of `image`:
            {"global": (RandomResizedCrop(224), 2), "local": (RandomResizedCrop(96), 8)} makes
            batch["global"] [N, 2, 3, 224, 224] and batch["local"] [N, 8, 3, 96, 96]. Each is a
            transform or ImageOptions, alone for one picture ([N, 3, H, W]), or with a number of
            copies. Each view draws its own random numbers; the picture is read and decoded once
            for all. `batch.geometry(name)` says where pixels went.
        image_field, label_field: fields of the records and of the batch; None: no such array.
        mixing: MixUp and CutMix.
        fields: other arrays by name: ImageField, ImagesField, IntegerField, CopyField, TextField,
            PythonField, ffkit.nuscenes.keyframe_fields(). These follow the crop and flip of the
            picture, or of a view: MaskField, BoxesField, BoxRowsField, PointsField, PictureField.
            FramesField is for clips of videos.

        Samples and their order:

        order: "shuffle", "sequential", "windowed", "weighted" or "automatic"; or an Order, which
            also has weights, groups, mixtures and windows.
        seed: of the order and of all augmentation; torch's `generator`.
        rank, world_size: this process, and how many share an epoch; torch's DistributedSampler.
            None: from torch.distributed or JAX, if initialised; else from the environment of
            torchrun, Slurm's srun, Open MPI or MPICH; else alone. `statistics()` begins with it.
            Give 0 and 1 if each rank should load everything.
        tail: records at the end that do not fill a step of all ranks. "drop": torch's
            `drop_last=True`. "pad": filled up from the beginning. "exact": each record once; the
            last batch is smaller, and the last ranks may lack it. "even": like torch's
            DistributedSampler, as many samples on each rank, a few of them twice. "balanced": each
            record once and, if possible, as many batches on each rank.
        bad_samples: "fail", or "skip": another record replaces a bad one; `Batch.replacements`
            names both. With order "sequential" and tail "exact" or "balanced", it is left out
            instead, and `Batch.left_out` names it. The number of batches stays; a batch may be
            empty.

        Speed and memory:

        num_threads: decoding threads, torch's `num_workers`; 0: all cores that this process may
            use, or its share if the launcher says how many ranks the machine has.
        memory: number of batches to prepare ahead, and to keep: Memory(prefetch_batches=3).
        io: how records are read: IO(engine="pread").

        Arrays:

        arrays: "torch", "numpy", "dlpack" (objects with __dlpack__, for JAX and CuPy), or "auto":
            torch if it is installed, else numpy.
        pin_memory: True: batches are in page-locked memory of torch's allocator, which keeps it
            until copies to the GPU are done; any number of batches may be kept. None: if torch and
            CUDA are there and `arrays` is torch.
        on_warning: function for the loader's warnings, called in the thread that uses the loader;
            None: `logging`'s logger "ffkit".

    Torch's `worker_init_fn` and `multiprocessing_context` are not needed: there are no workers, and
    all randomness comes from `seed`. `collate_fn` is `fields` and `mixing`; `timeout` is
    `IO.read_timeout_s`. ffkit.torch.DataLoader takes torch's names.

    Raises:
        InvalidArgumentError: (a ValueError) for options out of range, fields of the wrong type, and
            an epoch without a batch (tail "drop").
        FieldNotFoundError: (a KeyError) for fields that the data set lacks.
        UnsupportedError: for I/O that is not available.
        TypeError: for values of the wrong type."""

    def __init__(
        self,
        dataset: Dataset | PathLike,
        batch_size: int = 256,
        *,
        image: Transform | ImageOptions | None = RandomResizedCrop(),
        views: Mapping[str, ViewSpec] | None = None,
        image_field: str | None = "image",
        label_field: str | None = "label",
        mixing: Mixing | None = None,
        fields: Mapping[str, BatchField] | None = None,
        order: OrderName | Order = "automatic",
        seed: int = 0,
        rank: int | None = None,
        world_size: int | None = None,
        tail: Tail = "drop",
        num_threads: int = 0,
        bad_samples: Literal["fail", "skip"] = "fail",
        io: IO = IO(),
        memory: Memory = Memory(),
        arrays: Arrays = "auto",
        pin_memory: bool | None = None,
        on_warning: Callable[[str], None] | None = None,
    ) -> None:
        dataset = dataset_of(dataset)
        seed = operator.index(seed)
        if not 0 <= seed < 1 << 64:
            raise InvalidArgumentError(f"seed is {seed}, expected 0 .. 2**64 - 1")
        self._share = _share.find(rank, world_size)
        if num_threads == 0 and self._share.ranks_on_node > 1:
            num_threads = _ffkit.core_share(self._share.ranks_on_node)
        if isinstance(order, str):
            order = Order(order)
        if views is not None and image is not None and image != RandomResizedCrop():
            raise InvalidArgumentError("image is for a loader without views; give it a name and add it to views")
        if views is None and image is None:
            image_field = None
        options = image_options_of("image", RandomResizedCrop() if image is None else image)
        views_given = [view_of(name, view) for name, view in (views or {}).items()]
        fields = {name: with_shapes(field, dataset) for name, field in (fields or {}).items()}
        mixing = mixing or Mixing()
        self._arrays = resolve_arrays(arrays)
        self._dataset = dataset
        self._held_batches = memory.held_batches
        allocate = self._allocator(pin_memory)
        # Pinned memory goes with its batch: then each may be kept.
        self._copy = memory.copy and allocate is None
        self._is_pinned = allocate is not None
        self._copies_by_need = False  # while other batches are held; see ffkit.torch.DataLoader
        self._on_warning = on_warning or _log.warning
        self._loader = _ffkit.Loader(
            dataset._dataset,
            {
                "batch_size": batch_size, "image_field": image_field or "", "image": options, "views": views_given, "label_field": label_field or "",
                "mixup_alpha": mixing.mixup, "cutmix_alpha": mixing.cutmix, "fields": fields,
                **_values(order), **_values(memory), **_values(io), "order": order.name, "tail": tail, "seed": seed,
                "rank": self._share.rank, "world_size": self._share.world_size,
                "weights": plain_numbers(order.weights), "buckets": plain_numbers(order.buckets), "mixture": mixture_of(order.mixture),
                "groups": None if order.groups is None else numbers_of(order.groups, len(dataset), "groups"),
                "num_threads": num_threads, "bad_samples": bad_samples, "allocate": allocate,
            },
        )
        self._convert: Callable[[Any, int], Any] | None = None
        self._names: list[str] = []  # of the fields of a batch ...
        self._are_texts: list[bool] = []  # ... and which of them are lists of str
        self._epoch_size = order.epoch_size or len(dataset)
        self._batch_size = batch_size
        self._is_random = order.name != "sequential"
        self._is_fresh = True  # the next loop goes on where the loader is
        self._is_finished = False  # the last loop came to its end
        self._begin = ""  # the state in which the last loop began
        self._taken = 0  # batches of the last loop
        self._has_warned = False
        self._loop = 0  # number of the loop that may take batches
        _open_loaders.add(self)
        self._pass_warnings()

    def _allocator(self, pin_memory: bool | None) -> Allocate | None:
        if pin_memory is True and self._arrays != "torch":
            raise InvalidArgumentError(f"pin_memory needs arrays 'torch', not '{self._arrays}': only torch knows when a copy to the GPU has ended and its memory is free")
        if pin_memory is False or self._arrays != "torch":
            return None
        return pinned_allocator(required=pin_memory is True)

    def _pass_warnings(self) -> None:
        for text in self._loader.take_warnings():
            self._on_warning(text)

    _max_copied_bytes = _ffkit.usable_memory_bytes() // 4  # of batches that are copied by need
    # Lightning asks for it where there is a `sampler`. Nobody can give batches of numbers to a
    # loader that reads by itself.
    batch_sampler = None

    @property
    def dataset(self) -> Dataset:
        """What is loaded."""
        return self._dataset

    @property
    def batch_size(self) -> int:
        """Samples in a batch of this rank."""
        return self._batch_size

    def __len__(self) -> int:
        """Batches of a whole epoch on this rank."""
        return self._loader.num_batches()

    @property
    def epoch(self) -> int:
        """The epoch of the current loop or, if that has ended, of the next. `for epoch in
        range(loader.epoch, 90)` begins, and continues after load_state_dict()."""
        return self._loader.epoch() + (1 if self._is_finished else 0)

    @property
    def rank(self) -> int:
        """Of this process among those that share an epoch."""
        return self._share.rank

    @property
    def world_size(self) -> int:
        """Processes that share an epoch."""
        return self._share.world_size

    def set_epoch(self, epoch: int, restart: bool = False) -> None:
        """The next loop is `epoch`, like DistributedSampler.set_epoch(). If it is the current epoch
        (`loader.epoch`), its place stays, for example that of load_state_dict(); with `restart` it
        begins anew. The epoch after a finished one is read ahead."""
        is_begun = not self._is_fresh and not self._is_finished
        if is_begun and self._taken == 0 and epoch != self.epoch and not restart:
            # A loop that has taken nothing is moved: some call iter() before set_epoch().
            self._loader.set_epoch(epoch)
            self._begin = self._loader.state()
        elif restart or epoch != self.epoch or self._is_finished or (is_begun and self._loader.at_end()):
            self._loader.set_epoch(epoch)
            self._place(fresh=True, finished=False)

    def __getattr__(self, name: str) -> Any:
        refuse_old_name(self, name)

    @property
    def sampler(self) -> EpochSampler:
        """For training loops that call `loader.sampler.set_epoch(epoch)`, as Lightning does."""
        return EpochSampler(self, -(-self._epoch_size // self.world_size))

    def _place(self, fresh: bool, finished: bool) -> None:
        self._is_fresh = fresh
        self._is_finished = finished
        self._loop += 1

    def __iter__(self) -> Iterator[Batch]:
        """The batches of an epoch: the next one, if the last loop ended; else the same epoch again,
        from where that loop began. Earlier loops then raise RuntimeError."""
        _share.check_still_true(self._share)
        # Who counts batches by len() takes all of them and never asks for the end.
        has_all = not self._is_fresh and self._taken > 0 and self._loader.at_end()
        if self._is_finished or has_all:
            self._loader.set_epoch(self._loader.epoch() + 1)
        elif not self._is_fresh and self._taken > 0:
            self._warn_of_repetition()
            self._loader.restore(self._begin)
        self._begin = self._loader.state()
        self._taken = 0
        self._place(fresh=False, finished=False)
        return _Loop(self, self._loop)

    def _warn_of_repetition(self) -> None:
        # A look at the first batch is no loop, and in a fixed order nobody expects others.
        if self._taken == 1 or not self._is_random or self._has_warned:
            return
        self._has_warned = True
        self._on_warning(
            f"a loop over epoch {self._loader.epoch()} was left after {self._taken} of {len(self)} batches, so the next one begins that epoch again, with the same samples; "
            "call set_epoch() before each loop for another order"
        )

    def _next(self) -> Batch | None:
        """The next batch, or None at the end of the epoch. Waits without GIL; Ctrl-C ends it."""
        copy = self._copy or self._copies_next()
        try:
            batch = self._loader.next(copy)
        except InvalidArgumentError:
            batch = self._next_when_freed(copy)
        if self._loader.has_warnings:
            self._pass_warnings()
        if batch is None:
            return None
        if self._convert is None:
            self._convert = array_converter(self._arrays, self._is_pinned)
            self._names = batch.names
            self._are_texts = [batch.has_texts(i) for i in range(len(self._names))]
        arrays = {}
        for i, name in enumerate(self._names):
            arrays[name] = batch.strings(name) if self._are_texts[i] else self._convert(batch, i)
        return Batch._made(arrays, Facts(*batch.facts()))

    def _is_ready(self) -> bool:
        """Whether the next batch would come without waiting."""
        return self._loader.ready()

    def _copies_next(self) -> bool:
        """Whether the next batch shall be a copy because others are held, up to a limit."""
        if self._is_pinned or self._loader.num_held() < self._held_batches - 1:
            return False
        # JAX computes behind the loop, and holds what it has not used yet.
        by_jax = self._arrays != "torch" and "jax" in sys.modules
        return (self._copies_by_need or by_jax) and self._loader.copied_bytes() < self._max_copied_bytes

    def _next_when_freed(self, copy: bool) -> _ffkit.Batch | None:
        """next() once more, after what only reference cycles hold is freed."""
        if self._loader.num_held() < self._held_batches:
            return self._loader.next(copy)  # raises again
        gc.collect()
        held = self._loader.num_held()
        if held >= self._held_batches:
            raise InvalidArgumentError(
                f"{held} batches are held already: something still refers to their pictures, or to other large arrays of them, such as a list, a queue, a loss that is summed with "
                f"its graph (loss.item() has none), or a notebook's Out; drop them before the next one, keep copies, raise held_batches, which is {self._held_batches}, or make the "
                "loader with memory=ffkit.Memory(copy=True)",
                path=self._dataset.path,
            )
        return self._loader.next(copy)

    def state_dict(self) -> dict[str, Any]:
        """The loader's place after the taken batches, for a checkpoint (torchdata's Stateful).

        `["state"]` is the text of C++'s LoaderState. A loader of the same data, seed and order
        continues with exactly the samples that were not seen, also with another world size, batch
        size and number of threads."""
        return {"state": self._loader.state(), "epoch_finished": self._is_finished}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Continues there: the next loop has the rest of the epoch, or the next epoch.

        Raises:
            InvalidArgumentError: (a ValueError) if it is not a state, or one of another data set,
                seed or order. The loader keeps its place."""
        try:
            text, finished = str(state_dict["state"]), bool(state_dict["epoch_finished"])
        except (KeyError, TypeError):
            raise InvalidArgumentError("this is not a state of an ffkit.Loader; give the result of state_dict()") from None
        self._loader.restore(text)
        self._place(fresh=not finished, finished=finished)

    def statistics(self) -> _ffkit.Statistics:
        """Since the loader was made; for any thread. `print(loader.statistics())` says where the
        time went, `.verdict()` what limits the speed."""
        return self._loader.statistics()

    def epoch_statistics(self) -> _ffkit.Statistics:
        """Of the present epoch."""
        return self._loader.epoch_statistics()

    @property
    def memory_bound(self) -> int:
        """Upper bound in bytes on batches, read buffers and records being decoded."""
        return self._loader.memory_bound()

    @property
    def num_threads(self) -> int:
        """That decode."""
        return self._loader.num_threads()

    def close(self) -> None:
        """Ends the loader's threads and frees its memory; held batches stay. A thread that waits
        for a batch gets an error."""
        self._loader.close()

    def __enter__(self) -> Loader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> Any:
        raise TypeError(
            "an ffkit.Loader belongs to its process and cannot be copied or pickled; give its dataset and state_dict() to the other process, and make a loader there"
        )

    def __repr__(self) -> str:
        share = self._share
        of = f", rank {share.rank} of {share.world_size} by {share.source}" if share.source else ""
        batches = "closed" if self._loader.is_closed() else f"{len(self)} batches an epoch"
        return f"<ffkit.Loader: {batches}{of}, of {self._dataset!r}>"


class EpochSampler:
    """The part of a DistributedSampler that training loops use. `len()` is the number of samples of
    a rank: those of the epoch divided by the ranks, rounded up."""

    def __init__(self, loader: Any, num_samples: int) -> None:
        self._loader = loader
        self._num_samples = num_samples

    def __len__(self) -> int:
        return self._num_samples

    def set_epoch(self, epoch: int) -> None:
        """See Loader.set_epoch."""
        self._loader.set_epoch(epoch)


class _Loop(Iterator[Batch]):
    """One epoch of a loader."""

    __slots__ = ("_loader", "_number")

    def __init__(self, loader: Loader, number: int) -> None:
        self._loader = loader
        self._number = number

    def __iter__(self) -> _Loop:
        return self

    def __next__(self) -> Batch:
        loader = self._loader
        if self._number != loader._loop:
            raise RuntimeError("this loop over the ffkit.Loader was ended by another loop, set_epoch() or load_state_dict()")
        if loader._is_finished:
            raise StopIteration
        batch = loader._next()
        if batch is None:
            loader._is_finished = True
            raise StopIteration
        loader._taken += 1
        return batch


def _values(options: Any) -> dict[str, Any]:
    return {field.name: getattr(options, field.name) for field in dataclasses.fields(options)}


def _close_all() -> None:
    _ffkit.end_store_requests()  # and no thread may outlive the interpreter
    for loader in list(_open_loaders):
        loader.close()


atexit.register(_close_all)
os.register_at_fork(after_in_child=_open_loaders.clear)
