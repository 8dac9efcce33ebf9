"""BEVFormer's losses and the decoding of its boxes, in PyTorch and scipy.

A box: x, y, z of its bottom, width, length, height, yaw, velocity. A coded box: x, y, log width, log length, z of its middle, log height, sin and
cos of the yaw, velocity.
"""
import torch
from scipy.optimize import linear_sum_assignment
from torch.nn import functional as F

ALPHA, GAMMA = 0.25, 2.0
CLASS_WEIGHT, BOX_WEIGHT = 2.0, 0.25  # of the losses, and of the cost of a pair


def coded(boxes):
    x, y, z, w, l, h, yaw, vx, vy = boxes.unbind(-1)
    return torch.stack([x, y, w.log(), l.log(), z + h / 2, h.log(), yaw.sin(), yaw.cos(), vx, vy], -1)


def matching_cost(logits, boxes, wanted, labels):
    p = logits.sigmoid()
    yes = -(p + 1e-12).log() * ALPHA * (1 - p).pow(GAMMA)
    no = -(1 - p + 1e-12).log() * (1 - ALPHA) * p.pow(GAMMA)
    return (yes - no)[:, labels] * CLASS_WEIGHT + torch.cdist(boxes[:, :8], wanted[:, :8], p=1) * BOX_WEIGHT


def focal_loss(logits, labels, classes):
    """The sum over queries and classes. A label of `classes` is none."""
    wanted = F.one_hot(labels, classes + 1)[:, :classes].to(logits)
    p = logits.sigmoid()
    miss = (1 - p) * wanted + p * (1 - wanted)
    weight = (ALPHA * wanted + (1 - ALPHA) * (1 - wanted)) * miss.pow(GAMMA)
    return (F.binary_cross_entropy_with_logits(logits, wanted, reduction="none") * weight).sum()


def layer_losses(logits, boxes, objects, labels, code_weights):
    """Of one layer: of the classes, of the boxes"""
    queries, classes = logits.shape
    wanted = coded(objects)
    with torch.no_grad():
        cost = matching_cost(logits, boxes, wanted, labels)
        rows, columns = (torch.from_numpy(side) for side in linear_sum_assignment(cost.cpu().numpy()))
    all_labels = labels.new_full((queries,), classes)
    all_labels[rows] = labels[columns]
    all_boxes = torch.zeros_like(boxes)
    all_boxes[rows] = wanted[columns]
    weights = torch.zeros_like(boxes)
    weights[rows] = code_weights
    factor = max(len(rows), 1)
    return (focal_loss(logits, all_labels, classes) * (CLASS_WEIGHT / factor),
            ((boxes - all_boxes).abs() * weights).sum() * (BOX_WEIGHT / factor))


def losses(logits, boxes, objects, labels, code_weights):
    """Of all layers, under the published names"""
    out = {}
    for i in range(len(logits)):
        prefix = "" if i + 1 == len(logits) else f"d{i}."
        out[prefix + "loss_cls"], out[prefix + "loss_bbox"] = layer_losses(logits[i], boxes[i], objects, labels, code_weights)
    return out


def decoded(logits, boxes, number, limits):
    """Of one layer, the best ones within `limits`: boxes, scores, labels"""
    scores, index = logits.sigmoid().flatten().topk(min(number, logits.numel()))
    labels = index % logits.shape[1]
    x, y, w, l, z, h, sin, cos, vx, vy = boxes[index // logits.shape[1]].unbind(-1)
    middle = torch.stack([x, y, z], -1)
    low, high = torch.tensor(limits).split(3)
    kept = ((middle >= low) & (middle <= high)).all(-1)
    h = h.exp()
    out = torch.stack([x, y, z - h / 2, w.exp(), l.exp(), h, torch.atan2(sin, cos), vx, vy], -1)
    return out[kept], scores[kept], labels[kept]
