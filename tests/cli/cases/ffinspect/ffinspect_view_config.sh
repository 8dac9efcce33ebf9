# Views by the config.toml of a run of fftrain: what its options do to pictures, without
# --transform.
check "$MAKE_DATASET" pictures dst cat,dog 0:jpeg:a.jpg 1:png:b 0:jpeg:f
cat >config.toml <<'TOML'
# The options of a run of fftrain; start one like it with --config FILE.
data = "anywhere"
arch = "resnet18"
image-size = 32
progressive-size = 0
progressive-epochs = [0,0]
crop-scale = [0.35,1.0]
interpolation = "bicubic"
auto-augment = "randaugment"
randaugment-ops = 3
randaugment-magnitude = 5
color-jitter = [0.4,0.2,0.0,0.1]
random-erasing = 0.5
mixup-alpha = 0.0
TOML
text='RandomResizedCrop(32, scale=(0.35, 1), interpolation="bicubic", flip_probability=0.5), ColorJitter(0.4, 0.2, 0, 0.1), RandAugment(3, 5), RandomErasing(0.5)'
run 0 "$FFINSPECT" view dst --transform "$text" --size 32 --output sheet.png
run 0 "$FFINSPECT" view dst --config config.toml --size 32 --output run.png
no_err
check cmp sheet.png run.png
run 0 "$FFINSPECT" view dst --config config.toml --size 32 --output run.png --draws 2 --draw-seed 7 --json
json '[v["epoch"] for v in d["samples"][0]["views"]] == [0, 1]'

# A file without hflip is of a run that mirrored half of the pictures; with it, as it says.
sed '2ihflip = 0.0' config.toml >none.toml
run 0 "$FFINSPECT" view dst --transform "${text/flip_probability=0.5/flip_probability=0}" --size 32 --output sheet_none.png
run 0 "$FFINSPECT" view dst --config none.toml --size 32 --output run.png
check cmp sheet_none.png run.png
check ! cmp -s sheet.png run.png
rm none.toml

# What no single picture shows is said.
sed 's/mixup-alpha = .*/mixup-alpha = 0.2/; s/progressive-size = .*/progressive-size = 16/; s/progressive-epochs = .*/progressive-epochs = [0,4]/' config.toml >mixed.toml
run 0 "$FFINSPECT" view dst --config mixed.toml --size 32 --output mixed.png
err 'warning: mixed.toml: The run also mixes the pictures of a batch by MixUp \(mixup-alpha = 0.2\), which is not shown here.'
err 'warning: mixed.toml: The first epochs of the run have smaller pictures, from 16 pixels on. Here all have 32.'
check cmp sheet.png mixed.png

# What the file lacks has fftrain's default.
run 0 "$FFINSPECT" view dst --transform 'RandomResizedCrop(8, flip_probability=0.5)' --size 32 --output sheet.png
echo 'image-size = 8' >defaults.toml
run 0 "$FFINSPECT" view dst --config defaults.toml --size 32 --output run.png
check cmp sheet.png run.png

refused() { # LINES PATTERN
  echo "$1" >wrong.toml
  run 1 "$FFINSPECT" view dst --output x.png --config wrong.toml
  no_out
  one_line_err "^ffinspect: error: wrong.toml: $2"
}
refused 'lr = 0.1' 'does not belong to a run on pictures with labels: it has neither image-size nor crop-scale'
refused $'task = "bevformer"\nimage-size = 8' "does not belong to a run on pictures with labels: its task is 'bevformer'"
refused 'crop-scale = [0.9, 0.1]' '.*crop-scale.*two numbers MIN and MAX, with 0 < MIN <= MAX <= 1'
refused 'image-size = "large"' '.*image-size'
refused 'interpolation = "lanczos"' '.*interpolation'
run 1 "$FFINSPECT" view dst --output x.png --config none.toml
one_line_err '^ffinspect: error: none.toml: cannot be opened'

# Options that have no meaning together; the file is not written over.
run 2 "$FFINSPECT" view dst --output x.png --config config.toml --transform 'Resize((8, 8))'
one_line_err '--(config|transform) excludes --(transform|config)'
run 2 "$FFINSPECT" view dst --output x.png --config config.toml --results found.jsonl
one_line_err '--results: results are drawn into whole pictures only; leave it out, or --config'
run 2 "$FFINSPECT" view dst --output x.png --draws 2
one_line_err '--draws requires --transform or --config'
run 1 "$FFINSPECT" view dst --output config.toml --config config.toml
one_line_err 'config.toml: is the output, but it is also the input config.toml'
check grep -q crop-scale config.toml
check test ! -e x.png
