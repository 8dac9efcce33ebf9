run 2 "$FFINSPECT"
no_out
one_line_err '^ffinspect: error: '
run 2 "$FFINSPECT" look dst
one_line_err '^ffinspect: error: '
run 2 "$FFINSPECT" info
one_line_err '--data is required; see ffinspect info --help$'
run 2 "$FFINSPECT" info dst --wrong
one_line_err '--wrong'
run 2 "$FFINSPECT" view dst --output ""
one_line_err '--output: its text is empty; leave the option out for its default; see ffinspect view --help$'
run 0 "$FFINSPECT" --version
out '^ffinspect [0-9]+\.[0-9]+\.[0-9]+$'
run 0 "$FFINSPECT" --help
no_err
for command in info ls cat stats view export verify; do
  out "^  $command "
  run 0 "$FFINSPECT" $command --help
  out '--json'
  out '^With --json: '
  run 1 "$FFINSPECT" $command nowhere $([ $command = cat ] && echo 0) $([ $command = export ] && echo out)
  no_out
  one_line_err '^ffinspect: error: nowhere: '
  run 0 "$FFINSPECT" --help
done
check test ! -e out
