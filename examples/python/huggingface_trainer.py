"""An image classifier of Transformers under its Trainer, with ffkit's loaders.

    python examples/python/huggingface_trainer.py /fast/imagenet   # again: continues"""

import sys

import transformers
from transformers.trainer_utils import get_last_checkpoint

import ffkit
import ffkit.hf


class Trainer(ffkit.hf.TrainerMixin, transformers.Trainer):
    pass


def accuracy(prediction):
    return {"accuracy": float((prediction.predictions.argmax(-1) == prediction.label_ids).mean())}


def main(data, model=None, size=224, work_dir="run", **options):
    def view(split, transform):
        # Names of the model's arguments, and what is loaded for them.
        fields = {"pixel_values": ffkit.ImageField("image", ffkit.ImageOptions(transform)), "labels": ffkit.IntegerField("label")}
        return ffkit.hf.Dataset(data, split, fields=fields)

    train, val = view("train", ffkit.RandomResizedCrop(size, flip_probability=0.5)), view("val", ffkit.ResizeCenterCrop(size * 256 // 224, size))
    names = train.features["label"].names
    config = transformers.ResNetConfig(num_labels=len(names), id2label=dict(enumerate(names)), label2id={name: i for i, name in enumerate(names)})
    options = {"num_train_epochs": 90, "per_device_train_batch_size": 256, "learning_rate": 1e-3, "eval_strategy": "epoch", "remove_unused_columns": False} | options
    args = transformers.TrainingArguments(work_dir, **options)
    trainer = Trainer(model or transformers.ResNetForImageClassification(config), args, train_dataset=train, eval_dataset=val, compute_metrics=accuracy)
    trainer.train(resume_from_checkpoint=get_last_checkpoint(work_dir))
    return trainer


if __name__ == "__main__":
    main(sys.argv[1])
