"""Section "Logarithm"."""

import math

# The coefficients of fdlibm's e_log.c, in decimal as it has them.
LG = [6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01, 2.222219843214978396e-01,
      1.818357216161805012e-01, 1.531383769920937332e-01, 1.479819860511658591e-01]  # fmt: skip
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10


def log(x):
    """log(x) of a finite x > 0."""
    m, e = math.frexp(x)
    if m < math.sqrt(0.5):
        m, e = 2 * m, e - 1
    f = m - 1
    s, h = f / (2 + f), 0.5 * f * f
    z = s * s
    w = z * z
    even = w * (LG[1] + w * (LG[3] + w * LG[5]))
    odd = z * (LG[0] + w * (LG[2] + w * (LG[4] + w * LG[6])))
    return e * LN2_HIGH - ((h - (s * (h + (odd + even)) + e * LN2_LOW)) - f)


def log_of_one_plus(x):
    """log(1 + x) of a finite x > -1."""
    u = 1 + x
    return x if u == 1 else log(u) * (x / (u - 1))


def log_of_column(column):
    """Logarithms of values of 0 or more, which depend on the least of them."""
    return [log(x) if min(column) > 0 else log_of_one_plus(x) for x in column]
