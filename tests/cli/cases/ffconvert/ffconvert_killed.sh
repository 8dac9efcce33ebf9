start() {
  "$FFCONVERT" demo dst --images 100000 --val-images 0 --size 128 --shard-size 1M >.out 2>.err &
  converter=$!
  await test -e dst/train/shard-00001.ffr
}

# kill -9: the marker stays, readers refuse the folder, the next run starts over.
start
# A second converter stays away meanwhile.
run 1 "$FFCONVERT" demo dst --images 10
one_line_err 'another conversion is writing to this folder'
kill -9 $converter
wait $converter 2>/dev/null
check test -e dst/.ffkit-unfinished
run 1 "$FFINSPECT" info dst
err '^ffinspect: error: '
echo mine >dst/notes.txt
run 1 "$FFCONVERT" demo dst --images 10
one_line_err "and other files, such as 'notes.txt'"
check test -e dst/train/shard-00000.ffr
rm dst/notes.txt
run 0 "$FFCONVERT" demo dst --images 10 --val-images 0
err 'note: dst: an unfinished conversion was found and removed; starting over'
run 0 "$FFCONVERT" demo undisturbed --images 10 --val-images 0 --quiet
check diff -r dst undisturbed
rm -r dst

# SIGTERM, SIGINT and SIGHUP: finished shards stay, unreadable, and the message says how to go on.
for signal in TERM INT HUP; do
  setsid env --default-signal=INT "$FFCONVERT" demo dst --images 100000 --val-images 0 --size 128 --shard-size 1M >.out 2>.err &
  await test -e dst/train/shard-00001.ffr
  converter=$!
  kill -$signal $converter
  wait $converter
  status=$?
  check test $status = 130
  check grep -Eq '^ffconvert: error: stopped on request; [0-9]+ of [0-9]+ shards are finished: run the conversion again with --resume to continue' .err
  check test "$(wc -l <.err)" = 1
  check test -e dst/.ffkit-unfinished
  run 1 "$FFINSPECT" info dst
  rm -r dst
done

# nohup's process outlives its terminal.
nohup "$FFCONVERT" demo dst --images 1500 --val-images 0 --size 128 --shard-size 1M >.out 2>.err &
converter=$!
await test -e dst/train/shard-00001.ffr
kill -HUP $converter
wait $converter || fail "exit status $? after SIGHUP under nohup: $(cat .err)"
run 0 "$FFINSPECT" verify dst
