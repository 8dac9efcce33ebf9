#!/usr/bin/env python3
"""What nuscenes_bench does, as Python users do it: torch's DataLoader with worker processes, OpenCV and numpy, from files.

    opencv_loader.py FOLDER [--workers 2] [--batch 2] [--seconds 5] [--bevformer]

FOLDER is the one of nuscenes_bench. Needs torch, numpy and opencv-python-headless. Prints samples/s and the processor's seconds a sample as JSON.
"""
import argparse
import json
import os
import pathlib
import time

import cv2
import numpy as np
import torch

# bevformer_tiny.py's.
BEVFORMER_MEAN = np.array([[123.675, 116.28, 103.53]])
BEVFORMER_STD = np.array([[58.395, 57.12, 57.375]])

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


class BevFormerKeyframes(Keyframes):
    """The pictures as BEVFormer's training pipeline makes them: its steps and those of mmcv that they call, one picture after another."""

    def distorted(self, image):
        """PhotoMetricDistortionMultiViewImage"""
        if np.random.randint(2):
            image += np.random.uniform(-32, 32)
        mode = np.random.randint(2)
        if mode == 1 and np.random.randint(2):
            image *= np.random.uniform(0.5, 1.5)
        image = cv2.cvtColor(image, cv2.COLOR_BGR2HSV)
        if np.random.randint(2):
            image[..., 1] *= np.random.uniform(0.5, 1.5)
        if np.random.randint(2):
            image[..., 0] += np.random.uniform(-18, 18)
            image[..., 0][image[..., 0] > 360] -= 360
            image[..., 0][image[..., 0] < 0] += 360
        image = cv2.cvtColor(image, cv2.COLOR_HSV2BGR)
        if mode == 0 and np.random.randint(2):
            image *= np.random.uniform(0.5, 1.5)
        if np.random.randint(2):
            image = image[..., np.random.permutation(3)]
        return image

    def image(self, path):
        image = self.distorted(cv2.imread(path).astype(np.float32))
        # mmcv.imnormalize
        image = image.copy()
        cv2.cvtColor(image, cv2.COLOR_BGR2RGB, image)
        cv2.subtract(image, BEVFORMER_MEAN, image)
        cv2.multiply(image, 1 / BEVFORMER_STD, image)
        height, width = image.shape[:2]
        image = cv2.resize(image, (int(width * 0.5), int(height * 0.5)), interpolation=cv2.INTER_LINEAR)
        height, width = image.shape[:2]
        return cv2.copyMakeBorder(image, 0, -height % 32, 0, -width % 32, cv2.BORDER_CONSTANT, value=0)

    def __getitem__(self, i):
        images = [self.image(path).transpose(2, 0, 1) for path in self.keyframes[i]["images"]]
        return torch.from_numpy(np.ascontiguousarray(np.stack(images))), torch.empty(0)


def collate(samples):
    return torch.stack([images for images, _ in samples]), [points for _, points in samples]


def processor_seconds(loader):
    """Of this process and its workers."""
    total = time.process_time()
    for worker in loader._iterator._workers:
        fields = pathlib.Path(f"/proc/{worker.pid}/stat").read_text().rsplit(")", 1)[1].split()
        total += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return total


def one_thread(_):
    cv2.setNumThreads(0)
    torch.set_num_threads(1)


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("folder", type=pathlib.Path)
parser.add_argument("--workers", type=int, default=2)
parser.add_argument("--batch", type=int, default=2)
parser.add_argument("--seconds", type=float, default=5)
parser.add_argument("--bevformer", action="store_true")
args = parser.parse_args()
kind = BevFormerKeyframes if args.bevformer else Keyframes
loader = torch.utils.data.DataLoader(kind(args.folder), batch_size=args.batch, shuffle=True, num_workers=args.workers,
                                     collate_fn=collate, worker_init_fn=one_thread, persistent_workers=True, prefetch_factor=2)
for _ in loader:  # workers started, files in the page cache
    pass
begin, samples, seconds, processor = time.perf_counter(), 0, 0.0, processor_seconds(loader)
while seconds < args.seconds:
    samples += sum(len(images) for images, _ in loader)
    seconds = time.perf_counter() - begin
print(json.dumps({"loader": "DataLoader, OpenCV, numpy" + (", BEVFormer" if args.bevformer else ""), "samples/s": round(samples / seconds, 2),
                  "processor s/sample": round((processor_seconds(loader) - processor) / samples, 4), "workers": args.workers}))
