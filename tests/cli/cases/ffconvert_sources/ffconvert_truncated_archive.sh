pictures n01000000 4
for f in n01000000/*.jpg; do mv "$f" "n01000000/n01000000_$(basename "$f" .jpg).JPEG"; done
tar -C n01000000 -cf n01000000.tar $(ls n01000000)
mkdir src
tar -cf whole.tar n01000000.tar
for length in 0 100 1000 3000 5000; do
  head -c $length whole.tar >src/ILSVRC2012_img_train.tar
  run 1 "$FFCONVERT" imagenet src dst
  one_line_err '^ffconvert: error: .*ILSVRC2012_img_train.tar: .*cut short.*; download or copy the archive again$'
  check test ! -e dst
done
printf 'garbage%.0s' {1..1000} >src/ILSVRC2012_img_train.tar
run 1 "$FFCONVERT" imagenet src dst
one_line_err "is not an uncompressed tar archive"
gzip -c whole.tar >src/ILSVRC2012_img_train.tar
run 1 "$FFCONVERT" imagenet src dst
one_line_err "is gzip data, not a plain tar archive; decompress it$"

mkdir kit
cp whole.tar kit/ILSVRC2012_img_train.tar
check "$MAKE_DEVKIT" . 1
tar -czf devkit.tar.gz ILSVRC2012_devkit_t12
head -c 200 devkit.tar.gz >kit/ILSVRC2012_devkit_t12.tar.gz
run 1 "$FFCONVERT" imagenet kit dst
one_line_err 'ILSVRC2012_devkit_t12.tar.gz: .*; (download or copy (it|the archive|the file)|get (it|the file|the devkit)) again'
check test ! -e dst
