"""ImageNet by as many processes as torchrun starts, in the fewest lines: ffkit finds its rank by
itself.

    torchrun --nproc-per-node 8 examples/python/imagenet_ddp.py /fast/imagenet resnet50

train_imagenet.py beside it is the long version: bfloat16, checkpoints, a resume to the last bit."""

import os
import sys

import torch
import torch.distributed as dist
import torchvision
from torchvision import transforms

import ffkit
import ffkit.torch


def main(data, model="resnet50", epochs=90, batch_size=256, size=224):
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if torch.cuda.is_available() else torch.device("cpu")
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo", device_id=device if device.type == "cuda" else None)
    to_tensor = [transforms.ToTensor(), transforms.Normalize(ffkit.IMAGENET_MEAN, ffkit.IMAGENET_STD)]
    augment = transforms.Compose([transforms.RandomResizedCrop(size), transforms.RandomHorizontalFlip(), *to_tensor])
    crop = transforms.Compose([transforms.Resize(size * 256 // 224), transforms.CenterCrop(size), *to_tensor])
    train = ffkit.torch.DataLoader(ffkit.Dataset(data, "train"), batch_size, shuffle=True, transform=augment)
    val = ffkit.torch.DataLoader(ffkit.Dataset(data, "val"), batch_size, transform=crop)
    network = torchvision.models.get_model(model, num_classes=len(train.dataset.classes)).to(device)
    network = torch.nn.parallel.DistributedDataParallel(network)
    optimizer = torch.optim.SGD(network.parameters(), 0.1 * batch_size * dist.get_world_size() / 256, momentum=0.9, weight_decay=1e-4)
    for epoch in range(epochs):
        train.set_epoch(epoch)
        network.train()
        for images, labels in ffkit.torch.to_device(train, device):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(network(images), labels).backward()
            optimizer.step()
        network.eval()
        right = torch.zeros(2, device=device)
        with torch.no_grad():
            for images, labels in ffkit.torch.to_device(val, device):
                right += torch.stack([(network.module(images).argmax(1) == labels).sum(), torch.tensor(len(labels), device=device)])
        dist.all_reduce(right)  # each picture was evaluated once
        if dist.get_rank() == 0:
            print(f"epoch {epoch + 1}: {int(right[0])} of {int(right[1])} right", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
