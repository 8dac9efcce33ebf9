# Things in a tree that are no files, and names that are no text: one sentence, no waiting, nothing written.
pictures src/train/cat 2
mkfifo src/train/cat/pipe.jpg
run 1 timeout 20 "$FFCONVERT" folder src dst
one_line_err 'cat/pipe.jpg: is no file but a FIFO, a socket or a device; take it away$'
rm src/train/cat/pipe.jpg
ln -s /dev/zero src/train/cat/zero.jpg
run 1 timeout 20 "$FFCONVERT" folder src dst
one_line_err 'cat/zero.jpg: is no file but'
rm src/train/cat/zero.jpg
ln -s nowhere src/train/cat/link.jpg
run 1 "$FFCONVERT" folder src dst
one_line_err 'cat/link.jpg: .*\(ENOENT\)$'
rm src/train/cat/link.jpg

touch src/train/cat/$'caf\xe9.jpg'
run 1 "$FFCONVERT" folder src dst
one_line_err 'cat/caf\\xe9.jpg: has a name that is no UTF-8 text; rename it$'
rm src/train/cat/$'caf\xe9.jpg'
# A newline is text; messages show it as \n.
touch src/train/cat/$'a\nb.jpg'
run 1 "$FFCONVERT" folder src dst
one_line_err 'cat/a\\nb.jpg: '
check test ! -e dst
run 0 "$FFCONVERT" folder src dst --on-error skip --quiet
check test "$(wc -l <dst/report.jsonl)" = 1
