"""Batch: arrays by name."""

from __future__ import annotations

from typing import Any, NamedTuple

from . import _ffkit
from ._errors import FieldNotFoundError


class Replacement(NamedTuple):
    """A sample that was replaced because its record is bad (bad_samples="skip")."""

    index_in_batch: int
    bad_record: int  # whose place was taken; record_indices[index_in_batch] took it
    reason: str  # the message of its error


class Batch(dict[str, Any]):
    """A batch: a dict from the fields' names to arrays, of which a TextField has a list of str.

    The arrays are views of the loader's memory (unless the loader copies): they stay as they are as long as one of them, or the batch, is referred to. Then the memory is
    used for a later batch. They may be written to, used and dropped by any thread, also after the loader.
    """

    __slots__ = ("_batch",)

    def __init__(self, batch: _ffkit.Batch | _Facts, arrays: dict[str, Any]) -> None:
        super().__init__(arrays)
        self._batch = batch

    @property
    def size(self) -> int:
        """Number of samples: batch_size, but for the last batch under tail="exact"."""
        return self._batch.size

    @property
    def epoch(self) -> int:
        """The epoch that it is of."""
        return self._batch.epoch

    @property
    def step(self) -> int:
        """Its number in the epoch on this rank, from where the epoch was started."""
        return self._batch.step

    @property
    def record_indices(self) -> Any:
        """numpy.ndarray [size] i64: numbers of the records in the data set."""
        return self._batch.record_indices

    @property
    def source(self) -> Any:
        """numpy.ndarray [size] i32: numbers of the data sets that the samples are of; 0 unless the loader has a chain."""
        return self._batch.source

    @property
    def mix_lambda(self) -> float:
        """1, unless MixUp or CutMix has blended each image with the one before it (the first with the last): the weight of the image itself. The loss is
        then `lam * loss(labels) + (1 - lam) * loss(labels.roll(1))`."""
        return self._batch.mix_lambda

    @property
    def replacements(self) -> list[Replacement]:
        """Samples that are not the sampler's, in the order of the batch; empty unless bad_samples is "skip"."""
        return [Replacement(*one) for one in self._batch.replacements]

    def row_offsets(self, name: str) -> Any:
        """numpy.ndarray [size + 1] i64 of a field of rows: sample i has rows `offsets[i] .. offsets[i + 1] - 1` of a ragged array, and `offsets[i + 1] -
        offsets[i]` rows of a padded one. FieldNotFoundError (a KeyError) for a field that has no rows."""
        return self._batch.row_offsets(name)

    def replaced(self, arrays: dict[str, Any]) -> Batch:
        """The same batch with other arrays, such as copies on a device. Its numbers are copied: the memory of the loader may serve a later batch."""
        return Batch(_Facts(self._batch, list(self)), arrays)

    def __repr__(self) -> str:
        shapes = ", ".join(f"{name} {list(getattr(array, 'shape', [len(array)]))}" for name, array in self.items())
        return f"<ffkit.Batch: step {self.step} of epoch {self.epoch}, {shapes}>"

    def __reduce__(self) -> Any:
        # To another process go the arrays alone.
        return dict, (dict(self),)


class _Facts:
    """What a Batch knows beside its arrays, of a batch whose memory is not kept."""

    def __init__(self, batch: _ffkit.Batch | _Facts, names: list[str]) -> None:
        self.size: int = batch.size
        self.epoch: int = batch.epoch
        self.step: int = batch.step
        self.mix_lambda: float = batch.mix_lambda
        self.replacements: list[tuple[int, int, str]] = batch.replacements
        self.record_indices: Any = batch.record_indices.copy()
        self.source: Any = batch.source.copy()
        self._row_offsets = {name: offsets for name in names if (offsets := _offsets_of(batch, name)) is not None}

    def row_offsets(self, name: str) -> Any:
        if name not in self._row_offsets:
            raise FieldNotFoundError(f"the batch has no field '{name}' of rows", "not_found")
        return self._row_offsets[name]


def _offsets_of(batch: _ffkit.Batch | _Facts, name: str) -> Any:
    try:
        return batch.row_offsets(name).copy()
    except FieldNotFoundError:
        return None
