# Wrong use: status 2, one line, nothing on stdout.
for arguments in "" "coco src dst" "demo" "folder src" "demo dst --bogus" "demo dst extra" "--quiet demo dst" \
  "demo dst --classes 1" "demo dst --classes 1153" "demo dst --threads -1" "demo dst --threads x" \
  "demo dst --shard-size 5" "demo dst --shard-size 5parsec" "demo dst --order random" "demo dst --on-error ignore" \
  "demo dst --seed -1" "demo dst --seed 010x" "demo dst --size 4"; do
  # shellcheck disable=SC2086
  run 2 "$FFCONVERT" $arguments
  one_line_err '^ffconvert: error: .*see ffconvert --help$'
  no_out
  check test ! -e dst
done
run 2 "$FFCONVERT"
err 'one of imagenet, folder, demo'

run 0 "$FFCONVERT" --help
out 'ffconvert demo /tmp/demo --classes 10'
no_err
run 0 "$FFCONVERT" imagenet --help
out '--on-error'
run 0 "$FFCONVERT" --version
out '^ffconvert [0-9]+\.[0-9]+\.[0-9]+$'
