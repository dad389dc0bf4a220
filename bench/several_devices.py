#!/usr/bin/env python3
"""Fits on several devices beside fits on one.

    several_devices.py [--program REPEATED_FITS] [--sides NAMES...] [SHAPE...]

A SHAPE is rows x columns x clusters [x models], as 4000000x8x400. Every side, a name as `--device` takes it, fits the
same file with the same initial centroids (rows drawn at random), in turns; the digests have to be equal. An iteration
is the difference between fits of many iterations (11, or 41 of short ones) and of one, divided by their number. Printed
are, for every side, the least and the median of its repeats, how many times as fast as the first side it is, and the
seconds of the phases. Needs NumPy, and `repeated_fits` of a build with CUDA.
"""

import argparse
import concurrent.futures
import json
import pathlib
import statistics
import subprocess
import tempfile

import numpy as np

SHAPES = ["16000000x128x1024", "2000000x128x65536", "4000000x8x400", "1000000x16x50x64"]


def iterations_of(rows, columns, clusters, models):
    """Of the longer fits of a shape."""
    return 11 if rows * (columns + 8) * clusters * models > 4e12 else 41


def make_points(path, rows, columns):
    """Overlapping normal distributions, made by some threads."""
    centres = np.random.default_rng(1).normal(size=(50, columns)).astype(np.float32) * 2
    points = np.lib.format.open_memmap(path, "w+", np.float32, (rows, columns))

    def make_part(first):
        part = points[first : first + 500000]
        rng = np.random.default_rng(first)
        part[:] = centres[rng.integers(50, size=len(part))] + rng.standard_normal(part.shape, dtype=np.float32)

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        list(pool.map(make_part, range(0, rows, 500000)))


def run(program, points, side, shape, repeats):
    """What repeated_fits says of one side: seconds of an iteration, of uploading, digests."""
    _, _, clusters, models = shape
    iterations = iterations_of(*shape)
    command = [program, str(points), side, str(clusters), str(models), "random", str(iterations), str(repeats), "0"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        return {"error": done.stderr.strip() or f"exit code {done.returncode}"}
    said = json.loads(done.stdout)
    one, many = said["1"], said[str(iterations)]
    return {
        "iterations": [(b - a) / (iterations - 1) for a, b in zip(one["seconds"], many["seconds"], strict=True)],
        "whole": many["whole"],
        "phases": many["phases"],
        "digests": one["digests"] + many["digests"],
    }


def main():
    """Runs all sides of all shapes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/dev/bin/repeated_fits")
    parser.add_argument("--sides", nargs="+", default=["cuda:0", "cuda:0,cuda:1"])
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3, help="fits of a turn")
    parser.add_argument("--folder", help="where the points are put; default: a temporary one")
    parser.add_argument("shapes", nargs="*", default=SHAPES, metavar="SHAPE")
    given = parser.parse_args()
    for text in given.shapes:
        shape = [*map(int, text.split("x")), 1][:4]
        with tempfile.TemporaryDirectory(dir=given.folder) as folder:
            points = pathlib.Path(folder) / "points.npy"
            make_points(points, *shape[:2])
            found = {side: [] for side in given.sides}
            for _ in range(given.turns):
                for side in given.sides:
                    found[side].append(run(given.program, points, side, shape, given.repeats))
        print(f"\n{text}", flush=True)
        digests = set()
        first = None
        for side, turns in found.items():
            errors = [turn["error"] for turn in turns if "error" in turn]
            if errors:
                print(f"  {side:16} {errors[0]}", flush=True)
                continue
            iterations = sorted(time for turn in turns for time in turn["iterations"])
            digests |= {tuple(turn["digests"]) for turn in turns}
            least, median = iterations[0], statistics.median(iterations)
            first = first or (least, median)
            phases = {name: min(turn["phases"].get(name, 0) for turn in turns) for name in turns[0]["phases"]}
            times = f"{1e3 * least:9.3f} ({1e3 * median:9.3f}) ms an iteration"
            ratios = f"{first[0] / least:5.2f} ({first[1] / median:5.2f}) times"
            whole = min(min(turn["whole"]) for turn in turns)
            of_phases = ", ".join(f"{name} {seconds:.3f}" for name, seconds in phases.items())
            print(f"  {side:16} {times}, {ratios}; whole fit {whole:.3f} s; {of_phases}", flush=True)
        print("  digests equal" if len(digests) == 1 else f"  DIGESTS DIFFER: {digests}", flush=True)
        if len(digests) > 1:
            raise SystemExit(1)


if __name__ == "__main__":
    main()
