run 0 "$FFCONVERT" demo dst --classes 4 --images 40 --val-images 8 --size 32 --num-threads 1
no_out
err '^train: 40 pictures in 1 shard, .* MB, fingerprint [0-9a-f]{16}$'
err '^48 pictures of 4 classes in '
err '^next: fftrain --data dst --work-dir runs/1$'
check test ! -e dst/.ffkit-unfinished
run 0 "$FFINSPECT" verify dst

# The same seed, the same bytes, whatever the number of threads.
run 0 "$FFCONVERT" demo again --classes 4 --images 40 --val-images 8 --size 32 --num-threads 4 --quiet
no_err
check diff -r dst again
run 0 "$FFCONVERT" demo other --classes 4 --images 40 --val-images 8 --size 32 --seed 1 --quiet
check ! cmp -s dst/val/shard-00000.ffr other/val/shard-00000.ffr

run 0 "$FFCONVERT" demo one_split --images 10 --val-images 0 --quiet
check test "$(ls one_split)" = train

# A made-up nuScenes set: its root is an ordinary one, and nothing else is left behind.
export TMPDIR=$work/tmp
mkdir tmp
run 0 "$FFCONVERT" demo driving --kind nuscenes --scenes 2 --val-scenes 1 --frames 3 --size 160 --root root --num-threads 1
no_out
err '^train: 6 records in 1 shard'
err '^val: 3 records in 1 shard'
run 0 "$FFINSPECT" verify driving
run 0 "$FFINSPECT" view driving --split val --record 1 --output view.png --json
json 'd["problems"] == [] and d["scene"] == "scene-0003" and d["num_boxes"] >= 5 and d["num_boxes_drawn"] >= 1'
run 0 "$FFCONVERT" demo driving2 --kind nuscenes --scenes 2 --val-scenes 1 --frames 3 --size 160 --num-threads 3 --quiet
no_err
check diff -r driving driving2
run 0 "$FFCONVERT" nuscenes root ordinary --quiet
check cmp driving/train/shard-00000.ffr ordinary/train/shard-00000.ffr
run 0 "$FFCONVERT" demo driving --kind nuscenes --scenes 2 --val-scenes 1 --frames 3 --size 160 --root root --resume
run 0 "$FFCONVERT" demo none --kind nuscenes --scenes 1 --val-scenes 0 --frames 2 --size 64 --root unmade --dry-run
check test ! -e unmade -a ! -e none
run 1 "$FFCONVERT" demo bad --kind nuscenes --scenes 1 --frames 2 --max-record 4K
err 'the record of this sample would have'
run 1 "$FFCONVERT" demo bad --kind nuscenes --root root
one_line_err '^ffconvert: error: root: the folder is not empty, and it does not contain the demo set of these options; give --root a new or an empty folder$'
check test -z "$(ls tmp)" -a ! -e bad
run 2 "$FFCONVERT" demo bad --kind coco
one_line_err "^ffconvert: error: --kind is 'coco'; it must be one of pictures, nuscenes, pose; see ffconvert demo --help$"
run 2 "$FFCONVERT" demo bad --kind nuscenes --classes 10
one_line_err '^ffconvert: error: demo: --classes has no effect with --kind nuscenes; leave it out; see ffconvert demo --help$'
run 2 "$FFCONVERT" demo bad --root root
one_line_err '^ffconvert: error: demo: --root has no effect with --kind pictures; leave it out; see ffconvert demo --help$'
run 2 "$FFCONVERT" demo bad --kind nuscenes --order shuffle
one_line_err 'refer to each other by number, so the order cannot change; leave out this option, because training shuffles the records'
run 2 "$FFCONVERT" demo bad --kind nuscenes --bad-samples skip
one_line_err 'so no record can be left out; see ffconvert demo --help$'
check test ! -e bad

# People before a camera: the same for any number of threads, and drawn with boxes and joints.
run 0 "$FFCONVERT" demo people --kind pose --images 6 --val-images 3 --num-threads 1
err '^train: 6 records in 1 shard'
run 0 "$FFCONVERT" demo people2 --kind pose --images 6 --val-images 3 --num-threads 3 --quiet
check diff -r people people2
run 0 "$FFINSPECT" verify people
run 0 "$FFINSPECT" view people --split val --output people.png --json
json 'len(d["samples"]) == 3 and all(s["num_boxes"] == 1 and s["num_joints"] == 17 for s in d["samples"])'
run 2 "$FFCONVERT" demo bad --kind pose --classes 10
one_line_err '^ffconvert: error: demo: --classes has no effect with --kind pose; leave it out; see ffconvert demo --help$'
run 1 "$FFCONVERT" demo bad --kind pose --max-resolution 64
err 'pictures of persons are not resized'
