# The forms of other libraries; what their libraries read of them is in tests/python/formats.
run 0 "$FFCONVERT" demo dst --classes 4 --images 300 --val-images 20 --size 32 --quiet

# The way back is the command that the export names, and gives the same records.
run 0 "$FFINSPECT" export dst tars --as webdataset
no_err
out '^train: 300 records to 1 file in tars/train, '
out "^train: ids that cannot be keys, .*: 300 \(that of record 0, 'class[0-9/]+\.jpg', became 'class[0-9/]+'\); these ids are in the members \.id\.txt$"
out '^classes: tars/classes.txt$'
out '^to convert it again: ffconvert webdataset tars DST --classes tars/classes.txt --id-member id.txt --order sequential$'
check diff <(head -1 tars/class_names.txt) <("$FFINSPECT" info dst --split train --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["splits"][0]["class_names"][0])')
run 0 "$FFCONVERT" webdataset tars back --classes tars/classes.txt --id-member id.txt --order sequential --quiet
for split in train val; do
  fingerprint() { "$FFINSPECT" info "$1" --split $split --json | grep '"fingerprint"'; }
  check test "$(fingerprint dst)" = "$(fingerprint back)"
done

# It is a command for a shell, whatever the folder is called; splits with other classes have files
# of their own.
run 0 "$FFINSPECT" export dst "a b'c" --as webdataset
out "^to convert it again: ffconvert webdataset 'a b'\\\\''c' DST --classes 'a b'\\\\''c/classes.txt' --id-member id.txt --order sequential$"
check "$MAKE_DATASET" pictures apart x,y 0:jpeg:a
mkdir -p apart/val
check cp apart/train/shard-00000.ffr apart/val
sed 's/"train"/"val"/; s/"x"/"z"/' apart/train/manifest.json >apart/val/manifest.json
run 0 "$FFINSPECT" export apart apart-tars --as webdataset
out '^the splits have different classes, so each has a file of its own; convert each split separately, with its file$'
check test "$(cat apart-tars/classes-train.txt apart-tars/classes-val.txt | tr '\n' ' ')" = 'x y z y '

# The files do not depend on threads and times; tar(1) reads them.
for form in webdataset mds; do
  run 0 "$FFINSPECT" export dst one-$form --as $form --shard-size 100k --json
  json 'd["form"] == "'$form'" and [s["split"] for s in d["splits"]] == ["train", "val"] and d["splits"][0]["num_files"] > 2'
  json 'd["way_back"].startswith("ffconvert '$form' ") and d["class_files"] == ["classes.txt", "class_names.txt"]'
  run 0 taskset -c 0 "$FFINSPECT" export dst two-$form --as $form --shard-size 100k
  check diff -r one-$form two-$form
  check test -z "$(find one-$form -type f -size +102400c)"
done
check test "$(tar tf tars/train/train-000000.tar | wc -l)" = 900
check test "$(tar tvf tars/train/train-000000.tar | head -1 | tr -s ' ' | cut -d' ' -f1,2,4)" = '-rw-r--r-- 0/0 1970-01-01'
mkdir unpacked
check tar xf tars/val/val-000000.tar -C unpacked
check cmp <("$FFINSPECT" cat dst 0 --split val --field image) unpacked/$("$FFINSPECT" cat dst 0 --split val --field id)

# imagefolder is what files is for such a set.
run 0 "$FFINSPECT" export dst files
run 0 "$FFINSPECT" export dst folder --as imagefolder
check diff -r files folder

# Keys: what cannot be one is the number, and the id stays beside it.
check "$MAKE_DATASET" pictures odd cat,dog 0:jpeg:a/x.jpg 0:jpeg:a/x.png 1:png:y.v2.jpg 1:junk:../z.jpg 0:jpeg: :jpeg:__u/v.jpg 1:null:5 0:jpeg:grüße/x.jpg 0:jpeg:07
run 0 "$FFINSPECT" export odd keys --as webdataset
check diff <(tar tf keys/train/train-000000.tar --quoting-style=literal) - <<'END'
a/x.jpg
a/x.cls
a/x.id.txt
1.jpg
1.cls
1.id.txt
2.png
2.cls
2.id.txt
3.bin
3.cls
3.id.txt
4.jpg
4.cls
5.jpg
5.id.txt
6.cls
6.id.txt
grüße/x.jpg
grüße/x.cls
grüße/x.id.txt
07.jpg
07.cls
END
out 'train: ids that cannot be keys, .*: 7 \('
out 'train: records without an id, which get their key as the id: 1$'
out "train: fields that are null in some records, which then have no member: 'image' in 1; 'label' in 1$"
out 'train: pictures of an unknown encoding, which become members .bin and come back as bytes: 1$'
run 0 "$FFCONVERT" webdataset keys again --classes keys/classes.txt --id-member id.txt --allow-missing --order sequential --quiet
check diff <("$FFINSPECT" ls again --json | python3 -c 'import json, sys; print([json.loads(line)["fields"]["id"] for line in sys.stdin])') - <<'END'
['a/x.jpg', 'a/x.png', 'y.v2.jpg', '../z.jpg', '4', '__u/v.jpg', '5', 'grüße/x.jpg', '07']
END

# Records that are chosen twice have two keys.
printf '0\n0\n1\n' >numbers.txt
run 0 "$FFINSPECT" export odd twice --as webdataset --indices numbers.txt
check test "$(tar tf twice/train/train-000000.tar | grep -c jpg)" = 3

# Every type of field.
check "$MAKE_DATASET" types types
run 0 "$FFINSPECT" export types types-tars --as webdataset
out "fields with another name or type after converting them again: 'note' becomes 'note/txt'; 'lidar' becomes 'lidar/npy'; 'weights' becomes the tensor 'weights/npy' of f32; 'tags' becomes the string 'tags/json', a JSON array; and 14 others"
out '^train: records without a file, because their fields are null: 1$'
run 0 "$FFCONVERT" webdataset types-tars types-back --allow-missing --numbered-frames --order sequential --quiet
run 0 "$FFINSPECT" cat types-back 2 --json
json 'd["fields"]["n/u64/npy"] == {"dtype": "u64", "shape": [], "values": [18446744073709551613]} and json.loads(d["fields"]["tags/json"]) == ["red", "tab\there"]'
json 'len(d["fields"]["crops/frames"]) == 2 and d["fields"]["weights/npy"]["dtype"] == "f32"'

# Some fields: what the others hold does not matter.
run 0 "$FFINSPECT" export types some --as webdataset --fields note,cam_front/image
check test "$(tar tf some/train/train-000000.tar | head -3 | tr '\n' ' ')" = '0.note.txt 0.cam_front.jpg 1.note.txt '
run 0 "$FFINSPECT" export odd some-mds --as mds --fields image,label --indices numbers.txt
run 0 "$FFINSPECT" export types some-files --fields note,n/u64
check diff <(cd some-files/train && find 1 -type f | sort) <(printf '1/n/u64.txt\n1/note.txt\n')
run 0 "$FFINSPECT" export dst some-folder --as imagefolder --fields image,label
check cmp <("$FFINSPECT" cat dst 7 --split train --field image) some-folder/train/*/007.jpg
# A line names some of many fields, --json all.
run 0 "$FFINSPECT" export types lines --as webdataset
out "^train: fields that are null in some records, .*: 'cam_front/image' in 1; 'blob' in 1; 'note' in 1; 'lidar' in 1; and 16 others \(--json lists all\)$"
run 0 "$FFINSPECT" export types lines-json --as webdataset --json
json 'any("fields that are null" in note and note.count(" in 1") == 20 for note in d["splits"][0]["notes"])'

# What a form cannot hold is refused before anything is there.
run 1 "$FFINSPECT" export types refused --as imagefolder
one_line_err "types/train: is not a data set for image classification \(an image, an integer 'label' and at most a string 'id'\); choose these fields with --fields, or export with --as files, webdataset or mds$"
run 1 "$FFINSPECT" export types refused --as mds
one_line_err "field 'boxes' is a list of tensors, which MDS cannot store; leave it out with --fields, or export with --as webdataset or --as files$"
run 1 "$FFINSPECT" export odd refused --as mds
one_line_err "odd/train: record [46]: field '(id|image)' is null, which MDS cannot store; leave it out with --fields, choose other records with --where or --indices, or export with --as webdataset or --as files$"
run 1 "$FFINSPECT" export dst refused --fields image,name
one_line_err "there is no field 'name'; the fields are image, label, id$"
run 1 "$FFINSPECT" export dst refused --fields image,image
one_line_err "--fields names 'image' twice; remove one of them$"
run 1 "$FFINSPECT" export dst refused --shard-size 1M
one_line_err "shard-size is for webdataset and mds only; leave it out$"
run 1 "$FFINSPECT" export dst refused --as mds --shard-size 5G
one_line_err "shard-size must be below 4 GiB for MDS, whose offsets have 32 bits$"
run 2 "$FFINSPECT" export dst refused --as beton
one_line_err '--as: beton not in \{files,imagefolder,webdataset,mds\}; see ffinspect export --help$'
run 1 bash -c 'ulimit -f 64; exec "$FFINSPECT" export dst refused --as webdataset'
one_line_err 'refused.ffinspect-export/train/train-000000.tar: cannot write the file: .*EFBIG'
check test ! -e refused -a ! -e refused.ffinspect-export
run 1 "$FFINSPECT" export dst tars --as mds
one_line_err '^ffinspect: error: tars: the folder is not empty, and nothing is overwritten'
