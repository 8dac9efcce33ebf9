run 0 "$FFCONVERT" demo dst --classes 4 --images 40 --val-images 8 --size 32 --seed 7 --quiet
run 0 "$FFINSPECT" info dst
no_err
out '^  records      40 in 1 shard, .* kB$'
out '^  records      8 in 1 shard, '
out '^  compression  none \(ratio 1\.00\)$'
out '^  record size  .* to .*, median .*, mean .* kB$'
out '^ +[0-9.]+ k?B to +[0-9.]+ kB +[0-9]+  #{40}$'
out '^  fields       image image$'
out '^               label scalar i64, column$'
out '^  classes      4: '
out ' seed = 7$'

run 0 "$FFINSPECT" info dst --json
no_err
json '[s["split"] for s in d["splits"]] == ["train", "val"]'
json 'd["splits"][0]["num_records"] == 40 and d["splits"][0]["num_shards"] == 1'
json '[f["name"] for f in d["splits"][0]["fields"]] == ["image", "label", "id"]'
json 'd["splits"][0]["fields"][1] == {"name": "label", "type": "scalar", "dtype": "i64", "column": True}'
json 'len(d["splits"][0]["classes"]) == 4 and d["splits"][0]["options"]["seed"] == "7"'
# Every record is in one bin; sizes agree with each other.
json 'all(sum(b["num_records"] for b in s["record_size"]["histogram"]) == s["num_records"] for s in d["splits"])'
json 'all(b["begin"] < b["end"] for b in d["splits"][0]["record_size"]["histogram"])'
json '(lambda r: r["min"] <= r["median"] <= r["max"] and d["splits"][0]["stored_bytes"] // 40 == r["mean"])(d["splits"][0]["record_size"])'
json 'd["splits"][0]["stored_bytes"] == d["splits"][0]["raw_bytes"] and d["splits"][0]["compression_ratio"] == 1'

# One split, by option and as a folder.
run 0 "$FFINSPECT" info dst --split val --json
json '[s["split"] for s in d["splits"]] == ["val"]'
run 0 "$FFINSPECT" info dst/val --json
json '[s["num_records"] for s in d["splits"]] == [8]'

run 1 "$FFINSPECT" info nowhere --json
no_out
one_line_err '^ffinspect: error: nowhere: '
run 1 "$FFINSPECT" info dst --split test
one_line_err "there is no split 'test'; the splits are train, val"
