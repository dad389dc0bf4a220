"""Hostile cases by number: the same number is the same case on every machine."""

import random

from .exact import FLOAT32, FLOAT64, ldexp
from .stop_rules import RULES

INITS = ["auto", "k-means++", "k-means++", "k-means||", "k-means||", "random", "first", "array"]
EMPTY = ["farthest", "farthest", "keep", "drop", "error"]
STOPS = ["labels:0", "labels:0.1", "labels:0.5", "shift:0", "shift:0.5:0.5", "shift:1e-3:0.9", "inertia:0",
         "inertia:1e-3", "inertia:0.2"]  # fmt: skip


def case_of(seed, number):
    """Everything that the answer depends on."""
    case = any_case(seed, number)
    rng = random.Random(f"{seed}/{number}/metric and sizes")
    case |= {"metric": "cosine" if rng.random() < 0.15 else "euclidean", "sizes": (0, 0)}
    if rng.random() < 0.2 and number % 500 != 499 and case["empty"] != "drop":
        case["sizes"] = sizes(rng, len(case["points"]), case["k"])
    if rng.random() < 0.15 and case["screen"] is None:
        add_error(rng, case)
    return case


def add_error(rng, case):
    """The rule `error`, with a number near the inertias that the case may have."""
    rows, weights = case["points"], case["weights"] or [1.0]
    low, high = zip(*((min(column), max(column)) for column in zip(*rows, strict=True)), strict=True)
    spread = sum((b - a) * (b - a) for a, b in zip(low, high, strict=True))
    number = min(len(rows) * spread * max(weights) * rng.choice([0, 1e-6, 1e-3, 0.01, 0.03, 0.1, 1]), 1e308)
    if case["metric"] == "cosine":
        number = len(rows) * max(weights) * rng.choice([0.01, 0.1, 0.3])
    number = number if 0 <= number <= 1e308 else 1.0
    case["stop"] += f",error:{number!r}"
    case["rules"] = [*case["rules"], ("error", number)]


def sizes(rng, n, ks):
    """Limits that fit, or nearly: one is an error now and then."""
    least, most = rng.randint(0, n // max(ks)), rng.choice([0, rng.randint(-(-n // min(ks)), n)])
    if rng.random() < 0.3:
        least, most = n // max(ks), -(-n // min(ks))
    if rng.random() < 0.03 and most > 1:
        most -= 1
    return min(least, most or n), most


def any_case(seed, number):
    """A case without these."""
    rng = random.Random(f"{seed}/{number}")
    if number % 500 == 499:
        return cut_off_case(rng) if number % 2000 != 1999 else overflowing_case(rng)
    kind = FLOAT64 if rng.random() < 0.65 else FLOAT32
    points = points_of(rng, kind)
    n = len(points)
    case = {
        "kind": kind, "points": points, "weights": weights_of(rng, n), "initial": None, "init": rng.choice(INITS),
        "k": sorted({clusters(rng, n) for _ in range(rng.choice([1, 1, 1, 2]))}), "models": rng.choice([1, 1, 1, 2, 3]),
        "seed": rng.getrandbits(64), "model_seed": None, "max_iter": rng.choice([0, 1, 2, 3, 5, 8, 30]),
        "empty": rng.choice(EMPTY), "screen": None,
    }  # fmt: skip
    add_rules(rng, case)
    if case["init"] == "array":
        give_prototypes(rng, case)
    elif rng.random() < 0.3:
        case.update(model_seed=rng.choice([rng.getrandbits(64), rng.randrange(100)]), k=case["k"][:1], models=1)
    return case


def clusters(rng, n):
    if rng.random() < 0.01:
        return n + 1
    return rng.randint(1, n) if rng.random() < 0.15 and n < 20 else rng.randint(1, min(n, 8))


def add_rules(rng, case):
    names = [rng.choice(STOPS) for _ in range(rng.choice([0, 0, 1, 1, 2]))]
    names.insert(rng.randint(0, len(names)), rng.choice(["tol", "strict"]))
    case["tol"] = rng.choice([0.0, 1e-4, 1e-2, 0.3])
    case["stop"] = ",".join(names)
    case["rules"] = []
    for name, *numbers in (one.split(":") for one in names):
        if name == "tol" and case["tol"] > 0:
            case["rules"].append((name, case["tol"]))
        elif name in RULES and name != "tol":
            case["rules"].append((name, *map(float, numbers)))


def give_prototypes(rng, case):
    """Prototypes of any width: rows, rows moved a little, and values that T cannot hold."""
    d = len(case["points"][0])
    rows = [list(rng.choice(case["points"])) for _ in range(case["models"] * sum(case["k"]))]
    for row in rows:
        if rng.random() < 0.5:
            row[rng.randrange(d)] *= rng.choice([-1.0, 0.0, 0.9, 1.1, 1 + 2.0**-30])
    case["initial"] = rows


# --- Points ----------------------------------------------------------------------------------------------------------
def points_of(rng, kind):
    n = rng.choice([1, 2, 3]) if rng.random() < 0.1 else rng.randint(4, 28 if rng.random() < 0.8 else 70)
    d = rng.choice([1, 1, 2, 2, 3, 4, 5, 7, 8, 9, 12, 17]) if rng.random() < 0.95 else rng.choice([33, 64])
    e = rng.randint(-1000, 499) if kind.code else rng.randint(-149, 126)
    if rng.random() < 0.35:
        e = rng.randint(-20, 20)
    rows = rng.choice(FAMILIES)(rng, n, d)
    limit = 2.0**500 if kind.code else 2.0**126
    if rng.random() < 0.01:
        limit = 2.0 ** (502 if kind.code else 127)
    return [tuple(kind_value(kind, max(-limit, min(limit, ldexp(x, e)))) for x in row) for row in rows]


def kind_value(kind, x):
    """The value in T, negative zeros kept."""
    return x if kind.code else (-0.0 if str(x) == "-0.0" else kind.round(x))


def noise(rng, n, d):
    return [[rng.gauss(0, 1) for _ in range(d)] for _ in range(n)]


def grid(rng, n, d):
    """Many ties."""
    side = rng.choice([1, 2, 3, 8])
    return [[float(rng.randint(-side, side)) for _ in range(d)] for _ in range(n)]


def duplicates(rng, n, d):
    rows = noise(rng, rng.randint(1, 4), d)
    return [list(rng.choice(rows)) for _ in range(n)]


def any_exponents(rng, n, d):
    width = rng.choice([10, 60, 200, 1000])
    return [[ldexp(rng.uniform(-1, 1), -rng.randint(0, width)) for _ in range(d)] for _ in range(n)]


def far_columns(rng, n, d):
    """Each column with a scale and an offset of its own; at times one value far from all others."""
    width = rng.choice([20, 100, 400])
    scales = [-rng.randint(0, width) for _ in range(d)]
    offsets = [rng.choice([0.0, 1.0, 2.0**20, 1.7e9, -(2.0**45), 1e15, 2.0**53]) for _ in range(d)]
    rows = [[ldexp(rng.gauss(0, 1) + offset, e) for e, offset in zip(scales, offsets, strict=True)] for _ in range(n)]
    if rng.random() < 0.2:
        rows[rng.randrange(n)][rng.randrange(d)] *= rng.choice([-2.0, 2.0**20, -(2.0**60)])
    return rows


def outliers(rng, n, d):
    """Rows of zeros, and a few with one huge value among small ones."""
    rows = [[0.0] * d for _ in range(n)]
    for i in rng.sample(range(n), max(1, n // 5)):
        rows[i] = [rng.gauss(0, 1e-4) for _ in range(d)]
        rows[i][rng.randrange(d)] = rng.uniform(0.5, 1)
    return rows


def signed_zeros(rng, n, d):
    return [[rng.choice([0.0, -0.0, 1.0, -1.0]) for _ in range(d)] for _ in range(n)]


def tight_groups(rng, n, d):
    """Groups whose spread is lost beside their distance, or nearly."""
    centres = grid(rng, rng.randint(1, 4), d)
    spread = rng.choice([-30, -50, -60, -300])
    return [[x + ldexp(rng.gauss(0, 1), spread) for x in rng.choice(centres)] for _ in range(n)]


def denormals(rng, n, d):
    """Values of few bits at the lower end of T, whichever scale is asked for."""
    low = rng.choice([-1074, -1060, -540, -149, -140])
    return [[ldexp(float(rng.randint(-9, 9)), low) for _ in range(d)] for _ in range(n)]


FAMILIES = [noise, noise, grid, duplicates, any_exponents, any_exponents, far_columns, outliers, signed_zeros,
            tight_groups, denormals]  # fmt: skip


# --- Weights ---------------------------------------------------------------------------------------------------------
def weights_of(rng, n):
    family = rng.choice([None, None, None, None, *WEIGHTS])
    if family is None:
        return None
    e = rng.choice([0, 0, -1000, -1074, 900, rng.randint(-1074, 1000)])
    weights = [ldexp(w, e) for w in family(rng, n)]
    if rng.random() < 0.15:
        weights = [0.0 if rng.random() < 0.4 else w for w in weights]
    return weights


def ones(rng, n):
    return [1.0] * n


def counts(rng, n):
    most = rng.choice([2, 10, 2**40])
    return [float(rng.randint(0 if rng.random() < 0.1 else 1, most)) for _ in range(n)]


def shares(rng, n):
    return [rng.uniform(0.01, 1) for _ in range(n)]


def spread_out(rng, n):
    """Spans up to and beyond what counts beside the largest."""
    width = rng.choice([10, 40, 51, 60])
    return [ldexp(rng.uniform(0.5, 1), -rng.randint(0, width)) for _ in range(n)]


def one_weight(rng, n):
    return [rng.choice([1.0, 0.1, 3.0])] * n


WEIGHTS = [ones, counts, shares, spread_out, one_weight]


# --- Cases for one screen --------------------------------------------------------------------------------------------
def plain_case(points, **others):
    case = {
        "kind": FLOAT32, "points": points, "weights": None, "initial": None, "init": "k-means++", "k": [8], "models": 1,
        "seed": 0, "model_seed": None, "max_iter": 0, "tol": 0.0, "stop": "strict", "rules": [], "empty": "keep",
        "screen": "int8-pair",
    }  # fmt: skip
    return {**case, **others}


def cut_off_case(rng):
    """Rows of next to nothing, and a few with a huge value beside noise: a copy in bytes cuts these off."""
    n, d = 200, 64
    rows = [[0.0, rng.randrange(4) * 2.0**-70] + [0.0] * (d - 2) for _ in range(n)]
    for i in range(n - 12, n):
        rows[i] = [1e6 * rng.uniform(0.3, 1.1)] + [rng.gauss(0, 100) for _ in range(d - 1)]
    points = [tuple(FLOAT32.round(x) for x in row) for row in rows]
    return plain_case(points, seed=rng.getrandbits(64), models=3)


def overflowing_case(rng):
    """An error bound beyond float32 for the span of the nearest prototype, and small ones for two others.

    A row is cut off a little, most rows are exact in bytes, the prototype is half a unit off in every column.
    """
    n, d, k = 64, 32768, 24
    largest = FLOAT32.round(1.2575 + rng.uniform(-1e-4, 1e-4))
    unit = FLOAT32.round(largest * 1.5 / 32639)
    beyond = unit * 32639 * 1.055
    rows = []
    for i in range(n):
        value = beyond if i < 2 else (0.0, 0.0, 0.0, 21759 * unit, 21759 * unit, 21759 * unit, largest)[i % 7]
        rows.append((FLOAT32.round(value if i % 2 else -value), *[0.0] * (d - 1)))
    rng.shuffle(rows)
    prototypes = [[0.0] * d for _ in range(k)]
    prototypes[0] = [beyond] + [0.5 * 1.99 * beyond / 32639] * (d - 1)
    prototypes[1][0], prototypes[2][1] = 1.99 * beyond, 0.999 * beyond
    prototypes[3][0], prototypes[4][0] = -0.1 * beyond, 0.04 * beyond
    for i in range(5, k):
        prototypes[i][2] = 1e-6 * beyond * i
    return plain_case(rows, initial=[tuple(row) for row in prototypes], k=[k])
