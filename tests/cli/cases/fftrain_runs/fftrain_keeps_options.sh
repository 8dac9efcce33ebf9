# --resume goes on with the options of the run, but for those that are given; what differs is said.
run 0 "$FFCONVERT" demo data --classes 4 --images 64 --val-images 10 --size 32 --quiet
first=(--data data --arch mobilenet_v3_small --image-size 32 --batch-size 16 --compute-threads 1 --lr 0.05 --momentum 0.8 --nesterov --ema-decay 0.5
  --auto-augment trivialaugment --warmup-epochs 1)
run 0 "$FFTRAIN" "${first[@]}" --epochs 3 --work-dir straight
run 0 "$FFTRAIN" "${first[@]}" --epochs 3 --work-dir run --keep-checkpoints 0 --limit-batches 0
cp -r run stopped && rm stopped/epoch-000[23].safetensors

# No options at all: the run's own, to the byte.
run 0 "$FFTRAIN" --work-dir stopped --resume
check ! grep -q 'other options' .stdout
check cmp run/epoch-0003.safetensors stopped/epoch-0003.safetensors
check grep -Fxq 'momentum = 0.8' stopped/config.toml

# The options that were given at first change nothing; one that differs counts, and is said.
run 0 "$FFTRAIN" "${first[@]}" --work-dir run --resume --epochs 4 --lr 0.01
out '^options that changed since this checkpoint: epochs 4 instead of 3; lr 0.01 instead of 0.05$'
check grep -Fxq 'ema-decay = 0.5' run/config.toml
check grep -Fxq 'lr = 0.01' run/config.toml
echo 'momentum = 0.7' >changes.toml
run 0 "$FFTRAIN" --config changes.toml --work-dir run --resume --epochs 5
out '^options that changed since this checkpoint: epochs 5 instead of 4; momentum 0.7 instead of 0.8$'

# On two processes, too, of which the second one sees no checkpoint.
run 0 "$FFTRAIN" --work-dir run --resume --epochs 6 --nproc 2
check grep -Fxq 'momentum = 0.7' run/config.toml
mkdir there here
cp -r run there/run
mkdir here/run
(cd here && RANK=1 WORLD_SIZE=2 LOCAL_RANK=1 "$FFTRAIN" --work-dir run --resume --epochs 7 --dist-init-method "file://$PWD/../meet") >second.out 2>second.err &
run 0 env -C there RANK=0 WORLD_SIZE=2 LOCAL_RANK=0 "$FFTRAIN" --work-dir run --resume --epochs 7 --dist-init-method "file://$PWD/meet"
wait $! || fail "the second process: $(cat second.err)"
check test -e there/run/epoch-0007.safetensors
check grep -Fxq 'momentum = 0.7' there/run/config.toml

# Nothing to go on from, and nothing to begin with.
run 1 "$FFTRAIN" --work-dir empty --resume
one_line_err 'empty: has no checkpoint to continue from; give --data to start a run'
# Another task than the run's.
run 1 "$FFTRAIN" --work-dir run --resume --task gpt2
one_line_err 'belongs to the task classification, but the task gpt2 was asked for'
