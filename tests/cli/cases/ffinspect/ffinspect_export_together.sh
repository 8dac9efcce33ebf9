# An export appears whole or not at all: two at once, signals, a kill.
run 0 "$FFCONVERT" demo dst --classes 4 --images 2000 --val-images 0 --size 16 --order sequential --quiet
run 0 "$FFINSPECT" export dst whole

# Begins an export to $1, whose unfinished files are in $2, and stops it in the middle.
begin() {
  "$FFINSPECT" export dst "$1" >background.out 2>background.err &
  exporter=$!
  until [ -n "$(ls "$2" 2>/dev/null)" ]; do kill -0 $exporter 2>/dev/null || fail 'the export was too fast'; done
  kill -STOP $exporter
  check test -d "$2"
}

mkdir empty
for out in new empty; do
  unfinished=$out.ffinspect-export
  [ $out = empty ] && unfinished=empty/.ffinspect-export
  # The second one is refused and takes nothing from the first.
  begin $out $unfinished
  run 1 "$FFINSPECT" export dst $out
  one_line_err "$out: another process is exporting to this folder"
  kill -CONT $exporter
  check wait $exporter
  check diff -r whole $out
  check test ! -e $unfinished
  rm -r $out
  [ $out = empty ] && mkdir empty

  # A signal leaves nothing, and says so.
  for signal in INT TERM HUP; do
    begin $out $unfinished
    kill -$signal $exporter
    kill -CONT $exporter
    status=0
    wait $exporter || status=$?
    [ $status = 130 ] || { [ $signal = INT ] && [ $status = 0 ]; } || fail "exit status $status after SIG$signal"
    [ $status = 0 ] && { rm -r $out; [ $out = empty ] && mkdir empty; continue; }  # a shell's background jobs ignore SIGINT
    grep -q 'stopped by a signal' background.err || fail 'does not say that a signal stopped it'
    check test ! -e $unfinished
    [ $out = empty ] || check test ! -e new
    check test -z "$(ls -A empty)"
  done

  # What a kill leaves is in nobody's way.
  begin $out $unfinished
  kill -KILL $exporter
  wait $exporter 2>/dev/null
  check test -d $unfinished
  run 0 "$FFINSPECT" export dst $out
  check diff -r whole $out
  check test ! -e $unfinished
done

# Somebody else fills the folder meanwhile: the export fails, and their files stay.
rm -r new
begin new new.ffinspect-export
mkdir new
echo theirs >new/file
kill -CONT $exporter
wait $exporter && fail 'wrote into a folder that somebody else filled'
grep -q 'new: the folder is not empty, and nothing is overwritten' background.err || fail "$(cat background.err)"
check test "$(cat new/file)" = theirs
check test ! -e new.ffinspect-export
