#!/usr/bin/env python3
"""BEVFormer's training step in Python with PyTorch: what fftrain's is compared with.

    bevformer_step.py [--image-scale 0.5] [--num-threads 2] [--steps 5]            times steps of the published tiny
    bevformer_step.py --dims 64 --hidden 128 --bev 20 --encoder-layers 2 ...   of a smaller one
    bevformer_step.py --check FOLDER --root NUSCENES [--only NAME]             shows that it computes what the published code computes

A step: the frames before without gradients, then the frame with them; Hungarian matching, losses, backward, clipping, AdamW (fused). Noise like that
of fftrain --dummy: pictures, six cameras around, 20 objects. Needs torch, torchvision, scipy; --check needs Pillow as well. Prints JSON.
"""
import argparse
import json
import math
import pathlib
import resource
import statistics
import time

import torch

import bevformer_loss
from bevformer_network import BevFormer, Frame, Sizes

OBJECTS = 20


def camera_matrix(number, height, width):
    """Camera `number` of six, 60 degrees apart, that see 90 degrees each, 1.5 m below the lidar."""
    yaw = number * math.pi / 3
    ahead_x, ahead_y = math.sin(yaw), math.cos(yaw)
    focal = width / 2
    return [[focal * ahead_y + width / 2 * ahead_x, -focal * ahead_x + width / 2 * ahead_y, 0, 0],
            [height / 2 * ahead_x, height / 2 * ahead_y, -focal, -1.5 * focal],
            [ahead_x, ahead_y, 0, 0],
            [0, 0, 0, 1]]


def noise(scale, length, cameras):
    height, width = (int(side * scale) for side in (900, 1600))
    height, width = (-(-side // 32) * 32 for side in (height, width))
    matrices = torch.tensor([camera_matrix(i, height, width) for i in range(cameras)], dtype=torch.float64)
    frames = [Frame(torch.randn(cameras, 3, height, width), matrices, torch.zeros(18, dtype=torch.float64)) for _ in range(length)]
    boxes = torch.rand(OBJECTS, 9)
    boxes[:, :2] = boxes[:, :2] * 60 - 30
    boxes[:, 3:6] += 1
    return frames, boxes, torch.arange(OBJECTS) % 10


def optimizer_of(model, learning_rate):
    """The published one: a tenth of the learning rate for the backbone."""
    trained = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
    groups = [{"params": [p for name, p in trained if name.startswith("img_backbone.") == is_backbone], "lr": learning_rate * share}
              for is_backbone, share in ((True, 0.1), (False, 1))]
    return torch.optim.AdamW(groups, weight_decay=0.01, fused=True)


def time_steps(args):
    torch.manual_seed(0)
    torch.set_num_threads(args.num_threads)
    torch.set_default_device(args.device)  # what the network makes on its way, too
    sizes = Sizes(**{name: getattr(args, name) for name in ("dims", "hidden", "bev", "queries", "encoder_layers", "decoder_layers")})
    model = BevFormer(sizes).train()
    optimizer = optimizer_of(model, 2e-4)
    frames, boxes, labels = noise(args.image_scale, args.queue_length, sizes.cameras)
    if args.channels_last:
        model.to(memory_format=torch.channels_last)
        for frame in frames:
            frame.images = frame.images.contiguous(memory_format=torch.channels_last)
    seconds = []
    for _ in range(args.warm_steps + args.steps):
        start = time.perf_counter()
        optimizer.zero_grad()
        logits, coded = model(frames)
        loss = sum(bevformer_loss.losses(logits, coded, boxes, labels, model.pts_bbox_head.code_weights).values())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 35)
        optimizer.step()
        if not math.isfinite(loss.item()):
            raise SystemExit("the loss is not finite")
        seconds.append(time.perf_counter() - start)
    seconds = seconds[args.warm_steps:]
    print(json.dumps({"keyframes/s": len(seconds) / sum(seconds), "seconds": [round(s, 3) for s in seconds], "median": statistics.median(seconds),
                      "loss": loss.item(), "peak MiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024}))


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sizes = Sizes()
    for name in ("dims", "hidden", "bev", "queries", "encoder_layers", "decoder_layers"):
        parser.add_argument("--" + name.replace("_", "-"), type=int, default=getattr(sizes, name))
    parser.add_argument("--image-scale", type=float, default=0.5, help="of 1600 x 900")
    parser.add_argument("--queue-length", type=int, default=3)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--num-threads", type=int, default=2)
    parser.add_argument("--warm-steps", type=int, default=5)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--channels-last", action="store_true")
    parser.add_argument("--check", type=pathlib.Path, metavar="FOLDER", help="folder of NAME.expected.json, .npz and weights")
    parser.add_argument("--root", type=pathlib.Path, help="nuScenes root of the fixtures' pictures; default: FOLDER/../nuscenes/root")
    parser.add_argument("--only", metavar="NAME", help="one fixture; default: small_single and small")
    return parser.parse_args()


def main():
    args = parse()
    if not args.check:
        return time_steps(args)
    from bevformer_check import check
    root = args.root or args.check.parent / "nuscenes" / "root"
    names = [args.only] if args.only else ["small_single", "small"]
    if not all([check(args.check, name, root) for name in names]):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
