# Wrong use: status 2, one line, nothing on stdout.
for arguments in "" "cocoa src dst" "demo" "folder src" "demo dst --bogus" "demo dst extra" "--quiet demo dst" \
  "demo dst --classes 1" "demo dst --classes 1153" "demo dst --num-threads -1" "demo dst --num-threads x" \
  "demo dst --shard-size 5" "demo dst --shard-size 5parsec" "demo dst --order random" "demo dst --bad-samples ignore" \
  "demo dst --seed -1" "demo dst --seed 010x" "demo dst --size 4" "imagenet src dst --splits train,," \
  "imagenet src dst --splits val,val" "coco src dst --annotations f" "coco src dst --images f" "jsonl src dst --token-dtype f32" \
  "nuscenes src dst --cameras CAM_FRONT,CAM_TOP" "nuscenes src dst --cameras CAM_BACK,CAM_BACK" "nuscenes src dst --cameras none,CAM_BACK" \
  "nuscenes src dst --version a/b" "nuscenes src dst --lidar-dtype bf16"; do
  # shellcheck disable=SC2086
  run 2 "$FFCONVERT" $arguments
  subcommand=${arguments#--quiet }
  subcommand=${subcommand%% *}
  [ "$subcommand" != cocoa ] || subcommand=
  one_line_err "^ffconvert: error: .*; see ffconvert ${subcommand:+$subcommand }--help$"
  no_out
  check test ! -e dst
done
for arguments in "imagenet --splits" "webdataset --classes" "coco --annotations" "jsonl --token-dtype" "nuscenes --cameras" "nuscenes --version"; do
  # shellcheck disable=SC2086
  run 2 "$FFCONVERT" $arguments "" src dst
  one_line_err ": its text is empty; leave the option out for its default; see ffconvert ${arguments%% *} --help$"
done
run 2 "$FFCONVERT"
err 'one of imagenet, folder, .*demo'

run 0 "$FFCONVERT" --help
out 'ffconvert demo /tmp/demo --classes 10'
no_err
run 0 "$FFCONVERT" imagenet --help
out '--bad-samples'
# nuScenes refuses other orders and error policies, so its help does not offer them.
run 0 "$FFCONVERT" nuscenes --help
out '--allow-partial'
check ! grep -q -e --order -e --bad-samples .stdout
run 0 "$FFCONVERT" --version
out '^ffconvert [0-9]+\.[0-9]+\.[0-9]+$'
