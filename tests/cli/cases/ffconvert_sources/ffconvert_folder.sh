pictures pool 12
mkdir -p src/train/cat src/train/dog src/val/cat src/val/dog
cp pool/000[0-4].jpg src/train/cat
cp pool/000[5-7].jpg src/train/dog
cp pool/0008.jpg src/val/cat
cp pool/0009.jpg src/val/dog
echo text >src/train/dog/readme.txt

run 0 "$FFCONVERT" folder src dst --num-threads 3
no_out
err '^ffconvert: note: .*src/train: 1 file was left out: it is not a picture$'
err '^train: 8 pictures in 1 shard'
err '^val: 2 pictures in 1 shard'
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
run 0 "$FFCONVERT" folder src in_order --order sequential --quiet
run 0 "$FFINSPECT" ls in_order --split train
check diff <(tail -n +2 .stdout | cut -f5) <(tail -n +2 list | cut -f5 | sort)

# Classes without splits become 'train'.
run 0 "$FFCONVERT" folder src/train flat --quiet
check test "$(ls flat)" = train

run 1 "$FFCONVERT" folder src src/out --quiet
one_line_err "the destination is inside the source '.*src'"
check test ! -e src/out

# What is left out, renamed or not checked is said.
err_of() { run 0 "$FFCONVERT" folder "$@"; }
mkdir -p other/Train other/valid/cat other/annotations other/train_lists
cp -r src/train/cat other/Train/cat
cp -r src/train/dog other/Train/dog
mkdir other/Train/@eaDir
cp src/val/cat/0008.jpg other/valid/cat
err_of other renamed
err "note: .*other/Train: is the split 'train'$"
err "note: .*other/valid: is the split 'val'$"
err "note: .*other/Train: '@eaDir' holds no pictures, so it is not a class$"
err "note: .*other: 'annotations', 'train_lists' hold no pictures, so they are not splits$"
err "^only the headers of the pictures were checked; run 'ffinspect verify renamed --pictures' to decode all of them$"
check test "$(ls renamed | tr '\n' ' ')" = 'train val '
err_of other decoded --check-images decode --splits val
check ! grep -q 'headers were checked' .stderr
check test "$(ls decoded)" = val
mkdir other/valid/bird
cp src/val/cat/0008.jpg other/valid/bird
run 1 "$FFCONVERT" folder other x
one_line_err "other/valid: the class 'bird' has no pictures in the training split, so the class has no label; .* with --classes-from all$"
err_of other all --classes-from all
err "note: .*other/Train: has no picture of 1 of the 3 classes: 'bird'$"
run 2 "$FFCONVERT" folder other x --classes-from val
one_line_err "--classes-from is 'val'; it must be one of train, all; see ffconvert folder --help$"
run 2 "$FFCONVERT" folder other x --splits val,val
one_line_err "--splits: 'val' appears twice"
rm -r other/valid/bird

# What is no class, or is one alone, is an error, unless the classes are given.
mkdir other/Train/aardvark
run 1 "$FFCONVERT" folder other x
one_line_err "other/Train: 'aardvark' holds no pictures. Without it, the classes after it would get other labels; "
printf 'dog\ncow\ncat\n' >classes.txt
run 0 "$FFCONVERT" folder other given --classes classes.txt --quiet
run 0 "$FFINSPECT" ls given --split val
check test "$(tail -n +2 .stdout | cut -f4)" = 2
mkdir -p one && cp -r src/train/cat one
run 1 "$FFCONVERT" folder one x
one_line_err "one: all pictures belong to one class, 'cat'. If the folders are the classes, give the names of all classes with --classes FILE or --classes-of DATA. If a list has the labels, give this list with --labels FILE. .*"
# A later delivery has the classes of the set that it is appended to.
run 0 "$FFCONVERT" folder one later --classes-of given --quiet
run 1 "$FFCONVERT" append given later --duplicate-ids twice.txt
one_line_err "later/train: 5 of its 5 records are already in the destination, because they were made from the same files .for example 'cat/.*' here and 'cat/.*' there.; .*"
check test "$(wc -l <twice.txt)" = 5
run 0 "$FFCONVERT" append given later --duplicates keep --quiet
printf 'file,label\n0000.jpg,b\n0001.jpg,a\n' >one/train.csv
run 0 "$FFCONVERT" folder one listed --labels train.csv --order sequential
err "^ffconvert: note: .*train.csv: the labels of 'train': 2 pictures of 2 classes, 'a', 'b'$"
run 0 "$FFINSPECT" ls listed --split train
check test "$(tail -n +2 .stdout | cut -f4 | tr '\n' ' ')" = '1 0 '
run 2 "$FFCONVERT" folder one x --multi-label
one_line_err '--multi-label has no effect without --labels; leave it out'
