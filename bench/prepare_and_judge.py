"""What a comparison needs NumPy for: the points and initial centroids before it, the judgement after it.

It runs as a process of its own, so that the process that measures stays small: on Linux the peak memory of a child is
at least what its parent held when it was started.
"""

import argparse
import hashlib
import json
import subprocess

import numpy as np

import data_sets
import philox_rows


def prepare(options):
    """Points, and initial centroids (models x k x columns); for one model also as a file for --init."""
    path = data_sets.cached(json.loads(options.data), options.cache)
    points = np.load(path, mmap_mode="r")
    n, d = points.shape
    seeds = [philox_rows.member_seed(options.seed, options.k, i) for i in range(options.models)]
    rows = np.stack([philox_rows.random_rows(n, options.k, seed) for seed in seeds])
    initial = np.ascontiguousarray(points[rows.ravel()]).reshape(options.models, options.k, d)
    np.save(options.initial, initial)
    if options.models == 1:
        np.save(options.initial_of_one, initial[0])
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"points": str(path), "n": n, "d": d, "dtype": str(points.dtype), "sha256": digest, "seeds": seeds}


def inertia(points, centroids, labels):
    """Sum of squared distances in float64: one function for everybody."""
    total = 0.0
    for first in range(0, len(points), 1 << 16):
        part = slice(first, first + (1 << 16))
        total += float(np.square(points[part].astype(np.float64) - centroids[labels[part]].astype(np.float64)).sum())
    return total


def check_labels(options, points, labels, k):
    """A random sample of our labels against the reference backend."""
    rows = np.sort(np.random.default_rng(options.seed).choice(len(points), min(options.sample, len(points)), False))
    np.save(options.scratch + "-sample.npy", points[rows])
    command = [options.program, "predict", options.model, options.scratch + "-sample.npy", "-k", str(k), "--quiet"]
    command += ["--backend", "reference", "--labels", options.scratch + "-reference.npy"]
    subprocess.run(command, check=True)
    reference = np.load(options.scratch + "-reference.npy")
    return {"checked": len(rows), "different": int(np.count_nonzero(reference != labels[rows]))}


def judge(options):
    points = np.load(options.points, mmap_mode="r")
    our_labels = np.load(options.labels)
    with np.load(options.model) as model:
        reported = model["inertia"]
        best = int(np.argmin(reported))
        our_centroids = model[f"centroids_{best}"]
    result = check_labels(options, points, our_labels, len(our_centroids))
    result["model"] = best
    result["inertia"] = inertia(points, our_centroids, our_labels)
    if options.peer_labels:
        labels, centroids = np.load(options.peer_labels), np.load(options.peer_centroids)
        peers = np.array([inertia(points, c, l) for c, l in zip(centroids, labels)])
        result["peer_inertia"] = peers[best]
        result["largest_inertia_difference"] = float(np.max(np.abs(reported / peers - 1)))
        result["equal_labels"] = float(np.mean(labels[best] == our_labels))
    return result


def main():
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(dest="command", required=True)
    before = commands.add_parser("prepare")
    for name in ("data", "cache", "initial", "initial-of-one"):
        before.add_argument("--" + name, required=True)
    for name in ("k", "models", "seed"):
        before.add_argument("--" + name, type=int, required=True)
    after = commands.add_parser("judge")
    for name in ("points", "program", "model", "labels", "scratch"):
        after.add_argument("--" + name, required=True)
    for name in ("peer-labels", "peer-centroids"):
        after.add_argument("--" + name)
    for name in ("seed", "sample"):
        after.add_argument("--" + name, type=int, required=True)
    options = parser.parse_args()
    print(json.dumps(prepare(options) if options.command == "prepare" else judge(options)))


main()
