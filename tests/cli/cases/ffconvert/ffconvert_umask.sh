# What is written has the rights that umask leaves, no more and no fewer.
for mask in 022 027 077; do
  (umask $mask && "$FFCONVERT" demo dst$mask --images 20 --val-images 5 --size 16 --quiet) ||
    fail "conversion under umask $mask"
  folder=$(printf '%o' $((0777 & ~0$mask))) file=$(printf '%o' $((0666 & ~0$mask)))
  find dst$mask -type d ! -perm "$folder" >wrong
  find dst$mask -type f ! -perm "$file" >>wrong
  [ "$(find dst$mask -type f | wc -l)" -ge 4 ] || fail "too few files to look at"
  check test ! -s wrong
done

# report.jsonl, too.
pictures src/train/cat 2
echo 'no picture' >src/train/cat/bad.jpg
echo cat >classes.txt  # one class alone is an error otherwise
(umask 027 && "$FFCONVERT" folder --classes classes.txt src skipped --bad-samples skip --quiet) || fail "conversion with --bad-samples skip"
check test "$(stat -c %a skipped/report.jsonl)" = 640
check test "$(stat -c %a skipped/train/shard-00000.ffr)" = 640
check test "$(stat -c %a skipped/train)" = 750
check test "$(stat -c %a skipped)" = 750
