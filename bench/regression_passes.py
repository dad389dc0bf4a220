#!/usr/bin/env python3
"""Linear models beside a plain implementation: same points, same starting models, in turns; the cpu backend beside
NumPy, the cuda backend beside PyTorch. The peer makes fewer iterations, since each takes it as long as the others.

usage: regression_passes.py --program build/release/bin/regression_fits [--backend cpu|cuda] [--repeats N] [--threads N]
       [--rows abc] [--out FOLDER]

The program is of a build with -DMANYMEANS_TESTS=ON. An iteration takes (T(1 + I) - T(1)) / I for fits of I + 1 and of
one iteration. The least and the median over the repeats are shown. The page says what the peer does and how the floor
is counted.
"""

import argparse
import datetime
import json
import os
import statistics
import subprocess
import sys
import tempfile
import typing

import machine
import machine_rates
import numpy as np
import philox_rows

HERE = os.path.dirname(os.path.abspath(__file__))

#: name, rows, features, models, starts, iterations of ours and of the peer, how many of the starts the peer fits
ROWS = [
    ("a", 1_000_000, 4, 400, 1, 50, 5, 1),
    ("b", 1_000_000, 16, 64, 1, 50, 10, 1),
    ("c", 5_000_000, 8, 10, 20, 10, 4, 2),
]
#: Variables that may keep the peer's matrix library to an older processor or a smaller cache, or ours.
UNSET = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "MANYMEANS_CPU_ISA")
#: What the makers of these GPUs (SXM) say: Gflop/s in binary64 without tensor cores, GB/s of memory.
GPU_RATES = {"H100": (34e3, 3350), "H200": (34e3, 4800)}


class Beside(typing.NamedTuple):
    """What a backend is compared with, and the words about it."""

    peer: str
    script: str
    about: str
    floor: str


BESIDE = {
    "cpu": Beside(
        "NumPy",
        "numpy_regression.py",
        """predicts in float32 by BLAS chunk by chunk, sums Gram matrices of
each cluster's rows in float64 by BLAS, and solves all clusters in one call; chunks and clusters are shared by
its threads.""",
        """the multiply-adds of all residuals at the rate that the machine reaches in float32 (bench/machine_rates),
and in brackets one reading of the points; *share*: the larger of both beside our least time. What lies above the
floor ranks and certifies residuals, and sums the products of rows that changed their model.""",
    ),
    "cuda": Beside(
        "PyTorch",
        "torch_regression.py",
        """predicts in float32 by one matrix product, makes Gram matrices in
float64 by the faster of two ways (rows gathered by cluster and multiplied in batches; outer products added by index),
and solves all clusters in one call. Both sides have the points on the device.""",
        """the multiply-adds of all residuals in binary64, in which this backend computes them, at the rate that the
maker states, and in brackets one reading of the points; *share*: the larger of both beside our least time.""",
    ),
}


def planted(n, d, k, seed):
    """Rows of x and a target, each of one of k linear models and some noise."""
    random = np.random.default_rng(seed)
    slopes, intercepts = random.standard_normal((k, d)), 2 * random.standard_normal(k)
    x, of = random.standard_normal((n, d)), random.integers(0, k, n)
    y = (x * slopes[of]).sum(axis=1) + intercepts[of] + 0.1 * random.standard_normal(n)
    return np.column_stack([x, y]).astype(np.float32)


def least_squares_of_few_rows(points, k, seed):
    """Models of D + 1 random rows each."""
    random, d = np.random.default_rng(seed), points.shape[1] - 1
    models = []
    for _ in range(k):
        rows = points[random.choice(len(points), d + 1, replace=False)].astype(np.float64)
        models.append(np.linalg.lstsq(np.column_stack([rows[:, :d], np.ones(d + 1)]), rows[:, d], rcond=None)[0])
    return np.array(models, dtype=np.float32)


def targets_of_random_rows(points, k, replica):
    """What the initialisation `random` gives linear models: constants."""
    models = np.zeros((k, points.shape[1]), dtype=np.float32)
    rows = philox_rows.random_rows(len(points), k, philox_rows.member_seed(1, k, replica))
    models[:, -1] = points[rows, -1]
    return models


def run(command, threads, *more):
    environment = {name: value for name, value in os.environ.items() if name not in UNSET}
    environment["OPENBLAS_NUM_THREADS"] = "1"  # of each of the peer's threads
    done = subprocess.run(
        [*map(str, command), str(threads), *more], env=environment, stdout=subprocess.PIPE, check=True
    )
    return json.loads(done.stdout)


def per_iteration(found, iterations):
    return (found[str(1 + iterations)]["seconds"][-1] - found["1"]["seconds"][-1]) / iterations


def fastest_way(found, iterations):
    """Of the peer's ways to make Gram matrices, where it has several."""
    ways = found.values() if "1" not in found else [found]
    return min(ways, key=lambda way: per_iteration(way, iterations))


def measure(row, options, folder):
    name, n, d, k, starts, ours, theirs, fitted = row
    points = planted(n, d, k, 1)
    paths = [os.path.join(folder, f"{name}-{what}.npy") for what in ("points", "starts")]
    np.save(paths[0], points)
    if starts == 1:
        np.save(paths[1], least_squares_of_few_rows(points, k, 2))
    else:
        np.save(paths[1], np.array([targets_of_random_rows(points, k, r) for r in range(fitted)]))
    del points
    peer = [sys.executable, os.path.join(HERE, "peers", BESIDE[options.backend].script), *paths, 1 + theirs, 1]
    # The first fits of the process are not counted: they load kernels.
    program = [options.program, paths[0], paths[1] if starts == 1 else "random", k, starts, 1 + ours, 2]
    result = {
        "rows": n,
        "features": d,
        "models": k,
        "starts": starts,
        "iterations": ours,
        "of the peer": theirs,
        "ours": [],
        "peer": [],
    }
    for _ in range(options.repeats):
        found = run(program, options.threads, options.backend)
        made = {iterations for iterations, _ in found[str(1 + ours)]["iterations and errors"]}
        if made != {1 + ours}:
            raise SystemExit(f"row {name}: {made} iterations were made, and not {1 + ours}")
        result["ours"].append(per_iteration(found, ours))
        other = fastest_way(run(peer, options.threads), theirs)
        result["peer"].append(per_iteration(other, theirs) * starts / fitted)
        result["one iteration"] = found["1"], other["1"]
    for path in paths:
        os.remove(path)
    return result


def rates_of(options, device):
    """Gflop/s of the arithmetic of residuals, GB/s of reading; zeros where they are not known."""
    if options.backend == "cuda":
        return next((rates for name, rates in GPU_RATES.items() if name in device), (0, 0))
    found = machine_rates.measured(options.program, options.threads)
    arithmetic = next((value for key, value in found.items() if key.endswith("float32_gflops")), 0)
    return arithmetic, found.get("read_gb_per_s", 0)


def floor(row, rates):
    """Milliseconds: multiply-adds of all residuals, one reading of the points."""
    operations = 2.0 * row["rows"] * row["models"] * row["starts"] * (row["features"] + 1)
    amounts = operations, row["rows"] * (row["features"] + 1) * 4
    return [amount / rate / 1e6 if rate else 0 for amount, rate in zip(amounts, rates, strict=True)]


def page(results, rates, device, options):
    beside = BESIDE[options.backend]
    arguments = " ".join(
        f"--{name} {value}"
        for name, value in (("backend", options.backend), ("threads", options.threads), ("repeats", options.repeats))
    )
    lines = [
        f"# Linear models beside plain {beside.peer}",
        "",
        f"{device}, {options.threads} threads, {datetime.date.today()}; by",
        f"`python3 bench/regression_passes.py {arguments}`. Milliseconds of an iteration: the least and, in",
        f"brackets, the median of {options.repeats} runs of each program, in turns. The points are planted models with",
        "noise; the first pass of a fit is not counted, the updates of the models are. Iterations are ours and, behind",
        "the stroke, the peer's.",
        "",
        f"The peer (`bench/peers/{beside.script}`) {beside.about} It fits two of the twenty starts of the last row,",
        "and its time is that of twenty.",
        "",
        f"*floor*: {beside.floor}",
        "",
        f"| N | D | K | starts | iterations | manymeans | {beside.peer} | ratio | of medians | floor | share |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in results:
        ours, peer = ([1000 * value for value in row[side]] for side in ("ours", "peer"))
        arithmetic, reading = floor(row, rates)
        medians = statistics.median(ours), statistics.median(peer)
        lines.append(
            f"| {row['rows']:,} | {row['features']} | {row['models']} | {row['starts']} | {row['iterations']} / {row['of the peer']} "
            f"| {min(ours):.3g} ({medians[0]:.3g}) | {min(peer):.3g} ({medians[1]:.3g}) "
            f"| {min(peer) / min(ours):.1f} | {medians[1] / medians[0]:.1f} "
            f"| {arithmetic:.3g} ({reading:.2g}) | {100 * max(arithmetic, reading) / min(ours):.0f} % |"
        )
    return "\n".join(lines) + "\n"


def name_of_device(options):
    if options.backend == "cpu":
        return machine.describe()["cpu"]
    import torch  # the peer needs it

    return torch.cuda.get_device_name()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--backend", choices=sorted(BESIDE), default="cpu")
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rows", default="abc", help="letters of the rows")
    parser.add_argument("--out", help="a folder for the page and the JSON")
    options = parser.parse_args()
    device = name_of_device(options)
    rates = rates_of(options, device)
    with tempfile.TemporaryDirectory() as folder:
        results = [measure(row, options, folder) for row in ROWS if row[0] in options.rows]
    text = page(results, rates, device, options)
    print(text)
    if options.out:
        with open(os.path.join(options.out, "regression_passes.md"), "w") as file:
            file.write(text)
        with open(os.path.join(options.out, "regression_passes.json"), "w") as file:
            json.dump({"rates": rates, "rows": results}, file, indent=1)


if __name__ == "__main__":
    main()
