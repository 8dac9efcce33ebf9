run 0 "$FFCONVERT" demo data --classes 4 --images 96 --val-images 15 --size 32 --quiet
# Two processes do what one does with all the pictures: every layer of a ResNet, its batch norm over
# both. Three steps: batch norm with ReLU makes of a difference in the last bit one of 1e-2 within
# ten, whatever caused it. A learning rate that is a tenth larger is noticed.
steps=(--data data --arch resnet18 --image-size 32 --global-batch-size 16 --sync-bn --lr 0.002 --epochs 1 --limit-batches 3 --log-every 1 --compute-threads 1)
run 0 "$FFTRAIN" "${steps[@]}" --work-dir alone
run 0 "$FFTRAIN" "${steps[@]}" --work-dir both --nproc 2
check python3 "$cli_folder/compare_losses.py" alone/metrics.jsonl both/metrics.jsonl 1e-4
run 0 "$FFTRAIN" "${steps[@]}" --lr 0.0022 --work-dir larger
check ! python3 "$cli_folder/compare_losses.py" alone/metrics.jsonl larger/metrics.jsonl 1e-4
# A whole epoch, and with gradients that add up over two batches: of a ConvNeXt, which has no batch
# norm.
options=(--data data --arch convnext_tiny --image-size 32 --global-batch-size 16 --lr 0.002 --epochs 1 --log-every 1 --compute-threads 1)
run 0 "$FFTRAIN" "${options[@]}" --work-dir one
run 0 "$FFTRAIN" "${options[@]}" --work-dir two --nproc 2
no_err
out '^\[0\] epoch 1/1  train loss .* images/s'
check bash -c "! grep '^\[1\]' '$work/.stdout'"  # rank 0 talks
check python3 "$cli_folder/compare_losses.py" one/metrics.jsonl two/metrics.jsonl 1e-4
check test "$(grep -c '"images":15' two/metrics.jsonl)" = 1  # every picture once, whatever the number of processes
run 0 "$FFTRAIN" "${options[@]}" --work-dir more --nproc 2 --accumulate 2
check python3 "$cli_folder/compare_losses.py" one/metrics.jsonl more/metrics.jsonl 1e-4
# Batch norm over both.
run 0 "$FFTRAIN" "${options[@]}" --arch mobilenet_v3_small --nproc 2 --sync-bn --broadcast-buffers --limit-batches 2 --amp bf16
no_err
run 1 "$FFTRAIN" "${options[@]}" --nproc 3
err '^\[0\] fftrain: error: global-batch-size is 16, which 3 processes .* cannot share evenly; give a multiple of 3'

# Evaluation by two processes counts every picture once.
run 0 "$FFTRAIN" --evaluate one --compute-threads 1
accuracy=$(sed -n 's/^val loss [0-9.]*  \(.*\)/\1/p' "$work/.stdout")
run 0 "$FFTRAIN" --evaluate one --nproc 2 --global-batch-size 7 --compute-threads 1
out "^\[0\] val loss [0-9.]+  $accuracy$"

# Two nodes of one process each, as node-level launchers start them; they meet by MASTER_PORT.
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("", 0)); print(s.getsockname()[1])')
options=(--data data --arch mobilenet_v3_small --image-size 32 --batch-size 8 --epochs 1 --limit-batches 2 --compute-threads 1 --dist-timeout 600)
MASTER_PORT=$port WORLD_SIZE=2 RANK=1 "$FFTRAIN" "${options[@]}" --nproc 1 >other.out 2>&1 &
run 0 env MASTER_PORT="$port" WORLD_SIZE=2 RANK=0 "$FFTRAIN" "${options[@]}" --nproc 1
out '^\[0\] epoch 1/1'
check wait $!
check test ! -s other.out
# ... by a file, and by what srun sets.
RANK=1 WORLD_SIZE=2 LOCAL_RANK=1 MASTER_ADDR=x MASTER_PORT=1 "$FFTRAIN" "${options[@]}" --dist-init-method "file://$PWD/meet" >other.out 2>&1 &
run 0 env RANK=0 WORLD_SIZE=2 LOCAL_RANK=0 MASTER_ADDR=x MASTER_PORT=1 "$FFTRAIN" "${options[@]}" --dist-init-method "file://$PWD/meet"
check wait $!
slurm=(SLURM_JOB_ID=$((port)) SLURM_STEP_ID=0 SLURM_NTASKS=2 SLURM_STEP_NODELIST=localhost "MASTER_PORT=$port")
env "${slurm[@]}" SLURM_PROCID=1 SLURM_LOCALID=1 "$FFTRAIN" "${options[@]}" >other.out 2>&1 &
run 0 env "${slurm[@]}" SLURM_PROCID=0 SLURM_LOCALID=0 "$FFTRAIN" "${options[@]}"
check wait $!

# Mistakes are explained, not waited for.
run 1 env RANK=0 "$FFTRAIN" "${options[@]}"
one_line_err 'RANK is set, but WORLD_SIZE is not; set both'
run 1 "$FFTRAIN" "${options[@]}" --launcher slurm
one_line_err 'SLURM_STEP_NUM_TASKS is not set, but the launcher slurm needs it'
run 1 "$FFTRAIN" "${options[@]}" --launcher slrum
one_line_err "unknown launcher 'slrum'; expected one of auto, none, torchrun, slurm, mpi, node and pytorch"
run 1 env RANK=1 WORLD_SIZE=2 LOCAL_RANK=1 MASTER_ADDR=127.0.0.1 MASTER_PORT="$port" "$FFTRAIN" "${options[@]}" --dist-timeout 2
one_line_err "rank 1 of 2 could not connect to the other processes at tcp://127.0.0.1:$port within 2 s"
# (Of a port of its own: the connections of the runs before may still hold $port.)
python3 -c 'import os, socket, time
s = socket.socket()
s.bind(("", 0))
s.listen()
open("bound.new", "w").write(str(s.getsockname()[1]))
os.rename("bound.new", "bound")
time.sleep(1000)' &
await test -e bound
port=$(cat bound)
run 1 env RANK=0 WORLD_SIZE=2 LOCAL_RANK=0 MASTER_ADDR=127.0.0.1 MASTER_PORT="$port" "$FFTRAIN" "${options[@]}" --dist-timeout 5
one_line_err "another program uses the port of tcp://127.0.0.1:$port"
kill $!
run 1 "$FFTRAIN" "${options[@]}" --device cuda:7
one_line_err 'GPU'

# When a process is killed, the others end and say so.
"$FFTRAIN" --data data --arch mobilenet_v3_small --image-size 32 --batch-size 8 --epochs 1000 --nproc 2 --compute-threads 1 >out 2>err &
await grep -q '^\[0\] epoch 1/' out
kill -9 "$(pgrep -P $! | tail -1)"
wait $!
check test $? = 137
check grep -q 'was ended by signal 9' err
