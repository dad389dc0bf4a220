#!/usr/bin/env python3
"""What `manymeans choose` takes beside `manymeans fit` of the same members: seconds of the processor.

usage: choosing_time.py [--program FILE] [--rows N,...] [--columns D] [--clusters K] [--k RANGE] [--models M] [--short]
       any Python with NumPy; the program is build/release/bin/manymeans by default

Points are a float32 mixture of K normal distributions (bench/data_sets.py), or noise where K is 0. Prints a table in
Markdown: the fit, choose with its defaults, and (but for --short) choose without one part at a time.
"""

import argparse
import pathlib
import tempfile

import data_sets
import measured_process
import numpy as np

PARTS = {"no sample": ["--sample", "0"], "no references": ["--references", "0"], "no bootstraps": ["--bootstraps", "0"]}
NONE = [flag for flags in PARTS.values() for flag in flags]


def seconds(program, command, path, arguments, flags=()):
    """Seconds of one run."""
    line = [program, command, path, "-k", arguments.k, "--models", arguments.models, "--seed", "1", "--quiet", *flags]
    return measured_process.run([str(word) for word in line]).cpu_seconds


def row(rows, arguments, folder):
    """The cells of one number of rows."""
    clusters = arguments.clusters
    spec = {"set": "mixture", "components": clusters, "separation": 4} if clusters else {"set": "noise"}
    points = data_sets.make({**spec, "n": rows, "d": arguments.columns, "seed": 1})
    path = pathlib.Path(folder) / "points.npy"
    np.save(path, points)
    fit = seconds(arguments.program, "fit", path, arguments)
    cells = [f"{rows} x {arguments.columns}", f"{fit:.1f}"]
    for flags in [[]] if arguments.short else ([], NONE, *PARTS.values()):
        its = seconds(arguments.program, "choose", path, arguments, flags)
        cells.append(f"{its:.1f} ({its / fit:.2f})")
    return cells


def main():
    """All rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=data_sets.ROOT / "build" / "release" / "bin" / "manymeans")
    parser.add_argument("--rows", default="50000,200000,500000")
    parser.add_argument("--columns", type=int, default=16)
    parser.add_argument("--clusters", type=int, default=10)
    parser.add_argument("--k", default="2..30")
    parser.add_argument("--models", type=int, default=10)
    parser.add_argument("--short", action="store_true")
    arguments = parser.parse_args()
    columns = ["rows", "fit", "choose", *([] if arguments.short else ["the ensemble and its criteria", *PARTS])]
    print("| " + " | ".join(columns) + " |\n|" + " --- |" * len(columns))
    with tempfile.TemporaryDirectory() as folder:
        for rows in arguments.rows.split(","):
            print("| " + " | ".join(row(int(rows), arguments, folder)) + " |", flush=True)


if __name__ == "__main__":
    main()
