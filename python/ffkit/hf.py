"""ffkit in Hugging Face's Transformers and Accelerate: a data set, and the loaders of a Trainer.

    class Trainer(ffkit.hf.TrainerMixin, transformers.Trainer):
        pass

    images = ffkit.ImageField("image", image_options)
    arrays = {"pixel_values": images, "labels": ffkit.IntegerField("label")}
    train = ffkit.hf.Dataset("/fast/imagenet", "train", fields=arrays)
    Trainer(model, args, train_dataset=train, eval_dataset=...).train()"""

from __future__ import annotations

import dataclasses
import io
from typing import TYPE_CHECKING, Any, Callable, Iterator, Mapping, Sequence

from ._dataset import Dataset as _Records
from ._dataset import PathLike
from ._errors import InvalidArgumentError, UnsupportedError
from ._fields import BatchField
from ._loader import Loader
from ._loader_options import Memory
from ._samples import DTYPES, Field

if TYPE_CHECKING:
    from .torch import DataLoader

__all__ = ["Dataset", "TrainerMixin", "prepare"]

# By TrainingArguments.train_sampling_strategy.
_ORDERS = {"random": "automatic", "sequential": "sequential"}


class Dataset(Sequence[dict[str, Any]]):
    """An ffkit.Dataset with the interface of `datasets.Dataset`: for Trainer, and for scripts that
    use columns and names of labels.

    `ds[i]` is a dict with Pillow's pictures; `ds[2:5]` and `ds[[1, 4]]` are a dict of lists;
    `ds["label"]` is a list, read without the pictures. It is not a subclass of `datasets.Dataset`,
    so code that checks the class, like evaluate's evaluator(), refuses it.

    Args:
        dataset: an ffkit.Dataset, or the arguments of one: a path, and a split.
        fields: arrays for TrainerMixin's loaders, by model argument, as in Loader."""

    def __init__(self, dataset: _Records | PathLike, split: str = "", *, fields: Mapping[str, BatchField] | None = None) -> None:
        self.dataset = dataset if isinstance(dataset, _Records) else _Records(dataset, split)
        self.fields = dict(fields or {})
        self._transform: Callable[[dict[str, list[Any]]], Mapping[str, Any]] | None = None

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, str):
            return self._column(index)
        if isinstance(index, slice):
            return self._samples(range(*index.indices(len(self))))
        if hasattr(index, "__iter__") and getattr(index, "ndim", 1) > 0:
            return self._samples(index)
        sample = self._read(self.dataset, index)
        if self._transform is None:
            return sample
        return {name: values[0] for name, values in self._transform({name: [value] for name, value in sample.items()}).items()}

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (self[i] for i in range(len(self)))

    def _read(self, dataset: _Records, index: Any) -> dict[str, Any]:
        sample: dict[str, Any] = dataset[index]
        schema = self.dataset.schema
        return {name: _shown(schema[name], value) for name, value in sample.items()}

    def _samples(self, indices: Any) -> Mapping[str, Any]:
        chosen = self.dataset.subset(indices)
        samples = [self._read(chosen, i) for i in range(len(chosen))]
        columns = {name: [sample[name] for sample in samples] for name in self.column_names}
        return columns if self._transform is None else self._transform(columns)

    def _column(self, name: str) -> list[Any]:
        field = self.dataset.schema.get(name)
        if field is None:
            raise KeyError(f"there is no column '{name}'; the columns are {', '.join(self.column_names)}")
        if field.column:
            column = self.dataset.column(name)
            return column if isinstance(column, list) else list(column.tolist())
        return [_shown(field, self.dataset.field(i, name)) for i in range(len(self))]

    @property
    def column_names(self) -> list[str]:
        """Names of the fields."""
        return list(self.dataset.schema)

    @property
    def num_rows(self) -> int:
        """The number of records."""
        return len(self)

    @property
    def features(self) -> Any:
        """The fields' types: `datasets.Features`. `features["label"].names` are the classes."""
        import datasets

        def feature(name: str, field: Field) -> Any:
            names = self.dataset.class_names or self.dataset.classes
            if name == "label" and names and field.type == "scalar":
                return datasets.ClassLabel(names=names if len(set(names)) == len(names) else self.dataset.classes)
            value = self.dataset.field(0, name) if "tensor" in (field.type, field.item) and len(self) else None
            if field.type == "list":
                return datasets.List(_VALUES[field.item or "bytes"](datasets, field, getattr(value[0] if value else None, "ndim", 1)))
            return _VALUES[field.type](datasets, field, getattr(value, "ndim", 1))

        return datasets.Features({name: feature(name, field) for name, field in self.dataset.schema.items()})

    def select(self, indices: Any) -> Dataset:
        """The samples with these numbers, in this order."""
        return self._like(self.dataset.subset(indices), self._transform)

    def with_transform(self, transform: Callable[[dict[str, list[Any]]], Mapping[str, Any]] | None) -> Dataset:
        """The same samples after `transform`, a function from a dict of lists to a dict of lists.
        The loaders of TrainerMixin do not call it: they use `fields`."""
        return self._like(self.dataset, transform)

    def _like(self, dataset: _Records, transform: Callable[[dict[str, list[Any]]], Mapping[str, Any]] | None) -> Dataset:
        made = Dataset(dataset, fields=self.fields)
        made._transform = transform
        return made

    def __repr__(self) -> str:
        return f"<ffkit.hf.Dataset: {self.dataset!r}>"


def _shown(field: Field, value: Any) -> Any:
    if field.type == "image" and value is not None:
        from PIL import Image

        return Image.open(io.BytesIO(value))
    if field.type == "list" and field.item == "image" and value is not None:
        return [_shown(Field("image"), one) for one in value]
    return value


def _value(datasets: Any, field: Field, _: int) -> Any:
    if field.dtype == "bf16":
        raise UnsupportedError("`datasets` has no type for bf16, so this data set has no `features`; store the field as f32")
    return datasets.Value(DTYPES[field.dtype or "u8"])


def _tensor(datasets: Any, field: Field, num_dimensions: int) -> Any:
    feature = _value(datasets, field, 0)
    for _ in range(num_dimensions):
        feature = datasets.List(feature)
    return feature


_VALUES: dict[str, Callable[[Any, Field, int], Any]] = {
    "image": lambda datasets, field, _: datasets.Image(),
    "string": lambda datasets, field, _: datasets.Value("string"),
    "bytes": lambda datasets, field, _: datasets.Value("binary"),
    "scalar": _value,
    "tensor": _tensor,
}


def prepare(accelerator: Any, loader: Loader | DataLoader) -> Any:
    """`loader` as accelerator.prepare() would make it from torch's DataLoader: batches on the
    device, a last step of gradient accumulation, no duplicates in gather_for_metrics().

    accelerator.prepare() itself returns a loader of ffkit unchanged. Each rank's loader already has
    its own share. For gather_for_metrics(), make the loader with order="sequential" and tail="pad".
    Give the result to `accelerator.register_for_checkpointing()`: its state follows the loop."""
    from ._accelerate import Prepared

    return Prepared(loader, accelerator.device, accelerator.non_blocking)


class TrainerMixin:
    """Gives a transformers.Trainer loaders of ffkit for data sets of class ffkit.hf.Dataset with
    `fields`; other data sets use Trainer's own.

        class Trainer(ffkit.hf.TrainerMixin, transformers.Trainer):
            loader_options = {"num_threads": 8}

    These stay as in Trainer: numbers of samples and steps, batch sizes, `data_seed` or `seed`,
    `dataloader_drop_last`, `dataloader_pin_memory`, `dataloader_num_workers` (as threads). So does
    the resume from a checkpoint, which decodes the batches that it skips. Samples are joined in
    C++, so your own `data_collator` is refused."""

    loader_options: Mapping[str, Any] = {}
    """Further arguments of ffkit.Loader."""

    def get_train_dataloader(self: Any) -> Any:
        """See transformers.Trainer."""
        if not _is_loaded(self.train_dataset):
            return super().get_train_dataloader()  # type: ignore[misc]
        strategy = getattr(self.args, "train_sampling_strategy", "random")
        strategy = getattr(strategy, "value", strategy)
        if strategy not in _ORDERS:
            raise UnsupportedError(f"train_sampling_strategy '{strategy}' needs the length of each sample, which pictures do not have; leave it out")
        return _loader_of(self, self.train_dataset, self._train_batch_size, _ORDERS[strategy], self.args.dataloader_drop_last)

    def get_eval_dataloader(self: Any, eval_dataset: Any = None) -> Any:
        """See transformers.Trainer."""
        dataset = self.eval_dataset if eval_dataset is None else self.eval_dataset[eval_dataset] if isinstance(eval_dataset, str) else eval_dataset
        if not _is_loaded(dataset):
            return super().get_eval_dataloader(eval_dataset)  # type: ignore[misc]
        return _loader_of(self, dataset, self.args.eval_batch_size, "sequential", False)

    def get_test_dataloader(self: Any, test_dataset: Any) -> Any:
        """See transformers.Trainer."""
        if not _is_loaded(test_dataset):
            return super().get_test_dataloader(test_dataset)  # type: ignore[misc]
        return _loader_of(self, test_dataset, self.args.eval_batch_size, "sequential", False)


def _is_loaded(dataset: Any) -> bool:
    return isinstance(dataset, Dataset) and bool(dataset.fields)


def _loader_of(trainer: Any, dataset: Dataset, batch_size: int, order: str, drop_last: bool) -> Any:
    if not type(trainer.data_collator).__module__.startswith("transformers.") and not getattr(trainer.data_collator, "__module__", "").startswith("transformers."):
        raise InvalidArgumentError("data_collator is not called if ffkit loads; leave it out, and give its outputs as `fields` of the ffkit.hf.Dataset")
    args = trainer.args
    # Of a model: their ranks, which are neighbours, load the same.
    num_shards = getattr(trainer, "get_tp_size", lambda: 1)()
    world_size = args.world_size // num_shards
    options = {
        "image": None, "label_field": None, "fields": dataset.fields, "order": order, "seed": args.seed if args.data_seed is None else args.data_seed,
        "rank": args.process_index // num_shards, "world_size": world_size, "tail": "drop" if drop_last else "exact" if world_size == 1 else "pad",
        "num_threads": args.dataloader_num_workers, "pin_memory": None if args.dataloader_pin_memory else False, "arrays": "torch",
        "memory": Memory(), **trainer.loader_options,
    }  # fmt: skip
    # The batches of a step, one that is looked ahead at, and the loader's own two.
    held = max(options["memory"].held_batches, args.gradient_accumulation_steps + 3)
    options["memory"] = dataclasses.replace(options["memory"], held_batches=held)
    return prepare(trainer.accelerator, Loader(dataset.dataset, batch_size, **options))
