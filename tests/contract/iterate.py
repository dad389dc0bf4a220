"""Section "Iterating": one model from its first prototypes to its end."""

from dataclasses import dataclass, field
from functools import cached_property

from .cluster_sizes import assign
from .cosine import Refused, unit
from .digest import label_sum
from .distance import nearest
from .stop_rules import holds
from .sums import Scale, ldexp, mean_column_variance, scale_of_terms


@dataclass
class Data:
    """Points and weights of a fit, with what all of its models share."""

    points: list
    weights: object
    kind: object
    cosine: bool = False
    sizes: tuple = (0, 0)

    def __post_init__(self):
        self.n, self.d = len(self.points), len(self.points[0])

    @cached_property
    def columns(self):
        """The scale of each column's sum, and the rows' terms of it."""
        columns = [[w * x[j] for w, x in zip(self.weights.factor, self.points, strict=True)] for j in range(self.d)]
        scales = [scale_of_terms(self.n, column, self.kind.most_limbs) for column in columns]
        return [(scale, [scale.term(v) for v in column]) for scale, column in zip(scales, columns, strict=True)]

    @cached_property
    def variance(self):
        return mean_column_variance(self.points)

    def weight_of(self, labels, k):
        return sum(q for q, label in zip(self.weights.q, labels, strict=True) if label == k)

    def centroid(self, labels, k, old):
        """The prototype of a cluster that is not empty: divide, scale, round; of cosine the length before rounding."""
        weight = float(self.weight_of(labels, k))
        rows = [i for i, label in enumerate(labels) if label == k]
        means = [(scale, float(sum(terms[i] for i in rows)) / weight) for scale, terms in self.columns]
        means = [ldexp(mean, self.weights.places - scale.s) for scale, mean in means]
        if self.cosine:
            means = unit(means)
            if means is None:
                return old
        return tuple(self.kind.round(mean) for mean in means)

    def inertia(self, distances, e=0):
        """Weighted sum of squared distances; times 2^e, which is 0 in the units of w'."""
        pairs = list(zip(self.weights.factor, distances, strict=True))
        farthest = max(d2 for w, d2 in pairs if w > 0)
        scale = Scale(self.n, 3, max(self.weights.factor) * farthest)
        return ldexp(float(sum(scale.term(w * d2) for w, d2 in pairs)), e - scale.s)


@dataclass
class Rules:
    """When to stop: rules is a list of (name, number, ...) in the order asked for."""

    max_iter: int
    rules: list
    empty: str


@dataclass
class Model:
    """The state of a model, and at the end its answer."""

    prototypes: list
    labels: list = None
    distances: list = None
    iterations: int = 0
    stop: str = None
    inertia: float = None
    changed: int = 0
    relocated: bool = False
    inertias: list = field(default_factory=list)


def run(data, prototypes, rules, numbered):
    """Iterate until a rule stops the model. Its clusters are `numbered` by weight, or keep their order."""
    model = Model(prototypes)
    cycle = Cycle()
    while model.stop is None:
        before = model.labels
        label(data, model)
        if before is not None:
            model.changed = sum(a != b for a, b in zip(before, model.labels, strict=True))
            if model.changed == 0 and not model.relocated:
                model.stop = "strict"
        if model.stop is None and model.iterations == rules.max_iter:
            model.stop = "max_iter"
        if model.stop is None:
            step(data, model, rules, cycle)
    if numbered:
        number(data, model)
    model.inertia = data.inertia(model.distances, data.weights.e)
    return model


def label(data, model):
    if any(data.sizes):
        model.labels, model.distances = assign(data, model.prototypes, data.sizes)
        return
    found = [nearest(x, model.prototypes) for x in data.points]
    model.labels = [k for k, _ in found]
    model.distances = [d2 for _, d2 in found]


def step(data, model, rules, cycle):
    """The rest of an iteration after its labelling pass."""
    model.inertias.append(data.inertia(model.distances))
    old, dropped = treat_empty(data, model, rules.empty)
    model.prototypes = [
        data.centroid(model.labels, k, old[k]) if data.weight_of(model.labels, k) else old[k] for k in range(len(old))
    ]
    model.iterations += 1
    model.stop = next((rule[0] for rule in rules.rules if holds(rule, data, model, old)), None)
    if cycle.seen(model.labels, dropped) and model.stop is None:
        model.stop = "cycle"
    if model.iterations == rules.max_iter and model.stop is None:
        model.stop = "max_iter"
    if model.stop is not None:
        label(data, model)


def number(data, model):
    """Number the clusters by weight, until rows with equal distances leave the order as it is."""
    while True:
        weights = [data.weight_of(model.labels, k) for k in range(len(model.prototypes))]
        order = sorted(range(len(weights)), key=lambda k: (-weights[k], k))
        if order == list(range(len(weights))):
            return
        model.prototypes = [model.prototypes[k] for k in order]
        label(data, model)


class Cycle:
    """Brent's method with one saved state."""

    def __init__(self):
        self.t, self.saved = 0, None

    def seen(self, labels, dropped):
        if dropped:
            self.t, self.saved = 0, None
        self.t += 1
        state = label_sum(labels)
        known = state == self.saved
        if (self.t & self.t + 1) == 0:
            self.saved = state
        return known


def treat_empty(data, model, policy):
    """What an empty cluster takes or loses; gives the prototypes before the update, and whether any was dropped."""
    old = list(model.prototypes)
    empty = [k for k in range(len(old)) if data.weight_of(model.labels, k) == 0]
    model.relocated = False
    if not empty or policy == "keep":
        return old, False
    if policy == "error":
        raise Refused("empty clusters")
    if policy == "farthest":
        model.relocated = relocate(data, model, empty)
        return old, False
    kept = [k for k in range(len(old)) if k not in empty]
    model.labels = [sum(a < k for a in kept) - (k > kept[-1]) for k in model.labels]
    return [old[k] for k in kept], True


def relocate(data, model, empty):
    """`farthest`: each empty cluster takes the farthest row that its own cluster can spare."""
    rows = sorted(range(data.n), key=lambda i: (-model.distances[i], i))
    moved = False
    for k in empty:
        for i in rows:
            q = data.weights.q[i]
            if q > 0 and model.distances[i] > 0 and data.weight_of(model.labels, model.labels[i]) > q:
                model.labels[i] = k
                moved = True
                break
    return moved
