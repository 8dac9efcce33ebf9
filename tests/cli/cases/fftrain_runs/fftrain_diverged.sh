# Numbers that are no numbers: a metric that is NaN spoils no checkpoint, and weights that blew up
# are none to go on from.
run 0 "$FFCONVERT" demo data --classes 4 --images 96 --val-images 18 --size 32 --quiet
number=(--task number --data data --side 8 --batch-size 8 --lr 0.003 --compute-threads 1)

# Two validations whose metric is NaN, then two that are well: all checkpoints are readable, and the
# best is one of the last two.
run 0 "$TRAIN_NUMBER" "${number[@]}" --epochs 4 --no-error-before 30 --work-dir a --keep-checkpoints 0
out '^epoch 1/4 .*val mean error nan'
out '^best mean error [0-9.]+ \(epoch [34]\), last [0-9.]+; '
for epoch in 1 2 3 4; do
  run 0 "$TRAIN_NUMBER" --resume-from a/epoch-000$epoch.safetensors --epochs 5 --limit-batches 1 --no-error-before 0 --work-dir from-$epoch
done
check grep -q '"mean_error":"nan"' a/metrics.jsonl
run 0 "$FFINSPECT" plot a --output plot.png

# A run whose last validation gave no number has not ended well, and no such validation is refused
# by --evaluate.
run 1 "$TRAIN_NUMBER" "${number[@]}" --epochs 2 --no-error-before 99 --work-dir b
one_line_err 'the last validation gave mean error nan, which is not a number; no validation gave a mean error that is a number\. The last checkpoint with finite weights is b/epoch-0002.safetensors$'
run 1 "$TRAIN_NUMBER" --evaluate b
one_line_err 'b/epoch-0002.safetensors: the validation gave mean error nan, which is not a number$'
run 0 "$TRAIN_NUMBER" "${number[@]}" --epochs 2 --work-dir b --resume
out '^the run is finished: 2 epochs, no validation gave a mean error that is a number; '

# Weights that blew up: the run ends, and the same command with a smaller learning rate goes on from
# the last good checkpoint.
pictures=(--data data --arch mobilenet_v3_small --image-size 32 --batch-size 16 --compute-threads 1 --limit-batches 2 --lr-schedule constant)
run 0 "$FFTRAIN" "${pictures[@]}" --epochs 1 --lr 0.01 --work-dir c
run 1 "$FFTRAIN" --work-dir c --resume --epochs 3 --lr 1e15
one_line_err '\. The last good checkpoint is c/epoch-0001.safetensors$'
check test "$(echo c/epoch-*.safetensors)" = c/epoch-0001.safetensors
run 0 "$FFTRAIN" --work-dir c --resume --epochs 2 --lr 0.001
out '^options that changed since this checkpoint: epochs 2 instead of 1; lr 0.001 instead of 0.01$'
check test -e c/epoch-0002.safetensors
