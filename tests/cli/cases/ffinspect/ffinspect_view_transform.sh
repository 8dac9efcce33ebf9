# Views by transforms: their pixels are compared with a loader's in tests/python/test_view_sheet.py.
check "$MAKE_DATASET" pictures dst cat,dog 0:jpeg:a.jpg 1:png:b 1:junk:c 0:null:d :jpeg:e 0:jpeg:f
crop='RandomResizedCrop(32, scale=(0.4, 1)), RandomHorizontalFlip(), ColorJitter(0.4, 0.4, 0.4), Apply(0.1, GaussianBlur(23))'
run 0 "$FFINSPECT" view dst --transform "$crop" --size 32 --columns 3 --output sheet.png --json
no_err
json '[s["record"] for s in d["samples"]] == list(range(6))'
json '[[(v["view"], v["copy"], v["epoch"]) for v in s["views"]] for s in d["samples"]] == 6 * [[("image", 0, 0)]]'
json '[len(v["geometry"]) for v in d["samples"][0]["views"]] == [3] and d["samples"][0]["views"][0]["num_boxes"] is None'
# A picture that cannot be decoded is a crossed box with the reason.
json '[bool(s["problem"]) for s in d["samples"]] == [False, False, True, True, False, False]'
json '"not JPEG, PNG" in d["samples"][2]["problem"] and "null" in d["samples"][3]["views"][0]["problem"]'
json 'd["samples"][2]["views"][0]["geometry"] is None'

# The same again; other numbers by another seed; epochs beside each other.
run 0 "$FFINSPECT" view dst --transform "$crop" --size 32 --columns 3 --output again.png --draw-seed 0
check cmp sheet.png again.png
run 0 "$FFINSPECT" view dst --transform "$crop" --size 32 --columns 3 --output other.png --draw-seed 7 --json
json '"seed" not in d'
check ! cmp -s sheet.png other.png
run 0 "$FFINSPECT" view dst --count 2 --transform "$crop" --draws 3 --output draws.png --json
json '[v["epoch"] for s in d["samples"] for v in s["views"]] == [0, 1, 2, 0, 1, 2]'
json 'len({str(v["geometry"]) for v in d["samples"][0]["views"]}) == 3'

# Views with names and copies; all pictures of a record stand in one row.
run 0 "$FFINSPECT" view dst --count 2 --size 64 --output views.png --json \
  --transform 'global*2: RandomResizedCrop(24)' --transform "local-1 * 5 : RandomResizedCrop(16, (0.05, 0.4))"
json '[(v["view"], v["copy"], v["width"]) for v in d["samples"][1]["views"]] == [("global", 0, 24), ("global", 1, 24)] + [("local-1", i, 16) for i in range(5)]'
json 'd["width"] == 8 + 7 * 72'
run 1 "$FFINSPECT" view dst --columns 3 --output x.png --transform 'a*4: Resize((8, 8))'
one_line_err "^ffinspect: error: --columns 3 is too few: the 4 pictures of each record"

# A sheet that is too large is refused before anything is decoded.
run 1 "$FFINSPECT" view dst --output x.png --size 2048 --draws 1000 --transform 'Resize((8000, 8000))'
one_line_err 'a sheet of .* pixels is too large; take fewer samples or make them smaller with --size'

# Texts that do not fit are one sentence.
refused() { # TEXT PATTERN
  run 1 "$FFINSPECT" view dst --output x.png --transform "$1"
  no_out
  one_line_err "^ffinspect: error: $2"
}
refused 'RandomResizeCrop(224)' "there is no transform 'RandomResizeCrop'; the nearest names are RandomResizedCrop, "
refused 'RandomResizedCrop(224, scal=(0.4, 1))' "RandomResizedCrop has no parameter 'scal'; its form is RandomResizedCrop\(size, scale, "
refused 'Resize(0)' 'Resize size is 0; expected 1 to 8192'
refused 'Resize(64)' 'Resize\(64\) makes the short side 64 pixels long, so pictures have different sizes; give Resize\(\(64, 64\)\)'
refused 'RandomIoUCrop(), Resize((8, 8))' ".*has no field 'boxes' \[n, 4\], which RandomIoUCrop needs"
refused 'two words: Resize((8, 8))' "'two words' is not a name of a view"
refused 'none*0: Resize((8, 8))' "'none\*0' is not a name of a view"
run 1 "$FFINSPECT" view dst --output x.png --transform 'Resize((8, 8))' --transform 'b: Resize((8, 8))'
one_line_err "'Resize\(\(8, 8\)\)' has no name, but each of several views needs one"
run 1 "$FFINSPECT" view dst --output x.png --transform 'a: Resize((8, 8))' --transform 'a: Resize((9, 9))'
one_line_err "two views have the name 'a'"
check test ! -e x.png

# Options that have no meaning together.
run 2 "$FFINSPECT" view dst --output x.png --draws 2
one_line_err '--draws requires --transform'
run 2 "$FFINSPECT" view dst --output x.png --draw-seed 2
one_line_err '--draw-seed requires --transform'
run 2 "$FFINSPECT" view dst --output x.png --transform 'Resize((8, 8))' --results found.jsonl
one_line_err '--results: results are drawn into whole pictures only'
run 0 "$FFINSPECT" view --help
out 'RandomResizedCrop\(size=224, scale=\(0.08, 1\), '
run 0 "$FFCONVERT" demo driving --kind nuscenes --scenes 1 --val-scenes 1 --frames 2 --size 160 --quiet
run 2 "$FFINSPECT" view driving --split train --record 0 --output x.png --transform 'Resize((8, 8))'
one_line_err 'a keyframe of nuScenes has several; choose one with --field'
run 0 "$FFINSPECT" view driving --split train --record 0 --field CAM_BACK/image --output x.png --transform 'Resize((8, 8))'

# Boxes follow their view: those that are left are counted.
pictures coco/val2017 2
mkdir -p coco/annotations
cat >coco/annotations/instances_val2017.json <<'JSON'
{"images": [{"id": 5, "file_name": "0000.jpg", "width": 32, "height": 32}, {"id": 6, "file_name": "0001.jpg", "width": 32, "height": 32}],
 "annotations": [
  {"id": 1, "image_id": 6, "category_id": 1, "bbox": [4, 4, 9, 9], "area": 9, "iscrowd": 0},
  {"id": 2, "image_id": 6, "category_id": 2, "bbox": [20, 20, 6, 6], "area": 9, "iscrowd": 0}],
 "categories": [{"id": 1, "name": "dog"}, {"id": 2, "name": "cat"}]}
JSON
run 0 "$FFCONVERT" coco coco coco_ff --quiet
run 0 "$FFINSPECT" view coco_ff --split val2017 --transform 'Resize(64), CenterCrop(30)' --output boxes.png --json
json '[[v["num_boxes"] for v in s["views"]] for s in d["samples"]] == [[0], [2]]'
run 0 "$FFINSPECT" view coco_ff --split val2017 --transform 'two*2: Compose([RandomCrop(32, flip_probability=1), CenterCrop(8)])' --output boxes.png --json
json '[v["num_boxes"] for v in d["samples"][1]["views"]] == [1, 1] and d["samples"][1]["num_boxes"] == 2'
# A crop that looks at boxes does so for each copy.
run 0 "$FFINSPECT" view coco_ff --split val2017 --transform 'two*3: RandomIoUCrop(), Resize((32, 32))' --draws 4 --output boxes.png --json
json 'all(v["num_boxes"] > 0 for v in d["samples"][1]["views"]) and len({str(v["geometry"]) for v in d["samples"][1]["views"]}) > 4'
