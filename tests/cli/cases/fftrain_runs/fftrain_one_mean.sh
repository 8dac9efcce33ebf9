# A step has one mean, however it is cut into batches and processes: sums of all losses over sums of
# what the samples weigh.
tolerance=(1e-5)
one_mean() {  # NAME OPTIONS...
  local name=$1
  shift
  run 0 "$FFTRAIN" "$@" --work-dir "$name-one"
  run 0 "$FFTRAIN" "$@" --work-dir "$name-four" --accumulate 4
  check python3 "$cli_folder/compare_losses.py" "$name-one/metrics.jsonl" "$name-four/metrics.jsonl" "${tolerance[@]}"
  run 0 "$FFTRAIN" "$@" --work-dir "$name-two" --accumulate 2 --nproc 2
  check python3 "$cli_folder/compare_losses.py" "$name-one/metrics.jsonl" "$name-two/metrics.jsonl" "${tolerance[@]}"
}
common=(--epochs 1 --log-every 1 --compute-threads 1 --eval-every 9)

# Documents of other lengths. (Of data without --data before them the task is found, too.)
python3 - <<'PYTHON'
import os
for split, count in (("train", 64), ("val", 2)):
    os.makedirs(f"corpus/{split}")
    for i in range(count):
        with open(f"corpus/{split}/{i:02}.txt", "w") as file:
            file.write("the old tower sees a red river"[: 1 + i * 7 % 24])
PYTHON
run 0 "$FFCONVERT" text corpus tokens --tokenizer bytes --quiet
documents=(tokens --samples documents --layers 2 --heads 2 --width 16 --positions 32 --dropout 0 --context 24 --optimizer adamw --lr 1e-2
  --clip-grad-norm 1 --global-batch-size 16 "${common[@]}")
one_mean documents "${documents[@]}"
# A network in parts, and batches in pieces.
for parts in "--tensor-parallel 2" "--pipeline-parallel 2 --micro-batches 4"; do
  run 0 "$FFTRAIN" "${documents[@]}" $parts --nproc 4 --accumulate 2 --work-dir "documents$parts"
  check python3 "$cli_folder/compare_losses.py" documents-one/metrics.jsonl "documents$parts/metrics.jsonl" 1e-5
done

# Classes of other weights; the head alone is trained, for batch norm is of a batch.
run 0 "$FFCONVERT" demo data --classes 4 --images 64 --val-images 4 --size 32 --quiet
pictures=(--data data --arch resnet18 --freeze backbone --image-size 32 --crop-scale 1 1 --global-batch-size 16 --lr 0.1 "${common[@]}")
python3 -c 'import json
for name, weight in zip(json.load(open("data/train/manifest.json"))["classes"], (1, 0, 5, 20)): print(name, weight)' >weights.txt
one_mean weights "${pictures[@]}" --class-weights weights.txt --label-smoothing 0.1
# Batches of one picture, some of which weigh nothing.
for cut in "--accumulate 16" "--accumulate 8 --nproc 2"; do
  run 0 "$FFTRAIN" "${pictures[@]}" --class-weights weights.txt --label-smoothing 0.1 $cut --work-dir "weights$cut"
  check python3 "$cli_folder/compare_losses.py" weights-one/metrics.jsonl "weights$cut/metrics.jsonl" 1e-5
done
# At one picture a batch weights mean something, and a step of pictures that weigh nothing is none.
run 0 "$FFTRAIN" "${pictures[@]}" --class-weights weights.txt --global-batch-size 1
check ! grep -q 'nan' "$work/.stdout"
run 0 "$FFTRAIN" "${pictures[@]}" --work-dir alike --limit-batches 3
check ! python3 "$cli_folder/compare_losses.py" <(head -3 weights-one/metrics.jsonl) alike/metrics.jsonl 1e-2

# Keyframes with other numbers of objects, and persons. What has a batch norm is frozen.
run 0 "$FFCONVERT" demo scenes --kind nuscenes --scenes 3 --val-scenes 1 --frames 6 --size 64 --quiet
one_mean keyframes --data scenes --arch micro --freeze img_backbone --empty-frames --optimizer adamw --lr 1e-3 --clip-grad-norm 1 --global-batch-size 4 "${common[@]}"
run 0 "$FFCONVERT" demo people --kind pose --images 32 --val-images 4 --size 64 --quiet
tolerance=(1e-6 --relative)  # thousands of mm
one_mean persons --data people --arch micro --image-size 32 --freeze 'backbone.*,root.deconv_layers' --optimizer adamw --weight-decay 0 --lr 1e-3 --clip-grad-norm 1 \
  --global-batch-size 8 "${common[@]}"
# Weights whose products are no numbers of 32 bits.
sed 's/ .*/ 1e-40/' weights.txt >tiny.txt
run 1 "$FFTRAIN" "${pictures[@]}" --class-weights tiny.txt
one_line_err "the weight of the class 'class0000' is 1e-40, but it must be 0 or between 1e-12 and 1e12"
