run 0 "$MAKE_NUSCENES" set
run 0 "$FFEVAL" nuscenes --data set --split mini_val --results set/results.json --json --output figures.json
no_err
no_out
run 0 "$FFEVAL" nuscenes set --split mini_val --results set/results.json --json
check cmp .stdout figures.json
run 0 "$FFEVAL" nuscenes set --split mini_val --results set/results.json -o table.txt
no_out
run 0 "$FFEVAL" nuscenes set --split mini_val --results set/results.json
no_err
check cmp .stdout table.txt
out '^mAP: 0\.4000$'
# As nuScenes itself names the splits of v1.0-mini.
run 0 "$FFEVAL" nuscenes set --split val --results set/results.json
check cmp .stdout table.txt
bad_split() { run 1 "$FFEVAL" nuscenes set --split "$1" --results set/results.json; one_line_err "^ffeval: error: .*there is no split '$1'"; }
bad_split train
bad_split mini_test
run 0 "$FFEVAL" nuscenes set --split mini_val --results set/results.json
out '^NDS: '
out '^car +1\.000 +0\.000 '
out '^traffic_cone +0\.000 +1\.000 +1\.000 +- +- +- +0 +0$'
run 0 cat figures.json
json 'list(d["label_aps"]["car"]) == ["0.5", "1.0", "2.0", "4.0"] and all(abs(ap - 1) < 1e-9 for ap in d["label_aps"]["car"].values())'
json 'd["label_tp_errors"]["traffic_cone"]["orient_err"] is None and d["meta"] == {"use_lidar": True}'
json 'd["num_boxes"]["car"] == [6, 6] and d["num_boxes"]["barrier"] == [0, 6]'
json 'd["cfg"]["class_range"]["barrier"] == 30 and d["cfg"]["dist_th_tp"] == 2.0'

# What is wrong is said in a line, and no file is left.
bad() { # STATUS REGEX ARGUMENTS...
  run "$1" "$FFEVAL" nuscenes "${@:3}" --output bad.json
  one_line_err "^ffeval: error: .*$2"
  no_out
  check test ! -e bad.json
}
sed 's/"barrier"/"wall"/' set/results.json >wrong.json
bad 1 "wrong.json: sample sample-0-0, box 3: 'detection_name' is 'wall', but must be one of car" --data set --split mini_val --results wrong.json
sed 's/"sample-0-0": \[/"sample-9-9": [/; s/"sample_token": "sample-0-0"/"sample_token": "sample-9-9"/g' set/results.json >other.json
bad 1 'other.json: the results contain sample sample-9-9, but the split does not contain this sample' --data set --split mini_val --results other.json
head -c 3000 set/results.json >cut.json
bad 1 'cut.json: .*not valid JSON of detections' --data set --split mini_val --results cut.json
bad 1 'none.json: ' --data set --split mini_val --results none.json
bad 1 'name the split that you mean; the splits are mini_val, mini_val_sweeps' --data set --results set/results.json
bad 1 "mini_val_sweeps: has no field 'LIDAR_TOP/ego_to_global'" --data set --split mini_val_sweeps --results set/results.json
bad 2 'results is required' --data set
run 1 "$FFEVAL" nuscenes --data set/mini_val --results set/results.json --output nowhere/figures.json
one_line_err 'nowhere/figures.json: the file cannot be created'

# --output destroys nothing: a read-only file, a folder, a device, and what is read.
score() { run "$1" "$FFEVAL" nuscenes --data set --split mini_val --results set/results.json --json --output "$2"; }
echo mine >kept.json
chmod 444 kept.json
score 1 kept.json
one_line_err 'kept.json: is read-only'
check test "$(cat kept.json)" = mine
mkdir folder
score 1 folder
one_line_err 'folder: is a folder; give the name of a file'
check test -d folder
score 1 /dev/full
one_line_err '/dev/full: cannot write the file: .*ENOSPC\); free some space or give another file'
check test -c /dev/full
check mkfifo pipe
cat pipe >piped.json & reader=$!
score 0 pipe
check wait $reader
check test -p pipe
check cmp figures.json piped.json
cp set/results.json results.copy
ln set/results.json linked.json
for same in set/results.json set/../set/results.json linked.json set/mini_val/shard-00000.ffr set/mini_val/manifest.json; do
  score 1 $same
  one_line_err "$same: is the output, but it is also the input "
  no_out
done
check cmp set/results.json results.copy
# A file that is replaced keeps its mode, and a symbolic link leads to the new figures.
echo old >private.json
chmod 600 private.json
ln -s private.json link.json
score 0 link.json
check test -L link.json
check test "$(stat -c %a private.json)" = 600
check cmp figures.json private.json
check test -z "$(find . -name '*.tmp')"

# The devkit's own figures for its own tables.
[ -d "$FFKIT_SHARED_DATA/nuscenes/root" ] || skip 'no nuscenes in $FFKIT_SHARED_DATA'
"$FFCONVERT" nuscenes --help >/dev/null 2>&1 || skip 'ffconvert knows no nuscenes'
run 0 "$FFCONVERT" nuscenes "$FFKIT_SHARED_DATA/nuscenes/root" real --version v1.0-mini --quiet
run 0 "$FFEVAL" nuscenes --data real --split mini_val --results "$FFKIT_SHARED_DATA/nuscenes/detections.json" --json -o real.json
check python3 - real.json "$FFKIT_SHARED_DATA/nuscenes/nds.json" <<'PYTHON'
import json, sys
got, wanted = (json.load(open(path)) for path in sys.argv[1:])
def compare(a, b, where):
    if isinstance(b, dict):
        for key in b:
            compare(a[key], b[key], f"{where}/{key}")
    elif isinstance(b, list):
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            compare(x, y, f"{where}/{i}")
    elif isinstance(b, float):
        assert a is not None and abs(a - b) <= 1e-6, (where, a, b)
    else:
        assert a == b, (where, a, b)
for key, value in wanted["result"].items():
    compare(got[key], value, key)
for name, count in wanted["boxes"]["per_class_after_filtering"].items():
    assert got["num_boxes"][name] == [count["gt"], count["pred"]], name
PYTHON
