pictures pool 12
mkdir -p src/train/cat src/train/dog src/val/cat src/val/dog
cp pool/000[0-4].jpg src/train/cat
cp pool/000[5-7].jpg src/train/dog
cp pool/0008.jpg src/val/cat
cp pool/0009.jpg src/val/dog
echo text >src/train/dog/readme.txt

run 0 "$FFCONVERT" folder src dst --threads 3
no_out
err '^ffconvert: note: .*src/train: 1 file is no picture by its name and left out$'
err '^train: 8 images in 1 shard'
err '^val: 2 images in 1 shard'
run 0 "$FFINSPECT" verify dst

# Every picture is there, to the byte, with its label and id.
run 0 "$FFINSPECT" ls dst --split train
cp .stdout list
check test "$(($(wc -l <list) - 1))" = 8
tail -n +2 list | while IFS=$'\t' read -r _ record _ label id class; do
  "$FFINSPECT" cat dst "$record" --split train --field image | cmp - "src/train/$id" || exit 1
  [ "$class" = "${id%%/*}" ] || exit 1
  [ "$class$label" = cat0 ] || [ "$class$label" = dog1 ] || exit 1
done || fail "a record differs from its file"
# Shuffled by default, in the source's order on request, always in order for val.
check ! cmp -s <(tail -n +2 list | cut -f5) <(tail -n +2 list | cut -f5 | sort)
run 0 "$FFCONVERT" folder src in_order --order source --quiet
run 0 "$FFINSPECT" ls in_order --split train
check diff <(tail -n +2 .stdout | cut -f5) <(tail -n +2 list | cut -f5 | sort)

# Classes without splits become 'train'.
run 0 "$FFCONVERT" folder src/train flat --quiet
check test "$(ls flat)" = train

run 1 "$FFCONVERT" folder src src/out --quiet
one_line_err "lies inside '.*src', which is being converted"
check test ! -e src/out
