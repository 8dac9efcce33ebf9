# The hashes of pictures are those of Python's imagehash, to the bit where pictures are decoded in
# full; JPEGs, which are decoded smaller, differ in few.
[ -n "${FFKIT_SHARED_DATA:-}" ] && [ -d "$FFKIT_SHARED_DATA/imagenet" ] || skip "no imagenet in \$FFKIT_SHARED_DATA"
[ -n "${FFKIT_REFERENCE_PYTHON:-}" ] || skip "\$FFKIT_REFERENCE_PYTHON is not set"
"$FFKIT_REFERENCE_PYTHON" -c 'import imagehash, scipy' 2>/dev/null || skip "$FFKIT_REFERENCE_PYTHON has no imagehash"
run 0 "$FFCONVERT" imagenet "$FFKIT_SHARED_DATA/imagenet" jpeg --quiet
run 0 "$FFCONVERT" imagenet "$FFKIT_SHARED_DATA/imagenet" raw --short-side 128 --store raw --quiet
for set in jpeg raw; do run 0 "$FFINSPECT" duplicates $set/val --hashes $set.hashes; done
run 0 "$FFKIT_REFERENCE_PYTHON" "$cli_folder/compare_phash.py" jpeg/val jpeg.hashes/*.hashes "$FFINSPECT" 10 1
out '^100 pictures; '
run 0 "$FFKIT_REFERENCE_PYTHON" "$cli_folder/compare_phash.py" raw/val raw.hashes/*.hashes "$FFINSPECT" 0 0
out '^100 pictures; bits that differ: \{0: 100\}'
