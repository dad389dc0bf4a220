"""Section "Iterating", step 9: the stop rules, each with its number in digests.

A rule looks at the data, the model after an update, the prototypes before it and the rule's numbers.
"""

from .distance import squared_distance


def shifts(model, old):
    return [squared_distance(a, b) for a, b in zip(old, model.prototypes, strict=True)]


def tol(data, model, old, number):
    total = 0.0
    for d2 in shifts(model, old):
        total += d2
    return total <= number * data.variance


def labels(data, model, old, f):
    return model.iterations > 1 and model.changed / data.n <= f


def shift(data, model, old, e, p=1.0):
    return sum(d2 <= e * e for d2 in shifts(model, old)) >= p * len(old)


def inertia(data, model, old, r):
    return len(model.inertias) > 1 and model.inertias[-2] - model.inertias[-1] <= r * model.inertias[-2]


def error(data, model, old, e):
    return data.inertia(model.distances, data.weights.e) <= e


RULES = {"tol": (2, tol), "labels": (3, labels), "shift": (4, shift), "inertia": (5, inertia), "error": (11, error)}


def holds(rule, data, model, old):
    name, *numbers = rule
    return RULES[name][1](data, model, old, *numbers)
