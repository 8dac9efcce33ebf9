# Untidy folders of pictures, compared with what torchvision's ImageFolder makes of them.
[ -n "${FFKIT_REFERENCE_PYTHON:-}" ] || skip "\$FFKIT_REFERENCE_PYTHON is not set"
"$FFKIT_REFERENCE_PYTHON" -c 'import torchvision' 2>/dev/null || skip "$FFKIT_REFERENCE_PYTHON has no torchvision"
run 0 "$FFKIT_REFERENCE_PYTHON" "$cli_folder/compare_folders.py" "$FFCONVERT" "$FFINSPECT" trees
out '^46 trees: 24 equal, 22 refused by a sentence, 0 different$'
