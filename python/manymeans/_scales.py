"""Scalings of points: what finds them, and what undoes them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _manymeans, _threads
from ._errors import UsageError, warn
from ._input import Points
from ._labelling import is_scaled
from ._outside import UNSCALED
from ._parameters import integer
from ._tables import naming
from ._wording import shown

SCALES = ("none", "standard", "minmax", "robust", "unit")


def scaling_of(points: Points, given: dict[str, Any], ranks: Any = None) -> dict[str, Any]:
    """Find the scaling of points by the parameters `scale`, `log` and `n_threads`."""
    scale, logs = given["scale"], _log_columns(points, given["log"])
    if scale not in SCALES:
        raise UsageError(f"[scale] is {shown(scale)}; one of {', '.join(map(repr, SCALES))} is right")
    if scale == "none" and not logs:
        return UNSCALED
    if ranks is not None:
        name = "log" if logs else "scale"
        raise UsageError(f"[{name}] needs all rows, and these are those of one rank; scale the points before")
    threads = _threads.effective(given["n_threads"])
    with naming(points.names, points.source):
        found: dict[str, Any] = _manymeans.find_scaling(points.array, points.bfloat16, scale, logs, threads)
    for j in points.source.zero_gaps if logs and points.source else ():
        if found["log"][j] == "log1p":
            warn(
                f"[log] the gaps of column '{points.names[j] if points.names else j}' are 0, so its logarithm is of "
                '1 + x; missing="median" keeps log(x) where all other values are above 0'
            )
    return found


def _log_columns(points: Points, log: Any) -> list[int]:
    """Give the indices of columns by their names, or of points without names by their indices."""
    if isinstance(log, str):
        log = log.split(",") if log not in (points.names or []) else [log]
    if isinstance(log, (int, np.integer)):
        log = [log]
    if isinstance(log, bytes) or not isinstance(log, Iterable):
        raise UsageError(f"[log] is {shown(log)}; names of columns are right, or their indices where they have none")
    found = [_log_column(points, one) for one in log]
    twice = next((j for i, j in enumerate(found) if j in found[:i]), None)
    if twice is not None:
        raise UsageError(f"[log] has column {shown(points.names[twice] if points.names else twice)} twice")
    return found


def _log_column(points: Points, one: Any) -> int:
    columns = points.array.shape[1]
    if not points.names:
        index = integer("log", one, 0)
        if index < columns:
            return index
        raise UsageError(f"[log] is {index}, and the columns are 0 to {columns - 1}")
    name = one if isinstance(one, str) else str(one)  # of a label that is no text
    if points.names.count(name) == 1:
        return points.names.index(name)
    raise UsageError(f"[log] is {shown(one)}; the columns are {', '.join(points.names[:20])}")


def linear_units(values: npt.NDArray[Any], scaling: dict[str, Any]) -> npt.NDArray[Any]:
    """Undo all of a scaling but logarithms; rows of length one have no other units."""
    if scaling["kind"] == "unit" or not is_scaled(scaling):
        return values
    units: npt.NDArray[Any] = values * np.asarray(scaling["divisor"]) + np.asarray(scaling["offset"])
    return units


def without_logs(values: npt.NDArray[Any], logs: list[str]) -> npt.NDArray[Any]:
    """Undo the logarithms of columns: of means they leave geometric means."""
    values = np.array(values, dtype=np.float64)
    for j, log in enumerate(logs):
        if log != "none":
            values[..., j] = np.exp(values[..., j]) if log == "log" else np.expm1(values[..., j])
    return values


def logs_alone(scaling: dict[str, Any]) -> dict[str, Any]:
    """Give the scaling that takes the logarithms and does no more."""
    columns = len(scaling.get("log", []))
    return UNSCALED | {"offset": [0.0] * columns, "divisor": [1.0] * columns, "log": scaling.get("log", [])}
