run 0 "$FFCONVERT" demo data --classes 4 --images 96 --val-images 16 --size 32 --quiet
options=(--data data --arch convnext_tiny --image-size 32 --global-batch-size 16 --lr 0.002 --epochs 3 --log-every 1 --compute-threads 1)
run 0 "$FFTRAIN" "${options[@]}" --work-dir undisturbed --nproc 2

# SIGTERM within an epoch: a checkpoint of that moment, exit status 75; the same command goes on,
# with two processes, then one, then two.
preempt() {
  "$FFTRAIN" "${options[@]}" --work-dir stopped --resume "$@" >out 2>err &
  local trainer=$! step=$(wc -l < stopped/metrics.jsonl 2>/dev/null || echo 0)
  await has_lines stopped/metrics.jsonl $((step + 3))
  kill -TERM $trainer
  wait $trainer
  check test $? = 75
  check grep -q 'stopped on request after .*stopped/epoch-.*has all state: the same command with --resume continues' out
}
preempt --nproc 2
check test ! -e stopped/epoch-0003.safetensors
preempt
check grep -q 'continuing from stopped/epoch-' out
run 0 "$FFTRAIN" "${options[@]}" --work-dir stopped --resume --nproc 2
out 'continuing from stopped/epoch-.*safetensors'
check python3 "$cli_folder/compare_losses.py" undisturbed/metrics.jsonl stopped/metrics.jsonl 1e-4
# Nothing is left to do.
run 0 "$FFTRAIN" "${options[@]}" --work-dir stopped --resume
out '^the run is finished: 3 epochs'

# Stopped and gone on with the same processes: the same bits.
options=(--data data --arch mobilenet_v3_small --image-size 32 --batch-size 16 --lr 0.01 --log-every 1 --compute-threads 1)
run 0 "$FFTRAIN" "${options[@]}" --work-dir same --epochs 2
mkdir cut
"$FFTRAIN" "${options[@]}" --work-dir cut --epochs 2 >out 2>err &
trainer=$!
await has_lines cut/metrics.jsonl 3
kill -USR1 $trainer
wait $trainer
check test $? = 75
check test -n "$(ls cut | grep samples)"
run 0 "$FFTRAIN" "${options[@]}" --work-dir cut --epochs 2 --resume
check cmp same/epoch-0002.safetensors cut/epoch-0002.safetensors

# A damaged newest checkpoint: the one before it is taken, and that is said.
truncate -s -1000 cut/epoch-0002.safetensors
run 0 "$FFTRAIN" "${options[@]}" --work-dir cut --epochs 2 --resume
out 'cut/epoch-0002.safetensors: .*; this checkpoint is renamed to \*.damaged, and the previous one is used'
out 'continuing from cut/epoch-0001'
check cmp same/epoch-0002.safetensors cut/epoch-0002.safetensors
check test -e cut/epoch-0002.safetensors.damaged

# Every few moments by the clock.
run 0 "$FFTRAIN" "${options[@]}" --work-dir minutes --epochs 1 --checkpoint-minutes 0.0001 --keep-checkpoints 0
check test "$(ls minutes | grep -c samples)" -ge 2
