# Options and commands that there are not: which one, and which are meant.
run 2 "$FFINSPECT" inf data
one_line_err "ffinspect has no command 'inf'; the nearest names are info, "
run 2 "$FFINSPECT" ls data --spilt val
one_line_err "ffinspect ls has no option '--spilt'; the nearest names are --split, "
run 2 "$FFINSPECT" ls data more
one_line_err "'more' is one argument too many for ffinspect ls"
run 2 "$FFCONVERT" folder source new --shard-sise=1M
one_line_err "ffconvert folder has no option '--shard-sise'; the nearest names are --shard-size, "
run 2 "$FFCONVERT" imagnet source new
one_line_err "ffconvert has no command 'imagnet'; the nearest names are imagenet, "
run 2 "$FFCONVERT"
one_line_err 'the first argument must be one of imagenet, folder, '
# Names of earlier versions, and of the field.
run 2 "$FFCONVERT" folder source new --threads 2 --on-error=skip
one_line_err "ffconvert folder has no option '--threads'; it is --num-threads now; for '--on-error' it is --bad-samples now"
run 2 "$FFCONVERT" folder source new --order shuffled
one_line_err "--order is 'shuffled', which is --order shuffle now"
run 2 "$FFCONVERT" folder source new --workers 2
one_line_err "ffconvert folder has no option '--workers'; use --num-threads instead"
run 2 "$FFCONVERT" folder source new --overwrite
one_line_err "ffconvert folder has no option '--overwrite'; remove DST first, "
printf 'threads = 2\n' >old.toml
run 2 "$FFCONVERT" folder source new --config old.toml
one_line_err "old.toml: line 1: 'threads' cannot be set in a file; it is num-threads now"
run 2 "$FFCONVERT" wds source new
one_line_err "ffconvert has no command 'wds'; use webdataset instead"
run 2 "$FFINSPECT" show data
one_line_err "ffinspect has no command 'show'; use view instead"
# Values of another kind.
run 2 "$FFCONVERT" folder source new --max-resolution 400px
one_line_err "--max-resolution is '400px'; it must be a whole number"
run 2 "$FFCONVERT" folder source new -j=two
one_line_err "--num-threads is 'two'; it must be a whole number"
run 2 "$FFCONVERT" folder source new --shard-size 400px
one_line_err "--shard-size: '400px' is not a size; give a number of bytes, such as 64M"
# A path in the place of the command.
mkdir -p my-pictures/train/cat && : >my-pictures/train/cat/1.jpg
run 2 "$FFCONVERT" my-pictures out
one_line_err "'my-pictures' is a path, .*'ffconvert folder my-pictures DST'"
run 1 "$FFINSPECT" info my-pictures
one_line_err "is not a data set: .*'ffconvert folder .*my-pictures DST'"
# What other programs call otherwise.
if [ -n "${FFTRAIN:-}" ]; then
  run 2 "$FFTRAIN" --data data --model resnet18
  one_line_err "fftrain has no option '--model'; use --arch instead; see fftrain --help"
  run 2 "$FFTRAIN" --data data --workers=4
  one_line_err "fftrain has no option '--workers'; use --num-threads instead"
fi
