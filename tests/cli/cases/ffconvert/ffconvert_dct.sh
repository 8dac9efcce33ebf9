# --store dct: the JPEGs in the dct code, to the byte; what has none stays as it is and is named.
options() { python3 -c 'import json, sys; d = json.load(open(sys.argv[1] + "/train/manifest.json"))["options"]; sys.exit(not eval(sys.argv[2]))' "$@"; }
# One copy of picture 1 of each kind: a frame of another process, restart markers, cut, no JPEG.
pictures src/train/cat 8
python3 - src/train/cat <<'PYTHON'
import sys
folder = sys.argv[1]
data = open(folder + "/0001.jpg", "rb").read()
frame, scan = data.index(b"\xff\xc0"), data.index(b"\xff\xda")
open(folder + "/0002.jpg", "wb").write(data[:frame + 1] + b"\xc2" + data[frame + 2:])
open(folder + "/0003.jpg", "wb").write(data[:scan] + b"\xff\xdd\x00\x04\x00\x02" + data[scan:])
open(folder + "/0004.jpg", "wb").write(data[:-20])
open(folder + "/0005.jpg", "wb").write(b"P6 2 2 255\n" + bytes(12))
open(folder + "/0006.jpg", "wb").write(data[:-20])
PYTHON
echo cat >classes.txt  # one class alone is an error otherwise
run 0 "$FFCONVERT" folder --classes classes.txt src plain --order sequential
check ! grep -q dct .stderr
run 0 "$FFCONVERT" folder --classes classes.txt src dct --order sequential --store dct --num-threads 1
err '^5 pictures have no dct code and are kept as they are \(2 damaged or cut, 1 not a JPEG, 1 progressive, 1 with restart markers\): see dct/report.jsonl$'
check ! grep -q repaired .stderr
check options dct 'd["store"] == "dct"'
check test "$(wc -l <dct/report.jsonl)" = 5
check grep -Eq '"source":"[^"]*cat/0002.jpg","reason":"is progressive","action":"kept without the dct code"' dct/report.jsonl
check grep -Eq '"source":"[^"]*cat/0005.jpg","reason":"is not a JPEG","action":' dct/report.jsonl
run 0 "$FFCONVERT" folder --classes classes.txt src dct3 --order sequential --store dct --num-threads 3
check diff -r dct dct3
run 0 "$FFINSPECT" ls dct
out $'\tdct 32 x 32, [0-9]+ bytes\t0\tcat/0000.jpg\t'
run 0 "$FFINSPECT" ls dct --json
check test "$(tr -d ' ' <.stdout | grep -c '"encoding":"dct"')" = 3
# The files again.
run 0 "$FFINSPECT" export dct out
for i in 0 1 2 3 4 6 7; do check cmp out/train/cat/000$i.jpg src/train/cat/000$i.jpg; done
run 0 "$FFINSPECT" cat dct 1 --field image
check cmp .stdout src/train/cat/0001.jpg
run 0 "$FFINSPECT" cat dct 1 --field image --json
json 'd["fields"]["image"]["encoding"] == "dct" and __import__("base64").b64decode(d["fields"]["image"]["base64"]) == open("src/train/cat/0001.jpg", "rb").read()'
run 0 "$FFCONVERT" v1 plain plain-v1 --quiet
run 0 "$FFCONVERT" v1 dct dct-v1 --quiet
check diff -r plain-v1 dct-v1

# What is re-encoded is, too.
run 0 "$FFCONVERT" folder --classes classes.txt src small --order sequential --short-side 20 --bad-samples keep
run 0 "$FFCONVERT" folder --classes classes.txt src small-dct --order sequential --short-side 20 --bad-samples keep --store dct
check options small-dct 'd["store"] == "dct" and d["short_side"] == "20" and d["jpeg_quality"] == "90"'
run 0 "$FFINSPECT" ls small-dct
out $'^train\t0\tdct 20 x 20, '
"$FFINSPECT" export small small-files >/dev/null
"$FFINSPECT" export small-dct small-dct-files >/dev/null
check diff -r small-files small-dct-files

# Parts, and a conversion that was killed, are those of one run. Bytes behind a picture count for
# nothing; here they make shards.
for i in {1..15}; do
  { cat src/train/cat/0000.jpg && head -c 220000 /dev/zero; } >"$(printf 'src/train/cat/1%03d.jpg' $i)"
done
again=(--shard-size 1M --store dct --quiet)
run 0 "$FFCONVERT" folder --classes classes.txt src whole "${again[@]}"
check test -e whole/train/shard-00002.ffr
for i in 1 2; do run 0 "$FFCONVERT" folder --classes classes.txt src part$i "${again[@]}" --part $i/2; done
run 0 "$FFCONVERT" merge parts part1 part2 --quiet
for shard in whole/*/*.ffr; do check cmp "$shard" "parts/${shard#whole/}"; done
check cmp whole/report.jsonl parts/report.jsonl
kill_when killed/train/shard-00000.ffr "$FFCONVERT" folder --classes classes.txt src killed "${again[@]}" --num-threads 1
if [ -e killed/.ffkit-unfinished ]; then
  run 1 "$FFCONVERT" folder --classes classes.txt src killed --shard-size 1M --quiet --resume
  one_line_err "differs in option store \(was 'dct', now none\)"
fi
run 0 "$FFCONVERT" folder --classes classes.txt src killed "${again[@]}" --resume
check diff -r whole killed
run 0 "$FFCONVERT" folder --classes classes.txt src killed --shard-size 1M --store dct --resume
err 'killed: is already finished'
err '^5 pictures have no dct code'

# Sources that take pictures as they are.
mkdir -p coco/annotations coco/val wds/members
cp src/train/cat/0000.jpg coco/val/0.jpg
cat >coco/annotations/instances_val.json <<'EOF'
{"images": [{"id": 5, "file_name": "0.jpg", "width": 32, "height": 32}], "annotations": [], "categories": []}
EOF
run 0 "$FFCONVERT" coco coco coco-dct --store dct
run 0 "$FFINSPECT" ls coco-dct
out $'\tdct 32 x 32, '
run 0 "$FFINSPECT" cat coco-dct 0 --field image
check cmp .stdout coco/val/0.jpg
cp src/train/cat/0001.jpg wds/members/k.jpg
cp src/train/cat/0000.jpg wds/members/k.seg.jpg
head -c 400 src/train/cat/0001.jpg >wds/members/k.depth.jpg
tar -C wds/members --sort=name -cf wds/train-000000.tar k.depth.jpg k.jpg k.seg.jpg && rm -r wds/members
run 2 "$FFCONVERT" webdataset wds dst --store raw
one_line_err "--store is 'raw'; it must be one of jpeg, dct"
