# Things in a tree that are no files, and names that are no text: one sentence, no waiting, nothing
# written.
pictures src/train/cat 2
mkfifo src/train/cat/pipe.jpg
echo cat >classes.txt  # one class alone is an error otherwise
run 1 timeout 300 "$FFCONVERT" folder --classes classes.txt src dst
one_line_err 'cat/pipe.jpg: the path is not a file, but a FIFO, a socket or a device; remove it$'
rm src/train/cat/pipe.jpg
ln -s /dev/zero src/train/cat/zero.jpg
run 1 timeout 300 "$FFCONVERT" folder --classes classes.txt src dst
one_line_err 'cat/zero.jpg: the path is not a file, but'
rm src/train/cat/zero.jpg
ln -s nowhere src/train/cat/link.jpg
run 1 "$FFCONVERT" folder --classes classes.txt src dst
one_line_err "cat/link.jpg: this link points to 'nowhere', which does not exist; restore this file or folder, or remove the link$"
run 0 "$FFCONVERT" folder --classes classes.txt src linked --bad-samples skip
err '^1 pictures could not be read and were left out: see linked/report.jsonl$'
check grep -q 'cat/link.jpg.*which does not exist' linked/report.jsonl
rm src/train/cat/link.jpg

touch src/train/cat/$'caf\xe9.jpg'
run 1 "$FFCONVERT" folder --classes classes.txt src dst
one_line_err 'cat/caf\\xe9.jpg: the name of this file or class is not UTF-8 text; rename the file or class$'
rm src/train/cat/$'caf\xe9.jpg'
# A newline is text; messages show it as \n.
touch src/train/cat/$'a\nb.jpg'
run 1 "$FFCONVERT" folder --classes classes.txt src dst
one_line_err 'cat/a\\nb.jpg: '
check test ! -e dst
run 0 "$FFCONVERT" folder --classes classes.txt src dst --bad-samples skip --quiet
check test "$(wc -l <dst/report.jsonl)" = 1

# A link that leads round in a circle, in the place of a table.
mkdir -p circle/v1.0-mini
for table in attribute calibrated_sensor category ego_pose instance log map sample sample_annotation sample_data scene sensor visibility; do
  ln -s $table.json circle/v1.0-mini/$table.json
done
run 1 "$FFCONVERT" nuscenes circle out
one_line_err '^ffconvert: error: circle/v1.0-mini/[a-z_]+.json: the path cannot be examined: Too many levels of symbolic links$'
