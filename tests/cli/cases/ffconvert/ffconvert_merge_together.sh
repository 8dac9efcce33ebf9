# merge --move beside append --move of the same source: one of them gets it, the other says why not,
# and no record is lost.
count() {
  local set total=0 n
  for set in "$@"; do
    [ -e "$set/train/manifest.json" ] || continue
    n=$("$FFINSPECT" verify "$set" | sed -n 's/.*whole: \([0-9]*\) records.*/\1/p')
    total=$((total + ${n:-0}))
  done
  echo $total
}
for i in a b base; do
  run 0 "$FFCONVERT" demo kept-$i --images 20 --val-images 0 --size 32 --classes 2 --seed "$(printf %d "'${i:0:1}")" --quiet
done
for round in {1..8}; do
  rm -rf a b base out
  for i in a b base; do cp -r kept-$i $i; done
  "$FFCONVERT" merge --move out a b >merge.out 2>merge.err &
  merge=$!
  "$FFCONVERT" append --move base a >append.out 2>append.err &
  append=$!
  merged=0 appended=0
  wait $merge || merged=$?
  wait $append || appended=$?
  [ $merged$appended = 01 ] || [ $merged$appended = 10 ] || fail "round $round: $merged and $appended: $(cat merge.err append.err)"
  loser=merge.err
  [ $appended = 1 ] && loser=append.err
  check test "$(grep -c '^ffconvert: error: ' $loser)" = 1
  check test "$(count a b base out)" = 60
  check test ! -e out/.ffkit-unfinished
done
