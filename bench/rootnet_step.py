#!/usr/bin/env python3
"""RootNet's training step in Python with PyTorch and torchvision's ResNet-50: what fftrain's is compared with.

    rootnet_step.py [--device cuda] [--amp bf16] [--batch 128] [--size 256] [--steps 20]

One batch of noise: forward, L1 loss of x, y and depth, backward, AdamW (fused). Float16 is scaled. Prints JSON.
"""
import argparse
import json
import statistics
import time

import torch
import torchvision
from torch import nn


class RootNet(nn.Module):
    """Moon et al. 2019: a heat map whose mean is x and y, and a factor of the depth that the box's size suggests."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(*list(torchvision.models.resnet50().children())[:-2])
        layers = []
        for channels in (2048, 256, 256):
            layers += [nn.ConvTranspose2d(channels, 256, 4, 2, 1, bias=False), nn.BatchNorm2d(256), nn.ReLU(inplace=True)]
        self.up = nn.Sequential(*layers)
        self.xy, self.depth = nn.Conv2d(256, 1, 1), nn.Conv2d(2048, 1, 1)

    def forward(self, pictures, k):
        features = self.body(pictures)
        map_ = self.xy(self.up(features)).flatten(1)
        side = round(map_.shape[1] ** 0.5)
        share = map_.float().softmax(1).view(-1, side, side)
        at = torch.arange(side, device=share.device, dtype=share.dtype)
        gamma = self.depth(features.mean((2, 3), keepdim=True)).flatten()
        return torch.stack([(share.sum(1) * at).sum(1), (share.sum(2) * at).sum(1), gamma.float() * k], 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--amp", choices=("off", "bf16", "fp16"), default="off")
    for name, default in (("batch", 128), ("size", 256), ("steps", 20), ("warm-steps", 5)):
        parser.add_argument(f"--{name}", type=int, default=default)
    args = parser.parse_args()
    torch.manual_seed(0)
    torch.backends.cudnn.benchmark = True
    dtype = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(args.amp, torch.float32)
    model = RootNet().to(args.device, memory_format=torch.channels_last)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    scaler = torch.amp.GradScaler(args.device, enabled=args.amp == "fp16")
    pictures = torch.randn(args.batch, 3, args.size, args.size, device=args.device).contiguous(memory_format=torch.channels_last)
    k, wanted = torch.full((args.batch,), 3000.0, device=args.device), torch.full((args.batch, 3), 30.0, device=args.device)
    seconds = []
    for _ in range(args.warm_steps + args.steps):
        start = time.perf_counter()
        optimizer.zero_grad()
        with torch.autocast(args.device, dtype, enabled=args.amp != "off"):
            found = model(pictures, k)
        loss = (found - wanted).abs().mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        loss.item()
        seconds.append(time.perf_counter() - start)
    seconds = seconds[args.warm_steps:]
    print(json.dumps({"median": statistics.median(seconds), "persons/s": args.batch * len(seconds) / sum(seconds)}))


if __name__ == "__main__":
    main()
