#!/usr/bin/env python3
"""The search beside breathing k-means and a hundred restarts: how low each comes, in seconds of one thread.

usage: search.py FOLDER [--seconds S] [--seeds N] [--only NAME,...] [--out FILE]
       a Python with manymeans and bkmeans; FOLDER has the sets, some of which are not in data/ (below)

FOLDER has what data/ has, and cloud.zip and norm25.zip of the repository gittar/breathing-k-means, each with a text.
Seconds are those of the processor, of one thread, so that they mean the same on a busy machine; the sums of squares are
computed by NumPy in float64 from the centroids that each gives. "Best" is the lowest that several programs found in
minutes. Writes a table in Markdown; FILE is standard output by default.
"""

import argparse
import gzip
import io
import pathlib
import statistics
import time
import zipfile

import bkmeans
import numpy as np
import threadpoolctl

import manymeans

# Name, clusters, lowest sum of squares known, seconds of the search.
CASES = [
    ("tsplib1060", 50, 255509536, 3),
    ("tsplib1060", 100, 96317864, 3),
    ("cloud", 25, 1954015, 3),
    ("cloud", 100, 566016, 3),
    ("image_segmentation", 50, 2224632, 3),
    ("image_segmentation", 100, 1132526, 3),
    ("norm25", 50, 140036.3, 3),
    ("norm25", 100, 128944.8, 3),
    ("unbalance", 100, 2.23674e10, 3),
    ("birch1", 100, 9.2773e13, 6),
    ("skin_nonskin", 50, 5.0331e7, 6),
]
FORMS = {
    "tsplib1060": ("tsplib1060.txt", {"skiprows": 1}),
    "cloud": ("cloud.zip", {"delimiter": ","}),
    "image_segmentation": ("image_segmentation.txt.gz", {"skiprows": 1}),
    "norm25": ("norm25.zip", {"delimiter": ","}),
    "unbalance": ("unbalance.txt.gz", {}),
    "birch1": ("birch1.txt.gz", {}),
    "skin_nonskin": ("skin_nonskin.txt.gz", {"usecols": (0, 1, 2)}),
}


def load(folder, name):
    file, form = FORMS[name]
    path = pathlib.Path(folder) / file
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            return np.loadtxt(io.StringIO(archive.read(archive.namelist()[0]).decode()), **form)
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as text:
        return np.loadtxt(text, **form)


def sum_of_squares(points, centroids):
    """Of float64, a block of rows at a time, by differences and not by norms."""
    total = 0.0
    for first in range(0, len(points), 2048):
        block = points[first : first + 2048]
        nearest = np.full(len(block), np.inf)
        for centroid in np.asarray(centroids, dtype=np.float64):
            nearest = np.minimum(nearest, ((block - centroid) ** 2).sum(axis=1))
        total += nearest.sum()
    return total


class Search:
    """One search, by the processor's clock: what it had when."""

    def __init__(self, points, k, seed, seconds):
        self.steps, self._begin, self._seconds = [], time.process_time(), seconds
        result = manymeans.search(points, k, seed=seed, time=1e6, n_threads=1, callback=self._look)
        self.sum_of_squares = sum_of_squares(points, result.models[0].cluster_centers)
        self.rounds = result.models[0].rounds

    def _look(self, progress):
        now = time.process_time() - self._begin
        known = progress.phase == "search" and progress.inertia == progress.inertia  # not before the first pass
        if known and (not self.steps or progress.inertia < self.steps[-1][1]):
            self.steps.append((now, progress.inertia))
        return now < self._seconds

    def seconds_to(self, target):
        return next((seconds for seconds, inertia in self.steps if inertia <= target), None)


def breathing(points, k, seed):
    begin = time.process_time()
    model = bkmeans.BKMeans(n_clusters=k, m=5, random_state=seed).fit(points)
    return time.process_time() - begin, sum_of_squares(points, model.cluster_centers_)


def restarts(points, k):
    begin = time.process_time()
    best = manymeans.fit(points, k, models=100, n_threads=1).best()
    return time.process_time() - begin, sum_of_squares(points, best.cluster_centers)


def percent(value, best):
    return f"{100 * (value / best - 1):.2f}"


def row(folder, case, arguments):
    name, k, best, seconds = case
    points = load(folder, name)
    others = [breathing(points, k, seed) for seed in range(arguments.seeds)]
    theirs, target = (statistics.mean(column) for column in zip(*others, strict=True))
    many_seconds, many = restarts(points, k)
    searches = [Search(points, k, seed, arguments.seconds or seconds) for seed in range(arguments.seeds)]
    found = sorted(search.sum_of_squares for search in searches)
    reached = [search.seconds_to(target) for search in searches]
    median = None if None in reached else statistics.median(reached)
    return [
        f"{name} {k}",
        f"{percent(many, best)} / {many_seconds:.2f}",
        f"{percent(target, best)} / {theirs:.3f}",
        "never" if median is None else f"{median:.4f}",
        "" if median is None else f"{theirs / median:.1f}",
        percent(statistics.median(found), best),
        percent(found[-1], best),
        f"{found[0]:.9g}",
        f"{statistics.median(search.rounds for search in searches):.0f}",
    ]


HEAD = ["data, K", "100 restarts", "breathing k-means", "search: to its mean", "sooner", "search: median gap",
        "worst gap", "lowest found", "rounds"]  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--seconds", type=float, default=0, help="of each search, instead of 3 or 6")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", help="names, with commas between them")
    parser.add_argument("--out", type=pathlib.Path)
    arguments = parser.parse_args()
    lines = ["| " + " | ".join(HEAD) + " |", "|" + " --- |" * len(HEAD)]
    with threadpoolctl.threadpool_limits(1):
        for case in CASES:
            if arguments.only and case[0] not in arguments.only.split(","):
                continue
            lines.append("| " + " | ".join(row(arguments.folder, case, arguments)) + " |")
            print(lines[-1], flush=True)
    text = "\n".join(lines) + "\n"
    if arguments.out:
        arguments.out.write_text(text)


if __name__ == "__main__":
    main()
