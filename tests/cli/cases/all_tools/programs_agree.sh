# An option has one meaning in all programs: --data is the data set that is read, --json a flag for
# the form of the output, --output (-o) the file that takes it, --resume a flag that continues what
# lies in the destination, --quiet leaves errors alone.
run 0 "$MAKE_NUSCENES" set
run 0 "$FFCONVERT" demo data --classes 3 --images 6 --val-images 3 --size 16 --quiet
no_out
no_err

# --data names what the first argument names.
for command in "info" "ls" "stats" "verify" "cat --split val --field id" "view --split val"; do
  # shellcheck disable=SC2086
  run 0 "$FFINSPECT" $command --data data $([ "${command%% *}" = cat ] && echo 1)
  cp .stdout named
  # shellcheck disable=SC2086
  run 0 "$FFINSPECT" ${command%% *} data $([ "${command%% *}" = cat ] && echo 1) ${command#"${command%% *}"}
  check cmp .stdout named
done
run 0 "$FFEVAL" nuscenes --data set --split mini_val --results set/results.json
cp .stdout named
run 0 "$FFEVAL" nuscenes set --split mini_val --results set/results.json
check cmp .stdout named

# --json and --output: the same bytes in a file as on standard output.
for command in "$FFINSPECT cat data 1 --split val" "$FFEVAL nuscenes set --split mini_val --results set/results.json"; do
  for form in "" --json; do
    run 0 $command $form
    cp .stdout printed
    [ -n "$form" ] && json 'isinstance(d, dict)'
    for option in -o --output; do
      run 0 $command $form $option file
      no_out
      check cmp file printed
    done
  done
done
run 0 "$FFINSPECT" view data --split val
cp .stdout printed
run 0 "$FFINSPECT" view data --split val -o sheet.png
check cmp sheet.png printed

# --resume takes no value; what is finished stays, what is not there is begun.
run 0 "$FFCONVERT" demo new --classes 3 --images 6 --val-images 3 --size 16 --quiet --resume
check diff -r new data
run 2 "$FFCONVERT" demo other --resume=data
check test ! -e other
[ -n "${FFTRAIN:-}" ] || skip "built without the trainer"
run 2 "$FFTRAIN" --data data --resume=run --work-dir run
one_line_err '^fftrain: error: .*see fftrain --help$'
run 2 "$FFTRAIN" --data data --resume run
one_line_err '^fftrain: error: .*see fftrain --help$'
run 2 "$FFTRAIN" --data data --resume
one_line_err '^fftrain: error: --resume requires --work-dir; see fftrain --help$'
check test ! -e run

# The help of fftrain shows its options in groups.
run 0 "$FFTRAIN" --help
for group in "Task and data" "Network .task classification." "Pictures .task classification." "Augmentation .task classification." Model Batches "Learning rate" Optimizer \
  "Devices and processes" Run "Instead of a new run"; do
  out "^$group:$"
done
