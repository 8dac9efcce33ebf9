run 0 "$FFCONVERT" demo dst --classes 4 --images 60 --val-images 40 --size 256 --quiet
export FFKIT_CACHE=$PWD/cache
run 0 "$FFINSPECT" cache
no_err
out "^$PWD/cache$"
out '^  holds  0 B, at most half of what is free on its disk$'
run 0 "$FFINSPECT" verify "file://$PWD/dst"
no_err
FFKIT_CACHE_BYTES=1G run 0 "$FFINSPECT" cache
out '^  holds  .*, at most 1.0 GB$'
out "^  file://$PWD/dst/train  .* of 1 shard, last used 20"
run 0 "$FFINSPECT" cache --json
json 'len(d["sets"]) == 2 and d["num_bytes"] == sum(s["num_bytes"] for s in d["sets"]) > 60000 and not d["sets"][0]["is_in_use"] and d["max_bytes"] is None'
run 0 "$FFINSPECT" cache --clean "file://$PWD/dst/val" --json
json 'd["removed_bytes"] > 0 and [s["address"][-6:] for s in d["sets"]] == ["/train"]'
run 0 "$FFINSPECT" cache --clean
out '^removed [1-9]'
test -z "$(ls cache)"
FFKIT_CACHE=off run 0 "$FFINSPECT" cache --clean --json
json 'd["folder"] is None and d["sets"] == [] and d["removed_bytes"] == 0'
run 0 "$FFINSPECT" cache --folder other
out '^other$'
FFKIT_CACHE_BYTES=many run 1 "$FFINSPECT" cache
err "FFKIT_CACHE_BYTES is 'many', but must be a size such as 200G"
