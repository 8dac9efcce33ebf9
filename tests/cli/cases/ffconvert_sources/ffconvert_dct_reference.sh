# Real photographs and a real nuScenes root, in the dct code and back: to the byte.
[ -d "$FFKIT_SHARED_DATA/imagenet" ] && [ -d "$FFKIT_SHARED_DATA/nuscenes/root" ] && [ -d "$FFKIT_SHARED_DATA/hard-images" ] ||
  skip "no imagenet, nuscenes/root or hard-images in \$FFKIT_SHARED_DATA"
run 0 "$FFCONVERT" imagenet "$FFKIT_SHARED_DATA/imagenet" imagenet --store dct
check ! grep -q 'no dct code' .stderr
run 0 "$FFINSPECT" export imagenet files --split val
mkdir val && tar -C val -xf "$FFKIT_SHARED_DATA/imagenet/ILSVRC2012_img_val.tar"
check test "$(find val -name '*.JPEG' | wc -l)" -gt 50
while read -r file; do check cmp "$file" "$(find files -name "$(basename "$file")")"; done < <(find val -name '*.JPEG')
run 0 "$FFCONVERT" imagenet "$FFKIT_SHARED_DATA/imagenet" plain --quiet
run 0 "$FFCONVERT" transcode imagenet back --store jpeg --quiet
for shard in plain/*/*.ffr; do check cmp "$shard" "back/${shard#plain/}"; done
run 0 "$FFINSPECT" verify imagenet --pictures
# At most a quarter more.
check test "$(cat imagenet/*/*.ffr | wc -c)" -lt "$(($(cat plain/*/*.ffr | wc -c) * 5 / 4))"

run 0 "$FFCONVERT" nuscenes "$FFKIT_SHARED_DATA/nuscenes/root" drive --version v1.0-mini --quiet
run 0 "$FFCONVERT" transcode drive drive-dct --store dct
err '^2 pictures have no dct code and are kept as they are \(2 not a JPEG\)'  # the masks of the maps
run 0 "$FFINSPECT" verify drive-dct --pictures
run 0 "$FFCONVERT" transcode drive-dct drive-back --store jpeg --quiet
for shard in drive/*/*.ffr; do check cmp "$shard" "drive-back/${shard#drive/}"; done

# Every odd picture: in the code, or as it was.
mkdir -p odd/train/all && cp "$FFKIT_SHARED_DATA"/hard-images/* odd/train/all && rm odd/train/all/expected.json
echo all >classes.txt  # one class alone is an error otherwise
run 0 "$FFCONVERT" folder --classes classes.txt odd odd-dct --store dct --order sequential --bad-samples keep
err '^[0-9]+ pictures have no dct code and are kept as they are \(.*[0-9]+ not a JPEG, 1 progressive, 1 with more bytes in its scan than its pixels need, 1 with restart markers\)'
run 0 "$FFINSPECT" export odd-dct odd-files
for file in odd/train/all/*.JPEG; do check cmp "$file" "odd-files/train/all/$(basename "$file")"; done
