# Three data sets joined; records are those of the sources, in the order given.
for i in 1 2 3; do
  run 0 "$FFCONVERT" demo part$i --classes 3 --images $((10 * i)) --val-images 4 --size 32 --seed $i --quiet
done
ids() { "$FFINSPECT" ls "$@" | tail -n +2 | cut -f3-; }
run 0 "$FFCONVERT" merge all part2 part1
no_out
err '^train: 30 records in 2 shards, .* MB, fingerprint [0-9a-f]{16}$'
err '^val: 8 records in 2 shards, '
check test "$(wc -l <.stderr)" = 2
run 0 "$FFINSPECT" verify all
check diff <(ids all --split train) <(ids part2 --split train; ids part1 --split train)
check test all/train/shard-00001.ffr -ef part1/train/shard-00000.ffr

run 0 "$FFCONVERT" append all part3 --copy --quiet
no_err
run 0 "$FFINSPECT" verify all
check diff <(ids all --split train) <(ids part2 --split train; ids part1 --split train; ids part3 --split train)
check test ! all/train/shard-00002.ffr -ef part3/train/shard-00000.ffr
run 1 "$FFCONVERT" append all part3
err 'note: part3: the shards of split .val. are already in the destination and left out$'
err '^ffconvert: error: all: the destination already contains all shards of the sources, so there is nothing to merge$'

run 0 "$FFCONVERT" merge moved part1 part3 --move
check test ! -e part1
check test ! -e part3
run 0 "$FFINSPECT" verify moved
run 0 "$FFINSPECT" verify all

# Refusals touch nothing.
run 0 "$FFCONVERT" demo four --classes 4 --images 8 --val-images 0 --size 32 --quiet
run 1 "$FFCONVERT" merge x part2 four
one_line_err '^ffconvert: error: four: this data set and part2 have different classes: there are 4 classes here and 3 there$'
run 1 "$FFCONVERT" append all four
one_line_err '^ffconvert: error: four: this data set and .*all have different classes: there are 4 classes here and 3 there$'
run 1 "$FFCONVERT" merge x part2 ./part2/
one_line_err 'is given twice'
cp -r part2 copy
run 1 "$FFCONVERT" merge x part2 copy
one_line_err "copy: 1 of its 1 shards of split 'train' are also in .*part2, so their records would be in the result twice; give every shard only once$"
run 1 "$FFCONVERT" merge all part2
one_line_err "all: the folder already contains a data set"
run 0 "$FFCONVERT" v1 part2 v1 --quiet
run 1 "$FFCONVERT" merge x part2 v1
one_line_err "v1: split 'train' has FFRecord v1 files, and ffconvert cannot join such files"
run 1 "$FFCONVERT" append nowhere part2
one_line_err '^ffconvert: error: nowhere: '
check test ! -e x
check test ! -e nowhere
for arguments in "merge" "merge x" "append all" "merge x part2 --move --copy" "merge x part2 --zstd 3"; do
  # shellcheck disable=SC2086
  run 2 "$FFCONVERT" $arguments
  one_line_err "^ffconvert: error: .*see ffconvert ${arguments%% *} --help$"
  check test ! -e x
done
