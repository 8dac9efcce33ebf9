# Pictures do not shrink, the rest of these small records does; a dictionary is made of them once
# for the split.
options=(--classes 3 --images 400 --val-images 0 --size 16 --quiet)
run 0 "$FFCONVERT" demo plain "${options[@]}"
run 0 "$FFCONVERT" demo one "${options[@]}" --zstd 9 --zstd-dictionary 4K --num-threads 1
run 0 "$FFCONVERT" demo three "${options[@]}" --zstd 9 --zstd-dictionary 4K --num-threads 3
check diff -r one three
run 0 "$FFINSPECT" verify one
check test "$(stat -c %s one/train/shard-00000.ffr)" -lt "$(stat -c %s plain/train/shard-00000.ffr)"
check diff <("$FFINSPECT" ls plain) <("$FFINSPECT" ls one)
check cmp <("$FFINSPECT" cat plain 7 --field image) <("$FFINSPECT" cat one 7 --field image)
check grep -q '"zstd_dictionary_bytes": "4096"' one/train/manifest.json

run 2 "$FFCONVERT" demo dst --zstd-dictionary 4K
one_line_err 'a zstd dictionary works only with compressed records; also give a zstd level; see ffconvert demo --help$'
run 2 "$FFCONVERT" demo dst --zstd 23
one_line_err '--zstd is 23; it must be -7 .. 22'
run 2 "$FFCONVERT" demo dst --zstd 3 --zstd-dictionary 100
one_line_err '--zstd-dictionary is 100; it must be 0, or 256 .. 16M'
check test ! -e dst

# Splits without enough to train on, such as nuScenes' maps, go without.
run 0 "$FFCONVERT" demo dst --images 4 --val-images 0 --zstd 3 --zstd-dictionary 112K
err "note: split 'train' is compressed without a dictionary: cannot train a zstd dictionary of 114688 bytes on 4 records"
run 0 "$FFINSPECT" verify dst
run 0 "$MAKE_NUSCENES_ROOT" src
run 0 "$FFCONVERT" nuscenes src scenes --zstd 3 --zstd-dictionary 4K --quiet
run 0 "$FFINSPECT" verify scenes
