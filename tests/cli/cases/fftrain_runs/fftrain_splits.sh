# What is validated: another split, or a share of the training split.
for class in cat dog; do
  pictures source/$class 30 $((RANDOM % 9))
done
run 0 "$FFCONVERT" folder source data --quiet
options=(--arch mobilenet_v3_small --image-size 32 --batch-size 8 --compute-threads 1 --limit-batches 2 --lr 0.01 --epochs 1)
run 1 "$FFTRAIN" --data data "${options[@]}"
one_line_err "^fftrain: error: data: there is no split 'val'; .*give --val-split NAME for another split, or --val-share 0.1 for a tenth of the training split$"

run 0 "$FFTRAIN" --data data "${options[@]}" --val-share 0.25 --work-dir run
out '^data/train: [0-9]+ records are for validation, [0-9]+ for training$'
held=$(sed -n 's/^.*: \([0-9]*\) records are for validation.*/\1/p' .stdout)
check test "$held" -gt 5 -a "$held" -lt 30
check test "$(sed -n 's/^.*, \([0-9]*\) for training/\1/p' .stdout)" = $((60 - held))
# The options of the run say what is validated, also on two processes.
run 0 "$FFTRAIN" --evaluate run --limit-batches 0
out "  $held images$"
run 0 "$FFTRAIN" --evaluate run --limit-batches 0 --nproc 2
out "  $held images$"
run 0 "$FFTRAIN" --evaluate run --limit-batches 0 --val-share 0 --val-split train
out '  60 images$'

# Results name the records by their numbers in the split.
run 0 "$FFTRAIN" --evaluate run --limit-batches 0 --results held.jsonl
run 0 "$FFINSPECT" view data --split train --results held.jsonl --count 60 --output held.png --json
json "sum(s['found_class'] is not None for s in d['samples']) == $held"

# Pictures that are added change nothing for the others; the run itself goes on with its own data
# alone.
pictures source/cat-more 1
mv source/cat-more/0000.jpg source/cat/new.jpg && rmdir source/cat-more
run 0 "$FFCONVERT" folder source more --quiet
# The share is of the run's own data: of others, it is asked for.
run 1 "$FFTRAIN" --evaluate run --data more --limit-batches 0
one_line_err "more: there is no split 'val'.*--val-share"
run 0 "$FFTRAIN" --evaluate run --data more --limit-batches 0 --val-share 0.25
out "  ($held|$((held + 1))) images$"
run 1 "$FFTRAIN" --resume-from run --data more --epochs 2
one_line_err 'the run of this checkpoint used other data than more'

run 1 "$FFTRAIN" --data data "${options[@]}" --val-share 0.25 --val-split test
one_line_err '--val-share is 0.25; it must be 0 if --val-split is given'
run 1 "$FFTRAIN" --data data "${options[@]}" --val-share 1
one_line_err '--val-share is 1; it must be 0 or more and less than 1'
run 1 "$FFTRAIN" --data data "${options[@]}" --val-share 1e-9
one_line_err 'data/train: a share of 1e-09 chooses none of its 60 records for validation'

# Splits of other names.
mv data/train data/training_a
cp -r data/training_a data/held
sed -i 's/"split": *"train"/"split": "training_a"/' data/training_a/manifest.json
sed -i 's/"split": *"train"/"split": "held"/' data/held/manifest.json
run 0 "$FFTRAIN" --data data "${options[@]}" --train-split training_a --val-split held
out '^epoch 1/1 '
run 1 "$FFTRAIN" --data data "${options[@]}" --train-split training_a --val-split test
one_line_err "there is no split 'test'"

# The training split alone, as other trainers want it, stands for its data set; another split does
# not.
run 0 "$FFCONVERT" folder source both --quiet
cp -r both/train both/val
sed -i 's/"split": *"train"/"split": "val"/' both/val/manifest.json
run 0 "$FFTRAIN" --data both "${options[@]}" --train-split train
out '^weights and metrics of this run are not kept; give --work-dir to keep them$'
sed -n 's/^\(epoch .*\)  [0-9:]*$/\1/p' .stdout > whole
check test -s whole
run 0 "$FFTRAIN" --data both/train/ "${options[@]}"
err "^both/train/ is the split 'train' of the data set both; the whole data set is used$"
sed -n 's/^\(epoch .*\)  [0-9:]*$/\1/p' .stdout > by_split
check cmp by_split whole
run 1 "$FFTRAIN" --data both/val "${options[@]}"
one_line_err "both/val: this folder is the split 'val', not a data set, so it has no split 'train'"
