run 0 "$FFCONVERT" demo dst --classes 4 --images 40 --val-images 8 --size 32 --threads 1
no_out
err '^train: 40 images in 1 shard, .* MB, fingerprint [0-9a-f]{16}$'
err '^48 images of 4 classes in '
err '^next: fftrain --data dst$'
check test ! -e dst/.ffkit-unfinished
run 0 "$FFINSPECT" verify dst

# The same seed, the same bytes, whatever the number of threads.
run 0 "$FFCONVERT" demo again --classes 4 --images 40 --val-images 8 --size 32 --threads 4 --quiet
no_err
check diff -r dst again
run 0 "$FFCONVERT" demo other --classes 4 --images 40 --val-images 8 --size 32 --seed 1 --quiet
check ! cmp -s dst/val/shard-00000.ffr other/val/shard-00000.ffr

run 0 "$FFCONVERT" demo one_split --images 10 --val-images 0 --quiet
check test "$(ls one_split)" = train
