# --config gives the options of a file, as the command line gives them, which wins over it.
cat >demo.toml <<'TOML'
# pictures
classes = 3      # of 10
images = 12
val-images = 0
size = 32
shard-size = "1M"
seed = 18446744073709551615
store = "smart"
raw-share = 0.5
fix-odd = false
TOML
run 0 "$FFCONVERT" demo plain --classes 3 --images 12 --val-images 0 --size 32 --shard-size 1M --seed 18446744073709551615 --store smart --quiet
run 0 "$FFCONVERT" demo file --config demo.toml --quiet
no_err
check diff -r plain file
# The command line wins, before and behind --config.
run 0 "$FFCONVERT" demo plain5 --classes 3 --images 10 --val-images 0 --size 32 --shard-size 1M --seed 5 --store jpeg --quiet
sed -i '/raw-share/d' demo.toml
run 0 "$FFCONVERT" demo file5 --seed 5 --config demo.toml --images 10 --store jpeg --quiet
check diff -r plain5 file5
printf 'fix-odd = true\nresume = true\n' >flags.toml
run 0 "$FFCONVERT" demo flags --images 4 --val-images 0 --config flags.toml --fix-odd=false --quiet
check ! grep -q fix_odd flags/train/manifest.json
run 0 "$FFCONVERT" demo odd --images 4 --val-images 0 --config flags.toml --quiet --resume=false
check grep -q fix_odd odd/train/manifest.json

# Names are a list, or a text with commas.
pictures train/a 1
pictures train/b 1
pictures val/a 2 1
for names in '["train", "val"]' '"train,val"' 'train, val'; do
  printf 'splits = %s\n' "$names" >splits.toml
  run 0 "$FFCONVERT" folder . "out" --config splits.toml --dry-run
  out '^train: 2'
  out '^val: 2'
done
run 0 "$FFCONVERT" folder . out --config splits.toml --splits val --dry-run
check ! grep -q train .stdout

# All commands that take options from the tables.
printf 'store = "dct"\n' >dct.toml
run 0 "$FFCONVERT" transcode plain dct --config dct.toml --quiet
printf 'payload = "raw"\n' >v1.toml
run 0 "$FFCONVERT" v1 plain v1 --config v1.toml --quiet
printf 'transfer = "copy"\n' >transfer.toml
run 0 "$FFCONVERT" merge merged plain --config transfer.toml --quiet
check test "$(stat -c %h merged/train/shard-00000.ffr)" = 1
run 0 "$FFCONVERT" merge linked plain --config transfer.toml --transfer link --quiet
check test "$(stat -c %h linked/train/shard-00000.ffr)" = 2
printf 'transfer = "link"\n' >transfer.toml
run 0 "$FFCONVERT" merge copied plain --config transfer.toml --copy --quiet
check test "$(stat -c %h copied/train/shard-00000.ffr)" = 1

bad() { # REGEX TEXT OF THE FILE
  printf '%b\n' "$2" >bad.toml
  run 2 "$FFCONVERT" demo dst --config bad.toml
  one_line_err "^ffconvert: error: $1; see ffconvert demo --help$"
  no_out
  check test ! -e dst
}
bad "bad.toml: line 3: 'shard_size' cannot be set in a file; the nearest names are shard-size, .*" '# x\nseed = 1\nshard_size = 5M'
bad "bad.toml: line 2: 'quiet' cannot be set in a file; .*" '\nquiet = true'
bad "bad.toml: line 3: 'demo.seed' cannot be set in a file; .*" 'seed = 2\n[demo]\nseed = 1'
bad "bad.toml: line 1: 'seed' has 2 values, but takes 1" 'seed = 2\nseed = 3'
bad "bad.toml: line 3: 'seed' appears twice" 'seed = 2\nimages = 3\nseed = 3'
bad "bad.toml: line 1: 'classes' has 2 values, but takes 1" 'classes = [2, 3]'
bad '.*is not text: it contains a zero byte' 'seed = \0'
# As on the command line.
for pair in 'num-threads x' 'seed -1' 'classes 1' 'order random' 'shard-size 5parsec' 'frames 3'; do
  run 2 "$FFCONVERT" demo dst --"${pair% *}" "${pair#* }"
  cp .stderr expected
  printf '%s = "%s"\n' "${pair% *}" "${pair#* }" >bad.toml
  run 2 "$FFCONVERT" demo dst --config bad.toml
  check cmp expected .stderr
done
run 2 "$FFCONVERT" demo dst --config nowhere.toml
one_line_err "'nowhere.toml' is not a file"
run 0 "$FFCONVERT" demo --help
out '--config FILE'
