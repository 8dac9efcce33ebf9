check "$MAKE_DATASET" pictures dst cat,dog 0:jpeg:cat/a.jpg 1:png:dog/b.png :junk:
run 0 "$FFINSPECT" cat dst 1
no_err
out '^image: png 49 x 32, [0-9]+ bytes$'
out '^label: 1$'
out '^id: dog/b.png$'
run 0 "$FFINSPECT" cat dst 1 --field id
check test "$(<.stdout)" = dog/b.png

# One field's bytes, to standard output or to a file.
run 0 "$FFINSPECT" cat dst 1 --field image
cp .stdout picture
run 0 "$FFINSPECT" cat dst 1 --field image --output file.png
no_out
check cmp picture file.png
check test "$(head -c 4 file.png | tail -c 3)" = PNG
run 0 "$FFINSPECT" cat dst 1 --output record.txt
no_out
check grep -q '^label: 1$' record.txt

run 0 "$FFINSPECT" cat dst 1 --json
json 'd["record"] == 1 and d["fields"]["label"] == 1 and d["class"] == "dog" and "base64" not in d["fields"]["image"]'
run 0 "$FFINSPECT" cat dst 1 --field image --json
json 'list(d["fields"]) == ["image"]'
json '__import__("base64").b64decode(d["fields"]["image"]["base64"]) == open("picture", "rb").read()'
run 0 "$FFINSPECT" cat dst 1 --json --output record.json
no_out
check python3 -c 'import json; assert json.load(open("record.json"))["fields"]["id"] == "dog/b.png"'

run 1 "$FFINSPECT" cat dst 3
one_line_err 'there is no record 3; the split has 3'
run 1 "$FFINSPECT" cat dst 1 --field depth
one_line_err 'depth.*image, label, id'
run 1 "$FFINSPECT" cat dst 2 --field id
one_line_err "field 'id' is null"
run 1 "$FFINSPECT" cat dst 1 --field image --output no/such/folder.png
one_line_err 'no/such/folder.png: the file cannot be created: .*ENOENT'
run 2 "$FFINSPECT" cat dst
one_line_err RECORD
run 0 "$FFCONVERT" demo two --images 4 --val-images 4 --size 16 --quiet
run 1 "$FFINSPECT" cat two 0
one_line_err 'several splits; choose one with --split'

# Binary fields stay away from terminals.
run 2 python3 -c 'import os, pty, subprocess, sys
terminal, end = pty.openpty()
sys.exit(subprocess.run(sys.argv[1:], stdout=end).returncode)' "$FFINSPECT" cat dst 1 --field image
one_line_err "field 'image' is binary; write it to a file with --output"

# No output takes the place of what it is read from, nor of what is protected.
cp dst/train/shard-00000.ffr shard.copy
for same in dst/train/shard-00000.ffr dst/train/manifest.json; do
  run 1 "$FFINSPECT" cat dst 1 --output $same
  one_line_err "$same: is the output, but it is also the input "
  run 1 "$FFINSPECT" view dst --output $same
  one_line_err "$same: is the output, but it is also the input "
done
check cmp dst/train/shard-00000.ffr shard.copy
echo mine >protected
chmod 444 protected
run 1 "$FFINSPECT" cat dst 1 --output protected
one_line_err 'protected: is read-only'
check test "$(cat protected)" = mine

# A document of a block of tokens, as the text that it was.
printf '{"text": "one"}\n{"text": "it is\\n two"}\n' >texts.jsonl
run 0 "$FFCONVERT" text texts.jsonl texts --tokenizer bytes --quiet
run 0 "$FFINSPECT" cat texts 0 --split train --document 1
check test "$(cat "$work/.stdout")" = $'it is\n two'
run 1 "$FFINSPECT" cat texts 0 --split train --document 2
one_line_err 'record 0: has 2 documents, from number 0; there is no document 2'
run 2 "$FFINSPECT" cat dst 0 --document 0
one_line_err 'the records have no documents'
printf '{"ids": [5, 6]}\n' >ids.jsonl
run 0 "$FFCONVERT" text ids.jsonl ids --tokens-field ids --vocabulary-size 10 --end-of-text 9 --quiet
run 0 "$FFINSPECT" cat ids 0 --document 0
check test "$(cat "$work/.stdout")" = '5 6 9'
printf '{"ids": [5, 10]}\n' >ids.jsonl
run 1 "$FFCONVERT" text ids.jsonl bad --tokens-field ids --vocabulary-size 10 --end-of-text 9 --quiet
one_line_err "ids.jsonl:1: 'ids'\[1\] is 10, which is not in the vocabulary of 10 tokens"
run 2 "$FFCONVERT" text ids.jsonl bad
one_line_err 'a text source needs --tokenizer'
