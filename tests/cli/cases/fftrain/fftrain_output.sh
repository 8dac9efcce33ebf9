# The lines of a training are for people: where they cannot be written the training goes on. Those
# of an evaluation or a measurement are what was asked for.
run 0 "$FFCONVERT" demo data --classes 4 --images 16 --val-images 16 --size 32 --quiet
options=(--data data --arch mobilenet_v3_small --image-size 32 --batch-size 8 --compute-threads 1)

# A pipe whose reader has ended, as a tee that was killed.
check mkfifo pipe
for processes in 1 2; do
  : <pipe &
  run 0 bash -c '"$FFTRAIN" "$@" >pipe' bash "${options[@]}" --epochs 2 --nproc $processes --device cpu --work-dir run-$processes
  no_err
  check test -e run-$processes/epoch-0002.safetensors
done
run 0 bash -c '"$FFTRAIN" "$@" >/dev/full' bash "${options[@]}" --epochs 3 --work-dir run-1 --resume
no_err
for mode in "--evaluate run-1 --nproc 2 --device cpu" "--evaluate run-1" "--benchmark --limit-batches 1"; do
  # shellcheck disable=SC2086
  run 1 bash -c '"$FFTRAIN" "$@" >/dev/full' bash "${options[@]}" $mode
  one_line_err '^fftrain: error: cannot write to standard output'
done
run 1 bash -c '"$FFTRAIN" --help >/dev/full'

# What is no terminal gets a line every so many steps, and no line that is drawn over.
run 0 "$FFTRAIN" "${options[@]}" --epochs 1 --log-every 1
out '^step 1/2 of epoch 1/1  loss [0-9.]+'
check test "$(grep -c '^step' "$work/.stdout")" = 2
check test "$(grep -c '^epoch' "$work/.stdout")" = 1
no_err
check ! grep -q $'\r' "$work/.stdout"
run 0 "$FFTRAIN" "${options[@]}" --epochs 1
check ! grep -q '^step' "$work/.stdout"  # 50 steps have not passed

# For programs: objects, also of several processes, of a run that has nothing left to do, of an
# evaluation and of a measurement.
kinds() {
  python3 -c 'import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
kinds = [line["kind"] for line in lines if line["kind"] != "note"]
sys.exit(kinds != sys.argv[2].split() or not eval(sys.argv[3]))' "$work/.stdout" "$1" "$2" || fail "has other lines than $1, of which $2"
}
json=("${options[@]}" --progress json --work-dir run-3)
run 0 "$FFTRAIN" "${json[@]}" --epochs 1 --log-every 1 --nproc 2 --batch-size 4
kinds "start train train validation epoch summary" 'lines[0]["steps"] == 2 and lines[0]["units"] == "images" and lines[-1]["state"] == "done" and lines[-1]["best_epoch"] == 1'
check test "$(grep -E '"kind":"(train|validation)"' "$work/.stdout")" = "$(cat run-3/metrics.jsonl)"
run 0 "$FFTRAIN" "${json[@]}" --epochs 1 --resume
kinds summary 'lines[-1]["state"] == "finished" and lines[-1]["checkpoint"].endswith("epoch-0001.safetensors")'
run 0 "$FFTRAIN" --data data --evaluate run-3 --progress json
kinds validation 'lines[-1]["images"] == 16 and 0 <= lines[-1]["top1"] <= 1'
run 0 "$FFTRAIN" "${options[@]}" --benchmark forward --limit-batches 1 --progress json
kinds "" 'len(lines) > 0'
run 2 "$FFTRAIN" "${options[@]}" --progress json --quiet
run 2 "$FFTRAIN" "${options[@]}" --progress yaml
