pictures pool 6
mkdir -p src pool/members
for i in 0 1 2 3 4 5; do
  cp "pool/000$i.jpg" "pool/members/k$i.jpg"
  echo $((i % 2)) >"pool/members/k$i.cls"
done
tar -C pool/members --sort=name -cf src/set-train-000000.tar k0.jpg k0.cls k1.jpg k1.cls
tar -C pool/members --sort=name -cf src/set-train-000001.tar k2.jpg k2.cls k3.jpg k3.cls
tar -C pool/members --sort=name -cf src/set-val-000000.tar k4.jpg k4.cls k5.jpg k5.cls
printf 'cat\ndog\n' >classes.txt

run 0 "$FFCONVERT" webdataset src dst --classes classes.txt --order source --threads 3
no_out
err "^ffconvert: note: src: 2 files are split 'train' \(set-train-000000.tar, \.\.\.\)$"
err '^train: 4 images in 1 shard'
err '^val: 2 images in 1 shard'
run 0 "$FFINSPECT" verify dst
# Every picture is there, to the byte, with its label and key.
run 0 "$FFINSPECT" ls dst --split train
check diff <(tail -n +2 .stdout | cut -f4-6) <(printf '%s\n' $'0\tk0\tcat' $'1\tk1\tdog' $'0\tk2\tcat' $'1\tk3\tdog')
for i in 0 1 2 3; do
  run 0 "$FFINSPECT" cat dst $i --split train --field image
  check cmp -s .stdout "pool/000$i.jpg"
done

# One tar is one split.
run 0 "$FFCONVERT" webdataset src/set-val-000000.tar one --quiet
check test "$(ls one)" = val

run 1 "$FFCONVERT" webdataset src dst2 --classes src/set-val-000000.tar --quiet
one_line_err '^ffconvert: error: src/set-val-000000.tar: is no UTF-8 text; it must have one class a line$'
tar -C pool/members -cf src/set-train-000002.tar k4.jpg
run 1 "$FFCONVERT" webdataset src dst2 --quiet
one_line_err "set-train-000002.tar: k4: has no member for field 'label'.*--allow-missing$"
check test ! -e dst2
run 0 "$FFCONVERT" webdataset src dst2 --allow-missing
err "note: src: field 'label' is null in 1 samples$"
tar -C pool/members -cf src/set-train-000002.tar k4.jpg k4.cls
gzip src/set-train-000002.tar
run 1 "$FFCONVERT" webdataset src dst3 --quiet
one_line_err 'set-train-000002.tar.gz: is compressed, .*; decompress it$'
check test ! -e dst3
