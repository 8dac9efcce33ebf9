run 0 "$FFCONVERT" demo dst --classes 4 --images 60 --val-images 8 --size 64 --shard-size 1M --quiet
cp -r dst whole
shards=(dst/train/*.ffr)
run 0 "$FFINSPECT" verify dst
no_err
out "^dst/train: whole: 60 records, ${#shards[@]} shard"
out '^dst/val: whole: 8 records, 1 shard, '
run 0 "$FFINSPECT" verify dst --json
json 'd["is_whole"] and [s["problems"] for s in d["splits"]] == [[], []]'

# Sets one byte in the middle of record N's image.
damage() {
  python3 - "$1" "$2" "$FFINSPECT" <<'END'
import subprocess, sys
split, number, ffinspect = sys.argv[1:]
image = subprocess.run([ffinspect, "cat", "whole", number, "--split", split, "--field", "image"],
                       check=True, capture_output=True).stdout
name = f"{split}/shard-00000.ffr"
at = open("whole/" + name, "rb").read().index(image) + 100
name = "dst/" + name
data = bytearray(open(name, "rb").read())
data[at] ^= 1
open(name, "wb").write(data)
END
}
for record in 3 17 41; do check damage train $record; done
run 1 "$FFINSPECT" verify dst
no_err
for record in 3 17 41; do
  out "^dst/train/shard-00000.ffr: record $record: offset [0-9]+: the record is damaged: the CRC-32C .* but must be "
done
check test "$(grep -c 'the record is damaged' .stdout)" = 3
out '^dst/train: DAMAGED: 3 of 60 records$'
out '^dst/val: whole: '

# JSON on stdout although the exit status is 1.
run 1 "$FFINSPECT" verify dst --json
no_err
json 'not d["is_whole"] and [s["is_whole"] for s in d["splits"]] == [False, True]'
json '[p["record"] for p in d["splits"][0]["problems"]] == [3, 17, 41]'
json '[p["record_index"] for p in d["splits"][0]["problems"]] == [3, 17, 41]'
json 'all(p["file"] == "dst/train/shard-00000.ffr" and p["offset"] >= 4096 for p in d["splits"][0]["problems"])'
run 0 "$FFINSPECT" verify dst --split val

# A shard that cannot be opened does not hide what is wrong with the others. Two shards, made from
# one data set's two splits.
rm -rf dst && cp -r whole dst
check damage train 5
cp whole/val/shard-00000.ffr dst/train/shard-00001.ffr
check python3 - <<'END'
import json
train = json.load(open("whole/train/manifest.json"))
val = json.load(open("whole/val/manifest.json"))
shard = val["shards"][0]
shard["file"] = "shard-00001.ffr"
missing = dict(shard, file="shard-00002.ffr")
train["shards"] = [missing] + train["shards"][:1] + [shard]
train["num_records"] = sum(s["num_records"] for s in train["shards"])
json.dump(train, open("dst/train/manifest.json", "w"))
END
truncate -s -1 dst/train/shard-00001.ffr
run 1 "$FFINSPECT" verify dst
out '^dst/train/shard-00002.ffr: .*ENOENT'
out '^dst/train/shard-00000.ffr: record 5: offset [0-9]+: the record is damaged'
out '^dst/train/shard-00001.ffr: .*the file does not end with the trailer of a shard'
out '^dst/train: DAMAGED: 1 of [0-9]+ records, and 2 problems outside of the records$'
run 1 "$FFINSPECT" verify dst --json
# The number in the split counts the missing shard's 8 records.
json '[p["record_index"] for p in d["splits"][0]["problems"]] == [None, 13, None]'
json '[p["record"] for p in d["splits"][0]["problems"]] == [None, 5, None]'

# Another shard than the manifest lists, a damaged index and column, a broken manifest.
rm -rf dst && cp -r whole dst
cp whole/val/shard-00000.ffr dst/train/shard-00000.ffr
run 1 "$FFINSPECT" verify dst
out '^dst/train/shard-00000.ffr: the shard differs from the manifest: it has 8 records'
rm -rf dst && cp -r whole dst
check python3 - <<'END'
import json, struct
name = "dst/val/shard-00000.ffr"
data = bytearray(open(name, "rb").read())
offset, length = struct.unpack("<QQ", data[-64:-48])
catalog = json.loads(data[offset:offset + length])
for stream in catalog["streams"]:
    if stream["name"] in ("entries", "column/label"):
        data[stream["offset"] + 20] ^= 1
open(name, "wb").write(data)
END
run 1 "$FFINSPECT" verify dst
out '^dst/val/shard-00000.ffr: .*(page|index|stream)'
out '^dst/val: DAMAGED: '
echo '{' >dst/train/manifest.json
run 1 "$FFINSPECT" verify dst
out '^dst/train/manifest.json: the manifest cannot be read'
out '^dst/val: DAMAGED: '
rm dst/train/manifest.json
run 1 "$FFINSPECT" verify dst/train
out '^dst/train: has shards but no manifest.json'
run 0 "$FFINSPECT" verify whole/val/shard-00000.ffr
out 'shard-00000.ffr: whole: 8 records, 1 shard, '

run 1 "$FFINSPECT" verify nowhere
no_out
one_line_err '^ffinspect: error: nowhere: '
mkdir empty
run 1 "$FFINSPECT" verify empty --json
no_out
one_line_err '^ffinspect: error: empty: this is not a data set'
touch whole/.ffkit-unfinished
run 1 "$FFINSPECT" verify whole
one_line_err 'has not finished'
run 1 "$FFINSPECT" verify whole/val
one_line_err 'has not finished'
rm whole/.ffkit-unfinished

# Progress is drawn on a terminal, and only there.
run 0 python3 -c 'import os, pty, subprocess, sys
terminal, end = pty.openpty()
status = subprocess.run(sys.argv[1:], stderr=end, stdout=subprocess.DEVNULL).returncode
os.close(end)
drawn = b""
try:
  while part := os.read(terminal, 4096): drawn += part  # a terminal may give less than there is
except OSError: pass  # the end
assert b"train    0 %" in drawn and drawn.endswith(b"\r\x1b[K"), drawn
sys.exit(status)' "$FFINSPECT" verify whole
