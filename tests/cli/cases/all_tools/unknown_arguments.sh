# Options and commands that there are not: which one, and which are meant.
run 2 "$FFINSPECT" inf data
one_line_err "ffinspect has no command 'inf'; the nearest are 'info', "
run 2 "$FFINSPECT" ls data --spilt val
one_line_err "ffinspect ls has no option '--spilt'; the nearest are '--split', "
run 2 "$FFINSPECT" ls data more
one_line_err "'more' is one argument too many for ffinspect ls"
run 2 "$FFCONVERT" folder source new --shard-sise=1M
one_line_err "ffconvert folder has no option '--shard-sise'; the nearest are '--shard-size', "
run 2 "$FFCONVERT" imagnet source new
one_line_err 'the first argument must be one of imagenet, folder, '
# What other programs call otherwise.
if [ -n "${FFTRAIN:-}" ]; then
  run 2 "$FFTRAIN" --data data --model resnet18
  one_line_err "fftrain has no option '--model'; use instead --arch; see fftrain --help"
  run 2 "$FFTRAIN" --data data --workers=4
  one_line_err "fftrain has no option '--workers'; use instead --threads"
fi
