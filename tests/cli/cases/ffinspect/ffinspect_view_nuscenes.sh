run 0 "$MAKE_NUSCENES" set
run 0 "$FFINSPECT" view set --split mini_val --record 4 --output scene.png --json
no_err
json 'd["record"] == 4 and d["scene"] == "scene-0001" and d["token"] == "sample-1-1" and d["problems"] == []'
json 'd["num_boxes"] == 6 and d["num_boxes_drawn"] >= 4 and d["width"] == 2720 and d["height"] == 820'
check test "$(head -c 8 scene.png | od -An -tx1 | tr -d ' \n')" = 89504e470d0a1a0a
# --size is the width of a camera; the same record gives the same bytes.
run 0 "$FFINSPECT" view set/mini_val --record 4 --size 320 --output small.png --json
json 'd["width"] == 1400'
run 0 "$FFINSPECT" view set/mini_val --record 4 --output again.png
check cmp scene.png again.png
# Without --record, or with a field, it is a sheet of pictures as ever.
run 0 "$FFINSPECT" view set/mini_val --output sheet.png --json
json 'len(d["samples"]) == 6 and d["field"] == "CAM_FRONT/image"'
run 0 "$FFINSPECT" view set/mini_val --record 2 --field CAM_BACK/image --output sheet.png --json
json '[s["record"] for s in d["samples"]] == [2] and d["field"] == "CAM_BACK/image"'
run 1 "$FFINSPECT" view set/mini_val --record 6 --output none.png
one_line_err 'mini_val: has 6 records; there is no number 6'
check test ! -e none.png

# What is missing is said in the picture and in the JSON; radars that were not converted are not missing.
run 0 "$MAKE_NUSCENES_ROOT" src
rm src/samples/CAM_BACK/*402000000000.jpg src/samples/LIDAR_TOP/*402000000000.pcd.bin src/samples/RADAR_FRONT/*402000000000.pcd
run 0 "$FFCONVERT" nuscenes src part --allow-partial --quiet
run 0 "$FFINSPECT" view part --split mini_train --record 0 --output part.png --json
json 'd["problems"] == ["CAM_BACK: there is no image: the set was converted without it", "LIDAR_TOP: there are no points: the set was converted without them", "RADAR_FRONT: there are no points: the set was converted without them"]'
run 0 "$FFINSPECT" view part --split mini_train --record 1 --output whole.png --json
json 'd["problems"] == []'
run 0 "$FFCONVERT" nuscenes src cameras --allow-partial --no-radar --quiet
run 0 "$FFINSPECT" view cameras --split mini_train --record 1 --output cameras.png --json
json 'd["problems"] == []'

# Of the real keyframe the devkit finds 85 boxes in its six cameras.
[ -d "$FFKIT_SHARED_DATA/nuscenes/root" ] || skip 'no nuscenes in $FFKIT_SHARED_DATA'
run 0 "$FFCONVERT" nuscenes "$FFKIT_SHARED_DATA/nuscenes/root" real --version v1.0-mini --quiet
run 0 "$FFINSPECT" view real --split mini_train --record 0 --output real.png --json
json 'd["num_boxes"] == 69 and d["num_boxes_drawn"] == 85 and d["problems"] == []'
