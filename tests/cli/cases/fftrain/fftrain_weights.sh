run 0 "$FFCONVERT" demo data --classes 3 --images 24 --val-images 9 --size 32 --quiet
run 0 "$FFCONVERT" demo four --classes 4 --images 24 --val-images 8 --size 32 --quiet
options=(--compute-threads 1 --arch resnet18 --image-size 32 --batch-size 8 --epochs 1 --lr 0.01)
bad() { # REGEX ARGUMENTS...
  run 1 "$FFTRAIN" "${@:2}"
  one_line_err "^fftrain: error: .*$1"
  no_out
}
run 0 "$FFTRAIN" --data data "${options[@]}" --work-dir run

# Exported weights give what their checkpoint gives.
run 0 "$FFTRAIN" --evaluate run
cp .stdout expected
for file in weights.pth weights.safetensors; do
  run 0 "$FFTRAIN" --export run --output $file
  no_out
  no_err
  run 0 "$FFTRAIN" --evaluate $file --data data "${options[@]}"
  check cmp .stdout expected
done
run 0 "$FFTRAIN" --export weights.pth --output again.safetensors
check cmp again.safetensors weights.safetensors
check test ! -e weights.pth.tmp
bad 'weights.pth: this file exists already; delete the file, or give another name' --export run --output weights.pth
bad 'fftrain does not write ONNX, but PyTorch does; give --script and a name that ends with .pth' --export run --output weights.onnx
bad 'must end in .safetensors or .pth' --export run --output weights.bin
bad 'contains no checkpoint' --export data --output new.pth
check test ! -e new.pth
bad 'the 4 classes of this split differ from the 3 classes of the model \(class [0-9]+ is ' --evaluate weights.pth --data four "${options[@]}"
bad "has no tensor 'layer1.2.conv1.weight', which a resnet34 needs" --evaluate weights.pth --data data --image-size 32 --arch resnet34

# Where a run keeps an average of the weights, it is what is validated and what is exported.
run 0 "$FFTRAIN" --data data "${options[@]}" --ema-decay 0.5 --work-dir average
run 0 "$FFTRAIN" --evaluate average
cp .stdout expected
run 0 "$FFTRAIN" --export average --output average.pth
run 0 "$FFTRAIN" --evaluate average.pth --data data "${options[@]}"
check cmp .stdout expected

# As a start: with the classes of the file silently, with others by a new head.
run 0 "$FFTRAIN" --data data "${options[@]}" --pretrained weights.safetensors
check ! grep -q head .stdout
run 0 "$FFTRAIN" --data four "${options[@]}" --pretrained weights.pth
out '^weights.pth: its head has 3 classes, but the data set has 4; the head gets new random weights$'
run 0 "$FFTRAIN" --data data "${options[@]}" --pretrained run/epoch-0001.safetensors
bad "has no tensor 'features.0.0.weight', which a mobilenet_v2 needs" --data data "${options[@]}" --arch mobilenet_v2 --pretrained weights.pth
bad 'nothing.pth' --data data "${options[@]}" --pretrained nothing.pth --work-dir none
check test ! -e none
head -c 100000 weights.pth >half.pth
bad 'half.pth: the file cannot be read as a zip' --data data "${options[@]}" --pretrained half.pth
printf '\200\002\212\012l\374\234F\371 j\250P\031.' >old.pth
bad 'old.pth: the pickle is broken: it is cut off' --data data "${options[@]}" --pretrained old.pth
bad 'vit_b_16 cuts pictures into squares of 16 x 16 pixels, but image-size is 50; it must be a multiple of 16' --data data --arch vit_b_16 --image-size 50 --batch-size 8

# Wrong use.
for arguments in "--export run" "--output x.pth" "--export run --output x.pth --resume-from run" "--pretrained weights.pth --resume-from run" \
  "--evaluate weights.pth --data data"; do
  # shellcheck disable=SC2086
  run 2 "$FFTRAIN" $arguments
  one_line_err '^fftrain: error: .*see fftrain --help$'
  no_out
done
run 2 "$FFTRAIN" --data data --arch vgg
one_line_err "--arch is 'vgg'; the nearest names are vgg1[1-9]"
run 2 "$FFTRAIN" --resume-from run --weights-key model
one_line_err '^fftrain: error: --weights-key excludes --resume-from'
run 0 "$FFTRAIN" --help
out '--arch NAME=resnet50.*'
run 0 "$FFTRAIN" --list-archs
check test "$(wc -l <"$work/.stdout")" = 77
out '^regnet_y_16gf$'
run 0 "$FFTRAIN" --task rootnet --list-archs
out '^resnet50$'

[ -n "${FFKIT_REFERENCE_PYTHON:-}" ] || exit 0
cat >load.py <<'PYTHON'
import json, struct, torch, torchvision
pth = torch.load('weights.pth', weights_only=True)
torchvision.models.resnet18(num_classes=3).load_state_dict(pth, strict=True)
data = open('weights.safetensors', 'rb').read()
length, = struct.unpack('<Q', data[:8])
header = json.loads(data[8:8 + length])
types = {'F32': torch.float32, 'I64': torch.int64}
assert set(header) - {'__metadata__'} == set(pth)
for name, tensor in pth.items():
    begin, end = header[name]['data_offsets']
    numbers = torch.frombuffer(bytearray(data[8 + length + begin:8 + length + end]), dtype=types[header[name]['dtype']])
    assert torch.equal(numbers.view(header[name]['shape']), tensor), name
PYTHON
run 0 "$FFKIT_REFERENCE_PYTHON" load.py

# Beside exported weights: a script that loads them, and names of other libraries.
run 0 "$FFTRAIN" --export run --output scripted.pth --script
no_out
run 0 "$FFKIT_REFERENCE_PYTHON" -c 'import scripted, torch
model = scripted.load()
assert not model.training and model(scripted.INPUTS["images"]).shape == (2, 3)
assert all(torch.equal(v, torch.load("weights.pth")[k]) for k, v in model.state_dict().items())'
bad 'scripted.pth: has only weights, but a script needs the options of a run' --export scripted.pth --output x.pth --script
rm scripted.pth scripted.pth.json
bad 'scripted.py: this file exists already; delete the file' --export run --output scripted.pth --script
mkdir hf
run 0 "$FFTRAIN" --export run --output hf/model.safetensors --names transformers
check grep -q '"model_type": "resnet"' hf/config.json
# What pipeline() prepares pictures by; classes and preparation travel with every export.
check python3 -c 'import json, struct
p = json.load(open("hf/preprocessor_config.json"))
size = p["crop_size"]["height"]
assert p["size"]["shortest_edge"] == round(size * 256 / 224) and p["resample"] == 2 and p["image_mean"] == [0.485, 0.456, 0.406], p
with open("hf/model.safetensors", "rb") as file:
    metadata = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))["__metadata__"]
beside = json.load(open("weights.pth.json"))
assert {k: json.loads(v) for k, v in metadata.items() if k not in ("format", "crc32c")} == beside and len(beside["classes"]) == 3
assert beside["pictures"]["size"] == size and beside["pictures"]["filter"] == "bilinear", beside'
touch x.pth.json
bad 'x.pth.json: this file exists already; delete the file' --export run --output x.pth
rm x.pth.json
bad 'has only weights, but names of another library need the options of a run' --export weights.pth --output x.pth --names timm
run 2 "$FFTRAIN" --export run --output x.pth --names timm --script
