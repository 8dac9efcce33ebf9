# Predictions of a data set, of one without labels and of a folder of pictures; mistakes and
# confusions as tables and pictures.
run 0 "$FFCONVERT" demo data --classes 4 --images 96 --val-images 40 --size 32 --quiet
run 0 "$FFTRAIN" --data data --arch mobilenet_v3_small --image-size 32 --eval-resize 32 --batch-size 16 --compute-threads 1 --epochs 3 --lr 0.02 --work-dir run
accuracy=$(sed -n 's/^epoch 3.*top-1 \([0-9.]*\) %.*/\1/p' .stdout)

# As the validation of the training has it.
run 0 "$FFTRAIN" --evaluate run/last --results val.jsonl --confusion confusion.json
cp .stdout evaluated
check grep -Eq '^class +pictures  accuracy  precision  most often taken for$' evaluated
check python3 -c 'import json, sys
lines = [json.loads(l) for l in open("val.jsonl")]
assert [l["record"] for l in lines] == list(range(40))
right = sum(l["class"] == l["label"] for l in lines)
assert abs(100 * right / 40 - float(sys.argv[1])) < 0.01, right
assert all(abs(sum(t["score"] for t in l["top"]) - 1) < 1e-6 and len(l["top"]) == 4 for l in lines)
assert all(l["top"][0]["class"] == l["class"] and l["top"][0]["score"] == l["score"] for l in lines)
assert all("/" in l["id"] for l in lines)
m = json.load(open("confusion.json"))
assert sum(map(sum, m["matrix"])) == 40 and sum(m["matrix"][i][i] for i in range(4)) == right
for name, row, figures in zip(m["classes"], m["matrix"], m["per_class"]):
    assert sum(row) == figures["pictures"] == sum(l["label"] == name for l in lines)' "$accuracy"
run 0 "$FFINSPECT" plot confusion.json --output confusion.png
check test -s confusion.png
run 1 "$FFINSPECT" plot val.jsonl --output no.png
one_line_err 'val.jsonl: is not a confusion matrix as fftrain --evaluate RUN --confusion FILE.json writes it'
run 0 "$FFTRAIN" --evaluate run --confusion confusion.csv
check test "$(wc -l <confusion.csv)" = 5

# The mistakes, most confident first.
run 0 "$FFINSPECT" view data --split val --results val.jsonl --wrong --count 5 --output wrong.png --json
json 'all(s["class"] != s["found_class"] for s in d["samples"]) and [s["score"] for s in d["samples"]] == sorted((s["score"] for s in d["samples"]), reverse=True)'
run 1 "$FFINSPECT" view data --split train --results val.jsonl --wrong --output wrong.png
one_line_err 'val.jsonl: line 1 names record 0, .*, which data/train does not have; give the split that was predicted'

# Two processes write what one writes; another split; csv.
run 0 "$FFTRAIN" --predict run --data data --results one.jsonl
run 0 "$FFTRAIN" --predict run --data data --results two.jsonl --nproc 2 --batch-size 7
check python3 -c 'import json
a, b = ([json.loads(l) for l in open(f)] for f in ("one.jsonl", "two.jsonl"))
assert [l["class"] for l in a] == [l["class"] for l in b] and len(a) == 40
assert all(abs(x["score"] - y["score"]) < 1e-4 for x, y in zip(a, b))'
run 0 "$FFTRAIN" --predict run --data data --val-split train --results train.csv
check test "$(wc -l <train.csv)" = 97

# The same pictures as files, not converted: the same predictions.
run 0 "$FFINSPECT" export data files --split val
echo notes >files/val/readme.txt
run 0 "$FFTRAIN" --predict run --data files/val --results files.jsonl
err 'files/val: 1 files, such as readme.txt, are left out, because their names are not names of pictures$'
out '^there are no labels, so there is no metric; the results of 40 images are in files.jsonl$'
check python3 -c 'import json
a = {l["id"]: l for l in map(json.loads, open("one.jsonl"))}
b = {l["id"]: l for l in map(json.loads, open("files.jsonl"))}
assert a.keys() == b.keys(), (sorted(a)[:3], sorted(b)[:3])
assert all("label" not in l for l in b.values())
assert all(a[k]["class"] == b[k]["class"] and abs(a[k]["score"] - b[k]["score"]) < 1e-4 for k in a)'
run 0 "$FFTRAIN" --predict run --data files/val --results again.jsonl --nproc 2
check test "$(wc -l <again.jsonl)" = 40
# One picture; kinds that are not read.
one=$(find files/val -name '*.jpg' | sort | head -1)
run 0 "$FFTRAIN" --predict run --data "$one" --results one-picture.jsonl
check test "$(wc -l <one-picture.jsonl)" = 1
printf 'II*\0' >files/val/scan.tiff
run 0 "$FFTRAIN" --predict run --data files/val --results tiff.jsonl
err 'files/val: 1 pictures, such as scan.tiff, are left out, because ffkit does not read their format; save them as PNG or JPEG; 1 files, such as .*, are left out'
run 1 "$FFTRAIN" --predict run --data files/val/scan.tiff --results scan.jsonl
one_line_err 'scan.tiff: the picture is a TIFF, .*; save it as PNG or JPEG'
rm files/val/scan.tiff
# Standard output stays empty.
run 0 "$FFTRAIN" --evaluate run --quiet
no_out
echo broken >files/val/broken.jpg
run 1 "$FFTRAIN" --predict run --data files/val --results broken.jsonl
err 'files/val/broken.jpg: '
check test ! -e broken.jsonl
run 0 "$FFTRAIN" --predict run --data files/val --results skipped.jsonl --bad-samples skip
err 'files/val/broken.jpg: .*; it is left out$'
check test "$(wc -l <skipped.jsonl)" = 40

# Weights alone; other classes than the model's; what is none.
run 0 "$FFTRAIN" --export run --output weights.pth
run 0 "$FFTRAIN" --predict weights.pth --arch mobilenet_v3_small --image-size 32 --eval-resize 32 --data data --results weights.jsonl
check test "$(wc -l <weights.jsonl)" = 40
run 0 "$FFCONVERT" demo other --classes 7 --images 14 --val-images 7 --size 32 --quiet
run 0 "$FFTRAIN" --predict run --data other --results other.jsonl
err "the 7 classes of this data set differ from the 4 classes of the model \(class [0-9]+ is .*\), so ffkit ignores the labels of this data set$"
mkdir nothing
run 1 "$FFTRAIN" --predict run --data nothing --results no.jsonl
one_line_err 'nothing: contains neither a data set nor pictures$'
run 1 "$FFTRAIN" --predict run --data data --results no.txt
one_line_err 'no.txt: must end in .jsonl or .csv$'
run 2 "$FFTRAIN" --predict run --results no.jsonl
one_line_err 'data'
run 2 "$FFTRAIN" --data data --results no.jsonl
one_line_err 'results'

# What exported weights say goes on with them, and how they want pictures is compared.
run 0 "$FFTRAIN" --export run --output exported.safetensors
run 0 "$FFTRAIN" --export exported.safetensors --output again.pth
check test -s again.pth.json
run 0 "$FFTRAIN" --evaluate exported.safetensors --arch mobilenet_v3_small --data data
err 'the pictures of the model were prepared as .*, but here the pictures are prepared as .*"size":224'
