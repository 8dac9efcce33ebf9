"""ffkit in Lightning: a LightningDataModule of a data set folder.

    crop = ffkit.RandomResizedCrop(224, flip_probability=0.5)
    data = ffkit.lightning.DataModule("/fast/imagenet", batch_size=256, train_image=crop)
    lightning.Trainer(max_epochs=90).fit(model, data)"""

from __future__ import annotations

from typing import Any

from lightning.pytorch import LightningDataModule

from ._dataset import Dataset, PathLike
from ._image import ImageOptions, Transform
from ._loader import Loader
from ._transforms import RandomResizedCrop, ResizeCenterCrop

__all__ = ["DataModule"]


class DataModule(LightningDataModule):  # type: ignore[misc]
    """The loaders of fit(), validate(), test() and predict() over the splits of a data set folder.
    Batches are those of ffkit.Loader: dicts.

    Rank and world size come from Lightning. Training has as many samples as with torch's
    DistributedSampler. Validation, test and prediction have each sample exactly once, over all
    ranks. Lightning's checkpoints contain the place in the epoch: `fit(ckpt_path=)` uses it.

    Args:
        data: the folder that ffconvert wrote.
        batch_size: samples in a batch on each rank. Lightning's Tuner may set it.
        train_image, eval_image: a transform or ImageOptions; None: no pictures.
        train_split, val_split, test_split, predict_split: names; val_split=None: no validation.
        train_options, eval_options: further arguments of ffkit.Loader, such as `mixing`.
        options: further arguments for both, such as `fields` and `num_threads`."""

    def __init__(
        self,
        data: PathLike,
        batch_size: int = 256,
        *,
        train_image: Transform | ImageOptions | None = RandomResizedCrop(flip_probability=0.5),
        eval_image: Transform | ImageOptions | None = ResizeCenterCrop(256, 224),
        train_split: str = "train",
        val_split: str | None = "val",
        test_split: str = "test",
        predict_split: str = "val",
        train_options: dict[str, Any] | None = None,
        eval_options: dict[str, Any] | None = None,
        **options: Any,
    ) -> None:
        super().__init__()
        self.data = data
        self.batch_size = batch_size
        self.train_split, self.val_split, self.test_split, self.predict_split = train_split, val_split, test_split, predict_split
        self._train_options = {"image": train_image, "arrays": "torch", "tail": "even"} | options | (train_options or {})
        self._eval_options = {"image": eval_image, "arrays": "torch", "order": "sequential", "tail": "balanced"} | options | (eval_options or {})

    def __str__(self) -> str:
        # Lightning's own makes all loaders, and takes the first batches apart.
        return f"<ffkit.lightning.DataModule: {self.data}, batches of {self.batch_size}>"

    __repr__ = __str__

    def _loader(self, split: str, options: dict[str, Any]) -> Loader:
        # The strategy knows which ranks hold parts of one model and need the same samples. Without
        # a trainer, or with one rank, it says nothing.
        share = getattr(self.trainer, "distributed_sampler_kwargs", None)
        ranks = {"rank": share["rank"], "world_size": share["num_replicas"]} if share else {}
        return Loader(Dataset(self.data, split), self.batch_size, **ranks | options)

    def _evaluation(self, split: str) -> Loader:
        return self._loader(split, self._eval_options)

    def train_dataloader(self) -> Loader:
        """See LightningDataModule."""
        return self._loader(self.train_split, self._train_options)

    def val_dataloader(self) -> Loader | list[Loader]:
        """See LightningDataModule."""
        return [] if self.val_split is None else self._evaluation(self.val_split)

    def test_dataloader(self) -> Loader:
        """See LightningDataModule."""
        return self._evaluation(self.test_split)

    def predict_dataloader(self) -> Loader:
        """See LightningDataModule."""
        return self._evaluation(self.predict_split)
