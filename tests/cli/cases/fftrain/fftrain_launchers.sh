torchrun=
[ -n "${FFKIT_REFERENCE_PYTHON:-}" ] && torchrun=$(dirname "$FFKIT_REFERENCE_PYTHON")/torchrun
run 0 "$FFCONVERT" demo data --classes 4 --images 48 --val-images 8 --size 32 --quiet
options=(--data data --arch mobilenet_v3_small --image-size 32 --batch-size 8 --lr 0.01 --compute-threads 1)
# In the terminal of salloc fftrain is one process, which may start others; they meet at an address
# of IPv6 as it is written.
port=$(python3 -c 'import socket
print(socket.create_server(("::1", 0), family=socket.AF_INET6).getsockname()[1])')
run 0 env SLURM_PROCID=0 SLURM_NTASKS=8 SLURM_LOCALID=0 SLURM_JOB_ID=3000000000 SLURM_STEP_ID=4294967290 "$FFTRAIN" "${options[@]}" --epochs 1 --nproc 2 \
  --dist-init-method "tcp://[::1]:$port"
out '^\[0\] epoch 1/1'
check test "$(grep -c '\] epoch' "$work/.stdout")" = 1
# A rank without a number of processes, as prterun gives it, would be a training of its own on each.
run 1 env PMIX_RANK=0 PMIX_NAMESPACE=n PRTE_LAUNCHED=1 "$FFTRAIN" "${options[@]}" --epochs 1
one_line_err 'PMIX_RANK is 0, but no variable gives the number of processes'
# Where nobody can meet is said at once.
two=(env RANK=1 WORLD_SIZE=2 LOCAL_RANK=1 MASTER_PORT=2)
run 1 "${two[@]}" MASTER_ADDR=a "$FFTRAIN" "${options[@]}" --epochs 1 --dist-init-method "file://$PWD/no/store"
one_line_err 'the folder .*/no does not exist; make this folder'
run 1 "${two[@]}" MASTER_ADDR=no-host.invalid "$FFTRAIN" "${options[@]}" --epochs 1 --dist-timeout 0.5
one_line_err "the host of MASTER_ADDR, 'no-host.invalid', is not known on this machine"
tested=
if command -v mpirun >/dev/null; then
  run 0 mpirun --allow-run-as-root --oversubscribe -np 2 "$FFTRAIN" "${options[@]}" --epochs 1
  out '^epoch 1/1'
  check test "$(grep -c '^epoch' "$work/.stdout")" = 1
  tested+=" mpirun"
fi
if [ -x "$torchrun" ]; then
  # A worker that is killed: torchrun starts all of them again, and they go on from the last
  # checkpoint.
  "$torchrun" --standalone --nproc-per-node 2 --max-restarts 1 --no-python "$FFTRAIN" "${options[@]}" --epochs 8 --work-dir run --resume >out 2>err &
  await test -e run/epoch-0002.safetensors
  kill -9 "$(pgrep -P $! | tail -1)"
  check wait $!
  check grep -q '^continuing from run/epoch-' out
  check test -e run/epoch-0008.safetensors
  tested+=" torchrun"
fi
[ -n "$tested" ] || skip "neither mpirun nor a Python with torchrun (FFKIT_REFERENCE_PYTHON) is here"
