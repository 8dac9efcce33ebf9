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
