"""bench/canonical_labels.py, which checks the labels of every benchmark, itself checked: its fused multiply-add against
exact fractions, and its labels against the program's on points that lie exactly, and all but exactly, half-way.

usage: canonical_labels_in_numpy.py PROGRAM
"""

import importlib.util
import sys
import tempfile
from fractions import Fraction

import numpy as np

from peer_tools import Program, expect
import canonical_labels

TORCH = importlib.util.find_spec("torch") is not None


def check_fma(random):
    t = random.standard_normal(20000) * 2.0 ** random.integers(-30, 30, 20000)
    p = np.square(random.standard_normal(20000)) * 2.0 ** random.integers(-60, 60, 20000)
    p[:5000] = t[:5000] * t[:5000]  # sums close to powers of two and half-way cases occur here
    p[5000:10000] *= 2.0**-53
    found = canonical_labels.fma_square(t, p)
    exact = np.array([float(Fraction(a) * Fraction(a) + Fraction(b)) for a, b in zip(t, p)])
    wrong = np.count_nonzero(found != exact)
    twice_rounded = np.count_nonzero(t * t + p != exact)
    expect(wrong == 0, f"{wrong} of {len(t)} fused multiply-adds are wrong")
    expect(twice_rounded > 0, "these numbers do not tell a fused multiply-add from two roundings")
    print(f"{len(t)} fused multiply-adds are exact; with two roundings {twice_rounded} would be wrong")


def check_labels(ours, random, dtype, d):
    """Few prototypes, all with few bits; points half-way between two, half of them moved by a few units in the last
    place: in float64 rounding then decides, in the contract's order."""
    prototypes = np.round(8 * random.standard_normal((3, d))).astype(dtype) / 8
    a, b = prototypes[random.integers(3, size=(2, 20000))]
    points = (a + b) / 2
    moved = random.integers(-2, 3, size=points.shape) * random.integers(2, size=(len(points), 1))
    points += np.spacing(np.abs(points)) * moved.astype(dtype)
    file = ours.folder / "points.npy"
    np.save(file, points)
    _, centroids, labels = ours.fit(file, prototypes, 0)
    found, decided = canonical_labels.labels(points, centroids)
    wrong = np.count_nonzero(found != labels)
    expect(wrong == 0, f"{np.dtype(dtype)}, {d} columns: {wrong} labels differ")
    expect(decided > 0, f"{np.dtype(dtype)}, {d} columns: no row needed a canonical distance")
    if TORCH:
        by_torch, decided_then = canonical_labels.labels_by_torch(points, centroids)
        wrong = np.count_nonzero(by_torch != labels)
        expect(wrong == 0 and decided_then > 0, f"{np.dtype(dtype)}, {d} columns, by torch: {wrong} labels differ")
    print(f"{np.dtype(dtype)}, {d} columns: {len(points)} labels agree, {decided} by canonical distances")


def main():
    random = np.random.default_rng(3)
    check_fma(random)
    with tempfile.TemporaryDirectory(prefix="manymeans-peers-", dir=".") as folder:
        ours = Program(sys.argv[1], folder)
        for dtype in (np.float32, np.float64):
            for d in (1, 2, 7, 8, 19, 64):
                check_labels(ours, random, dtype, d)
    print("with torch too" if TORCH else "SKIPPED: labels_by_torch, there is no torch")


main()
