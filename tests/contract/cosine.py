"""Section "Cosine": rows and prototypes of length one."""

import math

from .exact import exponent, fma, ldexp


class Refused(Exception):
    """The fit is an error; the text is the word in the brackets of the message."""


def unit(row):
    """unit(v), or None for zeros."""
    e = exponent(max(abs(x) for x in row))
    scaled = [ldexp(x, -e) for x in row]
    p = [0.0] * 8
    for j, y in enumerate(scaled):
        p[j % 8] = fma(y, y, p[j % 8])
    length = math.sqrt(((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7])))
    return [y / length for y in scaled] if length > 0 else None


def unit_rows(rows, kind, where):
    """Rows as the metric sees them."""
    found = []
    for row in rows:
        if not all(math.isfinite(x) for x in row):
            raise Refused(where)
        scaled = unit(row)
        if scaled is None:
            raise Refused(where)
        found.append(tuple(kind.round(x) for x in scaled))
    return found
