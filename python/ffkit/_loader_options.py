"""Options of a Loader by topic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Iterable, Literal

OrderName = Literal["automatic", "shuffle", "sequential", "windowed", "weighted"]


@dataclass(frozen=True, slots=True, eq=False)
class Order:
    """Which samples an epoch has, and in which order: `Loader(ds, order=ffkit.Order("weighted",
    weights=w))`. `order="shuffle"` is `Order("shuffle")`.

    Args:
        name: "shuffle": another permutation each epoch (torch's `shuffle=True`). "sequential".
            "windowed", for stores and disks that read slowly at random places: neighbours stay
            near each other. "weighted": drawn with replacement (torch's WeightedRandomSampler).
            "automatic": "windowed" if a shard of the data set is in a store, in blocks of 8 MiB
            and `world_size` streams; else, and with `groups`, `buckets` and `mixture`, "shuffle".
            load_state_dict() takes the order of the state. `statistics().order` says which it is.
        epoch_size: samples in an epoch; 0: as many as records.
        weights: of "weighted": a number for each record; see `class_balanced_weights`.
        groups: the first record of each group of records that stay together in their order,
            ascending from 0.
        buckets: of "shuffle": a number for each record; the samples of a batch are of one bucket,
            as pictures of a like shape: `aspect_ratio_buckets(*ds.picture_sizes())`. What fills no
            batch of its bucket comes last in the epoch, and a batch there may be of several.
        mixture: of a `Dataset.chain()`, with "shuffle": a weight for each data set, or "equal" for
            equal shares, the smaller ones repeated as often as the largest needs. Each epoch has
            exact counts of each, and `batch.source` says which data set a sample is of.
        share_randomness: all records of a group draw the same random numbers.
        window_block, window_blocks: of "windowed": records in a block, blocks in a window.
        window_block_bytes: of "windowed": about how many bytes a block has, instead of
            `window_block` records; 8 << 20 is what "automatic" takes over a store. 0:
            `window_block`.
        num_streams: of "windowed": streams that an epoch is dealt to, so that ranks read different
            blocks; each batch of all ranks has as many samples of each. The order depends on it,
            and a state has it: it stays when a run goes on with other ranks. 0: one; with
            "automatic": `world_size`.
    """

    name: OrderName = "automatic"
    epoch_size: int = 0
    weights: Iterable[float] | None = None
    groups: Iterable[int] | None = None
    buckets: Iterable[int] | None = None
    mixture: Literal["equal"] | Iterable[float] | None = None
    share_randomness: bool = False
    window_block: int = 64
    window_blocks: int = 64
    window_block_bytes: int = 0
    num_streams: int = 0


@dataclass(frozen=True, slots=True)
class Memory:
    """How much memory batches take.

    Args:
        prefetch_batches: prepared ahead, >= 1; torch's `prefetch_factor`, but in all.
        held_batches: whose large arrays may be referred to at the same time, >= 1. `for batch in
            loader` needs two, its own and the next; so one more may be kept.
        copy: True: a batch is a copy, and any number may be kept. Costs a pass over its memory.
    """

    prefetch_batches: int = 3
    held_batches: int = 3
    copy: bool = False


@dataclass(frozen=True, slots=True)
class IO:
    """How records are read.

    Args:
        engine: "automatic" (io_uring where the kernel allows it, else pread), "io_uring" or
            "pread".
        direct: O_DIRECT: "automatic" (when the data are larger than half of the memory), "on" or
            "off".
        queue_depth: reads in flight, 1 .. 4096.
        max_bytes_in_flight: read buffers in use.
        num_retries: of a read that fails with EIO.
        read_timeout_s: what has not been read after so many seconds is an IoError.
        sqpoll: io_uring with a kernel thread that takes the reads; it keeps a core busy.
        decoders_read_cache: what the page cache holds is copied by the decoding threads.
        verify_checksums: of every record.
        read_ahead_epochs: the end of an epoch is followed by the beginning of the next; torch's
            `persistent_workers`.
    """

    engine: Literal["automatic", "io_uring", "pread"] = "automatic"
    direct: Literal["automatic", "on", "off"] = "automatic"
    queue_depth: int = 64
    max_bytes_in_flight: int = 64 << 20
    num_retries: int = 3
    read_timeout_s: float = 300.0
    sqpoll: bool = False
    decoders_read_cache: bool = True
    verify_checksums: bool = True
    read_ahead_epochs: bool = True
