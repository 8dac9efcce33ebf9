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

run 0 "$FFCONVERT" webdataset src dst --classes classes.txt --order sequential --num-threads 3
no_out
err "^ffconvert: note: src: 2 files are split 'train' \(set-train-000000.tar, \.\.\.\)$"
err '^train: 4 pictures in 1 shard'
err '^val: 2 pictures in 1 shard'
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
one_line_err '^ffconvert: error: src/set-val-000000.tar: the file is not UTF-8 text; give a text file with one class on each line$'
tar -C pool/members -cf src/set-train-000002.tar k4.jpg
run 1 "$FFCONVERT" webdataset src dst2 --quiet
one_line_err "set-train-000002.tar: k4: the sample has no member for the field 'label'.*--allow-missing$"
check test ! -e dst2
run 0 "$FFCONVERT" webdataset src dst2 --allow-missing
err "note: src: field 'label' is null in 1 samples$"
tar -C pool/members -cf src/set-train-000002.tar k4.jpg k4.cls
# Compressed ones are read as their tars, whatever their names say.
run 0 "$FFCONVERT" webdataset src plain --quiet
mkdir packed
gzip -c src/set-train-000000.tar >packed/set-train-000000.tgz
xz -c src/set-train-000001.tar >packed/set-train-000001.tar.xz
gzip -c src/set-train-000002.tar >packed/set-train-000002.tar
bzip2 -c src/set-val-000000.tar >packed/set-val-000000.tar.bz2
run 0 "$FFCONVERT" webdataset packed dst3
err "^ffconvert: note: packed: split 'train': 3 compressed tars were decompressed into temporary files of 1 MB in "
check test "$(ls -A . | grep -c ffkit-)" = 0
for split in train val; do
  check diff <("$FFINSPECT" info plain --split $split | grep -i fingerprint) <("$FFINSPECT" info dst3 --split $split | grep -i fingerprint)
done
run 0 "$FFCONVERT" webdataset packed/set-train-000000.tgz one_packed --read gather --quiet
check test "$(ls one_packed)" = train
run 0 "$FFCONVERT" webdataset packed dst3 --resume
err 'is already finished'
head -c 300 packed/set-train-000000.tgz >packed/cut && mv packed/cut packed/set-train-000000.tgz
run 1 "$FFCONVERT" webdataset packed x --quiet
one_line_err 'set-train-000000.tgz: .*the gzip data are cut short; download or copy the file again$'
cp src/set-train-000000.tar packed
run 1 "$FFCONVERT" webdataset packed x --quiet
one_line_err "'set-train-000000.tar' and 'set-train-000000.tgz' have the names of the same shard; remove one of them$"
rm packed/set-train-000000.*
ln -s /gone/x.tar packed/set-train-000003.tar
run 1 "$FFCONVERT" webdataset packed x --quiet
one_line_err "set-train-000003.tar: this link points to '/gone/x.tar', which does not exist; restore this file or folder, or remove the link$"
rm packed/set-train-000003.tar
cat src/set-train-000000.tar src/set-train-000001.tar | gzip >packed/set-train-000004.tar.gz
run 1 "$FFCONVERT" webdataset packed x --quiet
one_line_err 'set-train-000004.tar.gz: .*a second archive begins after the end of the first archive'
check test ! -e x
