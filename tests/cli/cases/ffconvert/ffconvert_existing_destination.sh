mkdir dst
echo precious >dst/thesis.txt
run 1 "$FFCONVERT" demo dst --images 10
one_line_err '^ffconvert: error: .*dst: the folder is not empty; give a new or an empty folder$'
check test "$(ls -A dst)" = thesis.txt

echo precious >file
run 1 "$FFCONVERT" demo file --images 10
one_line_err 'the path exists, but it is not a folder'
check grep -q precious file

run 0 "$FFCONVERT" demo data --images 10 --val-images 0 --quiet
run 1 "$FFCONVERT" demo data --images 10
one_line_err "already contains a data set \(split 'train'\)"
run 0 "$FFINSPECT" verify data

mkdir empty
run 0 "$FFCONVERT" demo empty --images 10 --val-images 0 --quiet
run 1 "$FFCONVERT" demo file/below --images 10
one_line_err '^ffconvert: error: '
