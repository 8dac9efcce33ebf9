#!/usr/bin/env python3
"""NVIDIA DALI on the CPU: decodes the region of the crop only."""
from nvidia.dali import fn, pipeline_def, types

import common

options = common.parse(__doc__)


@pipeline_def(batch_size=options.batch_size, num_threads=options.num_threads, device_id=None, prefetch_queue_depth=3)
def pipeline():
    data, labels = fn.readers.file(file_root=str(options.folder), random_shuffle=True, name="reader")
    if options.eval:
        images = fn.decoders.image(data, device="cpu", output_type=types.RGB)
        images = fn.resize(images, resize_shorter=options.size * 8 // 7, interp_type=types.INTERP_TRIANGULAR, antialias=True)
        mirror = 0
    else:
        images = fn.decoders.image_random_crop(data, device="cpu", output_type=types.RGB, random_area=[0.08, 1.0],
                                               random_aspect_ratio=[3 / 4, 4 / 3])
        images = fn.resize(images, size=[options.size, options.size], interp_type=types.INTERP_TRIANGULAR, antialias=True)
        mirror = fn.random.coin_flip()
    images = fn.crop_mirror_normalize(images, crop=(options.size, options.size), dtype=types.FLOAT, output_layout="CHW", mirror=mirror,
                                      mean=[255 * m for m in common.MEAN], std=[255 * s for s in common.STD])
    return images, labels


def sizes():
    pipe = pipeline()
    pipe.build()
    while True:
        images, _ = pipe.run()
        yield len(images)


common.measure("NVIDIA DALI, CPU", "nvidia-dali-cuda120", sizes(), options, len(common.pictures(options.folder)))
