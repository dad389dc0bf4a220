"""Optimal clusters of numbers beside other packages: processor time, and inertia.

python3 bench/one_dimension.py [--rows 4096]

Packages that are not installed are left out (pip install ckmeans kmeans1d flash1dkmeans). Each row is a problem. Peers
get one row after the other.
"""

import argparse
import importlib.util
import time

import numpy as np

import manymeans

LEVELS = 16


def by_manymeans(package, values, weights):
    """Give the labels of each row, as all functions of this kind."""
    return package.optimal_1d(values, LEVELS, weights, n_threads=2).labels


def by_kmeans1d(package, values, weights):
    """Without weights."""
    return [package.cluster(row, LEVELS).clusters for row in values]


def by_ckmeans(package, values, weights):
    """Without weights; it gives the values of each cluster."""
    parts = [package.ckmeans(row, LEVELS) for row in values]
    return [np.searchsorted([part[-1] for part in its[:-1]], row) for its, row in zip(parts, values, strict=True)]


def by_flash1dkmeans(package, values, weights):
    """No optimum, but fast."""
    weights = weights if weights is not None else [None] * len(values)
    rows = zip(values, weights, strict=True)
    return [package.kmeans_1d(x, LEVELS, sample_weights=w, random_state=0)[1] for x, w in rows]


# Whether they take weights.
PACKAGES = {
    "manymeans": (by_manymeans, True),
    "flash1dkmeans": (by_flash1dkmeans, True),
    "ckmeans": (by_ckmeans, False),
    "kmeans1d": (by_kmeans1d, False),
}


def inertia(values, weights, labels):
    """Give the weighted sum of squared distances to the means of these labels."""
    x, labels = values.astype(np.float64), np.asarray(labels)
    w = np.ones_like(x) if weights is None else weights.astype(np.float64)
    sums, totals = np.bincount(labels, w * x, LEVELS), np.bincount(labels, w, LEVELS)
    return float((w * (x - (sums / np.maximum(totals, 1e-300))[labels]) ** 2).sum())


def main():
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=4096)
    rows = parser.parse_args().rows
    rng = np.random.default_rng(0)
    values = rng.standard_normal((rows, 4096), dtype=np.float32)
    random = rng.random((rows, 4096), dtype=np.float32) + np.float32(0.01)
    print(
        "| weights | package | seconds | processor seconds | of manymeans | rows with more inertia | with less | mean |"
    )
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for weights in (random, None):
        for name, (cluster, takes_weights) in PACKAGES.items():
            if importlib.util.find_spec(name) is None or (weights is not None and not takes_weights):
                continue
            package = importlib.import_module(name)
            cluster(package, values[:2], None if weights is None else weights[:2])  # compiles
            clock, processor = time.perf_counter(), time.process_time()
            labels = cluster(package, values, weights)
            clock, processor = time.perf_counter() - clock, time.process_time() - processor
            weights_of = [None] * rows if weights is None else weights
            its = np.array([inertia(values[i], weights_of[i], labels[i]) for i in range(rows)])
            if package is manymeans:
                own, lowest = processor, its
            more, less = int((its > lowest * (1 + 1e-9)).sum()), int((its < lowest * (1 - 1e-9)).sum())
            kind = "none" if weights is None else "random"
            times = f"{clock:.2f} | {processor:.2f} | {processor / own:.2f}"
            print(f"| {kind} | {name} | {times} | {more} | {less} | {its.mean():.6f} |", flush=True)


if __name__ == "__main__":
    main()
