#!/usr/bin/env python3
"""What fftrain exports for other programs computes the same there: the ONNX file of --script by onnxruntime, and --names in timm and transformers.

    compare_onnx.py FFTRAIN [NAME...]    with transformers, timm, onnx, onnxscript and onnxruntime; NAME: a model, gpt2 or rootnet

Prints the largest difference of each, as a share of the largest value, and fails where it is more than 1e-4. Without the libraries: status 77.
"""
import importlib.util
import os
import subprocess
import sys
import tempfile
import warnings

try:
    import onnx
    import onnxruntime
    import onnxscript  # noqa: F401 torch.onnx.export() wants it
    import PIL.Image
    import timm
    import torch
    import transformers
except ImportError as error:
    print(f'SKIPPED: {error}')
    sys.exit(77)

warnings.filterwarnings('ignore')
torch.set_num_threads(1)
MOST = 1e-4
TIMM = {'vit_b_16': 'vit_base_patch16_224', 'mobilenet_v2': 'mobilenetv2_100'}
PICTURES = ['--image-size', '64', '--batch-size', '4']
OPTIONS = {
    'gpt2': ['--task', 'gpt2', '--layers', '2', '--heads', '2', '--width', '32', '--positions', '32', '--vocabulary', '257', '--context', '16',
             '--batch-size', '2', '--optimizer', 'adamw'],
    'rootnet': ['--task', 'rootnet', '--arch', 'micro', '--batch-size', '4'],
    'vit_b_16': ['--arch', 'vit_b_16', '--image-size', '224', '--batch-size', '2'],
}
WORST = 0


def fftrain(*arguments):
    subprocess.run([sys.argv[1], *arguments], check=True, stdout=subprocess.DEVNULL)


def compare(what, found, wanted):
    global WORST
    difference = float((torch.as_tensor(found) - wanted).abs().max() / wanted.abs().max().clamp(min=1))
    WORST = max(WORST, difference)
    print(f'{what:32} {difference:.1e}', flush=True)


def other_batch(inputs):
    """Of 3 samples."""
    torch.manual_seed(1)
    made = {}
    for name, example in inputs.items():
        shape = (3, *example.shape[1:])
        made[name] = torch.rand(shape) if example.is_floating_point() else torch.randint(0, 257, shape)
    return made


def check(name):
    options = OPTIONS.get(name) or ['--arch', name, *PICTURES]
    fftrain('--dummy', '--steps', '2', '--lr', '1e-3', '--compute-threads', '1', '--work-dir', 'run', *options)
    fftrain('--export', 'run', '--output', 'a.pth', '--script')
    spec = importlib.util.spec_from_file_location('exported', 'a.py')
    exported = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(exported)
    sys.argv[1:], arguments = ['a.onnx'], sys.argv[1:]
    exported.main()
    sys.argv[1:] = arguments
    inputs = other_batch(exported.INPUTS)
    with torch.no_grad():
        wanted = exported.load()(*inputs.values())
    session = onnxruntime.InferenceSession('a.onnx', providers=['CPUExecutionProvider'])
    opset = next(o.version for o in onnx.load('a.onnx', load_external_data=False).opset_import if not o.domain)
    compare(f'{name} ONNX, opset {opset}', session.run(None, {k: v.numpy() for k, v in inputs.items()})[0], wanted)
    if name in ('gpt2', 'rootnet') or name.startswith('mobilenet_v3'):
        return
    images = inputs['images']
    fftrain('--export', 'run', '--output', 't.pth', '--names', 'timm')
    weights = torch.load('t.pth', weights_only=True)
    classes = wanted.shape[1]
    size = {'img_size': images.shape[-1]} if name.startswith('vit') else {}
    model = timm.create_model(TIMM.get(name, name), num_classes=classes, **size).eval()
    model.load_state_dict(weights)
    with torch.no_grad():
        compare(f'{name} timm', model(images), wanted)
    if not name.startswith('resnet') and name not in ('vit_b_16', 'convnext_tiny'):
        return
    os.mkdir('hf')
    fftrain('--export', 'run', '--output', 'hf/model.safetensors', '--names', 'transformers')
    model, info = transformers.AutoModelForImageClassification.from_pretrained('hf', output_loading_info=True)
    assert not any(info.values()), info
    with torch.no_grad():
        compare(f'{name} transformers', model.eval()(pixel_values=images).logits, wanted)
    found = transformers.pipeline('image-classification', model='hf')(PIL.Image.new('RGB', (70, 50), (90, 60, 30)))
    assert {f['label'] for f in found} <= set(model.config.id2label.values()) and found, found


for each in sys.argv[2:] or ['resnet18', 'vit_b_16', 'convnext_tiny', 'mobilenet_v2', 'efficientnet_b0', 'gpt2', 'rootnet']:
    with tempfile.TemporaryDirectory() as folder:
        before = os.getcwd()
        os.chdir(folder)
        check(each)
        os.chdir(before)
sys.exit(WORST > MOST)
