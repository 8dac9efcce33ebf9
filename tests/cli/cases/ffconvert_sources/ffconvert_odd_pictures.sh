# Pictures that are read although they are odd, what is said of them, and files that are something
# else than their names say.
mkdir -p src/train/a
printf 'P5 2 2 65535\n\0\0\0\001\0\377\377\377' >src/train/a/labels.pgm
printf 'P2 2 1 100\n0 50\n' >src/train/a/text.pgm
# A BMP of 8 bits whose pixels are said to begin where its two colours do.
printf 'BM\077\0\0\0\0\0\0\0\066\0\0\0\050\0\0\0\001\0\0\0\001\0\0\0\001\0\010\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\002\0\0\0\0\0\0\0\001\002\003\0\004\005\006\0\001' \
  >src/train/a/place.bmp

echo a >classes.txt  # one class alone is an error otherwise
run 0 "$FFCONVERT" folder --classes classes.txt src dst
err '^note: 1 time a picture has 16 bits per channel: kept; batches of u8 .*: see dst/report.jsonl$'
check grep -q 'a/labels.pgm","reason":"has 16 bits per channel","action":"kept; batches of u8' dst/report.jsonl
check test "$(wc -l <dst/report.jsonl)" = 1
run 0 "$FFCONVERT" folder --classes classes.txt src dst --resume
err '^note: 1 time a picture has 16 bits per channel: kept'
run 0 "$FFCONVERT" folder --classes classes.txt src raw --store raw
err '^note: 1 time a picture has 16 bits per channel: stored with 8 bits: the high bytes: see raw/report.jsonl$'

refused() {  # refused CONTENT WORDS
  mkdir -p other/train/a
  printf "$1" >other/train/a/x.jpg
  run 1 "$FFCONVERT" folder --classes classes.txt other out --quiet
  one_line_err "other/train/a/x.jpg: the picture is $2"
}
refused 'GIF89a\001\0\001\0' 'a GIF, not JPEG, PNG, .*; save it as PNG or JPEG'
refused 'II*\0\010\0\0\0' 'a TIFF, not .*; save it as PNG or JPEG'
refused '\0\0\0\040ftypavif\0\0\0\0' 'an AVIF picture, not .*; save it as PNG or JPEG'
refused 'version https://git-lfs.github.com/spec/v1\n' 'a Git LFS pointer, not .*; download the file itself with git lfs pull'
refused '<!DOCTYPE html>' 'an HTML page, not .*; download it again'
refused '\211PNG\r\r\n\032\r\n' 'a PNG that was transferred as text.*; transfer it again as binary data'
