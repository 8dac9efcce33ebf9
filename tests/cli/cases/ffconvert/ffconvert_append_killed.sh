# An append that is killed while it copies leaves the data set as it was; the next one goes on
# behind what it left.
run 0 "$FFCONVERT" demo dst --images 10 --val-images 0 --size 32 --quiet
run 0 "$FFCONVERT" demo src --images 12000 --val-images 0 --size 64 --shard-size 1M --quiet
cp dst/train/manifest.json before.json
"$FFCONVERT" append dst src --copy --quiet &
appender=$!
until [ -e dst/train/shard-00002.ffr ]; do :; done
kill -9 $appender 2>/dev/null
wait $appender 2>/dev/null && skip "the append was done before it could be killed"
check cmp dst/train/manifest.json before.json
run 0 "$FFINSPECT" verify dst
check test -e src/train/shard-00000.ffr

run 0 "$FFCONVERT" append dst src
err '^train: 12010 records '
run 0 "$FFINSPECT" verify dst
check test ! dst/train/shard-00001.ffr -ef src/train/shard-00000.ffr # what the killed one left is not listed
check ! grep -q '"shard-00001.ffr"' dst/train/manifest.json
