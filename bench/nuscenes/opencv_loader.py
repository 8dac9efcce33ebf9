#!/usr/bin/env python3
"""What nuscenes_bench does, as Python users do it: torch's DataLoader with worker processes, OpenCV and numpy, from files.

    opencv_loader.py FOLDER [--workers 2] [--batch 2] [--seconds 5]

FOLDER is the one of nuscenes_bench. Needs torch, numpy and opencv-python-headless. Prints samples/s as JSON.
"""
import argparse
import json
import pathlib
import time

import cv2
import numpy as np
import torch

MEAN = np.array([0.485, 0.456, 0.406], np.float32)
STD = np.array([0.229, 0.224, 0.225], np.float32)


class Keyframes(torch.utils.data.Dataset):
    def __init__(self, folder):
        index = json.loads((folder / "files" / "index.json").read_text())
        self.keyframes = index["keyframes"]
        self.sweeps = index["sweeps"]
        for frame in [k["lidar"] for k in self.keyframes] + self.sweeps:
            frame["to_global"] = np.vstack([frame["to_global"], [0, 0, 0, 1]])

    def __len__(self):
        return len(self.keyframes)

    def image(self, path):
        image = cv2.imread(path)
        image = cv2.resize(image, (704, 396), interpolation=cv2.INTER_LINEAR)[140:]
        image = cv2.cvtColor(image, cv2.COLOR_BGR2RGB).astype(np.float32)
        image = (image * np.float32(1 / 255) - MEAN) / STD
        return np.ascontiguousarray(image.transpose(2, 0, 1))

    def cloud(self, frame, target_from_global, timestamp):
        points = np.fromfile(frame["file"], np.float32).reshape(-1, 5)
        points = points[~((np.abs(points[:, 0]) < 1) & (np.abs(points[:, 1]) < 1))]
        matrix = target_from_global @ frame["to_global"]
        out = np.empty((len(points), 6), np.float32)
        out[:, :3] = points[:, :3] @ matrix[:3, :3].T.astype(np.float32) + matrix[:3, 3].astype(np.float32)
        out[:, 3:5] = points[:, 3:]
        out[:, 5] = 1e-6 * (timestamp - frame["timestamp"])
        return out

    def __getitem__(self, i):
        keyframe = self.keyframes[i]
        images = np.stack([self.image(path) for path in keyframe["images"]])
        lidar = keyframe["lidar"]
        from_global = np.linalg.inv(lidar["to_global"])
        frames = [lidar] + [self.sweeps[n] if is_sweep else self.keyframes[n]["lidar"] for is_sweep, n in keyframe.get("sweeps", [])]
        points = np.concatenate([self.cloud(f, from_global, lidar["timestamp"]) for f in frames])
        return torch.from_numpy(images), torch.from_numpy(points)


def collate(samples):
    return torch.stack([images for images, _ in samples]), [points for _, points in samples]


def one_thread(_):
    cv2.setNumThreads(0)
    torch.set_num_threads(1)


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("folder", type=pathlib.Path)
parser.add_argument("--workers", type=int, default=2)
parser.add_argument("--batch", type=int, default=2)
parser.add_argument("--seconds", type=float, default=5)
args = parser.parse_args()
loader = torch.utils.data.DataLoader(Keyframes(args.folder), batch_size=args.batch, shuffle=True, num_workers=args.workers,
                                     collate_fn=collate, worker_init_fn=one_thread, persistent_workers=True, prefetch_factor=2)
for _ in loader:  # workers started, files in the page cache
    pass
begin, samples, seconds = time.perf_counter(), 0, 0.0
while seconds < args.seconds:
    samples += sum(len(images) for images, _ in loader)
    seconds = time.perf_counter() - begin
print(json.dumps({"loader": "DataLoader, OpenCV, numpy", "samples/s": round(samples / seconds, 2), "workers": args.workers}))
