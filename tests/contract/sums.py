"""Section "Order-free sums": fixed-point terms, weights, moments."""

from .exact import exponent, fma, ldexp, lowest_bit, nearest_integer


def limb_bits(n):
    """b = 62 - bit_width(N - 1)."""
    return 62 - (n - 1).bit_length()


class Scale:
    """Where the terms of one statistic are cut off: T = RNE(v * 2^s)."""

    def __init__(self, n, limbs, largest):
        self.s = limbs * limb_bits(n) - 2 - exponent(largest)

    def term(self, v):
        return nearest_integer(v, self.s)


def scale_of_terms(n, terms, most_limbs):
    """The scale by which every term is exact, or that of the most limbs."""
    largest = max((abs(v) for v in terms), default=0.0)
    lowest = min((lowest_bit(v) for v in terms if v), default=0)
    for limbs in range(1, most_limbs):
        if limbs * limb_bits(n) - 2 >= exponent(largest) - lowest:
            return Scale(n, limbs, largest)
    return Scale(n, most_limbs, largest)


class Weights:
    """The weights as integers q and as factors w'; without weights all are one."""

    def __init__(self, n, given):
        self.given = given is not None
        self.e = 0
        self.q = [1] * n
        self.factor = [1.0] * n
        self.places = 0
        if self.given:
            bits = min(limb_bits(n), 52)
            largest = max(given)
            self.q = [nearest_integer(w, bits - exponent(largest)) for w in given]
            self.e = exponent(largest) - 1
            self.places = bits - 1
            self.factor = [ldexp(float(q), -self.places) for q in self.q]


def mean_column_variance(points):
    """What `tol` multiplies."""
    total = 0.0
    for column in zip(*points, strict=True):
        total += moments(column)[1]
    return total / len(points[0])


def moments(column):
    """Mean and variance of a column."""
    n = len(column)
    smallest, largest = min(column), max(column)
    a = (smallest + largest) / 2 + 0.0
    y = [x - a for x in column]
    widest = max(largest - a, a - smallest)
    unit = exponent(widest)
    h, low = sum_as_pair(n, y, widest, unit)
    g, m = sum_as_pair(n, [v * v for v in y], widest * widest, 2 * unit)
    p = n * g
    p_low = fma(float(n), g, -p) + n * m
    q = h * h
    q_low = fma(h, h, -q) + 2 * h * low
    variance = ldexp(max(0.0, ((p - q) + (p_low - q_low)) / n / n), 2 * unit)
    return a + ldexp(h / n, unit), variance


def sum_as_pair(n, terms, largest, unit):
    """A sum with three limbs in units of 2^unit: its rounding, and the rounding of what that leaves."""
    scale = Scale(n, 3, largest)
    whole = sum(scale.term(v) for v in terms)
    high = float(whole)
    return ldexp(high, -scale.s - unit), ldexp(float(whole - int(high)), -scale.s - unit)
