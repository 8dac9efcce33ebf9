run 0 "$FFCONVERT" demo data --classes 3 --images 24 --val-images 6 --size 32 --quiet
small=(--data data --compute-threads 1 --arch mobilenet_v3_small --image-size 32 --global-batch-size 8 --epochs 1 --limit-batches 1)

# Every recipe parses and is in range: what fails is the data set that is not there, which is looked
# for after that.
recipes=("$cli_folder"/../../trainer/recipes/*.toml)
check test "${#recipes[@]}" -ge 5
for recipe in "${recipes[@]}"; do
  run 1 "$FFTRAIN" --config "$recipe" --data nowhere
  one_line_err '^fftrain: error: .*nowhere'
done

# The command line overrides the file, and the file overrides the defaults. The run writes the
# options that it used.
run 0 "$FFTRAIN" --config "$cli_folder/../../trainer/recipes/resnet50-600-epochs.toml" "${small[@]}" --eval-size 32 --eval-resize 32 \
  --warmup-epochs 0.5 --ema-steps 1 --work-dir run
no_err
for line in 'arch = "mobilenet_v3_small"' 'lr = 0.5' 'norm-decay = false' 'warmup-epochs = 0.5' 'ema-decay = 0.99890773' 'cutmix-alpha = 1.0' \
  'auto-augment = "trivialaugment"' 'nesterov = false' 'log-every = 50'; do
  check grep -Fxq "$line" run/config.toml
done

# An editor's byte order mark counts for nothing.
printf '\xEF\xBB\xBFepochs = 1\n' >marked.toml
run 0 "$FFTRAIN" --config marked.toml "${small[@]}"

# --config takes that file too, and gives the same run to the bit.
run 0 "$FFTRAIN" --config run/config.toml --work-dir again
no_err
check cmp run/config.toml again/config.toml
check cmp run/epoch-0001.safetensors again/epoch-0001.safetensors

# So does one in which every option differs from its default.
cat >all.toml <<'TOML'
# a comment
arch = "resnet34"   # and another
image-size = 64
progressive-size = 32
progressive-epochs = [0, 1]
crop-scale = [0.35, 0.9]
hflip = 0.25
eval-size = 32
eval-resize = 36
interpolation = "bicubic"
auto-augment = "randaugment"
randaugment-ops = 1
randaugment-magnitude = 5
color-jitter = [0.4, 0.3, 0.2, 0.1]
random-erasing = 0.5
mixup-alpha = 0.2
cutmix-alpha = 0.3
epochs = 1
batch-size = 4
accumulate = 2
lr-scaling = "sqrt"
lr-base-batch = 128
lr = 0.01
lr-schedule = "polynomial"
lr-min = 1e-5
warmup-epochs = 0.25
warmup-start = 0.5
lr-step-epochs = 7
lr-gamma = 0.2
lr-power = 3
optimizer = "adamw"
momentum = 0.8
adam-betas = [0.8, 0.99]
adam-eps = 1e-6
lars-trust = 0.01
weight-decay = 0.05
norm-decay = false
clip-grad-norm = 1.5
label-smoothing = 0.05
ema-decay = 0.5
ema-steps = 2
zero-init-residual = true
seed = 7
sync-bn = true
broadcast-buffers = true
amp = "bf16"
prefetch-batches = 2
max-record = 1048576
device = "cpu"
checkpoint-minutes = 5
channels-last = false
deterministic = true
num-threads = 1
compute-threads = 1
limit-batches = 1
keep-checkpoints = 1
log-every = 2
TOML
run 0 "$FFTRAIN" --config all.toml --data data --work-dir all
run 0 "$FFTRAIN" --config all/config.toml --work-dir all2
check cmp all/config.toml all2/config.toml
grep -v '^#' all.toml | sed 's/ *#.*//' | cut -d= -f1 | while read -r key; do
  grep -q "^$key = " all/config.toml || fail "config.toml lacks $key"
done || exit 1

bad() { # REGEX TEXT OF THE FILE
  printf '%s\n' "$2" >bad.toml
  run 2 "$FFTRAIN" "${small[@]}" --config bad.toml
  one_line_err "^fftrain: error: .*$1.*see fftrain --help$"
  no_out
}
bad "bad.toml: line 1: 'learning-rate' cannot be set in a file; use lr instead" 'learning-rate = 0.1'
bad "bad.toml: line 2: 'optimizer.lr' cannot be set in a file; the nearest names are lr, " '[optimizer]
lr = 0.1'
bad "'resume' cannot be set in a file" 'resume = "run"'
bad "lr" 'lr = "fast"'
bad "optimizer" 'optimizer = "lamb"'
bad "'threads' cannot be set in a file; it is num-threads now" 'threads = 1'
run 2 "$FFTRAIN" "${small[@]}" --config nowhere.toml
one_line_err '^fftrain: error: .*nowhere.toml'
printf 'lr = -1\n' >bad.toml
run 1 "$FFTRAIN" --data data --config bad.toml
one_line_err '^fftrain: error: --lr is -1; it must be positive'

# The file overrides the checkpoint, and the command line overrides both.
printf 'lr = 0.25\nmomentum = 0.5\n' >change.toml
run 0 "$FFTRAIN" --resume-from run --epochs 2 --config change.toml --momentum 0.75
for line in 'lr = 0.25' 'momentum = 0.75' 'epochs = 2' 'label-smoothing = 0.1'; do
  check grep -Fxq "$line" run/config.toml
done
