"""Trees of the library against the contract, written again: python -m contract.fuzz_trees [CASES]."""

import multiprocessing
import random
import sys

import numpy as np

import manymeans
from manymeans import _manymeans

from .cosine import unit_rows
from .fuzz_contract import KINDS, NAMES_IN_CONTRACT, bits, differences
from .hostile_cases import any_case, sizes
from .iterate import Refused
from .tree import fit_tree, walk

WAYS = [{"backend": "reference"}, {"backend": "cpu", "threads": 1}, {"threads": 3, "memory": 1 << 26},
        {"backend": "cpu", "algorithm": "brute", "threads": 2}]  # fmt: skip
PROBES = 1, 2, 5


def case_of(number):
    """A case of a fit, with as many leaves as there are rows at most."""
    rng = random.Random(f"tree {number}")
    case = any_case(1, 500 * number + 7)
    if number % 10 == 0:  # more rows than a quota looks at
        times = 300 // len(case["points"]) + 1
        case |= {"points": case["points"] * times, "weights": case["weights"] and case["weights"] * times}
    n = len(case["points"])
    k = n + 1 if rng.random() < 0.02 else rng.randint(1, min(n, 24))
    return case | {
        "k": [k], "models": 1, "model_seed": None, "initial": None, "empty": rng.choice(["farthest", "keep"]),
        "init": rng.choice(["auto", "k-means++", "k-means||", "random", "first"]), "refine": rng.randint(0, 3),
        "metric": rng.choice(["euclidean", "euclidean", "euclidean", "cosine"]), "branching": rng.choice([0, 2, 3, 5]),
        "sample": rng.choice([0, rng.randint(k, n), n + 5]) if k <= n else 0,
        "sizes": sizes(rng, n, [k]) if k <= n and rng.random() < 0.6 else (0, 0),
        "quota": rng.choice(["rows", "inertia"]),
    }  # fmt: skip


def answered(case, way):
    names = ("k", "seed", "init", "max_iter", "tol", "stop", "empty", "metric", "branching", "quota", "refine",
             "sample")  # fmt: skip
    options = {name: case[name] for name in names} | way
    options["min_size"], options["max_size"] = case["sizes"]
    points = np.array(case["points"], dtype=KINDS[case["kind"].code])
    weights = None if case["weights"] is None else np.array(case["weights"])
    hooks = {"initial": None, "checkpoint": None, "ranks": None, "callback": None}
    try:
        fit, tree = _manymeans.fit_tree(points, False, weights, options, hooks)
    except manymeans.Error as error:
        parameter = str(error)[1:].split("]")[0]
        return {"refused": NAMES_IN_CONTRACT.get(parameter, parameter)}
    (model,) = fit["models"]
    if case["metric"] == "cosine":
        points = _manymeans.rows_of_length_one(points, False, 0)
    asked = {"backend": way.get("backend", "auto"), "threads": way.get("threads", 0), "room": None}
    walks = [_manymeans.predict_by_walk(tree | {"n_probe": n}, points, False, asked).tolist() for n in PROBES]
    return {
        "digest": tree["digest"], "vectors": [bits(c) for c in tree["vectors"].tolist()],
        "parents": tree["parents"].tolist(), "nodes": tree["nodes"].tolist(), "inertias": tree["inertias"].tolist(),
        "labels": model["labels"].tolist(), "inertia": model["inertia"], "moved": tree["moved"],
        "walks": walks,
    }  # fmt: skip


def check(number):
    case = case_of(number)
    try:
        want = fit_tree(case)
        points = unit_rows(case["points"], case["kind"], "points") if case["metric"] == "cosine" else case["points"]
        want["walks"] = [[walk(x, want["vectors"], want["parents"], n) for x in points] for n in PROBES]
        want["vectors"] = [bits(c) for c in want["vectors"]]
    except Refused as refusal:
        want = {"refused": str(refusal)}
    lines = [f"case {number}, {way}: {what}" for way in WAYS for what in differences(want, answered(case, way))]
    return lines, want.get("refused", "moved" if want.get("moved") else "answered")


def main():
    cases = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    seen, bad = {}, 0
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        for lines, how in pool.imap_unordered(check, range(cases), chunksize=8):
            seen[how] = seen.get(how, 0) + 1
            bad += bool(lines)
            print("\n".join(line[:200] for line in lines[:4]), end="\n" if lines else "", flush=True)
    print(f"{cases} trees: {bad} differ; {dict(sorted(seen.items()))}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
