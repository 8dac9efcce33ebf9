# Two machines, played by two network namespaces with a cable between them: nothing of one is
# reached by 127.0.0.1 of the other, and both have the same name.
command -v ip >/dev/null || skip "ip is not installed (tools/setup --development installs it)"
one=ffkit$$a two=ffkit$$b
ip netns add "$one" 2>"$work/.stderr" || skip "this user may make no network namespaces: $(cat "$work/.stderr")"
cleanup+=('ip netns del "$one"; ip netns del "$two"')
check ip netns add "$two"
ip link add eth0 netns "$one" type veth peer name eth0 netns "$two" 2>"$work/.stderr" || skip "no veth here: $(cat "$work/.stderr")"
for host in "$one 10.77.0.1" "$two 10.77.0.2"; do
  read -r name address <<<"$host"
  check ip -n "$name" addr add "$address/24" dev eth0
  check ip -n "$name" link set lo up
  check ip -n "$name" link set eth0 up
done

run 0 "$FFCONVERT" demo data --classes 4 --images 48 --val-images 8 --size 32 --quiet
options=(--data data --arch mobilenet_v3_small --image-size 32 --batch-size 8 --lr 0.01 --compute-threads 1 --epochs 2 --dist-timeout 600)
node=(env MASTER_ADDR=10.77.0.1 MASTER_PORT=2223 WORLD_SIZE=2)
"${node[@]}" RANK=1 ip netns exec "$two" "$FFTRAIN" "${options[@]}" --nproc 2 --work-dir run >other.out 2>&1 &
run 0 "${node[@]}" RANK=0 ip netns exec "$one" "$FFTRAIN" "${options[@]}" --nproc 2 --work-dir run
out '^\[0\] epoch 2/2'
check wait $!
check test ! -s other.out
check grep -q '"images":8' run/metrics.jsonl
# Other options on one of them are found before they do harm.
"${node[@]}" RANK=1 ip netns exec "$two" "$FFTRAIN" "${options[@]}" --nproc 1 --lr 0.02 >other.out 2>&1 &
run 1 "${node[@]}" RANK=0 ip netns exec "$one" "$FFTRAIN" "${options[@]}" --nproc 1
one_line_err '1 of 2 processes have another run than rank 0'
check grep -q 'rank 1 was started with lr 0.02, but rank 0 with 0.01; give all processes the same options' other.out
wait $!
run 0 "$FFCONVERT" demo other --classes 4 --images 48 --val-images 8 --size 32 --seed 5 --quiet
"${node[@]}" RANK=1 ip netns exec "$two" "$FFTRAIN" "${options[@]:2}" --nproc 1 --data other >other.out 2>&1 &
run 1 "${node[@]}" RANK=0 ip netns exec "$one" "$FFTRAIN" "${options[@]}" --nproc 1
check grep -q 'other on rank 1 is another data set than on rank 0' other.out
wait $!
# The interface by its name, as for PyTorch.
"${node[@]}" RANK=1 GLOO_SOCKET_IFNAME=eth0 ip netns exec "$two" "$FFTRAIN" "${options[@]}" --nproc 1 >other.out 2>&1 &
run 0 "${node[@]}" RANK=0 GLOO_SOCKET_IFNAME=eth0 ip netns exec "$one" "$FFTRAIN" "${options[@]}" --nproc 1
check wait $!
run 1 "${node[@]}" RANK=0 GLOO_SOCKET_IFNAME=ib7 ip netns exec "$one" "$FFTRAIN" "${options[@]}" --nproc 1 --dist-timeout 3
err 'ib7'

torchrun=
[ -n "${FFKIT_REFERENCE_PYTHON:-}" ] && torchrun=$(dirname "$FFKIT_REFERENCE_PYTHON")/torchrun
if [ -x "$torchrun" ]; then
  agent=("$torchrun" --nnodes 2 --nproc-per-node 1 --rdzv-backend c10d --rdzv-endpoint 10.77.0.1:29400 --rdzv-id 7 --no-python)
  # torchrun knows a host by its name's address, and here both have the same name: so who holds the
  # meeting point is said.
  ip netns exec "$two" "${agent[@]}" --rdzv-conf is_host=0 --local-addr 10.77.0.2 "$FFTRAIN" "${options[@]}" >other.out 2>&1 &
  run 0 ip netns exec "$one" "${agent[@]}" --rdzv-conf is_host=1 --local-addr 10.77.0.1 "$FFTRAIN" "${options[@]}"
  check wait $!
  check test "$(cat "$work/.stdout" other.out | grep -c '^epoch 2/2')" = 1  # rank 0 may be on either
fi
