#!/usr/bin/env python3
"""A pass over dask workers beside the same pass in one process.

    dask_passes.py [--rows ROWS] [--columns COLUMNS] [--clusters K] [--workers W] [--threads T] [--repeats R]

W workers, processes of this machine with T threads each, have the points in one chunk each (a task that uses T threads)
or in W T chunks (tasks of one thread). A pass is the difference between fits of 22 iterations and of 2, divided by 20;
one process with W T threads fits the same array in turns with them. The digests have to be equal. Prints milliseconds,
the least and the median of the repeats, and what the workers add. Needs manymeans, dask and distributed.
"""

import argparse
import os
import statistics
import sys
import time

# This folder's sparse.py is not the package that dask looks for.
sys.path = [folder for folder in sys.path if folder != os.path.dirname(os.path.abspath(__file__))]

import dask.array  # noqa: E402
import distributed  # noqa: E402
import numpy as np  # noqa: E402

import manymeans  # noqa: E402
import manymeans.dask  # noqa: E402

FEW, MANY = 2, 22


def make_points(rows, columns):
    rng = np.random.default_rng(1)
    centres = 2 * rng.normal(size=(50, columns)).astype(np.float32)
    return centres[rng.integers(50, size=rows)] + rng.standard_normal((rows, columns), dtype=np.float32)


def pass_of(fit):
    """Milliseconds of a pass, and the digests."""
    seconds, digests = {}, []
    for iterations in (FEW, MANY):
        begin = time.perf_counter()
        digests.append(fit(iterations))
        seconds[iterations] = time.perf_counter() - begin
    return 1e3 * (seconds[MANY] - seconds[FEW]) / (MANY - FEW), digests


def sides_of(points, given):
    """Name and fit(iterations) -> digest of one process and of both ways over the workers."""
    parameters = {"init": "random", "random_state": 1, "tol": 0, "n_init": 1}

    def alone(iterations):
        model = manymeans.KMeans(given.clusters, max_iter=iterations, n_threads=given.workers * given.threads, **parameters)
        return model.fit(points).result_.digest

    def over(chunks, threads):
        rows = dask.array.from_array(points, chunks=(-(-given.rows // chunks), given.columns)).persist()
        distributed.wait(rows)

        def fit(iterations):
            model = manymeans.dask.KMeans(given.clusters, max_iter=iterations, n_threads=threads, **parameters)
            return model.fit(rows).result_.digest

        return fit

    yield "one process", alone
    yield f"{given.workers} workers, a chunk each", over(given.workers, given.threads)
    yield f"{given.workers} workers, a chunk for each thread", over(given.workers * given.threads, 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--columns", type=int, default=32)
    parser.add_argument("--clusters", type=int, default=64)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    points = make_points(given.rows, given.columns)
    cluster = distributed.LocalCluster(
        n_workers=given.workers, threads_per_worker=given.threads, processes=True, dashboard_address=None
    )
    with cluster, distributed.Client(cluster):
        sides = list(sides_of(points, given))
        found, digests = {name: [] for name, _ in sides}, set()
        for _ in range(given.repeats):
            for name, fit in sides:
                milliseconds, its = pass_of(fit)
                found[name].append(milliseconds)
                digests.add(tuple(its))
    print(f"{given.rows} x {given.columns}, k = {given.clusters}, {given.repeats} repeats")
    first = None
    for name, times in found.items():
        least, median = min(times), statistics.median(times)
        first = first or (least, median)
        print(f"  {name:36} {least:8.2f} ({median:8.2f}) ms a pass, {least - first[0]:+.2f} ({median - first[1]:+.2f})")
    print("  digests equal" if len(digests) == 1 else f"  DIGESTS DIFFER: {digests}")
    if len(digests) > 1:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
