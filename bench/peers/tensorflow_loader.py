#!/usr/bin/env python3
"""tf.data: TFRecord files, shuffled in a buffer, decoded and cropped by TensorFlow's operations with its crop of ResNet's training."""
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import tensorflow as tf

import common
import tf_records

options = common.parse(__doc__)
FEATURES = {"image/encoded": tf.io.FixedLenFeature([], tf.string), "image/class/label": tf.io.FixedLenFeature([], tf.int64)}


def decoded(record):
    row = tf.io.parse_single_example(record, FEATURES)
    data = row["image/encoded"]
    whole = tf.zeros([1, 0, 4])
    begin, size, _ = tf.image.sample_distorted_bounding_box(tf.io.extract_jpeg_shape(data), whole, aspect_ratio_range=(3 / 4, 4 / 3), area_range=(0.08, 1.0), max_attempts=10,
                                                            use_image_if_no_bounding_boxes=True)
    window = tf.stack([begin[0], begin[1], size[0], size[1]])
    image = tf.image.resize(tf.image.decode_and_crop_jpeg(data, window, channels=3), [options.size, options.size])
    image = tf.image.random_flip_left_right(image) / 255.0
    return tf.transpose((image - common.MEAN) / common.STD, [2, 0, 1]), row["image/class/label"]


def main():
    folder = tf_records.made(options)
    files = [str(folder / tf_records.name(shard)) for shard in range(tf_records.NUM_SHARDS)]
    dataset = tf.data.Dataset.from_tensor_slices(files).interleave(tf.data.TFRecordDataset, cycle_length=2).shuffle(200).repeat()
    dataset = dataset.map(decoded, num_parallel_calls=options.num_threads, deterministic=False).batch(options.batch_size, drop_remainder=True).prefetch(2)
    threads = tf.data.Options()
    threads.threading.private_threadpool_size = options.num_threads
    sizes = (images.shape[0] for images, _ in dataset.with_options(threads))
    common.measure("tf.data", "tensorflow-cpu", sizes, options, len(common.pictures(options.folder)))


main()
