# A damaged checkpoint of its own costs a run one checkpoint, whatever it is read for.
run 0 "$FFCONVERT" demo data --classes 4 --images 32 --val-images 8 --size 32 --quiet
options=(--data data --arch mobilenet_v3_small --image-size 32 --batch-size 16 --compute-threads 1 --num-threads 1)
run 0 "$FFTRAIN" "${options[@]}" --epochs 3 --work-dir run --keep-checkpoints 0
size=$(stat -c %s run/epoch-0003.safetensors)

for purpose in "--evaluate one" "--predict one/last --data data --results found.jsonl" "--export one --output out.safetensors" "--resume --work-dir one" \
  "--resume-from one --epochs 4" "${options[*]} --pretrained one --epochs 1"; do
  rm -rf one && cp -r run one
  truncate -s 0 one/epoch-0003.safetensors && truncate -s "$size" one/epoch-0003.safetensors
  run 0 "$FFTRAIN" $purpose
  out 'one/epoch-0003.safetensors: .*; this checkpoint is renamed to \*.damaged, and the previous one is used'
  check test -e one/epoch-0003.safetensors.damaged
done

# One byte of what it says of itself: its name, or an option, which then is none that there is.
for purpose in "--evaluate one" "--predict one/last --data data --results found.jsonl" "--export one --output one/byte.pth" "--resume --work-dir one" \
  "--resume-from one --epochs 4"; do
  for flip in 's/ffkit_checkpoint/ffkit_checkpoinu/' 's/\\"off\\"/\\"ofg\\"/' 's/\\"mobilenet_v3_small\\"/\\"mobilenet_v3_smalx\\"/'; do
    rm -rf one && cp -r run one && LC_ALL=C sed -i "$flip" one/epoch-0003.safetensors
    check ! cmp -s run/epoch-0003.safetensors one/epoch-0003.safetensors
    run 0 "$FFTRAIN" $purpose
    out 'one/epoch-0003.safetensors: .*; this checkpoint is renamed to \*.damaged, and the previous one is used'
  done
done
# The file itself, whatever it says.
for flip in 's/ffkit_checkpoint/ffkit_checkpoinu/' 's/\\"off\\"/\\"ofg\\"/' 's/\\"mobilenet_v3_small\\"/\\"mobilenet_v3_smalx\\"/'; do
  cp run/epoch-0003.safetensors byte.safetensors && LC_ALL=C sed -i "$flip" byte.safetensors
  for whole in "--evaluate byte.safetensors" "--resume-from byte.safetensors --epochs 4 --work-dir none" "--export byte.safetensors -o none.pth"; do
    run 1 "$FFTRAIN" $whole
    one_line_err 'byte.safetensors: .*damaged'
  done
done

# Nor is that silent where standard output is empty.
for purpose in "--evaluate one" "--export one --output quiet.pth" "--resume --work-dir one"; do
  rm -rf one && cp -r run one && truncate -s 100 one/epoch-0003.safetensors
  run 0 "$FFTRAIN" $purpose --quiet
  no_out
  one_line_err '^fftrain: warning: one/epoch-0003.safetensors: .*; this checkpoint is renamed to \*.damaged, and the previous one is used$'
done

# The file itself was asked for.
rm -rf one && cp -r run one && truncate -s 0 one/epoch-0003.safetensors
run 1 "$FFTRAIN" --evaluate one/epoch-0003.safetensors --compute-threads 1
one_line_err 'epoch-0003.safetensors: the file does not begin like a checkpoint; it is damaged, for example by a power failure or a full disk'

# What is refused has changed nothing.
before=$(ls one; cat one/metrics.jsonl)
run 1 "$FFTRAIN" --resume --work-dir one --data data --seed 7 --epochs 9
one_line_err 'the run of this checkpoint has the seed 0, but the seed here is 7'
check test "$before" = "$(ls one; cat one/metrics.jsonl)"
rm one/epoch-*
before=$(ls one; cat one/metrics.jsonl)
run 1 "$FFTRAIN" "${options[@]}" --resume --work-dir one --val-split none
check test "$before" = "$(ls one; cat one/metrics.jsonl)"
run 0 "$FFTRAIN" "${options[@]}" --resume --work-dir one --epochs 1
check test "$(grep -c validation one/metrics.jsonl)" = 1

# A checkpoint that gets too large is an error, and not the end of the process.
run 1 bash -c 'ulimit -f 64; exec "$FFTRAIN" "$@"' bash "${options[@]}" --epochs 1 --work-dir large
one_line_err 'EFBIG\); raise the limit on the size of files \(ulimit -f\) and run again$'
# So are files that cannot be written, before the work.
mkdir folder.csv
for wrong in 'a.txt|must end in .jsonl or .csv' 'none/a.csv|cannot be created' 'folder.csv|is a folder'; do
  run 1 "$FFTRAIN" --evaluate run --results "${wrong%%|*}"
  one_line_err "${wrong#*|}"
  no_out
done
run 1 "$FFTRAIN" --evaluate run --confusion a.txt
one_line_err 'a.txt: must end in .json or .csv'
run 1 "$FFTRAIN" --export run --output none/a.pth
one_line_err 'none/a.pth: the file cannot be created'
# A device is not replaced by a file, not even by a superuser.
ln -s /dev/null null.json
run 1 "$FFTRAIN" --evaluate run --confusion null.json
one_line_err 'null.json: the path is not a regular file, so it cannot be replaced; give the name of a file'
check test -L null.json
# A slash behind best or last, as a shell completes folders.
for slash in run/best/ run/last/; do
  run 0 "$FFTRAIN" --evaluate $slash
done
# A damaged line of the log costs that line, and is named; each step stays once.
rm -rf one && cp -r run one
sed -i '1s/{/[/' one/metrics.jsonl
cat run/metrics.jsonl >>one/metrics.jsonl
run 0 "$FFTRAIN" --resume --work-dir one --epochs 4
one_line_err '^fftrain: warning: one/metrics.jsonl: 1 damaged line is left out$'
check test "$(grep -c validation one/metrics.jsonl)" = 4
check test "$(sort one/metrics.jsonl | uniq -d | wc -l)" = 0
# One file for two things.
run 1 "$FFTRAIN" --evaluate run --results same.csv --confusion same.csv
one_line_err 'same.csv: is also the file for the results; give another file'
check ! test -e same.csv
