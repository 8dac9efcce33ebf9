"""Detection: boxes in the pixels of the resized picture, as many as each picture has.

    ffconvert coco /data/coco /fast/coco
    python examples/python/detection.py /fast/coco

Pictures are resized as a whole, so that boxes can follow. A random crop or flip is not known to a PythonField: mirror pictures and boxes in the loop, as `mirrored` does.
"""

import sys

import numpy
import torch
import torchvision

import ffkit
import ffkit.torch


def make_loader(data, batch_size, size, split="train2017", **options):
    def targets(values, key):  # [boxes, 5]: left, top, right, bottom, class
        x, y, width, height = values["boxes"].T
        boxes = numpy.stack([x, y, x + width, y + height], 1) * size / numpy.tile([values["width"], values["height"]], 2)
        rows = numpy.c_[boxes, values["labels"] + 1]  # 0 is torchvision's background
        return rows[(values["iscrowd"] == 0) & (width > 0) & (height > 0)]

    inputs = ["boxes", "labels", "iscrowd", "width", "height"]
    fields = {"targets": ffkit.PythonField(targets, "f32", shape=[5], inputs=inputs, max_rows=1000)}
    return ffkit.Loader(ffkit.Dataset(data, split), batch_size, image=ffkit.Resize(size), normalize=False, label_field=None, fields=fields, arrays="torch", **options)


def mirrored(images, rows, size):
    """Half of the pictures, with their boxes."""
    for i in numpy.flatnonzero(numpy.random.random(len(images)) < 0.5):
        images[i] = images[i].flip(-1)
        rows[i] = torch.stack([size - rows[i][:, 2], rows[i][:, 1], size - rows[i][:, 0], *rows[i].T[3:]], 1)
    return images, rows


def main(data, split="train2017", num_classes=91, epochs=26, batch_size=4, size=640, network=None):
    device = "cuda" if torch.cuda.is_available() else "cpu"
    network = (network or torchvision.models.detection.fasterrcnn_resnet50_fpn(num_classes=num_classes, min_size=size)).to(device).train()
    optimizer = torch.optim.SGD(network.parameters(), 0.005, momentum=0.9)
    loader = make_loader(data, batch_size, size, split)
    for epoch in range(epochs):
        for batch in ffkit.torch.to_device(loader, device):
            offsets = batch.row_offsets("targets")
            rows = [batch["targets"][begin:end] for begin, end in zip(offsets, offsets[1:])]
            images, rows = mirrored(batch["image"], rows, size)
            losses = network(list(images), [{"boxes": row[:, :4], "labels": row[:, 4].long()} for row in rows])
            loss = sum(losses.values())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch + 1}: loss {loss.item():.3f}")
    return loss.item()


if __name__ == "__main__":
    main(sys.argv[1])
