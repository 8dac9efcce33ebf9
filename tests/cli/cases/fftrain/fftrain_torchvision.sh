# A model of torchvision sees in every picture of ImageNet's what it sees in Python, with the
# preprocessing of its first weights.
[ -n "${FFKIT_REFERENCE_PYTHON:-}" ] || skip "\$FFKIT_REFERENCE_PYTHON names no Python with torchvision"
archive=$FFKIT_SHARED_DATA/imagenet/ILSVRC2012_img_val.tar
[ -n "$FFKIT_SHARED_DATA" ] && [ -e "$archive" ] || skip "ImageNet's pictures are not in \$FFKIT_SHARED_DATA"

# Random weights, statistics of these pictures, and a head that spreads them over all classes. Then
# the label of each picture is what Python's model sees in it, so that all of them are right.
cat >make.py <<'PYTHON'
import io, os, sys, tarfile, torch, torchvision
from PIL import Image
from torchvision.transforms import v2
torch.set_num_threads(2)
transform = torchvision.transforms.Compose([
    torchvision.transforms.Resize(256), torchvision.transforms.CenterCrop(224), torchvision.transforms.ToTensor(),
    torchvision.transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])])
files = {m.name: t.extractfile(m).read() for t in [tarfile.open(sys.argv[1])] for m in t if m.isfile()}
x = torch.stack([transform(Image.open(io.BytesIO(b)).convert('RGB')) for b in files.values()])
torch.manual_seed(3)
m = torchvision.models.resnet18(num_classes=5)
with torch.no_grad():
    for bn in m.modules():
        if isinstance(bn, torch.nn.BatchNorm2d): bn.momentum = 1.0
    m(x)
    m.eval()
    logits = m(x)
    m.fc.weight /= logits.std(0)[:, None]
    m.fc.bias -= logits.mean(0)
    m.fc.bias /= logits.std(0)
    predictions = m(x).argmax(1).tolist()
assert set(predictions) == set(range(5)), predictions
torch.save(m.state_dict(), 'model.pth')
for split in 'train', 'val':
    for k in range(5): os.makedirs(f'pictures/{split}/class{k}')
for (name, data), k in zip(files.items(), predictions):
    open(f'pictures/val/class{k}/{os.path.basename(name)}', 'wb').write(data)
    open(f'pictures/train/class{k}/one.JPEG', 'wb').write(data)
PYTHON
run 0 "$FFKIT_REFERENCE_PYTHON" make.py "$archive"
run 0 "$FFCONVERT" folder pictures data --quiet
count=$(find pictures/val -name '*.JPEG' | wc -l)
run 0 "$FFTRAIN" --evaluate model.pth --arch resnet18 --data data --batch-size 20
out "  $count images\$"
right=$(sed -n 's/.*top-1 \([0-9.]*\) %.*/\1/p' .stdout)
check awk -v right="$right" -v count="$count" 'BEGIN { exit !(right * count / 100 >= count - 1.01) }'
# Pictures of another scale would be noticed.
run 0 "$FFTRAIN" --evaluate model.pth --arch resnet18 --data data --batch-size 20 --eval-resize 224
right=$(sed -n 's/.*top-1 \([0-9.]*\) %.*/\1/p' .stdout)
check awk -v right="$right" 'BEGIN { exit !(right < 95) }'
