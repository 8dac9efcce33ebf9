for kind in imagenet folder; do
  run 1 "$FFCONVERT" $kind nowhere dst
  one_line_err '^ffconvert: error: nowhere: there is no such folder$'
  no_out
  mkdir -p empty
  run 1 "$FFCONVERT" $kind empty dst
  one_line_err '^ffconvert: error: .*empty: the folder contains (no folders|neither ILSVRC2012_img_train.tar nor)'
done
mkdir -p tree/train/cat tree/val/cat
run 1 "$FFCONVERT" folder tree dst
err 'error: .*tree: the folder and its subfolders contain no pictures'
check test ! -e dst
