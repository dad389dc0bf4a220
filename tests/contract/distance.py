"""Section "Distance and label"."""

from .exact import fma


def squared_distance(x, c):
    """d2(x, c): eight lanes of fused steps, added in one order."""
    p = [0.0] * 8
    for j, (a, b) in enumerate(zip(x, c, strict=True)):
        t = a - b
        if t:  # else the step changes nothing
            p[j % 8] = fma(t, t, p[j % 8])
    return ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]))


def nearest(x, prototypes):
    """The label of x, the lowest on equality, and its squared distance."""
    distances = [squared_distance(x, c) for c in prototypes]
    best = min(range(len(distances)), key=lambda k: (distances[k], k))
    return best, distances[best]
