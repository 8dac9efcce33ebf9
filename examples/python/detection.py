"""Detection with large-scale jitter: boxes that follow the resize, crop and flip of their picture,
as many as each picture has.

    ffconvert coco /data/coco /fast/coco
    python examples/python/detection.py /fast/coco

Boxes of which less than three tenths are in the crop are dropped, with their labels. A box without
area, of which COCO has one, makes a bad sample, which is replaced."""

import sys

import torch
import torchvision

import ffkit
import ffkit.torch


def make_loader(data, batch_size, size, split="train2017", **options):
    boxes = ffkit.BoxesField("boxes", stored="xywh", format="xyxy", min_visible=0.3, max_boxes=1000)
    fields = {"boxes": boxes, "labels": ffkit.BoxRowsField("labels"), "iscrowd": ffkit.BoxRowsField("iscrowd")}
    jitter = ffkit.Compose([ffkit.ScaleJitter(size), ffkit.FixedSizeCrop(size, fill=(124, 116, 104)), ffkit.RandomHorizontalFlip()])
    return ffkit.Loader(ffkit.Dataset(data, split), batch_size, image=ffkit.ImageOptions(jitter, normalize=False), label_field=None, fields=fields, bad_samples="skip", arrays="torch", **options)


def targets_of(batch):
    """What torchvision's detectors take, without crowds. Class 0 is their background."""
    offsets = batch.row_offsets("boxes")
    for begin, end in zip(offsets, offsets[1:]):
        is_one = batch["iscrowd"][begin:end] == 0
        yield {"boxes": batch["boxes"][begin:end][is_one], "labels": batch["labels"][begin:end][is_one].long() + 1}


def main(data, split="train2017", num_classes=91, epochs=26, batch_size=4, size=640, network=None):
    device = "cuda" if torch.cuda.is_available() else "cpu"
    network = (network or torchvision.models.detection.fasterrcnn_resnet50_fpn(num_classes=num_classes, min_size=size)).to(device).train()
    optimizer = torch.optim.SGD(network.parameters(), 0.005, momentum=0.9)
    loader = make_loader(data, batch_size, size, split)
    for epoch in range(epochs):
        for batch in ffkit.torch.to_device(loader, device):
            losses = network(list(batch["image"]), list(targets_of(batch)))
            loss = sum(losses.values())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch + 1}: loss {loss.item():.3f}")
    return loss.item()


if __name__ == "__main__":
    main(sys.argv[1])
