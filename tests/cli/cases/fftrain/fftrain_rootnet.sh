# RootNet from made-up people to MRPE: training, resume, processes, precision, evaluation, results
# for ffeval, weights as published.
[ "${WITH_DRAWING:-ON}" = ON ] || skip "built without what ffinspect draws with"
run 0 "$FFCONVERT" demo data --kind pose --images 24 --val-images 9 --size 64 --quiet
options=(--data data --arch micro --image-size 32 --optimizer adamw --weight-decay 0 --lr 1e-3 --global-batch-size 8 --epochs 2 --log-every 1 --compute-threads 1)

# Its task is found by the schema, and its options stand under their own headings.
run 0 "$FFTRAIN" --task rootnet --help
out '^Persons \(task rootnet\):$'
run 0 "$FFTRAIN" "${options[@]}" --work-dir whole
out '^epoch 2/2  train loss [0-9.]+  val MRPE [0-9.]+  x [0-9.]+  y [0-9.]+  z [0-9.]+  AP [0-9.]+ %  lr '
check grep -q '"kind":"validation".*"mrpe":.*"mrpe_z":.*"ap":.*"persons":9' whole/metrics.jsonl
check grep -Fxq 'task = "rootnet"' whole/config.toml

# Continued: the same bytes. Crops and orders are drawn from the seed alone.
run 0 "$FFTRAIN" "${options[@]}" --work-dir cut --epochs 1 --lr-schedule constant
run 0 "$FFTRAIN" "${options[@]}" --work-dir whole2 --lr-schedule constant
run 0 "$FFTRAIN" "${options[@]}" --work-dir cut --resume --lr-schedule constant
check cmp whole2/epoch-0002.safetensors cut/epoch-0002.safetensors

# Two processes do what one does with all persons, batch norm over both; losses are of thousands of
# mm. A learning rate that is a tenth larger is noticed.
steps=("${options[@]}" --sync-bn --epochs 1)
run 0 "$FFTRAIN" "${steps[@]}" --work-dir alone
run 0 "$FFTRAIN" "${steps[@]}" --work-dir both --nproc 2
check python3 "$cli_folder/compare_losses.py" alone/metrics.jsonl both/metrics.jsonl 1e-6 --relative
run 0 "$FFTRAIN" "${steps[@]}" --lr 0.0011 --work-dir larger
check ! python3 "$cli_folder/compare_losses.py" alone/metrics.jsonl larger/metrics.jsonl 1e-6 --relative

# An evaluation gives each person once, for any number of processes; ffeval has the same figures.
run 1 "$FFTRAIN" --evaluate whole --results one --compute-threads 1
one_line_err 'one: must end in .json$'
no_out
run 0 "$FFTRAIN" --evaluate whole --results one.json --compute-threads 1
mrpe=$(sed -n 's/^val MRPE \([0-9.]*\) .*/\1/p' "$work/.stdout")
run 0 "$FFTRAIN" --evaluate whole --results four.json --nproc 4 --compute-threads 1
out "^\[0\] val MRPE $mrpe .* 9 persons$"
run 0 python3 - <<'PYTHON'
import json

one, four = (json.load(open(f"{name}.json")) for name in ("one", "four"))
assert [p["image_id"] for p in one] == [p["image_id"] for p in four] and len(one) == 9
assert set(one[0]) == {"image_id", "root_cam", "bbox", "score"}
assert all(abs(a - b) < 0.5 for p, q in zip(one, four) for a, b in zip(p["root_cam"], q["root_cam"]))
PYTHON
run 0 "$FFEVAL" rootnet data --split val --results one.json --json
json "abs(d['mrpe']['total'] - $mrpe) < 0.06 and d['persons'] == 9 and d['ap'] is not None and not d['actions']"
run 0 "$FFEVAL" rootnet data --split val --results one.json
out "^MRPE >> tot: [0-9.]+, x: "
out "^AP_root: "
# Found roots beside the true ones, in what was cropped.
run 0 "$FFINSPECT" view data --split val --results one.json --output found.png --json
json "len(d['samples']) == 9 and abs(sum(s['distance'] for s in d['samples']) / 9 - $mrpe) < 0.06 and all(s['problem'] is None for s in d['samples'])"
check test -s found.png
run 0 "$FFINSPECT" view data --split val --record 4 --results one.json --output four.png --json
json "abs(d['samples'][0]['found_root'][2] - $(python3 -c 'import json; print(json.load(open("one.json"))[4]["root_cam"][2])')) < 1e-6"
run 2 "$FFINSPECT" view data --split val --results one.json --min-score 0.5 --output other.png
one_line_err '--min-score: has no effect on a split of persons; leave it out'
run 1 "$FFINSPECT" view data --split train --results one.json --output other.png
one_line_err 'one.json: '
check test ! -e other.png

# Half precision, the profile and the bottleneck.
run 0 "$FFTRAIN" "${options[@]}" --epochs 1 --amp bf16
run 0 "$FFTRAIN" "${options[@]}" --epochs 1 --amp fp16 --loss-scale 128 --work-dir halves
run 0 "$FFTRAIN" "${options[@]}" --dummy --epochs 1 --limit-batches 2

# Weights go out as published, and come back.
run 0 "$FFTRAIN" --export whole --output snapshot_1.pth.tar
run 0 "$FFTRAIN" --evaluate snapshot_1.pth.tar --data data --task rootnet --arch micro --image-size 32 --compute-threads 1
out "^val MRPE $mrpe "
if [ -n "${FFKIT_REFERENCE_PYTHON:-}" ]; then
  run 0 "$FFKIT_REFERENCE_PYTHON" - <<'PYTHON'
import torch

snapshot = torch.load("snapshot_1.pth.tar", weights_only=True)
assert snapshot["epoch"] == 1, snapshot["epoch"]
names = list(snapshot["network"])
assert "module.backbone.layer1.0.conv1.weight" in names and "module.root.deconv_layers.7.running_var" in names and "module.root.depth_layer.bias" in names
torch.save({"epoch": 3, "network": snapshot["network"], "optimizer": {"state": {}}}, "snapshot_3.pth.tar")
PYTHON
  run 0 "$FFTRAIN" --evaluate snapshot_3.pth.tar --data data --task rootnet --arch micro --image-size 32 --compute-threads 1
  out "^val MRPE $mrpe "
fi
run 0 "$FFTRAIN" "${steps[@]}" --backbone-weights snapshot_1.pth.tar --work-dir begun
check ! python3 "$cli_folder/compare_losses.py" alone/metrics.jsonl begun/metrics.jsonl 1e-6 --relative

# Mistakes are one sentence before training starts.
run 1 "$FFTRAIN" "${options[@]}" --global-batch-size 100
one_line_err 'data/train: the split has 24 records, but one training step needs 100 records; give a smaller --batch-size$'
run 1 "$FFTRAIN" "${options[@]}" --image-size 40
one_line_err '--image-size is .*; it must be a multiple of 32 up to 4096, or 0'
run 1 "$FFTRAIN" "${options[@]}" --backbone-weights snapshot_1.pth.tar --arch resnet50
one_line_err "snapshot_1.pth.tar: the tensor 'conv1.weight' is .*, but the model needs .*; give other weights, another --arch"
run 0 "$FFCONVERT" demo pictures --classes 3 --images 9 --val-images 3 --size 32 --quiet
run 1 "$FFTRAIN" --task rootnet --data pictures --arch micro
one_line_err "pictures/train: the data set has no field 'box'; RootNet trains on records of persons"
head -c 300 one.json >cut.json
run 1 "$FFEVAL" rootnet data --split val --results cut.json
one_line_err 'cut.json: the file is not valid JSON'
python3 -c 'import json; d = json.load(open("one.json")); d[4]["image_id"] = 99; json.dump(d, open("other.json", "w")); json.dump(d[:3], open("few.json", "w"))'
run 1 "$FFEVAL" rootnet data --split val --results other.json
one_line_err 'other.json: entry 4 belongs to picture 99, but the split has no person in this picture'
run 1 "$FFEVAL" rootnet data --split val --results few.json
one_line_err 'few.json: the file has 3 entries, but the split has 9 persons'
run 1 "$FFEVAL" rootnet pictures --split val --results one.json
one_line_err "pictures/val: has no field 'box'; give a split of persons"
