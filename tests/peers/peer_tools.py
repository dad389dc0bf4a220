"""What the tests against other libraries share: running the program, exact distances in float64, near-ties."""

import json
import pathlib
import subprocess
import sys

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))


class Program:
    """The command line program, with its files in one folder."""

    def __init__(self, path, folder):
        self.path, self.folder = str(pathlib.Path(path).resolve()), pathlib.Path(folder)

    def fit(self, points, initial, iterations, *flags, environment=None):
        """Points are the path of a .npy. Gives (summary, centroids, labels) after at most so many iterations."""
        files = {name: self.folder / name for name in ("initial.npy", "model.npz", "labels.npy")}
        np.save(files["initial.npy"], initial)
        command = [self.path, "fit", str(points), "--init", str(files["initial.npy"]), "--tol", "0", "--stop", "strict"]
        command += ["--max-iter", str(iterations), "--model", str(files["model.npz"])]
        command += ["--labels", str(files["labels.npy"]), "--json", *flags]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
        with np.load(files["model.npz"]) as model:
            centroids = model["centroids_0"]
        return json.loads(done.stdout), centroids, np.load(files["labels.npy"]).astype(np.int64)


def distances(points, centroids):
    """Squared distances in float64 from differences, never from the expanded formula."""
    result = np.empty((len(points), len(centroids)))
    centroids = centroids.astype(np.float64)
    for first in range(0, len(points), 1 << 14):
        part = points[first : first + (1 << 14)].astype(np.float64)
        for k, centroid in enumerate(centroids):
            difference = part - centroid
            result[first : first + len(part), k] = np.einsum("ij,ij->i", difference, difference)
    return result


def wrongly_different(points, centroids, labels, others, closeness=1e-6):
    """Rows where the labels differ although the two exact distances differ by more than `closeness`, relative."""
    rows = np.flatnonzero(labels != others)
    if len(rows) == 0:
        return rows
    exact = distances(points[rows], centroids)
    mine, theirs = (np.take_along_axis(exact, x[rows, None], axis=1)[:, 0] for x in (labels, others))
    return rows[np.abs(mine - theirs) >= closeness * np.maximum(mine, theirs)]


def expect(holds, message):
    if not holds:
        sys.exit("FAILED: " + message)
