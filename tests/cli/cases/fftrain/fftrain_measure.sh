run 0 "$FFCONVERT" demo data --classes 4 --images 80 --val-images 8 --size 32 --quiet
model=(--arch resnet18 --image-size 32 --batch-size 8 --compute-threads 1)
run 0 "$FFTRAIN" "${model[@]}" --dummy --epochs 1 --limit-batches 8
no_err
out '^epoch 1/1  train loss .* [0-9]+ images/s  data wait 0.0 %'
run 0 "$FFTRAIN" "${model[@]}" --benchmark --limit-batches 3
out '^only the model, training step: [0-9.]+ images/s$'
step=$(grep -oE '[0-9.]+ images' "$work/.stdout")
run 0 "$FFTRAIN" "${model[@]}" --benchmark forward --limit-batches 3
out '^only the model, forward: [0-9.]+ images/s$'
forward=$(grep -oE '[0-9.]+ images' "$work/.stdout")
check python3 -c "assert float('${forward% *}') > float('${step% *}')"
run 0 "$FFTRAIN" "${model[@]}" --data data --loader-only
out '^only the loader: [0-9.]+ images/s; '
run 0 "$FFTRAIN" "${model[@]}" --data data --bottleneck --limit-batches 3
out '^loader alone [0-9.]+, model alone [0-9.]+, both [0-9.]+ images/s; data wait [0-9.]+ %; the limit is the model'
run 2 "$FFTRAIN" "${model[@]}" --data data --bottleneck --loader-only
one_line_err 'excludes'

# A trace that Chrome reads, and the table of operators.
run 0 "$FFTRAIN" "${model[@]}" --data data --epochs 1 --prof prof
out '^profile of 5 steps: prof/trace-rank0.json'
check python3 -c 'import json
events = json.load(open("prof/trace-rank0.json"))["traceEvents"]
assert any("conv" in e.get("name", "") for e in events), "no convolution"'
check grep -q conv prof/operators-rank0.txt
# Of a shorter run what there was, on every way out.
for steps in 1 3 5 7; do
  run 0 "$FFTRAIN" "${model[@]}" --data data --steps $steps --prof prof$steps
  out "^profile of $((steps > 5 ? steps - 5 : steps)) steps: prof$steps/trace-rank0.json"
  check grep -q conv prof$steps/operators-rank0.txt
done
run 1 "$FFTRAIN" "${model[@]}" --data data --epochs 1 --lr 1e30 --warmup-epochs 0 --prof diverged
err 'the loss became'
check test -s diverged/trace-rank0.json
run 2 "$FFTRAIN" --evaluate none --prof prof
one_line_err 'excludes'

# Fewer steps than are left out: no figure rather than a wrong one.
run 0 "$FFTRAIN" "${model[@]}" --data data --epochs 1 --limit-batches 2
out 'too few steps to measure images/s'
check bash -c "! grep -q '  0 images/s' '$work/.stdout'"
