"""Section "Trees": levels of fits, the flat fit of the leaves, sizes by requests, and walks."""

import math

from .cosine import unit_rows
from .digest import ensemble_digest, model_hash
from .distance import nearest, squared_distance
from .iterate import Data, Refused
from .random_numbers import mix, random_rows, u64
from .sums import Weights
from .whole_fit import fit

NODE_SEED = 21


def fit_tree(case):
    """A dict of what a tree is: `case` is the case of a fit, with "branching", "quota", "refine" and "sample"."""
    n, k = len(case["points"]), case["k"][0]
    check(case, n, k)
    flat = case | {"sizes": (0, 0)}
    hashes = []

    def run(options):
        (model,) = fit(flat | {"initial": None} | options)[2]
        hashes.append(model_hash(model, case["kind"]))
        return model

    root = run({"k": [1], "init": "first", "max_iter": 1})
    vectors, parents, inertias, counts = list(root.prototypes), [-1], [root.inertia], [1]
    nodes = [(0, training_rows(case, n), k)]
    depth = levels_of(k, case["branching"])
    for left in range(depth, 0, -1):
        children, inertia = [], 0.0
        for number, rows, leaves in nodes:
            seed = u64(case["seed"], number, 0, NODE_SEED)
            init = "random" if case["init"] == "auto" and left > 1 else case["init"]
            model = run(rows_of(case, rows) | {"k": [children_of(leaves, left)], "seed": seed, "init": init})
            inertia += model.inertia
            parts = [[row for row, label in zip(rows, model.labels, strict=True) if label == c]
                     for c in range(len(model.prototypes))]  # fmt: skip
            estimates = inertias_of(case, parts, model.prototypes) if left > 1 and case["quota"] == "inertia" else []
            shares = shared_leaves(leaves, [len(part) for part in parts], weights_by(estimates))
            for part, share, vector in zip(parts, shares, model.prototypes, strict=True):
                if part or left == 1:
                    children.append((len(parents), part, share))
                    parents.append(number)
                    vectors.append(vector)
        nodes = children
        inertias.append(inertia)
        counts.append(len(nodes))
    final = run({"initial": vectors[-k:], "max_iter": case["refine"], "rules": []})
    vectors[-k:] = final.prototypes
    moved = bound_sizes(case, final)
    hashes[-1] = model_hash(final, case["kind"])
    return {
        "digest": ensemble_digest(hashes), "vectors": vectors, "parents": parents, "nodes": counts,
        "inertias": inertias, "labels": final.labels, "inertia": final.inertia, "moved": moved,
    }  # fmt: skip


def check(case, n, k):
    if k > n:
        raise Refused("k")
    least, most = case["sizes"]
    if k * least > n:
        raise Refused("min_size")
    if most and k * most < n:
        raise Refused("max_size")


def rows_of(case, rows):
    weights = case["weights"]
    if weights is not None:
        weights = [weights[row] for row in rows]
        weights = weights if any(weights) else [1.0] * len(rows)
    return {"points": [case["points"][row] for row in rows], "weights": weights}


def training_rows(case, n):
    s = case["sample"]
    return sorted(random_rows(s, [1] * n, mix(case["seed"], s, 0))) if 0 < s < n else list(range(n))


def levels_of(k, branching):
    if branching == 0:
        return 1 if k <= 16 else 2 if k <= 65536 else 3
    return next(levels for levels in range(1, 64) if branching**levels >= k)


def children_of(leaves, levels):
    return next(b for b in range(1, leaves + 1) if b**levels >= leaves)


def inertias_of(case, parts, prototypes):
    points = unit_rows(case["points"], case["kind"], "points") if case["metric"] == "cosine" else case["points"]
    weights, found = case["weights"] or [1.0] * len(points), []
    for part, prototype in zip(parts, prototypes, strict=True):
        count, total = min(len(part), 64), 0.0
        for row in (part[i * len(part) // count] for i in range(count)):
            total += weights[row] * squared_distance(points[row], prototype)
        found.append(len(part) * total / count if count else 0.0)
    return found


def weights_by(estimates):
    """Integer weights by estimated inertias. None means that the weights are numbers of rows."""
    largest = max(estimates, default=0.0)
    return [math.floor(v / largest * 2**31) for v in estimates] if 0 < largest < math.inf else None


def shared_leaves(leaves, rows, weights):
    room = [max(count - 1, 0) for count in rows]
    shares, weights = [int(count > 0) for count in rows], weights or room
    spare, full, some = leaves - sum(shares), True, {c for c, count in enumerate(rows) if count}
    while full:
        if not any(weights[c] for c in some):
            weights = room
        whole = sum(weights[c] for c in some)
        full = {c for c in some if spare * weights[c] >= room[c] * whole}
        some -= full
        spare -= sum(room[c] for c in full)
        for c in full:
            shares[c] += room[c]
    quotients = {c: divmod(spare * weights[c], whole) for c in some}
    for c in some:
        shares[c] += quotients[c][0]
    for c in sorted(some, key=lambda c: (-quotients[c][1], c))[: leaves - sum(shares)]:
        shares[c] += 1
    return shares


def bound_sizes(case, model):
    """Change the labels of the model, and return how many."""
    points = unit_rows(case["points"], case["kind"], "points") if case["metric"] == "cosine" else case["points"]
    before = list(model.labels)
    least, most = case["sizes"]
    if most:
        at_most(most, points, model)
    if least:
        at_least(least, points, model)
    moved = sum(a != b for a, b in zip(before, model.labels, strict=True))
    if moved:
        data = Data(points, Weights(len(points), case["weights"]), case["kind"])
        distances = [squared_distance(x, model.prototypes[c]) for x, c in zip(points, model.labels, strict=True)]
        model.inertia = data.inertia(distances, data.weights.e)
    return moved


def walk(x, vectors, parents, n_probe):
    """The label of x; the numbers of leaves follow those of all parents."""

    def below(node):
        return [child for child, parent in enumerate(parents) if parent == node]

    first, reached = parents[-1] + 1, [0]
    while below(reached[0])[0] < first:
        nodes = [child for node in reached for child in below(node)]
        order = sorted((math.sqrt(squared_distance(x, vectors[node])), node) for node in nodes)
        reached = [node for _, node in order[:n_probe]]
    offers = []
    for node in reached:
        label, d2 = nearest(x, [vectors[leaf] for leaf in below(node)])
        offers.append((math.sqrt(d2), below(node)[label]))
    return min(offers)[1] - first


def requests(points, rows, model, leaves):
    found = []
    for row in rows:
        label, d2 = nearest(points[row], [model.prototypes[leaf] for leaf in leaves])
        found.append((math.sqrt(d2), row, leaves[label]))
    return sorted(found)


def at_most(most, points, model):
    leaves = range(len(model.prototypes))
    sizes = [model.labels.count(leaf) for leaf in leaves]
    waiting = [row for row, label in enumerate(model.labels) if sizes[label] > most]
    sizes = [0 if size > most else size for size in sizes]
    while waiting:
        asked = requests(points, waiting, model, [leaf for leaf in leaves if sizes[leaf] < most])
        waiting = []
        for _, row, leaf in asked:
            if sizes[leaf] == most:
                waiting.append(row)
            else:
                model.labels[row] = leaf
                sizes[leaf] += 1


def at_least(least, points, model):
    leaves = range(len(model.prototypes))
    sizes = [model.labels.count(leaf) for leaf in leaves]
    while min(sizes) < least:
        rows = [row for row, label in enumerate(model.labels) if sizes[label] > least]
        for _, row, leaf in requests(points, rows, model, [leaf for leaf in leaves if sizes[leaf] < least]):
            if sizes[leaf] < least < sizes[model.labels[row]]:
                sizes[model.labels[row]] -= 1
                sizes[leaf] += 1
                model.labels[row] = leaf
