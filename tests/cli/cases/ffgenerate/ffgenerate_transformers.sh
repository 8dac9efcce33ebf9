# Texts and losses are those of transformers: eos_token_id, repetition penalty, stop strings,
# special tokens, layer_norm_epsilon, added tokens.
[ -n "${FFKIT_FRAMEWORKS_PYTHON:-}" ] || skip "FFKIT_FRAMEWORKS_PYTHON names no Python with transformers"
run 0 "$FFKIT_FRAMEWORKS_PYTHON" "$cli_folder/compare_generation.py" "$FFGENERATE" "$FFTRAIN" "$FFCONVERT"
check ! grep -q '^WRONG' "$work/.stdout"
check test "$(grep -c '^right' "$work/.stdout")" -ge 20
