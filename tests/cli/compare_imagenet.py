"""compare_imagenet.py SRC DST FFINSPECT: every record of DST against the archives in SRC.

The devkit is parsed by torchvision, the pictures are read by tarfile, the records by ffinspect: nothing of ffkit's converter.
"""
import io
import os
import subprocess
import sys
import tarfile
import tempfile

from torchvision.datasets import imagenet

src, dst, ffinspect = sys.argv[1:]


def read_records(split):
    rows = subprocess.run([ffinspect, "ls", dst, "--split", split], check=True, capture_output=True, text=True).stdout
    records = {}
    for row in rows.splitlines()[1:]:
        _, number, _, label, name, wnid = row.split("\t")
        image = subprocess.run([ffinspect, "cat", dst, number, "--split", split, "--field", "image"], check=True,
                               capture_output=True).stdout
        if name in records:
            sys.exit(f"{split}: {name} appears twice")
        records[name] = (int(label), wnid, image)
    return records


def tar_files(file):
    with tarfile.open(fileobj=file) as tar:
        for member in tar:
            yield member.name, tar.extractfile(member).read()


def archive(name):
    return open(os.path.join(src, f"ILSVRC2012_{name}"), "rb")


# torchvision wants the official archive's MD5, which a part of the data set does not have, and
# saves what it has parsed.
imagenet._verify_archive = lambda *_: None
with tempfile.TemporaryDirectory() as folder:
    name = "ILSVRC2012_devkit_t12.tar.gz"
    os.symlink(os.path.abspath(os.path.join(src, name)), os.path.join(folder, name))
    imagenet.parse_devkit_archive(folder)
    words_of_wnid, val_wnids = imagenet.load_meta_file(folder)

classes = sorted(words_of_wnid)

expected = {"train": {}, "val": {}}
for name, data in tar_files(archive("img_train.tar")):
    wnid = name.removesuffix(".tar")
    for picture, image in tar_files(io.BytesIO(data)):
        expected["train"][f"{wnid}/{picture}"] = (classes.index(wnid), wnid, image)
pictures = sorted(tar_files(archive("img_val.tar")))
for (picture, image), wnid in zip(pictures, val_wnids, strict=True):
    expected["val"][picture] = (classes.index(wnid), wnid, image)

for split, wanted in expected.items():
    found = read_records(split)
    if found.keys() != wanted.keys():
        sys.exit(f"{split}: other pictures: {sorted(found.keys() ^ wanted.keys())[:10]}")
    for name, record in wanted.items():
        if found[name] != record:
            sys.exit(f"{split}: {name}: {found[name][:2]} with {len(found[name][2])} bytes, "
                     f"expected {record[:2]} with {len(record[2])}")
print(f"equal: {len(expected['train'])} train and {len(expected['val'])} val images")
