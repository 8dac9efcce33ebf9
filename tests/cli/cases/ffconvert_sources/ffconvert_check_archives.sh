# A made archive is never the official one: refused before it is read, unless the check is left out.
pictures n01440764 2
for f in n01440764/*.jpg; do mv "$f" "${f%.jpg}.JPEG"; done
tar -C n01440764 -cf n01440764.tar $(ls n01440764)
mkdir src
tar -cf src/ILSVRC2012_img_train.tar n01440764.tar
run 0 "$FFCONVERT" imagenet src whole --quiet
sum=$(md5sum <src/ILSVRC2012_img_train.tar | cut -d' ' -f1)
run 1 "$FFCONVERT" imagenet src dst --check-archives
one_line_err "ILSVRC2012_img_train.tar: the archive has the MD5 sum $sum, but the official archive has 1d675b47d978889d74fa0da5fadfb00e; download the archive again, or leave out --check-archives"
check test ! -e dst
