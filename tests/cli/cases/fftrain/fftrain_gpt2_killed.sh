# kill -9 of one process of a mesh, at a step, while a checkpoint in parts may be under way: the
# others end with a sentence each, and the run goes on to the same losses.
mkdir -p corpus/train corpus/val
for i in {1..30}; do printf 'the old tower %s sees the river and %s houses\n' "$i" "$((i * i))" >"corpus/train/$i.txt"; done
cp corpus/train/{1,2,3}.txt corpus/val
run 0 "$FFCONVERT" text corpus tokens --tokenizer bytes --quiet
options=(--data tokens --task gpt2 --layers 2 --heads 2 --width 16 --positions 16 --dropout 0 --optimizer adamw --lr 1e-2 --global-batch-size 4 --limit-batches 10
  --epochs 6 --log-every 1 --compute-threads 1)
run 0 "$FFTRAIN" "${options[@]}" --work-dir whole
mesh=(--nproc 4 --tensor-parallel 2 --pipeline-parallel 2 --micro-batches 2 --dist-timeout 600)
# Each time another one, some steps further; the second time behind a checkpoint.
kills=0
for rank in 3 1; do
  lines=$((4 + 22 * kills))
  "$FFTRAIN" "${options[@]}" "${mesh[@]}" --work-dir run --resume >out 2>err &
  launcher=$!
  await has_lines run/metrics.jsonl "$lines"
  for worker in $(pgrep -P $launcher); do
    tr '\0' '\n' <"/proc/$worker/environ" | grep -qx "RANK=$rank" && kill -9 "$worker"
  done
  wait $launcher
  check test $? = 137
  check grep -qx "fftrain: error: the process of rank $rank was ended by signal 9 (Killed)" err
  # Nothing but a sentence of each of the others, which may be ended before they say it.
  check test "$(sort <err | uniq | wc -l)" -le 4
  check ! grep -Evq '^(fftrain: error: the process of rank [0-9] was ended|\[[0-9]\] fftrain: (error: )?(rank [0-9] lost the connection to the other processes|stopped by SIGTERM|rank [0-9] ended with an error)).*$' err
  check ! grep -q 'Check the logs' err  # Gloo's advice, which would be a second sentence
  kills=$((kills + 1))
done
check test "$(ls -d run/epoch-*.parts | wc -l)" -ge 1
run 0 "$FFTRAIN" "${options[@]}" "${mesh[@]}" --work-dir run --resume
out 'continuing from run/epoch-[0-9a-z-]*.parts$'
check python3 "$cli_folder/compare_losses.py" whole/metrics.jsonl run/metrics.jsonl 1e-5
check test -e run/epoch-0006.parts
check bash -c '! ls run | grep -q tmp'
