# Weights of other classes, tuned by the recipe on pictures of one's own: what is frozen stays, what
# is best is kept, and names find it.
recipe=$(dirname "$cli_folder")/../trainer/recipes/fine-tune.toml
small=(--arch mobilenet_v3_small --image-size 32 --compute-threads 1)
run 0 "$FFCONVERT" demo others --classes 6 --images 96 --val-images 12 --size 32 --quiet
run 0 "$FFTRAIN" --data others "${small[@]}" --batch-size 16 --epochs 2 --lr 0.05 --work-dir first
run 0 "$FFTRAIN" --export first/last --output first.pth
run 0 "$FFCONVERT" demo demo --classes 3 --images 60 --val-images 6 --size 32 --quiet
run 0 "$FFINSPECT" export demo pictures --split train

# The three lines of the recipe, with small weights.
run 0 "$FFCONVERT" folder pictures/train data
run 0 "$FFTRAIN" --data data --pretrained first.pth --config "$recipe" --work-dir run "${small[@]}" --batch-size 8 --epochs 3
out '^first.pth: its head has 6 classes, but the data set has 3; the head gets new random weights$'
out 'records are for validation, .* for training$'
run 0 "$FFTRAIN" --evaluate run/best --confusion confusion.json
out '^val loss '
out '^class +pictures  accuracy  precision  most often taken for$'
check test "$(ls run/epoch-*.safetensors | wc -l)" -le 2
run 0 "$FFTRAIN" --evaluate run/last
run 0 "$FFTRAIN" --export run/best --output best.safetensors
run 1 "$FFTRAIN" --evaluate run/worst
one_line_err 'run/worst'

# Frozen: the backbone keeps every byte, statistics of batch norms too.
run 0 "$FFTRAIN" --data data --val-share 0.2 --pretrained first.pth --freeze backbone "${small[@]}" --batch-size 8 --epochs 1 --lr 0.1 --work-dir frozen
run 0 "$FFTRAIN" --export first/last --output first.safetensors
run 0 "$FFTRAIN" --export frozen --output frozen.safetensors
check python3 -c 'import json
def tensors(path):
    data = open(path, "rb").read()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + size])
    return {k: data[8 + size + v["data_offsets"][0]:8 + size + v["data_offsets"][1]] for k, v in header.items() if k != "__metadata__"}
a, b = tensors("first.safetensors"), tensors("frozen.safetensors")
assert a.keys() == b.keys()
changed = {k for k in a if a[k] != b[k]}
assert changed == {"classifier.3.weight", "classifier.3.bias"}, changed'
run 0 "$FFTRAIN" --resume-from frozen --epochs 2
run 1 "$FFTRAIN" --data data --val-share 0.2 --freeze nothing.like.it "${small[@]}" --batch-size 8
one_line_err "freeze is 'nothing.like.it', but no parameter has such a name; names of parameters are, for example, features.0.0.weight and classifier.3.bias"

# All other options of fine-tuning at once, and a run that is out of patience.
printf 'class0000 1\nclass0001 2\nclass0002 0.5\n' >weights.txt
run 0 "$FFTRAIN" --data demo "${small[@]}" --batch-size 8 --epochs 30 --lr 1e-9 --layer-decay 0.7 --dropout 0.3 --class-weights weights.txt --balance \
  --patience 2 --keep best,2 --work-dir tuned
out '^the last 2 validations were not better than epoch [0-9]+; the run ends here$'
check test ! -e tuned/epoch-0030.safetensors
run 0 "$FFTRAIN" --work-dir tuned --resume
out '^the run is finished: '
run 1 "$FFTRAIN" --resume-from tuned
one_line_err 'the last 2 validations of this run were not better than epoch [0-9]+; give a larger --patience to continue'
run 0 "$FFTRAIN" --resume-from tuned --patience 3 --limit-batches 1
run 1 "$FFTRAIN" --data demo "${small[@]}" --batch-size 8 --class-weights none.txt
one_line_err 'none.txt: this file of class weights does not exist'
run 2 "$FFTRAIN" --data demo "${small[@]}" --keep best,some
one_line_err "keep is 'best,some'; expected 'best', 'last', 'all' or a number of newest checkpoints"
