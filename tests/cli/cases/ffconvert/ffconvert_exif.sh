# Pictures that EXIF data turn: as they are in the file, or upright.
pictures plain/train/cat 2
mkdir -p src/train/cat wds
# Orientation 6, in the first picture.
python3 - plain/train/cat/0000.jpg src/train/cat/0000.jpg <<'PYTHON' || fail "cannot make a picture"
import struct, sys
jpeg = open(sys.argv[1], "rb").read()
exif = b"Exif\0\0II*\0" + struct.pack("<IHHHIHHI", 8, 1, 0x0112, 3, 1, 6, 0, 0)
open(sys.argv[2], "wb").write(jpeg[:2] + b"\xff\xe1" + struct.pack(">H", len(exif) + 2) + exif + jpeg[2:])
PYTHON
cp plain/train/cat/0001.jpg src/train/cat

echo cat >classes.txt  # one class alone is an error otherwise
run 0 "$FFCONVERT" folder --classes classes.txt src as_it_is --order sequential --quiet
check cmp <("$FFINSPECT" cat as_it_is 0 --field image) src/train/cat/0000.jpg
run 0 "$FFCONVERT" folder --classes classes.txt src ignored --order sequential --exif ignore --quiet
check cmp as_it_is/train/shard-00000.ffr ignored/train/shard-00000.ffr
run 0 "$FFCONVERT" folder --classes classes.txt src upright --order sequential --exif apply
err '^1 pictures were repaired, or kept although they are damaged: see upright/report.jsonl$'
check grep -Eq '"source":".*cat/0000.jpg","reason":"has the EXIF orientation 6","action":"turned upright and re-encoded as JPEG"' upright/report.jsonl
check cmp <("$FFINSPECT" cat upright 1 --field image) src/train/cat/0001.jpg
run 0 "$FFCONVERT" folder --classes classes.txt src upright --order sequential --exif apply --resume
run 1 "$FFCONVERT" folder --classes classes.txt src upright --order sequential --resume
one_line_err 'exif'

tar -C src/train/cat -cf wds/train-0.tar 0000.jpg 0001.jpg
run 0 "$FFCONVERT" webdataset wds wds_upright --order sequential --exif apply --quiet
check cmp <("$FFINSPECT" cat wds_upright 0 --field image) <("$FFINSPECT" cat upright 0 --field image)
run 0 "$FFCONVERT" webdataset wds wds_as_it_is --order sequential --quiet
check cmp <("$FFINSPECT" cat wds_as_it_is 0 --field image) src/train/cat/0000.jpg

run 2 "$FFCONVERT" folder --classes classes.txt src dst --exif turn
run 0 "$FFCONVERT" folder --classes classes.txt src better --exif apply --jpeg-quality 95 --quiet
# Intrinsics are places in the pixels as they are.
run 2 "$FFCONVERT" nuscenes src dst --exif apply
