pictures src/train/cat 5
echo 'no picture' >src/train/cat/broken.jpg
: >src/train/cat/empty.jpg

echo cat >classes.txt  # one class alone is an error otherwise
run 1 "$FFCONVERT" folder --classes classes.txt src dst --order sequential
one_line_err '^ffconvert: error: .*src/train/cat/broken.jpg: '
check test ! -e dst

run 0 "$FFCONVERT" folder --classes classes.txt src dst --bad-samples skip
err '^2 pictures could not be read and were left out: see dst/report.jsonl$'
check test "$(wc -l <dst/report.jsonl)" = 2
check grep -Eq '^\{"split":"train","source":".*broken.jpg","reason":".+"\}$' dst/report.jsonl
run 0 "$FFINSPECT" verify dst
