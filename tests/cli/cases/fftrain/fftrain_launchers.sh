[ -n "${FFTRAIN:-}" ] || skip "built without the trainer"
torchrun=
[ -n "${FFKIT_REFERENCE_PYTHON:-}" ] && torchrun=$(dirname "$FFKIT_REFERENCE_PYTHON")/torchrun
run 0 "$FFCONVERT" demo data --classes 4 --images 48 --val-images 8 --size 32 --quiet
options=(--data data --arch resnet18 --image-size 32 --batch-size 8 --lr 0.01 --compute-threads 1)
tested=
if command -v mpirun >/dev/null; then
  run 0 mpirun --allow-run-as-root --oversubscribe -np 2 "$FFTRAIN" "${options[@]}" --epochs 1
  out '^epoch 1/1'
  check test "$(grep -c '^epoch' "$work/.stdout")" = 1
  tested+=" mpirun"
fi
if [ -x "$torchrun" ]; then
  # A worker that is killed: torchrun starts all of them again, and they go on from the last checkpoint.
  "$torchrun" --standalone --nproc-per-node 2 --max-restarts 1 --no-python "$FFTRAIN" "${options[@]}" --epochs 8 --work-dir run --resume >out 2>err &
  for _ in {1..1200}; do [ -e run/epoch-0002.safetensors ] && break; sleep 0.05; done
  check test -e run/epoch-0002.safetensors
  kill -9 "$(pgrep -P $! | tail -1)"
  check wait $!
  check grep -q '^going on from run/epoch-' out
  check test -e run/epoch-0008.safetensors
  tested+=" torchrun"
fi
[ -n "$tested" ] || skip "neither mpirun nor a Python with torchrun (FFKIT_REFERENCE_PYTHON) is here"
