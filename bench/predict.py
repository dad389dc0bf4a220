#!/usr/bin/env python3
"""predict and transform of a fitted model, and the fit of a small set, beside scikit-learn: alternating calls.

usage: predict.py [--package FOLDER]... [--repeats N] [--rows TEXT] [--json FILE]

Every side is a process of its own (FOLDER holds a package `manymeans`, several are several versions), and they take
turns call by call, so that all of them meet the same other load. Milliseconds: the least and the median of each, and
the ratio of scikit-learn's to each. Both give the distances of every row; their labels are compared.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

#: (what, rows, columns, clusters); "fit" is of a small set, from points to labels.
ROWS = [
    ("predict", 50_000, 64, 50),
    ("predict", 10_000, 16, 8),
    ("predict", 20_000, 128, 256),
    ("predict", 200_000, 8, 100),
    ("predict", 1_000_000, 2, 20),
    ("predict", 20_000, 784, 1000),
    ("predict", 1, 64, 50),
    ("predict", 100, 64, 50),
    ("transform", 50_000, 64, 50),
    ("transform", 10_000, 16, 8),
    ("transform", 20_000, 128, 256),
    ("transform", 200_000, 8, 100),
    ("transform", 20_000, 784, 1000),
    ("transform", 1, 64, 50),
    ("fit", 150, 4, 3),
    ("fit", 2_000, 16, 8),
]

#: OPENBLAS_CORETYPE would keep scikit-learn from the instructions that the machine has.
UNSET = ("OPENBLAS_CORETYPE", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MANYMEANS_CPU_ISA")


def prepare(side, what, n, d, k):
    """A function without arguments that does it once, and what it gives."""
    import numpy as np

    random = np.random.default_rng(n + 7 * d + 13 * k)
    centers = 4 * random.standard_normal((k, d), dtype=np.float32)
    points = random.standard_normal((n, d), dtype=np.float32) * 2 + centers[random.integers(0, k, n)]
    if side == "scikit-learn":
        from sklearn.cluster import KMeans
    else:
        from manymeans import KMeans
    if what == "fit":
        model = KMeans(k, random_state=0, n_init=1)
        return lambda: model.fit(points).labels_
    model = KMeans(k, init=centers, n_init=1, max_iter=1).fit(np.concatenate([centers, centers + np.float32(0.1)]))
    model.cluster_centers_ = centers  # the same for all sides
    return lambda: getattr(model, what)(points)


def serve(side):
    """Answers on standard output what is asked for on standard input."""
    call = None
    for line in sys.stdin:
        asked = json.loads(line)
        if "row" in asked:
            call = prepare(side, *asked["row"])
            answer = {"sum": float(call().astype("float64").sum())}
        else:
            begin = time.perf_counter()
            for _ in range(asked["calls"]):
                call()
            answer = {"seconds": (time.perf_counter() - begin) / asked["calls"]}
        print(json.dumps(answer), flush=True)


class Side:
    def __init__(self, name, folder):
        environment = {name: value for name, value in os.environ.items() if name not in UNSET}
        if folder:
            environment["PYTHONPATH"] = folder
        self.name = name
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--serve", name],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
        )  # fmt: skip

    def ask(self, **question):
        print(json.dumps(question), file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())


def measure(sides, row, repeats):
    """Seconds of every call of every side."""
    sums = {side.name: side.ask(row=row)["sum"] for side in sides}
    # Many small calls in a turn: what another process left in the caches is not what they cost.
    calls = max(1, min(200, int(0.02 / max(side.ask(calls=3)["seconds"] for side in sides))))
    for side in sides:
        side.ask(calls=calls)
    times = {side.name: [] for side in sides}
    for _ in range(repeats):
        for side in sides:
            times[side.name].append(side.ask(calls=calls)["seconds"])
    return times, sums


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--package", action="append", default=[], help="folder with a package manymeans; repeatable")
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--rows", default="", help="only rows whose text contains this")
    parser.add_argument("--json", default="")
    parser.add_argument("--serve", default="", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        return serve(arguments.serve)
    folders = arguments.package or [""]
    sides = [Side(folder or "manymeans", folder) for folder in folders] + [Side("scikit-learn", "")]
    found = []
    for row in ROWS:
        text = "{} {} x {}, k = {}".format(*row)
        if arguments.rows not in text:
            continue
        times, sums = measure(sides, row, arguments.repeats)
        theirs = times["scikit-learn"]
        found.append({"row": row, "seconds": times, "sums": sums})
        print(text, flush=True)
        for name, mine in times.items():
            least, middle = min(mine) * 1e3, statistics.median(mine) * 1e3
            print(
                f"  {name[-40:]:40} least {least:9.3f} ms, median {middle:9.3f} ms, "
                f"{min(theirs) / min(mine):6.2f}x and {statistics.median(theirs) / statistics.median(mine):6.2f}x"
                f"   sum {sums[name]:.6g}",
                flush=True,
            )
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(found, file)


if __name__ == "__main__":
    main()
