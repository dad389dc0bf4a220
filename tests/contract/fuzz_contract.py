"""Whole fits of the library against the contract, written again: python -m contract.fuzz_contract [CASES].

Needs the package manymeans and NumPy. Exits with 1 where an answer differs, and says by which number each case that
differs can be had again.
"""

import argparse
import multiprocessing
import os
import platform
import pprint
import random
import struct
import sys
import time
import warnings
from collections import Counter

import numpy as np

import manymeans

from .hostile_cases import case_of
from .iterate import Refused
from .whole_fit import fit

KINDS = {0: np.float32, 1: np.float64}
# Of what the package names otherwise.
NAMES_IN_CONTRACT = {"X": "points", "sample_weight": "weights", "init": "initial prototypes"}


def expected(case):
    """What the contract says: a dict to compare."""
    try:
        hashes, digest, models = fit(case)
    except Refused as refusal:
        return {"refused": str(refusal)}
    answer = {"digest": digest}
    for i, (model, one) in enumerate(zip(models, hashes, strict=True)):
        answer[f"model {i}"] = {
            "digest": one, "labels": model.labels, "prototypes": [bits(c) for c in model.prototypes],
            "inertia": model.inertia.hex(), "iterations": model.iterations, "stop": model.stop,
        }  # fmt: skip
    return answer


def bits(row):
    return b"".join(struct.pack("<d", x) for x in row).hex()


def answered(case, way):
    """What the library says, computed in one of its ways."""
    for name in ("MANYMEANS_CPU_ISA", "MANYMEANS_CPU_SCREEN", "MANYMEANS_DUPLICATES"):
        os.environ.pop(name, None)
    os.environ.update(way["environment"])
    points = np.array(case["points"], dtype=KINDS[case["kind"].code])
    init = case["init"] if case["initial"] is None else np.array(case["initial"])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = manymeans.fit(
                points, case["k"], models=case["models"], seed=case["seed"], model_seed=case["model_seed"], init=init,
                sample_weight=case["weights"], max_iter=case["max_iter"], tol=case["tol"], stop=case["stop"],
                empty=case["empty"], metric=case["metric"], min_size=case["sizes"][0],
                max_size=case["sizes"][1], **way["options"],
            )  # fmt: skip
    except manymeans.Error as error:
        parameter = str(error)[1:].split("]")[0]
        return {"refused": NAMES_IN_CONTRACT.get(parameter, parameter)}
    answer = {"digest": result.digest}
    for i, model in enumerate(result.models):
        answer[f"model {i}"] = {
            "digest": model.digest, "labels": model.labels.tolist(),
            "prototypes": [bits(c) for c in model.cluster_centers.tolist()], "inertia": float(model.inertia).hex(),
            "iterations": model.n_iter, "stop": model.stop_reason,
        }  # fmt: skip
    return answer


REFERENCE = {"environment": {}, "options": {"backend": "reference"}}


def ways_of(seed, number, case, backends):
    """The reference, and one of the ways that must not change the answer."""
    rng = random.Random(f"{seed}/{number}/way")
    options = {"n_threads": rng.choice([1, 2, 3]), "strategy": rng.choice(["concatenated", "data", "task"])}
    environment = {}
    if case["screen"] is not None and "cpu" in backends:
        sets = [isa for isa in instruction_sets() if case["screen"] in screens_of(isa)]
        environment = {"MANYMEANS_CPU_SCREEN": case["screen"], "MANYMEANS_DUPLICATES": "off"}
        return [REFERENCE] + [
            {
                "environment": {**environment, "MANYMEANS_CPU_ISA": isa},
                "options": {"backend": "cpu", "algorithm": "matrix"},
            }
            for isa in sets
        ]
    backend = rng.choice(backends)
    if backend == "cpu":
        environment["MANYMEANS_CPU_ISA"] = rng.choice(instruction_sets())
        if rng.random() < 0.3:
            environment["MANYMEANS_DUPLICATES"] = rng.choice(["off", "on"])
    algorithms = ["auto", "matrix", "bounds", "brute"] + (["kdtree"] if len(case["points"][0]) <= 32 else [])
    options.update(
        backend=backend, algorithm=rng.choice(algorithms if backend == "cpu" else ["auto", "matrix", "brute"])
    )
    if backend == "cpu" and options["algorithm"] == "matrix":
        screens = screens_of(environment["MANYMEANS_CPU_ISA"])
        environment["MANYMEANS_CPU_SCREEN"] = rng.choice(screens)
    return [REFERENCE, {"environment": environment, "options": options}]


_here = {}


def instruction_sets():
    """Those of the cpu backend that this machine has."""
    if "sets" not in _here:
        own = {"aarch64": ["neon_bf16", "neon"], "x86_64": ["amx", "avx512_bf16", "avx512_vnni", "avx512", "avx2"]}
        names = [*own.get(platform.machine(), []), "portable"]
        _here["sets"] = [name for name in names if works(name, "")]
    return _here["sets"]


def screens_of(isa):
    formats = ("float32", "bfloat16", "bfloat16-pair", "int8-pair")
    if isa not in _here:
        _here[isa] = [name for name in formats if works(isa, name)]
    return _here[isa]


def works(isa, screen):
    os.environ["MANYMEANS_CPU_ISA"] = isa
    os.environ.pop("MANYMEANS_CPU_SCREEN", None)
    if screen:
        os.environ["MANYMEANS_CPU_SCREEN"] = screen
    try:
        manymeans.fit(np.eye(4), 2, backend="cpu", algorithm="matrix" if screen else "brute", n_threads=1)
    except manymeans.UnavailableError:
        return False
    return True


def check(job):
    """The differences of one case, as lines."""
    seed, number, backends = job
    case = case_of(seed, number)
    want = expected(case)
    lines = []
    for way in ways_of(seed, number, case, backends):
        found = differences(want, answered(case, way))
        if found:
            lines += [f"case {number}, computed by {way['environment'] | way['options']}:"]
            lines += [f"  {what}" for what in found]
    return number, want, lines


def differences(want, got):
    if want == got:
        return []
    found = []
    for key in sorted(want.keys() | got.keys()):
        a, b = want.get(key), got.get(key)
        if isinstance(a, dict) and isinstance(b, dict):
            found += [f"{key}, {name}: {a[name]!r}, found {b[name]!r}" for name in a if a[name] != b[name]]
        elif a != b:
            found.append(f"{key}: {str(a)[:300]}, found {str(b)[:300]}")
    return found


def run(options):
    numbers = range(options.first, options.first + options.cases)
    jobs = ((options.seed, number, options.backends) for number in numbers)
    bad, seen, began, told = [], Counter(), time.monotonic(), time.monotonic()
    with multiprocessing.get_context("spawn").Pool(options.processes) as pool:
        for done, (number, want, lines) in enumerate(pool.imap_unordered(check, jobs, chunksize=8), 1):
            note(seen, want)
            if lines:
                bad.append(number)
                print("\n".join(line[:160] for line in lines[:4]), flush=True)
            if time.monotonic() - told > 30:
                told = time.monotonic()
                print(f"{done} of {options.cases} cases, {len(bad)} differ, {told - began:.0f} s", flush=True)
    print(f"seed {options.seed}, {options.cases} cases from {options.first}: {len(bad)} differ, "
          f"{time.monotonic() - began:.0f} s; {dict(sorted(seen.items()))}")  # fmt: skip
    if bad:
        print(f"again: ./dev fuzz contract --seed {options.seed} --case NUMBER; numbers: {sorted(bad)}")
    return 1 if bad else 0


def note(seen, want):
    """Count how the cases ended, so that a run shows what it has tried."""
    if "refused" in want:
        seen[f"refused: {want['refused']}"] += 1
    for key, model in want.items():
        if key.startswith("model"):
            seen[model["stop"]] += 1


def show(options):
    case = case_of(options.seed, options.case)
    number, _, lines = check((options.seed, options.case, options.backends))
    pprint.pprint({**case, "kind": KINDS[case["kind"].code].__name__}, width=120)
    print(
        "\n".join(lines)
        if lines
        else f"case {number}: equal, by {ways_of(options.seed, number, case, options.backends)}"
    )
    return 1 if lines else 0


def main():
    parser = argparse.ArgumentParser(prog="./dev fuzz contract", description="Whole fits against the contract.")
    parser.add_argument("cases", nargs="?", type=int, default=10000, help="how many; default: %(default)s")
    parser.add_argument("--seed", type=int, default=1, help="other cases; default: %(default)s")
    parser.add_argument("--first", type=int, default=0, help="number of the first case; default: %(default)s")
    parser.add_argument("--case", type=int, help="this one alone, shown in full")
    parser.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)), help="default: one a processor")
    parser.add_argument("--backends", nargs="+", default=["cpu"], help="compared beside the reference; default: cpu")
    options = parser.parse_args()
    return run(options) if options.case is None else show(options)


if __name__ == "__main__":
    sys.exit(main())
