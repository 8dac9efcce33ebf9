#!/usr/bin/env python3
"""SPDL: a pipeline of threads without the GIL; FFmpeg decodes, crops, resizes and flips in one filter graph. Needs FFmpeg's libraries
(Debian packages libavcodec59, libavdevice59, libavfilter8, libavformat59)."""
import math
import random

import spdl.io
import torch
from spdl.pipeline import PipelineBuilder

import common

options = common.parse(__doc__)
size = options.size
mean = torch.tensor(common.MEAN).view(1, 3, 1, 1) * 255
factor = 1 / (torch.tensor(common.STD).view(1, 3, 1, 1) * 255)


def random_crop(width, height):
    """torchvision's RandomResizedCrop.get_params: width, height, left, top."""
    for _ in range(10):
        area = width * height * random.uniform(0.08, 1.0)
        ratio = math.exp(random.uniform(math.log(3 / 4), math.log(4 / 3)))
        w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < w <= width and 0 < h <= height:
            return w, h, random.randint(0, width - w), random.randint(0, height - h)
    side = min(width, height)
    return side, side, (width - side) // 2, (height - side) // 2


def decode(path):
    packets = spdl.io.demux_image(path)
    if options.eval:
        short = size * 8 // 7
        width, height = packets.width, packets.height
        scale = f"{short}:-1" if width < height else f"-1:{short}"
        geometry = f"scale={scale}:flags=bilinear,crop={size}:{size}"
    else:
        w, h, left, top = random_crop(packets.width, packets.height)
        flip = ",hflip" if random.random() < 0.5 else ""
        geometry = f"crop={w}:{h}:{left}:{top},scale={size}:{size}:flags=bilinear{flip}"
    return spdl.io.decode_packets(packets, filter_desc=f"{geometry},format=pix_fmts=rgb24")


def to_batch(frames):
    pixels = spdl.io.to_torch(spdl.io.convert_frames(frames))
    return pixels.permute(0, 3, 1, 2).to(torch.float32, memory_format=torch.contiguous_format).sub_(mean).mul_(factor)


def paths(files):
    while True:
        random.shuffle(files)
        yield from files


def sizes(files):
    torch.set_num_threads(1)
    pipeline = (PipelineBuilder().add_source(paths(files)).pipe(decode, concurrency=options.num_threads).aggregate(options.batch_size)
                .pipe(to_batch).add_sink(3).build(num_threads=options.num_threads))
    with pipeline.auto_stop():
        for batch in pipeline:
            yield batch.shape[0]


files = [str(path) for path, _ in common.pictures(options.folder)]
common.measure("SPDL", "spdl", sizes(files), options, len(files))
