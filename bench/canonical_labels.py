"""The contract's label in NumPy, a second time and on its own: argmin of the canonical distance, lowest index on ties.

A matrix product in float64 finds the prototypes that can be nearest at all, with a bound on its own error; where more
than one remains, the canonical distance decides: lanes of 8, each a chain of fused multiply-adds, summed in the
contract's order. NumPy has no fused multiply-add, so `fma_square` makes one from exact sums and products. The product
can be torch's, on a GPU: the bound holds for sums in any order.
"""

import numpy as np

CHUNK = 1 << 12
TORCH_SCORES = 1 << 27  # that torch holds at once
SPLITTER = 2.0**27 + 1  # Veltkamp: halves of 26 bits, whose products are exact


def exact_sum(a, b):
    """(s, e): s = RN(a + b), and s + e = a + b exactly (Knuth)."""
    s = a + b
    rest = s - a
    return s, (a - (s - rest)) + (b - rest)


def exact_square(t):
    """(h, l): h = RN(t * t), and h + l = t * t exactly, away from overflow and underflow (Dekker)."""
    h = t * t
    shifted = SPLITTER * t
    high = shifted - (shifted - t)
    low = t - high
    return h, ((high * high - h) + 2 * high * low) + low * low


def rounded_to_odd(a, b):
    """a + b, and where that is inexact the neighbour whose last bit is odd."""
    s, e = exact_sum(a, b)
    bits = s.view(np.int64)
    outwards = np.where((e > 0) == (s > 0), 1, -1)
    return np.where((e != 0) & (bits & 1 == 0), bits + outwards, bits).view(np.float64)


def fma_square(t, p):
    """RN(t * t + p) with one rounding (Boldo and Melquiond 2008)."""
    square_high, square_low = exact_square(t)
    low_high, low_low = exact_sum(p, square_low)
    high, high_low = exact_sum(square_high, low_high)
    return high + rounded_to_odd(low_low, high_low)


def distances(x, c):
    """Canonical distances of pairs: x and c are float64, pairs x columns."""
    lanes = np.zeros((len(x), 8))
    for first in range(0, x.shape[1], 8):
        t = x[:, first : first + 8] - c[:, first : first + 8]
        lanes[:, : t.shape[1]] = fma_square(t, lanes[:, : t.shape[1]])
    p = lanes.T
    return ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]))


def _error(squares_of_x, columns, largest):
    """Each score is wrong by at most (D + 4) roundings of sums below (|x| + |c|)^2; a canonical distance likewise."""
    return (columns + 32) * 2.0**-52 * (squares_of_x**0.5 + largest) ** 2


def _decided(row, candidates, prototypes):
    """The candidate with the least canonical distance from a row; they are in ascending order."""
    found = distances(np.broadcast_to(row, (len(candidates), len(row))), prototypes[candidates])
    return candidates[found.argmin()]


def _labels(x, prototypes, squares, largest):
    """Labels of a few rows, and for how many of them canonical distances decided."""
    scores = squares - 2 * (x @ prototypes.T)
    error = _error(np.square(x).sum(axis=1), x.shape[1], largest)
    near = scores <= (scores.min(axis=1) + 4 * error)[:, None]
    labels = near.argmax(axis=1)
    open_rows = np.flatnonzero(near.sum(axis=1) > 1)
    for row in open_rows:
        labels[row] = _decided(x[row], np.flatnonzero(near[row]), prototypes)
    return labels, len(open_rows)


def labels(points, prototypes):
    """(labels, rows that needed canonical distances) of points among prototypes, both float32 or float64."""
    prototypes = prototypes.astype(np.float64)
    squares = np.square(prototypes).sum(axis=1)
    result, decided = np.empty(len(points), np.int64), 0
    for first in range(0, len(points), CHUNK):
        part = slice(first, first + CHUNK)
        result[part], few = _labels(points[part].astype(np.float64), prototypes, squares, np.sqrt(squares.max()))
        decided += few
    return result, decided


def torch_device():
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def labels_by_torch(points, prototypes):
    """The same with the products on the GPU where there is one: a hundred times as fast for many prototypes."""
    import torch

    device, prototypes = torch_device(), prototypes.astype(np.float64)
    c = torch.from_numpy(prototypes).to(device)
    squares = (c * c).sum(1)
    largest = float(squares.max()) ** 0.5
    result, decided = np.empty(len(points), np.int64), 0
    for first in range(0, len(points), max(1, TORCH_SCORES // len(prototypes))):
        part = slice(first, first + max(1, TORCH_SCORES // len(prototypes)))
        x = torch.from_numpy(np.ascontiguousarray(points[part])).to(device).double()
        scores = squares - 2 * (x @ c.T)
        least, labels_of_part = scores.min(1)
        near = scores <= (least + 4 * _error((x * x).sum(1), x.shape[1], largest))[:, None]
        open_rows = (near.sum(1) > 1).nonzero().ravel()
        result[part] = labels_of_part.cpu().numpy()
        rows, candidates = x[open_rows].cpu().numpy(), near[open_rows].cpu().numpy()
        for row, values, one in zip(open_rows.cpu().numpy(), rows, candidates):
            result[first + row] = _decided(values, np.flatnonzero(one), prototypes)
        decided += len(open_rows)
    return result, decided
