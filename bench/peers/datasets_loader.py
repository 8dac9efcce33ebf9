#!/usr/bin/env python3
"""Hugging Face's datasets: parquet files of pictures in its cache, random rows read by the workers of a DataLoader."""
import datasets

import common

options = common.parse(__doc__)
pictures = common.pictures(options.folder)


def make(folder):
    def rows():
        for path, label in pictures:
            yield {"image": {"bytes": path.read_bytes(), "path": path.name}, "label": label}

    features = datasets.Features({"image": datasets.Image(), "label": datasets.Value("int64")})
    datasets.Dataset.from_generator(rows, features=features, cache_dir=str(folder / "making")).to_parquet(str(folder / "train-00000-of-00001.parquet"))


def main():
    folder = common.made(options.work / "parquet", make)
    datasets.disable_progress_bars()
    dataset = datasets.load_dataset("parquet", data_files=str(folder / "*.parquet"), split="train", cache_dir=str(folder / "cache"))
    transform = common.torch_transform(options)

    def transformed(rows):
        return {"image": [transform(image.convert("RGB")) for image in rows["image"]], "label": rows["label"]}

    class Pairs:
        rows = dataset.with_transform(transformed)

        def __len__(self):
            return len(self.rows)

        def __getitem__(self, i):
            row = self.rows[i]
            return row["image"], row["label"]

    common.measure("Hugging Face datasets + DataLoader", "datasets", common.torch_batches(Pairs(), options, len(dataset), sampled=True), options, len(dataset))


main()
