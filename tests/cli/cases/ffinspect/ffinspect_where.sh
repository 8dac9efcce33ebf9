# Some records of a data set: by a filter over columns, by an index file.
run 0 "$FFCONVERT" demo dst --classes 4 --images 40 --val-images 8 --size 32 --order sequential --quiet
run 0 "$FFINSPECT" ls dst --where 'label in {1, 3}'
check test "$(grep -c ^train "$work/.stdout")" = 20
check test "$(grep -c ^val "$work/.stdout")" = 4
check test "$(cut -f4 "$work/.stdout" | sort -u | tr '\n' ' ')" = '1 3 label '
# Numbers are those in the split.
run 0 "$FFINSPECT" ls dst --split train --where 'label == 3' --limit 2
out $'^train\t3\t'
out $'^train\t7\t'
printf '# chosen\n5, 2\n30\n' >index
run 0 "$FFINSPECT" ls dst --split train --indices index
check test "$(cut -f2 "$work/.stdout" | tr '\n' ' ')" = 'record 5 2 30 '
run 0 "$FFINSPECT" ls dst --split train --indices index --where 'label != 2'
check test "$(cut -f2 "$work/.stdout" | tr '\n' ' ')" = 'record 5 '
run 0 "$FFINSPECT" stats dst --split train --where 'label in {0..1}' --json
json '[l["num_records"] for l in d["splits"][0]["labels"]][:2] == [10, 10] and d["splits"][0]["num_records"] == 20'
run 0 "$FFINSPECT" export dst out --split val --where 'label == 2'
check test "$(find out -name "*.jpg" | wc -l)" = 2
run 0 "$FFINSPECT" view dst --split train --where 'label == 2' --output sheet.png --json
json 'all(s["label"] == 2 and s["record"] % 4 == 2 for s in d["samples"])'

run 1 "$FFINSPECT" ls dst --where 'label ~ 3'
one_line_err "the filter 'label ~ 3' needs 'in', 'not in' or one of == != < <= > >= before '~ 3'"
run 1 "$FFINSPECT" ls dst --where 'image == x'
one_line_err "field 'image' is not a column, because its values are not in the index"
run 1 "$FFINSPECT" ls dst --indices index
one_line_err 'an index file belongs to one split; choose the split with --split'
echo 40 >index
run 1 "$FFINSPECT" ls dst --split train --indices index
one_line_err 'there is no record 40; the split has 40'
run 1 "$FFINSPECT" ls dst --split train --indices none
one_line_err 'none: the index file cannot be opened'

# --record is a number of the split, whatever is chosen.
run 0 "$FFINSPECT" view dst --split train --where 'label == 2' --record 6 --output one.png --json
json '[s["record"] for s in d["samples"]] == [6]'
run 1 "$FFINSPECT" view dst --split train --where 'label == 2' --record 5 --output one.png
one_line_err 'record 5 is not chosen by --where and --indices'
