"""What the peers share: arguments, the pictures, torchvision's transforms, the clock, and the line they print.

Each peer reads the same folder of classes of JPEGs, gives batches of [N,3,224,224] float32 after RandomResizedCrop, flip and
normalisation, with two threads or workers, and prints one line of JSON: peer, version, images_per_second, num_images, seconds. The first
pass over the pictures is left out: it fills caches and starts workers.
"""
import argparse
import importlib.metadata
import itertools
import json
import os
import pathlib
import time
import urllib.parse

MEAN = (0.485, 0.456, 0.406)
STD = (0.229, 0.224, 0.225)


def parse(description, **flags):
    """`flags`: what else a peer takes, name=help."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("folder", type=pathlib.Path, help="class/picture tree")
    parser.add_argument("--work", type=pathlib.Path, help="where a peer keeps the pictures in its own format (default: FOLDER.peers)")
    parser.add_argument("--num-threads", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--store", help="s3:// address of a copy of WORK: the peer's files are read from there, and the local disk is its cache. "
                                        "The rates of the first two epochs are printed, the start of workers included")
    parser.add_argument("--eval", action="store_true", help="Resize 256 and CenterCrop instead of random crops")
    for name, text in flags.items():
        parser.add_argument(f"--{name.replace('_', '-')}", action="store_true", help=text)
    options = parser.parse_args()
    options.work = options.work or options.folder.with_name(options.folder.name + ".peers")
    return options


def pictures(folder):
    """(path, label) of all pictures; labels are the positions of the sorted class folders."""
    classes = sorted(p for p in folder.iterdir() if p.is_dir())
    return [(path, label) for label, c in enumerate(classes) for path in sorted(c.iterdir())]


def torch_transform(options):
    from torchvision import transforms
    geometry = ([transforms.Resize(options.size * 8 // 7), transforms.CenterCrop(options.size)] if options.eval else
                [transforms.RandomResizedCrop(options.size), transforms.RandomHorizontalFlip()])
    return transforms.Compose(geometry + [transforms.ToTensor(), transforms.Normalize(MEAN, STD)])


def open_picture(data):
    import io
    from PIL import Image
    return Image.open(io.BytesIO(data)).convert("RGB")


def endpoint():
    return os.environ["AWS_ENDPOINT_URL_S3"]


def presigned(address):
    """A URL of an s3:// address that needs no credentials."""
    import boto3
    import botocore.config
    url = urllib.parse.urlsplit(address)
    client = boto3.client("s3", endpoint_url=endpoint(), config=botocore.config.Config(signature_version="s3v4"))
    return client.generate_presigned_url("get_object", Params={"Bucket": url.netloc, "Key": url.path.lstrip("/")}, ExpiresIn=86400)


def made(folder, make):
    """Calls make(folder) unless it was completed before."""
    done = folder / "complete"
    if not done.exists():
        folder.mkdir(parents=True, exist_ok=True)
        make(folder)
        done.touch()
    return folder


def measure(peer, package, sizes, options, num_pictures):
    """`sizes`: an endless iterator that makes a batch with each step and gives its size."""
    for num_images in itertools.accumulate(sizes):
        if num_images >= num_pictures:
            break
    begin = time.perf_counter()
    for num_images in itertools.accumulate(sizes):
        if num_images >= options.epochs * num_pictures:
            break
    seconds = time.perf_counter() - begin
    print(json.dumps({"peer": peer, "version": importlib.metadata.version(package),
                      "images_per_second": num_images / seconds, "num_images": num_images, "seconds": seconds}))


def measure_epochs(peer, package, loader):
    """`loader`: gives a batch (images, labels) with each step, and an epoch with each iteration. The first epoch is the one that fills its cache."""
    rates, num_images = [], 0
    for _ in range(2):
        begin = time.perf_counter()
        num_images = sum(images.shape[0] for images, _ in loader)
        rates.append(num_images / (time.perf_counter() - begin))
    print(json.dumps({"peer": peer, "version": importlib.metadata.version(package), "first_epoch": rates[0], "second_epoch": rates[1], "num_images": num_images}))


def store_loader(dataset, options):
    """A DataLoader whose workers stay between epochs."""
    import torch
    torch.set_num_threads(1)
    return torch.utils.data.DataLoader(dataset, batch_size=options.batch_size, num_workers=options.num_threads, prefetch_factor=3, persistent_workers=True)


def torch_batches(dataset, options, num_pictures, sampled=False):
    """Sizes of a DataLoader's batches without end. One long epoch instead of several: it stalls between epochs, which is not what is
    compared here."""
    import torch
    torch.set_num_threads(1)
    sampler = None
    if sampled:
        sampler = [i for _ in range(options.epochs + 3) for i in torch.randperm(num_pictures).tolist()]
    loader = torch.utils.data.DataLoader(dataset, batch_size=options.batch_size, num_workers=options.num_threads, prefetch_factor=3,
                                         sampler=sampler, drop_last=True, persistent_workers=True)
    while True:
        for images, _ in loader:
            yield images.shape[0]
