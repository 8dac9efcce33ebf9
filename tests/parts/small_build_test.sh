#!/usr/bin/env bash
# A build of a few parts, without libtorch: what its programs do, and what they say of the rest,
# word by word. docs/install-source.md has these sentences. FFCONVERT is that of a whole build.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cmake -S "$root" -B "$folder/b" -G Ninja -DCMAKE_BUILD_TYPE=Release -DFFKIT_TRAINER=OFF \
  -DFFKIT_SOURCES=demo,folder -DFFKIT_TASKS=classification -DFFKIT_INSPECT=info,verify,view > "$folder/log" || { cat "$folder/log"; exit 1; }
cmake --build "$folder/b" >> "$folder/log" || { tail -n 50 "$folder/log"; exit 1; }
cd "$folder"
PATH=$folder/b/tools:$PATH
rest="this builds everything: cmake -DFFKIT_SOURCES=all -DFFKIT_TASKS=all -DFFKIT_INSPECT=all $folder/b && cmake --build $folder/b"

fail() { echo "small_build_test: $*" >&2; exit 1; }
# says STATUS SENTENCE COMMAND...
says() {
  local wanted=$1 sentence=$2 status=0
  shift 2
  "$@" > out 2> err || status=$?
  [ $status = "$wanted" ] || fail "'$*' ends with $status, not $wanted: $(cat err)"
  [ "$(cat err)" = "$sentence" ] || fail "'$*' says '$(cat err)', not '$sentence'"
}

ffconvert demo data --images 20 --val-images 10 --classes 2 --size 16 --quiet
ffinspect verify data > /dev/null
says 1 "ffconvert: error: the source 'coco' is left out of this build; $rest" ffconvert coco --annotations a.json pictures out
says 1 "ffconvert: error: the source 'coco' is left out of this build; $rest" ffconvert coco --help
says 1 "ffconvert: error: the kind of demo 'pose' is left out of this build; $rest" ffconvert demo out --kind pose
says 1 "ffconvert: error: the kind of demo 'nuscenes' is left out of this build; $rest" ffconvert demo out --kind nuscenes --scenes 3
says 1 "ffinspect: error: the subcommand 'plot' is left out of this build; $rest" ffinspect plot runs/a -o plot.png
says 1 "ffeval: error: the program 'ffeval' is left out of this build; $rest" ffeval nuscenes data --results results.json
# Records of sources that are left out: their pictures are shown, and not what is their own.
"$FFCONVERT" demo drives --kind nuscenes --scenes 3 --quiet
"$FFCONVERT" demo persons --kind pose --quiet
echo '[]' > found.json
ffinspect view drives --split train -o sheet.png
says 1 "ffinspect: error: the source 'nuscenes' is left out of this build; $rest" ffinspect view drives --split train --record 0 -o a.png
ffinspect view persons --split train -o sheet.png
says 1 "ffinspect: error: the source 'coco' is left out of this build; $rest" ffinspect view persons --split train --results found.json -o a.png
grep -q "has no command 'coconut'; the nearest names are " <(ffconvert coconut a b 2>&1) || fail "an unknown source is taken for one that is left out"
for program in ffconvert ffinspect; do
  $program --help > help
  [ "$(grep -c '^Left out of this build: ' help)" = 1 ] || fail "$program --help does not say what is left out in a line"
  grep -E "^ *(coco|plot) |$program (coco|plot) " help && fail "$program --help lists what is left out"
done
cmake --install b --prefix p > said 2>&1 && fail "a part of ffkit was installed"
grep -q "lacks parts of ffkit" said || fail "$(cat said)"
