"""Section "Random": initial prototypes."""

import math

from .distance import nearest, squared_distance
from .random_numbers import CANDIDATE, FIRST_CENTRE, OVERSAMPLING, mix, pick, random_rows, u64
from .sums import Scale, Weights, limb_bits


def initial_rows(method, points, weights, k, seed):
    """The rows that become prototypes, in order."""
    if method == "auto":
        method = "k-means++" if k <= 5000 else "k-means||"
    if method == "first":
        return list(range(k))
    if method == "random":
        return random_rows(k, weights.q, seed)
    if method == "k-means++":
        return plus_plus(points, weights, k, seed)
    return parallel(points, weights, k, seed)


class Potential:
    """The least distances to the centres so far and their terms T."""

    def __init__(self, points, weights, first):
        self.points, self.weights = points, weights
        self.least = [squared_distance(x, points[first]) for x in points]
        values = self.values(self.least)
        self.scale = Scale(len(points), 3, max(values))
        self.terms = [self.scale.term(v) for v in values]

    def values(self, least):
        return [w * m for w, m in zip(self.weights.factor, least, strict=True)]

    def least_with(self, row):
        return [min(m, squared_distance(x, self.points[row])) for x, m in zip(self.points, self.least, strict=True)]

    def terms_of(self, least):
        return [self.scale.term(v) for v in self.values(least)]

    def add(self, row):
        self.least = self.least_with(row)
        self.terms = self.terms_of(self.least)


def plus_plus(points, weights, k, seed):
    rows = [pick(u64(seed, 0, 0, FIRST_CENTRE), weights.q)]
    state = Potential(points, weights, rows[0])
    draws = 2 + math.floor(math.log(k))
    while len(rows) < k:
        if sum(state.terms) == 0:
            return random_rows(k - len(rows), weights.q, seed, rows)
        drawn = [pick(u64(seed, len(rows), draw, CANDIDATE), state.terms) for draw in range(draws)]
        potentials = [sum(state.terms_of(state.least_with(row))) for row in drawn]
        rows.append(drawn[potentials.index(min(potentials))])
        state.add(rows[-1])
    return rows


def parallel(points, weights, k, seed):
    candidates = [pick(u64(seed, 0, 0, FIRST_CENTRE), weights.q)]
    state = Potential(points, weights, candidates[0])
    for r in range(5):
        total = sum(state.terms)
        found = [i for i, term in enumerate(state.terms) if u64(seed, i, r, OVERSAMPLING) * total < k * term << 64]
        candidates += found
        for row in found:
            state.add(row)
    if len(candidates) <= k:
        return random_rows(k - len(candidates), weights.q, seed, candidates)
    among = [points[row] for row in candidates]
    chosen = plus_plus(among, candidate_weights(points, weights, among), k, mix(seed, len(candidates), 0))
    return [candidates[i] for i in chosen]


def candidate_weights(points, weights, among):
    """What each candidate stands for, with a floor that keeps every q above zero."""
    totals = [0] * len(among)
    for x, q in zip(points, weights.q, strict=True):
        totals[nearest(x, among)[0]] += q
    largest = float(max(totals))
    floor = 2.0 ** -min(40, limb_bits(len(among)) - 1)
    return Weights(len(among), [max(float(total) / largest, floor) if total else 0.0 for total in totals])
