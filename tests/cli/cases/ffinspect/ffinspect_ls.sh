check "$MAKE_DATASET" pictures dst cat,dog 0:jpeg:cat/a.jpg 1:png:dog/b.png :junk: 7:null:c
run 0 "$FFINSPECT" ls dst
no_err
out $'^split\trecord\timage\tlabel\tid\tclass$'
out $'^train\t0\tjpeg 48 x 32, [0-9]+ bytes\t0\tcat/a.jpg\tcat$'
out $'^train\t1\tpng 49 x 32, [0-9]+ bytes\t1\tdog/b.png\tdog$'
out $'^train\t2\t21 bytes that are not a known image\tnull\tnull\t$'
out $'^train\t3\tnull\t7\tc\t$'
check test "$(wc -l <.stdout)" = 5

run 0 "$FFINSPECT" ls dst --first 1 --limit 2
check test "$(wc -l <.stdout)" = 3
out $'^train\t1\t'
out $'^train\t2\t'
run 0 "$FFINSPECT" ls dst --first 9 --limit 9223372036854775807
check test "$(wc -l <.stdout)" = 1

# JSON Lines: every line is a document.
run 0 "$FFINSPECT" ls dst --json
python3 - <<'END' || fail "the lines are not what they should be"
import json
lines = [json.loads(line) for line in open(".stdout")]
assert [line["record"] for line in lines] == [0, 1, 2, 3]
assert lines[0]["fields"]["image"]["encoding"] == "jpeg" and lines[0]["fields"]["image"]["width"] == 48
assert lines[1]["fields"] == {"image": lines[1]["fields"]["image"], "label": 1, "id": "dog/b.png"}
assert lines[1]["class"] == "dog" and lines[1]["class_name"] == "the dog"
assert lines[2]["fields"]["image"] == {"num_bytes": 21, "encoding": "unknown", "width": None, "height": None}
assert lines[2]["fields"]["label"] is None and "class" not in lines[2]
assert lines[3]["fields"]["image"] is None and lines[3]["class"] == ""
END

run 2 "$FFINSPECT" ls dst --limit -1
no_out
one_line_err '^ffinspect: error: '
# What cannot be written is an error.
run 1 bash -c '"$1" ls "$2" >/dev/full' _ "$FFINSPECT" dst
one_line_err 'cannot write to standard output: .*ENOSPC'
# ... also while there is more to write.
run 0 "$FFCONVERT" demo many --images 200 --val-images 0 --size 16 --quiet
for to in '>/dev/full' '>&-'; do
  run 1 bash -c "\"$FFINSPECT\" ls many $to"
  one_line_err '^ffinspect: error: cannot write to standard output: '
done
