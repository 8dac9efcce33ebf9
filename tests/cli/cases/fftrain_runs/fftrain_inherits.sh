# What an evaluation and a prediction take over from the run: not what limited its training.
run 0 "$FFCONVERT" demo data --classes 4 --images 40 --val-images 20 --size 32 --quiet
run 0 "$FFCONVERT" demo other --classes 4 --images 30 --val-images 12 --size 32 --seed 1 --quiet
options=(--arch mobilenet_v3_small --image-size 32 --batch-size 8 --compute-threads 1 --num-threads 1 --epochs 1)
run 0 "$FFTRAIN" "${options[@]}" --data data --work-dir limited --limit-batches 1
check grep -q '"images":8,' limited/metrics.jsonl
run 0 "$FFTRAIN" --evaluate limited
out ' 20 images$'
run 0 "$FFTRAIN" --evaluate limited --limit-batches 2 --batch-size 5
out ' 10 images$'
run 0 "$FFTRAIN" --predict limited --data data --results all.jsonl
check test "$(wc -l <all.jsonl)" = 20
run 0 "$FFTRAIN" --predict limited --data other --val-split train --results all.jsonl --nproc 2
check test "$(wc -l <all.jsonl)" = 30

# A share of the run's own data is held out; of other data it is not.
run 0 "$FFTRAIN" "${options[@]}" --data data --work-dir shared --val-share 0.3
held=$(sed -n 's/.*"images":\([0-9]*\),.*/\1/p' shared/metrics.jsonl)
check test "$held" -lt 20
for same in "" "--data data" "--data ./data/ --val-share 0.3"; do
  run 0 "$FFTRAIN" --evaluate shared $same
  out " $held images$"
done
for all in "--data other|12" "--val-split val|20" "--data other --val-split train|30" "--val-share 0|20"; do
  run 0 "$FFTRAIN" --evaluate shared ${all%|*}
  out " ${all#*|} images$"
done

# What is given outranks what another option of the run said of the same.
run 0 "$FFTRAIN" "${options[@]}" --data data --work-dir steps --steps 3 --global-batch-size 16
run 0 "$FFTRAIN" --evaluate steps --batch-size 3 --limit-batches 1
out ' 3 images$'
run 0 "$FFTRAIN" --resume-from steps --epochs 3
out '^epoch 3/3'
run 1 "$FFTRAIN" --resume-from steps --epochs 4 --batch-size 4
one_line_err 'takes 16 pictures, but with these options and .* one step takes 4'

# A run of noise has no data that an evaluation could take over.
run 0 "$FFTRAIN" "${options[@]}" --dummy --limit-batches 1 --work-dir noise
run 1 "$FFTRAIN" --evaluate noise
one_line_err 'noise/epoch-0001.safetensors: names no data set; give --data'
