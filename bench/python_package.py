#!/usr/bin/env python3
"""manymeans.KMeans beside sklearn.cluster.KMeans as Python users call them: float64 (what NumPy and pandas give) beside
float32, the time that Python adds to the library's call, and the memory beyond the points.

usage: python_package.py [--quick] [--repeats R]     a Python with manymeans and scikit-learn; ./dev bench python has one

Both start from the same centres and do the same number of iterations; the programs take turns, and the least time of
each counts, since whatever else runs on the machine only ever adds.
"""

import argparse
import os
import subprocess
import sys
import time
import warnings

import data_sets
import numpy as np

SHAPES = ((1_000_000, 64, 64), (200_000, 128, 256), (500_000, 8, 100))
ITERATIONS = 10

MEMORY = """
import sys
import numpy as np
from {module} import KMeans
n, d, k = map(int, sys.argv[1:4])
X = np.random.default_rng(0).standard_normal((n, d)).astype(sys.argv[4])
KMeans(k, init=X[:k], n_init=1, max_iter=1).fit(X[:1000])  # what is loaded once
def kib(name):
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(name))
open("/proc/self/clear_refs", "w").write("5")  # the peak starts anew
before = kib("VmRSS")
KMeans(k, init=X[:k], n_init=1, max_iter=5).fit(X)
print(kib("VmHWM") - before)
"""


def seconds(kind, X, init, threads):
    options = {"n_threads": threads} if kind.__module__.startswith("manymeans") else {}
    estimator = kind(len(init), init=init, n_init=1, max_iter=ITERATIONS, tol=0, **options)
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator.fit(X)
    return time.perf_counter() - begin


def fits(n, d, k, repeats, threads):
    import sklearn.cluster

    import manymeans

    wide = data_sets.mixture(n, d, components=k, separation=4, seed=n + d)
    kinds = (manymeans.KMeans, sklearn.cluster.KMeans)
    for dtype in ("float32", "float64"):
        X = wide.astype(dtype)
        times = [[seconds(kind, X, X[:k], threads) for kind in kinds] for _ in range(repeats)]
        ours, theirs = (min(column) for column in zip(*times, strict=True))
        yield f"| {n:,} x {d}, k = {k} | {dtype} | {ours:.3f} | {theirs:.3f} | {theirs / ours:.1f} |"


def overhead(dtype, tries=200):
    """Least seconds of KMeans.fit beyond the phases that the library itself counts: milliseconds."""
    import manymeans

    X = np.random.default_rng(0).standard_normal((1000, 8)).astype(dtype)
    estimator = manymeans.KMeans(8, init=X[:8].copy(), n_init=1, max_iter=3, n_threads=1)
    found = []
    for _ in range(tries):
        begin = time.perf_counter()
        estimator.fit(X)
        whole = time.perf_counter() - begin
        phases = estimator.provenance_["seconds"]
        found.append(whole - sum(phases[name] for name in ("validate", "upload", "fit")))
    return 1e3 * min(found)


def memory(module, n, d, k, dtype):
    command = [sys.executable, "-c", MEMORY.format(module=module), *map(str, (n, d, k)), dtype]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout) / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    threads = len(os.sched_getaffinity(0))
    shapes = [(n // 10 if options.quick else n, d, k) for n, d, k in SHAPES]
    print(f"{ITERATIONS} iterations of `KMeans.fit`, {threads} threads, least of {options.repeats} turns.\n")
    print("| points | type | manymeans, s | scikit-learn, s | times faster |\n| --- | --- | ---: | ---: | ---: |")
    for n, d, k in shapes:
        for line in fits(n, d, k, options.repeats, threads):
            print(line, flush=True)
    n, d, k = shapes[0]
    print("\n| what | float32 | float64 |\n| --- | ---: | ---: |")
    print("| Python's overhead over the library's call, ms | " + " | ".join(
        f"{overhead(dtype):.2f}" for dtype in ("float32", "float64")) + " |")
    for module in ("manymeans", "sklearn.cluster"):
        cells = (f"{memory(module, n, d, k, dtype):.0f}" for dtype in ("float32", "float64"))
        print(f"| memory of {module} beyond X, {n:,} x {d}, MiB | " + " | ".join(cells) + " |")
    print(f"\nX itself: {n * d * 4 / 2**20:.0f} MiB in float32.")


main()
