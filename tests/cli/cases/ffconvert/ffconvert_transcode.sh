# A data set in the dct code and back, without its source: nothing but the pictures' code changes.
same_shards() { for shard in "$1"/*/*.ffr; do check cmp "$shard" "$2/${shard#"$1"/}"; done; }
# Manifests but for the shards' bytes and what a conversion notes for --resume.
same_manifests() {
  python3 - "$@" <<'PYTHON' || fail "manifests of $1 and $2 differ"
import json, pathlib, sys
a, b, store = sys.argv[1:]
for path in pathlib.Path(a).glob("*/manifest.json"):
    mine, theirs = (json.loads((pathlib.Path(folder) / path.parent.name / "manifest.json").read_text()) for folder in (a, b))
    shards = [[(shard["file"], shard["num_records"]) for shard in manifest.pop("shards")] for manifest in (mine, theirs)]
    assert shards[0] == shards[1], shards
    assert theirs["options"].pop("store", "none") == store, theirs["options"]
    mine["options"].pop("store", None)
    for manifest in (mine, theirs):
        manifest["source"].pop("listing")
    assert mine == theirs, (mine, theirs)
PYTHON
}
# Bytes behind a picture count for nothing; here they make shards.
pictures src/train/cat 6 7
mkdir src/train/dog src/val
cp -r src/train/cat src/val/cat
for i in {1..14}; do { cat src/train/cat/0000.jpg && head -c 220000 /dev/zero; } >src/train/dog/$i.jpg; done
run 0 "$FFCONVERT" folder src plain --shard-size 1M --quiet
check test -e plain/train/shard-00002.ffr
run 0 "$FFCONVERT" transcode plain dct --store dct --num-threads 1
no_out
err '^train: 20 pictures in [0-9]+ shards, .* fingerprint '
check ! grep -q 'no dct code' .stderr
check test ! -e dct/report.jsonl
same_manifests plain dct dct
run 0 "$FFCONVERT" folder src direct --store dct --quiet
check cmp <("$FFINSPECT" ls direct) <("$FFINSPECT" ls dct)
run 0 "$FFCONVERT" transcode dct back --store jpeg --num-threads 3
same_shards plain back
same_manifests plain back none
run 0 "$FFINSPECT" verify dct --pictures
out '^dct/train: whole: 20 records, .*; 20 pictures decoded, 20 in the dct code give their JPEG again$'
run 0 "$FFINSPECT" verify back --pictures --json
json '[s["num_pictures"] for s in d["splits"]] == [20, 6] and [s["num_dct_pictures"] for s in d["splits"]] == [0, 0]'
# In the code already; other shards; one split alone; compressed.
run 0 "$FFCONVERT" transcode dct again --store dct --quiet
same_shards dct again
run 0 "$FFCONVERT" transcode dct one --store jpeg --shard-size 64M --quiet
check test "$(echo one/train/*.ffr)" = one/train/shard-00000.ffr
check cmp <("$FFINSPECT" ls one) <("$FFINSPECT" ls plain)
run 0 "$FFCONVERT" transcode dct/val val --store jpeg --quiet
check cmp val/val/shard-00000.ffr plain/val/shard-00000.ffr
run 0 "$FFCONVERT" demo zstd --images 30 --val-images 0 --size 16 --store raw --zstd 3 --quiet
run 0 "$FFCONVERT" transcode zstd zstd-dct --store dct
err '^30 pictures have no dct code and are kept as they are \(30 not a JPEG\): see zstd-dct/report.jsonl$'
same_manifests zstd zstd-dct "raw, dct"
run 0 "$FFCONVERT" transcode zstd-dct zstd-back --store jpeg --quiet
same_shards zstd zstd-back

# Killed and gone on with; finished.
kill_when killed/train/shard-00000.ffr "$FFCONVERT" transcode plain killed --store dct --num-threads 1
run 0 "$FFCONVERT" transcode plain killed --store dct --resume --quiet
check diff -r dct killed
run 0 "$FFCONVERT" transcode plain dct --store dct --resume
err 'dct: is already finished: '
run 1 "$FFCONVERT" transcode plain dct --store jpeg --resume
one_line_err "already contains a data set from a conversion that differs in option store"

# All splits of a nuScenes set, each with fields of its own.
run 0 "$MAKE_NUSCENES_ROOT" root
run 0 "$FFCONVERT" nuscenes root drive --quiet
run 0 "$FFCONVERT" transcode drive drive-dct --store dct
err ' not a JPEG\): see'  # the masks of the maps
check grep -q '"reason":"is not a JPEG"' drive-dct/report.jsonl
run 0 "$FFINSPECT" verify drive-dct --pictures
run 0 "$FFCONVERT" nuscenes root drive-direct --store dct --quiet
run 0 "$FFCONVERT" transcode drive-dct drive-back --store jpeg --quiet
same_shards drive drive-back
for split in drive/*/; do
  split=$(basename "$split")
  check cmp <("$FFINSPECT" cat drive-dct 0 --split "$split") <("$FFINSPECT" cat drive-direct 0 --split "$split")
done

# Bad input.
run 1 "$FFCONVERT" transcode plain back --store dct
one_line_err "^ffconvert: error: back: the folder already contains a data set \(split 'train'\); remove the data set or give another folder$"
mkdir empty
run 1 "$FFCONVERT" transcode empty dst --store dct
one_line_err '^ffconvert: error: empty: this is not a data set: '
run 1 "$FFCONVERT" transcode nowhere dst --store dct
one_line_err '^ffconvert: error: nowhere: '
run 0 "$FFCONVERT" v1 plain v1 --quiet
run 1 "$FFCONVERT" transcode v1 dst --store dct
one_line_err "^ffconvert: error: v1/train.ffr: the data set is a file of FFRecord v1; convert the file with 'ffconvert v1' first$"
run 0 "$FFCONVERT" folder src part --shard-size 1M --part 1/2 --quiet
run 1 "$FFCONVERT" transcode part dst --store dct
one_line_err "part/train: the data set is one part of a conversion; join all parts with 'ffconvert merge' first$"
mkdir lines && echo '{"a": 1}' >lines/train.jsonl
run 0 "$FFCONVERT" jsonl lines numbers --quiet
run 1 "$FFCONVERT" transcode numbers dst --store dct
one_line_err 'numbers/train: the data set has no field of pictures, so there is nothing to transcode$'
run 2 "$FFCONVERT" transcode plain dst
one_line_err '--store is required'
run 2 "$FFCONVERT" transcode plain dst --store dct --order shuffle
one_line_err '--order has no effect, because the records keep the order of SRC; leave it out'
check test ! -e dst
# A record that is damaged: the record is named.
printf x | dd of=plain/train/shard-00000.ffr bs=1 seek=6000 conv=notrunc status=none
run 1 "$FFCONVERT" transcode plain dst --store dct
one_line_err 'plain/train/shard-00000.ffr: record [0-9]+: .*damaged'
check test ! -e dst
run 0 "$FFCONVERT" transcode plain dst --store dct --bad-samples skip
err '^1 pictures could not be read and were left out: see dst/report.jsonl$'
