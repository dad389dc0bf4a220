#!/usr/bin/env python3
"""MiniBatchKMeans and BisectingKMeans beside scikit-learn's: inertia and seconds of whole fits.

usage: minibatch.py [--seeds S] [--out FILE]     a Python with manymeans and scikit-learn

Both get the same float32 array in memory, and the same seeds (which choose other rows in each). They take turns, have
one thread each, and seconds are those of the processor, so that the numbers mean the same on a busy machine; how many
times faster it was by the clock is there, too. Numbers are medians over the seeds: one seed says little, because where a fit begins decides some per cent of its inertia. For
the same reason a split of BisectingKMeans is the best of ten, and its sets are at most 20,000 rows.
Writes a table in Markdown; FILE is standard output by default.
"""

import argparse
import statistics
import time
import warnings

import data_sets
import machine
import sklearn
import sklearn.cluster
import threadpoolctl

import manymeans

warnings.simplefilter("ignore")

SETS = [
    ("Birch 1, 100k x 2", {"set": "birch1"}, 100),
    ("Skin, 245k x 3", {"set": "skin"}, 20),
    ("KDD Cup, 494k x 38", {"set": "kdd"}, 23),
    ("MNIST, 60k x 784", {"set": "mnist"}, 10),
    ("MNIST, 60k x 784", {"set": "mnist"}, 100),
]
KINDS = [
    ("MiniBatchKMeans", {}, {}),
    ("BisectingKMeans", {"n_init": 10, "init": "k-means++"}, {"rows": 20_000}),
]


def seconds_of(estimator, points):
    begin, clock = time.process_time(), time.perf_counter()
    estimator.fit(points)
    return time.process_time() - begin, time.perf_counter() - clock


def compare(name, options, points, k, arguments):
    found = {"manymeans": [], "scikit-learn": []}
    for seed in range(arguments.seeds):
        for side, module in (("manymeans", manymeans), ("scikit-learn", sklearn.cluster)):
            estimator = getattr(module, name)(k, random_state=seed, **options)
            found[side].append((*seconds_of(estimator, points), estimator.inertia_))
    return [[statistics.median(column) for column in zip(*found[side], strict=True)] for side in found]


def row(kind, what, k, ours, theirs):
    return (
        f"| {kind} | {what}, k = {k} | {ours[0]:.3f} | {theirs[0]:.3f} | {theirs[0] / ours[0]:.2f} | "
        f"{theirs[1] / ours[1]:.2f} | {ours[2]:.6g} | {theirs[2]:.6g} | {ours[2] / theirs[2]:.4f} |"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=9)
    parser.add_argument("--out")
    arguments = parser.parse_args()
    about = machine.describe()
    lines = [
        "# Mini-batches and bisections beside scikit-learn",
        "",
        f"`python3 bench/minibatch.py --seeds {arguments.seeds}` on {about['cpu']}, manymeans {manymeans.__version__}, "
        f"scikit-learn {sklearn.__version__}. Medians over the seeds; float32; seconds of the processor, one thread; "
        "default options, of BisectingKMeans with `init=\"k-means++\"` and `n_init=10`, on 20,000 of the rows.",
        "",
        "| estimator | points | manymeans, s | scikit-learn, s | times faster | by the clock | inertia | scikit-learn's | ratio |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    with threadpoolctl.threadpool_limits(1):
        for what, spec, k in SETS:
            for kind, options, least in KINDS:
                points = data_sets.make(spec | least)
                lines.append(row(kind, what, k, *compare(kind, options, points, k, arguments)))
                print(lines[-1], flush=True)
    text = "\n".join(lines) + "\n"
    if arguments.out:
        with open(arguments.out, "w", encoding="utf-8") as file:
            file.write(text)
    else:
        print(text)


if __name__ == "__main__":
    main()
