#!/usr/bin/env python3
"""Records a second: searched for duplicates by ffinspect, which hashes each picture, and given by ffkit.Loader, in turns.

    bench/serve/duplicates.py DATA SPLIT [--repetitions 5] [--ffinspect build/release/tools/ffinspect]

The loader gives batches for training (a random crop of 224) and for evaluation (the whole picture). Warm files; no side file is read or written.
"""
import argparse
import pathlib
import statistics
import subprocess
import time

import ffkit

BUILT = pathlib.Path(__file__).resolve().parents[2] / 'build/release/tools/ffinspect'


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('data')
    parser.add_argument('split')
    parser.add_argument('--repetitions', type=int, default=5)
    parser.add_argument('--ffinspect', default=str(BUILT))
    options = parser.parse_args()
    dataset = ffkit.Dataset(options.data, options.split)

    def load(image):
        for _ in ffkit.Loader(dataset, 64, image=ffkit.ImageOptions(image, dtype='uint8'), order='sequential', tail='exact'):
            pass

    def search():
        command = [options.ffinspect, 'duplicates', options.data, '--split', options.split, '--hashes', 'off', '--limit', '1']
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    ways = {
        'duplicates': search,
        'loader, RandomResizedCrop(224)': lambda: load(ffkit.RandomResizedCrop(224, flip_probability=0.5)),
        'loader, ResizeCenterCrop(256, 224)': lambda: load(ffkit.ResizeCenterCrop(256, 224)),
    }
    rates = {name: [] for name in ways}
    for repetition in range(options.repetitions + 1):
        for name, way in ways.items():
            start = time.perf_counter()
            way()
            if repetition:  # the first one warms
                rates[name].append(len(dataset) / (time.perf_counter() - start))
    for name, values in rates.items():
        ratios = [one / other for one, other in zip(rates['duplicates'], values)]
        print(f'{name:42} {statistics.median(values):6.0f}   duplicates / it {statistics.median(ratios):.2f} ({min(ratios):.2f} .. {max(ratios):.2f})')


main()
