"""Transformers' Trainer and Accelerate with ffkit's loaders, and a data set as `datasets` shows one."""
import importlib.util
import os
import pathlib

import accelerate
import datasets
import numpy
import PIL.Image
import pytest
import torch
import transformers
from transformers import PretrainedConfig, PreTrainedModel, TrainingArguments

import ffkit
import ffkit.hf
import ffkit.torch
import networks
import ranks
from pictures import data  # noqa: F401

transformers.utils.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()
EXAMPLES = pathlib.Path(__file__).parents[3] / "examples" / "python"
TRAIN, VAL = ffkit.ImageOptions(ffkit.RandomResizedCrop(24, flip_probability=0.5)), ffkit.ImageOptions(ffkit.Resize((24, 24)))


class Network(PreTrainedModel):
    """As an image classifier of Transformers: pixel_values and labels to loss and logits."""

    config_class = PretrainedConfig
    main_input_name = "pixel_values"

    def __init__(self, config):
        super().__init__(config)
        self.layers = networks.tiny()
        self.seen, self.losses = [], []
        self.post_init()

    def forward(self, pixel_values, labels=None):
        logits = self.layers(pixel_values)
        loss = None if labels is None else torch.nn.functional.cross_entropy(logits, labels)
        if self.training:
            self.seen.append(pixel_values.sum((1, 2, 3)).tolist())
            self.losses.append(loss.item())
        return {"loss": loss, "logits": logits}


class Trainer(ffkit.hf.TrainerMixin, transformers.Trainer):
    loader_options = {"num_threads": 1}


class PlainTrainer(transformers.Trainer):
    """With get_train_dataloader() as people override it."""

    def get_train_dataloader(self):
        dataset = self.train_dataset
        return ffkit.Loader(dataset.dataset, self._train_batch_size, image=None, label_field=None, fields=dataset.fields, tail="even", seed=self.args.seed, num_threads=1)


def make_dataset(data, split):
    fields = {"pixel_values": ffkit.ImageField("image", TRAIN if split == "train" else VAL), "labels": ffkit.IntegerField("label")}
    return ffkit.hf.Dataset(data, split, fields=fields)


def arguments(folder, **options):
    options = {"num_train_epochs": 3, "per_device_train_batch_size": 8, "per_device_eval_batch_size": 8, "learning_rate": 0.01, "save_strategy": "no", "report_to": [], "seed": 1,
               "use_cpu": True, "remove_unused_columns": False, "disable_tqdm": True, "logging_steps": 1000} | options
    return TrainingArguments(str(folder), **options)


def right(prediction):
    return {"right": int((prediction.predictions.argmax(-1) == prediction.label_ids).sum()), "count": len(prediction.label_ids)}


def train(data, folder, kind=Trainer, resume=None, **options):
    trainer = kind(Network(PretrainedConfig()), arguments(folder, **options), train_dataset=make_dataset(data, "train"), eval_dataset=make_dataset(data, "val"), compute_metrics=right)
    trainer.train(resume_from_checkpoint=resume)
    return trainer


def epochs(seen, num_batches=8):
    return [sum(seen[i : i + num_batches], []) for i in range(0, len(seen), num_batches)]


def test_train_evaluate_predict(data, tmp_path):
    trainer = train(data, tmp_path, eval_strategy="epoch")
    parts = epochs(trainer.model.seen)
    assert [len(part) for part in parts] == [61] * 3 and parts[0] != parts[1] != parts[2]
    assert trainer.state.global_step == 24
    found = trainer.evaluate()
    assert found["eval_count"] == 21
    predictions = trainer.predict(make_dataset(data, "val"))
    assert predictions.predictions.shape == (21, 4)
    assert predictions.label_ids.tolist() == ffkit.Dataset(data, "val").column("label").tolist()


def test_the_same_as_trainers_own_loader(data, tmp_path):
    """Losses, metrics and numbers over the same decoded samples."""
    ours = train(data, tmp_path / "ours", num_train_epochs=1)
    loader = ffkit.Loader(ffkit.Dataset(data, "train"), 8, image=None, label_field=None, fields=make_dataset(data, "train").fields, tail="exact", seed=1, num_threads=1)
    samples = [{"pixel_values": image.clone(), "labels": label} for batch in loader for image, label in zip(batch["pixel_values"], batch["labels"].tolist())]
    loader = ffkit.Loader(ffkit.Dataset(data, "val"), 8, image=None, label_field=None, fields=make_dataset(data, "val").fields, tail="exact", order="sequential", num_threads=1)
    val = [{"pixel_values": image.clone(), "labels": label} for batch in loader for image, label in zip(batch["pixel_values"], batch["labels"].tolist())]
    args = arguments(tmp_path / "theirs", num_train_epochs=1, train_sampling_strategy="sequential")
    theirs = transformers.Trainer(Network(PretrainedConfig()), args, train_dataset=samples, eval_dataset=val, compute_metrics=right)
    theirs.train()
    assert ours.model.losses == theirs.model.losses and ours.model.seen == theirs.model.seen
    same = ("eval_loss", "eval_right", "eval_count")
    assert [ours.evaluate()[name] for name in same] == [theirs.evaluate()[name] for name in same]


@pytest.mark.parametrize("step", [3, 8, 12])
def test_resume_from_a_checkpoint_is_the_whole_run(data, tmp_path, step):
    whole = train(data, tmp_path, save_strategy="steps", save_steps=step, save_total_limit=None)
    rest = train(data, tmp_path, resume=str(tmp_path / f"checkpoint-{step}"))
    assert rest.state.global_step == 24
    assert rest.model.seen == whole.model.seen[step:]
    assert rest.model.losses == whole.model.losses[step:]
    assert all(torch.equal(a, b) for a, b in zip(whole.model.state_dict().values(), rest.model.state_dict().values()))


class TrainerWithMemory(Trainer):
    loader_options = {"num_threads": 1, "memory": ffkit.Memory(prefetch_batches=1)}


@pytest.mark.parametrize("kind", [Trainer, TrainerWithMemory])
def test_accumulated_gradients(data, tmp_path, kind):
    trainer = train(data, tmp_path, kind, gradient_accumulation_steps=5)
    assert trainer.state.global_step == 3 * 2 and [len(part) for part in epochs(trainer.model.seen)] == [61] * 3


def test_drop_last_and_max_steps(data, tmp_path):
    trainer = train(data, tmp_path, dataloader_drop_last=True, max_steps=10)
    assert [len(one) for one in trainer.model.seen] == [8] * 10
    assert not set(trainer.model.seen[0]) & set(trainer.model.seen[7])


def test_loader_in_an_overridden_method(data, tmp_path):
    """The few lines that people write, without ffkit.hf: batches are rebuilt by type(batch)(...)."""
    trainer = train(data, tmp_path, PlainTrainer)
    parts = epochs(trainer.model.seen)
    assert [len(part) for part in parts] == [61] * 3 and parts[0] != parts[1] != parts[2]


def test_plain_trainer_reads_the_view(data, tmp_path):
    """Without loaders of ffkit: torch's loader over the view, and a transform in Python."""
    def transform(samples):
        pixels = [torch.from_numpy(numpy.asarray(one.resize((24, 24)))).permute(2, 0, 1) / 255 for one in samples["image"]]
        return {"pixel_values": pixels, "labels": samples["label"]}

    view = ffkit.hf.Dataset(data, "train").with_transform(transform)
    for kind in (transformers.Trainer, Trainer):  # a view without `fields` is Trainer's
        evaluated = {"few": view.select(range(10)), "some": view.select([value % 3 == 0 for value in range(61)])}
        trainer = kind(Network(PretrainedConfig()), arguments(tmp_path, num_train_epochs=1), train_dataset=view, eval_dataset=evaluated, compute_metrics=right)
        trainer.train()
        found = trainer.evaluate()
        assert len(trainer.model.seen) == 8 and (found["eval_few_count"], found["eval_some_count"]) == (10, 21)
        assert trainer.predict(view.select([1])).predictions.shape == (1, 4)


def test_several_data_sets_of_evaluation(data, tmp_path):
    few = make_dataset(data, "val").select(range(5))
    trainer = Trainer(Network(PretrainedConfig()), arguments(tmp_path), eval_dataset={"all": make_dataset(data, "val"), "few": few}, compute_metrics=right)
    found = trainer.evaluate()
    assert (found["eval_all_count"], found["eval_few_count"]) == (21, 5)


def test_what_the_mixin_refuses(data, tmp_path):
    with pytest.raises(ffkit.InvalidArgumentError, match="data_collator"):
        Trainer(Network(PretrainedConfig()), arguments(tmp_path), train_dataset=make_dataset(data, "train"), data_collator=lambda samples: samples).train()
    with pytest.raises(ffkit.UnsupportedError, match="group_by_length"):
        train(data, tmp_path, train_sampling_strategy="group_by_length")


def by_two_ranks(data, folder):
    trainer = train(data, folder, num_train_epochs=2, ddp_find_unused_parameters=False)
    found = trainer.evaluate()
    return trainer.model.seen, found["eval_count"], found["eval_right"], [parameter.sum().item() for parameter in trainer.model.parameters()]


def test_two_ranks(data, tmp_path):
    (first, count, num_right, weights), (second, *others) = ranks.run(by_two_ranks, data, tmp_path)
    assert others == [count, num_right, weights] and count == 21
    assert [len(part) for part in epochs(first, 4)] == [32, 32]  # as Accelerate does: all batches are full
    for epoch in (0, 1):
        assert len({*epochs(first, 4)[epoch], *epochs(second, 4)[epoch]}) >= 60


class TensorParallelTrainer(Trainer):
    def get_tp_size(self):
        return 2


def by_one_model(data, folder):
    trainer = train(data, folder, TensorParallelTrainer, num_train_epochs=1)
    return trainer.model.seen


def test_ranks_that_hold_one_model_load_the_same(data, tmp_path):
    first, second = ranks.run(by_one_model, data, tmp_path)
    assert first == second and len(sum(first, [])) == 61


# --- Accelerate

def accelerate_loop(accelerator, loader, epochs=2):
    """As in Accelerate's examples."""
    torch.manual_seed(0)
    model = networks.tiny()
    optimizer = torch.optim.SGD(model.parameters(), 0.02)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    losses, seen, steps = [], [], 0
    for _ in range(epochs):
        for batch in loader:
            images, labels = batch if isinstance(batch, (tuple, list)) else (batch["image"], batch["label"])
            with accelerator.accumulate(model):
                loss = torch.nn.functional.cross_entropy(model(images), labels)
                accelerator.backward(loss)
                steps += accelerator.sync_gradients
                optimizer.step()
                optimizer.zero_grad()
            losses.append(loss.item())
            seen.append(images.sum((1, 2, 3)).tolist())
    return losses, seen, steps


def accelerate_loaders(data, **options):
    def make_loader():
        return ffkit.Loader(ffkit.Dataset(data, "train"), 8, image=TRAIN, tail="exact", num_threads=1, **options)

    return make_loader


def test_accelerate_prepare(data):
    make_loader = accelerate_loaders(data)
    losses, seen, steps = accelerate_loop(accelerate.Accelerator(cpu=True), make_loader())
    assert [len(part) for part in epochs(seen)] == [61, 61] and epochs(seen)[0] != epochs(seen)[1]
    accelerator = accelerate.Accelerator(cpu=True)
    assert accelerate_loop(accelerator, ffkit.hf.prepare(accelerator, make_loader())) == (losses, seen, 16)
    pairs = ffkit.torch.DataLoader(ffkit.Dataset(data, "train"), 8, shuffle=True, transform=TRAIN, num_workers=1)
    assert accelerate_loop(accelerator, ffkit.hf.prepare(accelerator, pairs)) == (losses, seen, 16)


def test_accelerate_accumulates_to_the_end_of_an_epoch(data):
    accelerator = accelerate.Accelerator(cpu=True, gradient_accumulation_steps=3)
    _, _, steps = accelerate_loop(accelerator, ffkit.hf.prepare(accelerator, accelerate_loaders(data)()))
    assert steps == 2 * 3  # of 8 batches: 3, 3 and 2


def test_accelerate_resume(data):
    """By the loader's state, and by skip_first_batches."""
    accelerator = accelerate.Accelerator(cpu=True)
    make_loader = accelerate_loaders(data)
    whole = ffkit.hf.prepare(accelerator, make_loader())
    want, state = [], None
    for epoch in range(2):
        for i, batch in enumerate(whole):
            want.append(batch["image"].sum((1, 2, 3)).tolist())
            if (epoch, i) == (1, 2):
                state = whole.state_dict()
    rest = ffkit.hf.prepare(accelerator, make_loader())
    rest.load_state_dict(state)
    assert [batch["image"].sum((1, 2, 3)).tolist() for batch in rest] == want[11:]
    skipped = ffkit.hf.prepare(accelerator, make_loader())
    skipped.set_epoch(1)
    assert [batch["image"].sum((1, 2, 3)).tolist() for batch in accelerator.skip_first_batches(skipped, 3)] == want[11:]


def gathered(data):
    accelerate.state.AcceleratorState._reset_state(reset_partial_state=True)  # a rank is a fork of one that trained alone
    accelerator = accelerate.Accelerator(cpu=True)
    loader = ffkit.Loader(ffkit.Dataset(data, "val"), 4, image=VAL, order="sequential", tail="pad", num_threads=1)
    labels = [accelerator.gather_for_metrics(batch["label"]) for batch in ffkit.hf.prepare(accelerator, loader)]
    return torch.cat(labels).tolist()


def test_gather_for_metrics(data):
    want = ffkit.Dataset(data, "val").column("label").tolist()
    assert ranks.run(gathered, data) == [want, want]
    assert gathered(data) == want


# --- The view

def test_view(data):
    records = ffkit.Dataset(data, "val")
    view = ffkit.hf.Dataset(records)
    assert len(view) == view.num_rows == 21 and view.column_names == list(records.schema)
    sample = view[3]
    assert isinstance(sample["image"], PIL.Image.Image) and numpy.array_equal(numpy.asarray(sample["image"].convert("RGB")), ffkit.decode_image(records[3]["image"]))
    assert sample["label"] == records[3]["label"] == view[-18]["label"]
    assert view["label"] == records.column("label").tolist() and view[2:5]["label"] == view["label"][2:5] and view[[1, 4]]["label"] == [view["label"][1], view["label"][4]]
    assert [one["label"] for one in view] == view["label"]
    assert [one.size for one in view["image"]] == [(32, 32)] * 21
    mask = [label == 2 for label in view["label"]]
    assert view[mask]["label"] == [2] * sum(mask) and len(view.select(numpy.array(mask))) == sum(mask)
    assert view[numpy.int64(3)]["label"] == view[torch.tensor(3)]["label"] == view["label"][3]
    assert view[-2:]["label"] == view["label"][-2:] and view[numpy.array([-1])]["label"] == view["label"][-1:]
    for wrong in (1.5, [0.5], True):
        with pytest.raises(TypeError):
            view[wrong]
    chosen = view.select([4, 2])
    assert len(chosen) == 2 and chosen[0]["label"] == view[4]["label"]
    with pytest.raises(KeyError, match="'lable'.*label"):
        view["lable"]
    with pytest.raises(IndexError):
        view[21]


def test_features(data, tmp_path):
    view = ffkit.hf.Dataset(data, "val")
    assert isinstance(view.features, datasets.Features) and isinstance(view.features["image"], datasets.Image)
    names = view.features["label"].names
    assert len(names) == 4 and names == (view.dataset.class_names or view.dataset.classes) and view.features["label"].int2str(2) == names[2]
    with ffkit.Writer(tmp_path / "mine", split="train", schema={"id": "string", "x": "f32", "box": "tensor[f32]", "raw": "bytes", "names": "list[string]", "parts": "list[tensor[i64]]"}) as writer:
        writer.write({"id": "a", "x": 1.5, "box": numpy.zeros((2, 4), "f4"), "raw": b"x", "names": ["p", "q"], "parts": [numpy.ones((1, 2), "i8")]})
    view = ffkit.hf.Dataset(tmp_path / "mine", "train")
    want = datasets.Features({"id": datasets.Value("string"), "x": datasets.Value("float32"), "box": datasets.List(datasets.List(datasets.Value("float32"))),
                              "raw": datasets.Value("binary"), "names": datasets.List(datasets.Value("string")),
                              "parts": datasets.List(datasets.List(datasets.List(datasets.Value("int64"))))})
    assert view.features == want
    # A data set of `datasets` made of the view has its samples.
    copy = datasets.Dataset.from_list(list(view), features=view.features)
    assert copy[0] == {**view[0], "box": view[0]["box"].tolist(), "parts": [[[1, 1]]]}


def test_scripts_of_transformers(data):
    """What run_image_classification.py asks of a data set."""
    view = ffkit.hf.Dataset(data, "train")
    labels = view.features["label"].names
    label2id = {label: str(i) for i, label in enumerate(labels)}
    assert len(label2id) == 4 and "image" in view.column_names
    assert len(view.select(range(5))) == 5 and os.fspath(view.dataset.path)


def test_example(data, tmp_path):
    spec = importlib.util.spec_from_file_location("huggingface_trainer", EXAMPLES / "huggingface_trainer.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    options = {"use_cpu": True, "report_to": [], "per_device_train_batch_size": 8, "save_strategy": "epoch", "disable_tqdm": True}
    trainer = module.main(data, Network(PretrainedConfig()), 32, str(tmp_path / "run"), num_train_epochs=1, **options)
    assert trainer.state.global_step == 8 and "eval_accuracy" in trainer.state.log_history[-2]
    trainer = module.main(data, Network(PretrainedConfig()), 32, str(tmp_path / "run"), num_train_epochs=2, **options)
    assert trainer.state.global_step == 16 and len(trainer.model.losses) == 8  # it went on
