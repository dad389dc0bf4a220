#!/usr/bin/env python3
"""KMeans of sparse points beside scikit-learn's: seconds of whole fits, seconds an iteration, and memory.

usage: sparse.py [--rows N] [--columns D] [--entries E] [--clusters K] [--iterations I] [--times T] [--out FILE]
                 a Python with manymeans, SciPy and scikit-learn

The points are counts like those of words in texts: each row has one of 2 K topics and E places, of which a column is
drawn for each, for half of them from the topic's own columns, by a power law; values are 1 + log of the count, and rows
have length 1 (as TfidfVectorizer makes them), in float32. Both get the same CSR matrix in memory, threads as many as
there are, I iterations (tol=0) from k-means++ (each its own), and the first K rows as centres. They take turns, and medians count. Memory is
what a process of its own needs at most that makes the points and fits them once.
Writes a table in Markdown; FILE is standard output by default.
"""

import argparse
import resource
import statistics
import subprocess
import sys
import time
import warnings

import machine
import numpy as np
import sklearn
import sklearn.cluster
from scipy import sparse

import manymeans

warnings.simplefilter("ignore")
SIDES = {"manymeans": manymeans.KMeans, "scikit-learn": sklearn.cluster.KMeans}


def power_law(random, columns, count):
    """Columns with shares like 1 / (rank + 10)."""
    shares = np.cumsum(1 / (np.arange(columns) + 10.0))
    return np.searchsorted(shares, random.random(count) * shares[-1]).astype(np.int32)


def make_points(a):
    random = np.random.default_rng(1)
    topics = 2 * a.clusters
    shuffles = np.array([random.permutation(a.columns) for _ in range(topics)], dtype=np.int32)
    everywhere = random.permutation(a.columns).astype(np.int32)
    topic = random.integers(0, topics, a.rows)
    drawn = power_law(random, a.columns, a.rows * a.entries).reshape(a.rows, a.entries)
    own = random.random((a.rows, a.entries)) < 0.5
    columns = np.where(own, shuffles[topic[:, None], drawn], everywhere[drawn])
    starts = np.arange(0, a.rows * a.entries + 1, a.entries)
    X = sparse.csr_matrix((np.ones(columns.size, dtype=np.float32), columns.ravel(), starts), shape=(a.rows, a.columns))
    X.sum_duplicates()
    X.data = 1 + np.log(X.data)
    lengths = np.sqrt(X.multiply(X).sum(axis=1)).A1
    X.data /= np.repeat(lengths, np.diff(X.indptr)).astype(np.float32)
    return X


def seconds_of(side, X, a, init, iterations):
    estimator = SIDES[side](a.clusters, init=init, n_init=1, tol=0, max_iter=iterations, random_state=0)
    begin = time.perf_counter()
    estimator.fit(X)
    return time.perf_counter() - begin, estimator.inertia_


def peak(side):
    """Most memory of a process that does nothing else, in GB."""
    found = subprocess.run([sys.executable, *sys.argv, "--only", side], check=True, capture_output=True, text=True)
    return float(found.stdout.split()[-1])


def compare(X, a, init, iterations):
    found = {side: [] for side in SIDES}
    for _ in range(a.times):
        for side in SIDES:
            found[side].append(seconds_of(side, X, a, init, iterations))
    return [[statistics.median(column) for column in zip(*found[side], strict=True)] for side in SIDES]


def row(what, ours, theirs):
    return (
        f"| {what} | {ours[0]:.2f} | {theirs[0]:.2f} | {theirs[0] / ours[0]:.1f} | {ours[1]:.7g} | {theirs[1]:.7g} |"
    )


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1])
    for name, default in (("rows", 200_000), ("columns", 50_000), ("entries", 56), ("clusters", 100), ("iterations", 20), ("times", 3)):
        parser.add_argument("--" + name, type=int, default=default)
    parser.add_argument("--out")
    parser.add_argument("--only", choices=SIDES)
    a = parser.parse_args()
    X = make_points(a)
    if a.only:
        seconds_of(a.only, X, a, "k-means++", a.iterations)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6)
        return
    first = X[: a.clusters].toarray()
    lines = [
        f"Sparse points beside scikit-learn {sklearn.__version__}: {a.rows} rows of {a.columns} columns, "
        f"{X.nnz} values ({100 * X.nnz / a.rows / a.columns:.2f} %), k = {a.clusters}; medians of {a.times}.",
        "",
        f"`python bench/sparse.py` on {machine.describe() if hasattr(machine, 'describe') else 'this machine'}",
        "",
        "| whole fit | manymeans, s | scikit-learn, s | ratio | inertia | inertia of scikit-learn |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    lines.append(row(f"k-means++, {a.iterations} iterations", *compare(X, a, "k-means++", a.iterations)))
    one, many = compare(X, a, first, 1), compare(X, a, first, a.iterations)
    lines.append(row("centres given, 1 iteration", *one))
    lines.append(row(f"centres given, {a.iterations} iterations", *many))
    each = [(after[0] - before[0]) / (a.iterations - 1) for before, after in zip(one, many, strict=True)]
    lines += ["", f"An iteration: {each[0]:.3f} s, scikit-learn {each[1]:.3f} s, ratio {each[1] / each[0]:.1f}."]
    lines += ["", f"Most memory of a process: {peak('manymeans'):.2f} GB, scikit-learn {peak('scikit-learn'):.2f} GB."]
    text = "\n".join(lines) + "\n"
    if a.out:
        with open(a.out, "w", encoding="utf-8") as file:
            file.write(text)
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
