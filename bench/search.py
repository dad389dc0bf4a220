#!/usr/bin/env python3
"""The search beside others that look for the lowest sum of squares: how low each comes, in seconds of one thread.

usage: search.py [--list] [--only NAME,...] [--without PEER,...] [--seeds N] [--seconds S] [--data FOLDER] [--out FILE]
       a Python with manymeans and NumPy; ./dev bench search makes one, with all peers

Peers: breathing k-means (bkmeans, m = 5), FLS++ (flspp, 200 local search steps), HG-means (hgmeans, default options; it
has one seed, and gives no answer before it has ended, so that it is stopped after --hgmeans-seconds), and the best of a
hundred fits of manymeans. One that is not installed is left out, and so is a set that is not there.

FOLDER has cloud.zip and norm25.zip of the repository gittar/breathing-k-means, each with a text; all else is in data/,
comes with scikit-learn or is made. Seconds are those of the processor, of one thread, so that they mean the same on a
busy machine; the sums of squares are computed by NumPy in float64 from the centroids that each gives. A gap is in per
cent of the lowest sum that is known or that anybody finds in this run. Prints a table in Markdown as it grows.
"""

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import argparse  # noqa: E402
import contextlib  # noqa: E402
import importlib  # noqa: E402
import pathlib  # noqa: E402
import statistics  # noqa: E402
import subprocess  # noqa: E402
import sys  # noqa: E402
import tempfile  # noqa: E402
import time  # noqa: E402

import data_sets  # noqa: E402
import numpy as np  # noqa: E402
import search_sets  # noqa: E402

import manymeans  # noqa: E402


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
    import bkmeans

    return bkmeans.BKMeans(n_clusters=k, m=5, random_state=seed).fit(points).cluster_centers_


def fls(points, k, seed):
    import flspp

    return flspp.FLSpp(n_clusters=k, local_search_iterations=200, random_state=seed).fit(points).cluster_centers_


def restarts(points, k, seed):
    return manymeans.fit(points, k, models=100, n_threads=1, seed=seed).best().cluster_centers


def mean_of(program, points, k, seeds):
    """Seconds and sums of squares, means over seeds."""
    runs = []
    for seed in seeds:
        begin = time.process_time()
        centroids = program(points, k, seed)
        runs.append((time.process_time() - begin, sum_of_squares(points, centroids)))
    return tuple(statistics.mean(column) for column in zip(*runs, strict=True)), min(run[1] for run in runs)


def hgmeans(points, k, seconds):
    """Its seconds and sum of squares; None where it did not end in time. It is a process of its own, to be ended."""
    worker = pathlib.Path(__file__).resolve().parent / "peers" / "hgmeans_worker.py"
    with tempfile.TemporaryDirectory() as folder:
        given, found = f"{folder}/points.npy", f"{folder}/found.npz"
        np.save(given, points)
        command = [sys.executable, worker, given, str(k), str(seconds), found]
        if subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 0:
            return None
        with np.load(found) as arrays:
            return float(arrays["seconds"]), sum_of_squares(points, arrays["centroids"])


def installed(name):
    with contextlib.suppress(ImportError):
        return importlib.import_module(name) is not None
    return False


class Row:
    """A case: what all programs found."""

    def __init__(self, case, points, arguments):
        self.name, self.k, known, seconds = case
        self.shape = points.shape
        seeds = range(arguments.seeds)
        self.pairs, lowest = {}, [] if known is None else [known]
        programs = [("100 restarts", restarts, None, range(1)), ("FLS++", fls, "flspp", seeds),
                    ("breathing k-means", breathing, "bkmeans", seeds)]  # fmt: skip
        for title, program, package, its in programs:
            if package in arguments.missing:
                continue
            self.pairs[title], best = mean_of(program, points, self.k, its)
            lowest.append(best)
        if "hgmeans" not in arguments.missing:
            self.pairs["HG-means"] = hgmeans(points, self.k, arguments.hgmeans_seconds)
            lowest += [self.pairs["HG-means"][1]] if self.pairs["HG-means"] else []
        searches = [Search(points, self.k, seed, arguments.seconds or seconds) for seed in seeds]
        self.found = sorted(search.sum_of_squares for search in searches)
        self.rounds = statistics.median(search.rounds for search in searches)
        self.lowest = min([*lowest, self.found[0]])
        self.reached = None
        if "breathing k-means" in self.pairs:
            reached = [search.seconds_to(self.pairs["breathing k-means"][1]) for search in searches]
            median = statistics.median(float("inf") if seconds is None else seconds for seconds in reached)
            self.reached = None if median == float("inf") else median

    def gap(self, value):
        return f"{100 * (value / self.lowest - 1):.2f}"

    def cells(self, titles):
        text = [f"{self.name} {self.k}", f"{self.shape[0]} x {self.shape[1]}"]
        for title in titles:
            pair = self.pairs.get(title)
            text.append(f"{self.gap(pair[1])} / {pair[0]:.3g}" if pair else "no answer")
        if "breathing k-means" in self.pairs:
            theirs = self.pairs["breathing k-means"][0]
            sooner = "" if self.reached is None else f"{theirs / self.reached:.1f}"
            text += ["never" if self.reached is None else f"{self.reached:.4f}", sooner]
        text += [self.gap(statistics.median(self.found)), self.gap(self.found[-1])]
        return [*text, f"{self.found[0]:.9g}", f"{self.lowest:.9g}", f"{self.rounds:.0f}"]


def head(titles):
    to_mean = ["search: to breathing's mean", "sooner"] if "breathing k-means" in titles else []
    return [
        "data, K",
        "rows",
        *titles,
        *to_mean,
        "search: median gap",
        "worst gap",
        "its lowest",
        "lowest of all",
        "rounds",
    ]


def line(cells):
    return "| " + " | ".join(cells) + " |"


def wanted(arguments):
    names = arguments.only.split(",") if arguments.only else []
    unknown = set(names) - {case[0] for case in search_sets.CASES}
    if unknown:
        raise SystemExit(f"search.py: there is no set {', '.join(sorted(unknown))}; --list says which there are")
    return [case for case in search_sets.CASES if not names or case[0] in names]


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="say which sets and numbers of clusters there are")
    parser.add_argument("--only", help="names of sets, with commas between them")
    parser.add_argument(
        "--seeds", type=int, default=5, help="of the search and of every peer that takes one; default: 5"
    )
    parser.add_argument("--seconds", type=float, default=0, help="of each search, instead of what --list says")
    parser.add_argument("--hgmeans-seconds", type=int, default=60, help="after which HG-means is stopped; default: 60")
    parser.add_argument(
        "--without", default="", help="peers to leave out: flspp, bkmeans, hgmeans, with commas between them"
    )
    parser.add_argument("--data", type=pathlib.Path, help="where sets lie that are not in data/")
    parser.add_argument("--out", type=pathlib.Path, help="a file for the table, too")
    return parser.parse_args()


def main():
    arguments = parse()
    cases = wanted(arguments)
    if arguments.list:
        print("\n".join(f"{name:20} K = {k:5d}  {seconds:3d} s" for name, k, _, seconds in cases))
        return
    unwanted = arguments.without.split(",")
    arguments.missing = [name for name in ("flspp", "bkmeans", "hgmeans") if name in unwanted or not installed(name)]
    notes = [f"{name} is left out{'' if name in unwanted else ': it is not installed'}." for name in arguments.missing]
    titles = ["100 restarts", *(title for title, package in [("FLS++", "flspp"), ("breathing k-means", "bkmeans"),
              ("HG-means", "hgmeans")] if package not in arguments.missing)]  # fmt: skip
    columns = head(titles)
    lines = [line(columns), "|" + " --- |" + " ---: |" * (len(columns) - 1)]
    print("\n".join(lines), flush=True)
    for case in cases:
        try:
            points = search_sets.load(case[0], arguments.data)
        except data_sets.Missing as missing:
            notes.append(f"{case[0]} {case[1]} is left out: {missing}.")
            continue
        lines.append(line(Row(case, points, arguments).cells(titles)))
        print(lines[-1], flush=True)
        if arguments.out:
            arguments.out.write_text("\n".join(lines) + "\n")
    text = "\n".join([*lines, "", *notes]) + "\n"
    print("\n" + "\n".join(notes))
    if arguments.out:
        arguments.out.write_text(text)


if __name__ == "__main__":
    main()
