#!/usr/bin/env python3
"""How often choose_k is right: points without clusters, and clusters on a grid, several deviations apart.

    choosing_k.py [SEEDS]

Needs the Python package and NumPy. Prints, for each kind of points, how many of the seeds have the right k, which k the
others have, how many would have k = 1 by the gap statistic's own rule (the least k whose gap is at least that of the
next one minus its standard error), and how many votes of prediction strength, stability and PAC are for the right k.
"""

import math
import sys

import numpy as np

import manymeans

WITHOUT = {
    "uniform, 300 x 2": lambda rng: rng.random((300, 2)),
    "uniform, 2000 x 5": lambda rng: rng.random((2000, 5)),
    "uniform, 100 x 1": lambda rng: rng.random((100, 1)),
    "normal, 300 x 3": lambda rng: rng.normal(size=(300, 3)),
    "normal, 2000 x 8": lambda rng: rng.normal(size=(2000, 8)),
    "normal, five times as long as wide, 1000 x 2": lambda rng: rng.normal(size=(1000, 2)) * [5, 1],
}
MEMBERS = ("prediction_strength", "stability", "pac")
PLANTED = [(2, 8), (3, 4), (5, 5), (5, 8), (7, 8), (9, 6), (15, 8)]  # clusters, and deviations between neighbours


def on_a_grid(clusters, apart):
    """A function that makes 900 points in so many round clusters."""

    def make(rng):
        label = np.arange(900) % clusters
        side = math.ceil(math.sqrt(clusters))
        return rng.normal(size=(900, 2)) + apart * np.c_[label % side, label // side]

    return make


def judge(name, make, right, seeds):
    """Print one row of the table."""
    found, by_gap, by_members = [], 0, dict.fromkeys(MEMBERS, 0)
    for seed in range(seeds):
        points = make(np.random.default_rng(seed))
        choice = manymeans.choose_k(points, range(2, 19), models=5, sample=0, seed=seed)
        found.append(choice.k)
        for criterion, k, _ in choice.votes:
            by_members[criterion] = by_members.get(criterion, 0) + (k == right)
        by_gap += next(k for criterion, k, _ in choice.votes if criterion == "gap") == 1
    others = sorted({k for k in found if k != right})
    votes = " | ".join(str(by_members[criterion]) for criterion in MEMBERS)
    wrong = ", ".join(map(str, others)) or "-"
    print(f"| {name} | {right} | {found.count(right)} of {seeds} | {wrong} | {by_gap} | {votes} |", flush=True)


def main():
    """All rows."""
    seeds = int(sys.argv[1]) if sys.argv[1:] else 20
    print(
        "| points | clusters | found | others | 1 by the gap's own rule | prediction strength | stability | PAC |\n"
        "| --- | ---: | ---: | --- | ---: | ---: | ---: | ---: |"
    )
    for name, make in WITHOUT.items():
        judge(name, make, 1, seeds)
    for clusters, apart in PLANTED:
        judge(f"grid, {apart} deviations apart, 900 x 2", on_a_grid(clusters, apart), clusters, seeds)


if __name__ == "__main__":
    main()
