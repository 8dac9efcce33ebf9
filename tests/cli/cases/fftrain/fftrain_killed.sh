run 0 "$FFCONVERT" demo data --classes 4 --images 96 --val-images 16 --size 32 --quiet
options=(--data data --arch mobilenet_v3_small --image-size 32 --batch-size 16 --lr 0.02 --epochs 8 --warmup-epochs 1)
run 0 "$FFTRAIN" "${options[@]}" --work-dir undisturbed

# kill -9 after the second checkpoint; the run that goes on ends with the same bytes.
"$FFTRAIN" "${options[@]}" --work-dir killed >.out 2>.err &
trainer=$!
await test -e killed/epoch-0002.safetensors
kill -9 $trainer
wait $trainer 2>/dev/null
check test -e killed/epoch-0002.safetensors
check test ! -e killed/epoch-0008.safetensors
run 0 "$FFTRAIN" --resume-from killed
check cmp undisturbed/epoch-0008.safetensors killed/epoch-0008.safetensors

# Its metrics are those of the undisturbed run too, but for times: each step once, with the same
# loss.
metrics() {
  python3 -c 'import json, sys
for line in open(sys.argv[1]):
    d = json.loads(line)
    print({k: v for k, v in d.items() if k not in ("images_per_second", "data_wait_share", "seconds")})' "$1/metrics.jsonl"
}
metrics undisturbed >expected
check test "$(wc -l <expected)" = 16  # 8 epochs of 6 steps: the end of each and its validation
metrics killed >got
check cmp expected got
check test "$(ls killed/events.out.tfevents.* | wc -l)" = 2
