# No more threads than the cores that the process is bound to, and than the quota of its container.

# Of a command, the most threads that it is seen with.
most_threads() {
  last_command=("$@")
  "$@" >"$work/.stdout" 2>"$work/.stderr" &
  local threads
  most=0
  while kill -0 $! 2>/dev/null; do
    threads=(/proc/$!/task/*)
    most=$((${#threads[@]} > most ? ${#threads[@]} : most))
    sleep 0.003
  done
  wait $! || fail "exit status $?"
}
at_most() {
  local limit=$1
  shift
  most_threads "$@"
  [ "$most" -le "$limit" ] || fail "$most threads, expected at most $limit"
}

# One that works, and one that waits for it.
all_commands() {
  rm -rf data sheet.png pictures
  at_most 2 "$@" "$FFCONVERT" demo data --images 200 --val-images 0 --size 128 --shard-size 1MiB
  at_most 1 "$@" "$FFINSPECT" verify data --pictures
  at_most 1 "$@" "$FFINSPECT" view data --split train --count 12 --output sheet.png
  at_most 1 "$@" "$FFINSPECT" export data pictures
}

core=$(taskset -cp $$ | grep -Eo '[0-9]+' | sed -n 2p)
all_commands taskset -c "$core"

# A made tree of control groups, of both versions, in place of the real one.
mkdir -p groups/cpu
echo "100000 100000" >groups/cpu.max
echo 100000 | tee groups/cpu/cpu.cfs_quota_us >groups/cpu/cpu.cfs_period_us
cat >with_quota <<'EOF'
mount --bind "$1" /sys/fs/cgroup && shift && exec "$@"
EOF
in_groups=(unshare --map-root-user --mount bash with_quota "$PWD/groups")
"${in_groups[@]}" true 2>/dev/null || skip "nothing may be mounted here; tested up to: the binding"
all_commands "${in_groups[@]}"
