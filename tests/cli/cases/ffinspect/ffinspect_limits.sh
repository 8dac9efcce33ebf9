# What verify called whole although no other command takes it, and records that are refused for
# their length.
check python3 - <<'END'
import os, pickle, struct, zlib
os.makedirs("dst/train.ffr")
records = [pickle.dumps((b"\xff\xd8\xff" + bytes(n), n % 3), protocol=4) for n in (10, 400, 20)]
offset = 12 + 12 * len(records)
offsets = []
for record in records:
    offsets.append(offset)
    offset += len(record)
header = struct.pack("<q3I3q", len(records), *map(zlib.crc32, records), *offsets)
with open("dst/train.ffr/PART_00000.ffr", "wb") as file:
    file.write(struct.pack("<I", zlib.crc32(header)) + header + b"".join(records))
with open("dst/meta.pkl", "wb") as file:
    pickle.dump({"classes": ["a", "b", "c"], "class_to_idx": {}, "targets": [1, 1, 2]}, file)
END
run 0 "$FFINSPECT" verify dst
out 'train.ffr: whole: 3 records, 1 shard, '

# A meta.pkl that cannot be read.
cp dst/meta.pkl meta.pkl
printf 'nonsense' >dst/meta.pkl
run 1 "$FFINSPECT" info dst
one_line_err 'meta.pkl: '
run 1 "$FFINSPECT" verify dst
out 'dst/meta.pkl: the pickle '
out 'DAMAGED: 0 of 3 records, and 1 problem outside of the records$'
run 1 "$FFINSPECT" verify dst --json
json '[(p["file"].endswith("dst/meta.pkl"), p["record"]) for p in d["splits"][0]["problems"]] == [(True, None)]'
cp meta.pkl dst/meta.pkl

# A limit that is lower than a record: one sentence with file and record.
run 0 "$FFINSPECT" cat dst 1 --split train --max-record 1k
run 1 "$FFINSPECT" cat dst 1 --split train --max-record 100
one_line_err 'PART_00000.ffr: record 1: offset [0-9]+: the record has [0-9]+ bytes, more than the limit of 100 bytes \(--max-record\); raise the limit'
run 0 "$FFINSPECT" cat dst 0 --split train --max-record 100
run 1 "$FFINSPECT" verify dst --max-record 100
out 'PART_00000.ffr: record 1: .*more than the limit of 100 '
# A record that claims 100 GiB, and a header of 1.5 TiB: refused by the limits, without one for want
# of memory or at once.
truncate -s 100G dst/train.ffr/PART_00000.ffr
run 1 "$FFINSPECT" cat dst 2 --split train
one_line_err 'record 2: .*the record has 107374[0-9]+ bytes, more than the limit of 268435456 '
check python3 - <<'END'
import struct
with open("header.ffr", "wb") as file:
    file.write(struct.pack("<Iq", 0, 1 << 37))
    file.truncate(12 + (12 << 37))
END
run 1 "$FFINSPECT" info header.ffr
one_line_err 'header.ffr: the header for 137438953472 records has 1649267441676 bytes, more than the limit of 1073741824 '
