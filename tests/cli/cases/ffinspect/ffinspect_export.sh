pictures pool 9
mkdir -p src/train/cat/sub src/train/dog src/val/cat
cp pool/000[0-2].jpg src/train/cat
cp pool/0003.jpg src/train/cat/sub/0000.jpg
cp pool/000[4-6].jpg src/train/dog
cp pool/000[7-8].jpg src/val/cat
run 0 "$FFCONVERT" folder src dst --quiet

# What ffconvert took in comes back, to the byte.
run 0 "$FFINSPECT" export dst back
no_err
out '^train: 7 records to 7 files in back/train, .* kB$'
out '^val: 2 records to 2 files in back/val, '
check diff -r src back
run 0 "$FFINSPECT" export dst val_only --split val --json
json 'd["output"] == "val_only" and [s["split"] for s in d["splits"]] == ["val"] and d["splits"][0]["num_files"] == 2'
check diff -r src/val val_only/val
check test "$(ls val_only)" = val

# Nothing is overwritten; an empty folder will do.
run 1 "$FFINSPECT" export dst back
no_out
one_line_err '^ffinspect: error: back: the folder is not empty, and nothing is overwritten'
run 1 "$FFINSPECT" export dst src/val/cat/0007.jpg
one_line_err 'is not a folder'
mkdir empty
run 0 "$FFINSPECT" export dst empty
check diff -r src empty

# Names: extensions by encoding, equal ones numbered in the order of the records, what is null.
check "$MAKE_DATASET" pictures odd cat,dog 0:jpeg:a/x.jpg 0:jpeg:b/x.jpg 0:jpeg:cat/x-2.jpg 1:png:y 1:jpeg:y.v2 \
  0:junk:z 1:jpeg: :jpeg:u.jpg 9:jpeg:w.jpg 1:null:gone 0:jpeg:b/x.jpg
run 0 "$FFINSPECT" export odd named
check diff <(cd named && find . -type f | sort) - <<'END'
./classes.txt
./train/9/w.jpg
./train/cat/x-2-2.jpg
./train/cat/x-2.jpg
./train/cat/x-3.jpg
./train/cat/x.jpg
./train/cat/z.bin
./train/dog/06.jpg
./train/dog/y.png
./train/dog/y.v2.jpg
./train/unlabelled/u.jpg
END
out 'record 1: its file name exists already; written as train/cat/x-2.jpg$'
out 'record 2: its file name exists already; written as train/cat/x-2-2.jpg$'
out 'record 10: its file name exists already; written as train/cat/x-3.jpg$'
out '^train: records without a file, because their fields are null: 1$'
out "^train: torchvision's ImageFolder will give other labels, because it numbers the folders in the order of their names; classes.txt has the order of the labels$"
for record in 0 1 10; do
  name=$(sed "s/^0$/x/; s/^1$/x-2/; s/^10$/x-3/" <<<$record)
  "$FFINSPECT" cat odd $record --field image | cmp - named/train/cat/$name.jpg || fail "record $record differs"
done
run 0 "$FFINSPECT" export odd named_json --json
json '[(r["record"], r["file"]) for r in d["splits"][0]["renamed"]] == [(1, "train/cat/x-2.jpg"), (2, "train/cat/x-2-2.jpg"), (10, "train/cat/x-3.jpg")]'
json 'd["splits"][0]["num_records"] == 11 and d["splits"][0]["num_files"] == 10 and d["splits"][0]["num_skipped"] == 1'

# A class without a file would give the next one its number.
check "$MAKE_DATASET" pictures gap a,b,c 0:jpeg:x 2:jpeg:y
run 0 "$FFINSPECT" export gap gap_files --as imagefolder
out "^to convert it again: ffconvert folder gap_files DST --classes gap_files/classes.txt$"
check test "$(tr '\n' ' ' <gap_files/classes.txt)" = 'a b c '
run 0 "$FFCONVERT" folder gap_files gap_back --classes gap_files/classes.txt --order sequential --quiet
check test "$("$FFINSPECT" cat gap_back 1 --field label)" = 2

# The ending says what a picture was made when it was stored. Those that kept their bytes keep their
# names, a JPEG under the name .png as well.
mkdir -p kinds/train/cat
run 0 "$FFINSPECT" view dst --split val --count 1 --output kinds/train/cat/a.png
cp kinds/train/cat/a.png kinds/train/cat/named.JPG
cp pool/0001.jpg kinds/train/cat/b.jpeg
cp pool/0002.jpg kinds/train/cat/c.png
echo cat >classes.txt  # one class alone is an error otherwise
run 0 "$FFCONVERT" folder --classes classes.txt kinds kept_bytes --quiet
run 0 "$FFINSPECT" export kept_bytes kept_names
check diff -r kinds kept_names
for options in "--fix-odd" "--fix-odd --store dct" "--max-resolution 20"; do
  rm -rf made made_names
  run 0 "$FFCONVERT" folder --classes classes.txt kinds made --quiet $options
  run 0 "$FFINSPECT" export made made_names
  check test "$(ls made_names/train/cat | tr '\n' ' ')" = "a.jpg b.jpeg c.jpg named.JPG "
done
# Two sets with the same names, of the same files, which are taken twice on request.
rm -rf made
rm kinds/train/cat/b.jpeg
run 0 "$FFCONVERT" folder --classes classes.txt kinds made --quiet --max-resolution 20
run 0 "$FFCONVERT" merge joined kept_bytes made --duplicates keep --quiet
run 0 "$FFINSPECT" export joined joined_names
check test -e joined_names/train/cat/a.jpg

# Ids and classes that lead elsewhere are refused, and nothing is left behind.
for id in ../evil.jpg /tmp/evil.jpg a/../../evil.jpg cat/../../evil.jpg a//b.jpg ..; do
  rm -rf evil
  check "$MAKE_DATASET" pictures evil cat,.. 0:jpeg:fine.jpg "0:jpeg:$id"
  run 1 "$FFINSPECT" export evil refused
  one_line_err "record 1: the id '.*' cannot be the path of a file"
  check test ! -e refused
done
mkdir kept
run 1 "$FFINSPECT" export evil kept
check test -d kept -a -z "$(ls kept)"
rm -rf evil
check "$MAKE_DATASET" pictures evil cat,.. 1:jpeg:fine.jpg
run 0 "$FFINSPECT" export evil mapped
out "folders with other names than their classes: class 1, '..', is '_.'"
check test -e mapped/train/_./fine.jpg
run 2 "$FFINSPECT" export dst
one_line_err OUT
