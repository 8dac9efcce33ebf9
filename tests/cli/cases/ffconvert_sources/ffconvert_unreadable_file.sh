pictures src/train/cat 3
chmod 000 src/train/cat/0001.jpg
as_user=()
if cat src/train/cat/0001.jpg >/dev/null 2>&1; then
  # Root reads everything; another user does not.
  as_user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
  chmod 777 .
  "${as_user[@]}" "$FFCONVERT" --version >/dev/null 2>&1 || skip "this user reads every file and cannot become another"
fi
echo cat >classes.txt  # one class alone is an error otherwise
run 1 "${as_user[@]}" "$FFCONVERT" folder --classes classes.txt src dst
one_line_err '^ffconvert: error: .*0001.jpg: the file cannot be opened: Permission denied \(EACCES\)$'
check test ! -e dst

# A destination that may not be made.
mkdir locked
chmod 555 locked
[ ${#as_user[@]} -gt 0 ] && chown 65534 locked
run 1 "${as_user[@]}" "$FFCONVERT" demo locked/dst --images 10
one_line_err '^ffconvert: error: .*locked/dst: .*Permission denied \(EACCES\)$'
