# kill -9 of what writes FFRecord v1 leaves nothing that looks whole, and the same command then
# makes what an undisturbed one makes.
run 0 "$FFCONVERT" demo src --classes 3 --images 4000 --val-images 6 --size 128 --quiet
run 0 "$FFCONVERT" v1 src undisturbed --quiet
for file in v1/train.ffr.unfinished v1/train.ffr.unfinished/PART_00000.ffr v1/train.ffr v1/val.ffr; do
  kill_when $file "$FFCONVERT" v1 src v1 --quiet
  if [ -e v1/.ffkit-unfinished ]; then
    for command in info verify; do
      run 1 "$FFINSPECT" $command v1
      one_line_err '^ffinspect: error: .*finish it with: cd .* v1 src v1 --quiet$'
    done
    check test ! -e v1/meta.pkl -o -e v1/val.ffr
    run 0 "$FFCONVERT" v1 src v1
    err 'note: v1: an unfinished conversion was found and removed; starting over'
  fi
  check diff -r v1 undisturbed
  rm -r v1
done
