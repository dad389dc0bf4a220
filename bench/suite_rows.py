"""Suites: from the file in bench/suites/ to rows that can be measured one at a time, and what they will take."""

import json
import re

import machine

DEFAULTS = {"models": 1, "seed": 1, "threads": 2, "isa": None, "measure": "per iteration", "iterations": [1, 11],
            "stop": "strict", "repeats": 3, "flags": [], "wanted": {}}
MEASURES = ("per iteration", "per iteration run", "whole fit", "initialisation")
QUICK_SHARE, QUICK_ROWS = 20, 20_000


def _list(value):
    return value if isinstance(value, list) else [value]


def cluster_counts(k):
    """The numbers in 8, [8, 16] or "2..32"."""
    if isinstance(k, str):
        first, last = map(int, k.split(".."))
        return list(range(first, last + 1))
    return _list(k)


def title(row):
    variant = f" / {row['variant']}" if row["variant"] else ""
    held = f", {row['isa']}" if row["isa"] else ""
    return f"{row['name']}{variant}, {row['threads']} threads{held}"


def key(row):
    return (row["suite"], row["name"], row["variant"], row["threads"], row["isa"])


def quick_data(data):
    if "n" in data:
        return {**data, "n": max(data["n"] // QUICK_SHARE, min(data["n"], QUICK_ROWS))}
    return {**data, "rows": QUICK_ROWS} if data["set"] in ("kdd", "mnist") else data


def expanded(suite, pattern=None, quick=False, repeats=None):
    """All rows of a suite with defaults filled in, one variant of the data, thread count and instruction set each."""
    rows = []
    for given in suite["rows"]:
        row = {**DEFAULTS, **suite.get("defaults", {}), **given, "suite": suite["name"]}
        assert row["measure"] in MEASURES, row["measure"]
        row["ks"] = cluster_counts(row["k"])
        row["repeats"] = 1 if quick else repeats or row["repeats"]
        variants = row.pop("variants", {"": row.get("data")})
        row["all_variants"] = list(variants)
        for variant, data in variants.items():
            for threads in _list(row["threads"]):
                for isa in _list(row["isa"]):
                    one = {**row, "variant": variant, "data": quick_data(data) if quick else data, "threads": threads, "isa": isa}
                    if not pattern or re.search(pattern, title(one)):
                        rows.append(one)
    return rows


def obstacle(row, usable_cpus):
    """Why this machine cannot measure this row; None if it can."""
    if row["threads"] > usable_cpus:
        return f"left out, this machine has {usable_cpus} processors"
    if row["isa"] and row["isa"] not in machine.instruction_sets():
        return f"left out, this processor lacks {row['isa']}"
    return None


def estimate(row, peers):
    """Seconds that this row will take, roughly: a peer at 80 GFLOP/s, 1.2 thousand million distances and 60 million
    rows a second on each thread, manymeans 4 times faster, 1 second for the start of every peer."""
    sizes = {"kdd": (494021, 38), "mnist": (60000, 784), "iris_shape": (150, 4)}
    n, d = sizes.get(row["data"]["set"], (row["data"].get("n"), row["data"].get("d")))
    n, models = min(n, row["data"].get("rows", n)), row["models"] * len(row["ks"])
    iteration = n * (sum(row["ks"]) * row["models"] * (d / 40e9 + 0.8e-9) + models * 16e-9) / row["threads"]
    steps = sum(min(count, 100) for count in row["iterations"]) + len(row["iterations"])
    if row["measure"] == "initialisation":
        steps = 5  # about 2 + ln k candidates for each centroid
    share = min(1, row.get("peer_models", models) / models)
    one_peer = steps * iteration * share + (1 + n * d / 200e6) * len(row["iterations"])
    ours = steps * iteration / 4 + 0.1 * len(row["iterations"])
    judging = 3 + n * d / 20e6 * (1 + peers * min(models, 9) / 2) + n * models * 2e-7
    return row["repeats"] * (ours + peers * one_peer) + judging


def load(path):
    return json.loads(path.read_text(encoding="utf-8"))


def load_suite(path, needed):
    """A suite whose rows all have what is needed: found out now, not after an hour. Everything else may be left out."""
    if not path.is_file():
        raise SystemExit(f"{path}: there is no such file; bench/suites/ holds the suites")
    suite = {"name": path.stem, "about": "", **load(path)}
    suite["rows"] = [{**suite.get("defaults", {}), **row} for row in suite.get("rows", [])]
    if not suite["rows"]:
        raise SystemExit(f'{path}: there are no rows; a suite is an object whose "rows" are a list of objects')
    for number, row in enumerate(suite["rows"], 1):
        lacking = [name for name in needed if name not in row]
        if lacking:
            raise SystemExit(f"{path}: row {number} ({row.get('name', 'without a name')}) has no {', '.join(lacking)}; "
                             f"every row needs {', '.join(needed)}")
    return suite
