"""What a comparison needs NumPy for: the points and initial centroids before it, the judgement after it.

It runs as a process of its own, so that the process that measures stays small: on Linux the peak memory of a child is
at least what its parent held when it was started.
"""

import argparse
import hashlib
import json
import pathlib
import subprocess

import numpy as np

import canonical_labels
import data_sets
import philox_rows


def sha256(path):
    """Of a cached file; kept beside it."""
    kept = path.with_suffix(".sha256")
    if not kept.exists() or kept.stat().st_mtime < path.stat().st_mtime:
        with open(path, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        kept.write_text(digest, encoding="ascii")
    return kept.read_text(encoding="ascii")


def distinct_rows(points, k, seed):
    """Like philox_rows.random_rows, but rows that repeat an earlier one are passed over: on data with many duplicates
    clusters would be empty at once, and then every library goes its own way."""
    rows = philox_rows.random_rows(len(points), min(len(points), 64 * k), seed)
    _, first = np.unique(points[rows], axis=0, return_index=True)
    if len(first) < k:
        raise SystemExit(f"{len(rows)} random rows hold only {len(first)} different ones, fewer than k = {k}")
    return rows[np.sort(first)[:k]]


def initial_centroids(points, path, ks, models, seed):
    """Initial centroids as an .npz (model i under the name i), and the models' seeds. One model starts from random rows
    that differ from each other; the models of an ensemble from the rows that `--init random` gives them."""
    members = [(k, philox_rows.member_seed(seed, k, i)) for k in ks for i in range(models)]
    choose = distinct_rows if len(members) == 1 else lambda of, k, member: philox_rows.random_rows(len(of), k, member)
    kept = path.with_name(f"{path.stem}-start-{'_'.join(map(str, ks))}x{models}-seed{seed}.npz")
    if not kept.exists():
        starts = {str(i): points[choose(points, k, member)] for i, (k, member) in enumerate(members)}
        data_sets.save_whole(kept, lambda file: np.savez(file, **starts))
    return kept, [member for _, member in members]


def prepare(options):
    """Points and initial centroids as files; the first model's centroids also as an .npy for --init."""
    try:
        path = data_sets.cached(json.loads(options.data), options.cache, options.data_folder)
    except data_sets.Missing as missing:
        return {"missing": str(missing)}
    points = np.load(path, mmap_mode="r")
    kept, seeds = initial_centroids(points, path, json.loads(options.ks), options.models, options.seed)
    np.save(options.initial_of_one, np.load(kept)["0"])
    n, d = points.shape
    return {"points": str(path), "initial": str(kept), "n": n, "d": d, "dtype": str(points.dtype),
            "bytes": points.nbytes, "sha256": sha256(path), "seeds": seeds}


def inertia(points, centroids, labels):
    """Sum of squared distances in float64: one function for everybody."""
    total, centroids = 0.0, centroids.astype(np.float64)
    for first in range(0, len(points), 1 << 15):
        part = slice(first, first + (1 << 15))
        difference = points[part] - centroids[labels[part]]
        total += float(np.vdot(difference, difference))
    return total


def sample_of(points, options, count):
    return np.sort(np.random.default_rng(options.seed).choice(len(points), min(count, len(points)), False))


def check_by_reference(options, points, labels, k):
    """A few of our labels against the reference backend; it is slow on purpose."""
    rows = sample_of(points, options, options.reference_sample)
    sample, found = pathlib.Path(options.scratch) / "sample.npy", pathlib.Path(options.scratch) / "reference.npy"
    np.save(sample, points[rows])
    command = [options.program, "predict", options.model, str(sample), "-k", str(k), "--quiet"]
    subprocess.run([*command, "--backend", "reference", "--labels", str(found)], check=True)
    return len(rows), int(np.count_nonzero(np.load(found) != labels[rows]))


def judge_ours(options, points):
    """The labels of our best model are those of the contract; gives its number, centroids and labels too."""
    with np.load(options.model) as model:
        reported = model["inertia"]
        best = int(np.argmin(reported))
        ours = {i: model[f"centroids_{i}"] for i in range(len(reported))}
    labels = np.load(options.labels)
    if labels.ndim == 2:  # of several k: a column each, in the order given
        labels = labels[:, json.loads(options.ks).index(len(ours[best]))]
    rows = sample_of(points, options, options.sample)
    found, decided = canonical_labels.labels(points[rows], ours[best])
    # `predict` labels by the best model of a k; with one k that is the best of all.
    checked, different = check_by_reference(options, points, labels, len(ours[best]))
    return {
        "checked": len(rows),
        "different": int(np.count_nonzero(found != labels[rows])),
        "by_canonical_distance": decided,
        "checked_by_reference_backend": checked,
        "different_by_reference_backend": different,
        "model": best,
        "inertia": inertia(points, ours[best], labels),
        "reported_inertia": [float(value) for value in reported],
    }, labels


def judge_peer(options, points, file, judgement, our_labels):
    """A peer's answer: inertia in float64 of the same model, the largest difference over some, its own labels."""
    best, reported = judgement["model"], judgement["reported_inertia"]
    with np.load(file) as answer:
        some = [int(name.removeprefix("labels_")) for name in answer.files if name.startswith("labels_")]
        found = {i: inertia(points, answer[f"centroids_{i}"], answer[f"labels_{i}"]) for i in some}
        shown = best if best in found else some[0]
        rows = sample_of(points, options, 10_000)
        labels, centroids = answer[f"labels_{shown}"], answer[f"centroids_{shown}"]
        nearest, _ = canonical_labels.labels(points[rows], centroids)
        return {
            "model": shown,
            "inertia": found[shown],
            "our_inertia": reported[shown],
            "largest_inertia_difference": max(abs(value / reported[i] - 1) if reported[i] else abs(value)
                                              for i, value in found.items()),
            "own_labels_nearest": float(np.mean(nearest == labels[rows])),
            "equal_labels": float(np.mean(labels == our_labels)) if shown == best else None,
            "dtype": str(centroids.dtype),
        }


def judge_seeding(options):
    """The sum of squared distances to the nearest of the centroids chosen, in float64, of each program."""
    points, found = np.load(options.points, mmap_mode="r"), {}
    for name, file in json.loads(options.peers).items():
        with np.load(file) as answer:
            centroids = answer["centroids_0"]
        total = 0.0
        for first in range(0, len(points), 1 << 14):
            x = points[first : first + (1 << 14)].astype(np.float64)
            labels = np.argmin(np.square(centroids.astype(np.float64)).sum(axis=1) - 2 * (x @ centroids.T), axis=1)
            total += float(np.square(x - centroids[labels]).sum())
        found[name] = {"inertia": total}
    return {"peers": found}


def judge(options):
    points = np.load(options.points, mmap_mode="r")
    judgement, our_labels = judge_ours(options, points)
    peers = json.loads(options.peers)
    judgement["peers"] = {name: judge_peer(options, points, file, judgement, our_labels) for name, file in peers.items()}
    if len(judgement["reported_inertia"]) > 1:
        judgement["reported_inertia"] = judgement["reported_inertia"][judgement["model"]]
    return judgement


def parse_arguments():
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(dest="command", required=True)
    before = commands.add_parser("prepare")
    for name in ("data", "cache", "initial-of-one", "ks"):
        before.add_argument("--" + name, required=True)
    before.add_argument("--data-folder")
    for name in ("models", "seed"):
        before.add_argument("--" + name, type=int, required=True)
    for name in ("judge", "judge-seeding"):
        after = commands.add_parser(name)
        for flag in ("points", "scratch", "peers"):
            after.add_argument("--" + flag, required=True)
        for flag in ("program", "model", "labels", "ks"):
            after.add_argument("--" + flag)
        for flag in ("seed", "sample", "reference-sample"):
            after.add_argument("--" + flag, type=int, default=1)
    return parser.parse_args()


def main():
    options = parse_arguments()
    work = {"prepare": prepare, "judge": judge, "judge-seeding": judge_seeding}
    print(json.dumps(work[options.command](options)))


main()
