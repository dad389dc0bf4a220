"""Rows that lie far outside the points of a fit: docs/user/model-file.md has the rule."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _manymeans
from ._errors import OutsideWarning, warn
from ._input import Points
from ._wording import in_python

#: Least and greatest value of each column of a fit's points, and how many rows these are of.
Ranges = tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], float]

UNSCALED: dict[str, Any] = {"kind": "none", "offset": [], "divisor": [], "log": []}


def ranges_of(points: Points) -> Ranges:
    """Give the ranges of points that no fit of the library has read as a whole: of some hundred rows of them."""
    rows = points.array[:: max(1, points.array.shape[0] // 512)]
    values = Points(rows, points.bfloat16).numbers
    return values.min(axis=0).astype(np.float64), values.max(axis=0).astype(np.float64), float(len(values))


def warn_of_outside(points: Points, ranges: Ranges | None, scaling: dict[str, Any] = UNSCALED) -> None:
    """Warn where most rows lie far outside the points of the fit, as that fit measured them."""
    if ranges is None:
        return
    names = points.names or []
    for text in _manymeans.outside_warnings(points.array, points.bfloat16, ranges, scaling, names):
        shown = text if names else re.sub(r"(?<=^column )\d+", lambda column: str(int(column[0]) - 1), text)
        warn("[X] " + in_python(shown), OutsideWarning)
