"""The points that benchmarks and tests against other libraries use: rows after each other (C order), float32 unless
a suite says float64."""

import gzip
import os
import pathlib
import re

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
CHUNK = 1 << 16


class Missing(Exception):
    """The file of a real set is not there."""


def noise(n, d, seed):
    """Standard normal numbers: no clusters at all, so margins are small and every iteration moves many labels."""
    return np.random.default_rng(seed).standard_normal((n, d), dtype=np.float32)


def mixture(n, d, components, separation, seed):
    """Overlapping normal distributions, as many as `components`, equally likely, of deviation 1 in each column.

    `separation` is the typical distance between two centres, in units of that deviation: at 4, the half-way plane
    between two of them is 2 deviations away from each, so clusters overlap and Lloyd's algorithm needs many iterations.
    """
    random = np.random.default_rng(seed)
    centres = random.standard_normal((components, d), dtype=np.float32) * np.float32(separation / np.sqrt(2 * d))
    points = np.empty((n, d), dtype=np.float32)
    for first in range(0, n, CHUNK):
        part = points[first : first + CHUNK]
        random.standard_normal(dtype=np.float32, out=part)
        part += centres[random.integers(components, size=len(part))]
    return points


def _table(name, separator=None, columns=None):
    with gzip.open(ROOT / "data" / name, "rt") as lines:
        return np.loadtxt(lines, dtype=np.float64, delimiter=separator, usecols=columns)


def kdd():
    """KDD Cup 1999, 10 % sample: the 38 numeric columns, standardised in float64."""
    table = _table("kddcup99_10percent.csv.gz", ",", [0, *range(4, 41)])
    deviation = table.std(axis=0)
    return ((table - table.mean(axis=0)) / np.where(deviation > 0, deviation, 1)).astype(np.float32)


def mnist(folder=ROOT / "data"):
    """MNIST training images, values 0 to 255."""
    path = pathlib.Path(folder) / "mnist_train.npz"
    if not path.exists():
        raise Missing(f"{path.name} is not in {path.parent.name}/; say --data-folder")
    with np.load(path) as arrays:
        images = next(a for a in (arrays[key] for key in arrays.files) if a.ndim >= 2)
    return np.ascontiguousarray(images.reshape(len(images), -1), dtype=np.float32)


def birch1():
    return _table("birch1.txt.gz").astype(np.float32)


def skin():
    return _table("skin_nonskin.txt.gz", columns=[0, 1, 2]).astype(np.float32)


def iris_shape(seed):
    """150 x 4 in three groups, as large and as spread as Fisher's irises."""
    random = np.random.default_rng(seed)
    centres = np.array([[5.0, 3.4, 1.5, 0.2], [5.9, 2.8, 4.3, 1.3], [6.6, 3.0, 5.6, 2.0]])
    points = np.repeat(centres, 50, axis=0) + 0.35 * random.standard_normal((150, 4))
    return points.astype(np.float32)


MAKERS = {"noise": noise, "mixture": mixture, "kdd": kdd, "mnist": mnist, "birch1": birch1, "skin": skin,
          "iris_shape": iris_shape}
# Keys of a suite's "data" that are no argument of its function: only so many rows, drawn at random; the type.
COMMON = {"set", "rows", "dtype"}


def make(spec, folder=None):
    """Points of a suite's row: {"set": name, the arguments of its function, and what COMMON lists}.

    `folder` is where a real set lies that is not in this tree. Throws Missing.
    """
    arguments = {key: value for key, value in spec.items() if key not in COMMON}
    if spec["set"] == "mnist" and folder and not (ROOT / "data" / "mnist_train.npz").exists():
        arguments["folder"] = folder
    points = MAKERS[spec["set"]](**arguments)
    if spec.get("rows", len(points)) < len(points):
        rows = np.random.default_rng(1).choice(len(points), spec["rows"], replace=False)
        points = np.ascontiguousarray(points[np.sort(rows)])
    return points.astype(spec.get("dtype", "float32"), copy=False)


def cached(spec, cache, folder=None):
    """Path of the .npy that holds these points; made when missing."""
    words = [spec["set"], *(f"{key}{value}" for key, value in spec.items() if key != "set")]
    path = pathlib.Path(cache) / (re.sub(r"[^\w.]+", "-", "-".join(words)) + ".npy")
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        save_whole(path, lambda file: np.save(file, make(spec, folder)))
    return path


def save_whole(path, write):
    """The file appears whole or not at all, also when two runs make it at the same time."""
    unfinished = path.with_name(f"{path.name}.{os.getpid()}")
    with open(unfinished, "wb") as file:
        write(file)
    unfinished.replace(path)
