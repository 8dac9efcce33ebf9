run 0 "$FFCONVERT" demo data --classes 3 --images 24 --val-images 6 --size 32 --quiet
run 0 "$FFCONVERT" demo train_only --classes 3 --images 24 --val-images 0 --size 32 --quiet
run 0 "$FFCONVERT" demo four --classes 4 --images 24 --val-images 8 --size 32 --quiet
options=(--compute-threads 1 --arch resnet18 --image-size 32 --batch-size 8 --epochs 1 --warmup-epochs 0 --lr 0.01)
bad() { # REGEX ARGUMENTS...
  run 1 "$FFTRAIN" "${@:2}"
  one_line_err "^fftrain: error: .*$1"
  no_out
}

bad 'nowhere' --data nowhere "${options[@]}"
printf '{"text": "a"}\n{"text": "b"}\n' >lines.jsonl
run 0 "$FFCONVERT" jsonl lines.jsonl lines --quiet
bad "lines/train: no task can train on this data set \(bevformer: the data set has no field 'scene'; .*; classification: the data set has no field 'label'; training needs pictures with labels; gpt2: the data set has no tokens; .*; rootnet: the data set has no field 'image'; .*\)" --data lines "${options[@]}"
bad "unknown --device 'tpu'; expected one of auto, cpu, cuda and cuda:N" --data data --device tpu
for wrong in '--arch resnet19:resnet18, resnet34' '--optimizer adam:one of sgd, adamw, lars' '--lr-schedule cosin:cosine'; do
  run 2 "$FFTRAIN" --data data ${wrong%%:*}
  one_line_err "${wrong##*:}"
done
bad 'val' --data train_only "${options[@]}" --work-dir run
check test ! -e run
bad '--image-size is .*; it must be between 1 and 16384' --data data --image-size 0
bad '--image-size is .*; it must be between 1 and 16384' --data data --image-size -5
bad '--crop-scale is .*; it must be two numbers' --data data --crop-scale 0.5 0.2
bad 'but one training step needs 99 ' --data data --batch-size 99
bad 'cannot make the work folder' --data data "${options[@]}" --work-dir /dev/null/run
run 1 "$FFTRAIN" --data data "${options[@]}" --lr-schedule step --work-dir nan --label-smoothing 0.1 --weight-decay 1e30
one_line_err '^fftrain: error: the loss became -?(nan|inf) in epoch 1, step [0-9]+; try a smaller --lr'
check test ! -e nan/epoch-0001.safetensors

run 0 "$FFTRAIN" --data data "${options[@]}" --work-dir run
bad 'the work folder already contains a run; continue the run with --resume' --data data "${options[@]}" --work-dir run
bad 'has done 1 of 1 epochs; give more --epochs' --resume-from run
run 1 "$FFTRAIN" --resume-from run --epochs 3 --lr 1e30 --weight-decay 1e30
one_line_err 'the loss became (nan|inf) in epoch 2, step [0-9]+; .*\. The last good checkpoint is run/epoch-0001.safetensors$'
bad 'the checkpoint has the arch resnet18, but this run has the arch resnet34' --resume-from run --arch resnet34 --epochs 2
bad "the 3 classes of this checkpoint differ from the 4 classes of the data set" --resume-from run --data four --epochs 2
bad "the 4 classes of this split differ from the 3" --evaluate run --data four
bad 'contains no checkpoint' --evaluate data
bad 'the file cannot be opened' --evaluate nothing.safetensors
head -c 100000 run/epoch-0001.safetensors >half.safetensors
bad 'half.safetensors: .*damaged' --evaluate half.safetensors
cp run/epoch-0001.safetensors flipped.safetensors
printf 'x' | dd of=flipped.safetensors bs=1 seek=3000000 conv=notrunc status=none
bad 'flipped.safetensors: its CRC-32C is' --evaluate flipped.safetensors
echo text >text.safetensors
bad 'text.safetensors: the file has only 5 bytes' --evaluate text.safetensors

# What would be waited for, or silently cut to what fits.
mkfifo pipe
mkdir folder
for not_a_file in pipe folder; do
  run 2 timeout 300 "$FFTRAIN" --data data --config $not_a_file
  one_line_err "'$not_a_file' is not a file"
done
printf 'epochs = 1\n\0\n' >zero.toml
run 2 "$FFTRAIN" --data data --config zero.toml
one_line_err 'zero.toml: is not text: it contains a zero byte'
echo 'epochs = [1, 2]' >two.toml
run 2 "$FFTRAIN" --data data --config two.toml
one_line_err "two.toml: line 1: 'epochs' has 2 values, but takes 1"
bad '--epochs is 4611686018427387904; it must be between 1 and 1000000000' --data data --epochs 4611686018427387904
bad '--batch-size is 4611686018427387904; it must be between 1 and 1000000000' --data data --batch-size 4611686018427387904
bad '--accumulate is 4611686018427387904; it must be between 1 and 1000000' --data data --accumulate 4611686018427387904
run 2 "$FFTRAIN" --data data --seed -1
one_line_err 'error: --seed: -1 is not a whole number from 0 to'
run 1 env RANK=0 WORLD_SIZE=99999999999 LOCAL_RANK=0 MASTER_ADDR=127.0.0.1 MASTER_PORT=2999 timeout 300 "$FFTRAIN" --data data
one_line_err 'WORLD_SIZE is 99999999999, which is too large'
