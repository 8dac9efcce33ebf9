"""DETR's batches: pictures of many sizes that keep their aspect ratio, padded to the largest of
each batch, with a mask of their pixels; boxes as shares of their picture.

    ffconvert coco /data/coco /fast/coco
    python examples/python/detr.py /fast/coco

Pictures of a like shape share a batch, so that little is padding. DETR's paper crops half of the
pictures as well; this is its recipe without that."""

import sys

import torch

import ffkit
import ffkit.torch


def make_loader(data, batch_size, split="train2017", sizes=range(480, 801, 32), max_size=1333, **options):
    dataset = ffkit.Dataset(data, split)
    steps = [ffkit.RandomHorizontalFlip(), ffkit.RandomShortestSize(sizes, max_size), ffkit.PadToLargest(-(-max_size // 32) * 32, multiple=32)]
    boxes = ffkit.BoxesField(format="cxcywh", relative=True, max_boxes=1000)
    fields = {"pixel_mask": ffkit.PixelMaskField(), "boxes": boxes, "labels": ffkit.BoxRowsField("labels"), "iscrowd": ffkit.BoxRowsField("iscrowd")}
    buckets = ffkit.aspect_ratio_buckets(dataset.column("width"), dataset.column("height"))
    return ffkit.Loader(dataset, batch_size, image=ffkit.Compose(steps), label_field=None, fields=fields, order=ffkit.Order(buckets=buckets), bad_samples="skip", arrays="torch", **options)


def labels_of(batch):
    """What Transformers' DETR takes, without crowds."""
    offsets = batch.row_offsets("boxes")
    for begin, end in zip(offsets, offsets[1:]):
        is_one = batch["iscrowd"][begin:end] == 0
        yield {"boxes": batch["boxes"][begin:end][is_one], "class_labels": batch["labels"][begin:end][is_one].long()}


def main(data, split="train2017", epochs=300, batch_size=4, network=None, **options):
    if network is None:
        import transformers

        network = transformers.DetrForObjectDetection.from_pretrained("facebook/detr-resnet-50")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    network = network.to(device).train()
    optimizer = torch.optim.AdamW(network.parameters(), 1e-4, weight_decay=1e-4)
    loader = make_loader(data, batch_size, split, **options)
    for epoch in range(epochs):
        for batch in ffkit.torch.to_device(loader, device):
            loss = network(pixel_values=batch["image"], pixel_mask=batch["pixel_mask"], labels=list(labels_of(batch))).loss
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), 0.1)
            optimizer.step()
        print(f"epoch {epoch + 1}: loss {loss.item():.3f}")
    return loss.item()


if __name__ == "__main__":
    main(sys.argv[1])
