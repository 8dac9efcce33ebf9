# Another number of processes goes on with the same pictures a step, without --global-batch-size, or
# says why it cannot.
run 0 "$FFCONVERT" demo data --classes 4 --images 48 --val-images 8 --size 32 --quiet
options=(--data data --arch convnext_tiny --image-size 32 --lr 0.002 --lr-schedule constant --log-every 1 --compute-threads 1 --resume)
run 0 "$FFTRAIN" "${options[@]}" --batch-size 8 --epochs 2 --work-dir two --nproc 2
run 0 "$FFTRAIN" "${options[@]}" --batch-size 8 --epochs 1 --work-dir run --nproc 2
run 0 "$FFTRAIN" "${options[@]}" --batch-size 8 --epochs 2 --work-dir run
out '^a step takes 16 pictures as before: each process takes 16 instead of 8$'
check python3 "$cli_folder/compare_losses.py" two/metrics.jsonl run/metrics.jsonl 1e-4
run 1 "$FFTRAIN" "${options[@]}" --batch-size 8 --epochs 3 --work-dir run --nproc 3
err 'takes 16 pictures, but 3 processes with 1 batches per step cannot share this number evenly'
run 1 "$FFTRAIN" "${options[@]}" --batch-size 24 --epochs 3 --work-dir run
one_line_err 'takes 16 pictures, but with these options and 1 process one step takes 24; give --global-batch-size 16, or give --accept-batch-change'
run 1 "$FFTRAIN" --resume-from run --global-batch-size 24 --epochs 3
one_line_err 'takes 16 pictures, but with these options and .* one step takes 24'
run 0 "$FFTRAIN" "${options[@]}" --batch-size 24 --epochs 3 --work-dir run --accept-batch-change

# The CPU is one device, whatever GPUs there are.
run 0 env CUDA_VISIBLE_DEVICES=GPU-a,GPU-b "$FFTRAIN" "${options[@]}" --batch-size 8 --epochs 1 --limit-batches 1 --device cpu --work-dir cpu
out '^epoch 1/1'
