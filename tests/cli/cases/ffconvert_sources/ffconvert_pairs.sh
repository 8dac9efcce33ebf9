pictures pool 6
# A grey PNG of 32 x 32 pixels of the number $2.
mask() {
  mkdir -p "$(dirname "$1")"
  python3 - "$1" "$2" <<'EOF'
import struct, sys, zlib
chunk = lambda name, data: struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
pixels = zlib.compress((b"\0" + bytes([int(sys.argv[2])]) * 32) * 32)
open(sys.argv[1], "wb").write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 32, 32, 8, 0, 0, 0, 0)) + chunk(b"IDAT", pixels) + chunk(b"IEND", b""))
EOF
}
mkdir pictures
for i in 0 1 2 3; do
  cp "pool/000$i.jpg" pictures/
  mask "masks/000$i.png" $((40 + i))
done
echo text >pictures/readme.txt

run 0 "$FFCONVERT" pairs dst image=pictures mask=masks --num-threads 3
no_out
err '^ffconvert: note: pictures: 1 file was left out: it is not a picture$'
err '^train: 4 pictures in 1 shard'
run 0 "$FFINSPECT" verify dst --pictures
# Every picture and every mask is there, to the byte.
run 0 "$FFINSPECT" ls dst --split train
tail -n +2 .stdout | cut -f2,5 >list
check test "$(wc -l <list)" = 4
while read -r record id; do
  "$FFINSPECT" cat dst "$record" --split train --field image | cmp - "pictures/$id" || exit 1
  "$FFINSPECT" cat dst "$record" --split train --field mask | cmp - "masks/${id%.jpg}.png" || exit 1
done <list || fail "a record differs from its files"

# Masks lie over their pictures: 0 leaves one as it is, and other numbers have colours of their own.
mkdir one zero
cp pictures/0000.jpg one/a.jpg
cp pictures/0000.jpg one/b.jpg
mask zero/a.png 0
mask zero/b.png 1
run 0 "$FFCONVERT" pairs shown image=one mask=zero --quiet
run 0 "$FFINSPECT" view shown --size 32 --columns 2 --output plain.png
run 0 "$FFINSPECT" view shown --size 32 --columns 2 --mask mask --output masked.png --json
json '[s["problem"] for s in d["samples"]] == [None, None]'
check python3 -c 'import struct, sys, zlib
def pixels(name):
    data, rows, at = open(name, "rb").read(), b"", 8
    width, height = struct.unpack(">II", data[16:24])
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        rows += data[at + 8 : at + 8 + length] if kind == b"IDAT" else b""
        at += 12 + length
    raw, before, lines = zlib.decompress(rows), [0] * (3 * width), []
    for y in range(height):  # undo the filters of PNG
        line, kind = list(raw[y * (3 * width + 1) + 1 : (y + 1) * (3 * width + 1)]), raw[y * (3 * width + 1)]
        for i in range(3 * width):
            left, up, corner = (line[i - 3] if i > 2 else 0), before[i], (before[i - 3] if i > 2 else 0)
            guess = min((left, up, corner), key=lambda p: abs(left + up - corner - p))
            line[i] = line[i] + (0, left, up, (left + up) // 2, guess)[kind] & 255
        lines.append(line)
        before = line
    return lines
plain, masked = pixels("plain.png"), pixels("masked.png")
changed = [(y, i) for y, line in enumerate(plain) for i, value in enumerate(line) if masked[y][i] != value]
assert 2000 < len(changed) <= 3 * 32 * 32, len(changed)
assert min(i for _, i in changed) >= 3 * 40, changed[0]  # the second picture alone
assert all(masked[y][i] == (plain[y][i] + (128, 0, 0)[i % 3]) // 2 for y, i in changed)' || fail "the colours of a mask are others"
run 1 "$FFINSPECT" view shown --mask id --output x.png
one_line_err "has no pictures; its type is string"

# The same data whatever the threads, from options in a file, in parts, and after --resume.
printf 'folders = ["image=pictures", "mask=masks"]\n' >pairs.toml
run 0 "$FFCONVERT" pairs same --config pairs.toml --num-threads 1 --quiet
check cmp -s dst/train/shard-00000.ffr same/train/shard-00000.ffr
run 0 "$FFCONVERT" pairs same --config pairs.toml --resume
mask masks/0001.png 99
run 1 "$FFCONVERT" pairs same --config pairs.toml --resume
err 'same'
mask masks/0001.png 41
run 0 "$FFCONVERT" pairs part1 image=pictures mask=masks --part 1/1 --quiet
run 1 "$FFCONVERT" pairs pictures/out image=pictures mask=masks --quiet
one_line_err "the destination is inside the source 'pictures'"

# Nothing is dropped in silence.
cp pool/0004.jpg pictures/
run 1 "$FFCONVERT" pairs x image=pictures mask=masks --quiet
one_line_err "pictures: 1 of 5 names lacks a file in one of the folders: '0004' has no mask; add the files, or leave out such names with --unpaired skip$"
check test ! -e x
run 0 "$FFCONVERT" pairs skipped image=pictures mask=masks --unpaired skip
err "note: pictures: 1 of 5 names lacks a file in one of the folders: '0004' has no mask; ffkit leaves out these names$"
err '^train: 4 pictures'
cp pool/0004.jpg masks/0004.jpg
run 1 "$FFCONVERT" pairs x image=pictures mask=masks --quiet
one_line_err 'masks/0004.jpg: the mask is a JPEG, and saving as JPEG may have changed the ids; save masks as PNG with one channel$'
run 0 "$FFCONVERT" pairs left image=pictures mask=masks --bad-samples skip
err '^train: 4 pictures'
check grep -q '0004.jpg: the mask is a JPEG' left/report.jsonl

# Lists, layouts.
printf '0003\n0001\n' >val.txt
run 0 "$FFCONVERT" pairs listed image=pictures mask=masks --list val.txt --quiet
run 0 "$FFINSPECT" ls listed --split val
check test "$(tail -n +2 .stdout | cut -f5 | tr '\n' ' ')" = '0003.jpg 0001.jpg '
mkdir -p VOC/ImageSets/Segmentation
mv pictures VOC/JPEGImages && mv masks VOC/SegmentationClass
cp val.txt VOC/ImageSets/Segmentation/val.txt && echo 0000 >VOC/ImageSets/Segmentation/train.txt
run 0 "$FFCONVERT" pairs voc --layout voc --root VOC --splits val,train
check test "$(echo voc/*/)" = 'voc/train/ voc/val/'
mkdir -p city/leftImg8bit/val/ulm
cp pool/0000.jpg city/leftImg8bit/val/ulm/1_leftImg8bit.png
mask city/gtFine/val/ulm/1_gtFine_labelIds.png 7
mask city/gtFine/val/ulm/1_gtFine_instanceIds.png 8
run 0 "$FFCONVERT" pairs city8 --layout cityscapes --root city instances=gtFine --suffix instances=_gtFine_instanceIds
err "note: city/gtFine: 1 picture was left out of 'mask': its name does not end in '_gtFine_labelIds' before its ending$"
run 0 "$FFINSPECT" cat city8 0 --split val --field instances
check cmp -s .stdout city/gtFine/val/ulm/1_gtFine_instanceIds.png

# Wrong use.
run 2 "$FFCONVERT" pairs x VOC
one_line_err "--folders: 'VOC' must have the form NAME=VALUE; see ffconvert pairs --help$"
run 2 "$FFCONVERT" pairs x image=VOC
one_line_err 'give at least two folders, one with pictures and one with masks, such as image=FOLDER and mask=FOLDER; '
run 2 "$FFCONVERT" pairs x --layout voc
one_line_err '--layout voc needs --root, the folder of the data set; '
run 2 "$FFCONVERT" pairs x image=a mask=b --suffix depth=_d
one_line_err "--suffix: unknown field 'depth'; expected one of image, mask; "
