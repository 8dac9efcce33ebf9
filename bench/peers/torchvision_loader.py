#!/usr/bin/env python3
"""Images per second of torchvision's ImageFolder + DataLoader: RandomResizedCrop, flip, normalise to float32.

The peer of loader_bench: same pictures, same transforms, same number of workers. The first pass over the folder is left out
(it fills the page cache and starts the workers), as loader_bench does.

    torchvision_loader.py FOLDER [--workers 2] [--batch-size 64] [--epochs 5] [--size 224]
"""
import argparse
import time

import torch
from torchvision import datasets, transforms


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", help="class/image tree")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--size", type=int, default=224)
    options = parser.parse_args()

    dataset = datasets.ImageFolder(
        options.folder,
        transforms.Compose([
            transforms.RandomResizedCrop(options.size),
            transforms.RandomHorizontalFlip(),
            transforms.ToTensor(),
            transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
        ]))
    # One long epoch instead of several: DataLoader stalls between epochs, which is not what is compared here.
    indices = [i for _ in range(options.epochs + 1) for i in torch.randperm(len(dataset)).tolist()]
    loader = torch.utils.data.DataLoader(
        torch.utils.data.Subset(dataset, indices), batch_size=options.batch_size, num_workers=options.workers,
        drop_last=True, prefetch_factor=3)
    torch.set_num_threads(1)

    num_images = 0
    start = None
    for images, _ in loader:
        if start is None and num_images >= len(dataset):
            start, num_images = time.perf_counter(), 0
        num_images += images.shape[0]
    seconds = time.perf_counter() - start
    print(f"torchvision ImageFolder + DataLoader: {num_images / seconds:.0f} img/s "
          f"({options.workers} workers, {num_images} images, {seconds:.1f} s)")


if __name__ == "__main__":
    main()
