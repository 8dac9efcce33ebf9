# Every field type and dtype, nulls, and a schema without label and image field of that name.
check "$MAKE_DATASET" types dst
run 0 "$FFINSPECT" verify dst
run 0 "$FFINSPECT" info dst
out '^               lidar tensor f32$'
out '^               n/bf16 scalar bf16, column$'
out '^               boxes list of tensor i16$'
out '^               tags list of string$'
out '^  classes      none$'

run 0 "$FFINSPECT" cat dst 1
out '^cam_front/image: jpeg 49 x 32, [0-9]+ bytes$'
out '^blob: 8 bytes$'
out '^note: tab\\there$'
out '^lidar: f32 \[2, 3\]: 1\.5, -2, 0\.1, 1, 1e\+30, 7$'
out '^weights: bf16 \[2\]: 1, -3\.140625$'
out '^tags: 1 item: red$'
out '^crops: 2 items: jpeg 49 x 32, [0-9]+ bytes; jpeg 49 x 32, '
out '^boxes: 1 item: i16 \[2, 2\]: -1, 2, 3, 4$'
out '^n/i8: 1$'
out '^n/u64: 18446744073709551614$'
out '^n/i64: -4999999999$'
out '^n/f16: 1$'
out '^n/bf16: 1$'
out '^n/f32: 1\.1$'
out '^n/f64: 1\.25$'
run 0 "$FFINSPECT" cat dst 4
check test "$(grep -c ': null$' .stdout)" = 20
run 0 "$FFINSPECT" cat dst 1 --json
json 'd["fields"]["lidar"] == {"dtype": "f32", "shape": [2, 3], "values": [1.5, -2, 0.1, 1, 1e30, 7]}'
json 'd["fields"]["weights"]["values"] == [1, -3.140625] and d["fields"]["blob"] == {"num_bytes": 8}'
json 'd["fields"]["n/u64"] == 18446744073709551614 and d["fields"]["n/f32"] == 1.1 and d["fields"]["n/f16"] == 1'
json 'd["fields"]["note"] == "tab\there" and "class" not in d'
json 'd["fields"]["tags"] == ["red"] and d["fields"]["boxes"] == [{"dtype": "i16", "shape": [2, 2], "values": [-1, 2, 3, 4]}]'
json '[c["width"] for c in d["fields"]["crops"]] == [49, 49] and "base64" not in d["fields"]["crops"][0]'
run 0 "$FFINSPECT" cat dst 2 --field crops --json
json '[__import__("base64").b64decode(c["base64"])[:3] for c in d["fields"]["crops"]] == [b"\xff\xd8\xff"] * 2'
run 2 "$FFINSPECT" cat dst 2 --field tags
one_line_err "field 'tags' is a list; use --json, or ffinspect export"
run 0 "$FFINSPECT" cat dst 4 --json
json 'set(d["fields"].values()) == {None} and len(d["fields"]) == 20'
run 0 "$FFINSPECT" cat dst 0 --field lidar
check test "$(od -An -tf4 .stdout | tr -s ' ' | tr -d '\n')" = ' 1.5 -2 0.1 0 1e+30 7'
run 0 "$FFINSPECT" cat dst 0 --field blob --json
json '__import__("base64").b64decode(d["fields"]["blob"]["base64"]) == b"\0\xff blob0"'
run 0 "$FFINSPECT" ls dst --json
check test "$(wc -l <.stdout)" = 5

run 0 "$FFINSPECT" stats dst
out '^  note +string +3 distinct, 1 empty$'
out '^  n/f16 +scalar f16 +min 0, max 1, mean 0\.8$'
out '^  n/u64 +scalar u64 +min 0, max 18446744073709551615, '
out '^  n/f64 +scalar f64 +min 0, max 2\.25, mean 0\.9375, 1 not a number$'
run 0 "$FFINSPECT" stats dst --json
json 'd["splits"][0]["labels"] is None'
json '{c["name"]: c for c in d["splits"][0]["columns"]}["n/i64"]["min"] == -5000000000'
json '[{c["name"]: c for c in d["splits"][0]["columns"]}[n]["num_nan"] for n in ("n/f32", "n/f64")] == [0, 1]'
run 0 "$FFINSPECT" cat dst 3 --json
json 'd["fields"]["n/f64"] == "nan" and d["fields"]["n/f32"] == 3.1'

run 0 "$FFINSPECT" view dst --output sheet.png --json
json 'd["field"] == "cam_front/image" and [bool(s["problem"]) for s in d["samples"]] == [False, False, False, True, True]'

# One folder a record, nested names as folders, an extension a type.
run 0 "$FFINSPECT" export dst out
out '^train: 5 records to 83 files in out/train, '
"$FFINSPECT" cat dst 2 --field cam_front/image | cmp - out/train/2/cam_front/image.jpg || fail "image differs"
"$FFINSPECT" cat dst 2 --field blob | cmp - out/train/2/blob.bin || fail "blob differs"
check test "$(<out/train/2/tags/1.txt)" = $'tab\there'
check cmp out/train/2/crops/1.jpg out/train/2/cam_front/image.jpg
check test -e out/train/0/boxes/0.npy
check test -e out/train/3/cam_front/image.bin
check test ! -e out/train/4
check test "$(<out/train/1/note.txt)" = $'tab\there'
check test "$(<out/train/1/n/u64.txt)" = 18446744073709551614
check python3 - <<'END'
import ast, struct
def load(name):
    data = open(name, "rb").read()
    assert data[:8] == b"\x93NUMPY\x01\x00"
    size = struct.unpack("<H", data[8:10])[0]
    assert (10 + size) % 64 == 0 and data[9 + size:10 + size] == b"\n"
    header = ast.literal_eval(data[10:10 + size].decode())
    assert header["fortran_order"] is False and header["descr"] == "<f4"
    return header["shape"], struct.unpack(f"<{(len(data) - 10 - size) // 4}f", data[10 + size:])
assert load("out/train/0/lidar.npy")[0] == (2, 3)
assert load("out/train/0/lidar.npy")[1][:2] == (1.5, -2)
assert load("out/train/0/weights.npy") == ((2,), (1, -3.140625))
END

# 'view' needs a field of pictures.
run 1 "$FFINSPECT" view dst --field note --output x.png
one_line_err "field 'note' has no pictures; its type is string"

# Compressed records look the same; info says by how much they shrank.
check "$MAKE_DATASET" zstd packed
run 0 "$FFINSPECT" verify packed
run 0 "$FFINSPECT" info packed
out '^  compression  ratio [1-9][0-9]*\.[0-9]{2}: .* of records stored as .*B$'
run 0 "$FFINSPECT" info packed --json
json '(lambda s: s["raw_bytes"] > s["stored_bytes"] and s["compression_ratio"] == s["raw_bytes"] / s["stored_bytes"])(d["splits"][0])'
check diff <("$FFINSPECT" ls dst --json) <("$FFINSPECT" ls packed --json)
run 0 "$FFINSPECT" export packed unpacked
check diff -r out unpacked
