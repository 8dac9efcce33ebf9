# A process that hangs does not keep the others when a run is asked to stop: they wait for it for
# 20 s, and those that fftrain has started it ends then.
run 0 "$FFCONVERT" demo data --classes 4 --images 64 --val-images 8 --size 32 --quiet
options=(--data data --arch mobilenet_v3_small --image-size 32 --batch-size 8 --lr 0.01 --log-every 1 --compute-threads 1 --epochs 1000)

# Of two that were started by hand, whichever hangs.
for rank in 0 1; do
  hand=(env WORLD_SIZE=2 MASTER_ADDR=x MASTER_PORT=1 "$FFTRAIN" "${options[@]}" --work-dir "hand$rank" --dist-init-method "file://$PWD/meet$rank")
  RANK=$((1 - rank)) LOCAL_RANK=$((1 - rank)) "${hand[@]}" >"out$rank" 2>"err$rank" &
  asked[rank]=$!
  RANK=$rank LOCAL_RANK=$rank "${hand[@]}" >/dev/null 2>&1 &
  hanging[rank]=$!
  cleanup+=("kill -9 $! 2>/dev/null")
  await has_lines "hand$rank/metrics.jsonl" 3
  kill -STOP "${hanging[rank]}"
done
# Of two that one command has started, one that does not even go on when it is woken. The command
# is asked to stop, or its other process is.
for i in 2 3; do
  "$FFTRAIN" "${options[@]}" --nproc 2 --work-dir "started$i" >"out$i" 2>"err$i" &
  started[i]=$!
  await has_lines "started$i/metrics.jsonl" 3
  hanging[i]=$(pgrep -P $! | tail -1)
  cleanup+=("kill -9 ${started[i]} ${hanging[i]} 2>/dev/null")
  (while kill -STOP "${hanging[i]}"; do sleep 0.005; done) 2>/dev/null &
done
asked[2]=${started[2]}
asked[3]=$(pgrep -P "${started[3]}" | head -1)

begin=$SECONDS
kill -TERM "${asked[@]}"
for i in 0 1 2 3; do
  wait "${started[i]-${asked[i]}}"
  check test $? = 75
  check test $((SECONDS - begin)) -ge 19 -a $((SECONDS - begin)) -le 28
  check grep -q 'fftrain: stopped by SIGTERM while it was waiting for ' "err$i"
done
check bash -c "! kill -0 ${hanging[2]} ${hanging[3]} 2>/dev/null"
