# kill -9 at any moment, of two processes that train together: what goes on takes the way of a run
# that was left alone.
run 0 "$FFCONVERT" demo data --classes 4 --images 64 --val-images 8 --size 32 --quiet
options=(--data data --arch mobilenet_v3_small --image-size 32 --batch-size 8 --lr 0.001 --epochs 6 --log-every 1 --compute-threads 1 --nproc 2)
run 0 "$FFTRAIN" "${options[@]}" --work-dir whole
# Four kills, each some steps further: while the processes meet, in the first epoch, and behind
# checkpoints. A run that ended before its kill would prove nothing.
two_workers() { workers=$(pgrep -P $launcher) && [ "$(wc -w <<<"$workers")" -ge 2 ]; }
for lines in 0 3 10 16; do
  "$FFTRAIN" "${options[@]}" --work-dir run --resume >out 2>err &
  launcher=$!
  await has_lines run/metrics.jsonl "$lines"
  await two_workers
  kill -9 $launcher $workers
  wait $launcher
  check test $? = 137
done
run 0 "$FFTRAIN" "${options[@]}" --work-dir run --resume
check python3 "$cli_folder/compare_losses.py" whole/metrics.jsonl run/metrics.jsonl 1e-4
check test -e run/epoch-0006.safetensors
check bash -c '! ls run | grep -q tmp'
