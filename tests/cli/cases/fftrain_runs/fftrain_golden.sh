# A run of an earlier fftrain goes on under this version, and its config.toml begins one like it.
for version in v0.2 v1.0; do
  golden=$cli_folder/../golden/$version
  common=(--data "$golden/tokens" --compute-threads 1 --quiet)
  run 0 "$FFTRAIN" --resume-from "$golden/run/epoch-0001.safetensors" "${common[@]}" --work-dir $version/run
  check test -s $version/run/epoch-0002.safetensors
  check grep -q '^num-threads = ' $version/run/config.toml
  check grep -q '^prefetch-batches = 2' $version/run/config.toml
  run 0 "$FFTRAIN" --evaluate "$golden/run/epoch-0001.safetensors" "${common[@]}"
  run 0 "$FFTRAIN" --config "$golden/run/config.toml" "${common[@]}" --epochs 1 --work-dir $version/again
  check grep -q '^prefetch-batches = 2' $version/again/config.toml
  run 0 "$FFTRAIN" --export $version/run/epoch-0002.safetensors -o $version/weights.safetensors
done
# Whoever types the old names is told those of today.
run 2 "$FFTRAIN" "${common[@]}" --threads 1
one_line_err "fftrain has no option '--threads'; it is --num-threads now"
