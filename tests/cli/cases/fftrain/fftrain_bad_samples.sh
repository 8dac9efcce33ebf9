# Pictures that are cut short pass a conversion, which looks at headers.
pictures pool 24
mkdir -p src/train/a src/train/b src/val/a src/val/b
cp pool/000[0-9].jpg src/train/a
cp pool/001[0-9].jpg src/train/b
cp pool/002[01].jpg src/val/a
cp pool/002[23].jpg src/val/b
for cut in src/train/a/0003.jpg src/val/b/0022.jpg; do
  head -c -60 $cut >half && mv half $cut
done
run 0 "$FFCONVERT" folder src data
err "^only the headers of the pictures were checked"
options=(--data data --compute-threads 1 --arch mobilenet_v3_small --image-size 32 --batch-size 4 --warmup-epochs 0 --lr 0.01 --num-threads 1)

run 1 "$FFTRAIN" "${options[@]}" --epochs 1 --work-dir failed
err '^fftrain: error: .*train.*truncated'
run 0 "$FFTRAIN" "${options[@]}" --epochs 2 --work-dir run --bad-samples skip
err '^fftrain: warning: record [0-9]+ is replaced by record [0-9]+: .*data/train.*'
err '^fftrain: warning: data/train: 1 bad sample of this epoch was replaced by others$'
check test "$(grep -c 'data/train: 1 bad sample' .stderr)" = 2
# What is validated counts once.
err '^fftrain: warning: record 2 is left out: .*data/val.*'
err '^fftrain: warning: .*data/val: 1 of 4 samples is bad and left out$'
check test "$(grep -c '"images":3,' run/metrics.jsonl)" = 2
run 0 "$FFTRAIN" --evaluate run --results all.csv --confusion confusion.json
err '^fftrain: warning: .*data/val: 1 of 4 samples is bad and left out$'
out ' 3 images$'
check test "$(cut -d, -f2 all.csv | tr '\n' ' ')" = "record 0 1 3 "
check python3 -c 'import json; assert sum(map(sum, json.load(open("confusion.json"))["matrix"])) == 3'
# A batch of bad records alone, on several processes as well, and a folder of pictures.
run 0 "$FFTRAIN" --evaluate run --batch-size 1 --nproc 2
out ' 3 images$'
run 0 "$FFTRAIN" --predict run --data src/val --results folder.csv --batch-size 1
err '^fftrain: warning: src/val: 1 of 4 samples is bad and left out$'
check test "$(wc -l <folder.csv)" = 4
run 1 "$FFTRAIN" --evaluate run --bad-samples fail
err 'truncated'
# The run keeps the option, and gives another one for the epochs that are left.
check grep -q 'bad-samples = "skip"' run/config.toml
run 0 "$FFTRAIN" --resume-from run --epochs 3
err 'data/train: 1 bad sample'
run 1 "$FFTRAIN" --resume-from run --epochs 4 --bad-samples fail
err '^fftrain: error: .*truncated'
run 2 "$FFTRAIN" "${options[@]}" --bad-samples drop --epochs 1
one_line_err "--bad-samples is 'drop'; it must be one of fail, skip"
run 1 "$FFTRAIN" --task gpt2 --data data --bad-samples skip
one_line_err '--bad-samples is skip; it must be fail with the task gpt2, because its samples are cut from many records'
# An evaluation reads its records once.
run 0 "$FFTRAIN" --evaluate run --batch-size 1
check test "$(grep -c 'record 2 is left out' .stderr)" = 1
