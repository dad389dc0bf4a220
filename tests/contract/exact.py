"""Section "Environment": roundings of exact numbers."""

import math
import struct
from fractions import Fraction


def rounded(numerator, denominator):
    """RN(numerator / denominator); Python divides integers with one rounding, denormals too."""
    try:
        return numerator / denominator
    except OverflowError:
        return math.inf if (numerator > 0) == (denominator > 0) else -math.inf


def fma(x, y, z):
    """RN(x * y + z)."""
    if not (math.isfinite(x) and math.isfinite(y) and math.isfinite(z)):
        return x * y + z
    (xn, xd), (yn, yd), (zn, zd) = x.as_integer_ratio(), y.as_integer_ratio(), z.as_integer_ratio()
    return rounded(xn * yn * zd + zn * xd * yd, xd * yd * zd)


def ldexp(x, power):
    """RN(x * 2^power)."""
    numerator, denominator = x.as_integer_ratio()
    return rounded(numerator << power, denominator) if power >= 0 else rounded(numerator, denominator << -power)


def nearest_integer(x, power):
    """RNE(x * 2^power), an integer."""
    if x == 0:
        return 0
    return round(Fraction(*x.as_integer_ratio()) * Fraction(2) ** power)


def exponent(x):
    """The frexp exponent: e with |x| < 2^e, e(0) = 0."""
    return math.frexp(x)[1]


def lowest_bit(x):
    """The exponent of the lowest set bit of x != 0."""
    numerator, denominator = x.as_integer_ratio()
    if denominator > 1:
        return 1 - denominator.bit_length()
    return (numerator & -numerator).bit_length() - 1


class Type:
    """The points' type T: 0 is float32, 1 float64."""

    def __init__(self, code):
        self.code = code
        self.format = "<d" if code else "<f"
        self.most_limbs = 6 if code else 4

    def round(self, x):
        """fl_T(x), with -0 as +0."""
        if not self.code:
            try:
                x = struct.unpack("<f", struct.pack("<f", x))[0]
            except OverflowError:
                x = math.copysign(math.inf, x)
        return x + 0.0

    def bytes(self, x):
        """The value as it enters the digest."""
        return struct.pack(self.format, x)


FLOAT32 = Type(0)
FLOAT64 = Type(1)
