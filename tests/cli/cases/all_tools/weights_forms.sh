# Weights in the forms that Python's torch and transformers write are read by all that takes
# weights, or are called by their names.
[ -n "${FFTRAIN:-}" ] || skip "built without the trainer"
[ -n "${FFKIT_REFERENCE_PYTHON:-}" ] || skip "\$FFKIT_REFERENCE_PYTHON names no Python with torch"
cat >forms.py <<'PYTHON'
import collections, json, os, struct, torch, torchvision, zipfile
torch.manual_seed(0)
sd = torchvision.models.mobilenet_v3_small(num_classes=3).state_dict()
other = sd | {'classifier.3.bias': torch.tensor([0., 1., 2.])}
behind = lambda prefix, d=sd: {prefix + k: v for k, v in d.items()}
tensors = collections.OrderedDict(a=torch.arange(6.).view(2, 3), b=torch.arange(6.).view(2, 3).t(), steps=torch.tensor(7))
def save(value, name, **options): torch.save(value, name, **options)
save(tensors, 'plain.pth'); save(tensors, 'old.pth', _use_new_zipfile_serialization=False)
save({'epoch': 1, 'model': tensors, 'model_ema': {k: v + 1 for k, v in tensors.items()}}, 'ema.pth')
save({'module._orig_mod.' + k: v for k, v in tensors.items()}, 'wrapped.pth')
torch.serialization.set_crc32_options(False); save(tensors, 'no_crc.pth')
with zipfile.ZipFile('plain.pth') as a, zipfile.ZipFile('deflated.pth', 'w', zipfile.ZIP_DEFLATED) as b:
    for name in a.namelist(): b.writestr(name, a.read(name))
os.mkdir('shards')
for i, name in enumerate(tensors): save({name: tensors[name]}, f'shards/pytorch_model-0000{i + 1}-of-00003.bin')
json.dump({'weight_map': {n: f'pytorch_model-0000{i + 1}-of-00003.bin' for i, n in enumerate(tensors)}}, open('shards/pytorch_model.bin.index.json', 'w'))
save({'state_dict': behind('model.') | {'criterion.weight': torch.ones(3)}, 'pytorch-lightning_version': '2'}, 'lightning.ckpt')
save({'state_dict': sd, 'state_dict_ema': other}, 'timm.pth.tar')
save({k: v for k, v in sd.items() if not k.startswith('classifier.3.')}, 'headless.pth')
torch.jit.script(torch.nn.Linear(2, 2)).save('script.pt')
# A GPT-2 of which safetensors' save_model() has kept one of the two names of a tensor.
w, shapes = 8, {'wpe.weight': (16, 8), 'ln_f.weight': (8,), 'ln_f.bias': (8,)}
for name, shape in {'ln_1': (w,), 'ln_2': (w,), 'attn.c_attn': (w, 3 * w), 'attn.c_proj': (w, w), 'mlp.c_fc': (w, 4 * w), 'mlp.c_proj': (4 * w, w)}.items():
    shapes |= {f'h.0.{name}.weight': shape, f'h.0.{name}.bias': shape[-1:]}
gpt2 = {'transformer.' + k: torch.randn(s) for k, s in shapes.items()}
tokens = torch.randn(257, w)
config = {'model_type': 'gpt2', 'n_layer': 1, 'n_head': 2, 'n_embd': w, 'n_positions': 16, 'vocab_size': 257}
for folder, name, d in (('whole', 'transformer.wte.weight', gpt2), ('tied', 'lm_head.weight', gpt2), ('wrapped', 'model.transformer.wte.weight', behind('model.', gpt2))):
    os.mkdir(folder); save(d | {name: tokens}, f'{folder}/pytorch_model.bin'); json.dump(config, open(f'{folder}/config.json', 'w'))
PYTHON
run 0 "$FFKIT_REFERENCE_PYTHON" forms.py

# Read and written again, each form gives the same bytes.
run 0 "$FFTRAIN" --export plain.pth --output plain.safetensors
for form in old.pth wrapped.pth no_crc.pth deflated.pth shards shards/pytorch_model.bin.index.json; do
  run 0 "$FFTRAIN" --export $form --output new.safetensors
  no_out
  check cmp new.safetensors plain.safetensors
  rm new.safetensors
done
run 0 "$FFTRAIN" --export ema.pth --output new.safetensors
out "^ema.pth: the tensors of 'model' are used; the file also has 'model_ema' \(--weights-key\)$"
check cmp new.safetensors plain.safetensors
run 0 "$FFTRAIN" --export ema.pth --weights-key model_ema --output ema.safetensors
no_out
check ! cmp -s ema.safetensors plain.safetensors

bad() { # REGEX ARGUMENTS...
  run 1 "${@:2}"
  one_line_err "^ff[a-z]*: error: .*$1"
  check ! grep -q damaged .stderr
}
bad "ema.pth: no tensor has a name with the prefix 'none' that --weights-key gives" "$FFTRAIN" --export ema.pth --weights-key none --output x.pth
bad 'script.pt: the file is a TorchScript program' "$FFTRAIN" --export script.pt --output x.pth
bad 'has only a part of the weights; give the index shards/pytorch_model.bin.index.json' "$FFTRAIN" --export shards/pytorch_model-00001-of-00003.bin --output x.pth
printf 'version https://git-lfs.github.com/spec/v1\n' >lfs.safetensors
bad 'lfs.safetensors: the file is a Git LFS pointer, not weights; download the file itself with git lfs pull' "$FFTRAIN" --export lfs.safetensors --output x.pth
check test ! -e x.pth

# As a start, and validated.
run 0 "$FFCONVERT" demo data --classes 3 --images 8 --val-images 8 --size 32 --quiet
options=(--data data --compute-threads 1 --arch mobilenet_v3_small --image-size 32 --eval-resize 32 --batch-size 8)
run 0 "$FFTRAIN" "${options[@]}" --evaluate lightning.ckpt
out "^lightning.ckpt: 1 tensor left out, because the names do not begin with 'model.': 'criterion.weight'$"
grep '^val' .stdout >expected
run 0 "$FFTRAIN" "${options[@]}" --evaluate timm.pth.tar
check cmp <(grep '^val' .stdout) expected
run 0 "$FFTRAIN" "${options[@]}" --evaluate timm.pth.tar --weights-key state_dict_ema
check ! cmp -s .stdout expected
run 0 "$FFTRAIN" "${options[@]}" --epochs 1 --lr 0.01 --pretrained headless.pth
out '^headless.pth: it has no head; the head of 3 classes gets new random weights$'
bad '--weights-key model needs a file of weights; give --pretrained' "$FFTRAIN" "${options[@]}" --epochs 1 --weights-key model

# GPT-2.
for folder in whole tied wrapped; do
  run 0 "$FFGENERATE" --model $folder --tokenizer bytes --prompt ab --max-tokens 8 --compute-threads 1 --quiet
  [ $folder = whole ] && cp .stdout text
  check cmp .stdout text
done
bad "no tensor has a name with the prefix 'x'" "$FFGENERATE" --model whole --tokenizer bytes --weights-key x
