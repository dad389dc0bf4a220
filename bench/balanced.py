#!/usr/bin/env python3
"""Clusters of limited sizes beside k-means-constrained: seconds and inertia of whole fits from the same centres.

usage: balanced.py [--most SECONDS] [--out FILE]     a Python with manymeans and, for its columns, k-means-constrained

Rows are groups of very different sizes, float32, 10 columns; a cluster gets 90 % to 110 % of N / k of them. Both get the
same array and begin with the same rows; each fit has a process of its own, one thread, and at most SECONDS on the clock
(600). Seconds are those of the processor, so that the numbers mean the same on a busy machine. Writes a table in
Markdown; FILE is standard output by default.
"""

import argparse
import json
import os
import resource
import subprocess
import sys

import numpy as np

SHAPES = [(10_000, 10), (100_000, 10), (100_000, 100)]
COLUMNS = 10
PASSES = 100


def points_of(n, k):
    random = np.random.default_rng(1)
    centres = 2 * random.normal(size=(k, COLUMNS))
    groups = (k * random.random(n) ** 2).astype(int)
    return (centres[groups] + random.normal(size=(n, COLUMNS))).astype(np.float32)


def sizes_of(n, k):
    return int(0.9 * n / k), int(1.1 * n / k)


def fit_manymeans(x, k, least, most):
    import manymeans

    found = manymeans.fit(x, k, init=x[:k], min_size=least, max_size=most, max_iter=PASSES, n_threads=1).best()
    return found.inertia, found.n_iter


def fit_constrained(x, k, least, most):
    from k_means_constrained import KMeansConstrained

    init = x[:k].astype(np.float64)
    found = KMeansConstrained(k, size_min=least, size_max=most, init=init, n_init=1, max_iter=PASSES, n_jobs=1)
    found.fit(x)
    return float(found.inertia_), int(found.n_iter_)


SIDES = {"manymeans": fit_manymeans, "k-means-constrained": fit_constrained}


def measure(side, n, k):
    """One fit, in this process."""
    x = points_of(n, k)
    before = os.times()
    inertia, iterations = SIDES[side](x, k, *sizes_of(n, k))
    after = os.times()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    seconds = after.user + after.system - before.user - before.system
    print(json.dumps([seconds, inertia, iterations, memory]))


def measured(side, n, k, most):
    command = [sys.executable, __file__, "--measure", side, str(n), str(k)]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=most)
    except subprocess.TimeoutExpired:
        return f"more than {most} s | | |"
    if done.returncode != 0:
        return f"{done.stderr.strip().splitlines()[-1] if done.stderr.strip() else 'killed'} | | |"
    seconds, inertia, iterations, memory = json.loads(done.stdout.splitlines()[-1])
    return f"{seconds:.2f} | {iterations} | {inertia:.6g} | {memory:.0f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--most", type=int, default=600, help="seconds on the clock for a fit; default: %(default)s")
    parser.add_argument("--out", help="the table")
    parser.add_argument("--measure", nargs=3, metavar=("SIDE", "N", "K"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        return measure(options.measure[0], int(options.measure[1]), int(options.measure[2]))
    lines = [
        "| rows x clusters | package | processor seconds | iterations | inertia | MiB at most |",
        "| --- | --- | ---: | ---: | ---: | ---: |",
    ]
    for n, k in SHAPES:
        lines += [f"| {n} x {k} | {side} | {measured(side, n, k, options.most)} |" for side in SIDES]
    text = "\n".join(lines) + "\n"
    if options.out:
        with open(options.out, "w", encoding="utf-8") as file:
            file.write(text)
    else:
        print(text, end="")
    return None


if __name__ == "__main__":
    main()
