# Real archives, compared with what torchvision and tarfile read from them.
[ -n "${FFKIT_SHARED_DATA:-}" ] && [ -d "$FFKIT_SHARED_DATA/imagenet" ] || skip "no imagenet in \$FFKIT_SHARED_DATA"
[ -n "${FFKIT_REFERENCE_PYTHON:-}" ] || skip "\$FFKIT_REFERENCE_PYTHON is not set"
"$FFKIT_REFERENCE_PYTHON" -c 'import torchvision, scipy' 2>/dev/null ||
  skip "$FFKIT_REFERENCE_PYTHON has no torchvision or no scipy"
run 0 "$FFCONVERT" imagenet "$FFKIT_SHARED_DATA/imagenet" dst
run 0 "$FFINSPECT" verify dst
run 0 "$FFKIT_REFERENCE_PYTHON" "$cli_folder/compare_imagenet.py" "$FFKIT_SHARED_DATA/imagenet" dst "$FFINSPECT"
out '^equal: [0-9]+ train and [0-9]+ val images$'
