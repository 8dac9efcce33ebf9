# A limit of the system ends every command with one line, and takes nothing away that is finished.
[ "$(id -u)" = 0 ] || skip "needs root, to run as a user that has no other processes"
chmod 777 .
as_other="setpriv --reuid=64321 --regid=64321 --clear-groups"
# shellcheck disable=SC2086
limited() { prlimit --nproc="$1" $as_other "${@:2}"; }
options="--images 3000 --val-images 0 --size 64 --shard-size 1M"

# shellcheck disable=SC2086
kill_when dst/train/shard-00001.ffr $as_other "$FFCONVERT" demo dst $options
shards=$(ls dst/train/*.ffr)
check test -n "$shards"

# Fewer threads than are asked for.
run 1 limited 3 "$FFCONVERT" demo dst $options --num-threads 16 --resume --quiet
one_line_err '^ffconvert: error: 16 threads are needed, but the system allows only [0-9]; .*ulimit -u.* shards are finished: run the conversion again with --resume to continue$'
check test "$shards" = "$(ls dst/train/*.ffr)"
# One: shards are closed by it.
run 0 limited 1 "$FFCONVERT" demo dst $options --num-threads 1 --resume
run 0 "$FFCONVERT" demo undisturbed $options --quiet
check diff -r dst undisturbed

# Memory, and threads in commands that take one a processor: done, or one line.
one_line_or_done() {
  "$@" >.out 2>.err
  status=$?
  [ $status = 0 ] && return
  check test $status = 1 -o $status = 127  # 127: not even the shared libraries
  check test "$(wc -l <.err)" = 1
}
for limit in 50000 60000 70000 80000; do
  one_line_or_done prlimit --as=$((limit * 1024)) "$FFCONVERT" demo out$limit --images 20 --size 32 --quiet --num-threads 8
  one_line_or_done prlimit --as=$((limit * 1024)) "$FFINSPECT" verify undisturbed
done
one_line_or_done limited 1 "$FFINSPECT" verify undisturbed
one_line_or_done limited 2 "$FFCONVERT" merge merged undisturbed --copy
