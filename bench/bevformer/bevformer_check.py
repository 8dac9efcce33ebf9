"""Holds bevformer_network.py and bevformer_loss.py against what the published code computes: losses, the norm of the gradients, boxes."""
import json
import zlib

import numpy as np
import torch
from PIL import Image

import bevformer_loss
from bevformer_network import BevFormer, Frame, Sizes

# Of a loss, of the norm; of a box's numbers in metres, radians and scores.
TOLERANCE = 1e-4


def formula_weights(entries, state):
    """The fixture's weights: of each name, its numbers by SplitMix64 from the name's FNV-1a."""
    out = {}
    for name, shape, rule, first, total, _ in entries:
        count = int(np.prod(shape))
        if rule[0] == "keep":
            out[name] = state[name]
            continue
        if rule[0] == "zero":
            out[name] = torch.zeros_like(state[name])
            continue
        seed = 0xCBF29CE484222325
        for byte in name.encode():
            seed = (seed ^ byte) * 0x100000001B3 % 2**64
        z = np.uint64(seed) + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        u = ((z ^ (z >> np.uint64(31))) >> np.uint64(40)).astype(np.float64) * 2.0**-24
        offset = np.full(count, float(rule[1]))
        for index, value in (rule[2] if len(rule) > 2 else {}).items():
            offset[int(index)] = value
        values = ((u - 0.5) * 2 * rule[0] + offset).astype(np.float32)
        if abs(values[0] - first) > 1e-6 or abs(values.sum(dtype=np.float64) - total) > 1e-6 * count:
            raise SystemExit(f"{name}: the formula gives other numbers than the fixture has")
        out[name] = torch.from_numpy(values.reshape(shape))
    return out


def picture(jpeg, config, root):
    """[3, H, W], normalised, resized, padded"""
    file = root / "samples" / jpeg["file"].split("__")[1] / jpeg["file"]
    pixels = np.asarray(Image.open(file).convert("RGB"))
    if zlib.crc32(np.ascontiguousarray(pixels[..., ::-1])) != jpeg["crc32_bgr"]:
        raise SystemExit(f"{file}: has other pixels than the fixture's picture")
    mean, std = (np.array(config["image_norm"][name]) for name in ("mean", "std"))
    values = torch.from_numpy(((pixels - mean) * (1 / std)).astype(np.float32)).permute(2, 0, 1)
    size = [int(side * config["image_scale"]) for side in pixels.shape[:2]]
    values = torch.nn.functional.interpolate(values[None], size, mode="bilinear", align_corners=False)[0]
    height, width, _ = config["img_shape"]
    return torch.nn.functional.pad(values, (0, width - size[1], 0, height - size[0]))


def read_frames(expected, arrays, root):
    cameras = arrays["lidar2img"].shape[1]
    jpegs = expected["jpeg"]
    return [Frame(torch.stack([picture(jpeg, expected["config"], root) for jpeg in jpegs[i * cameras:(i + 1) * cameras]]),
                  torch.from_numpy(arrays["lidar2img"][i]).double(), torch.from_numpy(arrays["can_bus"][i]).double())
            for i in range(len(arrays["can_bus"]))]


def sizes_of(config):
    return Sizes(dims=config["embed_dims"], hidden=config["ffn_dims"], heads=config["num_heads"], bev=config["bev_h"], queries=config["num_query"],
                 classes=config["num_classes"], encoder_layers=config["encoder_layers"], decoder_layers=config["decoder_layers"],
                 heights=config["num_points_in_pillar"], temporal_points=config["tsa_points"], camera_points=config["sca_points"],
                 decoder_points=config["decoder_points"], rotate_center=tuple(config["rotate_center"]), range=tuple(config["pc_range"]),
                 code_weights=tuple(config["code_weights"]), dropout=0)


def box_deviation(box, score, label, wanted):
    if label != wanted["label"]:
        return float("inf")
    differences = np.abs(box.numpy().astype(np.float64) - wanted["box"])
    differences[6] = min(differences[6], abs(differences[6] - 2 * np.pi))  # neighbours on both sides of pi
    return max(differences.max(), abs(float(score) - wanted["score"]))


def check(folder, name, root):
    """Prints the largest deviations. Returns whether all are within the tolerance."""
    expected = json.loads((folder / f"{name}.expected.json").read_text())
    arrays = np.load(folder / f"{name}.expected.npz")
    entries = json.loads((folder / f"{name.removesuffix('_single')}.weights.json").read_text())["entries"]
    config = expected["config"]
    if config["feature_levels"] != 1:
        raise SystemExit(f"{name}: has {config['feature_levels']} maps of a picture, but this program one")
    model = BevFormer(sizes_of(config))
    model.load_state_dict(formula_weights(entries, model.state_dict()))
    model.train()
    logits, boxes = model(read_frames(expected, arrays, root))
    found = bevformer_loss.losses(logits, boxes, torch.from_numpy(arrays["gt_boxes"]).float(), torch.from_numpy(arrays["gt_labels"]).long(),
                                  model.pts_bbox_head.code_weights)
    total = sum(found.values())
    total.backward()
    norm = torch.stack([p.grad.double().norm() for p in model.parameters() if p.requires_grad]).norm()
    pairs = [(loss.item(), expected["losses"][key]) for key, loss in found.items()] + [(total.item(), expected["total_loss"])]
    decoded = bevformer_loss.decoded(logits[-1].detach(), boxes[-1].detach(), config["max_num"], config["post_center_range"])
    worst = {"losses": max(abs(own / wanted - 1) for own, wanted in pairs),
             "gradients": abs(float(norm) / expected["grad_norm_total"] - 1),
             "boxes": max(box_deviation(*row) for row in zip(*decoded, expected["boxes"]))}
    is_good = set(found) == set(expected["losses"]) and len(decoded[0]) == expected["boxes_total"] and all(
        deviation <= TOLERANCE for deviation in worst.values())
    print(f"{name}: {'as published' if is_good else 'ANOTHER RESULT THAN PUBLISHED'}; largest deviations: " +
          ", ".join(f"{what} {deviation:.1e}" for what, deviation in worst.items()), flush=True)
    return is_good
