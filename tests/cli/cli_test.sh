#!/usr/bin/env bash
# Runs one case: cli_test.sh cases/FOLDER/NAME.sh
#
# The case is a bash script that runs in an empty folder, with these words:
#   run STATUS COMMAND...   runs it; its exit status must be STATUS; output goes to the files stdout
#                           and stderr
#   out REGEX / err REGEX   a line of that file must match (grep -E)
#   no_out / no_err         that file must be empty
#   one_line_err REGEX      stderr must be one line, and match
#   check COMMAND...        the command must succeed (check test -e file; check ! grep ...)
#   skip REASON             ends the case as skipped (status 77)
#   json EXPRESSION         stdout is one JSON document d, of which the Python expression is true
#   await COMMAND...        waits until it succeeds; fails when what was started last in the
#                           background ends before. ctest alone has a time limit
#   has_lines FILE N        has at least so many
#   kill_when FILE COMMAND...  runs it in the background, and kills it (-9) as soon as there is FILE
#   pictures FOLDER N [SEED]  N small JPEGs, FOLDER/0000.jpg ...
# Cases in fftrain*/ and ffgenerate/ are skipped without the trainer.
# Programs: $FFCONVERT $FFINSPECT $FFEVAL $FFTRAIN $FFGENERATE (unset without the trainer)
# $MAKE_DEVKIT $MAKE_DATASET $MAKE_NUSCENES $MAKE_NUSCENES_ROOT. Real data: $FFKIT_SHARED_DATA, may
# be empty.
set -uo pipefail
export FFKIT_SHARED_DATA=${FFKIT_SHARED_DATA:-}

fail() {
  echo "FAILED: $*"
  echo "  last command: ${last_command[*]:-none}"
  for file in stdout stderr; do
    [ -s "$work/.$file" ] && { echo "  --- $file"; head -c 4000 "$work/.$file"; }
  done
  exit 1
}
skip() { echo "SKIPPED: $*"; exit 77; }
run() {
  local expected=$1 status=0
  shift
  last_command=("$@")
  "$@" >"$work/.stdout" 2>"$work/.stderr" || status=$?
  # What draws, and all that follows from it, is tested where there is OpenCV.
  [ "${WITH_DRAWING:-ON}" = OFF ] && grep -q "needs OpenCV and FreeType, which this build does not have" "$work/.stderr" &&
    skip "built without OpenCV; tested up to: ${last_command[*]}"
  [ "$status" = "$expected" ] || fail "exit status $status, expected $expected"
}
out() { grep -Eq -- "$1" "$work/.stdout" || fail "stdout does not match: $1"; }
err() { grep -Eq -- "$1" "$work/.stderr" || fail "stderr does not match: $1"; }
no_out() { [ ! -s "$work/.stdout" ] || fail "stdout is not empty"; }
no_err() { [ ! -s "$work/.stderr" ] || fail "stderr is not empty"; }
json() {
  python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
sys.exit(not eval(sys.argv[2]))' "$work/.stdout" "$1" || fail "does not hold: $1"
}
one_line_err() {
  [ "$(wc -l <"$work/.stderr")" = 1 ] || fail "stderr is not one line"
  err "$1"
}
check() {
  if [ "$1" = ! ]; then
    "${@:2}" && fail "should not hold: ${*:2}"
  else
    "$@" || fail "does not hold: $*"
  fi
  return 0
}
pictures() {
  local folder=$1 count=$2 seed=${3:-0} i
  mkdir -p "$folder"
  "$FFCONVERT" demo "$work/.pictures" --images "$count" --val-images 0 --size 32 --order sequential \
    --seed "$seed" --quiet || fail "cannot make pictures"
  for ((i = 0; i < count; ++i)); do
    "$FFINSPECT" cat "$work/.pictures" $i --split train --field image \
      >"$(printf '%s/%04d.jpg' "$folder" $i)" || fail "cannot extract picture $i"
  done
  rm -r "$work/.pictures"
}

await() {
  until "$@"; do
    kill -0 $! 2>/dev/null || "$@" || fail "it ended before this held: $*"
    sleep 0.01
  done 2>/dev/null
}
has_lines() { [ "$(cat "$1" | wc -l)" -ge "$2" ]; }

kill_when() {
  "${@:2}" >.out 2>.err &
  local pid=$!
  until [ -e "$1" ]; do
    kill -0 $pid 2>/dev/null || break  # it was done before the file was seen
    sleep 0.01
  done
  kill -9 $pid 2>/dev/null
  wait $pid 2>/dev/null
}

case_file=$(realpath "$1")
cli_folder=$(dirname "$(realpath "$0")")
work=$(mktemp -d "${TMPDIR:-/tmp}/ffkit-cli-XXXXXX")
cleanup=()
at_exit() {
  for command in "${cleanup[@]:-}"; do eval "$command"; done
  chmod -R u+rwx "$work" 2>/dev/null
  rm -rf "$work"
}
trap at_exit EXIT
cd "$work" || exit 1
last_command=()
case $case_file in
  */cases/fftrain*/* | */cases/ffgenerate/*) [ -n "${FFTRAIN:-}" ] || skip "built without the trainer" ;;
esac
# shellcheck source=/dev/null
source "$case_file"
result=$?
[[ $(trap -p EXIT) == *at_exit* ]] || { echo "$case_file: the case has replaced the trap that removes $work; add to cleanup instead"; exit 1; }
exit $result
