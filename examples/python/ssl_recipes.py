"""The views of SimCLR, MoCo v2 and DINO: crops, order, probabilities and strengths are those of the
papers' code.

    python examples/python/ssl_recipes.py dino /fast/imagenet

A picture is read and decoded once for all of its views, and each view draws numbers of its own."""

import sys

import ffkit


def view(size, scale, jitter, *after, interpolation="bilinear"):
    """A crop with a flip, colours (0.8), grey (0.2), and what comes after. Only blurs and
    solarisation differ between the recipes."""
    crop = ffkit.RandomResizedCrop(size, scale, interpolation=interpolation, flip_probability=0.5)
    return ffkit.ImageOptions(crop, augment=[ffkit.Apply(0.8, ffkit.ColorJitter(*jitter)), ffkit.RandomGrayscale(0.2), *after])


def simclr(size=224):
    # torchvision's blur, whose kernel is a tenth of the size. The paper's strength of colours is 1.
    blur = ffkit.Apply(0.5, ffkit.GaussianBlur(size // 20 * 2 + 1, (0.1, 2.0)))
    return {"views": (view(size, (0.08, 1.0), (0.8, 0.8, 0.8, 0.2), blur), 2)}


def moco_v2(size=224):
    return {"views": (view(size, (0.2, 1.0), (0.4, 0.4, 0.4, 0.1), ffkit.Apply(0.5, ffkit.GaussianBlur(sigma=(0.1, 2.0)))), 2)}


def dino(size=224, local_size=96, num_local=8):
    def dino_view(size, scale, blur, *after):
        return view(size, scale, (0.4, 0.4, 0.2, 0.1), ffkit.Apply(blur, ffkit.GaussianBlur(sigma=(0.1, 2.0))), *after, interpolation="bicubic")

    return {
        "global_1": dino_view(size, (0.4, 1.0), 1.0),
        "global_2": dino_view(size, (0.4, 1.0), 0.1, ffkit.RandomSolarize(128, 0.2)),
        "local": (dino_view(local_size, (0.05, 0.4), 0.5), num_local),
    }


def main(recipe, data, batch_size=256):
    views = {"simclr": simclr, "moco_v2": moco_v2, "dino": dino}[recipe]()
    loader = ffkit.Loader(ffkit.Dataset(data, "train"), batch_size, views=views, label_field=None)
    for batch in loader:
        print({name: array.shape for name, array in batch.items()})
    return loader


if __name__ == "__main__":
    main(*sys.argv[1:])
