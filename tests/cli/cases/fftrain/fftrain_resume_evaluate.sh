run 0 "$FFCONVERT" demo data --classes 4 --images 96 --val-images 30 --size 32 --quiet

# Of options given twice the last one counts. One epoch, then another by --resume-from with the
# options that the checkpoint holds.
run 0 "$FFTRAIN" --data data --work-dir run --arch mobilenet_v3_small --image-size 32 --eval-resize 32 --batch-size 16 --compute-threads 1 --lr 0.02 \
  --warmup-epochs 1 --epochs 9 --crop-scale 0.9 0.1 --epochs 1 --crop-scale 0.35 1
no_err
out '^epoch 1/1  train loss [0-9.]+  val loss [0-9.]+  top-1 [0-9.]+ %  top-5 100.00 %  lr 0.0167  '
check test -e run/epoch-0001.safetensors
run 0 "$FFTRAIN" --resume-from run --epochs 2
no_err
out '^epoch 2/2  '
out '^best top-1 .*run/epoch-0002.safetensors$'
check test "$(grep -c validation run/metrics.jsonl)" = 2

# Evaluation finds what training printed.
accuracy=$(sed -n 's/^epoch 2.*val \(loss [0-9.]*  top-1 [0-9.]* %  top-5 [0-9.]* %\).*/\1/p' "$work/.stdout")
check test -n "$accuracy"
run 0 "$FFTRAIN" --evaluate run
no_err
out "^val $accuracy  30 images$"
# --quiet leaves standard output empty.
run 0 "$FFTRAIN" --evaluate run --quiet
no_out
run 0 "$FFTRAIN" --resume-from run --epochs 3 --quiet --limit-batches 1
no_out
no_err
check test -e run/epoch-0003.safetensors
run 0 "$FFTRAIN" --evaluate run/epoch-0002.safetensors --data data --batch-size 7
out "top-1 [0-9.]+ %  top-5 100.00 %  30 images$"
