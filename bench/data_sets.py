"""The points that benchmarks and tests against other libraries use: float32, rows after each other (C order)."""

import gzip
import os
import pathlib

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
CHUNK = 1 << 16


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


def mnist():
    """MNIST training images, values 0 to 255."""
    with np.load(ROOT / "data" / "mnist_train.npz") as arrays:
        images = next(a for a in (arrays[key] for key in arrays.files) if a.ndim >= 2)
    return np.ascontiguousarray(images.reshape(len(images), -1), dtype=np.float32)


def birch1():
    return _table("birch1.txt.gz").astype(np.float32)


def skin():
    return _table("skin_nonskin.txt.gz", columns=[0, 1, 2]).astype(np.float32)


MAKERS = {"mixture": mixture, "kdd": kdd, "mnist": mnist, "birch1": birch1, "skin": skin}


def make(spec):
    """Points of a suite's row: {"set": name, and the arguments of its function}."""
    arguments = {key: value for key, value in spec.items() if key != "set"}
    return MAKERS[spec["set"]](**arguments)


def cached(spec, folder):
    """Path of the .npy that holds these points; made when missing."""
    arguments = [f"{key[0]}{value}" for key, value in spec.items() if key != "set"]
    path = pathlib.Path(folder) / ("-".join([spec["set"], *arguments]) + ".npy")
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_name(f"{path.name}.{os.getpid()}")
        with open(unfinished, "wb") as file:
            np.save(file, make(spec))
        unfinished.replace(path)
    return path
