"""The program's `--scale` and `--log` against the contract: python -m contract.scaled_points PROGRAM [CASES].

Needs NumPy. Every row becomes a prototype of a fit that ends before its first update, so that the model file holds the
scaled points beside mean and deviation of the columns. Exits with 1 where a bit differs.
"""

import argparse
import math
import random
import subprocess
import sys
import tempfile

import numpy as np

from .cosine import unit_rows
from .exact import FLOAT32, FLOAT64
from .hostile_cases import points_of
from .logarithm import log_of_column
from .sums import moments

KINDS = {FLOAT32: np.float32, FLOAT64: np.float64}
LIMIT = 2.0**500


def offset_and_divisor(column, kind):
    if kind in ("none", "unit"):
        return 0.0, 1.0
    if kind == "standard":
        mean, variance = moments(column)
        return mean, math.sqrt(variance) or 1.0
    if kind == "robust":
        lower, median, upper = (quartile(sorted(x + 0.0 for x in column), i) for i in (1, 2, 3))
        return median, upper - lower or offset_and_divisor(column, "standard")[1]
    return min(column), max(column) - min(column) or 1.0


def quartile(values, i):
    whole, quarters = divmod((len(values) - 1) * i, 4)
    a, b = values[whole], values[min(whole + 1, len(values) - 1)]
    return a if quarters == 0 or a == b else (1 - quarters / 4) * a + quarters / 4 * b


def expected(points, kind, scale):
    """Offsets, divisors and scaled rows."""
    columns = [offset_and_divisor(column, scale) for column in zip(*points, strict=True)]
    rows = [[kind.round((x - mean) / by) for x, (mean, by) in zip(row, columns, strict=True)] for row in points]
    if scale == "unit":
        rows = [list(row) for row in unit_rows(rows, kind, "points")]
    return [mean for mean, _ in columns], [by for _, by in columns], rows


def some_logs(rng, points, kind):
    """Points whose logarithm can be taken in some columns, these columns from 1, and the points with logarithms."""
    columns = [list(column) for column in zip(*points, strict=True)]
    taken = [j for j in range(len(columns)) if rng.random() < 0.5]
    logs = [list(column) for column in columns]
    for j in taken:
        columns[j] = [near_one(rng, kind) if rng.random() < 0.1 else abs(x) for x in columns[j]]
        if rng.random() < 0.5:
            columns[j] = [x or kind.round(rng.random() + 0.1) for x in columns[j]]
        logs[j] = [kind.round(x) for x in log_of_column(columns[j])]
    return list(zip(*columns, strict=True)), [j + 1 for j in taken], list(zip(*logs, strict=True))


def near_one(rng, kind):
    """Values whose logarithm is hard, and subnormal ones."""
    least = 2.0**-149 if kind is FLOAT32 else 2.0**-1074
    return kind.round(rng.choice([1 - 2.0**-24, 1 - 2.0**-53, 1, 1 + 2.0**-23, 1 + 2.0**-52, least, 3 * least, 0.7072]))


def found(program, folder, points, kind, options):
    """The same by the program."""
    np.save(f"{folder}/x.npy", np.array(points, dtype=KINDS[kind]))
    command = [program, "fit", "x.npy", "-k", str(len(points)), "--init", "first", "--max-iter", "0", "--quiet"]
    subprocess.run([*command, "--model", "m.npz", *options], cwd=folder, check=True, capture_output=True, timeout=60)
    with np.load(f"{folder}/m.npz") as model:
        columns = [0.0] * len(points[0])  # which unit alone has not
        offsets = model["scale_offset"].tolist() or columns
        return offsets, model["scale_divisor"].tolist() or [1.0 for _ in columns], model["centroids_0"].tolist()


def bits(answer):
    """So that -0 and 0 differ: only mean and smallest value may be either, where the value is a zero. Rows are sorted,
    since clusters are numbered by size, and equal rows leave some empty."""
    offsets, divisors, rows = answer
    return (
        [(x + 0.0).hex() for x in offsets],
        [x.hex() for x in divisors],
        sorted([x.hex() for x in row] for row in rows),
    )


def check(program, folder, number):
    """Whether a case is right, and what it was."""
    rng = random.Random(f"scaling/{number}")
    kind = rng.choice([FLOAT32, FLOAT64, FLOAT64])
    scale = rng.choice(["standard", "standard", "minmax", "robust", "unit", "none"])
    points = [tuple(max(-LIMIT, min(LIMIT, x)) for x in row) for row in points_of(rng, kind)]
    options = ["--scale", scale, "--threads", rng.choice("123")]
    fitted = points
    if rng.random() < 0.5:
        points, logs, fitted = some_logs(rng, points, kind)
        options += ["--log", ",".join(map(str, logs))] if logs else []
    if scale == "unit" and not all(map(any, fitted)):
        return True  # a row of zeros is an error
    wanted = expected(fitted, kind, scale)
    if scale == "robust" and any(abs(x) > LIMIT for row in wanted[2] for x in row):
        return True  # which a fit refuses: quartiles may be as near as they want
    want, got = bits(wanted), bits(found(program, folder, points, kind, options))
    if want != got:
        wrong = [j for j in range(len(points[0])) if want[0][j] != got[0][j] or want[1][j] != got[1][j]]
        print(f"case {number} differs, {KINDS[kind].__name__}, {' '.join(options)}: columns {wrong}")
        for j in wrong[:1]:
            print(f"  offset {want[0][j]}, found {got[0][j]}; divisor {want[1][j]}, found {got[1][j]}")
    return want == got


def main():
    parser = argparse.ArgumentParser(prog="contract.scaled_points", description="Scaling against the contract.")
    parser.add_argument("program", help="manymeans")
    parser.add_argument("cases", nargs="?", type=int, default=1000, help="how many; default: %(default)s")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="manymeans-scaling-") as folder:
        bad = sum(not check(options.program, folder, number) for number in range(options.cases))
    print(f"{options.cases} cases: {bad} differ")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
