# --resume after kill -9: only what is not finished is made again, and the bytes are those of an
# undisturbed run.
options="--images 1500 --val-images 50 --size 64 --shard-size 1M"
convert() { "$FFCONVERT" demo "$1" $options "${@:2}"; }
for mode in direct gather; do
  kill_when dst/train/shard-00001.ffr "$FFCONVERT" demo dst $options --read $mode
  check test -e dst/.ffkit-unfinished
  run 1 "$FFINSPECT" info dst
  one_line_err 'finish it with: cd .* && .*ffconvert demo dst --images 1500 .* --resume$'
  before=$(stat -c %i dst/train/shard-00000.ffr)
  run 1 convert dst --resume --seed 5
  one_line_err 'has an unfinished conversion, and this conversion differs in'
  run 0 convert dst --resume
  err 'note: dst: train: [0-9]* of [0-9]* shards are finished; continuing'
  check test "$before" = "$(stat -c %i dst/train/shard-00000.ffr)"
  run 0 convert undisturbed --quiet
  check diff -r dst undisturbed
  # There is nothing left to do.
  run 0 convert dst --resume
  err 'note: dst: is already finished: .* nothing was written$'
  run 1 convert dst --resume --seed 5
  one_line_err "already contains a data set from a conversion that differs in option seed \(was '0', now '5'\)"
  run 1 convert dst
  one_line_err 'already contains a data set'
  check diff -r dst undisturbed
  rm -r dst undisturbed
done

# Shared by three machines, then merged.
run 0 convert whole --quiet
for part in 1 2 3; do run 0 convert part-$part --part $part/3 --quiet; done
run 1 "$FFCONVERT" merge dst part-1 part-3
one_line_err "shards [0-9]+ to [0-9]+ of split 'train' are missing"
check test ! -e dst
run 0 "$FFCONVERT" merge dst part-3 part-1 part-2
check diff -r dst whole
run 2 convert x --part 4/3
err 'expected i/n'
run 1 convert x --part 1/1000
one_line_err 'part 1/1000 has nothing to do'

# --dry-run writes nothing.
run 0 convert dry --dry-run
out '^train: 1500 pictures in [0-9]+ shards, about [0-9.]+ MB$'
out '^about [0-9.]+ MB; reading and encoding take about [0-9]+ s$'
check test ! -e dry
