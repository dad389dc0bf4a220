"""More rows than 31 bits count: uint8 points of one column, checked through their histogram.

A fit of N points with 256 distinct values equals the fit of these values weighted by how often they occur: the same
prototypes to the last bit. Every label is checked against the nearest prototype of its value.

Run by ./dev huge; needs 3 GB of disk and 8 GB of memory, and takes a few minutes. Not part of the test suite.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile

import numpy as np

ROWS = 2**31 + 12345
BLOCK = 1 << 26
K = 5


def write_points(path):
    """Values whose frequencies differ, in an order without pattern; returns the histogram."""
    header = np.lib.format.header_data_from_array_1_0(np.empty((0, 1), np.uint8))
    header["shape"] = (ROWS, 1)
    histogram = np.zeros(256, np.int64)
    random = np.random.default_rng(1)
    with open(path, "wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        for first in range(0, ROWS, BLOCK):
            count = min(BLOCK, ROWS - first)
            values = np.minimum(random.integers(0, 256, count, np.uint8), random.integers(0, 256, count, np.uint8))
            histogram += np.bincount(values, minlength=256)
            values.tofile(file)
    return histogram


def fit(program, data, start, folder, *more):
    model = folder / "model.npz"
    command = [program, "fit", data, "-k", K, "--init", start, "--max-iter", 8, "--tol", 0, "--json", "--model", model, *more]
    output = subprocess.run([str(part) for part in command], check=True, capture_output=True).stdout
    return json.loads(output), np.load(model)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", default="build/release/bin/manymeans")
    program = parser.parse_args().program
    with tempfile.TemporaryDirectory(dir=".") as name:
        folder = pathlib.Path(name)
        histogram = write_points(folder / "points.npy")
        start = folder / "start.npy"
        np.save(start, np.array([[3], [40], [41], [120], [250]], np.float32))
        summary, model = fit(program, folder / "points.npy", start, folder, "--labels", folder / "labels.npy")
        np.save(folder / "values.npy", np.arange(256, dtype=np.float32).reshape(-1, 1))
        np.save(folder / "weights.npy", histogram.astype(np.float64))
        _, weighted = fit(program, folder / "values.npy", start, folder, "--weights", folder / "weights.npy")

        prototypes = model["centroids_0"][:, 0].astype(np.float64)
        assert np.array_equal(model["centroids_0"], weighted["centroids_0"]), (model["centroids_0"], weighted["centroids_0"])
        nearest = np.argmin((np.arange(256)[:, None] - prototypes[None, :]) ** 2, axis=1).astype(np.uint8)
        counts = np.bincount(nearest, weights=histogram, minlength=K).astype(np.int64)
        assert np.array_equal(model["counts_0"], counts), (model["counts_0"], counts)
        points = np.load(folder / "points.npy", mmap_mode="r")
        labels = np.load(folder / "labels.npy", mmap_mode="r")
        assert labels.shape[0] == ROWS
        for first in range(0, ROWS, BLOCK):
            assert np.array_equal(labels[first : first + BLOCK], nearest[points[first : first + BLOCK, 0]]), first
        inertia = float(((np.arange(256) - prototypes[nearest]) ** 2 @ histogram))
        assert abs(summary["models"][0]["inertia"] / inertia - 1) < 1e-12
        print(f"{ROWS} rows: prototypes, counts, inertia and all labels are right; {summary['provenance']['seconds']}")


if __name__ == "__main__":
    main()
