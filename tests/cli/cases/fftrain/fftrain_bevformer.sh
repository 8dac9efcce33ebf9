# BEVFormer from a made-up nuScenes set to NDS: training, kill, resume, processes, evaluation,
# results for ffeval and ffinspect.
run 0 "$FFCONVERT" demo data --kind nuscenes --scenes 3 --val-scenes 3 --frames 3 --size 64 --quiet
options=(--data data --arch micro --optimizer adamw --lr 1e-3 --global-batch-size 2 --epochs 2 --log-every 1 --compute-threads 1)

# Its task is found by the schema, and its options stand under their own headings.
run 0 "$FFTRAIN" --task bevformer --help
out '^Network \(task bevformer\):$'
out '--queue-length INT'
run 0 "$FFTRAIN" "${options[@]}" --work-dir whole
out '^[0-9]+ of 9 keyframes have objects to train on$'
out '^epoch 2/2  train loss [0-9.]+  val NDS [0-9.]+ %  mAP [0-9.]+ %  mATE [0-9.]+  mASE .*  lr '
check grep -q '"kind":"validation".*"nds":.*"map":.*"mate":.*"maae":.*"keyframes":9' whole/metrics.jsonl
check grep -Fxq 'task = "bevformer"' whole/config.toml

# Stopped within an epoch and continued: the same bytes. Frames, distortion, grids and orders are
# drawn from the seed alone.
run 0 "$FFTRAIN" "${options[@]}" --work-dir cut --epochs 1
run 0 "$FFTRAIN" "${options[@]}" --work-dir cut --resume
"$FFTRAIN" "${options[@]}" --work-dir stopped >out 2>err &
trainer=$!
await has_lines stopped/metrics.jsonl 2
kill -USR1 $trainer
wait $trainer
check test $? = 75
run 0 "$FFTRAIN" "${options[@]}" --work-dir stopped --resume
check cmp whole/epoch-0002.safetensors stopped/epoch-0002.safetensors
# A run of one epoch had another schedule; it continues all the same.
check test -e cut/epoch-0002.safetensors

# Two processes do what one does with all keyframes, batch norm over both. A learning rate that is a
# tenth larger is noticed.
steps=("${options[@]}" --sync-bn --epochs 1 --limit-batches 3)
run 0 "$FFTRAIN" "${steps[@]}" --work-dir alone
run 0 "$FFTRAIN" "${steps[@]}" --work-dir both --nproc 2
check python3 "$cli_folder/compare_losses.py" alone/metrics.jsonl both/metrics.jsonl 1e-4
run 0 "$FFTRAIN" "${steps[@]}" --lr 0.0011 --work-dir larger
check ! python3 "$cli_folder/compare_losses.py" alone/metrics.jsonl larger/metrics.jsonl 1e-4

# An evaluation gives each keyframe once, for any number of processes: also for more than there are
# scenes.
run 1 "$FFTRAIN" --evaluate whole --results one.jsonl --compute-threads 1
one_line_err 'one.jsonl: must end in .json$'
no_out
run 0 "$FFTRAIN" --evaluate whole --results one.json --compute-threads 1
nds=$(sed -n 's/^val NDS \([0-9.]*\) %.*/\1/p' "$work/.stdout")
run 0 "$FFTRAIN" --evaluate whole --results three.json --nproc 3 --compute-threads 1
out "^\[0\] val NDS $nds %.* 9 keyframes$"
run 0 "$FFTRAIN" --evaluate whole --results four.json --nproc 4 --compute-threads 1
run 0 python3 - <<'PYTHON'
import json

one, three, four = (json.load(open(f"{name}.json")) for name in ("one", "three", "four"))
assert one["meta"]["use_camera"] and not one["meta"]["use_lidar"]
assert len(one["results"]) == 9 and one["results"].keys() == three["results"].keys() == four["results"].keys()
for token, boxes in one["results"].items():
    assert len(boxes) == len(three["results"][token]), token
    for a, b in zip(boxes, three["results"][token]):
        assert a["detection_name"] == b["detection_name"] and abs(a["detection_score"] - b["detection_score"]) < 1e-5
PYTHON
# ffeval and ffinspect read the file, and NDS is the same.
run 0 "$FFEVAL" nuscenes data --split val --results one.json
out "^NDS: $(python3 -c "print(f'{$nds / 100:.4f}')")$"
run 0 "$FFINSPECT" view data --split val --record 1 --results one.json --output view.png
check test -s view.png

# Weights alone go out, and come back.
run 0 "$FFTRAIN" --export whole --output weights.pth
run 0 "$FFTRAIN" --evaluate weights.pth --data data --task bevformer --arch micro --compute-threads 1
out "^val NDS $nds %"

# The result after overfitting, and splits of v1.0-mini's names.
mkdir mini
for split in train val; do ln -s ../data/$split mini/mini_$split; done
run 0 "$FFTRAIN" --evaluate whole --data mini --val-split train --compute-threads 1
out '^val NDS .* 9 keyframes$'
run 1 "$FFTRAIN" --evaluate whole --data mini --val-split test --compute-threads 1
one_line_err "mini: there is no split 'test'; the splits are mini_train, mini_val"

# A backbone from a detector.
run 0 "$FFTRAIN" "${steps[@]}" --backbone-weights weights.pth --work-dir begun
check ! python3 "$cli_folder/compare_losses.py" alone/metrics.jsonl begun/metrics.jsonl 1e-4

# Rare classes more often, keyframes without objects, recomputation, and half precision.
run 0 "$FFTRAIN" "${options[@]}" --class-balanced --limit-batches 1 --epochs 1
out '^class-balanced: [0-9]+ keyframes in an epoch; with each class, before and after$'
out '^  car +[0-9]+ +[0-9]+$'
run 0 "$FFTRAIN" "${options[@]}" --empty-frames --amp bf16 --queue-length 1 --limit-batches 1 --epochs 1 --eval-every 2
out '^epoch 1/1  train loss [0-9.]+  val NDS'
# With float16 the first gradients overflow: their step is left out, and the scale of the loss is
# halved.
run 0 "$FFTRAIN" "${options[@]}" --amp fp16 --queue-length 1 --limit-batches 1 --epochs 1 --work-dir halves
out '^epoch 1/1  train loss [0-9.]+  val NDS .*  1 steps left out \(overflow\)$'
run 0 python3 - <<'PYTHON'
import json, struct

file = open("halves/epoch-0001.safetensors", "rb")
size = struct.unpack("<Q", file.read(8))[0]
first, _ = json.loads(file.read(size))["scaler.scale"]["data_offsets"]
file.seek(8 + size + first)
assert struct.unpack("<f", file.read(4))[0] == 32768
PYTHON

# Mistakes are one sentence before training starts.
run 1 "$FFTRAIN" "${options[@]}" --global-batch-size 100
one_line_err 'data/train: the split has 9 keyframes to train on, but one training step needs 100 keyframes; give a smaller --batch-size$'
run 1 "$FFTRAIN" "${options[@]}" --recompute
one_line_err '--recompute is on; it must be off with --arch micro'
run 1 "$FFTRAIN" "${options[@]}" --arch tiny --backbone-weights weights.pth
one_line_err "weights.pth: the tensor 'conv1.weight' is .*\\[32, 3, 7, 7\\], but the model needs .*\\[64, 3, 7, 7\\]; give other weights, another --arch"
run 1 "$FFTRAIN" --evaluate weights.pth --data data --task bevformer --arch tiny
one_line_err "weights.pth: the tensor .img_backbone.conv1.weight. is .*, but the model needs .*; give other weights, another --arch"
run 0 "$FFCONVERT" demo pictures --classes 3 --images 9 --val-images 3 --size 32 --quiet
run 1 "$FFTRAIN" --task bevformer --data pictures --arch micro
one_line_err "pictures/train: the data set has no field 'scene'; BEVFormer trains on nuScenes' keyframes with six cameras"
run 0 "$FFCONVERT" demo --kind nuscenes made --root root --scenes 1 --val-scenes 1 --frames 2 --size 64 --quiet
run 0 "$FFCONVERT" nuscenes root two-cameras --cameras CAM_FRONT,CAM_BACK --quiet
run 1 "$FFTRAIN" --task bevformer --data two-cameras --arch micro
one_line_err "two-cameras/train: the data set has no field 'CAM_FRONT_RIGHT/image'; BEVFormer trains on"

# A split without annotations, as nuScenes' test split: there is nothing to compare with, and the
# results are written all the same.
for table in sample_annotation instance; do for folder in root/v1.0-*; do echo '[]' >"$folder/$table.json"; done; done
run 0 "$FFCONVERT" nuscenes root without-boxes --quiet
run 0 "$FFTRAIN" --evaluate whole --data without-boxes --results unseen.json --nproc 2 --compute-threads 1
out "^\[0\] without-boxes/val has no annotations, like the test split, so there is no metric; the results of 2 keyframes are in unseen.json$"
check python3 -c 'import json; assert len(json.load(open("unseen.json"))["results"]) == 2'
run 1 "$FFTRAIN" --evaluate whole --data without-boxes --compute-threads 1
one_line_err 'without-boxes/val has no annotations, like the test split; give --evaluate with --results FILE to write the predictions$'
run 1 "$FFTRAIN" "${options[@]:2}" --data without-boxes --empty-frames
one_line_err 'without-boxes/val: has no annotations for a validation, like the test split; give another --val-split$'
