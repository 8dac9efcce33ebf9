# The optimiser's state divided among processes, of a network of pictures: the same losses, and its
# checkpoints are anybody's.
run 0 "$FFCONVERT" demo data --classes 4 --images 32 --val-images 8 --size 32 --quiet
options=(--data data --arch mobilenet_v3_small --image-size 32 --global-batch-size 8 --lr 0.001 --epochs 2 --log-every 1 --compute-threads 1 --num-threads 1)
for optimizer in adamw sgd; do
  run 0 "$FFTRAIN" "${options[@]}" --optimizer $optimizer --nproc 2 --work-dir plain-$optimizer
  run 0 "$FFTRAIN" "${options[@]}" --optimizer $optimizer --nproc 2 --shard-optimizer --work-dir sharded-$optimizer
  check python3 "$cli_folder/compare_losses.py" plain-$optimizer/metrics.jsonl sharded-$optimizer/metrics.jsonl 1e-4
  check test "$(ls sharded-$optimizer/epoch-0002.parts)" = "manifest.safetensors
part-00000.safetensors
part-00001.safetensors"
  # The second process has half of what the optimiser keeps, and no weights.
  state=$(stat -c %s sharded-$optimizer/epoch-0002.parts/part-00001.safetensors) both=$(stat -c %s plain-$optimizer/epoch-0002.safetensors)
  copies=$([ $optimizer = adamw ] && echo 3 || echo 2)
  check test $((state * 2 * copies / (copies - 1))) -gt $((both * 90 / 100)) -a $((state * 2 * copies / (copies - 1))) -lt $((both * 120 / 100))
done
# Without the option; then with four processes.
run 0 "$FFTRAIN" --resume-from sharded-adamw/epoch-0001.parts --nproc 2 --no-shard-optimizer --compute-threads 1 --work-dir whole
check python3 "$cli_folder/compare_losses.py" <(grep '"epoch":2' plain-adamw/metrics.jsonl) whole/metrics.jsonl 1e-4
check test -e whole/epoch-0002.safetensors
run 0 "$FFTRAIN" --resume-from plain-adamw/epoch-0001.safetensors --nproc 4 --shard-optimizer --compute-threads 1 --work-dir four
check test "$(ls four/epoch-0002.parts | wc -l)" = 5
run 0 "$FFTRAIN" --evaluate sharded-sgd
cp "$work/.stdout" evaluated
run 0 "$FFTRAIN" --export sharded-sgd --output weights.pth
run 0 "$FFTRAIN" --evaluate weights.pth --arch mobilenet_v3_small --data data --image-size 32 --batch-size 8 --compute-threads 1
out '^val .*top-1'
check cmp evaluated "$work/.stdout"
