# Pictures that cannot be decoded, under checksums that are right: verify --pictures finds them, and
# nothing half-written stays of the others.
pictures src/train/cat 5
echo cat >classes.txt  # one class alone is an error otherwise
run 0 "$FFCONVERT" folder --classes classes.txt src whole --order sequential --store dct --quiet
run 0 "$FFINSPECT" verify whole --pictures
out '^whole/train: whole: 5 records, 1 shard, .*; 5 pictures decoded, 5 in the dct code give their JPEG again$'
run 0 "$FFINSPECT" view whole --count 4 --output sheet.png
# Record 1: a dct code whose index goes back; 2: a JPEG that is cut; 3: a dct code that is whole, as
# a file.
python3 - <<'PYTHON'
import struct
shard = open("whole/train/shard-00000.ffr", "rb").read()
at = -1
codes = []
while (at := shard.find(b"\x93FFDCT", at + 1)) >= 0:
    codes.append(bytearray(shard[at:at + struct.unpack_from("<I", shard, at + 8)[0]]))
assert len(codes) == 5
head, tail = struct.unpack_from("<II", codes[1], 12)
index = 28 + 19 * codes[1][24] + head + tail
codes[1][index:index + 4] = b"\xff\xff\xff\x7f"
open("src/train/cat/0001.jpg", "wb").write(codes[1])
jpeg = open("src/train/cat/0002.jpg", "rb").read()
open("src/train/cat/0002.jpg", "wb").write(jpeg[:-30])
open("src/train/cat/0003.jpg", "wb").write(codes[3])
PYTHON
run 0 "$FFINSPECT" cat whole 3 --split train --field image
cp .stdout third.jpg
run 0 "$FFCONVERT" folder --classes classes.txt src dst --order sequential --bad-samples keep
run 0 "$FFINSPECT" verify dst
run 1 "$FFINSPECT" verify dst --pictures
no_err
out "^dst/train/shard-00000.ffr: record 1: field 'image': "
out "^dst/train/shard-00000.ffr: record 2: field 'image': truncated JPEG"
out '^dst/train: DAMAGED: 2 of 5 records$'
run 1 "$FFINSPECT" verify dst --pictures --json
json '[p["record"] for p in d["splits"][0]["problems"]] == [1, 2] and d["splits"][0]["num_pictures"] == 5'
run 0 "$FFINSPECT" cat dst 3 --field image
check cmp .stdout third.jpg
run 1 "$FFINSPECT" cat dst 1 --field image
no_out
one_line_err '^ffinspect: error: dst/train: record 1: '
run 1 "$FFINSPECT" export dst out
one_line_err '^ffinspect: error: dst/train: record 1: '
check test ! -e out
run 1 "$FFCONVERT" v1 dst v1 --quiet
one_line_err '^ffconvert: error: .*shard-00000.ffr: record 1: '
check test ! -e v1
run 1 "$FFCONVERT" transcode dst back --store jpeg --quiet
one_line_err '^ffconvert: error: dst/train/shard-00000.ffr: record 1: '
run 0 "$FFCONVERT" transcode dst back --store jpeg --bad-samples skip --quiet
check grep -q '"action":"left out"' back/report.jsonl
run 0 "$FFCONVERT" transcode dst kept --store jpeg --bad-samples keep
err '^1 pictures were repaired, or kept although they are damaged: see kept/report.jsonl$'
check grep -q '"action":"kept as it is"' kept/report.jsonl
check cmp <("$FFINSPECT" ls dst | sed -n 3p) <("$FFINSPECT" ls kept | sed -n 3p)
run 0 "$FFINSPECT" cat back 2 --field image
check cmp .stdout third.jpg
