"""Semantic segmentation: pictures and masks of classes that stay aligned, also when they are
cropped and mirrored at random.

    python examples/python/segmentation.py /fast/city       # records of the fields image and mask

A mask is a PNG, in grey or with a palette, whose numbers are the classes. It gets the crop, resize
and flip of its picture, and takes the nearest pixels: no class comes into being."""

import sys

import torch
import torchvision

import ffkit
import ffkit.torch

IGNORED = 255  # a class that does not count: the padding of small pictures


def training_loader(data, batch_size, size, crop=None, **options):
    crop = crop or ffkit.RandomResizedCrop(size, scale=(0.25, 1.0), flip_probability=0.5)
    fields = {"mask": ffkit.MaskField("mask", fill=IGNORED)}
    return ffkit.Loader(ffkit.Dataset(data, "train"), batch_size, image=crop, label_field=None, fields=fields, arrays="torch", **options)


def evaluation_loader(data, batch_size, size, **options):
    options = {"order": "sequential", "tail": "exact", "arrays": "torch"} | options
    return ffkit.Loader(ffkit.Dataset(data, "val"), batch_size, image=ffkit.Resize((size, size)), label_field=None, fields={"mask": ffkit.MaskField("mask")}, **options)


def main(data, num_classes=19, epochs=100, batch_size=16, size=512, network=None):
    device = "cuda" if torch.cuda.is_available() else "cpu"
    network = (network or torchvision.models.segmentation.fcn_resnet50(num_classes=num_classes)).to(device)
    optimizer = torch.optim.SGD(network.parameters(), 0.01, momentum=0.9)
    train, val = (ffkit.torch.to_device(make(data, batch_size, size), device) for make in (training_loader, evaluation_loader))
    for epoch in range(epochs):
        network.train()
        for batch in train:
            loss = torch.nn.functional.cross_entropy(network(batch["image"])["out"], batch["mask"].long(), ignore_index=IGNORED)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        network.eval()
        with torch.no_grad():
            right = sum(((network(batch["image"])["out"].argmax(1) == batch["mask"]).float().mean((1, 2))).sum().item() for batch in val)
        print(f"epoch {epoch + 1}: loss {loss.item():.3f}, {100 * right / len(val.loader.dataset):.1f} % of the pixels right")
    return loss.item(), right / len(val.loader.dataset)


if __name__ == "__main__":
    main(sys.argv[1])
