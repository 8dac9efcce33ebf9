"""Without torch: the mean and standard deviation of a data set's pixels, and a linear classifier of
edges, by numpy alone.

    python examples/python/numpy_classifier.py /fast/demo      # e.g. of `ffconvert demo /fast/demo`

The batches come as objects with __dlpack__, which jax.dlpack.from_dlpack and cupy.from_dlpack take
as numpy.from_dlpack does here, without a copy."""

import argparse

import numpy

import ffkit


def pixel_statistics(dataset, size):
    """Mean and standard deviation of each channel, 0 .. 1, for ImageOptions."""
    loader = ffkit.Loader(dataset, 64, image=ffkit.ImageOptions(ffkit.Resize((size, size)), dtype="u8", layout="nhwc"), order="sequential", tail="exact", arrays="numpy")
    count, total, squares = 0, numpy.zeros(3), numpy.zeros(3)
    for batch in loader:
        pixels = batch["image"].reshape(-1, 3) / 255  # batch["image"] is a view, u8 [N, H, W, 3]
        count += len(pixels)
        total += pixels.sum(0)
        squares += (pixels**2).sum(0)
    mean = total / count
    return mean, numpy.sqrt(squares / count - mean**2)


def features(images):
    """[N, 3, H, W] f32 -> [N, 73]: how strong edges of 8 directions are in each of 3 x 3 parts of
    the picture, and a one."""
    grey = images.mean(1)
    across, down = grey[:, 1:-1, 2:] - grey[:, 1:-1, :-2], grey[:, 2:, 1:-1] - grey[:, :-2, 1:-1]
    strength = numpy.hypot(across, down)
    direction = ((numpy.arctan2(down, across) / numpy.pi % 1) * 8).astype(int) % 8
    found = [strength * (direction == d) for d in range(8)]
    parts = [part for one in found for rows in numpy.array_split(one, 3, 1) for part in numpy.array_split(rows, 3, 2)]
    histogram = numpy.stack([part.sum((1, 2)) for part in parts], 1)
    histogram /= numpy.linalg.norm(histogram, axis=1, keepdims=True) + 1e-6
    return numpy.c_[histogram, numpy.ones(len(histogram))]


def arrays(batch):
    """Features and labels of a batch, as views of the loader's memory."""
    return features(numpy.from_dlpack(batch["image"])), numpy.from_dlpack(batch["label"])


def main(arguments=None):
    parser = argparse.ArgumentParser(description="A linear classifier of pictures, by numpy.")
    parser.add_argument("data", help="folder with the splits train and val")
    parser.add_argument("--size", type=int, default=32, help="pictures become squares of so many pixels")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--lr", type=float, default=2.0)
    args = parser.parse_args(arguments)

    train, val = ffkit.Dataset(args.data, "train"), ffkit.Dataset(args.data, "val")
    mean, std = pixel_statistics(train, args.size)
    print("mean", mean.round(4), "std", std.round(4))

    options = {"image": ffkit.ImageOptions(ffkit.Resize((args.size, args.size)), mean=tuple(mean), std=tuple(std)), "tail": "exact", "arrays": "dlpack"}
    loader = ffkit.Loader(train, 32, **options)
    weights = numpy.zeros((73, len(train.classes)))
    for _ in range(args.epochs):
        for batch in loader:
            x, labels = arrays(batch)
            logits = x @ weights
            probabilities = numpy.exp(logits - logits.max(1, keepdims=True))
            probabilities /= probabilities.sum(1, keepdims=True)
            probabilities[numpy.arange(len(labels)), labels] -= 1  # the gradient of the cross entropy
            weights -= args.lr / len(labels) * x.T @ probabilities

    right = 0
    for batch in ffkit.Loader(val, 32, order="sequential", **options):
        x, labels = arrays(batch)
        right += int(((x @ weights).argmax(1) == labels).sum())
    print(f"{right} of {len(val)} right")
    return right, mean, std


if __name__ == "__main__":
    main()
