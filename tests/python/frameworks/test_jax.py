"""Batches in JAX: device_put, jit and trees of a Batch, a loop of flax and optax against the same loop over numpy's copies."""
import importlib.util
import pathlib

import jax
import jax.numpy as jnp
import numpy
import optax
import pytest

import conftest
import ffkit
from conftest import by_topic

EXAMPLES = pathlib.Path(__file__).parents[3] / "examples" / "python"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pictures") / "demo"
    conftest.convert("demo", folder, "--classes", 4, "--images", 61, "--val-images", 21, "--size", 32, "--quiet")
    return folder


@pytest.fixture
def dataset(data):
    return ffkit.Dataset(data, "train")


def make_loader(dataset, **options):
    return ffkit.Loader(dataset, 8, **by_topic(**{"image": ffkit.Resize((64, 64)), "layout": "nhwc", "num_threads": 1, "arrays": "numpy"} | options))


def test_trees(dataset):
    batch = next(iter(make_loader(dataset)))
    leaves, structure = jax.tree.flatten(batch)
    assert len(leaves) == 2
    again = jax.tree.unflatten(structure, leaves)
    assert type(again) is ffkit.Batch and again["image"] is batch["image"]
    doubled = jax.tree.map(lambda array: array * 2, batch)
    assert type(doubled) is ffkit.Batch and numpy.array_equal(doubled["label"], batch["label"] * 2)
    assert not hasattr(doubled, "epoch")
    paths = [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path(batch)]
    assert paths == ["['image']", "['label']"]


def test_jit_compiles_once(dataset):
    calls = []

    @jax.jit
    def mean(batch):
        calls.append(1)
        return batch["image"].mean() + batch["label"].sum()

    found = [float(mean(batch)) for batch in make_loader(dataset)]
    want = [float(batch["image"].astype("f8").mean() + batch["label"].sum()) for batch in make_loader(dataset)]
    assert numpy.allclose(found, want, atol=1e-4) and len(calls) == 1


@pytest.mark.parametrize("arrays", ["numpy", "dlpack"])
def test_what_is_on_the_device_stays(dataset, arrays):
    """device_put of a view: all batches of an epoch are kept, and none changes when the loader uses its memory again."""
    kept = []
    for batch in make_loader(dataset, arrays=arrays, held_batches=8):
        put = batch if arrays == "numpy" else {name: jax.dlpack.from_dlpack(array) for name, array in batch.items()}
        kept.append((jax.device_put(put, jax.devices()[0]), batch.record_indices.copy()))
        del batch, put
    want = make_loader(dataset, copy=True)
    for (arrays_on_device, indices), batch in zip(kept, want, strict=True):
        assert numpy.array_equal(indices, batch.record_indices)
        assert numpy.array_equal(arrays_on_device["image"], batch["image"]) and numpy.array_equal(arrays_on_device["label"], batch["label"])


def test_vmap_grad_and_scan(dataset):
    batch = next(iter(make_loader(dataset)))
    sums = jax.vmap(lambda sample: sample["image"].sum() + sample["label"])(batch)
    assert numpy.allclose(sums, batch["image"].sum((1, 2, 3)) + batch["label"], rtol=1e-3)
    gradient = jax.grad(lambda batch: (batch["image"] ** 2).sum(), allow_int=True)(batch)
    assert numpy.allclose(gradient["image"], 2 * batch["image"])
    _, means = jax.lax.scan(lambda carry, sample: (carry, sample["image"].mean()), 0, jax.device_put(batch))
    assert means.shape == (8,)


def test_orbax_keeps_the_state(dataset, tmp_path):
    checkpoint = pytest.importorskip("orbax.checkpoint")
    loader = make_loader(dataset)
    batches = iter(loader)
    next(batches)
    with checkpoint.CheckpointManager(tmp_path / "run") as manager:
        manager.save(1, args=checkpoint.args.Composite(loader=checkpoint.args.JsonSave(loader.state_dict())))
        manager.wait_until_finished()
        state = manager.restore(1, args=checkpoint.args.Composite(loader=checkpoint.args.JsonRestore()))["loader"]
    resumed = make_loader(dataset)
    resumed.load_state_dict(state)
    assert [batch["label"].tolist() for batch in resumed] == [batch["label"].tolist() for batch in batches]


def test_sharded_over_devices(dataset):
    """As in JAX's guide to data parallelism, over the devices that are there."""
    mesh = jax.sharding.Mesh(numpy.array(jax.devices()), ("batch",))
    sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("batch"))
    batch = next(iter(make_loader(dataset)))
    placed = jax.device_put(batch, sharding)
    assert type(placed) is ffkit.Batch and placed["image"].sharding == sharding
    assert numpy.array_equal(placed["label"], batch["label"])


def linear_loop(batches):
    """optax over a linear classifier; its losses."""
    weights = jnp.zeros((64 * 64 * 3, 4))
    optimizer = optax.sgd(1e-4, momentum=0.9)
    state = optimizer.init(weights)

    @jax.jit
    def step(weights, state, batch):
        def loss_of(weights):
            return optax.softmax_cross_entropy_with_integer_labels(batch["image"].reshape(8, -1) @ weights, batch["label"]).mean()

        loss, gradient = jax.value_and_grad(loss_of)(weights)
        updates, state = optimizer.update(gradient, state)
        return optax.apply_updates(weights, updates), state, loss

    losses = []
    for batch in batches:
        weights, state, loss = step(weights, state, jax.device_put(batch))
        losses.append(loss)
    return [float(loss) for loss in losses]


def test_losses_are_those_over_copies(dataset):
    loader = make_loader(dataset, copy=True)
    ours = [loss for _ in range(3) for loss in linear_loop(loader)]
    copies = make_loader(dataset, copy=True)
    theirs = [loss for _ in range(3) for loss in linear_loop([{name: array.copy() for name, array in batch.items()} for batch in copies])]
    assert ours == theirs and len(ours) == 3 * 7


def test_steps_that_run_behind_the_loop(dataset):
    """JAX keeps the batches of steps that it has not computed yet; all are in flight here at once."""
    @jax.jit
    def slow(batch):
        x = batch["image"].reshape(8, -1)[:, :1000]
        for _ in range(60):
            x = jnp.tanh(x @ jnp.full((1000, 1000), 1e-3))
        return x.sum() + batch["image"].mean()

    def options(**more):
        return make_loader(dataset, image=ffkit.Resize((96, 96)), **more)  # 880 kB a batch: no copy by itself

    slow(next(iter(options()))).block_until_ready()
    want = [float(slow(batch)) for batch in options(copy=True)]
    for more in ({}, {"copy": True}):
        found = [slow(jax.device_put(batch)) for batch in options(**more)]
        assert [float(one) for one in found] == want and len(want) == 7


def test_example(tmp_path, capsys):
    conftest.convert("demo", tmp_path / "demo", "--classes", 4, "--images", 160, "--val-images", 40, "--size", 48, "--quiet")
    spec = importlib.util.spec_from_file_location("jax_classifier", EXAMPLES / "jax_classifier.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    losses, right = module.main(tmp_path / "demo", epochs=4)
    assert len(losses) == 10 and right > 15  # 10 are chance
    assert capsys.readouterr().out.count("\n") == 4
