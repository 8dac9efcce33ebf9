# Persons of annotation files as RootNet's authors publish them.
pictures src 2
python3 - <<'PYTHON'
import json

def person(number, image, root, box, joints=21, **more):
    return {"id": number, "image_id": image, "bbox": box, "keypoints_cam": [root] * joints, "keypoints_img": [[12.5, 14]] * joints,
            "keypoints_vis": [True] * joints, **more}

images = [{"id": i, "file_name": f"{i:04}.jpg", "width": 32, "height": 32} for i in range(2)]
people = [person(1, 0, [0, 0, 3000], [4, 4, 16, 20]), person(2, 0, [0, 100, 2000], [4, 4, 16, 20]), person(3, 1, [0, 0, 4000], [8, 4, 12, 20]),
          person(4, 1, [900, 0, 8000], [8, 4, 12, 20])]
json.dump({"images": [{**i, "f": [30, 30], "c": [16, 16]} for i in images], "annotations": people}, open("src/MuCo-3DHP.json", "w"))
valid = [person(i, i % 2, [0, 0, 3000 + i], [4, 4, 16, 20], 17, is_valid=int(i < 3)) for i in range(4)]
mupots = {"images": [{**i, "intrinsic": [30, 31, 16, 15]} for i in images], "annotations": valid}
json.dump(mupots, open("src/mupots.json", "w"))
json.dump([{"image_id": 1, "bbox": [1, 1, 20, 20], "score": 0.5}], open("src/boxes.json", "w"))
del mupots["images"][1]["intrinsic"]
json.dump(mupots, open("src/broken.json", "w"))
PYTHON
run 0 "$FFCONVERT" coco src muco --persons muco
no_out
err 'note: train: 2 persons are used; left out: 1 .another person is too near., 1 .the depth is out of range.$'
err '^train: 2 records in 1 shard'
run 0 "$FFINSPECT" verify muco
run 0 "$FFINSPECT" info muco --json
check grep -q '"left out: another person is too near"' .stdout
run 0 "$FFINSPECT" view muco --split train --output view.png --json
json 'all(s["num_boxes"] == 1 and s["num_joints"] == 21 and s["problem"] is None for s in d["samples"])'
# Without the rules all are taken.
run 0 "$FFCONVERT" coco src all --persons muco --min-distance 0 --max-depth 0 --quiet
run 0 "$FFINSPECT" ls all --split train
check test "$(grep -c "jpg#" .stdout)" = 4

run 0 "$FFCONVERT" coco src mupots --persons mupots --annotations src/mupots.json --images src
err 'note: mupots: 3 persons are used; left out: 1 .is not valid.$'
run 0 "$FFCONVERT" coco src found --persons mupots --annotations src/mupots.json --images src --detections boxes.json --quiet
run 0 "$FFINSPECT" info found --json
check grep -q '"valid_roots"' .stdout

# Mistakes are one sentence, and nothing is left behind.
run 1 "$FFCONVERT" coco src bad --persons mupots --annotations src/broken.json --images src
one_line_err "src/broken.json: picture 1 has no 'intrinsic'$"
run 1 "$FFCONVERT" coco src bad --persons muco --annotations src/mupots.json --images src
one_line_err "src/mupots.json: annotation 0 'keypoints_cam' has 51 numbers, but it must have 63 numbers for the 21 joints of muco"
run 1 "$FFCONVERT" coco src bad --persons mpii
one_line_err "src: the folder does not contain mpii in its published form; name the annotation file with --annotations and the folder of pictures with --images$"
run 2 "$FFCONVERT" coco src bad --persons tigers
one_line_err "--persons is 'tigers'; it must be one of human36m, mpii, mscoco, muco, mupots, 3dpw; see"
run 2 "$FFCONVERT" coco src bad --min-depth 3
one_line_err "coco: --min-depth has no effect without --persons; leave it out; see"
run 2 "$FFCONVERT" coco src bad --persons muco --protocol 1
one_line_err "coco: --protocol has no effect without --persons human36m; leave it out; see"
check test ! -e bad
