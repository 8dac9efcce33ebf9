"""TFRecord files of tf.train.Example, as both peers that read them want them; written without TensorFlow by the package tfrecord, or by TensorFlow."""
import common

NUM_SHARDS = 8


def write(pictures, folder):
    try:
        from tfrecord import TFRecordWriter
    except ImportError:
        return write_by_tensorflow(pictures, folder)
    for shard in range(NUM_SHARDS):
        writer = TFRecordWriter(str(folder / name(shard)))
        for path, label in pictures[shard::NUM_SHARDS]:
            writer.write({"image/encoded": (path.read_bytes(), "byte"), "image/class/label": (label, "int")})
        writer.close()


def write_by_tensorflow(pictures, folder):
    import tensorflow as tf
    for shard in range(NUM_SHARDS):
        with tf.io.TFRecordWriter(str(folder / name(shard))) as writer:
            for path, label in pictures[shard::NUM_SHARDS]:
                feature = {"image/encoded": tf.train.Feature(bytes_list=tf.train.BytesList(value=[path.read_bytes()])),
                           "image/class/label": tf.train.Feature(int64_list=tf.train.Int64List(value=[label]))}
                writer.write(tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString())


def name(shard):
    return f"train-{shard:05}-of-{NUM_SHARDS:05}"


def made(options):
    return common.made(options.work / "tfrecord", lambda folder: write(common.pictures(options.folder), folder))
