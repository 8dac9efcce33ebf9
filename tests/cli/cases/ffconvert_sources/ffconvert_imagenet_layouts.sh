# Kaggle's copy, test pictures without labels, and the splits that are wanted.
pictures pool 6
cls=src/ILSVRC/Data/CLS-LOC
mkdir -p $cls/train/n01440764 $cls/train/n02085620 $cls/val $cls/test
mv pool/0000.jpg $cls/train/n01440764/n01440764_1.JPEG
mv pool/0001.jpg $cls/train/n02085620/n02085620_1.JPEG
mv pool/0002.jpg $cls/val/ILSVRC2012_val_00000001.JPEG
mv pool/0003.jpg $cls/val/ILSVRC2012_val_00000002.JPEG
mv pool/0004.jpg $cls/test/ILSVRC2012_test_00000001.JPEG
mv pool/0005.jpg $cls/test/ILSVRC2012_test_00000002.JPEG

run 1 "$FFCONVERT" imagenet src dst
one_line_err 'CLS-LOC/val: the labels of the validation pictures are missing; leave these pictures out with --splits train, or put .* or the archive .* beside the pictures$'
run 0 "$FFCONVERT" imagenet src train_only --splits train --quiet
check test "$(ls train_only)" = train

cat >src/LOC_val_solution.csv <<'CSV'
ImageId,PredictionString
ILSVRC2012_val_00000002,n01440764 111 108 391 247 
ILSVRC2012_val_00000001,n15075141 1 2 3 4 n15075141 5 6 7 8 
CSV
run 0 "$FFCONVERT" imagenet src dst --order sequential
err 'note: .*src: train \(class folders\), val \(flat folder, labels from LOC_val_solution.csv\), test \(flat folder without labels\); 1000 classes from ffkit.s table$'
err 'note: .*CLS-LOC/train: has pictures of 2 of the 1000 classes; labels are numbers in the full list$'
run 0 "$FFINSPECT" verify dst
run 0 "$FFINSPECT" ls dst
out $'^train\t1\t.*\t151\tn02085620/n02085620_1.JPEG\tn02085620$'
out $'^val\t0\t.*\t999\tILSVRC2012_val_00000001.JPEG\tn15075141$'
out $'^val\t1\t.*\t0\tILSVRC2012_val_00000002.JPEG\tn01440764$'
out $'^test\t1\t.*\t-1\tILSVRC2012_test_00000002.JPEG\t$'
# Everything copes with pictures without a label.
run 0 "$FFINSPECT" info dst
run 0 "$FFINSPECT" stats dst --split test
out '^ +-1 '
run 0 "$FFINSPECT" view dst --split test --output sheet.png
run 0 "$FFINSPECT" export dst out --split test
check cmp out/test/-1/ILSVRC2012_test_00000001.JPEG $cls/test/ILSVRC2012_test_00000001.JPEG

# The same from the folder below, and from one split's own folder.
run 0 "$FFCONVERT" imagenet $cls from_cls --order sequential --quiet
check diff <("$FFINSPECT" ls dst) <("$FFINSPECT" ls from_cls)
run 0 "$FFCONVERT" imagenet $cls/val from_val --quiet
check test "$(ls from_val)" = val

# Kaggle's mapping gives the classes their full names.
printf '%s\n' 'n01440764 tench, Tinca tinca' 'n02085620 Chihuahua' 'n15075141 toilet tissue' >src/LOC_synset_mapping.txt
run 0 "$FFCONVERT" imagenet src mapped --quiet
run 0 "$FFINSPECT" stats mapped --split train
out 'tench, Tinca tinca'
echo 'n99 nothing' >>src/LOC_synset_mapping.txt
run 1 "$FFCONVERT" imagenet src x
one_line_err "LOC_synset_mapping.txt: line 4: 'n99 nothing' must be a wnid, a space and words"

run 2 "$FFCONVERT" imagenet src x --splits train,dev
one_line_err "--splits: 'dev' is unknown; the known names are train, val, test; see ffconvert imagenet --help$"
