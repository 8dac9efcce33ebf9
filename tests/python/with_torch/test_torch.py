"""ffkit with torch and torchvision; runs in the Python that has them."""
import io

import numpy
import PIL.Image
import PIL.ImageFilter
import pytest
import torch
import torchvision
from torchvision import transforms
from torchvision.transforms import v2

import epoch_cases
import ffkit
import ffkit.torch
from conftest import files_of
from conftest import by_topic


def make(ds, **options):
    return ffkit.Loader(ds, **by_topic(**{"batch_size": 8, "image": ffkit.RandomResizedCrop(16, flip_probability=0.5), "num_threads": 2, "tail": "exact"} | options))


@pytest.mark.parametrize("case", epoch_cases.CASES)
def test_tensors_have_the_values_of_arrays(ds, case):
    options = by_topic(**epoch_cases.arguments(case, ds))
    for batch, dlpack in zip(ffkit.Loader(ds, **options), ffkit.Loader(ds, **options, arrays="dlpack")):
        for name, value in batch.items():
            if isinstance(value, list):
                assert value == dlpack[name]
                continue
            assert isinstance(value, torch.Tensor)
            assert torch.equal(value, torch.from_dlpack(dlpack[name]))
    if case == "weighted_bf16":
        assert batch["image"].dtype == torch.bfloat16


def test_tensors_keep_the_memory(ds):
    loader = make(ds, image=ffkit.RandomResizedCrop(48, flip_probability=0.5))
    batch = next(iter(loader))
    part = batch["image"][2].transpose(0, 1)
    before = part.clone()
    del batch
    assert loader._loader.num_held() == 1
    for _ in loader:
        pass
    assert torch.equal(part, before)
    del part, _
    assert loader._loader.num_held() == 0
    with pytest.raises(ValueError, match="copy=True"):
        [batch["image"] for batch in loader]


def test_training_through_autograd(ds):
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 16 * 16, 4))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(2):
        for batch in make(ds):
            loss = torch.nn.functional.cross_entropy(model(batch["image"]), batch["label"])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    assert torch.isfinite(loss)


def test_to_device_on_the_cpu(ds):
    expected = [batch["image"].clone() for batch in make(ds)]
    moved = ffkit.torch.to_device(make(ds), "cpu")
    assert len(moved) == 8 and moved.epoch == 0
    for image, batch in zip(expected, moved):
        assert torch.equal(batch["image"], image)
        assert batch.size == len(image)


def test_to_device_has_the_state_of_its_own_batch(ds):
    states = []
    loader = make(ds)
    for batch in loader:
        states.append(loader.state_dict())
    moved = ffkit.torch.to_device(make(ds), "meta")  # a device to which tensors are really moved
    for batch, state in zip(moved, states):
        assert batch["image"].device.type == "meta" and batch["image"].shape[1:] == (3, 16, 16)
        assert moved.state_dict() == state
        assert len(batch.record_indices) == batch.size == len(batch["label"])
        assert moved.epoch == 0
    assert batch.step == 7 and moved.epoch == 1 and moved.state_dict()["epoch_finished"] is True
    moved.load_state_dict(states[2])
    assert next(iter(moved)).step == 0 and moved.epoch == 0


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has CUDA")
def test_pinned_memory_without_cuda_is_a_warning(ds):
    with pytest.warns(UserWarning, match="torch sees no CUDA device"):
        loader = make(ds, pin_memory=True)
    assert next(iter(loader))["image"].shape == (8, 3, 16, 16)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="this machine has no CUDA")
def test_batches_on_cuda(ds):
    loader = make(ds)
    for batch, expected in zip(ffkit.torch.to_device(loader, "cuda"), make(ds, pin_memory=False)):
        assert batch["image"].is_cuda and torch.equal(batch["image"].cpu(), expected["image"])
    assert next(iter(loader))["image"].is_pinned()


def pictures(ds, batch):
    return [PIL.Image.open(io.BytesIO(ds[int(i)]["image"])).convert("RGB") for i in batch.record_indices]


NORMALIZE = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))


@pytest.mark.parametrize(
    "compose",
    [
        transforms.Compose([transforms.Resize(32), transforms.CenterCrop(24), transforms.ToTensor(), transforms.Normalize(*NORMALIZE)]),
        transforms.Compose([transforms.Resize((20, 28), transforms.InterpolationMode.BICUBIC), transforms.ToTensor()]),
        transforms.Compose([transforms.RandomCrop(48), transforms.RandomHorizontalFlip(1.0), transforms.PILToTensor()]),
        v2.Compose([v2.Resize(32), v2.CenterCrop((24, 20)), v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize(*NORMALIZE)]),
    ],
    ids=["eval", "bicubic", "flip", "v2"],
)
def test_transforms_without_randomness_give_the_same_values(ds, compose):
    for batch in make(ds, image=ffkit.torch.image_options(compose)):
        expected = torch.stack([torch.as_tensor(compose(picture)) for picture in pictures(ds, batch)])
        assert batch["image"].dtype == expected.dtype
        assert torch.allclose(batch["image"], expected, atol=1e-6), (batch["image"].float() - expected.float()).abs().max()


def test_transforms_of_weights_are_taken_as_they_are(ds):
    for weights, resize in ((torchvision.models.ResNet50_Weights.IMAGENET1K_V2, 232), (torchvision.models.EfficientNet_B0_Weights.IMAGENET1K_V1, 256)):
        preset = weights.transforms()
        mode = transforms.InterpolationMode.BILINEAR if resize == 232 else transforms.InterpolationMode.BICUBIC
        same = transforms.Compose([transforms.Resize(resize, mode), transforms.CenterCrop(224), transforms.ToTensor(), transforms.Normalize(preset.mean, preset.std)])
        assert ffkit.torch.image_options(preset) == ffkit.torch.image_options(same)
        batch = next(iter(make(ds, image=preset, batch_size=4, order="sequential")))
        for image, index in zip(batch["image"], batch.record_indices):
            expected = preset(PIL.Image.open(io.BytesIO(ds[int(index)]["image"])))
            assert (image - expected).abs().max() < 0.1
    with pytest.raises(ValueError, match="set all options of the picture"):
        make(ds, image=same, dtype="f16")
    with pytest.raises(ffkit.UnsupportedError, match="SemanticSegmentation in these transforms has no exact counterpart"):
        make(ds, image=torchvision.models.segmentation.FCN_ResNet50_Weights.DEFAULT.transforms())


def test_dtypes_of_torch_are_taken(ds):
    for dtype in (torch.float16, torch.bfloat16, torch.uint8, torch.float32):
        assert next(iter(make(ds, dtype=dtype)))["image"].dtype == dtype


@pytest.mark.skipif(torch.cuda.is_available(), reason="CUDA is there")
def test_to_device_without_cuda_says_so(ds):
    with pytest.raises(RuntimeError, match="to_device cannot copy to 'cuda': (this torch is built without CUDA|torch finds no GPU)"):
        ffkit.torch.to_device(make(ds), "cuda")


def test_training_transforms_are_mapped():
    for t in (transforms, v2):
        compose = t.Compose([
            t.RandomResizedCrop(176, scale=(0.2, 1.0)), t.RandomHorizontalFlip(0.3), t.TrivialAugmentWide(), t.RandAugment(3, 5),
            t.ColorJitter(0.4, (0.5, 0.9), hue=0.1), t.PILToTensor(), t.ConvertImageDtype(torch.float), t.Normalize(*NORMALIZE), t.RandomErasing(0.1, value="random")])
        assert ffkit.torch.image_options(compose) == ffkit.ImageOptions(
            ffkit.RandomResizedCrop(176, (0.2, 1.0), flip_probability=0.3, scaled_decode=False),
            (ffkit.TrivialAugmentWide(), ffkit.RandAugment(3, 5), ffkit.ColorJitter((0.6, 1.4), (0.5, 0.9), (1.0, 1.0), (-0.1, 0.1))),
            ffkit.RandomErasing(0.1, (0.02, 0.33), (0.3, 3.3), "random"))
    cifar = transforms.Compose([transforms.RandomCrop(32, padding=4, fill=(1, 2, 3)), transforms.RandomHorizontalFlip(), transforms.ToTensor()])
    assert ffkit.torch.image_options(cifar) == ffkit.ImageOptions(ffkit.RandomCrop(32, 4, fill=(1, 2, 3), flip_probability=0.5), normalize=False)


def changes(t):
    """Transforms of torchvision's module `t` whose probability is 1, with what each is in ffkit."""
    both = t.RandomApply([t.RandomInvert(1.0), t.RandomPosterize(2, 1.0)], p=1.0)
    return [
        (t.RandomSolarize(100.5, 1.0), ffkit.RandomSolarize(100.5, 1.0)),
        (t.RandomPosterize(3, 1.0), ffkit.RandomPosterize(3, 1.0)),
        (t.RandomEqualize(1.0), ffkit.RandomEqualize(1.0)),
        (t.RandomAutocontrast(1.0), ffkit.RandomAutocontrast(1.0)),
        (t.Grayscale(3), ffkit.Grayscale(3)),
        (t.RandomGrayscale(1.0), ffkit.RandomGrayscale(1.0)),
        (t.RandomInvert(1.0), ffkit.RandomInvert(1.0)),
        (t.RandomAdjustSharpness(1.8, 1.0), ffkit.RandomAdjustSharpness(1.8, 1.0)),
        (both, ffkit.Apply(1.0, [ffkit.RandomInvert(1.0), ffkit.RandomPosterize(2, 1.0)])),
        (t.RandomChoice([t.Compose([both, t.Grayscale(3)])]), ffkit.OneOf([ffkit.Apply(1.0, [ffkit.Apply(1.0, [ffkit.RandomInvert(1.0), ffkit.RandomPosterize(2, 1.0)]), ffkit.Grayscale(3)])])),
    ]


@pytest.mark.parametrize("t", [transforms, v2], ids=["v1", "v2"])
def test_operations_give_the_same_bits(ds, t):
    for step, augmentation in changes(t):
        compose = transforms.Compose([transforms.Resize((31, 45)), step, transforms.PILToTensor()])
        options = ffkit.torch.image_options(compose)
        assert options.augment == (augmentation,)
        for batch in make(ds, image=options):
            expected = torch.stack([compose(picture) for picture in pictures(ds, batch)])
            assert torch.equal(batch["image"], expected), step


@pytest.mark.parametrize("t", [transforms, v2], ids=["v1", "v2"])
def test_a_blur_of_fixed_sigma_is_torchvisions(ds, t):
    compose = transforms.Compose([transforms.Resize((31, 45)), t.GaussianBlur(7, (1.25, 1.25)), transforms.PILToTensor()])
    different = total = 0
    for batch in make(ds, image=ffkit.torch.image_options(compose)):
        expected = torch.stack([compose(picture) for picture in pictures(ds, batch)])
        difference = (batch["image"].int() - expected.int()).abs()
        assert difference.max() <= 1  # where floats are summed to a half
        different, total = different + int(difference.sum()), total + expected.numel()
    assert different < total / 2000


def test_a_blur_without_a_kernel_is_pillows(ds):
    for sigma in (0.1, 0.7, 2.0):
        for batch in make(ds, image=ffkit.Resize((31, 45)), augment=[ffkit.GaussianBlur(0, sigma)], dtype="u8"):
            resized = [picture.resize((45, 31), PIL.Image.Resampling.BILINEAR) for picture in pictures(ds, batch)]
            blurred = [picture.filter(PIL.ImageFilter.GaussianBlur(sigma)) for picture in resized]
            expected = torch.stack([torch.from_numpy(numpy.array(picture)).permute(2, 0, 1) for picture in blurred])
            assert torch.equal(batch["image"], expected)


def test_transforms_of_self_supervised_learning_are_mapped():
    for t in (transforms, v2):
        compose = t.Compose([
            t.RandomResizedCrop(224, scale=(0.2, 1.0)), t.RandomHorizontalFlip(), t.RandomApply([t.ColorJitter(0.4, 0.4, 0.2, 0.1)], p=0.8), t.RandomGrayscale(p=0.2),
            t.RandomApply(torch.nn.ModuleList([t.GaussianBlur(23, sigma=(0.1, 2.0))]), p=0.5), t.RandomSolarize(128, 0.2),
            t.RandomChoice([t.RandomEqualize(), t.RandomAutocontrast()], p=[3, 1]), t.RandomChoice([t.RandomInvert(), t.Grayscale(3)]), t.ToTensor()])
        found = ffkit.torch.image_options(compose)
        jitter = ffkit.ColorJitter((0.6, 1.4), (0.6, 1.4), (0.8, 1.2), (-0.1, 0.1))
        choice = found.augment[4]
        assert [weight / sum(choice.weights) for weight in choice.weights] == [0.75, 0.25]
        assert found.augment == (
            ffkit.Apply(0.8, [jitter]), ffkit.RandomGrayscale(0.2), ffkit.Apply(0.5, ffkit.GaussianBlur(23, (0.1, 2.0))), ffkit.RandomSolarize(128, 0.2),
            ffkit.OneOf([ffkit.RandomEqualize(), ffkit.RandomAutocontrast()], choice.weights), ffkit.OneOf([ffkit.RandomInvert(), ffkit.Grayscale(3)]))


@pytest.mark.parametrize(
    "message, steps",
    [
        ("ElasticTransform.*ffkit has no such transform", [transforms.RandomResizedCrop(8), transforms.ElasticTransform(), transforms.ToTensor()]),
        ("GaussianBlur.*5 x 3, not a square", [transforms.Resize((8, 8)), transforms.GaussianBlur((5, 3)), transforms.RandomRotation(3)]),
        ("GaussianBlur.*255 and 100", [transforms.Resize((8, 8)), v2.GaussianBlur(257)]),
        ("RandomSolarize.*threshold is 300", [transforms.Resize((8, 8)), transforms.RandomSolarize(300)]),
        ("ColorJitter.*after Grayscale of one channel", [transforms.Resize((8, 8)), transforms.Grayscale(), transforms.ColorJitter(0.4)]),
        ("RandomRotation.*changes geometry", [transforms.Resize((8, 8)), transforms.RandomApply([transforms.GaussianBlur(3), transforms.RandomRotation(3)])]),
        ("RandomChoice.*ToTensor in it is not an augmentation", [transforms.Resize((8, 8)), transforms.RandomChoice([transforms.RandomInvert(), transforms.ToTensor()])]),
        ("RandomApply.*it has no transforms", [transforms.Resize((8, 8)), transforms.RandomApply([])]),
        ("RandomInvert.*before", [transforms.Resize((8, 8)), transforms.ToTensor(), transforms.RandomInvert()]),
        ("Lambda", [transforms.Lambda(lambda x: x)]),
        ("no crop or resize", [transforms.ToTensor()]),
        ("end them with ToTensor", [transforms.Resize((8, 8))]),
        ("RandomResizedCrop.*nearest", [transforms.RandomResizedCrop(8, interpolation=transforms.InterpolationMode.NEAREST), transforms.ToTensor()]),
        ("RandomCrop.*reflect", [transforms.RandomCrop(8, 4, padding_mode="reflect"), transforms.ToTensor()]),
        ("Normalize.*float32", [transforms.Resize((8, 8)), transforms.PILToTensor(), transforms.Normalize(*NORMALIZE)]),
        ("ColorJitter.*before", [transforms.Resize((8, 8)), transforms.ToTensor(), transforms.ColorJitter(0.4)]),
        ("different sizes after Resize, .*such as CenterCrop or Resize.*8, 8", [transforms.Resize(8), transforms.ToTensor()]),
        ("RandomRotation.*expand and a center", [transforms.Resize((8, 8)), transforms.RandomRotation(3, expand=True, center=(1, 2)), transforms.ToTensor()]),
        ("different sizes after RandomRotation", [transforms.Resize((8, 8)), transforms.RandomRotation(3, expand=True), transforms.ToTensor()]),
        ("RandomHorizontalFlip.*after an augmentation", [transforms.Resize((8, 8)), transforms.ColorJitter(0.4), transforms.RandomHorizontalFlip(), transforms.ToTensor()]),
        ("RandAugment.*bilinear", [transforms.Resize((8, 8)), transforms.RandAugment(interpolation=transforms.InterpolationMode.BILINEAR)]),
    ],
)
def test_the_first_transform_without_counterpart_is_named(message, steps):
    with pytest.raises(ffkit.UnsupportedError, match=message):
        ffkit.torch.image_options(transforms.Compose(steps))


def test_harmless_arguments_of_torch_are_taken(ds):
    loader = ffkit.torch.DataLoader(ds, 8, transform=ffkit.ImageOptions(ffkit.RandomResizedCrop(16, flip_probability=0.5)), num_workers=2, persistent_workers=True, prefetch_factor=2, timeout=30,
                                    in_order=True, pin_memory_device="cuda")  # fmt: skip
    assert len(list(loader)) == 8


def test_the_loader_with_torchs_arguments(ds):
    compose = transforms.Compose([transforms.Resize((20, 20)), transforms.ToTensor()])
    loader = ffkit.torch.DataLoader(ds, batch_size=16, transform=compose, num_workers=2)
    labels = []
    for images, label in loader:
        assert images.shape == (len(label), 3, 20, 20)
        labels += label.tolist()
    assert labels == ds.column("label").tolist() and len(loader) == 4
    shuffled = ffkit.torch.DataLoader(ds, 16, shuffle=True, drop_last=True, transform=compose, seed=3)
    shuffled.set_epoch(5)
    assert sum(len(label) for _, label in shuffled) == 48 and shuffled.epoch == 6
    again = ffkit.torch.DataLoader(ds, 16, shuffle=True, drop_last=True, transform=compose, seed=3)
    again.load_state_dict(shuffled.state_dict())
    assert again.loader.epoch == 6


def test_image_folder_by_torchs_workers(tmp_path):
    numbers = numpy.random.default_rng(0)
    for i in range(40):
        folder = tmp_path / "pictures" / "abc"[i % 3]
        folder.mkdir(parents=True, exist_ok=True)
        PIL.Image.fromarray(numbers.integers(0, 256, (20 + i, 24, 3), numpy.uint8)).save(folder / f"{i:02}.png")
    dataset = torchvision.datasets.ImageFolder(tmp_path / "pictures")
    ffkit.convert.from_torch(dataset, tmp_path / "here")
    ffkit.convert.from_torch(dataset, tmp_path / "workers", num_workers=2)
    assert files_of(tmp_path / "here") == files_of(tmp_path / "workers")
    train = ffkit.Dataset(tmp_path / "workers", "train")
    assert train.classes == ["a", "b", "c"]
    written = sorted((len(pixels), label, pixels.tobytes()) for pixels, label in ((ffkit.decode_image(one["image"]), one["label"]) for one in train))
    assert written == sorted((len(pixels), label, pixels.tobytes()) for pixels, label in ((numpy.asarray(picture), label) for picture, label in dataset))


def test_fake_data(tmp_path):
    fake = torchvision.datasets.FakeData(12, (3, 16, 18), 3)
    ffkit.convert.from_torch(fake, tmp_path / "pictures", order="sequential", num_workers=1)
    for sample, (picture, label) in zip(ffkit.Dataset(tmp_path / "pictures", "train"), fake, strict=True):
        assert numpy.array_equal(ffkit.decode_image(sample["image"]), numpy.asarray(picture)) and sample["label"] == label
    # Transforms of the data set make tensors, which are stored as they are.
    tensors = torchvision.datasets.FakeData(4, (3, 16, 18), 3, transform=transforms.ToTensor())
    ffkit.convert.from_torch(tensors, tmp_path / "tensors", order="sequential")
    for sample, (tensor, _) in zip(ffkit.Dataset(tmp_path / "tensors", "train"), tensors, strict=True):
        assert torch.equal(torch.from_numpy(sample["image"]), tensor)


class Failing(torch.utils.data.Dataset):
    def __len__(self):
        return 30

    def __getitem__(self, index):
        if index == 7:
            raise OSError("the disk is gone")
        return torch.zeros(3), index


@pytest.mark.parametrize("num_workers", [0, 2])
def test_what_a_sample_raises_comes_out(tmp_path, num_workers):
    with pytest.raises(OSError, match="the disk is gone") as raised:
        ffkit.convert.from_torch(Failing(), tmp_path / "out", fields=("x", "label"), num_workers=num_workers)
    # Workers send the exception as text, with its notes.
    assert "dataset[7]" in str(raised.value) + "".join(getattr(raised.value, "__notes__", []))
    assert not (tmp_path / "out").exists()
