"""Files of other libraries, written as they write them, without them."""
import struct


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def varint(value):
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def field(number, value):
    return varint(number << 3 | 2) + varint(len(value)) + value


def tfrecord(picture, label):
    """A TFRecord file of one tf.train.Example."""
    def feature(name, kind, value):
        return field(1, field(1, name) + field(2, field(kind, field(1, value))))

    def masked(data):
        crc = crc32c(data)
        return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)

    example = field(1, feature(b"image/encoded", 1, picture) + feature(b"image/class/label", 3, varint(label)))
    length = struct.pack("<Q", len(example))
    return length + masked(length) + example + masked(example)
