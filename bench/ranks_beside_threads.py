#!/usr/bin/env python3
"""Ranks of one thread beside one process with as many threads: ranks_beside_threads.py [--ranks COUNT] [--repeats COUNT] [SHAPE...].

A SHAPE is rows x columns x clusters, as 4000000x32x64. Both fit the same file, in turns; the digests have to be equal.
Printed are the seconds of the fit (reading to the end, as the program says them) and of the whole command, the least
and the median of the repeats, and the ratio of one process to the ranks: 0.9 or more is wanted. Needs NumPy.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile
import time

import numpy as np

SHAPES = ["4000000x16x64", "1000000x128x256", "4000000x8x400"]


def make_points(path, rows, columns):
    """A mixture of overlapping normal distributions, written in pieces."""
    rng = np.random.default_rng(1)
    centres = rng.normal(size=(50, columns)).astype(np.float32) * 2
    points = np.lib.format.open_memmap(path, "w+", np.float32, (rows, columns))
    for first in range(0, rows, 100000):
        part = points[first : first + 100000]
        part[:] = centres[rng.integers(50, size=len(part))] + rng.standard_normal(part.shape, dtype=np.float32)
    points.flush()


def run(command):
    """Seconds of the fit, of the command, and the digest."""
    begin = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    whole = time.perf_counter() - begin
    said = json.loads(done.stdout)
    seconds = {name: value for name, value in said["provenance"]["seconds"].items() if ": " not in name}
    return sum(seconds.values()), whole, said["digest"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/release/bin/manymeans")
    parser.add_argument("--mpirun", default="mpirun --oversubscribe --allow-run-as-root --bind-to none")
    parser.add_argument("--ranks", type=int, default=16)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--init", default="k-means||")
    parser.add_argument("--max-iter", type=int, default=30)
    parser.add_argument("shapes", nargs="*", default=SHAPES, metavar="SHAPE")
    given = parser.parse_args()
    for shape in given.shapes:
        rows, columns, clusters = map(int, shape.split("x"))
        with tempfile.TemporaryDirectory() as folder:
            points = pathlib.Path(folder) / "points.npy"
            make_points(points, rows, columns)
            fit = [given.program, "fit", str(points), "-k", str(clusters), "--json", "--stop", "strict",
                   "--init", given.init, "--max-iter", str(given.max_iter), "--threads"]  # fmt: skip
            sides = {
                "one process": [*fit, str(given.ranks)],
                "ranks": [*given.mpirun.split(), "-n", str(given.ranks), *fit, "1"],
            }
            times = {name: [] for name in sides}
            digests = set()
            for _ in range(given.repeats):
                for name, command in sides.items():
                    *seconds, digest = run(command)
                    times[name].append(seconds)
                    digests.add(digest)
        if len(digests) != 1:
            raise SystemExit(f"{shape}: the digests differ: {digests}")
        print(f"{shape}, {given.ranks} ranks of one thread, {given.init}, {given.repeats} repeats")
        for what, index in (("fit", 0), ("command", 1)):
            one, ranks = ([seconds[index] for seconds in times[name]] for name in sides)
            print(f"  {what:8} least {min(one):7.3f} s and {min(ranks):7.3f} s: {min(one) / min(ranks):.3f}   "
                  f"median {statistics.median(one):7.3f} s and {statistics.median(ranks):7.3f} s: "
                  f"{statistics.median(one) / statistics.median(ranks):.3f}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
