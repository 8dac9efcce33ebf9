# How pictures are stored: resized, raw, checked, repaired.
manifest() { python3 -c 'import json, sys; d = json.load(open(sys.argv[1] + "/train/manifest.json")); sys.exit(not eval(sys.argv[2]))' "$@"; }
pictures src/train/cat 6
echo cat >classes.txt  # one class alone is an error otherwise
run 0 "$FFCONVERT" folder --classes classes.txt src plain --order sequential
# Within the limits: not a byte changes.
run 0 "$FFCONVERT" folder --classes classes.txt src same --order sequential --max-resolution 32
check cmp <("$FFINSPECT" cat plain 3 --field image) <("$FFINSPECT" cat same 3 --field image)
check manifest same 'd["options"]["max_resolution"] == "32" and d["options"]["jpeg_quality"] == "90"'
check manifest plain '"jpeg_quality" not in d["options"] and "store" not in d["options"]'

run 0 "$FFCONVERT" folder --classes classes.txt src small --order sequential --short-side 20 --jpeg-quality 70
run 0 "$FFINSPECT" ls small --json
check grep -q '"encoding":"jpeg".*"width":20' <(tr -d ' ' <.stdout)
run 0 "$FFCONVERT" folder --classes classes.txt src raw --order sequential --store raw --num-threads 1
run 0 "$FFCONVERT" folder --classes classes.txt src raw3 --order sequential --store raw --num-threads 3
check diff -r raw raw3
run 0 "$FFINSPECT" export raw out
check test "$(head -c 2 out/train/cat/0003.ppm)" = P6
check test "$(stat -c %s out/train/cat/0003.ppm)" = $((32 * 32 * 3 + 13))
run 0 "$FFCONVERT" demo smart --images 200 --val-images 0 --size 16 --store smart --raw-share 0.25
num_raw=$("$FFINSPECT" ls smart --json | tr -d ' ' | grep -c '"encoding":"ppm"')
check test "$num_raw" -gt 25 -a "$num_raw" -lt 80
run 0 "$FFINSPECT" verify smart

# Cut in half, the header is whole.
size=$(stat -c %s src/train/cat/0002.jpg)
truncate -s $((size - 150)) src/train/cat/0002.jpg
run 0 "$FFCONVERT" folder --classes classes.txt src unchecked --order sequential
run 1 "$FFCONVERT" folder --classes classes.txt src dst --check-images decode
one_line_err '^ffconvert: error: .*src/train/cat/0002.jpg: truncated JPEG'
check test ! -e dst
run 0 "$FFCONVERT" folder --classes classes.txt src kept --order sequential --max-resolution 16 --bad-samples keep
check cmp <("$FFINSPECT" cat kept 2 --field image) src/train/cat/0002.jpg

# A header that claims 65500 x 65500 pixels, 12.9 GB: refused without memory for them.
mkdir -p huge/train/cat
python3 - src/train/cat/0001.jpg huge/train/cat/claims.jpg <<'PYTHON'
import sys
data = bytearray(open(sys.argv[1], "rb").read())
frame = data.index(b"\xff\xc0")
data[frame + 5:frame + 9] = b"\xff\xdc\xff\xdc"
open(sys.argv[2], "wb").write(data)
PYTHON
for options in "" "--max-resolution 400" "--store raw"; do
  run 1 bash -c 'ulimit -v 2000000; "$@"' bash "$FFCONVERT" folder --classes classes.txt huge dst $options
  one_line_err 'huge/train/cat/claims.jpg: the header says that the picture has 65500 x 65500 pixels, but ffkit decodes at most 178956970'
done

run 2 "$FFCONVERT" folder --classes classes.txt src dst --store raw --fix-odd
one_line_err '--fix-odd has no effect with --store raw'
run 2 "$FFCONVERT" folder --classes classes.txt src dst --max-resolution 400 --short-side 256
one_line_err 'cannot be combined; give only one of them'
run 2 "$FFCONVERT" folder --classes classes.txt src dst --raw-share 0.5
one_line_err '--raw-share works only with --store smart'
run 2 "$FFCONVERT" folder --classes classes.txt src dst --jpeg-quality 80
one_line_err '--jpeg-quality works only for pictures that are re-encoded as JPEG'
run 2 "$FFCONVERT" folder --classes classes.txt src dst --max-resolution 400 --jpeg-quality 0
one_line_err '--jpeg-quality is 0; it must be 1 .. 100'
run 2 "$FFCONVERT" folder --classes classes.txt src dst --store png
run 2 "$FFCONVERT" v1 src dst --fix-odd
check test ! -e dst

# What was done about a picture is reported: a PNG under a JPEG's name, and the one that was cut.
run 0 "$FFINSPECT" view plain --count 1 --output src/train/cat/0001.jpg
run 0 "$FFCONVERT" folder --classes classes.txt src fixed --order sequential --fix-odd --check-images decode --bad-samples keep
check grep -Eq '"source":".*cat/0001.jpg","reason":"is a PNG","action":"re-encoded as JPEG"' fixed/report.jsonl
check grep -Eq '"source":".*cat/0002.jpg","reason":"truncated JPEG.*","action":"kept as it is"' fixed/report.jsonl
check test "$(wc -l <fixed/report.jsonl)" = 2
run 0 "$FFINSPECT" cat fixed 1 --field image --output fixed.jpg
check test "$(head -c 3 fixed.jpg | od -An -tx1 | tr -d ' ')" = ffd8ff
