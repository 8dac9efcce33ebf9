# Wrong use: status 2, one line, nothing on stdout.
for arguments in "" "--data" "data data" "--data data --bogus" "--data data --epochs x" "--data data --arch vgg" \
  "--data data --lr-schedule linear" "--data data --crop-scale 0.5" "--data data --seed -1" \
  "--data data --resume-from a --evaluate b" "--data data --resume a" "--data data --resume" "--data data --output x.pth" \
  "--export run" "--data data --resume --work-dir run --resume-from run"; do
  # shellcheck disable=SC2086
  run 2 "$FFTRAIN" $arguments
  one_line_err '^fftrain: error: .*see fftrain --help$'
  no_out
done
# An empty text is a variable that is not set, not a wish to keep nothing.
for option in --work-dir --evaluate; do
  run 2 "$FFTRAIN" --dummy $option ""
  one_line_err "^fftrain: error: $option: its text is empty; leave the option out for its default; see fftrain --help$"
done
run 0 "$FFTRAIN" --help
out '--crop-scale MIN MAX'
out 'fftrain --resume-from runs/a'
no_err
run 0 "$FFTRAIN" --version
out '^fftrain [0-9]+\.[0-9]+\.[0-9]+$'
