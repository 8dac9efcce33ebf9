# FFRecord v1 files, read through the same words.
v1=$FFKIT_SHARED_DATA/ffrecord-v1
[ -d "$v1" ] || skip "no FFRecord v1 files: FFKIT_SHARED_DATA is not set, or has no ffrecord-v1"
cp -r "$v1/imagenet-style" dst
chmod -R u+w dst
run 0 "$FFINSPECT" info dst
out '^  records      8 in 2 shards, '
out '^  source       format = FFRecord v1$'
run 0 "$FFINSPECT" info dst --json
json 'd["splits"][0]["format_version"] == 1 and d["splits"][0]["split"] == "train"'
run 0 "$FFINSPECT" verify dst
out 'train.ffr: whole: 8 records, 2 shards, '
run 0 "$FFINSPECT" ls dst --limit 1
out $'^train\t0\tjpeg 500 x 320, 103687 bytes\t0\tzero$'
run 0 "$FFINSPECT" stats dst --json
json '[l["num_records"] for l in d["splits"][0]["labels"]] == [3, 3, 2]'
run 0 "$FFINSPECT" export dst out
check test "$(find out/train -name '*.jpg' | wc -l)" = 8
check test "$(ls out/train | tr '\n' ' ')" = 'one two zero '
run 0 "$FFINSPECT" view dst --output sheet.png --json
json 'all(s["problem"] is None for s in d["samples"])'
run 0 "$FFINSPECT" verify "$v1/sizes.ffr"
out 'sizes.ffr: whole: 10 records, 1 shard, '

# Damage in one of two files is found and named.
check python3 - <<'END'
name = "dst/train.ffr/PART_00001.ffr"
data = bytearray(open(name, "rb").read())
data[data.rindex(b"\xff\xd8\xff") + 1000] ^= 1
open(name, "wb").write(data)
END
run 1 "$FFINSPECT" verify dst --json
json '[p["file"].endswith("PART_00001.ffr") and p["record"] >= 0 and p["record_index"] >= p["record"] for p in d["splits"][0]["problems"]] == [True]'

# A folder of parts is one data set.
run 0 "$FFINSPECT" info "$v1/parts" --json
json '[(s["num_records"], s["num_shards"]) for s in d["splits"]] == [(12, 3)]'

# A packed folder is listed and extracted.
run 0 "$FFINSPECT" ls "$v1/packed_folder.ffr"
out $'^a/b/z.bin\t0\t5000$'
out $'^x.txt\t3\t6$'
run 0 "$FFINSPECT" ls "$v1/packed_folder.ffr" --json --first 3
json 'd == {"path": "x.txt", "record": 3, "num_bytes": 6}'
run 0 "$FFINSPECT" export "$v1/packed_folder.ffr" tree
out '^4 files in 2 folders to tree, '
check python3 - "$v1/expected.json" <<'END'
import hashlib, json, os, sys
tree = json.load(open(sys.argv[1]))["packed_folder.ffr"]["tree"]
found = {os.path.relpath(os.path.join(folder, name), "tree") for folder, _, names in os.walk("tree") for name in names}
assert found == set(tree), found
for name, expected in tree.items():
    data = open(os.path.join("tree", name), "rb").read()
    assert len(data) == expected["size"] and hashlib.sha256(data).hexdigest() == expected["sha256"], name
END
run 1 "$FFINSPECT" export "$v1/packed_folder.ffr" tree
one_line_err 'tree: the folder is not empty, and nothing is overwritten'
run 1 "$FFINSPECT" ls "$v1/packed_folder.ffr" --where 'label == 1'
one_line_err 'is a packed folder, which does not support --split, --where and --indices'
