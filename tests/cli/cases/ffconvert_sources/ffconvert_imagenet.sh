# The three official archives, made small: a tar of tars, a flat tar, a devkit.
pictures pool 8
mkdir -p n01000000 n03000000 val src
mv pool/0000.jpg n03000000/n03000000_1.JPEG
mv pool/0001.jpg n03000000/n03000000_2.JPEG
mv pool/0002.jpg n01000000/n01000000_7.JPEG
mv pool/0003.jpg val/ILSVRC2012_val_00000001.JPEG
mv pool/0004.jpg val/ILSVRC2012_val_00000002.JPEG
for wnid in n01000000 n03000000; do tar -C $wnid -cf $wnid.tar $(ls $wnid); done
tar -cf src/ILSVRC2012_img_train.tar n01000000.tar n03000000.tar
tar -C val -cf src/ILSVRC2012_img_val.tar $(ls val)

# Made-up classes are those of a devkit; without one there are the 1,000 of ImageNet.
run 1 "$FFCONVERT" imagenet src dst
one_line_err 'ILSVRC2012_img_val.tar: the labels .* the archive ILSVRC2012_devkit_t12.tar.gz beside the pictures$'
run 1 "$FFCONVERT" imagenet src dst --splits train
one_line_err "ILSVRC2012_img_train.tar: 'n01000000' is not one of the 1000 classes of ffkit's table; remove this folder or file"
check test ! -e dst

check "$MAKE_DEVKIT" . 3 1
tar -czf src/ILSVRC2012_devkit_t12.tar.gz ILSVRC2012_devkit_t12
run 0 "$FFCONVERT" imagenet src dst --order sequential --num-threads 2
no_out
err '^ffconvert: note: .*src: train \(archive\), val \(archive, labels from the devkit\); 3 classes from the devkit$'
run 0 "$FFINSPECT" verify dst
run 0 "$FFINSPECT" ls dst
out $'^train\t0\t.*\t0\tn01000000/n01000000_7.JPEG\tn01000000$'
out $'^train\t2\t.*\t2\tn03000000/n03000000_2.JPEG\tn03000000$'
out $'^val\t0\t.*\t1\tILSVRC2012_val_00000001.JPEG\tn02000000$'
out $'^val\t1\t.*\t2\tILSVRC2012_val_00000002.JPEG\tn03000000$'
"$FFINSPECT" cat dst 1 --split val --field image | cmp - val/ILSVRC2012_val_00000002.JPEG || fail "bytes differ"

# An extracted tree gives the same records.
mkdir -p tree/train
cp -r n01000000 n03000000 tree/train
cp -r val ILSVRC2012_devkit_t12 tree
run 0 "$FFCONVERT" imagenet tree from_tree --order sequential --quiet
no_err
check diff <("$FFINSPECT" ls dst) <("$FFINSPECT" ls from_tree)
check cmp dst/train/shard-00000.ffr from_tree/train/shard-00000.ffr

# One split alone is converted, and said to be alone.
mkdir val_only
cp src/ILSVRC2012_img_val.tar src/ILSVRC2012_devkit_t12.tar.gz val_only
run 0 "$FFCONVERT" imagenet val_only val_dst
err "note: .*has only val pictures; the data set will have no 'train'"
check test "$(ls val_dst)" = val

check "$MAKE_DEVKIT" . 3 1 2
tar -czf val_only/ILSVRC2012_devkit_t12.tar.gz ILSVRC2012_devkit_t12
run 1 "$FFCONVERT" imagenet val_only x
one_line_err 'there are 2 pictures, but the devkit has labels for 3 pictures'
