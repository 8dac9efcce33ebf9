"""Self-supervised training on two views of each picture (SimCLR): one array holds both, each with a
crop and colours of its own.

    python examples/python/ssl_two_views.py /fast/imagenet"""

import sys

import torch
import torchvision

import ffkit
import ffkit.torch


def make_loader(data, batch_size, size, **options):
    colours = ffkit.ColorJitter(brightness=0.8, contrast=0.8, saturation=0.8, hue=0.2)
    augment = [ffkit.Apply(0.8, colours), ffkit.RandomGrayscale(0.2), ffkit.Apply(0.5, ffkit.GaussianBlur())]
    view = ffkit.ImageOptions(ffkit.RandomResizedCrop(size, flip_probability=0.5), augment=augment)
    # Two copies of one view: each draws its own random numbers, which follow from seed, epoch and
    # record alone. The picture is read and decoded once.
    return ffkit.Loader(ffkit.Dataset(data, "train"), batch_size, views={"views": (view, 2)}, label_field=None, arrays="torch", **options)


def contrastive_loss(features, temperature=0.5):
    """NT-Xent over [2 N, D], in which rows i and i ^ 1 are views of one picture."""
    features = torch.nn.functional.normalize(features)
    similarity = features @ features.T / temperature
    similarity.fill_diagonal_(-torch.inf)
    return torch.nn.functional.cross_entropy(similarity, torch.arange(len(features), device=features.device) ^ 1)


def main(data, model="resnet50", epochs=100, batch_size=256, size=224):
    device = "cuda" if torch.cuda.is_available() else "cpu"
    network = torchvision.models.get_model(model, num_classes=128).to(device)
    optimizer = torch.optim.AdamW(network.parameters(), 1e-3)
    loader = ffkit.torch.to_device(make_loader(data, batch_size, size), device)
    losses = []
    for epoch in range(epochs):
        for batch in loader:
            views = batch["views"].flatten(0, 1)  # [N, 2, 3, H, W] -> [2 N, 3, H, W]
            loss = contrastive_loss(network(views))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        print(f"epoch {epoch + 1}: loss {losses[-1]:.3f}")
    return losses


if __name__ == "__main__":
    main(sys.argv[1])
