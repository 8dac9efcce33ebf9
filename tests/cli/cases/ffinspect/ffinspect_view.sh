# Width and height of a PNG.
png_size() { python3 -c 'import struct, sys; print(*struct.unpack(">II", open(sys.argv[1], "rb").read()[16:24]))' "$1"; }

check "$MAKE_DATASET" pictures dst cat,dog 0:jpeg:a.jpg 1:png:b 1:junk:c 0:null:d :jpeg:e 0:jpeg:f 0:jpeg:g 1:jpeg:h
run 0 "$FFINSPECT" view dst --count 8 --columns 4 --size 64 --output sheet.png --json
no_err
json '[s["record"] for s in d["samples"]] == list(range(8))'
json '[s["class"] for s in d["samples"]] == ["cat", "dog", "dog", "cat", None, "cat", "cat", "dog"]'
json 'd["samples"][1]["class_name"] == "the dog" and d["samples"][1]["label"] == 1'
json '[bool(s["problem"]) for s in d["samples"]] == [False, False, True, True, False, False, False, False]'
json '"not JPEG, PNG" in d["samples"][2]["problem"] and "null" in d["samples"][3]["problem"]'
json 'd["output"] == "sheet.png" and d["field"] == "image"'
check test "$(png_size sheet.png)" = "$(python3 -c 'import json; d = json.load(open(".stdout")); print(d["width"], d["height"])')"
run 0 "$FFINSPECT" view dst --count 8 --columns 4 --size 64
check cmp .stdout sheet.png

# The sheet is a picture that ffkit reads.
mkdir -p sheets/a && cp sheet.png sheets/a
echo a >classes.txt  # one class alone is an error otherwise
run 0 "$FFCONVERT" folder --classes classes.txt sheets sheets_ff --quiet
run 0 "$FFINSPECT" verify sheets_ff

# Spread evenly or drawn by seed, never twice, the same again.
run 0 "$FFINSPECT" view dst --count 4 --output even.png --json
json '[s["record"] for s in d["samples"]] == [0, 2, 4, 6]'
run 0 "$FFINSPECT" view dst --count 3 --seed 1 --output one.png --json
json 'len(set(s["record"] for s in d["samples"])) == 3'
run 0 "$FFINSPECT" view dst --count 3 --seed 1 --output again.png
check cmp one.png again.png
drawn=$(for seed in 0 1 2 3 4 5; do
  "$FFINSPECT" view dst --count 3 --seed $seed --output x.png --json | tr -d ' \n' | grep -o '"record":.' | tr -d '\n'; echo
done | sort -u | wc -l)
check test "$drawn" -gt 2
run 0 "$FFINSPECT" view dst --count 100 --seed 2 --output all.png --json
json 'len(d["samples"]) == 8'
check test "$(png_size one.png | cut -d' ' -f1)" -gt "$((3 * 192))"

# A damaged record is one more picture that cannot be shown.
check python3 -c 'import sys
data = bytearray(open(sys.argv[1], "rb").read())
data[data.find(b"\xff\xd8\xff") + 30] ^= 1
open(sys.argv[1], "wb").write(data)' dst/train/shard-00000.ffr
run 0 "$FFINSPECT" view dst --count 2 --output damaged.png --json
json '"damaged" in d["samples"][0]["problem"] and d["samples"][1]["problem"] is None'

run 2 "$FFINSPECT" view dst --json
no_out
one_line_err '--output'
run 2 python3 -c 'import os, pty, subprocess, sys
terminal, end = pty.openpty()
sys.exit(subprocess.run(sys.argv[1:], stdout=end).returncode)' "$FFINSPECT" view dst
one_line_err '--output FILE.png'
run 2 "$FFINSPECT" view dst --count 0 --output x.png
one_line_err count
run 1 "$FFINSPECT" view dst --field label --output x.png
one_line_err "field 'label' has no pictures; its type is scalar"
run 1 "$FFINSPECT" view dst --output no/folder/x.png
one_line_err 'no/folder/x.png: the file cannot be created'
run 1 "$FFINSPECT" view dst --output /dev/full
one_line_err '/dev/full: cannot write the file: .*ENOSPC\); free some space or give another file'

# The boxes of a set made from COCO are drawn in the picture: a red and a blue one, and nothing
# where there is none.
pictures coco/val2017 2
mkdir -p coco/annotations
cat >coco/annotations/instances_val2017.json <<'EOF'
{"images": [{"id": 5, "file_name": "0000.jpg", "width": 32, "height": 32}, {"id": 6, "file_name": "0001.jpg", "width": 32, "height": 32}],
 "annotations": [
  {"id": 1, "image_id": 6, "category_id": 1, "bbox": [4, 4, 24, 24], "area": 9, "iscrowd": 0},
  {"id": 2, "image_id": 6, "category_id": 2, "bbox": [10, 10, 1e6, 8], "area": 9, "iscrowd": 0}],
 "categories": [{"id": 1, "name": "dog"}, {"id": 2, "name": "cat"}]}
EOF
run 0 "$FFCONVERT" coco coco coco_ff --quiet
run 0 "$FFINSPECT" view coco_ff --split val2017 --size 256 --output boxes.png --json
json '[s["num_boxes"] for s in d["samples"]] == [0, 2]'
count_pixels() { # FILE R,G,B: pixels of about this colour (lines are anti-aliased)
  python3 - "$@" <<'EOF'
import struct, sys, zlib
data = open(sys.argv[1], "rb").read()
width, height = struct.unpack(">II", data[16:24])
at, packed = 8, b""
while at < len(data):
    length, kind = struct.unpack(">I4s", data[at:at + 8])
    packed += data[at + 8:at + 8 + length] if kind == b"IDAT" else b""
    at += length + 12
raw, stride, row, count = zlib.decompress(packed), 3 * width, bytearray(3 * width), 0
wanted = bytes(map(int, sys.argv[2].split(",")))
for y in range(height):
    kind, line = raw[y * (stride + 1)], bytearray(raw[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
    for i in range(stride):
        a, b, c = (line[i - 3] if i > 2 else 0), row[i], (row[i - 3] if i > 2 else 0)
        p = a + b - c
        paeth = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
        line[i] = (line[i] + [0, a, b, (a + b) // 2, paeth][kind]) & 255
    row = line
    count += sum(max(abs(line[i + c] - wanted[c]) for c in range(3)) <= 40 for i in range(0, stride, 3))
print(count)
EOF
}
run 0 "$FFINSPECT" view coco_ff --split val2017 --where 'image_id = 5' --size 256 --output none.png
check test "$(count_pixels boxes.png 230,60,60)" -gt "$(($(count_pixels none.png 230,60,60) + 500))"
check test "$(count_pixels boxes.png 40,110,240)" -gt "$(($(count_pixels none.png 40,110,240) + 300))"

# Names in any script: none is drawn as another one, and none as question marks.
for name in Müller 'M?ller' M??ller 東京都 大阪府 '???'; do
  rm -rf named && check "$MAKE_DATASET" pictures named "$name" 0:jpeg:a.jpg
  run 0 "$FFINSPECT" view named --output "sheet of $name.png"
done
check test "$(md5sum 'sheet of'*.png | cut -d' ' -f1 | sort -u | wc -l)" = 6
