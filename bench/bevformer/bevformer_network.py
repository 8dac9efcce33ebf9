"""BEVFormer with one map of each picture (the published `tiny`), in PyTorch: the deformable attention by grid_sample(), as mmcv computes it without a GPU.

Modules have the names of the published checkpoints. One sample at a time, as the published training has on each GPU.
"""
import dataclasses
import math

import torch
import torchvision
from torch import nn
from torch.nn import functional as F


@dataclasses.dataclass
class Sizes:
    dims: int = 256
    hidden: int = 512  # of the feed-forward networks
    heads: int = 8
    bev: int = 50  # rows and columns
    queries: int = 900
    classes: int = 10
    cameras: int = 6
    encoder_layers: int = 3
    decoder_layers: int = 6
    heights: int = 4  # of a pillar
    temporal_points: int = 4
    camera_points: int = 8
    decoder_points: int = 4
    rotate_center: tuple = (100, 100)
    range: tuple = (-51.2, -51.2, -5.0, 51.2, 51.2, 3.0)
    code_weights: tuple = (1, 1, 1, 1, 1, 1, 1, 1, 0.2, 0.2)
    dropout: float = 0.1


@dataclasses.dataclass
class Frame:
    images: torch.Tensor  # [cameras, 3, H, W]
    lidar2img: torch.Tensor  # [cameras, 4, 4] float64
    can_bus: torch.Tensor  # [18] float64


def deformable_attention(values, size, locations, weights):
    """values [N, pixels, heads, D] of maps of size (rows, columns), locations [N, Q, heads, points, 2] in 0 .. 1, weights [N, Q, heads, points]
    -> [N, Q, heads * D]"""
    number, _, heads, depth = values.shape
    queries = locations.shape[1]
    maps = values.permute(0, 2, 3, 1).reshape(number * heads, depth, *size)
    places = (2 * locations - 1).transpose(1, 2).flatten(0, 1)
    sampled = F.grid_sample(maps, places, mode="bilinear", padding_mode="zeros", align_corners=False)
    shares = weights.transpose(1, 2).reshape(number * heads, 1, queries, -1)
    return (sampled * shares).sum(-1).view(number, heads * depth, queries).transpose(1, 2)


class Sampling(nn.Module):
    """What the three kinds of deformable attention have in common: from a query to places and their weights."""

    def __init__(self, sizes, points, maps=1, query_dims=None, has_output=True):
        super().__init__()
        dims, self.heads, self.maps, self.points = sizes.dims, sizes.heads, maps, points
        query_dims = query_dims or dims
        self.sampling_offsets = nn.Linear(query_dims, self.heads * maps * points * 2)
        self.attention_weights = nn.Linear(query_dims, self.heads * maps * points)
        self.value_proj = nn.Linear(dims, dims)
        if has_output:
            self.output_proj = nn.Linear(dims, dims)
            nn.init.xavier_uniform_(self.output_proj.weight)
            nn.init.zeros_(self.output_proj.bias)
        # Points of a head lie on a ray of its own at first, with equal weights.
        angles = torch.arange(self.heads) * (2 * math.pi / self.heads)
        rays = torch.stack([angles.cos(), angles.sin()], -1)
        rays = rays / rays.abs().amax(-1, keepdim=True)
        steps = torch.arange(1, points + 1).view(1, 1, -1, 1)
        with torch.no_grad():
            self.sampling_offsets.bias.copy_((rays.view(-1, 1, 1, 2) * steps).expand(-1, maps, -1, -1).flatten())
        for zero in (self.sampling_offsets.weight, self.attention_weights.weight, self.attention_weights.bias, self.value_proj.bias):
            nn.init.zeros_(zero)
        nn.init.xavier_uniform_(self.value_proj.weight)

    def offsets(self, query):
        return self.sampling_offsets(query).unflatten(-1, (self.heads, self.maps, self.points, 2))

    def weights(self, query):
        return self.attention_weights(query).unflatten(-1, (self.heads, self.maps, self.points)).softmax(-1)

    def values(self, maps):
        return self.value_proj(maps).unflatten(-1, (self.heads, -1))


class TemporalSelfAttention(Sampling):
    def __init__(self, sizes):
        super().__init__(sizes, sizes.temporal_points, maps=2, query_dims=2 * sizes.dims)
        self.size = (sizes.bev, sizes.bev)
        self.dropout = nn.Dropout(sizes.dropout)

    def forward(self, query, position, history, references):
        """query [1, cells, C], history [2, cells, C] or None, references [2, cells, 2]"""
        if history is None:
            history = query.expand(2, -1, -1)
        origin = torch.cat([history[:1], query + position], -1)
        offsets = self.offsets(origin)[0].permute(2, 0, 1, 3, 4)  # [2, cells, heads, points, 2]
        weights = self.weights(origin)[0].permute(2, 0, 1, 3)
        locations = references[:, :, None, None] + offsets / offsets.new_tensor(self.size[::-1])
        sampled = deformable_attention(self.values(history), self.size, locations, weights)
        return query + self.dropout(self.output_proj(sampled.mean(0, keepdim=True)))


class CameraAttention(Sampling):
    def __init__(self, sizes):
        super().__init__(sizes, sizes.camera_points, has_output=False)

    def forward(self, query, maps, size, references):
        """query [cameras, places, C], references [cameras, places, heights, 2]: point p belongs to height p % heights"""
        heights = references.shape[2]
        offsets = self.offsets(query)[:, :, :, 0] / query.new_tensor(size[::-1])
        locations = offsets.unflatten(3, (-1, heights)) + references[:, :, None, None]
        return deformable_attention(self.values(maps), size, locations.flatten(3, 4), self.weights(query)[:, :, :, 0])


class SpatialCrossAttention(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.deformable_attention = CameraAttention(sizes)
        self.output_proj = nn.Linear(sizes.dims, sizes.dims)
        nn.init.xavier_uniform_(self.output_proj.weight)
        nn.init.zeros_(self.output_proj.bias)
        self.dropout = nn.Dropout(sizes.dropout)

    def forward(self, query, maps, size, points, visible):
        """maps [cameras, pixels, C], points [cameras, cells, heights, 2], visible [cameras, cells, heights]"""
        is_seen = visible.any(-1)
        seen = [mask.nonzero().squeeze(1) for mask in is_seen]
        places = max(len(cells) for cells in seen)
        queries = query.new_zeros(len(seen), places, query.shape[2])
        references = points.new_zeros(len(seen), places, *points.shape[2:])
        for camera, cells in enumerate(seen):
            queries[camera, : len(cells)] = query[0, cells]
            references[camera, : len(cells)] = points[camera, cells]
        found = self.deformable_attention(queries, maps, size, references)
        slots = torch.zeros_like(query[0])
        for camera, cells in enumerate(seen):
            slots = slots.index_add(0, cells, found[camera, : len(cells)])
        slots = slots / is_seen.sum(0).clamp(min=1)[:, None]
        return query + self.dropout(self.output_proj(slots[None]))


class BevCrossAttention(Sampling):
    def __init__(self, sizes):
        super().__init__(sizes, sizes.decoder_points)
        self.size = (sizes.bev, sizes.bev)
        self.dropout = nn.Dropout(sizes.dropout)

    def forward(self, query, position, bev, references):
        origin = query + position
        offsets = self.offsets(origin)[:, :, :, 0]
        locations = references[:, :, None, None, :2] + offsets / offsets.new_tensor(self.size[::-1])
        sampled = deformable_attention(self.values(bev), self.size, locations, self.weights(origin)[:, :, :, 0])
        return query + self.dropout(self.output_proj(sampled))


class QuerySelfAttention(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.attn = nn.MultiheadAttention(sizes.dims, sizes.heads, dropout=sizes.dropout, batch_first=True)
        self.dropout = nn.Dropout(sizes.dropout)

    def forward(self, query, position):
        placed = query + position
        return query + self.dropout(self.attn(placed, placed, query, need_weights=False)[0])


class FeedForward(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        inner = nn.Sequential(nn.Linear(sizes.dims, sizes.hidden), nn.ReLU(), nn.Dropout(sizes.dropout))
        self.layers = nn.Sequential(inner, nn.Linear(sizes.hidden, sizes.dims), nn.Dropout(sizes.dropout))

    def forward(self, query):
        return query + self.layers(query)


class Layer(nn.Module):
    """Two attentions and a feed-forward network, a layer norm behind each."""

    def __init__(self, sizes, self_attention, cross_attention):
        super().__init__()
        self.attentions = nn.ModuleList([self_attention(sizes), cross_attention(sizes)])
        self.ffns = nn.ModuleList([FeedForward(sizes)])
        self.norms = nn.ModuleList(nn.LayerNorm(sizes.dims) for _ in range(3))

    def forward(self, query, *arguments):
        """`arguments`: of the first attention, of the second one"""
        for attention, norm, others in zip(self.attentions, self.norms, arguments):
            query = norm(attention(query, *others))
        return self.norms[2](self.ffns[0](query))


class Layers(nn.Module):
    def __init__(self, sizes, number, self_attention, cross_attention):
        super().__init__()
        self.layers = nn.ModuleList(Layer(sizes, self_attention, cross_attention) for _ in range(number))


def inverse_sigmoid(x, eps=1e-5):
    x = x.clamp(0, 1)
    return (x.clamp(min=eps) / (1 - x).clamp(min=eps)).log()


def middles(number):
    return torch.linspace(0.5, number - 0.5, number) / number


class Transformer(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.sizes = sizes
        dims = sizes.dims
        self.level_embeds = nn.Parameter(torch.randn(4, dims))
        self.cams_embeds = nn.Parameter(torch.randn(sizes.cameras, dims))
        self.encoder = Layers(sizes, sizes.encoder_layers, TemporalSelfAttention, SpatialCrossAttention)
        self.decoder = Layers(sizes, sizes.decoder_layers, QuerySelfAttention, BevCrossAttention)
        self.reference_points = nn.Linear(dims, 3)
        nn.init.xavier_uniform_(self.reference_points.weight)
        nn.init.zeros_(self.reference_points.bias)
        self.can_bus_mlp = nn.Sequential(nn.Linear(18, dims // 2), nn.ReLU(), nn.Linear(dims // 2, dims), nn.ReLU())
        self.can_bus_mlp.add_module("norm", nn.LayerNorm(dims))

    def cells(self):
        at = middles(self.sizes.bev)
        rows, columns = torch.meshgrid(at, at, indexing="ij")
        return torch.stack([columns, rows], -1).flatten(0, 1)

    def project(self, lidar2img, picture):
        """Where the pillars of the cells lie in the pictures, in 0 .. 1, and whether they do."""
        low, high = torch.tensor(self.sizes.range).split(3)
        depth = float(high[2] - low[2])
        z = torch.linspace(0.5, depth - 0.5, self.sizes.heights) / depth
        cells = self.cells()
        corners = torch.cat([cells[:, None].expand(-1, len(z), -1), z.view(1, -1, 1).expand(len(cells), -1, -1)], -1)
        points = F.pad(corners * (high - low) + low, (0, 1), value=1.0)
        seen = torch.einsum("nij,qhj->nqhi", lidar2img.to(points), points)
        ahead = seen[..., 2:3]
        places = seen[..., :2] / ahead.clamp(min=1e-5) / torch.tensor([picture[1], picture[0]])
        return places, (ahead[..., 0] > 1e-5) & (places > 0).all(-1) & (places < 1).all(-1)

    def shift(self, can_bus):
        dx, dy, yaw = can_bus[0], can_bus[1], can_bus[16]
        length, angle = torch.hypot(dx, dy), yaw - torch.atan2(dy, dx)
        low_x, low_y, _, high_x, high_y, _ = self.sizes.range
        return torch.stack([length * angle.sin() / (high_x - low_x), length * angle.cos() / (high_y - low_y)]).float()

    def rotated(self, bev, can_bus):
        picture = bev[0].t().unflatten(1, (self.sizes.bev, self.sizes.bev))
        turned = torchvision.transforms.functional.rotate(picture, float(can_bus[17]), center=list(self.sizes.rotate_center))
        return turned.flatten(1).t()[None]

    def encode(self, maps, cells, position, frame, previous):
        """maps [cameras, C, h, w], cells [cells, C], position [1, cells, C] -> the BEV [1, cells, C]"""
        size = maps.shape[2:]
        features = maps.flatten(2).transpose(1, 2) + self.cams_embeds[:, None] + self.level_embeds[0]
        query = (cells + self.can_bus_mlp(frame.can_bus.float()))[None]
        references = self.cells().expand(2, -1, -1)
        history = None
        if previous is not None:
            history = torch.cat([self.rotated(previous, frame.can_bus), query])
            references = torch.stack([references[0] + self.shift(frame.can_bus), references[1]])
        points, visible = self.project(frame.lidar2img, frame.images.shape[2:])
        for layer in self.encoder.layers:
            query = layer(query, (position, history, references), (features, size, points, visible))
        return query


def branch(dims, out, has_norms):
    layers = []
    for _ in range(2):
        layers += [nn.Linear(dims, dims)] + [nn.LayerNorm(dims)] * has_norms + [nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(dims, out))


class Position(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.row_embed = nn.Embedding(sizes.bev, sizes.dims // 2)
        self.col_embed = nn.Embedding(sizes.bev, sizes.dims // 2)
        nn.init.uniform_(self.row_embed.weight)
        nn.init.uniform_(self.col_embed.weight)

    def forward(self):
        rows, columns = self.row_embed.weight, self.col_embed.weight
        both = torch.cat([columns[None].expand(len(rows), -1, -1), rows[:, None].expand(-1, len(columns), -1)], -1)
        return both.flatten(0, 1)[None]


class Head(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.sizes = sizes
        self.positional_encoding = Position(sizes)
        self.transformer = Transformer(sizes)
        self.cls_branches = nn.ModuleList(branch(sizes.dims, sizes.classes, True) for _ in range(sizes.decoder_layers))
        self.reg_branches = nn.ModuleList(branch(sizes.dims, 10, False) for _ in range(sizes.decoder_layers))
        for one in self.cls_branches:
            nn.init.constant_(one[6].bias, -math.log(0.99 / 0.01))
        self.bev_embedding = nn.Embedding(sizes.bev**2, sizes.dims)
        self.query_embedding = nn.Embedding(sizes.queries, 2 * sizes.dims)
        self.code_weights = nn.Parameter(torch.tensor(sizes.code_weights, dtype=torch.float32), requires_grad=False)

    def make_bev(self, maps, frame, previous):
        return self.transformer.encode(maps, self.bev_embedding.weight, self.positional_encoding(), frame, previous)

    def forward(self, bev):
        """-> logits [layers, queries, classes], coded boxes [layers, queries, 10]"""
        position, query = self.query_embedding.weight[None].split(self.sizes.dims, 2)
        references = self.transformer.reference_points(position).sigmoid()
        low, high = torch.tensor(self.sizes.range).split(3)
        logits, boxes = [], []
        for layer, classify, regress in zip(self.transformer.decoder.layers, self.cls_branches, self.reg_branches):
            query = layer(query, (position,), (position, bev, references))
            step = regress(query)
            refined = (step[..., [0, 1, 4]] + inverse_sigmoid(references)).sigmoid()
            middle = refined * (high - low) + low
            logits.append(classify(query)[0])
            boxes.append(torch.cat([middle[..., :2], step[..., 2:4], middle[..., 2:], step[..., 5:]], -1)[0])
            references = refined.detach()
        return torch.stack(logits), torch.stack(boxes)


class PyramidConv(nn.Module):
    def __init__(self, channels, out, kernel):
        super().__init__()
        self.conv = nn.Conv2d(channels, out, kernel, padding=kernel // 2)
        nn.init.xavier_uniform_(self.conv.weight)
        nn.init.zeros_(self.conv.bias)


class Neck(nn.Module):
    """A feature pyramid of one level."""

    def __init__(self, sizes):
        super().__init__()
        self.lateral_convs = nn.ModuleList([PyramidConv(2048, sizes.dims, 1)])
        self.fpn_convs = nn.ModuleList([PyramidConv(sizes.dims, sizes.dims, 3)])

    def forward(self, maps):
        return self.fpn_convs[0].conv(self.lateral_convs[0].conv(maps))


def backbone():
    """torchvision's ResNet-50 without its head. Its batch norms, its stem and its first stage are not trained."""
    body = torchvision.models.resnet50()
    del body.avgpool, body.fc
    for name, parameter in body.named_parameters():
        parameter.requires_grad_(parameter.dim() > 1 and name.startswith(("layer2", "layer3", "layer4")))
    return body


class BevFormer(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.sizes = sizes
        self.img_backbone = backbone()
        self.img_neck = Neck(sizes)
        self.pts_bbox_head = Head(sizes)

    def train(self, mode=True):
        super().train(mode)
        self.img_backbone.eval()
        return self

    def maps(self, images):
        body = self.img_backbone
        x = body.maxpool(body.relu(body.bn1(body.conv1(images))))
        return self.img_neck(body.layer4(body.layer3(body.layer2(body.layer1(x)))))

    def history(self, frames):
        """The BEV of the last of `frames`, without gradients; the pictures of all frames at once, as published."""
        was_training = self.training
        self.eval()
        previous = None
        with torch.no_grad():
            maps = self.maps(torch.cat([frame.images for frame in frames])).split(self.sizes.cameras)
            for of_frame, frame in zip(maps, frames):
                previous = self.pts_bbox_head.make_bev(of_frame, frame, previous)
        self.train(was_training)
        return previous

    def forward(self, frames):
        previous = self.history(frames[:-1]) if len(frames) > 1 else None
        bev = self.pts_bbox_head.make_bev(self.maps(frames[-1].images), frames[-1], previous)
        return self.pts_bbox_head(bev)
