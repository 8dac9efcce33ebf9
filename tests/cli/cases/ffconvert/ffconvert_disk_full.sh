# A file larger than allowed: write(2) fails with EFBIG.
run 1 bash -c 'ulimit -f 64; exec "$FFCONVERT" demo dst --images 2000 --size 64 --quiet'
one_line_err 'EFBIG.*; raise the limit .* or give a smaller --shard-size, then start again, because ffkit removed the files written so far'
check test ! -e dst

mkdir small
mount -t tmpfs -o size=14m tmpfs small 2>/dev/null || skip "no right to mount a small tmpfs (the rest passed)"
cleanup+=("umount '$work/small'")
# Something else fills the disk meanwhile: finished shards stay, and when there is space again,
# --resume goes on.
demo() { "$FFCONVERT" demo "$1" --images 2000 --val-images 100 --size 64 --shard-size 1M --quiet "${@:2}"; }
"$FFCONVERT" demo small/dst --images 2000 --val-images 100 --size 64 --shard-size 1M --quiet 2>.err &
converter=$!
await test -e small/dst/train/shard-00000.ffr
dd if=/dev/zero of=small/filler 2>/dev/null
wait $converter
check test $? = 1
check grep -Eq 'ENOSPC.*; [0-9]+ of [0-9]+ shards are finished: free some space, then run the conversion again with --resume to continue' .err
check test "$(wc -l <.err)" = 1
rm small/filler
run 0 demo small/dst --resume
run 0 demo undisturbed
check diff -r small/dst undisturbed
rm -r small/dst

# Noticed before anything is written.
run 1 "$FFCONVERT" demo small/dst --images 20000 --size 64
one_line_err 'the disk is too small: [0-9]+ MB are needed, but only 1[0-9] MB are free'
check test -z "$(ls -A small)"
mkdir -p src/train/cat
head -c 30000000 /dev/zero >src/train/cat/1.jpg
echo cat >classes.txt  # one class alone is an error otherwise
run 1 "$FFCONVERT" folder --classes classes.txt src small/dst --quiet
one_line_err 'the disk is too small: [0-9]+ MB are needed, but only 1[0-9] MB are free'
check test -z "$(ls -A small)"
