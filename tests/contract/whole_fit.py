"""A whole fit: what is refused, the members of an ensemble, and its digest."""

import math

from .cosine import unit_rows
from .digest import ensemble_digest, hexadecimal, model_hash
from .exact import ldexp
from .iterate import Data, Refused, Rules, run
from .random_numbers import mix
from .seeding import initial_rows
from .sums import Weights

LARGEST_FLOAT64 = 2.0**500


def check_points(points, kind, where):
    for row in points:
        for x in row:
            if not math.isfinite(x) or (kind.code and abs(x) > LARGEST_FLOAT64):
                raise Refused(where)


def check_weights(case):
    weights, n, d = case["weights"], len(case["points"]), len(case["points"][0])
    if weights is None:
        return
    if any(not math.isfinite(w) or w < 0 for w in weights) or not any(weights):
        raise Refused("weights")
    values = [x for row in case["points"] + (case["initial"] or []) for x in row]
    largest = max(abs(x) for x in values)
    quantised = Weights(n, weights)
    if not math.isfinite(ldexp(max(quantised.factor), quantised.e) * (d * 4 * largest * largest)):
        raise Refused("weights")


def check_sizes(case):
    n, (least, most) = len(case["points"]), case["sizes"]
    for k in case["k"]:
        if k * least > n:
            raise Refused("min_size")
        if most and k * most < n:
            raise Refused("max_size")


def fit(case):
    """The answer to a case: a dict as answer_of() of cases.py gives it for the library."""
    kind = case["kind"]
    if max(case["k"]) > len(case["points"]):  # comes before any value is read
        raise Refused("k")
    check_sizes(case)
    cosine = case["metric"] == "cosine"
    if cosine:
        case = case | {"points": unit_rows(case["points"], kind, "points")}
    check_points(case["points"], kind, "points")
    initial = case["initial"]
    check_weights(case | {"initial": None} if cosine else case)
    if initial is not None:
        initial = [tuple(kind.round(x) for x in row) for row in initial]
        check_points(initial, kind, "initial prototypes")
        if cosine:
            initial = unit_rows(initial, kind, "initial prototypes")
    data = Data(case["points"], Weights(len(case["points"]), case["weights"]), kind, cosine, case["sizes"])
    rules = Rules(case["max_iter"], case["rules"], case["empty"])
    numbered = initial is None and not any(case["sizes"])
    models = [
        run(data, first_prototypes(data, case, k, replica, rows_of_model(case, k, replica, initial)), rules, numbered)
        for k in case["k"]
        for replica in range(case["models"])
    ]
    hashes = [model_hash(model, kind) for model in models]
    return [hexadecimal(one) for one in hashes], ensemble_digest(hashes), models


def rows_of_model(case, k, replica, initial):
    if initial is None:
        return None
    first = case["models"] * sum(case["k"][: case["k"].index(k)]) + replica * k
    return initial[first : first + k]


def first_prototypes(data, case, k, replica, initial):
    if initial is not None:
        return initial
    seed = case["model_seed"]
    if seed is None:
        seed = mix(case["seed"], k, replica)
    rows = initial_rows(case["init"], data.points, data.weights, k, seed)
    return [tuple(data.kind.round(x) for x in data.points[row]) for row in rows]
