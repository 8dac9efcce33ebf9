# Several data sets in one run: shares, processes, resuming, validation, config.toml, and what
# cannot be mixed.
[ "${WITH_DRAWING:-ON}" = ON ] || skip "built without what ffinspect draws with"
run 0 "$FFCONVERT" demo a --kind pose --images 24 --val-images 5 --size 64 --seed 1 --quiet
run 0 "$FFCONVERT" demo b --kind pose --images 8 --val-images 4 --size 64 --seed 2 --quiet
own=(--arch micro --image-size 32 --optimizer adamw --weight-decay 0 --lr 1e-3 --global-batch-size 8 --log-every 1 --compute-threads 1)
options=(--data a:1 --data b:3 "${own[@]}")

run 0 "$FFTRAIN" --task rootnet --help
out "WEIGHT is the data set's share of an epoch"

# 32 samples an epoch, as many as there are records: 8 of a, 24 of b, each of b's three times. Both
# are validated.
run 0 "$FFTRAIN" "${options[@]}" --epochs 2 --work-dir whole
out '^a/train: 25\.0 % of an epoch, 8 samples of 24 records$'
out '^b/train: 75\.0 % of an epoch, 24 samples of 8 records$'
out '^a/val: for validation, 5 records$'
out '^b/val: for validation, 4 records$'
out '^epoch 2/2  train loss [0-9.]+  val MRPE [0-9.]+ .* AP [0-9.]+ %'
check grep -q '"kind":"validation".*"persons":9' whole/metrics.jsonl
check test "$(grep -c '"kind":"train"' whole/metrics.jsonl)" = 8
check grep -Fxq "data = [\"$work/a:1\", \"$work/b:3\"]" whole/config.toml

# Two processes, and a file of options instead of the command line.
# The rate is small, because Adam's first steps make much of what is rounded otherwise. Other shares
# give other losses.
slow=("${own[@]}" --sync-bn --epochs 1 --lr 1e-4)
run 0 "$FFTRAIN" --data a:1 --data b:3 "${slow[@]}" --work-dir alone
run 0 "$FFTRAIN" --data a:1 --data b:3 "${slow[@]}" --work-dir both --nproc 2
check python3 "$cli_folder/compare_losses.py" alone/metrics.jsonl both/metrics.jsonl 1e-6 --relative
run 0 "$FFTRAIN" --data a:2 --data b:3 "${slow[@]}" --work-dir two-thirds
check ! python3 "$cli_folder/compare_losses.py" alone/metrics.jsonl two-thirds/metrics.jsonl 1e-3 --relative
run 0 "$FFTRAIN" --config whole/config.toml --work-dir by-file
check cmp whole/epoch-0002.safetensors by-file/epoch-0002.safetensors

# All processes have the same shares.
rank=(env WORLD_SIZE=2 MASTER_ADDR=x MASTER_PORT=1)
meeting=("${slow[@]}" --dist-init-method "file://$PWD/meet")
"${rank[@]}" RANK=1 LOCAL_RANK=1 "$FFTRAIN" --data a:1 --data b:2 "${meeting[@]}" >second.out 2>&1 &
run 1 "${rank[@]}" RANK=0 LOCAL_RANK=0 "$FFTRAIN" --data a:1 --data b:3 "${meeting[@]}"
one_line_err '1 of 2 processes have another run than rank 0'
wait $!
check grep -q 'rank 1 was started with data_weights \[1.0,2.0\], but rank 0 with \[1.0,3.0\]' second.out

# Stopped within an epoch or at its end and continued, with other processes too. Other shares of the
# sets are another run.
run 0 "$FFTRAIN" "${options[@]}" --epochs 2 --lr-schedule constant --checkpoint-minutes 0.00001 --work-dir once
mkdir middle && mv once/epoch-0001-samples-000000016.safetensors middle
run 0 "$FFTRAIN" "${options[@]}" --epochs 2 --lr-schedule constant --checkpoint-minutes 0.00001 --work-dir middle --resume
out '^continuing from middle/epoch-0001-samples-000000016.safetensors$'
check cmp once/epoch-0002.safetensors middle/epoch-0002.safetensors
run 0 "$FFTRAIN" "${options[@]}" --epochs 1 --lr-schedule constant --checkpoint-minutes 0.00001 --work-dir cut
run 0 "$FFTRAIN" "${options[@]}" --epochs 2 --lr-schedule constant --checkpoint-minutes 0.00001 --work-dir cut --resume
check cmp once/epoch-0002.safetensors cut/epoch-0002.safetensors
run 1 "$FFTRAIN" --data a:1 --data b:2 "${own[@]}" --epochs 3 --lr-schedule constant --work-dir cut --resume
one_line_err "epoch-0002.safetensors: the run of this checkpoint had the order 'mixture of 8/24 \+ 24/8, 32 samples', but a:1 and b:2 give the order 'mixture of 11/24 \+ 21/8, 32 samples'; give the weights of that run .*, or start a new run"
run 1 "$FFTRAIN" --data b:3 --data a:1 "${own[@]}" --epochs 3 --lr-schedule constant --work-dir cut --resume
one_line_err 'the run of this checkpoint used other data than b:3 and a:1'
run 0 "$FFTRAIN" --resume-from cut --epochs 3 --nproc 2
run 0 "$FFTRAIN" --evaluate cut
out '^val MRPE .* 9 persons$'

# Without weights, equal shares: twice the larger set.
run 0 "$FFTRAIN" --data a --data b "${own[@]}" --epochs 1 --work-dir equal
out '^a/train: 50\.0 % of an epoch, 24 samples of 24 records$'
out '^b/train: 50\.0 % of an epoch, 24 samples of 8 records$'
check test "$(grep -c '"kind":"train"' equal/metrics.jsonl)" = 6

# What has a validation split is validated, and nothing else.
cp -r b without && rm -r without/val
run 0 "$FFTRAIN" --data a --data without "${own[@]}" --epochs 1
out '^a/val: for validation, 5 records$'
check ! grep -q '^without/val' "$work/.stdout"
rm -r without/train
run 1 "$FFTRAIN" --data a --data without "${own[@]}" --epochs 1
one_line_err "without: "

# A folder whose name ends like a weight is that folder.
mv b b:3
run 0 "$FFTRAIN" --data b:3 "${own[@]}" --epochs 1 --limit-batches 1 --work-dir colon
check grep -Fxq "data = \"$work/b:3\"" colon/config.toml
run 1 "$FFTRAIN" --data a:1 --data b "${own[@]}" --epochs 1
one_line_err "b: there is no such folder"
mv b:3 b

# Mistakes.
run 2 "$FFTRAIN" --data a:1 --data b:0 "${own[@]}" --epochs 1
one_line_err 'data b:0 has the weight 0, but a weight must be a finite number above 0'
run 1 "$FFTRAIN" --data a:1 --data b:1e-9 "${own[@]}" --epochs 1
one_line_err 'an epoch of 32 samples has no sample of data set 1; give this data set a larger weight'
run 1 "$FFTRAIN" --data a --data b "${own[@]}" --global-batch-size 64 --epochs 1
one_line_err 'an epoch has 48 samples, but one training step needs 64 samples'
run 1 "$FFTRAIN" --evaluate cut --results out.json
one_line_err 'results belong to one data set, but 2 were given'
run 0 "$FFCONVERT" demo pictures --classes 3 --images 9 --val-images 3 --size 32 --quiet
run 1 "$FFTRAIN" --data a --data pictures "${own[@]}" --epochs 1
one_line_err "pictures/train: the data set has no field 'box'"
# As a set of 3DPW would be.
cp -r b metres && sed -i 's/"persons": "demo"/"persons": "3dpw"/' metres/train/manifest.json
run 1 "$FFTRAIN" --data a --data metres "${own[@]}" --epochs 1
one_line_err 'metres/train: its lengths are in m, but the lengths of .*a/train are in mm, so they cannot be mixed'

# Pictures of one list of classes can be mixed, others not; a task for one data set says so.
run 0 "$FFCONVERT" demo more --classes 3 --images 6 --val-images 3 --size 32 --seed 3 --quiet
pictures=(--arch mobilenet_v3_small --image-size 32 --batch-size 5 --epochs 1 --compute-threads 1)
run 0 "$FFTRAIN" --data pictures:2 --data more:1 "${pictures[@]}"
out '^pictures/train: 66\.7 % of an epoch, 10 samples of 9 records$'
out '^epoch 1/1 '
run 0 "$FFCONVERT" demo other --classes 4 --images 6 --val-images 3 --size 32 --quiet
run 1 "$FFTRAIN" --data pictures --data other "${pictures[@]}"
one_line_err 'other/train: this data set has 4 classes, but .*pictures/train has 3 classes, so one label would mean two classes'
run 1 "$FFTRAIN" --task gpt2 --data pictures --data more
one_line_err 'this task trains on one data set, but 2 data sets were given \(pictures and more\)'
