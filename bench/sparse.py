#!/usr/bin/env python3
"""KMeans of sparse points beside scikit-learn's: seconds of whole fits, seconds an iteration, and memory.

usage: sparse.py [--rows N] [--columns D] [--entries E] [--clusters K] [--iterations I] [--times T] [--out FILE]
                 a Python with manymeans, SciPy and scikit-learn

The points are like counts of words in texts. Each row has one of 2 K topics and E places; for each place a column is
drawn by a power law, for half of them in the topic's own order of the columns. Values are 1 + log of the count, and
rows have length 1, as TfidfVectorizer makes them, in float32. Both sides get the same CSR matrix in memory and all
processors, and do I iterations (tol=0), from k-means++ (each its own) and from the first K rows. They take turns;
medians of seconds of the clock and of the processors count. Memory is the most that a process of its own needs, which
reads the points and fits them once.
Writes a table in Markdown; FILE is standard output by default.
"""

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import machine
import numpy as np
import sklearn
import sklearn.cluster
from scipy import sparse

import manymeans

warnings.simplefilter("ignore")
SIDES = {"manymeans": manymeans.KMeans, "scikit-learn": sklearn.cluster.KMeans}
NUMBERS = {"rows": 200_000, "columns": 50_000, "entries": 56, "clusters": 100, "iterations": 20, "times": 3}


def power_law(random, columns, shape):
    """Draw columns with shares like 1 / (rank + 10)."""
    shares = np.cumsum(1 / (np.arange(columns) + 10.0))
    return np.searchsorted(shares, random.random(shape) * shares[-1]).astype(np.int32)


def make_points(arguments):
    """Make the points that the module describes."""
    rows, columns, entries, topics = arguments.rows, arguments.columns, arguments.entries, 2 * arguments.clusters
    random = np.random.default_rng(1)
    own = np.array([random.permutation(columns) for _ in range(topics)], dtype=np.int32)
    shared = random.permutation(columns).astype(np.int32)
    topic = random.integers(0, topics, rows)
    drawn = power_law(random, columns, (rows, entries))
    places = np.where(random.random((rows, entries)) < 0.5, own[topic[:, None], drawn], shared[drawn])
    counts = np.ones(places.size, dtype=np.float32)
    points = sparse.csr_matrix(
        (counts, places.ravel(), np.arange(0, rows * entries + 1, entries)), shape=(rows, columns)
    )
    points.sum_duplicates()
    points.data = 1 + np.log(points.data)
    lengths = np.sqrt(np.asarray(points.multiply(points).sum(axis=1)).ravel())
    points.data /= np.repeat(lengths, np.diff(points.indptr)).astype(np.float32)
    return points


def fitted(side, points, arguments, init, iterations):
    """Give seconds of the clock and of the processors of one fit, and its inertia."""
    estimator = SIDES[side](arguments.clusters, init=init, n_init=1, tol=0, max_iter=iterations, random_state=0)
    clock, processors = time.perf_counter(), time.process_time()
    estimator.fit(points)
    return time.perf_counter() - clock, time.process_time() - processors, estimator.inertia_


def compare(points, arguments, init, iterations):
    """Give medians of both sides."""
    found = {side: [] for side in SIDES}
    for _ in range(arguments.times):
        for side in SIDES:
            found[side].append(fitted(side, points, arguments, init, iterations))
    return [[statistics.median(column) for column in zip(*found[side], strict=True)] for side in SIDES]


def row(what, ours, theirs):
    """Give a line of the table."""
    seconds = " | ".join(f"{ours[i]:.2f} | {theirs[i]:.2f} | {theirs[i] / ours[i]:.1f}" for i in (0, 1))
    return f"| {what} | {seconds} | {ours[2] / theirs[2]:.5f} |"


def peak(side, path, arguments):
    """Give the most memory of a process that does one fit, in GB."""
    numbers = [f"--{name}={getattr(arguments, name)}" for name in NUMBERS]
    command = [sys.executable, __file__, *numbers, "--only", side, "--points", path]
    found = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(found.stdout.split()[-1])


def measure(points, arguments):
    """Give the lines of the page."""
    about = machine.describe()
    filled = 100 * points.nnz / points.shape[0] / points.shape[1]
    lines = [
        "# Sparse points beside scikit-learn",
        "",
        f"`python3 bench/sparse.py --iterations {arguments.iterations} --times {arguments.times}` on {about['cpu']}, "
        f"{about['usable_cpus']} processors, manymeans {manymeans.__version__}, scikit-learn {sklearn.__version__}: "
        f"{points.shape[0]} rows of {points.shape[1]} columns, {points.nnz} values ({filled:.2f} %), "
        f"k = {arguments.clusters}, float32.",
        "",
        "| whole fit | manymeans, s | scikit-learn, s | times faster | manymeans, s of processors | "
        "scikit-learn, s of processors | times | inertia beside scikit-learn's |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    most = arguments.iterations
    lines.append(row(f"k-means++, {most} iterations", *compare(points, arguments, "k-means++", most)))
    print(lines[-1], flush=True)
    first = points[: arguments.clusters].toarray()
    short, long = compare(points, arguments, first, 1), compare(points, arguments, first, most)
    lines += [row("from rows, 1 iteration", *short), row(f"from rows, {most} iterations", *long)]
    each = [(after[1] - before[1]) / (most - 1) for before, after in zip(short, long, strict=True)]
    text = f"An iteration takes {each[0]:.3f} s of the processors, scikit-learn's {each[1]:.3f} s"
    lines += ["", f"{text}: {each[1] / each[0]:.1f} times."]
    return lines


def main():
    """Measure, or be the process whose memory is measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in NUMBERS.items():
        parser.add_argument("--" + name, type=int, default=default)
    parser.add_argument("--out")
    parser.add_argument("--only", choices=SIDES)
    parser.add_argument("--points")
    arguments = parser.parse_args()
    if arguments.only:
        points = sparse.load_npz(arguments.points)
        fitted(arguments.only, points, arguments, "k-means++", 2)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6)
        return
    points = make_points(arguments)
    lines = measure(points, arguments)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "points.npz")
        sparse.save_npz(path, points, compressed=False)
        ours, theirs = (peak(side, path, arguments) for side in SIDES)
    lines += ["", f"The most memory of a process that fits them once: {ours:.2f} GB, scikit-learn {theirs:.2f} GB."]
    text = "\n".join(lines) + "\n"
    if arguments.out:
        Path(arguments.out).write_text(text, encoding="utf-8")
    else:
        print(text)


if __name__ == "__main__":
    main()
