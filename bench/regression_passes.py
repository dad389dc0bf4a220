#!/usr/bin/env python3
"""Linear models on the cpu backend beside plain NumPy: same points, same starting models, same iterations, in turns.

usage: regression_passes.py --program build/release/bin/regression_fits [--repeats N] [--threads N] [--rows abc] [--out FOLDER]

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
#: A variable that may keep the peer's matrix library to an older processor.
UNSET = ("OPENBLAS_CORETYPE", "MANYMEANS_CPU_ISA")


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


def run(command, threads):
    environment = {name: value for name, value in os.environ.items() if name not in UNSET}
    environment["OPENBLAS_NUM_THREADS"] = "1"  # of each of the peer's threads
    done = subprocess.run([*map(str, command), str(threads)], env=environment, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def per_iteration(found, iterations):
    return (found[str(1 + iterations)]["seconds"][0] - found["1"]["seconds"][0]) / iterations


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
    peer = [sys.executable, os.path.join(HERE, "peers", "numpy_regression.py"), *paths, 1 + theirs, 1]
    program = [options.program, paths[0], paths[1] if starts == 1 else "random", k, starts, 1 + ours, 1]
    result = {"rows": n, "features": d, "models": k, "starts": starts, "iterations": ours, "ours": [], "peer": []}
    for _ in range(options.repeats):
        found = run(program, options.threads)
        result["ours"].append(per_iteration(found, ours))
        other = run(peer, options.threads)
        result["peer"].append(per_iteration(other, theirs) * starts / fitted)
        result["one iteration"] = found["1"], other["1"]
    for path in paths:
        os.remove(path)
    return result


def floor(row, rates):
    """Milliseconds: multiply-adds of all residuals in float32, one reading of the points."""
    operations = 2.0 * row["rows"] * row["models"] * row["starts"] * (row["features"] + 1)
    rate = next((value for key, value in rates.items() if key.endswith("float32_gflops")), 0)
    arithmetic = operations / rate / 1e6 if rate else 0
    reading = row["rows"] * (row["features"] + 1) * 4 / rates["read_gb_per_s"] / 1e6 if rates else 0
    return arithmetic, reading


def page(results, rates, options):
    lines = [
        "# Linear models beside plain NumPy",
        "",
        f"{machine.describe()['cpu']}, {options.threads} threads, {datetime.date.today()}; by",
        f"`python3 bench/regression_passes.py --repeats {options.repeats}`. Milliseconds of an iteration: the least and, in",
        f"brackets, the median of {options.repeats} runs of each program, in turns. The machine did other work meanwhile,",
        "so that only ratios say something. The points are planted models with noise; the first pass of a fit is",
        "not counted, the updates of the models are.",
        "",
        "The peer (`bench/peers/numpy_regression.py`) predicts in float32 by BLAS chunk by chunk, sums Gram matrices of",
        "each cluster's rows in float64 by BLAS, and solves all clusters in one call; chunks and clusters are shared by",
        "its threads. It fits two of the twenty starts of the last row, and its time is that of twenty.",
        "",
        "*floor*: the multiply-adds of all residuals at the rate that the machine reaches in float32 (bench/machine_rates),",
        "and in brackets one reading of the points; *share*: the larger of both beside our least time. What lies above the",
        "floor ranks and certifies residuals, and sums the products of rows that changed their model.",
        "",
        "| N | D | K | starts | iterations | manymeans | NumPy | ratio | of medians | floor | share |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in results:
        ours, peer = ([1000 * value for value in row[side]] for side in ("ours", "peer"))
        arithmetic, reading = floor(row, rates)
        medians = statistics.median(ours), statistics.median(peer)
        lines.append(
            f"| {row['rows']:,} | {row['features']} | {row['models']} | {row['starts']} | {row['iterations']} "
            f"| {min(ours):.1f} ({medians[0]:.1f}) | {min(peer):.0f} ({medians[1]:.0f}) "
            f"| {min(peer) / min(ours):.1f} | {medians[1] / medians[0]:.1f} "
            f"| {arithmetic:.1f} ({reading:.1f}) | {100 * max(arithmetic, reading) / min(ours):.0f} % |"
        )
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rows", default="abc", help="letters of the rows")
    parser.add_argument("--out", help="a folder for the page and the JSON")
    options = parser.parse_args()
    rates = machine_rates.measured(options.program, options.threads)
    with tempfile.TemporaryDirectory() as folder:
        results = [measure(row, options, folder) for row in ROWS if row[0] in options.rows]
    text = page(results, rates, options)
    print(text)
    if options.out:
        with open(os.path.join(options.out, "regression_passes.md"), "w") as file:
            file.write(text)
        with open(os.path.join(options.out, "regression_passes.json"), "w") as file:
            json.dump({"rates": rates, "rows": results}, file, indent=1)


if __name__ == "__main__":
    main()
