"""Properties of clusters: sizes, spreads and centres, in the units of the points."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from ._errors import BadDataError, UsageError
from ._imports import importing
from ._input import Points
from ._tables import naming

_BLOCK = 1 << 15  # rows of which copies may be made
_VALUES = 1 << 24  # that a copy of sparse rows may have
_OF_CLUSTER = ("size", "share", "spread")


def blocks(points: Points) -> Iterator[tuple[slice, npt.NDArray[Any]]]:
    """Give the numbers of some rows at a time, and which rows they are."""
    if points.on_device:
        points = Points(points.numbers)
    if points.is_sparse:
        few = max(1, min(_BLOCK, _VALUES // points.array.shape[1]))
        for first in range(0, points.array.shape[0], few):
            rows = slice(first, first + few)
            yield rows, points.numbers[rows].toarray()
        return
    for first in range(0, points.array.shape[0], _BLOCK):
        rows = slice(first, first + _BLOCK)
        yield rows, points._replace(array=points.array[rows]).numbers


def check_finite(points: Points, chosen: npt.NDArray[np.int64] | None = None) -> None:
    """Look for NaN and infinity in all rows; `chosen` has the numbers of the rows in what the user gave.

    Raises
    ------
    BadDataError
        For the first one.

    """
    if points.array.dtype.kind != "f" and not points.bfloat16:
        return
    for rows, block in blocks(points):
        with np.errstate(over="ignore", invalid="ignore"):
            total = block.sum(dtype=np.float32 if block.dtype == np.float16 else None)
        if np.isfinite(total):
            continue  # neither NaN nor infinity leaves a sum, which takes half the time
        finite = np.isfinite(block)
        if finite.all():
            continue
        row, column = (int(i) for i in np.argwhere(~finite)[0])
        value = block[row, column]
        shown = "NaN" if np.isnan(value) else "infinity" if value > 0 else "-infinity"
        row += rows.start
        with naming(points.names, points.source):
            raise BadDataError(
                f"[X] row {row if chosen is None else chosen[row]}, column {column} is {shown}; every value must be "
                "finite (remove or fill such rows first)"
            )


def check_weights(weights: npt.NDArray[np.float64]) -> None:
    """Look for weights that a fit would refuse.

    Raises
    ------
    BadDataError
        For such, and where all are zero.

    """
    wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(wrong) > 0:
        raise BadDataError(
            f"[sample_weight] row {wrong[0]} has weight {weights[wrong[0]]}; weights must be finite and not negative"
        )
    if not weights.any():
        raise BadDataError("[sample_weight] all weights are zero; at least one must be positive")


def moments(
    points: Points, weights: npt.NDArray[np.float64] | None = None
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Give mean and variance of each column."""
    whole = float(points.array.shape[0]) if weights is None else float(weights.sum())
    columns = points.array.shape[1]
    mean, variance = np.zeros(columns), np.zeros(columns)
    for rows, block in blocks(points):
        mean += _sum(block.astype(np.float64), None if weights is None else weights[rows])
    mean /= whole
    for rows, block in blocks(points):
        variance += _sum((block - mean) ** 2, None if weights is None else weights[rows])
    return mean, variance / whole


def _sum(block: npt.NDArray[np.float64], weights: npt.NDArray[np.float64] | None) -> Any:
    return (block if weights is None else block * weights[:, None]).sum(axis=0)


class Remembered:
    """The data of an estimator's fit, as long as the caller keeps them. A copy or a pickle has nothing."""

    def __init__(self, *objects: Any) -> None:
        self._references: list[Any] | None
        try:
            self._references = [one if one is None else weakref.ref(one) for one in objects]
        except TypeError:  # a list, for instance
            self._references = None

    def __reduce__(self) -> tuple[type[Remembered], tuple[Any, ...]]:
        return Remembered, ([],)  # of a list nothing is kept

    def objects(self) -> list[Any] | None:
        """Give the objects, or None where one of them is gone."""
        if self._references is None:
            return None
        found = [None if reference is None else reference() for reference in self._references]
        gone = [one is None for one in found] != [reference is None for reference in self._references]
        return None if gone else found


class Profile:
    """The clusters of some points.

    Attributes
    ----------
    inertia : float
        Weighted sum of squared distances of the rows to the centre of their cluster.

    """

    def __init__(
        self,
        points: Points,
        weights: npt.NDArray[np.float64] | None,
        labels: npt.NDArray[Any],
        centers: npt.NDArray[Any],
    ) -> None:
        k = len(centers)
        self._centers = centers.astype(np.float64)
        self._size = np.bincount(labels, minlength=k)
        self._mass = self._size if weights is None else np.bincount(labels, weights, minlength=k)
        squares = np.zeros(k)
        for rows, block in blocks(points):
            far = ((block - self._centers[labels[rows]]) ** 2).sum(axis=1)
            far = far if weights is None else far * weights[rows]
            squares += np.bincount(labels[rows], far, minlength=k)
        self.inertia = float(squares.sum())
        with np.errstate(invalid="ignore", divide="ignore"):
            self._spread = np.sqrt(squares / self._mass)  # NaN for what is empty
        self._mean, variance = moments(points, weights)
        self._deviation = np.sqrt(variance)

    def table(self, names: list[str]) -> Any:
        """Give a DataFrame of pandas with a row for each cluster, or a dict of lists where pandas is not installed."""
        found: dict[str, Any] = {
            "size": self._size, "share": self._mass / self._mass.sum(), "spread": self._spread,
        }  # fmt: skip
        constant = self._deviation == 0
        apart = np.where(constant, 0.0, (self._centers - self._mean) / np.where(constant, 1.0, self._deviation))
        for j, name in enumerate(names):
            found[f"{name} (center)" if name in found else name] = self._centers[:, j]
        for j, name in enumerate(names):
            found[f"{name} (sd)"] = apart[:, j]
        if len(found) != len(_OF_CLUSTER) + 2 * len(names):
            raise UsageError("[X] names of columns are there twice, so that a table cannot have them; rename some")
        try:
            with importing:
                import pandas
        except ImportError:
            return {name: values.tolist() for name, values in found.items()}
        return pandas.DataFrame(found, index=pandas.RangeIndex(len(self._centers), name="cluster"))
