check "$MAKE_DATASET" pictures dst cat,dog,owl 0:jpeg:cat/a 0:jpeg:cat/b 0:jpeg:cat/b 1:jpeg:dog/c 5:jpeg:e
run 0 "$FFINSPECT" stats dst
no_err
out '^dst/train: 5 records$'
out '^  label  scalar i64   min 0, max 5, mean 1\.2$'
out '^  id     string       4 distinct$'
out '^  4 labels with 0 to 3 records each, median 1; 1 without any$'
out '^ +0  cat the cat +3  #{40}$'
out '^ +1  dog the dog +1  #{13}$'
out '^ +2  owl the owl +0$'
out '^ +5 +1  #{13}$'
run 0 "$FFINSPECT" stats dst --max-classes 2
out '^ +0  cat the cat +3  #+$'
out '\.\.\. 2 labels between'
out '^ +2  owl the owl +0$'
check ! grep -q dog .stdout

run 0 "$FFINSPECT" stats dst --json
no_err
json 'd["splits"][0]["columns"][0] == {"name": "label", "type": "scalar", "dtype": "i64", "count": 5, "min": 0, "max": 5, "mean": 1.2}'
json 'd["splits"][0]["columns"][1] == {"name": "id", "type": "string", "count": 5, "distinct": 4, "num_empty": 0}'
json '[(l["label"], l["class"], l["num_records"]) for l in d["splits"][0]["labels"]] == [(0, "cat", 3), (1, "dog", 1), (2, "owl", 0), (5, "", 1)]'
json 'd["splits"][0]["labels"][1]["class_name"] == "the dog"'

# No record is read: all of them are damaged.
check python3 -c 'import sys
data = bytearray(open(sys.argv[1], "rb").read())
first = data.find(b"\xff\xd8\xff")
data[first:first + 1000] = bytes(1000)
open(sys.argv[1], "wb").write(data)' dst/train/shard-00000.ffr
run 1 "$FFINSPECT" cat dst 0
one_line_err 'the record is damaged'
run 0 "$FFINSPECT" stats dst
out ' 4 distinct$'

run 1 "$FFINSPECT" stats dst --split val
one_line_err "there is no split 'val'"
run 2 "$FFINSPECT" stats dst --max-classes many
one_line_err '^ffinspect: error: '
