"""Training loops in the shape that their authors gave them, and loaders that record and replay what was loaded."""
import itertools
import warnings

import torch
import torch.distributed
import torch.utils.data
from torch.nn.parallel import DistributedDataParallel

import networks


class Meter:
    """AverageMeter of PyTorch's ImageNet example."""

    def __init__(self):
        self.sum, self.count = 0.0, 0

    def update(self, value, n=1):
        self.sum += value * n
        self.count += n

    def all_reduce(self):
        total = torch.tensor([self.sum, self.count], dtype=torch.float64)
        torch.distributed.all_reduce(total)
        self.sum, self.count = total.tolist()
        self.count = int(self.count)

    @property
    def avg(self):
        return self.sum / self.count


def imagenet_train(train_loader, model, criterion, optimizer):
    losses, sizes = Meter(), []
    num_batches = len(train_loader)
    model.train()
    for i, (images, target) in enumerate(train_loader):
        images = images.to("cpu", non_blocking=True)
        target = target.to("cpu", non_blocking=True)
        output = model(images)
        loss = criterion(output, target)
        losses.update(loss.item(), images.size(0))
        sizes.append(images.size(0))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert i + 1 == num_batches
    return losses, sizes


def imagenet_validate(val_loader, model, criterion, world_size):
    losses, top1 = Meter(), Meter()

    def run_validate(loader):
        with torch.no_grad():
            for images, target in loader:
                output = model(images)
                losses.update(criterion(output, target).item(), images.size(0))
                top1.update((output.argmax(1) == target).float().mean().item() * 100, images.size(0))

    model.eval()
    run_validate(val_loader)
    if world_size > 1:
        losses.all_reduce()
        top1.all_reduce()
        if len(val_loader.sampler) * world_size < len(val_loader.dataset):
            aux = torch.utils.data.Subset(val_loader.dataset, range(len(val_loader.sampler) * world_size, len(val_loader.dataset)))
            run_validate(torch.utils.data.DataLoader(aux, batch_size=8))
    return losses, top1


def imagenet_main(make_train_loader, make_val_loader, epochs=4):
    """Of each epoch: the loss, sizes of the batches, and what the validation says."""
    world_size = torch.distributed.get_world_size() if torch.distributed.is_initialized() else 1
    model = networks.tiny()
    if world_size > 1:
        model = DistributedDataParallel(model)
    criterion = torch.nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=30, gamma=0.1)
    train_loader, val_loader = make_train_loader(), make_val_loader()
    history = []
    for epoch in range(epochs):
        if world_size > 1:
            train_loader.sampler.set_epoch(epoch)
        losses, sizes = imagenet_train(train_loader, model, criterion, optimizer)
        val_losses, top1 = imagenet_validate(val_loader, model, criterion, world_size)
        scheduler.step()
        history.append((losses.sum, losses.count, sizes, val_losses.sum, top1.sum, top1.count))
    return history


class Recorded:
    """A loader, and the samples that it gave in each epoch."""

    def __init__(self, loader):
        self.loader = loader
        self.epochs = []

    def __getattr__(self, name):
        return getattr(self.loader, name)

    def __len__(self):
        return len(self.loader)

    def __iter__(self):
        self.epochs.append([])
        for images, labels in self.loader:
            self.epochs[-1] += zip(images.clone(), labels.clone())
            yield images, labels


class Replayed:
    """torch's DataLoader over such samples."""

    def __init__(self, recorded, batch_size):
        self.loaders = itertools.cycle([torch.utils.data.DataLoader(samples, batch_size) for samples in recorded.epochs])
        self.sampler = recorded.sampler  # its length alone counts here
        self.dataset = recorded.dataset
        self.length = len(torch.utils.data.DataLoader(recorded.epochs[0], batch_size))

    def __len__(self):
        return self.length

    def __iter__(self):
        return iter(next(self.loaders))


def torchvision_train_one_epoch(model, criterion, optimizer, data_loader, device):
    model.train()
    losses = []
    for i, (image, target) in enumerate(data_loader):
        image, target = image.to(device), target.to(device)
        output = model(image)
        loss = criterion(output, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert i + 1 == len(data_loader)
    return losses


def torchvision_evaluate(model, criterion, data_loader, device):
    model.eval()
    num_processed_samples, right = 0, 0
    with torch.inference_mode():
        for image, target in data_loader:
            image = image.to(device, non_blocking=True)
            target = target.to(device, non_blocking=True)
            output = model(image)
            right += (output.argmax(1) == target).sum().item()
            num_processed_samples += image.shape[0]
    reduced = torch.tensor([num_processed_samples, right], dtype=torch.float64)
    torch.distributed.barrier()
    torch.distributed.all_reduce(reduced)
    num_processed_samples = int(reduced[0])
    if hasattr(data_loader.dataset, "__len__") and len(data_loader.dataset) != num_processed_samples and torch.distributed.get_rank() == 0:
        warnings.warn(f"It looks like the dataset has {len(data_loader.dataset)} samples, but {num_processed_samples} samples were used for the validation")
    return num_processed_samples, int(reduced[1])


def torchvision_main(data_loader, data_loader_test, epochs=2):
    """The reference's main() in its options --sync-bn off, --label-smoothing 0.1."""
    model = torch.nn.parallel.DistributedDataParallel(networks.tiny(), device_ids=None)
    criterion = torch.nn.CrossEntropyLoss(label_smoothing=0.1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True)
    history = []
    for epoch in range(epochs):
        data_loader.sampler.set_epoch(epoch)
        losses = torchvision_train_one_epoch(model, criterion, optimizer, data_loader, "cpu")
        history.append((losses, *torchvision_evaluate(model, criterion, data_loader_test, "cpu")))
    return history


def timm_train_one_epoch(epoch, model, loader, optimizer, loss_fn, accumulation_steps, mixup_fn=None, mixup_off_epoch=0):
    """The shape of timm's train.py: what it asks of its loader and when."""
    if mixup_off_epoch and epoch >= mixup_off_epoch and mixup_fn is not None:
        if hasattr(loader, "mixup_enabled"):
            loader.mixup_enabled = False
        mixup_fn.mixup_enabled = False
    losses = []
    model.train()
    last_accumulation_steps = len(loader) % accumulation_steps
    updates_per_epoch = (len(loader) + accumulation_steps - 1) // accumulation_steps
    last_batch_idx = len(loader) - 1
    last_batch_idx_to_accumulate = len(loader) - last_accumulation_steps
    optimizer.zero_grad()
    update_sample_count, num_updates = 0, 0
    for batch_idx, (input, target) in enumerate(loader):
        last_batch = batch_idx == last_batch_idx
        need_update = last_batch or (batch_idx + 1) % accumulation_steps == 0
        if batch_idx >= last_batch_idx_to_accumulate:
            accumulation_steps = last_accumulation_steps
        if mixup_fn is not None:
            input, target = mixup_fn(input, target)
        loss = loss_fn(model(input), target)
        losses.append(loss.detach() * input.size(0))
        (loss / accumulation_steps).backward()
        update_sample_count += input.size(0)
        if need_update:
            optimizer.step()
            optimizer.zero_grad()
            num_updates += 1
    assert num_updates == updates_per_epoch
    return sum(losses).item(), update_sample_count
