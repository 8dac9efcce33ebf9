# A file larger than allowed: write(2) fails with EFBIG.
run 1 bash -c 'ulimit -f 64; exec "$FFCONVERT" demo dst --images 2000 --size 64 --quiet'
one_line_err 'EFBIG.*; what was written has been removed: give a smaller --shard-size or raise the limit'
check test ! -e dst

mkdir small
mount -t tmpfs -o size=2m tmpfs small 2>/dev/null || skip "no right to mount a small tmpfs (the rest passed)"
cleanup+=("umount '$work/small'")
run 1 "$FFCONVERT" demo small/dst --images 2000 --size 64 --quiet
one_line_err 'ENOSPC.*; what was written has been removed: free some space or give another folder'
check test -z "$(ls -A small)"

# Noticed before anything is written where the sizes are known.
mkdir -p src/train/cat
head -c 3000000 /dev/zero >src/train/cat/1.jpg
run 1 "$FFCONVERT" folder src small/dst --quiet
one_line_err 'the disk is too small: 3 MB are needed and 2 MB are free'
check test -z "$(ls -A small)"
