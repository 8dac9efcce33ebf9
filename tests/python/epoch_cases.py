"""The loaders of tests/python/epoch_hash.cpp, as Python makes them: case -> arguments of ffkit.Loader."""
import ffkit

BASIC = {"batch_size": 7, "seed": 5, "image": ffkit.RandomResizedCrop(32, flip_probability=0.5)}


def arguments(case, dataset):
    if case == "basic":
        return BASIC
    if case == "u8_nhwc":
        return BASIC | {"image": ffkit.ResizeCenterCrop(40, (32, 24)), "dtype": "u8", "layout": "nhwc", "order": "sequential", "tail": "exact"}
    if case == "augmented":
        return BASIC | {
            "image": ffkit.RandomCrop(28, padding=(1, 2, 3, 4), fill=(9, 8, 7), flip_probability=0.5),
            "augment": [ffkit.ColorJitter(brightness=0.4, contrast=(0.5, 1.5), hue=(-0.1, 0.2)), ffkit.RandAugment(1, 5, fill=(1, 2, 3))],
            "erasing": ffkit.RandomErasing(0.7, value=0.5),
            "dtype": "f16",
            "mean": (0.5, 0.4, 0.3),
            "std": 0.2,
            "mixing": ffkit.Mixing(mixup=0.2, cutmix=1.0),
        }
    if case == "operations":
        return BASIC | {
            "augment": [
                ffkit.Apply(0.8, ffkit.ColorJitter(0.4)),
                ffkit.RandomGrayscale(0.2),
                ffkit.Apply(0.5, [ffkit.GaussianBlur(), ffkit.Solarize(100), ffkit.Posterize(5)]),
                ffkit.OneOf([ffkit.Equalize(), ffkit.AutoContrast(), ffkit.Invert(), ffkit.OneOf([ffkit.AdjustSharpness(1.5), ffkit.GaussianBlur(9, 1.5)])], (1, 2, 0.5, 3)),
            ],
            "dtype": "u8",
        }
    if case == "weighted_bf16":
        return BASIC | {
            "image": ffkit.Resize((20, 24), "bicubic"),
            "augment": [ffkit.TrivialAugmentWide()],
            "dtype": "bf16",
            "order": "weighted",
            "epoch_size": 50,
            "rank": 1,
            "world_size": 2,
            "tail": "pad",
            "weights": ffkit.class_balanced_weights(dataset.column("label")),
        }
    if case == "windowed_fields":
        crop = ffkit.ResizeCrop((16, 24), factor=(0.4, 0.6), bottom=(0.0, 0.2), centered=False, flip_probability=0.5)
        return {
            "batch_size": 7,
            "seed": 5,
            "image": None,
            "label_field": None,
            "order": "windowed",
            "window_block": 4,
            "window_blocks": 3,
            "fields": {
                "crop": ffkit.ImageField("image", ffkit.ImageOptions(crop)),
                "twice": ffkit.ImagesField(["image", "image"], ffkit.ImageOptions(ffkit.ScalePad(64))),
                "number": ffkit.IntegerField("label"),
                "copy": ffkit.CopyField("label"),
                "id": ffkit.TextField("id"),
            },
        }
    raise KeyError(case)


CASES = ("basic", "u8_nhwc", "augmented", "operations", "weighted_bf16", "windowed_fields")
