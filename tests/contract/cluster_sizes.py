"""Section "Balanced clusters": the labels of least cost, by shortest augmenting paths over exact numbers of any length.

A cost has the row's label in its last digits, so that no two labellings cost the same and the least is the first one in
lexicographic order.
"""

from .distance import squared_distance
from .exact import exponent, nearest_integer


def costs_of(data, prototypes):
    """Integers, and the distances that they come from."""
    distances = [[squared_distance(x, c) for c in prototypes] for x in data.points]
    values = [[w * d2 for d2 in row] for w, row in zip(data.weights.factor, distances, strict=True)]
    s = 58 - len(prototypes).bit_length() - exponent(max(max(row) for row in values))
    return [[nearest_integer(v, s) for v in row] for row in values], distances


def assign(data, prototypes, sizes):
    """Labels and distances of all rows."""
    n, k = data.n, len(prototypes)
    least, most = sizes[0], sizes[1] or n
    costs, distances = costs_of(data, prototypes)
    exact = [[cost * k**n + label * k ** (n - 1 - i) for label, cost in enumerate(row)] for i, row in enumerate(costs)]
    reward = 4 * n * (max(max(row) for row in exact) + 1)  # of a row that a cluster has to have
    labels, counts = [], [0] * k
    for i in range(n):
        labels.append(None)
        ends = [-reward if count < least else 0 if count < most else None for count in counts]
        augment(exact, labels, i, ends)
        counts = [labels.count(c) for c in range(k)]
    return labels, [row[label] for row, label in zip(distances, labels, strict=True)]


def augment(costs, labels, new, ends):
    """Give the new row a label, moving others along the cheapest path to a cluster that ends it."""
    k = len(ends)
    steps = {}
    for row, label in enumerate(labels[:new]):
        for c in range(k):
            step = (costs[row][c] - costs[row][label], row)
            if c != label and step < steps.get((label, c), (step[0] + 1, 0)):
                steps[label, c] = step
    length = list(costs[new])
    path = [[(new, c)] for c in range(k)]
    for _ in range(k):
        for (a, b), (cost, row) in steps.items():
            if length[a] + cost < length[b]:
                length[b], path[b] = length[a] + cost, path[a] + [(row, b)]
    end = min((c for c in range(k) if ends[c] is not None), key=lambda c: length[c] + ends[c])
    for row, label in path[end]:
        labels[row] = label
