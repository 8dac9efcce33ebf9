run 0 "$MAKE_NUSCENES_ROOT" src
run 0 "$FFCONVERT" nuscenes src dst --version v1.0-mini
no_out
err 'note: the tables have 1 of 8 scenes of split mini_train$'
err '^mini_train: 3 records in 1 shard'
err '^mini_train_sweeps: 14 records in 1 shard'
err '^mini_val_maps: 1 records in 1 shard'
run 0 "$FFINSPECT" verify dst
run 0 "$FFINSPECT" cat dst 2 --split mini_train --field LIDAR_TOP/sweeps
check test "$(wc -c <.stdout)" = 96 # six frames before, two numbers of 8 bytes each
run 0 "$FFINSPECT" cat dst 0 --split mini_train --field CAM_BACK/image
check cmp -s .stdout "$(echo src/samples/CAM_BACK/*402000000000.jpg)"
run 0 "$FFCONVERT" nuscenes src dst2 --quiet --num-threads 1
check diff -r dst dst2
run 0 "$FFCONVERT" nuscenes src front --quiet --cameras CAM_FRONT --no-radar --keyframes-only --lidar-dtype f16 --zstd 3
run 0 "$FFINSPECT" verify front
check test ! -e front/mini_train_sweeps

run 0 "$FFCONVERT" nuscenes src filtered --quiet --radar-filter devkit
check grep -q '"radar_filter": "devkit"' filtered/mini_train/manifest.json
check ! grep -q radar_filter dst/mini_train/manifest.json
run 2 "$FFCONVERT" nuscenes src bad --radar-filter some
one_line_err "^ffconvert: error: --radar-filter is 'some'; it must be one of none, devkit; see ffconvert nuscenes --help$"
check test ! -e bad

# A data set keeps its numbers.
run 2 "$FFCONVERT" nuscenes src bad --order shuffle
one_line_err 'refer to each other by number, so the order cannot change; leave out this option, because training shuffles the records'
run 2 "$FFCONVERT" nuscenes src bad --bad-samples skip
one_line_err 'refer to each other by number, so no record can be left out'
run 2 "$FFCONVERT" nuscenes src bad --keyframes-only --sweeps 3
one_line_err '^ffconvert: error: nuscenes: --sweeps has no effect with --keyframes-only; remove one of them; see ffconvert nuscenes --help$'
run 2 "$FFCONVERT" nuscenes src bad --no-radar --radar-sweeps 3
one_line_err '^ffconvert: error: nuscenes: --radar-sweeps has no effect with --no-radar; remove one of them; see ffconvert nuscenes --help$'
run 2 "$FFCONVERT" nuscenes src bad --cameras ""
one_line_err '^ffconvert: error: --cameras: its text is empty; leave the option out for its default; see ffconvert nuscenes --help$'
run 1 "$FFCONVERT" merge bad dst front
one_line_err 'the schema of split .mini_train. differs'
run 0 "$FFCONVERT" nuscenes src again --quiet --radar-sweeps 4
run 1 "$FFCONVERT" merge bad dst again
one_line_err 'refer to each other by number, and a merge would change the numbers'
check test ! -e bad

# What is wrong is said before anything is written.
rm src/samples/LIDAR_TOP/*402000000000.pcd.bin src/sweeps/RADAR_FRONT/*
run 1 "$FFCONVERT" nuscenes src bad
one_line_err '^ffconvert: error: src: 5 of the 100 files are missing, empty or cut off \(LIDAR_TOP 1 of 14, RADAR_FRONT 4 of 10\): .*--allow-partial$'
check test ! -e bad
run 0 "$FFCONVERT" nuscenes src part --allow-partial
err 'note: 5 of the 100 files are missing, empty or cut off .*; the fields of these files are null$'
run 0 "$FFINSPECT" verify part
rm src/v1.0-mini/log.json
run 1 "$FFCONVERT" nuscenes src bad
one_line_err 'src/v1.0-mini: the folder lacks log.json; unpack the metadata \(v1.0-\*_meta.tgz\) again$'
run 1 "$FFCONVERT" nuscenes src bad --version v1.0-test
one_line_err 'src: there is no folder v1.0-test with the tables \(existing folders with tables: v1.0-mini\); unpack v1.0-test_meta.tgz in this folder$'
check test ! -e bad
