#!/usr/bin/env python3
"""torchvision's ImageFolder and torch's DataLoader."""
from torchvision import datasets

import common

options = common.parse(__doc__)
dataset = datasets.ImageFolder(options.folder, common.torch_transform(options))
common.measure("torchvision ImageFolder + DataLoader", "torchvision",
               common.torch_batches(dataset, options, len(dataset), sampled=True), options, len(dataset))
