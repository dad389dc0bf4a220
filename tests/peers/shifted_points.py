"""float32 points far from the origin, where the expanded formula |x|^2 - 2 x.c + |c|^2 in float32 is useless: every
label must be that of float64 brute force, for each instruction set that this machine has.

The values are multiples of 2^-7 (the spacing of float32 at 1e5), so brute force in float64 is exact for the first
labelling: ties are ties for both, and go to the lowest index in both.

usage: shifted_points.py PROGRAM
"""

import json
import os
import subprocess
import sys
import tempfile

import numpy as np

from peer_tools import Program, distances, expect
import data_sets

SHIFT = 1e5
SHAPES = ((20000, 2, 40), (20000, 8, 64), (10000, 54, 32), (4000, 200, 20))  # n, d, k


def expanded_formula_labels(points, centroids):
    scores = np.square(points).sum(axis=1)[:, None] - 2 * points @ centroids.T + np.square(centroids).sum(axis=1)
    return scores.argmin(axis=1)


def brute_force_fit(points, centroids, iterations):
    """Lloyd's algorithm in float64 with centroids rounded to float32, as the contract rounds them."""
    for _ in range(iterations):
        labels = distances(points, centroids).argmin(axis=1)
        expect(len(np.unique(labels)) == len(centroids), "an empty cluster: choose other initial centroids")
        means = [points[labels == k].astype(np.float64).mean(axis=0) for k in range(len(centroids))]
        centroids = np.array(means).astype(np.float32)
    return centroids, distances(points, centroids).argmin(axis=1)


def instruction_sets(program):
    info = json.loads(subprocess.run([program, "info", "--json"], check=True, stdout=subprocess.PIPE).stdout)
    return [one["name"] for one in info["instruction_sets"] if one["available"]]


def check_shape(ours, n, d, k, sets):
    mixture = data_sets.mixture(n, d, components=k, separation=4, seed=d)
    shift = np.where(np.arange(d) % 2 == 0, SHIFT, -SHIFT).astype(np.float32)
    points = mixture + shift
    initial = points[np.random.default_rng(1).choice(n, k, replace=False)]
    file = ours.folder / f"points-{d}.npy"
    np.save(file, points)
    for iterations in (1, 10):
        centroids, labels = brute_force_fit(points, initial, iterations)
        spoilt = np.count_nonzero(expanded_formula_labels(points, centroids) != labels)
        expect(spoilt > n // 10, f"d = {d}: the expanded formula is right here; these points test nothing")
        for name in sets:
            environment = {**os.environ, "MANYMEANS_CPU_ISA": name}
            summary, found_centroids, found = ours.fit(file, initial, iterations, environment=environment)
            what = f"n = {n}, d = {d}, k = {k}, {name}, {iterations} iterations"
            expect(summary["provenance"]["instruction_set"] == name, f"{what}: ran on another instruction set")
            wrong = np.count_nonzero(found != labels)
            print(f"{what}: {wrong} wrong labels; {spoilt} by the expanded formula in float32")
            expect(np.array_equal(found_centroids, centroids), f"{what}: the centroids differ")
            expect(wrong == 0, f"{what}: {wrong} labels differ from brute force")


def main():
    program = sys.argv[1]
    sets = instruction_sets(program)
    expect(len(sets) > 0, "no instruction set is available")
    with tempfile.TemporaryDirectory(prefix="manymeans-peers-", dir=".") as folder:
        for n, d, k in SHAPES:
            check_shape(Program(program, folder), n, d, k, sets)


main()
