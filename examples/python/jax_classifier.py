"""A classifier of pictures in JAX: flax's network, optax's optimiser, a step that takes ffkit's
batch under jax.jit.

    python examples/python/jax_classifier.py /fast/demo      # e.g. of `ffconvert demo /fast/demo`
"""

import sys

import flax.linen as nn
import jax
import optax

import ffkit


class Network(nn.Module):
    num_classes: int

    @nn.compact
    def __call__(self, x):
        for channels in (16, 32):
            x = nn.relu(nn.Conv(channels, (3, 3), strides=2)(x))
        return nn.Dense(self.num_classes)(x.reshape(len(x), -1))


def main(data, epochs=5, batch_size=16, size=32):
    train, val = ffkit.Dataset(data, "train"), ffkit.Dataset(data, "val")
    # flax's pictures are [N, H, W, 3]; torch's tensors, the default where torch is installed, are
    # none to JAX.
    options = {"arrays": "numpy"}
    train_loader = ffkit.Loader(train, batch_size, image=ffkit.ImageOptions(ffkit.RandomResizedCrop(size, flip_probability=0.5), layout="nhwc"), **options)
    val_loader = ffkit.Loader(val, batch_size, image=ffkit.ImageOptions(ffkit.Resize((size, size)), layout="nhwc"), order="sequential", tail="exact", **options)
    network = Network(len(train.classes))
    params = network.init(jax.random.key(0), jax.numpy.zeros((1, size, size, 3)))
    optimizer = optax.adam(1e-3)
    state = optimizer.init(params)

    @jax.jit
    def step(params, state, batch):
        def loss_of(params):
            return optax.softmax_cross_entropy_with_integer_labels(network.apply(params, batch["image"]), batch["label"]).mean()

        loss, gradients = jax.value_and_grad(loss_of)(params)
        updates, state = optimizer.update(gradients, state)
        return optax.apply_updates(params, updates), state, loss

    for epoch in range(train_loader.epoch, epochs):
        losses = []
        for batch in train_loader:
            params, state, loss = step(params, state, jax.device_put(batch))
            losses.append(loss)
        right = sum(int((network.apply(params, batch["image"]).argmax(1) == batch["label"]).sum()) for batch in val_loader)
        print(f"epoch {epoch + 1}: loss {sum(map(float, losses)) / len(losses):.3f}, {right} of {len(val)} right")
    return losses, right


if __name__ == "__main__":
    main(sys.argv[1])
