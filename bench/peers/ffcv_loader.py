#!/usr/bin/env python3
"""FFCV: pictures at no more than 400 pixels as JPEGs of quality 90 in its own file, uint8 batches, which is what it is fastest at; with
--float32 normalised on the CPU; with --half-raw at no more than 500 pixels, half of them as pixels, as its authors train. Building it needs
OpenCV and libturbojpeg (Debian packages libopencv-dev, libturbojpeg0-dev)."""
import numpy
import torch
from ffcv.fields import IntField, RGBImageField
from ffcv.fields.decoders import IntDecoder, RandomResizedCropRGBImageDecoder
from ffcv.loader import Loader, OrderOption
from ffcv.transforms import NormalizeImage, RandomHorizontalFlip, ToTensor, ToTorchImage
from ffcv.writer import DatasetWriter
from torch.utils.data import ConcatDataset
from torchvision.datasets import ImageFolder

import common

options = common.parse(__doc__, float32="normalised on the CPU, as the others; default: uint8",
                       half_raw="no more than 500 pixels, every other picture raw")


def write(folder):
    picture = {"write_mode": "proportion", "max_resolution": 500, "compress_probability": 0.5} if options.half_raw else {
        "write_mode": "jpg", "max_resolution": 400}
    writer = DatasetWriter(str(folder / "train.beton"), {"image": RGBImageField(**picture, jpeg_quality=90),
                                                         "label": IntField()}, num_workers=options.num_threads)
    # Ten times: its threads begin anew with each epoch, and few pictures would show that alone.
    writer.from_indexed_dataset(ConcatDataset([ImageFolder(options.folder)] * 10))


def sizes(file):
    image = [RandomResizedCropRGBImageDecoder((options.size, options.size)), RandomHorizontalFlip()]
    if options.float32:
        image.append(NormalizeImage(numpy.array(common.MEAN) * 255, numpy.array(common.STD) * 255, numpy.float32))
    loader = Loader(str(file), batch_size=options.batch_size, num_workers=options.num_threads, order=OrderOption.RANDOM, os_cache=True, drop_last=True,
                    pipelines={"image": [*image, ToTensor(), ToTorchImage()], "label": [IntDecoder(), ToTensor()]})
    while True:
        for images, _ in loader:
            yield images.shape[0]


torch.set_num_threads(1)
file = common.made(options.work / ("ffcv-half-raw" if options.half_raw else "ffcv"), write) / "train.beton"
common.measure(f"FFCV, {'float32' if options.float32 else 'uint8'}", "ffcv", sizes(file), options, len(common.pictures(options.folder)))
