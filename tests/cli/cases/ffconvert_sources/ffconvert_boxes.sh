# YOLO's and Pascal VOC's layouts write what COCO's does; tests/python/writing/test_boxes.py has the
# values.
pictures src/images/train 3
pictures src/images/val 1
mkdir -p src/labels/train src/labels/val
printf '0 0.5 0.5 0.5 0.5\n9 0.5 0.5 0.5 0.5\n' >src/labels/train/0000.txt
printf '1 0 0 1 0 1 1\n' >src/labels/val/0000.txt
printf '0 0 0 0 0\n' >src/labels/val/none.txt
printf 'path: .\ntrain: images/train\nval: images/val\ntest: images/test\nnames:\n  0: cat\n  1: dog\n' >src/data.yaml

run 0 "$FFCONVERT" yolo src dst --segmentation instances
no_out
err "note: .*data.yaml: its 'test' .*images/test does not exist and is left out$"
err 'note: .*images/train: 2 of 3 pictures have no file of labels, or an empty one, and are stored without boxes$'
err 'note: .*: 1 files of labels belong to no picture and are left out, such as .*labels/val/none.txt$'
check grep -q '0000.txt: line 2: its class is 9, expected 0 to 1' dst/report.jsonl
run 0 "$FFINSPECT" verify dst --pictures
run 0 "$FFINSPECT" info dst --json
json "d['splits'][0]['class_ids'] == [1, 2] and d['splits'][0]['classes'] == ['cat', 'dog']"
# The same by an address, without a word about places.
run 0 "$FFCONVERT" yolo "file://$PWD/src/data.yaml" "file://$PWD/stored" --segmentation instances --quiet
check cmp -s dst/val/shard-00000.ffr stored/val/shard-00000.ffr
run 0 "$FFCONVERT" yolo src never --dry-run
check test ! -e never
run 1 "$FFCONVERT" yolo src/images never
one_line_err 'src/images: the folder contains no data.yaml; write this file with the classes as .names. and the folders of pictures as .train. and .val.$'
run 2 "$FFCONVERT" yolo src never --splits dev
one_line_err "--splits: 'dev' is unknown; the known names are train, val, test; "
run 1 "$FFCONVERT" folder src never
one_line_err 'the source looks like YOLO, so use ffconvert yolo SRC DST$'

pictures VOC2012/JPEGImages 2
mkdir -p VOC2012/Annotations VOC2012/ImageSets/Main
for name in 0000 0001; do
  echo "<annotation><size><width>32</width><height>32</height></size><object><name>zebra</name><bndbox><xmin>0</xmin><ymin>2</ymin><xmax>9</xmax><ymax>9</ymax></bndbox></object></annotation>" >VOC2012/Annotations/$name.xml
  echo $name >>VOC2012/ImageSets/Main/train.txt
done
run 0 "$FFCONVERT" voc . voc
err '^train: 2 pictures in 1 shard'
err 'note: .*: 2 boxes begin before pixel 1, the first pixel of Pascal VOC, and are stored as they are; if the files count edges from 0, give --first-pixel 0$'
run 0 "$FFCONVERT" voc VOC2012 edges --first-pixel 0
check test ! -e edges/report.jsonl
echo 0002 >>VOC2012/ImageSets/Main/train.txt
run 1 "$FFCONVERT" voc VOC2012 never
one_line_err "1 of the 3 pictures that '.*train.txt' lists are missing: 0002.jpg; add the missing files, or leave them out with --allow-missing$"
run 1 "$FFCONVERT" folder VOC2012 never
one_line_err 'the source looks like Pascal VOC, so use ffconvert voc SRC DST$'
