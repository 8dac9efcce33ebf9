# A run of fftrain 0.2 goes on under this version, and its config.toml begins one like it.
golden=$cli_folder/../golden/v0.2
common=(--data "$golden/tokens" --compute-threads 1 --quiet)
run 0 "$FFTRAIN" --resume-from "$golden/run/epoch-0001.safetensors" "${common[@]}" --work-dir run
check test -s run/epoch-0002.safetensors
check grep -q '^num-threads = ' run/config.toml
check grep -q '^prefetch-batches = 2' run/config.toml
run 0 "$FFTRAIN" --evaluate "$golden/run/epoch-0001.safetensors" "${common[@]}"
run 0 "$FFTRAIN" --config "$golden/run/config.toml" "${common[@]}" --epochs 1 --work-dir again
check grep -q '^prefetch-batches = 2' again/config.toml
run 0 "$FFTRAIN" --export run/epoch-0002.safetensors -o weights.safetensors
# Whoever types the old names is told those of today.
run 2 "$FFTRAIN" "${common[@]}" --threads 1
one_line_err "fftrain has no option '--threads'; it is --num-threads now"
