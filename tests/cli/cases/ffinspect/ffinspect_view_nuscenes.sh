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
one_line_err 'mini_val: has 6 records, from number 0; there is no record 6'
check test ! -e none.png

# Detections beside the annotations: sample-1-1 has five, with scores of 0.9, 0.8 .. 0.5.
run 0 "$FFINSPECT" view set/mini_val --record 4 --results set/results.json --output found.png --json
no_err
json 'd["num_boxes"] == 6 and d["num_predictions"] == 5 and d["num_predictions_drawn"] >= 4 and d["num_boxes_drawn"] >= d["num_predictions_drawn"]'
check ! cmp -s scene.png found.png
run 0 "$FFINSPECT" view set/mini_val --record 4 --results set/results.json --min-score 0.65 --output few.png --json
json 'd["num_predictions"] == 3'
check ! cmp -s found.png few.png
# A detection moves, or gets another name, and the picture with it; without any, annotations stay.
python3 - <<'PYTHON'
import json
results = json.load(open("set/results.json"))
def write(name, change):
    changed = json.loads(json.dumps(results))
    change(changed["results"]["sample-1-1"])
    json.dump(changed, open(name, "w"))
write("moved.json", lambda boxes: boxes[0]["translation"].__setitem__(0, boxes[0]["translation"][0] + 1))
write("named.json", lambda boxes: boxes[0].update(detection_name="bus"))
write("empty.json", lambda boxes: boxes.clear())
write("wrong.json", lambda boxes: boxes[0].update(detection_name="wall"))
del results["results"]["sample-1-1"]
json.dump(results, open("lacks.json", "w"))
PYTHON
for change in moved named empty; do
  run 0 "$FFINSPECT" view set/mini_val --record 4 --results $change.json --output $change.png
  check ! cmp -s found.png $change.png
done
run 0 "$FFINSPECT" view set/mini_val --record 4 --results empty.json --output empty.png --json
json 'd["num_predictions"] == 0 and d["num_boxes_drawn"] >= 4'
bad_results() { # STATUS REGEX ARGUMENTS...
  run "$1" "$FFINSPECT" view set/mini_val "${@:3}" --output none.png
  one_line_err "^ffinspect: error: $2"
  check test ! -e none.png
}
bad_results 1 'lacks.json: the results have no sample sample-1-1; give results of this split, or another --record' --record 4 --results lacks.json
bad_results 1 "wrong.json: sample sample-1-1, box 0: 'detection_name' is 'wall'" --record 4 --results wrong.json
bad_results 1 'none.json: ' --record 4 --results none.json
bad_results 1 'set/mini_val: results can be drawn into one keyframe .* give --record' --results set/results.json
bad_results 1 'set/mini_val: results can be drawn into one keyframe' --record 4 --field CAM_BACK/image --results set/results.json
bad_results 2 '--min-score requires --results' --record 4 --min-score 0.5
cp set/results.json same.json
run 1 "$FFINSPECT" view set/mini_val --record 4 --results same.json --output same.json
one_line_err 'same.json: is the output, but it is also the input same.json'
check cmp set/results.json same.json

# What is missing is said in the picture and in the JSON; radars that were not converted are not
# missing.
run 0 "$MAKE_NUSCENES_ROOT" src
rm src/samples/CAM_BACK/*402000000000.jpg src/samples/LIDAR_TOP/*402000000000.pcd.bin src/samples/RADAR_FRONT/*402000000000.pcd
run 0 "$FFCONVERT" nuscenes src part --allow-partial --quiet
run 0 "$FFINSPECT" view part --split mini_train --record 0 --output part.png --json
json 'd["problems"] == ["CAM_BACK: no picture: the data set was converted without it", "LIDAR_TOP: no points: the data set was converted without them", "RADAR_FRONT: no points: the data set was converted without them"]'
run 0 "$FFINSPECT" view part --split mini_train --record 1 --output whole.png --json
json 'd["problems"] == []'
run 0 "$FFCONVERT" nuscenes src cameras --allow-partial --no-radar --quiet
run 0 "$FFINSPECT" view cameras --split mini_train --record 1 --output cameras.png --json
json 'd["problems"] == []'

# A box is drawn with its name, its velocity, and dashes where it is hidden: the picture tells boxes
# apart that differ in one of these alone.
draw_box() { # NAME VISIBILITY METRES_TO_THE_NEXT_KEYFRAME PICTURE: all boxes are 10 m beside the vehicle
  rm -rf boxes
  cp -r src one
  check python3 - "$@" <<'PYTHON'
import json, sys
def change(table, to):
    path = f"one/v1.0-mini/{table}.json"
    rows = json.load(open(path))
    to(rows)
    json.dump(rows, open(path, "w"))
    return rows
name, visibility, metres = sys.argv[1:4]
tables = {table: json.load(open(f"one/v1.0-mini/{table}.json")) for table in ("sample_data", "ego_pose", "sample_annotation")}
poses = {row["token"]: row for row in tables["ego_pose"]}
places = {row["sample_token"]: poses[row["ego_pose_token"]]["translation"] for row in tables["sample_data"]
          if row["is_key_frame"] and "/LIDAR_TOP/" in row["filename"]}
followers = {row["next"]: row["sample_token"] for row in tables["sample_annotation"] if row["next"]}
def place(rows):
    for row in rows:
        row.update(visibility_token=visibility, size=[2.0, 4.0, 1.5], rotation=[1.0, 0.0, 0.0, 0.0])
        x, y, z = places[row["sample_token"]]
        if row["token"] in followers:
            x, y, z = places[followers[row["token"]]]
            x += float(metres)
        row["translation"] = [x + 10.0, y + 2.0, z]
change("sample_annotation", place)
change("category", lambda rows: [row.update(name=name) for row in rows if row["name"] == "animal"])
change("instance", lambda rows: [row.update(category_token=next(c["token"] for c in json.load(open("one/v1.0-mini/category.json")) if c["name"] == name)) for row in rows])
PYTHON
  run 0 "$FFCONVERT" nuscenes one boxes --quiet --allow-partial
  run 0 "$FFINSPECT" view boxes --split mini_train --record 0 --output "$4"
  rm -r one
}
draw_box animal 4 1 plain.png
draw_box animal 4 1 same.png
check cmp plain.png same.png
draw_box movable_object.debris 4 1 named.png
draw_box animal 4 3 faster.png
draw_box animal 1 1 hidden.png
for other in named faster hidden; do check ! cmp -s plain.png $other.png; done

# Of the real keyframe the devkit finds 85 boxes in its six cameras.
[ -d "$FFKIT_SHARED_DATA/nuscenes/root" ] || skip 'no nuscenes in $FFKIT_SHARED_DATA'
run 0 "$FFCONVERT" nuscenes "$FFKIT_SHARED_DATA/nuscenes/root" real --version v1.0-mini --quiet
run 0 "$FFINSPECT" view real --split mini_train --record 0 --output real.png --json
json 'd["num_boxes"] == 69 and d["num_boxes_drawn"] == 85 and d["problems"] == []'
