"""Batch: arrays by name; of torch, of numpy, or anything by DLPack."""

from __future__ import annotations

import dis
import importlib.util
import sys
import warnings
from typing import Any, Callable, Iterable, Iterator, Literal, NamedTuple

from ._errors import FieldNotFoundError, InvalidArgumentError, UnsupportedError

_ALIGNMENT = 4096  # of batches
# Instructions of Python that take the parts of an object apart.
_UNPACKING = (dis.opmap["UNPACK_SEQUENCE"], dis.opmap["UNPACK_EX"])
Arrays = Literal["auto", "torch", "numpy", "dlpack"]


def bfloat16() -> Any:
    """numpy's dtype of bfloat16, which the package ml_dtypes brings."""
    try:
        import ml_dtypes
    except ImportError:
        raise UnsupportedError("numpy has no bfloat16; install ml_dtypes, or use torch's tensors, DLPack or float32") from None
    return ml_dtypes.bfloat16


def resolve_arrays(arrays: str) -> str:
    """The meaning of "auto": "torch" if it is installed, else "numpy"."""
    if arrays == "auto":
        return "torch" if importlib.util.find_spec("torch") is not None else "numpy"
    if arrays not in ("torch", "numpy", "dlpack"):
        raise InvalidArgumentError(f"arrays is {arrays!r}, expected 'auto', 'torch', 'numpy' or 'dlpack'")
    return arrays


def array_converter(arrays: str, is_pinned: bool) -> Callable[[Any, int], Any]:
    """A function from (batch of the extension, number of the field) to its array. It copies no
    large arrays."""
    if arrays == "torch":
        from torch.utils.dlpack import from_dlpack

        def to_torch(batch: Any, i: int) -> Any:
            return from_dlpack(batch.capsule(i))

        # A view of the storage that torch's allocator made: of other tensors in its memory it would
        # not know the copies that are under way.
        def to_pinned(batch: Any, i: int) -> Any:
            array = from_dlpack(batch.capsule(i))
            slab, address = batch.owner(i)
            if array.data_ptr() != address:
                return array.pin_memory()  # small
            begin = address - slab.data_ptr()
            return slab[begin : begin + array.nbytes].view(array.dtype).view(array.shape)

        return to_pinned if is_pinned else to_torch
    if arrays == "dlpack":
        return lambda batch, i: batch.dlpack(i)

    def to_numpy(batch: Any, i: int) -> Any:
        array = batch.numpy(i)
        return array.view(bfloat16()) if batch.is_bfloat16(i) else array

    return to_numpy


def pinned_allocator(required: bool = False) -> Callable[[int], tuple[int, Any]] | None:
    """A function num_bytes -> (address, tensor) that allocates pinned memory with torch's caching
    allocator. None without CUDA; if `required`, with a warning like torch's."""
    import torch

    if not torch.cuda.is_available():
        if required:
            warnings.warn("pin_memory is True, but torch sees no CUDA device; batches lie in ordinary memory", stacklevel=4)
        return None
    return lambda num_bytes: _aligned(torch.empty(num_bytes + _ALIGNMENT, dtype=torch.uint8, pin_memory=True))


def _aligned(memory: Any) -> tuple[int, Any]:
    address = memory.data_ptr()
    return address + -address % _ALIGNMENT, memory


class Replacement(NamedTuple):
    """A sample that was replaced because its record is bad (bad_samples="skip")."""

    index_in_batch: int
    bad_record: int  # whose place was taken; record_indices[index_in_batch] took it
    reason: str  # the message of its error


class LeftOut(Replacement):
    """A sample that was left out because its record is bad; index_in_batch is its missing place."""


class Facts(NamedTuple):
    """Facts of a batch beside its arrays, in the order of the extension."""

    size: int
    epoch: int
    step: int
    mix_lambda: float
    record_indices: Any
    source: Any
    replacements: list[tuple[int, int, str]]
    left_out: list[tuple[int, int, str]]
    row_offsets: dict[str, Any]
    geometries: dict[str, Any]
    source_sizes: Any
    unpadded_sizes: dict[str, Any]
    padded: dict[str, tuple[str, int]]


class Batch(dict[str, Any]):
    """A batch: a dict from the names of fields to arrays (a list of str for a TextField).

    Large arrays (64 KiB and more) are views of the loader's memory, unless the loader copies. They
    stay valid while your code refers to one of them; then the loader uses the memory for a later
    batch. Smaller arrays are copies. Any thread may use and change arrays.

    Like a dict, a batch can be made from a dict, from pairs or with keywords. Frameworks do this to
    move a batch to a device: `type(batch)({name: ...})`. For torch and JAX it is a tree of arrays
    (a pytree). Such a batch has only arrays: attributes like `epoch` raise AttributeError.
    `copy.copy()`, `copy.deepcopy()`, `pickle` and `batch.copy()` keep the attributes."""

    __slots__ = ("_facts",)
    _facts: Facts

    def __init__(self, arrays: dict[str, Any] | Iterable[tuple[str, Any]] = (), /, **more: Any) -> None:
        super().__init__(arrays, **more)
        if len(_frameworks) < 2:
            _register()

    def __iter__(self) -> Iterator[Any]:
        """The names, as in every dict. Unpacking, as in `for images, labels in loader`, gives the
        picture and the label; TypeError for a batch of other arrays."""
        frame = sys._getframe(1)
        if frame.f_code.co_code[frame.f_lasti] not in _UNPACKING:
            return super().__iter__()
        arrays = sorted(self.values(), key=lambda value: -getattr(value, "ndim", 0))
        if [getattr(value, "ndim", 0) for value in arrays] != [4, 1]:
            names = ", ".join(f"'{name}'" for name in self)
            raise TypeError(f"a batch of {names} is not a pair of one picture and one label; use batch[name], or batch.items() for all")
        return iter(arrays)

    @classmethod
    def _made(cls, arrays: dict[str, Any], facts: Facts | None) -> Batch:
        batch = cls(arrays)
        if facts is not None:
            batch._facts = facts
        return batch

    def __getattr__(self, name: str) -> Any:
        # A property of a batch without facts ends here too.
        if name == "_facts" or hasattr(type(self), name):
            raise AttributeError(
                f"this batch was made from arrays alone, as frameworks do, so it has no '{name}'; the batch that came from the loader has it", name=name, obj=self
            )
        raise AttributeError(f"'{type(self).__name__}' has no attribute '{name}'", name=name, obj=self)

    @property
    def size(self) -> int:
        """Number of samples. Less than batch_size only with tail="exact" or bad samples."""
        return self._facts.size

    @property
    def epoch(self) -> int:
        """The epoch of the batch."""
        return self._facts.epoch

    @property
    def step(self) -> int:
        """Number of the batch on this rank, counted from the start of the epoch."""
        return self._facts.step

    @property
    def record_indices(self) -> Any:
        """numpy.ndarray [size] i64: numbers of the records in the data set."""
        return self._facts.record_indices

    @property
    def source(self) -> Any:
        """numpy.ndarray [size] i32: the number of a sample's data set in a chain, or 0."""
        return self._facts.source

    @property
    def mix_lambda(self) -> float:
        """The weight of each picture, if MixUp or CutMix has blended it with the one before it (the
        first with the last); or 1. The loss is `lam * loss(labels) + (1 - lam) *
        loss(labels.roll(1))`."""
        return self._facts.mix_lambda

    @property
    def replacements(self) -> list[Replacement]:
        """Samples that replace bad ones, in the order of the batch; only with
        bad_samples="skip"."""
        return [Replacement(*one) for one in self._facts.replacements]

    @property
    def left_out(self) -> list[LeftOut]:
        """Bad samples that are missing in the batch, in order; the batch may even be empty. Only
        with bad_samples="skip", order="sequential" and tail="exact" or "balanced"."""
        return [LeftOut(*one) for one in self._facts.left_out]

    def row_offsets(self, name: str) -> Any:
        """numpy.ndarray [size + 1] i64 of a field of rows: sample i has rows `offsets[i] ..
        offsets[i + 1] - 1` of a ragged array, and `offsets[i + 1] - offsets[i]` rows of a padded
        one. For boxes of a view with copies it is [size * copies + 1]: copy c of sample i has the
        number i * copies + c, as in `batch[view].flatten(0, 1)`. FieldNotFoundError (a KeyError):
        no rows."""
        offsets = self._facts.row_offsets
        if name not in offsets:
            known = f"; the fields with rows are {', '.join(offsets)}" if offsets else ""
            raise FieldNotFoundError(f"the batch has no field '{name}' with rows{known}", "not_found")
        return offsets[name]

    def geometry(self, view: str = "image") -> Any:
        """A matrix for each picture, from its pixels to those of a view: numpy.ndarray [size, 3, 3]
        f64, or [size, copies, 3, 3] for a view with copies.

        A point (x, y) of the stored picture becomes (u / w, v / w) in the view, with (u, v, w) =
        matrix @ (x, y, 1). (0, 0) is the top left corner of the top left pixel, as for boxes. A
        clip has one matrix for all frames. FieldNotFoundError (a KeyError) if the loader has no
        such view; the only picture of a loader has the name `image_field`."""
        geometries = self._facts.geometries
        if view not in geometries:
            raise FieldNotFoundError(f"the batch has no view '{view}'; the views are: {', '.join(geometries) or 'none'}", "not_found")
        return geometries[view]

    @property
    def source_sizes(self) -> Any:
        """numpy.ndarray [size, 2] i64: height and width of each stored picture, or of the frames of
        the first clip. None for a loader without pictures."""
        return self._facts.source_sizes

    def unpadded_sizes(self, view: str = "image") -> Any:
        """Height and width of each picture in a view that ends with PadToLargest: numpy.ndarray
        [size, 2] i64, or [size, copies, 2]. FieldNotFoundError (a KeyError) for other views."""
        sizes = self._facts.unpadded_sizes
        if view not in sizes:
            raise FieldNotFoundError(f"the batch has no view '{view}' that ends with PadToLargest; the views with it are: {', '.join(sizes) or 'none'}", "not_found")
        return sizes[view]

    def unpadded(self, name: str = "image") -> list[Any]:
        """A list of the pictures or masks of a view that ends with PadToLargest, without the
        padding: pictures [3, H, W], as torchvision's detectors take them; masks [H, W]; for an
        InstanceMasksField [boxes, H, W], or [max_boxes, H, W] if it is padded. They are views of
        the batch's array. FieldNotFoundError (a KeyError) for other views; InvalidArgumentError (a
        ValueError) for a view with copies."""
        if name not in self._facts.padded:
            raise FieldNotFoundError(f"the batch has no array '{name}' of a view that ends with PadToLargest; the arrays are: {', '.join(self._facts.padded) or 'none'}", "not_found")
        view, axis = self._facts.padded[name]
        sizes = self.unpadded_sizes(view)
        if sizes.ndim > 2:
            raise InvalidArgumentError(f"view '{view}' has copies; index batch['{name}'] and batch.unpadded_sizes('{view}')")
        samples, before = self[name], (slice(None),) * (axis - 1)
        if axis == 1 and name in self._facts.row_offsets:  # ragged masks of boxes
            offsets = self._facts.row_offsets[name]
            samples, before = [samples[begin:end] for begin, end in zip(offsets, offsets[1:])], (slice(None),)
        return [one[before + (slice(0, int(height)), slice(0, int(width)))] for one, (height, width) in zip(samples, sizes)]

    def replaced(self, arrays: dict[str, Any]) -> Batch:
        """The same batch with other arrays, such as copies on a device."""
        return self._made(arrays, getattr(self, "_facts", None))

    def copy(self) -> Batch:
        """A shallow copy, like dict.copy()."""
        return self.replaced(self)

    __copy__ = copy

    def __reduce__(self) -> Any:
        return Batch._made, (dict(self), getattr(self, "_facts", None))

    def __repr__(self) -> str:
        shapes = ", ".join(f"{name} {_shape(value)}" for name, value in self.items())
        facts = getattr(self, "_facts", None)
        return f"<ffkit.Batch: {f'step {facts.step} of epoch {facts.epoch}, ' if facts else ''}{shapes}>"


def _shape(value: Any) -> str:
    if isinstance(value, list):
        return str([len(value)])
    return str(list(value.shape)) if hasattr(value, "shape") else repr(value)


_frameworks: set[str] = set()  # that see a Batch as a tree


def _register() -> None:
    """Makes a Batch a tree of torch and of JAX, once each is imported."""
    for name, register in (("torch", _register_with_torch), ("jax", _register_with_jax)):
        module = sys.modules.get(name)
        if module is None or name in _frameworks or getattr(module.__spec__, "_initializing", False):
            continue
        _frameworks.add(name)
        register()


# Trees carry the names alone. Were the facts among them, a function that is compiled for one batch
# would give them to the next.
def _register_with_torch() -> None:
    from torch.utils import _pytree

    def flatten(batch: Batch) -> tuple[list[Any], list[str]]:
        return list(batch.values()), list(batch.keys())

    def flatten_with_keys(batch: Batch) -> tuple[list[Any], list[str]]:
        return [(_pytree.MappingKey(name), array) for name, array in batch.items()], list(batch.keys())

    def unflatten(arrays: Iterable[Any], names: list[str]) -> Batch:
        return Batch(zip(names, arrays))

    _pytree.register_pytree_node(Batch, flatten, unflatten, serialized_type_name="ffkit.Batch", flatten_with_keys_fn=flatten_with_keys)


def _register_with_jax() -> None:
    from jax import tree_util

    def flatten(batch: Batch) -> tuple[list[Any], tuple[str, ...]]:
        names = tuple(sorted(batch.keys()))
        return [batch[name] for name in names], names

    def flatten_with_keys(batch: Batch) -> tuple[list[Any], tuple[str, ...]]:
        arrays, names = flatten(batch)
        return [(tree_util.DictKey(name), array) for name, array in zip(names, arrays)], names

    def unflatten(names: tuple[str, ...], arrays: Iterable[Any]) -> Batch:
        return Batch(zip(names, arrays))

    tree_util.register_pytree_with_keys(Batch, flatten_with_keys, unflatten, flatten)
