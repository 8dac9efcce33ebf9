"""The examples that need torch: they run, and what they load is right. Those of Lightning, Transformers and JAX are run by the tests of these."""
import importlib.util
import io
import json
import os
import pathlib
import subprocess
import sys

import numpy
import PIL.Image
import pytest
import torch
import torch.distributed.run

import conftest
import ffkit
import ffkit.torch

EXAMPLES = pathlib.Path(__file__).parents[3] / "examples" / "python"


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    torch.set_num_threads(1)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """61 pictures for training and 21 for validation."""
    folder = tmp_path_factory.mktemp("pictures") / "demo"
    conftest.convert("demo", folder, "--classes", 4, "--images", 61, "--val-images", 21, "--size", 48, "--quiet")
    return folder


def example(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_imagenet_ddp_by_torchrun(data, capfd, monkeypatch, tmp_path):
    script = tmp_path / "small.py"
    script.write_text(f"import sys; sys.path.insert(0, {str(EXAMPLES)!r}); import imagenet_ddp; imagenet_ddp.main({str(data)!r}, 'mobilenet_v3_small', epochs=2, batch_size=8, size=32)")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([os.environ["PYTHONPATH"], *sys.path[-1:]]))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    torch.distributed.run.main(["--standalone", "--nproc-per-node", "2", str(script)])
    printed = capfd.readouterr().out.splitlines()
    assert len(printed) == 2 and all(line.endswith("of 21 right") for line in printed)


def test_ssl_two_views(data):
    module = example("ssl_two_views")
    losses = module.main(data, "mobilenet_v3_small", epochs=2, batch_size=8, size=32)
    assert len(losses) == 14 and all(map(numpy.isfinite, losses))
    epochs = [[batch["views"].clone() for batch in module.make_loader(data, 8, 24, num_threads=num_threads)] for num_threads in (1, 2, 5)]
    for first, second, third in zip(*epochs, strict=True):
        assert first.shape == (8, 2, 3, 24, 24)
        assert not any(torch.equal(view, other) for view, other in first)
        assert torch.equal(first, second) and torch.equal(first, third)
    # Features that tell pictures apart have a small loss, whatever their views; equal ones have
    # that of chance.
    apart, equal = torch.eye(8).repeat_interleave(2, 0), torch.ones(16, 8)
    assert module.contrastive_loss(apart) < 1.3 and module.contrastive_loss(equal).item() == pytest.approx(numpy.log(15))


def test_ssl_recipes(data, capsys):
    """SimCLR's views are those of torchvision's transforms; what differs in MoCo's and DINO's is named here."""
    from dataclasses import replace

    from torchvision import transforms

    module = example("ssl_recipes")
    recipe = transforms.Compose(
        [transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(), transforms.RandomApply([transforms.ColorJitter(0.8, 0.8, 0.8, 0.2)], p=0.8),
         transforms.RandomGrayscale(p=0.2), transforms.RandomApply([transforms.GaussianBlur(23, (0.1, 2.0))], p=0.5), transforms.ToTensor(),
         transforms.Normalize(ffkit.IMAGENET_MEAN, ffkit.IMAGENET_STD)]
    )  # fmt: skip
    ours, copies = module.simclr()["views"]
    theirs = ffkit.torch.image_options(recipe)
    strength = (1 - 0.8, 1 + 0.8)
    jitter = ffkit.Apply(0.8, ffkit.ColorJitter(strength, strength, strength, (-0.2, 0.2)))
    assert copies == 2 and replace(theirs, transform=replace(theirs.transform, scaled_decode=True)) == replace(ours, augment=(jitter, *ours.augment[1:]))
    moco = module.moco_v2()["views"][0]
    assert moco.transform.scale == (0.2, 1.0) and moco.augment[2] == ffkit.Apply(0.5, ffkit.GaussianBlur(sigma=(0.1, 2.0)))
    dino = module.dino()
    assert [dino[name].augment[2].probability for name in ("global_1", "global_2")] == [1.0, 0.1] and dino["local"][0].augment[2].probability == 0.5
    assert dino["global_2"].augment[3] == ffkit.RandomSolarize(128, 0.2) and dino["local"][1] == 8
    for name, shapes in (("simclr", {"views": (8, 2, 3, 224, 224)}), ("dino", {"global_1": (8, 3, 224, 224), "global_2": (8, 3, 224, 224), "local": (8, 8, 3, 96, 96)})):
        loader = module.main(name, data, 8)
        assert {name: tuple(array.shape) for name, array in next(iter(loader)).items()} == shapes
    capsys.readouterr()


def test_bench_views(data):
    """The benchmark runs, and prints a row for each work."""
    pytest.importorskip("pycocotools")  # draws polygons
    script = EXAMPLES.parents[1] / "bench" / "views"
    done = subprocess.run([sys.executable, script, data, "--pictures", "6", "--batch", "3", "--repetitions", "1"], check=True, capture_output=True, text=True)
    rows = [line.split(" | ")[0] for line in done.stdout.splitlines() if line.startswith("| ")]
    assert [row for row in rows if row not in ("| work", "| ---")] == ["| dino", "| segmentation", "| detection", "| views of 224"]


@pytest.fixture(scope="module")
def city(tmp_path_factory):
    """Pictures of any size whose colours tell the class of each pixel: 10 times the class in red."""
    folder = tmp_path_factory.mktemp("city") / "city"
    random = numpy.random.default_rng(0)
    for split, num in (("train", 20), ("val", 7)):
        with ffkit.Writer(folder, split=split, schema={"image": "image", "mask": "image"}) as writer:
            for _ in range(num):
                height, width = random.integers(20, 60, 2)
                mask = random.integers(0, 19, (height // 8 + 1, width // 8 + 1)).repeat(8, 0).repeat(8, 1)[:height, :width].astype("u1")
                files = [io.BytesIO(), io.BytesIO()]
                PIL.Image.fromarray(numpy.stack([10 * mask, 0 * mask, 0 * mask], 2)).save(files[0], "PNG")
                PIL.Image.fromarray(mask).save(files[1], "PNG")
                writer.write({"image": files[0].getvalue(), "mask": files[1].getvalue()})
    return folder


class Segmenter(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Conv2d(3, 19, 1)

    def forward(self, images):
        return {"out": self.layer(images)}


def test_segmentation(city):
    module = example("segmentation")
    num_ignored = 0
    for batch in module.training_loader(city, 4, 40, ffkit.ImageOptions(ffkit.RandomCrop(40, pad_if_needed=True, flip_probability=0.5), normalize=False), num_threads=2):
        red, mask = (255 * batch["image"][:, 0]).round().int(), batch["mask"].int()
        inside = mask != module.IGNORED
        assert torch.equal(red[inside], 10 * mask[inside]) and (red[~inside] == 0).all()  # aligned: crop, flip and padding
        num_ignored += (~inside).sum()
    assert num_ignored > 0
    for batch in module.training_loader(city, 4, 40, ffkit.ImageOptions(ffkit.RandomResizedCrop(40, scale=(0.25, 1.0), flip_probability=0.5), normalize=False), num_threads=2):
        # Resized: a class is where its colour is, but for the blended edges.
        red, mask = (25.5 * batch["image"][:, 0]).round().int(), batch["mask"].int()
        assert (red == mask).float().mean() > 0.6 and mask.max() < 19
    records = iter(ffkit.Dataset(city, "val"))
    for batch in module.evaluation_loader(city, 4, 24, num_threads=2):
        for mask in batch["mask"]:
            stored = PIL.Image.open(io.BytesIO(next(records)["mask"]))
            expected = torch.nn.functional.interpolate(torch.from_numpy(numpy.array(stored))[None, None], (24, 24))  # torchvision's of masks
            assert torch.equal(mask, expected[0, 0])
    loss, right = module.main(city, epochs=1, batch_size=4, size=32, network=Segmenter())
    assert numpy.isfinite(loss) and 0 <= right <= 1


def test_segmentation_by_torchvisions_fcn(city):
    """One epoch of torchvision's FCN."""
    import torchvision

    torch.manual_seed(0)
    network = torchvision.models.segmentation.fcn_resnet50(weights=None, weights_backbone=None, num_classes=19)
    loss, right = example("segmentation").main(city, epochs=1, batch_size=4, size=32, network=network)
    assert numpy.isfinite(loss) and 0 <= right <= 1


@pytest.fixture(scope="module")
def coco(tmp_path_factory):
    """COCO's layout: eight pictures of several sizes with a red box for each annotation; one picture without, one crowd."""
    folder = tmp_path_factory.mktemp("coco")
    (folder / "coco" / "annotations").mkdir(parents=True)
    (folder / "coco" / "train2017").mkdir()
    random = numpy.random.default_rng(1)
    images, annotations = [], []
    for i in range(8):
        width, height = map(int, random.integers(40, 90, 2))
        pixels = numpy.zeros((height, width, 3), "u1")
        for _ in range(0 if i == 3 else 1 + i % 2):
            w, h = width // 3, height // 3
            x, y = int(random.integers(0, width - w)), int(random.integers(0, height - h))
            pixels[y : y + h, x : x + w] = (255, 0, 0)
            annotations.append({"id": len(annotations) + 1, "image_id": i + 1, "category_id": 1 + i % 2, "bbox": [x, y, w, h], "area": w * h, "iscrowd": int(i == 5), "segmentation": []})
        PIL.Image.fromarray(pixels).save(folder / "coco" / "train2017" / f"{i + 1}.png")
        images.append({"id": i + 1, "file_name": f"{i + 1}.png", "width": width, "height": height})
    categories = [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}]
    (folder / "coco" / "annotations" / "instances_train2017.json").write_text(json.dumps({"images": images, "annotations": annotations, "categories": categories}))
    conftest.convert("coco", folder / "coco", folder / "fast", "--quiet")
    return folder / "fast", annotations


class Detector(torch.nn.Module):
    """Takes what torchvision's detectors take, and keeps it."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(1))
        self.given = []

    def forward(self, images, targets):
        self.given += [(image.clone(), target["boxes"].clone(), target["labels"].clone()) for image, target in zip(images, targets)]
        return {"loss": self.weight.sum() * sum(image.mean() for image in images)}


def test_detection(coco):
    module = example("detection")
    folder, annotations = coco
    detector = Detector()
    loss = module.main(folder, epochs=2, batch_size=4, size=60, network=detector)
    assert numpy.isfinite(loss) and len(detector.given) == 16
    num_boxes = 0
    for image, boxes, labels in detector.given:
        assert boxes.shape == (len(labels), 4) and labels.dtype == torch.int64
        for left, top, right, bottom in boxes.round().int().tolist():
            # Red within, with a pixel of room for the resize; also where picture and box were
            # mirrored.
            assert (image[0, top + 2 : bottom - 2, left + 2 : right - 2] > 0.9).all()
            num_boxes += 1
    assert 0 < num_boxes <= 2 * sum(not one["iscrowd"] for one in annotations)


def test_detection_by_torchvision(coco):
    """One step of a real detector: it takes pictures without boxes too."""
    import torchvision

    torch.manual_seed(0)
    network = torchvision.models.detection.fasterrcnn_mobilenet_v3_large_320_fpn(weights=None, weights_backbone=None, num_classes=3, min_size=64, max_size=64)
    assert numpy.isfinite(example("detection").main(coco[0], num_classes=3, epochs=1, batch_size=4, size=64, network=network))


def test_detrs_batches(coco):
    module = example("detr")
    folder, annotations = coco
    num_boxes = 0
    for batch in module.make_loader(folder, 2, sizes=[48, 56], max_size=90, tail="exact"):
        height, width = batch["image"].shape[2:]
        assert height % 32 == width % 32 == 0 and batch["pixel_mask"].shape == (batch.size, height, width)
        for picture, valid, size, labels in zip(batch["image"], batch["pixel_mask"], batch.unpadded_sizes().tolist(), module.labels_of(batch), strict=True):
            assert valid.sum() == size[0] * size[1] and valid[: size[0], : size[1]].all() and min(size) in (48, 56)
            assert labels["boxes"].shape == (len(labels["class_labels"]), 4) and labels["class_labels"].dtype == torch.int64
            for x, y, w, h in (labels["boxes"] * torch.tensor([size[1], size[0]] * 2)).tolist():
                # Red within, with a pixel of room for the resize.
                assert (0.229 * picture[0, round(y - h / 2) + 2 : round(y + h / 2) - 2, round(x - w / 2) + 2 : round(x + w / 2) - 2] + 0.485 > 0.9).all()
                num_boxes += 1
    assert num_boxes == sum(not one["iscrowd"] for one in annotations)


def test_detr_by_transformers(coco):
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("scipy")  # DETR's loss needs it
    backbone = transformers.ResNetConfig(embedding_size=8, hidden_sizes=[8, 8], depths=[1, 1], layer_type="basic", out_features=["stage2"])
    small = {"d_model": 16, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2, "decoder_attention_heads": 2, "encoder_ffn_dim": 16, "decoder_ffn_dim": 16}
    torch.manual_seed(0)
    network = transformers.DetrForObjectDetection(transformers.DetrConfig(use_timm_backbone=False, use_pretrained_backbone=False, backbone=None, backbone_config=backbone, num_queries=5, num_labels=2, **small))
    assert numpy.isfinite(example("detr").main(coco[0], epochs=1, batch_size=2, network=network, sizes=[48, 56], max_size=90))
