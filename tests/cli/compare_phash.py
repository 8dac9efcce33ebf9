"""Compares the picture hashes of a data set's side file with imagehash.phash().

    compare_phash.py DATA/SPLIT HASHES.hashes FFINSPECT MAX_BITS MAX_MEAN

Prints how many pictures differ in how many bits; exit status 1 when one differs in more than MAX_BITS, or all
in more than MAX_MEAN on average. inspect/duplicates/hash_file.h has the format.
"""
import collections
import io
import struct
import subprocess
import sys

import imagehash
from PIL import Image

split, file, ffinspect, max_bits, max_mean = sys.argv[1:]
data = open(file, "rb").read()
assert data[:8] == b"FFKHASH1"
num_records, in_piece = struct.unpack_from("<q", data, 16)[0], struct.unpack_from("<I", data, 48)[0]
counts = collections.Counter()
for record in range(num_records):
    piece, place = divmod(record, in_piece)
    ours, state = struct.unpack_from("<Q16xB", data, 64 + piece * (in_piece * 32 + 8) + place * 32)
    picture = subprocess.run([ffinspect, "cat", split, str(record), "--field", "image"], check=True, capture_output=True).stdout
    theirs = int(str(imagehash.phash(Image.open(io.BytesIO(picture)))), 16)
    assert state == 1, f"record {record} has state {state}"
    counts[(ours ^ theirs).bit_count()] += 1
mean = sum(bits * count for bits, count in counts.items()) / num_records
print(f"{num_records} pictures; bits that differ: {dict(sorted(counts.items()))}, on average {mean:.2f}")
sys.exit(max(counts) > int(max_bits) or mean > float(max_mean))
