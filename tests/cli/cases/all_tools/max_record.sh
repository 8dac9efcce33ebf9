# Records above the limit are refused when they are written and when they are read, and one option
# of all tools raises it.
mkdir lines
printf '{"text": "%s", "label": 1}\n' short "$(printf '%03000d' 1)" short >lines/train.jsonl

# As the limit of 256 MiB with longer records: one sentence, and nothing that readers refuse later.
run 1 "$FFCONVERT" jsonl lines dst --max-record 1k --quiet
one_line_err '^ffconvert: error: lines/train.jsonl:2: the record of this sample would have 30[0-9]+ bytes, more than the limit of 1024 bytes; raise the limit with --max-record, here and in all programs that read the data set$'
check test ! -e dst
run 0 "$FFCONVERT" jsonl lines left --max-record 1k --bad-samples skip
check grep -q 'more than the limit of 1024 bytes' left/report.jsonl
run 0 "$FFCONVERT" jsonl lines dst --max-record 4k --order sequential --quiet
no_err
run 1 "$FFINSPECT" verify dst --max-record 1k
out 'record 1: .*more than the limit of 1024 bytes \(--max-record\); raise the limit'
run 0 "$FFINSPECT" verify dst --max-record 4k

# FFRecord v1, both ways.
run 1 "$FFCONVERT" v1 dst v1 --field text --max-record 1k --quiet
one_line_err 'record 1: .*more than the limit of 1024 bytes \(--max-record'
run 0 "$FFCONVERT" v1 dst v1 --field text --max-record 4k --quiet
run 1 "$FFCONVERT" v1 v1 back --max-record 1k --quiet
one_line_err 'record 1: .*more than the limit of 1024 bytes \(--max-record'
run 0 "$FFCONVERT" v1 v1 back --max-record 4k --quiet
# A pickle is longer than its picture.
run 0 "$FFCONVERT" demo pictures --images 4 --val-images 4 --classes 2 --size 32 --quiet
run 1 "$FFCONVERT" v1 pictures v1-pictures --max-record 100 --quiet
one_line_err 'more than the limit of 100 bytes'
check test ! -e v1-pictures

run 2 "$FFCONVERT" jsonl lines dst2 --max-record 0
run 2 "$FFCONVERT" jsonl lines dst2 --max-record -1

[ -n "${FFTRAIN:-}" ] || skip "built without the trainer"
small=(--arch mobilenet_v3_small --image-size 32 --batch-size 2 --epochs 1 --limit-batches 1 --compute-threads 1)
run 1 "$FFTRAIN" --data pictures "${small[@]}" --max-record 100
one_line_err '^fftrain: error: .*record [0-9]: .*more than the limit of 100 bytes \(--max-record'
printf 'max-record = "100"\n' >low.toml
run 1 "$FFTRAIN" --data pictures "${small[@]}" --config low.toml
one_line_err 'more than the limit of 100 bytes '
run 0 "$FFTRAIN" --data pictures "${small[@]}" --config low.toml --max-record 1G --lr 0.001 --work-dir run
check grep -Fxq 'max-record = 1073741824' run/config.toml
run 1 "$FFTRAIN" --evaluate run --max-record 100
one_line_err 'more than the limit of 100 bytes '
run 1 "$FFTRAIN" --data pictures "${small[@]}" --loader-only --max-record 100
one_line_err 'more than the limit of 100 bytes '
