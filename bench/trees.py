#!/usr/bin/env python3
"""Trees and flat fits of manymeans: seconds, inertia and sizes of clusters.

usage: trees.py [--rows N] [--clusters K] [--skewed] [--out FILE]

Rows are 20,000 Gaussian groups with noise, 128 columns, float32; --skewed gives group g a share of 1 / g. Flat fits have
ten iterations. One process runs each side once, on two threads. Writes a table in Markdown; ratios are to the first line.
"""

import argparse
import sys
import time

import manymeans
import numpy as np

GROUPS, COLUMNS, THREADS = 20_000, 128, 2


def mixture(rows, skewed):
    random = np.random.default_rng(1)
    centres = 4 * random.standard_normal((GROUPS, COLUMNS), dtype=np.float32)
    shares = 1 / np.arange(1, GROUPS + 1) if skewed else np.ones(GROUPS)
    points = centres[random.choice(GROUPS, rows, p=shares / shares.sum())]
    points += random.standard_normal((rows, COLUMNS), dtype=np.float32)
    return points


def flat(points, k, **options):
    result = manymeans.fit(points, k, max_iter=10, tol=0, n_threads=THREADS, **options)
    return result.best().inertia, result.best().counts


def tree(points, k, **options):
    if "cap" in options:
        options["max_size"] = int(options.pop("cap") * len(points) / k)
    fitted = manymeans.HierarchicalKMeans(k, random_state=0, n_threads=THREADS, **options).fit(points)
    return fitted.inertia_, fitted.sizes_


SIDES = {
    "flat": (flat, {}),
    "flat, `init=random`": (flat, {"init": "random"}),
    "tree": (tree, {}),
    "tree, `refine=0`": (tree, {"refine": 0}),
    "tree, `init=random`": (tree, {"init": "random"}),
    "tree, a sample of 2 / 5": (tree, {"sample": 0.4}),
    "tree, cap of 2 x the mean": (tree, {"cap": 2}),
    "tree, cap of 1.3 x the mean": (tree, {"cap": 1.3}),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--clusters", type=int, default=4096)
    parser.add_argument("--skewed", action="store_true")
    parser.add_argument("--out")
    options = parser.parse_args()
    points = mixture(options.rows, options.skewed)
    table = ["| | time to flat's | processors, s | clock, s | inertia to flat's | variation | max / mean |",
             "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"]  # fmt: skip
    first = None
    for name, (fit, given) in SIDES.items():
        if "sample" in given:
            given = {"sample": int(given["sample"] * options.rows)}
        begun, used = time.perf_counter(), time.process_time()
        inertia, sizes = fit(points, options.clusters, **given)
        clock, used = time.perf_counter() - begun, time.process_time() - used
        first = first or (used, inertia)
        table.append(f"| {name} | {used / first[0]:.2f} | {used:.1f} | {clock:.1f} | {inertia / first[1]:.4f} "
                     f"| {sizes.std() / sizes.mean():.2f} | {sizes.max() / sizes.mean():.2f} |")  # fmt: skip
        print(table[-1], file=sys.stderr, flush=True)
    with open(options.out, "w") if options.out else sys.stdout as file:
        file.write("\n".join(table) + "\n")


if __name__ == "__main__":
    main()
