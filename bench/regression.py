#!/usr/bin/env python3
"""Regression clustering beside a plain NumPy implementation with as many starts: error reached, and seconds.

usage: regression.py [--rounds R] [--starts S]     a Python with manymeans; ./dev bench regression has one

The peer is what a careful user would write: one matrix product for the residuals of all rows and models, the normal
equations of each cluster by numpy.linalg.solve, starts from D + 1 random rows a model, until no label changes.
Both work on the same float64 arrays in this process, take turns, and have one thread each. Seconds are those of the processor,
so that the numbers mean the same on a busy machine; BLAS is NumPy's. Where R and its package flexmix are installed
(Debian: r-cran-flexmix), flexmix fits as many starts, once: hard classified, and weighted (its default).
"""

import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import time

import machine
import numpy as np
import threadpoolctl

import manymeans
from manymeans import RegressionClustering

HERE = pathlib.Path(__file__).resolve().parent
DATA = str(HERE.parent / "data" / "bike_sharing.csv.gz")
MOST_ITERATIONS = 300


def bikes():
    table = manymeans.read(DATA, columns="temp,hum,windspeed,workingday,cnt", dtype="float64").points
    return table[:, :-1], table[:, -1]


def planted(rows, features, models, seed):
    """Models in the same place; the noise is a tenth of the target's spread."""
    random = np.random.default_rng(seed)
    x = random.normal(size=(rows, features))
    coefficients = random.normal(size=(models, features + 1))
    whose = random.integers(0, models, rows)
    y = (x * coefficients[whose, :-1]).sum(axis=1) + coefficients[whose, -1]
    return x, y + random.normal(scale=0.1 * y.std(), size=rows)


SETS = [
    ("bike sharing, 17,379 x 4, k = 4", bikes, 4),
    ("planted, 20,000 x 4, k = 8", lambda: planted(20_000, 4, 8, 1), 8),
    ("planted, 100,000 x 8, k = 4", lambda: planted(100_000, 8, 4, 2), 4),
]


def least_squares(design, y):
    try:
        return np.linalg.solve(design.T @ design, design.T @ y)
    except np.linalg.LinAlgError:
        return np.linalg.lstsq(design, y)[0]


def one_start(x, y, k, random):
    """The error of the models that one start leads to."""
    design = np.column_stack([x, np.ones(len(x))])
    width = design.shape[1]
    starts = (random.choice(len(x), width, replace=False) for _ in range(k))
    models = np.stack([least_squares(design[rows], y[rows]) for rows in starts])
    labels = None
    for _ in range(MOST_ITERATIONS):
        residuals = np.square(y[:, np.newaxis] - design @ models.T)
        nearest = residuals.argmin(axis=1)
        if labels is not None and np.array_equal(nearest, labels):
            break
        labels = nearest
        for cluster in range(k):
            mine = labels == cluster
            if mine.sum() >= width:
                models[cluster] = least_squares(design[mine], y[mine])
    return residuals[np.arange(len(x)), nearest].sum()


def by_numpy(x, y, k, starts):
    random = np.random.default_rng(0)
    return min(one_start(x, y, k, random) for _ in range(starts))


def by_manymeans(x, y, k, starts, swaps):
    return RegressionClustering(k, n_init=starts, swaps=swaps, random_state=0, n_threads=1).fit(x, y).inertia_


def by_flexmix(x, y, k, starts, classified):
    """(error, seconds, starts with an answer), or nothing where it is not installed."""
    if shutil.which("Rscript") is None:
        return None
    with tempfile.NamedTemporaryFile(suffix=".csv") as file:
        np.savetxt(file.name, np.column_stack([x, y]), delimiter=",", fmt="%.17g")
        command = ["Rscript", str(HERE / "peers" / "flexmix_regression.R"), file.name, k, starts, MOST_ITERATIONS]
        command.append(classified)
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        done = subprocess.run(list(map(str, command)), env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return [float(word) for word in done.stdout.split()]


def timed(work):
    begin = time.process_time()
    error = work()
    return error, time.process_time() - begin


def row(title, make, k, arguments):
    x, y = make()
    few = max(1, arguments.starts // 4)
    sides = {
        "NumPy": lambda: by_numpy(x, y, k, arguments.starts),
        "no swaps": lambda: by_manymeans(x, y, k, arguments.starts, 0),
        "swaps": lambda: by_manymeans(x, y, k, arguments.starts, 10),
        "few": lambda: by_manymeans(x, y, k, few, 10),
    }
    seconds, errors = {name: [] for name in sides}, {}
    for _ in range(arguments.rounds):
        for name, work in sides.items():
            errors[name], took = timed(work)
            seconds[name].append(took)
    took = {name: statistics.median(values) for name, values in seconds.items()}
    cells = [title, f"{errors['NumPy']:.6g}", f"{took['NumPy']:.2f}"]
    for classified in ("hard", "weighted"):
        flexmix = by_flexmix(x, y, k, arguments.starts, classified)
        if flexmix:
            more = 100 * (flexmix[0] / errors["NumPy"] - 1)
            cells += [f"{more:+.2f} % ({flexmix[2]:.0f} starts)", f"{flexmix[1]:.1f}"]
        else:
            cells += ["not installed", ""]
    for name in ("no swaps", "swaps", "few"):
        more = 100 * (errors[name] / errors["NumPy"] - 1)
        cells += [f"{more:+.2f} %", f"{took[name]:.3f}", f"{took['NumPy'] / took[name]:.1f}"]
    return cells


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--starts", type=int, default=16)
    arguments = parser.parse_args()
    about = machine.describe()
    few = max(1, arguments.starts // 4)
    versions = f"manymeans {manymeans.__version__}, numpy {np.__version__}"
    print(f"{about['cpu']}, one thread each, {versions}, float64, {arguments.starts} starts;")
    print(f"medians of {arguments.rounds} alternating rounds; errors beside NumPy's.\n")
    sides = [f"{arguments.starts} starts, no swaps", f"{arguments.starts} starts", f"{few} starts"]
    titles = ["rows", "NumPy: error", "s", "flexmix, hard: error", "s", "flexmix: error", "s"] + [
        cell for side in sides for cell in (f"{side}: error", "s", "times faster")
    ]
    print("| " + " | ".join(titles) + " |\n| --- |" + " ---: |" * (len(titles) - 1))
    with threadpoolctl.threadpool_limits(1):
        for title, make, k in SETS:
            print("| " + " | ".join(row(title, make, k, arguments)) + " |", flush=True)


if __name__ == "__main__":
    main()
