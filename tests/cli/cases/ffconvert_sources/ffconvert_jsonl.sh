mkdir src
for i in 0 1 2 3 4; do printf '{"text": "number %d", "tokens": [%d, 2, 3], "n": %d}\r\n' $i $i $i; done >src/train-0.jsonl
printf '\n{"n": 5, "text": "last", "tokens": [9]}' >src/train-1.jsonl
echo '{"text": "v", "tokens": [8], "n": 6}' >src/val.jsonl

run 0 "$FFCONVERT" jsonl src dst --order sequential --token-dtype u16 --zstd 3
no_out
err '^train: 6 records in 1 shard'
err '^val: 1 records in 1 shard'
run 0 "$FFINSPECT" verify dst
run 0 "$FFINSPECT" cat dst 5 --split train --field text
check test "$(cat .stdout)" = last
run 0 "$FFINSPECT" cat dst 3 --split train --field tokens
check test -s .stdout
run 0 "$FFINSPECT" ls dst --split train --where 'n >= 4'
check test "$(tail -n +2 .stdout | wc -l)" = 2

run 2 "$FFCONVERT" jsonl src dst2 --token-dtype u32
one_line_err "--token-dtype is 'u32'; it must be one of u16, i32, i64; see ffconvert jsonl --help$"
echo '{"text": "v", "tokens": [70000], "n": 6}' >>src/val.jsonl
run 1 "$FFCONVERT" jsonl src dst2 --token-dtype u16
err "^ffconvert: error: src/val.jsonl:2: member 'tokens': the number 70000 is not between 0 and 65535 \(--token-dtype u16\); 1 of 2 shards are finished: \
run the conversion again with --bad-samples skip and --resume to continue$"
run 1 "$FFINSPECT" info dst2
run 0 "$FFCONVERT" jsonl src dst2 --token-dtype u16 --bad-samples skip --resume
check grep -q 'val.jsonl:2' dst2/report.jsonl
echo '{"text": "v", "tokens": [7]}' >>src/val.jsonl
run 1 "$FFCONVERT" jsonl src/val.jsonl dst3
err "val.jsonl:3: this line has no member 'n', but the first line has one"
check test ! -e dst3
