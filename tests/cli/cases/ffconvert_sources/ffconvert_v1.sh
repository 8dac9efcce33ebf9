# To FFRecord v1 and back; what SRC is decides the direction.
run 0 "$FFCONVERT" demo src --classes 3 --images 30 --val-images 6 --size 32 --quiet
run 0 "$FFCONVERT" v1 src v1
no_out
err "^ffconvert: note: train: FFRecord v1 has no fields, so these are left out: id$"
err '^train: 30 records in 1 part, '
check test "$(find v1 -type f | sort | tr '\n' ' ')" = "v1/meta.pkl v1/train.ffr/PART_00000.ffr v1/val.ffr/PART_00000.ffr "
run 0 "$FFINSPECT" verify v1

run 0 "$FFCONVERT" v1 v1 back --zstd 1 --num-threads 2
no_out
err '^train: 30 pictures in 1 shard'
err '^36 pictures of 3 classes in '
run 0 "$FFINSPECT" verify back
for i in 0 17 29; do
  check cmp <("$FFINSPECT" cat src $i --split train --field image) <("$FFINSPECT" cat back $i --split train --field image)
done
run 0 "$FFCONVERT" v1 back v1_again --quiet
check diff -r v1 v1_again

# One part, and a folder of parts, by the name of their folder.
run 0 "$FFCONVERT" v1 v1/val.ffr/PART_00000.ffr one --quiet
check test "$(ls one)" = val
run 0 "$FFCONVERT" v1 v1/val.ffr parts --quiet
check test "$(ls parts)" = val

# --dry-run writes nothing.
run 0 "$FFCONVERT" v1 src x --dry-run --quiet
no_err
out '^train: 30 records in 1 part, about 0\.[0-9] MB$'
out '^about 0\.[0-9] MB; reading and encoding take about [0-9]+ s$'
check test ! -e x

# An option of the other direction is not ignored.
run 2 "$FFCONVERT" v1 src x --zstd 3
one_line_err '^ffconvert: error: v1: --zstd is for reading FFRecord v1, but SRC is an ffkit data set; see'
for option in "--part 1/2" "--read gather" --resume; do
  # shellcheck disable=SC2086
  run 2 "$FFCONVERT" v1 src x $option
  one_line_err "^ffconvert: error: v1: ${option%% *} is for reading FFRecord v1, but SRC is an ffkit data set; see"
  check test ! -e x
done
run 2 "$FFCONVERT" v1 v1 x --field image
one_line_err '^ffconvert: error: v1: --field is for writing FFRecord v1; SRC already is FFRecord v1; see'
run 2 "$FFCONVERT" v1 v1 x --payload raw
one_line_err "the records of SRC are those of ImageNet"
run 2 "$FFCONVERT" v1 v1 x --payload python
run 1 "$FFCONVERT" v1 src x --payload raw --field nothing
one_line_err "error: .*there is no field 'nothing'; the fields are image, label, id$"
run 1 "$FFCONVERT" v1 nowhere x
one_line_err 'nowhere: there is no such folder or file'
check test ! -e x

# A damaged part.
printf 'x' | dd of=v1/train.ffr/PART_00000.ffr bs=1 seek=2000 conv=notrunc status=none
run 1 "$FFCONVERT" v1 v1 x
one_line_err '^ffconvert: error: v1/train.ffr/PART_00000.ffr: record [0-9]+: offset [0-9]+: '
check test ! -e x
run 0 "$FFCONVERT" v1 v1 x --bad-samples skip
err '^1 pictures could not be read and were left out: see x/report.jsonl$'
