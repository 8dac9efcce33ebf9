# SIGTERM and the like end every wait within seconds, with exit status 75, whatever fftrain is
# doing.
run 0 "$FFCONVERT" demo data --classes 4 --images 64 --val-images 64 --size 32 --quiet
options=(--data data --arch mobilenet_v3_small --image-size 32 --batch-size 8 --lr 0.01 --log-every 1 --compute-threads 1)

# Whether process $1 has a handler for signal number $2.
has_handler() {
  local caught
  # Before exec() it is still bash, which has handlers of its own: asked first, for the answer may
  # be old when the other one comes.
  [ "$(readlink "/proc/$1/exe")" -ef "$FFTRAIN" ] || return
  caught=$(sed -n 's/^SigCgt:\t//p' "/proc/$1/status")
  [ -n "$caught" ] && ((16#$caught >> ($2 - 1) & 1))
}
# Sends signal $1 to process $2, which must end with status $3 within a minute.
stops() {
  kill "-$1" "$2"
  (sleep 60 && kill -9 "$2") >/dev/null 2>&1 &
  local killer=$! status=0
  wait "$2" || status=$?
  kill $killer 2>/dev/null
  [ $status = "$3" ] || cat err
  check test $status = "$3"
}

run 0 "$FFTRAIN" "${options[@]}" --epochs 1 --work-dir run
for mode in "--evaluate run --eval-size 448 --batch-size 64" "--benchmark --limit-batches 1000000" "--loader-only --limit-batches 100000000"; do
  # shellcheck disable=SC2086
  "$FFTRAIN" "${options[@]}" $mode >out 2>err &
  await has_handler $! 15
  stops TERM $! 75
  check grep -q '^fftrain: stopped ' err
  check test "$(wc -l <err)" = 1
done

# Waiting for processes that do not come.
python3 -c 'import os, socket, time
s = socket.create_server(("127.0.0.1", 0))
open("port.new", "w").write(str(s.getsockname()[1]))
os.rename("port.new", "port")
peer = s.accept()
open("met", "w")
time.sleep(1000)' &
listener=$!
await test -e port
RANK=1 WORLD_SIZE=2 LOCAL_RANK=1 MASTER_ADDR=127.0.0.1 MASTER_PORT=$(cat port) "$FFTRAIN" "${options[@]}" >out 2>err &
waiting=$!
await test -e met
stops USR1 $waiting 75
kill $listener
check grep -q '^fftrain: stopped by SIGUSR1 while it was ' err
check test "$(wc -l <err)" = 1
# ... and all of one command, however early.
"$FFTRAIN" "${options[@]}" --epochs 1000 --nproc 2 >out 2>err &
two_processes() { [ "$(pgrep -c -P $!)" = 2 ]; }
await two_processes
stops TERM $! 75

# Closing the terminal is a request to stop too, but not under nohup.
"$FFTRAIN" "${options[@]}" --epochs 1000 --work-dir hung >out 2>err &
await has_lines hung/metrics.jsonl 3
stops HUP $! 75
check grep -q '^stopped on request after .*hung/epoch-.*has all state' out
check test -n "$(ls hung | grep safetensors)"
