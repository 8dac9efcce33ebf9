# The order of the samples: windowed over a store, shuffled elsewhere, as the run began where it
# goes on, and as it is given.
export FFKIT_CACHE=off
run 0 "$FFCONVERT" demo data --classes 4 --images 48 --val-images 8 --size 32 --quiet
options=(--arch convnext_tiny --image-size 32 --lr 0.002 --lr-schedule constant --log-every 1 --compute-threads 1 --batch-size 8 --resume)
there="file://$work/data"
run 0 "$FFTRAIN" "${options[@]}" --data data --epochs 2 --work-dir here
check ! grep -q 'order of the samples' .stdout
run 0 "$FFTRAIN" "${options[@]}" --data "$there" --epochs 1 --work-dir there --nproc 2
out '^\[0\] order of the samples: windowed by 8388608 bytes x 64 in 2 streams, 48 samples$'

# A run that began over a local copy goes on over the store in its order.
run 0 "$FFTRAIN" "${options[@]}" --data data --epochs 1 --work-dir moved
run 0 "$FFTRAIN" "${options[@]}" --data "$there" --epochs 2 --work-dir moved
check ! grep -q 'order of the samples' .stdout
check python3 "$cli_folder/compare_losses.py" here/metrics.jsonl moved/metrics.jsonl 1e-6
# And the other way round, with other processes.
run 0 "$FFTRAIN" "${options[@]}" --data data --epochs 2 --work-dir there
out '^order of the samples: windowed by 8388608 bytes x 64 in 2 streams, 48 samples$'

# An order that is given is the order everywhere.
run 0 "$FFTRAIN" "${options[@]}" --data "$there" --epochs 2 --work-dir shuffled --order shuffle
check python3 "$cli_folder/compare_losses.py" here/metrics.jsonl shuffled/metrics.jsonl 1e-6
run 0 "$FFTRAIN" "${options[@]}" --data data --epochs 1 --work-dir windowed --order windowed --num-streams 3
out '^order of the samples: windowed by 8388608 bytes x 64 in 3 streams, 48 samples$'
check grep -Fxq 'order = "windowed"' windowed/config.toml
run 1 "$FFTRAIN" "${options[@]}" --data data --epochs 1 --work-dir none --num-streams 3
one_line_err "num_streams works only with the order 'windowed'"
run 1 "$FFTRAIN" "${options[@]}" --data data --epochs 1 --work-dir none --order windowed --balance
one_line_err 'balance'
