"""A network of torchvision under lightning.Trainer, with the loaders of ffkit.lightning.DataModule.

    python examples/python/lightning_classifier.py /fast/imagenet   # or --ckpt run/last.ckpt"""

import argparse

import lightning
import torch
import torchvision
from lightning.pytorch.callbacks import ModelCheckpoint

import ffkit.lightning


class Classifier(lightning.LightningModule):
    def __init__(self, model, num_classes):
        super().__init__()
        self.network = torchvision.models.get_model(model, num_classes=num_classes)

    def training_step(self, batch, batch_idx):
        loss = torch.nn.functional.cross_entropy(self.network(batch["image"]), batch["label"])
        self.log("train_loss", loss, prog_bar=True)
        return loss

    def validation_step(self, batch, batch_idx):
        right = (self.network(batch["image"]).argmax(1) == batch["label"]).float()
        self.log("val_accuracy", right.mean(), batch_size=len(right), sync_dist=True, prog_bar=True)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.1, momentum=0.9, weight_decay=1e-4)


def main(data, model="resnet50", epochs=90, batch_size=256, size=224, ckpt=None, work_dir="run", **options):
    module = ffkit.lightning.DataModule(data, batch_size, train_image=ffkit.RandomResizedCrop(size, flip_probability=0.5), eval_image=ffkit.ResizeCenterCrop(size * 256 // 224, size))
    # A checkpoint holds the place in the epoch: Lightning saves the states of loaders that have
    # one.
    checkpoints = ModelCheckpoint(work_dir, save_last=True, every_n_train_steps=1000, enable_version_counter=False)
    trainer = lightning.Trainer(max_epochs=epochs, callbacks=[checkpoints], **options)
    trainer.fit(Classifier(model, len(ffkit.Dataset(data, "train").classes)), module, ckpt_path=ckpt)
    return trainer


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="A network of torchvision under lightning.Trainer.")
    parser.add_argument("data", help="folder with the splits train and val")
    parser.add_argument("--model", default="resnet50", help="a name that torchvision.models.get_model takes")
    parser.add_argument("--ckpt", help="checkpoint to go on from")
    main(**vars(parser.parse_args()))
