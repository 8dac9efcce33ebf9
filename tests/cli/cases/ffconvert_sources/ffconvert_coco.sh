pictures src/val2017 3
mkdir -p src/annotations
cat >src/annotations/instances_val2017.json <<'EOF'
{"info": {}, "images": [
  {"id": 5, "file_name": "0000.jpg", "width": 32, "height": 32},
  {"id": 6, "file_name": "0001.jpg", "width": 32, "height": 32},
  {"id": 7, "file_name": "0002.jpg", "width": 32, "height": 30}],
 "annotations": [
  {"id": 1, "image_id": 6, "category_id": 18, "bbox": [1, 2, 3.5, 4], "area": 14, "iscrowd": 0, "segmentation": [[1, 2, 3, 4, 5, 6]]},
  {"id": 2, "image_id": 5, "category_id": 1, "bbox": [0, 0, 32, 32], "area": 1024, "iscrowd": 1, "segmentation": {"size": [32, 32], "counts": "abc"}},
  {"id": 3, "image_id": 6, "category_id": 1, "bbox": [5, 6, 7, 8], "area": 56, "iscrowd": 0, "segmentation": []}],
 "categories": [{"id": 18, "name": "dog"}, {"id": 1, "name": "person"}]}
EOF

run 0 "$FFCONVERT" coco src dst --segmentation json
no_out
err 'note: .*instances_val2017.json: 1 of 3 pictures have no annotation and are kept without any$'
err '^val2017: 3 pictures in 1 shard'
run 0 "$FFINSPECT" verify dst
run 0 "$FFINSPECT" info dst --json
json "d['splits'][0]['class_ids'] == [1, 18] and d['splits'][0]['classes'] == ['person', 'dog']"
run 0 "$FFINSPECT" info dst
out 'classes +2: 1 = person; 18 = dog$'
run 0 "$FFINSPECT" cat dst 1 --split val2017 --field segmentation
check test "$(cat .stdout)" = '[[[1,2,3,4,5,6]],[]]'
run 0 "$FFINSPECT" cat dst 1 --split val2017 --field image
check cmp -s .stdout src/val2017/0001.jpg

# Masks; the text of the second annotation is no RLE, which costs that one alone.
run 1 "$FFCONVERT" coco src masks --segmentation semantic,instances --quiet
one_line_err 'val2017/0002.jpg: the picture has 32 x 32 pixels, but its annotations say 32 x 30 pixels, so its masks do not fit; correct the size in the annotations, or leave out such pictures with --bad-samples skip. .*--exif apply$'
run 0 "$FFCONVERT" coco src masks --segmentation semantic,instances --bad-samples skip
err '^val2017: 2 pictures in 1 shard'
check grep -q 'annotation 2: segmentation: the text of its .*counts.* ends in the middle of a number' masks/report.jsonl
check grep -q 'the picture has 32 x 32 pixels, but its annotations say 32 x 30 pixels, so its masks do not fit' masks/report.jsonl
check grep -q '1 of its 2 annotations have no segmentation' masks/report.jsonl
run 0 "$FFINSPECT" ls masks --split val2017
out 'png 32 x 32.*png 32 x 32'
run 2 "$FFCONVERT" coco src x --segmentation mask
one_line_err "--segmentation: 'mask' is unknown; the known names are semantic, instances, masks, json; "

# Panoptic PNGs, as they are.
mkdir -p src/annotations/panoptic_val2017
python3 - <<'EOF'
import json, struct, zlib
chunk = lambda name, data: struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
pixels = zlib.compress((b"\0" + bytes([7, 1, 0]) * 32) * 32)
png = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 32, 32, 8, 2, 0, 0, 0)) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
open("src/annotations/panoptic_val2017/0000.png", "wb").write(png)
segment = {"id": 263, "category_id": 3, "iscrowd": 0, "bbox": [0, 0, 32, 32], "area": 1024}
json.dump({"images": [{"id": 5, "file_name": "0000.jpg", "width": 32, "height": 32}], "categories": [{"id": 3, "name": "sky", "isthing": 0}],
           "annotations": [{"image_id": 5, "file_name": "0000.png", "segments_info": [segment]}]}, open("src/annotations/panoptic_val2017.json", "w"))
EOF
run 0 "$FFCONVERT" coco src panoptic --panoptic annotations
err '^val2017: 1 pictures in 1 shard'
run 0 "$FFINSPECT" cat panoptic 0 --split val2017 --field panoptic
check cmp -s .stdout src/annotations/panoptic_val2017/0000.png
run 0 "$FFINSPECT" info panoptic
out 'segment_ids'
run 2 "$FFCONVERT" coco src x --panoptic annotations --keypoints
one_line_err '--keypoints has no effect with --panoptic; leave it out; '

# Named files of one split.
run 0 "$FFCONVERT" coco src named --annotations annotations/instances_val2017.json --images val2017 --quiet
check test "$(echo named/*/)" = named/val2017/

# Roboflow's layout; a table that is no list.
mkdir -p export/train export/valid
cp src/val2017/0000.jpg export/train/ && cp src/val2017/0001.jpg export/valid/
echo '{"images": [{"id": 1, "file_name": "0000.jpg"}], "categories": []}' >export/train/_annotations.coco.json
echo '{"images": [{"id": "x", "file_name": "0001.jpg"}], "categories": []}' >export/valid/_annotations.coco.json
run 1 "$FFCONVERT" coco export flow
one_line_err 'has other ids of pictures than .*: one has numbers, the other has texts; '
sed -i 's/"x"/2/' export/valid/_annotations.coco.json
run 0 "$FFCONVERT" coco export flow
err "note: .*: 'valid' is taken as the split 'val'$"
check test "$(echo flow/*/)" = 'flow/train/ flow/val/'
echo '{"images": [{"id": 1, "file_name": "0000.jpg"}], "annotations": {"7": {}}}' >export/train/_annotations.coco.json
run 1 "$FFCONVERT" coco export flow2
one_line_err "_annotations.coco.json: 'annotations' is an object, but pycocotools needs a list of objects; "
check test ! -e flow2

rm src/val2017/0001.jpg
run 1 "$FFCONVERT" coco src dst2
one_line_err "src/val2017: 1 of the 3 pictures that '.*instances_val2017.json' lists are missing: 0001.jpg; .*--allow-missing$"
check test ! -e dst2
run 0 "$FFCONVERT" coco src dst2 --allow-missing
err '^val2017: 2 pictures in 1 shard'

head -c 500 src/annotations/instances_val2017.json >cut && mv cut src/annotations/instances_val2017.json
run 1 "$FFCONVERT" coco src dst3
one_line_err 'instances_val2017.json: offset [0-9]+: the file is not valid JSON: .*; download or copy it again$'
check test ! -e dst3
