# The lines of a training are for people: where they cannot be written the training goes on. Those of an evaluation or a measurement are what was asked for.
[ -n "${FFTRAIN:-}" ] || skip "built without the trainer"
run 0 "$FFCONVERT" demo data --classes 4 --images 16 --val-images 16 --size 32 --quiet
options=(--data data --arch resnet18 --image-size 32 --batch-size 8 --compute-threads 1)

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
