# ffinspect duplicates: equal and near pictures within and across splits; side files; what is left
# out is said.
export XDG_CACHE_HOME=$PWD/cache

# Pictures that differ from one another, and what became of some of them, as PPM, PGM and PNG.
cat >make.py <<'PYTHON'
import os, random, struct, sys, zlib
W, H = 160, 120
def smooth(seed):  # waves of 8 x 6 random heights a colour, with noise
    draw = random.Random(seed)
    grid = [[[draw.randrange(256) for _ in range(3)] for _ in range(9)] for _ in range(7)]
    rows = []
    for y in range(H):
        v, fy = divmod(y / H * 6, 1)
        row = []
        for x in range(W):
            u, fx = divmod(x / W * 8, 1)
            a, b = grid[int(v)][int(u):int(u) + 2]
            c, d = grid[int(v) + 1][int(u):int(u) + 2]
            row.append([min(255, max(0, int((p * (1 - fx) + q * fx) * (1 - fy) + (r * (1 - fx) + s * fx) * fy
                                            + draw.randrange(-4, 5)))) for p, q, r, s in zip(a, b, c, d)])
        rows.append(row)
    return rows
def write(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    open(path, 'wb').write(data)
def ppm(rows): return b'P6 %d %d 255\n' % (len(rows[0]), len(rows)) + bytes(v for row in rows for p in row for v in p)
def pgm(rows): return b'P5 %d %d 255\n' % (len(rows[0]), len(rows)) + bytes((p[0] * 299 + p[1] * 587 + p[2] * 114) // 1000 for row in rows for p in row)
def png(rows):
    def chunk(kind, data): return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
    data = zlib.compress(b''.join(b'\0' + bytes(v for p in row for v in p) for row in rows))
    return b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', len(rows[0]), len(rows), 8, 2, 0, 0, 0)) + chunk(b'IDAT', data) + chunk(b'IEND', b'')
def half(rows):
    return [[[(rows[2 * y][2 * x][k] + rows[2 * y][2 * x + 1][k] + rows[2 * y + 1][2 * x][k] + rows[2 * y + 1][2 * x + 1][k]) // 4
              for k in range(3)] for x in range(W // 2)] for y in range(H // 2)]
def plain(colour, width=100): return [[colour] * width for _ in range(80)]
p = [smooth(i) for i in range(14)]
for i in range(10): write(f'src/train/a/{i:02}.ppm', ppm(p[i]))
for i, colour in enumerate([[255, 255, 255], [0, 0, 0], [250, 250, 250]]): write(f'src/train/a/plain{i}.ppm', ppm(plain(colour)))
write('src/train/a/slope.ppm', ppm([[[x, x, x] for x in range(200)] for _ in range(100)]))
write('src/val/a/00.ppm', ppm(p[0]))  # equal
write('src/val/a/01.png', png(p[1]))
write('src/val/a/02.ppm', ppm([row[1:-1] for row in p[2][1:-1]]))  # cut
write('src/val/a/03.pgm', pgm(p[3]))
write('src/val/a/04.ppm', ppm(half(p[4])))
write('src/val/a/05.ppm', ppm([[[min(255, v + 12) for v in q] for q in row] for row in p[5]]))  # brighter
write('src/val/a/06.ppm', ppm([row[::-1] for row in p[6]]))  # mirrored
write('src/val/a/07.ppm', ppm(p[11]))  # in no other split, twice
write('src/val/a/08.ppm', ppm(p[11]))
write('src/val/a/09.ppm', ppm(p[12]))
write('src/val/a/plain0.ppm', ppm(plain([255, 255, 255])))  # equal
write('src/val/a/plain1.ppm', ppm(plain([255, 255, 255], 120)))  # of another size
write('src/val/a/plain2.ppm', ppm(plain([128, 128, 128])))
write('src/val/a/slope.ppm', ppm([[[x // 2, x // 2, x // 2] for x in range(200)] for _ in range(100)]))
PYTHON
check python3 make.py
echo a >classes.txt  # one class alone is an error otherwise
run 0 "$FFCONVERT" folder --classes classes.txt src dst --order sequential --quiet
run 0 "$FFINSPECT" duplicates dst --limit 0
no_err
check test "$(head -1 .stdout)" = '7 of 14 records of val are also in train'
out '^train: 14 records: 0 are like another one of the split; 4 with too little content for a hash, compared by bytes$'
out '^val: 14 records: 2 are like another one of the split; 4 with too little content'
check test "$(grep -c '^group' .stdout)" = 8
out '^group 8: 2, equal$'
run 0 "$FFINSPECT" duplicates dst --json
json '(d["num_groups"], d["num_across"]) == (8, 7)'
# Groups across splits come first; record 10 is plain0.
json '[[(r["split"], r["record"]) for r in g["records"]] for g in d["groups"]] == [[("train", i), ("val", i)] for i in (0, 1, 2, 3, 4, 5, 10)] + [[("val", 7), ("val", 8)]]'
json '[g["exact"] for g in d["groups"]] == [True, False, False, False, False, False, True, True]'
json '[s["num_plain"] for s in d["splits"]] == [4, 4] and [s["num_from_file"] for s in d["splits"]] == [14, 14]'
json 'd["splits"][1]["also_in"] == {"train": 7, "val": 2} and d["splits"][0]["also_in"] == {"train": 0, "val": 7}'
json 'all(0 <= r["distance"] <= 4 for g in d["groups"] for r in g["records"])'
cp .stdout whole.json
run 0 "$FFINSPECT" duplicates dst --exact --json
json '[[r["record"] for r in g["records"]] for g in d["groups"]] == [[0, 0], [10, 10], [7, 8]]'
run 0 "$FFINSPECT" duplicates dst --exact --json --hashes off
json '[[r["record"] for r in g["records"]] for g in d["groups"]] == [[0, 0], [10, 10], [7, 8]]'
json '[s["num_from_file"] for s in d["splits"]] == [0, 0]'
run 0 "$FFINSPECT" duplicates dst --across --distance 0 --limit 1 -o text
no_out
check grep -q '^group 1: 2, equal, across splits$' text
check grep -Eq '^\.\.\. [0-9] groups? more; --limit 0 shows all$' text
check ! grep -q 'val 7' text
run 0 "$FFINSPECT" duplicates dst/val
check test "$(head -1 .stdout)" = 'val: 14 records: 2 are like another one of the split; 4 with too little content for a hash, compared by bytes'

# A choice of records; numbers are those of the whole split.
run 0 "$FFINSPECT" duplicates dst --where "id in {'a/00.ppm', 'a/07.ppm', 'a/08.ppm'}" --json
json '[[(r["split"], r["record"]) for r in g["records"]] for g in d["groups"]] == [[("train", 0), ("val", 0)], [("val", 7), ("val", 8)]]'
json '[s["num_from_file"] for s in d["splits"]] == [3, 3]'
printf '8\n7\n8\n' >numbers
run 0 "$FFINSPECT" duplicates dst --split val --indices numbers --json
json '[[r["record"] for r in g["records"]] for g in d["groups"]] == [[7, 8]]'

# What stays: of val what train lacks, and each once.
run 0 "$FFINSPECT" duplicates dst --split val --split train --keep keep.txt
check test "$(tr '\n' ' ' <keep.txt)" = '6 7 9 11 12 13 '
run 0 "$FFINSPECT" duplicates dst --split val --indices keep.txt
out '^val: 6 records: 0 are like another one'
run 0 "$FFINSPECT" duplicates dst --split val --keep keep.txt
check test "$(wc -l <keep.txt)" = 13

# Side files: damaged, cut, another's, of no use, not writable. The answer is the same.
hashes=(cache/ffkit/hashes/*-pictures1.hashes)
check test ${#hashes[@]} = 2
same_answer() {
  run 0 "$FFINSPECT" duplicates dst --json "$@"
  check python3 -c 'import json, sys
a, b = (json.load(open(f)) for f in ("whole.json", sys.argv[1]))
for d in (a, b):
  d["notes"] = []
  for s in d["splits"]: s["num_from_file"] = 0
sys.exit(a != b)' .stdout
}
for at in 0 20 63 64 90 16400 16450; do
  python3 -c 'import sys
data = bytearray(open(sys.argv[1], "rb").read())
data[int(sys.argv[2])] ^= 8
open(sys.argv[1], "wb").write(data)' "${hashes[0]}" $at
  same_answer
  json 'sum(s["num_from_file"] for s in d["splits"]) == 14'
  same_answer
  json 'sum(s["num_from_file"] for s in d["splits"]) == 28'
done
truncate -s 9000 "${hashes[0]}"
same_answer
cp "${hashes[1]}" "${hashes[0]}"
same_answer
json 'sum(s["num_from_file"] for s in d["splits"]) == 14'
run 0 "$FFINSPECT" duplicates dst --hashes mine
no_err
check test "$(ls mine | wc -l)" = 2
check cmp "mine/${hashes[0]##*/}" "${hashes[0]}"
touch file
same_answer --hashes file/folder
json 'len(d["notes"]) == 2 and all("hashes are not kept: file/folder" in n for n in d["notes"])'
run 0 env XDG_CACHE_HOME= HOME= "$FFINSPECT" duplicates dst
no_err
# Another process writes the file: this one does its work without it.
rm "${hashes[0]}"
flock "${hashes[1]}" sleep 0  # the tool is there
cp "${hashes[1]}" saved && rm "${hashes[1]}" && touch "${hashes[1]}"
exec 9<>"${hashes[1]}" && flock -x 9
same_answer
json 'len(d["notes"]) == 1 and "another process" in d["notes"][0]'
exec 9>&-

# Killed in the middle: what was hashed stays, and the answer is that of an undisturbed search.
run 0 "$FFCONVERT" demo many --images 1100 --val-images 0 --size 128 --order sequential --quiet
run 0 "$FFINSPECT" duplicates many --json --hashes undisturbed
cp .stdout whole.json
name=$(ls undisturbed)
"$FFINSPECT" duplicates many --hashes killed >.out 2>.err &
pid=$!
while kill -0 $pid 2>.err && [ "$(stat -c %s "killed/$name" 2>.err || echo 0)" -le 64 ]; do sleep 0.002; done
kill -9 $pid 2>.err
wait $pid 2>.err
check test -e "killed/$name"
run 0 "$FFINSPECT" duplicates many --json --hashes killed
cp .stdout second.json
check python3 -c 'import json
a, b = (json.load(open(f)) for f in ("whole.json", "second.json"))
print("hashes that were kept:", b["splits"][0].pop("num_from_file"))
a["splits"][0].pop("num_from_file")
assert a == b'
check cmp "killed/$name" "undisturbed/$name"

# A JPEG in one split and its dct code in another are the same file.
pictures jpegs/train/a 6
pictures jpegs/val/a 4
run 0 "$FFCONVERT" folder --classes classes.txt jpegs both --order sequential --quiet
run 0 "$FFCONVERT" folder --classes classes.txt jpegs coded --order sequential --store dct --quiet
rm -r both/val && cp -r coded/val both/val
for exact in '' --exact; do
  run 0 "$FFINSPECT" duplicates both $exact --json
  json 'sorted(sorted((r["split"], r["record"]) for r in g["records"]) for g in d["groups"] if g["across"] and g["exact"]) == [[("train", i), ("val", i)] for i in range(4)]'
done

# Broken pictures are compared by their bytes, and said; records that cannot be read as well.
rm -r src/train && mkdir -p src/train/a && mv src/val/a/0[0-9].* src/train/a && rm -r src/val
head -c 3000 jpegs/train/a/0000.jpg >src/train/a/junk0.jpg
head -c 700 jpegs/train/a/0001.jpg >src/train/a/junk1.jpg
cp src/train/a/junk1.jpg src/train/a/junk2.jpg
run 0 "$FFCONVERT" folder --classes classes.txt src broken --order sequential --bad-samples keep --quiet
run 1 "$FFINSPECT" duplicates broken
no_err
out '^train: 13 records: [24] are like another one of the split; [23] with a picture that cannot be decoded, compared by bytes$'
out "^  broken/train/shard-00000.ffr: record 1[12]: truncated JPEG"
run 1 "$FFINSPECT" duplicates broken --json
json '[[r["record"] for r in g["records"]] for g in d["groups"]] == [[7, 8], [11, 12]] and d["splits"][0]["num_from_file"] == 13'
python3 - <<'PYTHON'
data = bytearray(open('broken/train/shard-00000.ffr', 'rb').read())
data[data.index(b'P6 160') + 30] ^= 1
open('broken/train/shard-00000.ffr', 'wb').write(data)
PYTHON
run 1 "$FFINSPECT" duplicates broken --hashes other --json
json 'd["splits"][0]["num_damaged"] == 1 and "record 0" in d["splits"][0]["problems"][0] and "CRC" in d["splits"][0]["problems"][0]'
# It is looked at again when somebody may have replaced it.
run 1 "$FFINSPECT" duplicates broken --hashes other --json
json 'd["splits"][0]["num_from_file"] == 0'
run 1 "$FFINSPECT" duplicates broken --hashes off
out '; 1 DAMAGED, not compared$'

# Other fields, records without pictures, several pictures.
run 0 "$FFINSPECT" duplicates dst --split val --field label --json
json 'len(d["notes"]) == 1 and "compared by its bytes" in d["notes"][0] and [len(g["records"]) for g in d["groups"]] == [14]'
run 0 "$FFINSPECT" duplicates dst --split val --field label --limit 3
check test "$(grep -c '^  val ' .stdout)" = 3
out '^  \.\.\. and 11 records$'
mkdir sayings && printf '{"text": "a"}\n{"text": "b"}\n{"text": "a"}\n' >sayings/train.jsonl
run 0 "$FFCONVERT" jsonl sayings lines --order sequential --quiet
run 0 "$FFINSPECT" duplicates lines
err '^note: train: has no pictures; records are compared by all of their bytes, including ids$'
check "$MAKE_NUSCENES" drives
run 0 "$FFINSPECT" duplicates drives --hashes off
err "^note: mini_val: field 'CAM_FRONT/image' is compared, not CAM_FRONT_RIGHT/image, .*; choose another with --field$"
out '^mini_val: 6 records: 5 are like another one of the split$'
out '^mini_val_sweeps: 8 records: .*; 8 whose field is null, not compared$'

run 1 "$FFINSPECT" duplicates dst --field depth
one_line_err "^ffinspect: error: .*depth"
run 1 "$FFINSPECT" duplicates dst --keep keep.txt
one_line_err '^ffinspect: error: dst: has several splits; name the split for --keep with --split$'
run 1 "$FFINSPECT" duplicates dst --split val --split val
one_line_err "split 'val' is given twice"
run 1 "$FFINSPECT" duplicates dst --split val --output dst/val/manifest.json
one_line_err 'manifest.json'
run 2 "$FFINSPECT" duplicates dst --distance 17
run 2 "$FFINSPECT" duplicates dst --distance 4 --exact

# Real pictures: 20 of the 100 are training pictures.
[ -n "$FFKIT_SHARED_DATA" ] || skip 'FFKIT_SHARED_DATA is not set; tested up to: made pictures'
run 0 "$FFCONVERT" imagenet "$FFKIT_SHARED_DATA/imagenet" imagenet --quiet
run 0 "$FFINSPECT" duplicates imagenet
check test "$(head -1 .stdout)" = '20 of 100 records of val are also in train'
run 0 "$FFINSPECT" duplicates imagenet --json
json 'd["num_groups"] == 20 and d["num_across"] == 20 and all(g["exact"] for g in d["groups"])'
# Encoded anew and smaller in one split, they are the same 20.
run 0 "$FFCONVERT" imagenet "$FFKIT_SHARED_DATA/imagenet" smaller --short-side 128 --jpeg-quality 50 --quiet
rm -r imagenet/val && cp -r smaller/val imagenet/val
run 0 "$FFINSPECT" duplicates imagenet --json
json 'd["num_groups"] == 20 and d["num_across"] == 20 and all(len(g["records"]) == 2 and not g["exact"] for g in d["groups"])'
