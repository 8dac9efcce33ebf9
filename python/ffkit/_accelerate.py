"""A loader of ffkit as Accelerate prepares torch's."""

from __future__ import annotations

from typing import Any, Iterator, Mapping

import torch.utils.data
from accelerate.data_loader import DataLoaderShard


class _Batches(torch.utils.data.IterableDataset):  # type: ignore[misc]
    """The batches of a loader, for DataLoaderShard and Accelerate's skip_first_batches()."""

    def __init__(self, loader: Any) -> None:
        self.loader = loader

    def __iter__(self) -> Iterator[Any]:
        return iter(self.loader)

    def __len__(self) -> int:
        return len(self.loader.dataset)  # Accelerate and Trainer ask for samples

    def set_epoch(self, epoch: int) -> None:
        self.loader.set_epoch(epoch)


def _as_it_is(batch: Any) -> Any:
    return batch


class Prepared(DataLoaderShard):  # type: ignore[misc]
    """See ffkit.hf.prepare."""

    _is_accelerate_prepared = True

    def __init__(self, loader: Any, device: Any, non_blocking: bool) -> None:
        self.loader = loader
        self._state: dict[str, Any] = loader.state_dict()
        super().__init__(_Batches(loader), device=device, _non_blocking=non_blocking, iteration=loader.epoch, batch_size=None, collate_fn=_as_it_is)

    def __len__(self) -> int:
        return len(self.loader)

    @property
    def total_batch_size(self) -> int:
        inner = getattr(self.loader, "loader", self.loader)
        return int(inner.batch_size * inner.world_size)

    def _update_state_dict(self) -> None:
        self._state = self.loader.state_dict()

    def state_dict(self) -> dict[str, Any]:
        """See Loader.state_dict."""
        return self._state

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """See Loader.load_state_dict."""
        self.loader.load_state_dict(state_dict)
        self._state = self.loader.state_dict()
        self.iteration = self.loader.epoch
