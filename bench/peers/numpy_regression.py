"""Clusterwise linear regression as one writes it in NumPy: predictions by BLAS, the least residual, a Gram matrix for
each cluster from its rows, a batched solve. Chunks of rows and clusters are shared by threads, since NumPy's own
functions use one; every thread has a BLAS of one thread.

    numpy_regression.py POINTS STARTS ITERATIONS REPEATS THREADS

STARTS holds the models of one start or, with three dimensions, of several, fitted one after the other. Prints JSON:
the seconds of fits of one iteration and of ITERATIONS, each with the labelling pass for the final models, and their
errors.
"""

import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

ROWS = 1 << 14  # of a chunk: what lies between two steps stays in the second cache for few models


def label(points, models, labels, squares, pool):
    slopes, intercepts = np.ascontiguousarray(models[:, :-1].T), models[:, -1]

    def chunk(first):
        rows = points[first : first + ROWS]
        residuals = rows[:, :-1] @ slopes
        residuals += intercepts
        residuals -= rows[:, -1:]
        np.abs(residuals, out=residuals)
        nearest = residuals.argmin(axis=1)
        labels[first : first + ROWS] = nearest
        squares[first : first + ROWS] = residuals[np.arange(len(rows)), nearest]

    list(pool.map(chunk, range(0, len(points), ROWS)))


def update(points, models, labels, pool):
    k, width = models.shape
    order = np.argsort(labels, kind="stable")  # of 16 bits: by radix
    ends = np.cumsum(np.bincount(labels, minlength=k))
    grams = np.empty((k, width + 1, width + 1))

    def cluster(c):
        rows = points[order[ends[c - 1] if c else 0 : ends[c]]]
        block = np.ones((len(rows), width + 1))
        block[:, :-1] = rows
        grams[c] = block.T @ block

    list(pool.map(cluster, range(k)))
    features = np.r_[0 : width - 1, width]  # without the target
    solved = np.linalg.solve(
        grams[np.ix_(range(k), features, features)] + 1e-12 * np.eye(width), grams[:, features, width - 1][..., None]
    )[..., 0]
    return solved.astype(points.dtype)


def fit(points, models, iterations, pool):
    labels = np.empty(len(points), dtype=np.uint16)
    residuals = np.empty(len(points), dtype=points.dtype)
    for _ in range(iterations):
        label(points, models, labels, residuals, pool)
        models = update(points, models, labels, pool)
    label(points, models, labels, residuals, pool)
    return float(np.square(residuals, dtype=np.float64).sum())


def main():
    points, starts = np.load(sys.argv[1]), np.load(sys.argv[2])
    many, repeats, threads = int(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5])
    starts = starts if starts.ndim == 3 else starts[None]
    found = {}
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(repeats):
            for iterations in (1, many):
                begin = time.perf_counter()
                errors = [fit(points, models, iterations, pool) for models in starts]
                entry = found.setdefault(str(iterations), {"seconds": []})
                entry["seconds"].append(time.perf_counter() - begin)
                entry["errors"] = errors
    print(json.dumps(found))


if __name__ == "__main__":
    main()
