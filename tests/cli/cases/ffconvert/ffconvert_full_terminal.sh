# Where notes and the summary go is full or closed: the data set is what counts. What goes to stdout
# is what was asked for.
options=(--images 3 --val-images 0 --size 32)
run 0 "$FFCONVERT" demo plain "${options[@]}"
run 0 bash -c '"$FFCONVERT" demo full "$@" 2>/dev/full' bash "${options[@]}"
run 0 bash -c '"$FFCONVERT" demo closed "$@" 2>&-' bash "${options[@]}"
run 0 bash -c '"$FFCONVERT" v1 plain v1 2>/dev/full'
run 0 bash -c '"$FFCONVERT" merge merged plain 2>/dev/full'
for set in full closed merged; do
  run 0 "$FFINSPECT" verify $set
done
check diff -r plain full
check diff -r plain closed
run 1 bash -c '"$FFCONVERT" demo x "$@" --dry-run >/dev/full' bash "${options[@]}"
one_line_err '^ffconvert: error: cannot write to standard output: .*ENOSPC'
