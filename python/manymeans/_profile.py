"""Properties of clusters: sizes, spreads and centres, in the units of the points."""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ._columns import TWICE, Trait, describe_column, traits_of
from ._errors import BadDataError, UsageError
from ._imports import importing
from ._input import Points, is_scipy_sparse
from ._opening import NAMES_OF_FILES
from ._scales import without_logs
from ._tables import Dataset, naming

_BLOCK = 1 << 15  # rows of which copies may be made
_VALUES = 1 << 24  # that a copy of sparse rows may have
_KEPT = 1 << 26  # bytes of points that a fit keeps

#: Labels of rows, and the squared distance of each row to the centre of its cluster.
Labelled = tuple[npt.NDArray[Any], npt.NDArray[np.float64]]


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
    """The data of a fit: small data and names of files, others as long as the caller keeps them.

    A deep copy or a pickle has nothing.
    """

    def __init__(self, *objects: Any) -> None:
        self._references: list[Any] | None
        self._part: int | slice | None = None
        try:
            self._references = [_reference(one) for one in objects]
        except TypeError:  # a long list, for instance
            self._references = None

    def part(self, rows: int | slice) -> Remembered:
        """Give the same of some rows."""
        some = Remembered([])
        some._references, some._part = self._references, rows
        return some

    def __reduce__(self) -> tuple[type[Remembered], tuple[Any, ...]]:
        return Remembered, ([],)  # of an empty list nothing is kept

    def objects(self) -> list[Any]:
        """Give the objects.

        Raises
        ------
        UsageError
            Where one of them is gone, or has no rows to take.

        """
        references = self._references
        found = None if references is None else [None if one is None else one() for one in references]
        if found is None or any(a is None and b is not None for a, b in zip(found, references or (), strict=True)):
            raise UsageError(
                f"[X] the points of the fit or their weights are gone (a fit keeps {_KEPT >> 20} MiB or less); pass "
                "them: summary(X), or summary(X, sample_weight=weights); and y, where there is a target"
            )
        return found if self._part is None else [_rows_of(one, self._part) for one in found]


def _rows_of(one: Any, rows: int | slice) -> Any:
    try:
        if not isinstance(one, NAMES_OF_FILES):
            return None if one is None else getattr(one, "iloc", one)[rows]
    except (TypeError, KeyError):
        pass
    raise UsageError(f"[X] the rows of a problem are not at hand in a {type(one).__name__}; pass them: summary(rows)")


def _reference(one: Any) -> Callable[[], Any] | None:
    if isinstance(one, NAMES_OF_FILES) or _bytes_of(one) <= _KEPT:
        return lambda: one
    return None if one is None else weakref.ref(one)


def _bytes_of(one: Any) -> float:
    """Give the bytes of host memory that a reference holds; infinity where they are not known."""
    if isinstance(one, Dataset):
        one = one.points
    if isinstance(one, (list, tuple)):  # a Python number and its place take 32 bytes or more
        return len(one) * 40.0 * np.size(one[0]) if one else math.inf
    if is_scipy_sparse(one):
        return float(one.nnz * (one.dtype.itemsize + 8) + one.shape[0] * 8)
    if isinstance(one, np.ndarray):
        while isinstance(one.base, np.ndarray):  # a view holds the whole array
            one = one.base
        return float(one.nbytes)
    package = type(one).__module__.partition(".")[0]
    if package == "pandas" and hasattr(one, "memory_usage"):
        return float(np.sum(one.memory_usage()))
    if package == "polars":
        return float(one.estimated_size())
    return float(one.nbytes) if package == "pyarrow" else math.inf


#: For estimators without a fit.
NOTHING = Remembered([])


def without_points(state: dict[str, Any]) -> dict[str, Any]:
    """Leave out of a state to pickle what points the fit was made of."""
    return {name: value for name, value in state.items() if name != "_fitted_to"}


def labelled(
    measured: Points,
    weights: npt.NDArray[np.float64] | None,
    centers: npt.NDArray[Any],
    fitted: tuple[Any, float],
    predict: Callable[[], Any] | None,
) -> Labelled:
    """Give rows of the fit its labels, and other rows the labels of `predict`.

    A fit with sizes does not label rows by the nearest centre.

    Parameters
    ----------
    measured : Points
        As the fit measures them.
    weights : ndarray of shape (n_samples,) or None
        Their weights.
    centers : ndarray of shape (k, n_features)
        The centres.
    fitted : tuple of (ndarray or None, float)
        Labels and inertia of the fit.
    predict : callable or None
        Gives labels; None: only rows of the fit are right.

    Returns
    -------
    labels, squares : ndarray of shape (n_samples,)
        Labels and squared distances.

    Raises
    ------
    UsageError
        Where the rows have changed since the fit.

    """
    labels, inertia = fitted
    if labels is not None and len(labels) == measured.array.shape[0]:
        squares = _squares(measured, labels, centers)
        total = squares.sum() if weights is None else squares @ weights
        if np.isclose(total, inertia, rtol=1e-6, atol=1e-300):
            return labels, squares
    if predict is None:
        raise UsageError("[X] the points of the fit have changed since; pass those that are meant as X")
    labels = np.asarray(predict())
    return labels, _squares(measured, labels, centers)


def _squares(measured: Points, labels: npt.NDArray[Any], centers: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    centers, found = centers.astype(np.float64), np.empty(len(labels))
    for rows, block in blocks(measured):
        found[rows] = ((block - centers[labels[rows]]) ** 2).sum(axis=1)
    return found


def row_names(X: Any) -> Any:
    """Give an array or index of the names of rows; None: they have numbers alone."""
    if isinstance(X, Dataset) and X.ids:
        return np.delete(np.asarray(X.ids, dtype=object), X.dropped)
    return X.index if hasattr(X, "iloc") else None


class Profile:
    """The clusters of some rows.

    Attributes
    ----------
    X : object
        The rows as the user gave them.
    labels : ndarray of shape (n_samples,)
        The cluster of each row.
    weights : ndarray of shape (n_samples,) or None
        Their weights.
    squares : ndarray of shape (n_samples,)
        Squared distance of each row to the centre of its cluster, or its squared residual, in the units of the fit.
    names : list of str
        Of the columns.
    centers : ndarray of shape (k, n_columns)
        In the units of the columns.
    mean, deviation : ndarray of shape (n_columns,)
        Of all rows, by weight; the deviation is divided by the weight of all rows.
    more : dict of str to ndarray of shape (k,)
        What else is known of each cluster.
    is_sparse : bool
        True if the columns are those of sparse points.

    """

    is_sparse = False
    _differences: npt.NDArray[np.float64] | None = None

    def __init__(
        self,
        X: Any,
        weights: npt.NDArray[np.float64] | None,
        labelled: Labelled,
        centers: npt.NDArray[Any],
        more: dict[str, npt.NDArray[Any]] | None = None,
    ) -> None:
        self.X, self.weights = X, weights
        self.labels, self.squares = labelled
        self.centers = centers.astype(np.float64)
        self.more = more or {}

    def of_points(self, points: Points, names: Sequence[str] | None) -> Profile:
        """Describe the columns of points. They are read twice."""
        self.is_sparse = points.is_sparse
        self.mean, variance = moments(points, self.weights)
        self.deviation = np.sqrt(variance)
        self.names = [f"x{j}" for j in range(len(self.mean))] if names is None else [str(name) for name in names]
        return self

    def of_logs(self, logs: list[str]) -> Profile:
        """Turn means of logarithms into geometric means; differences belong to the logarithms."""
        self._differences = self.differences
        low, high = (without_logs(self.mean + side * self.deviation, logs) for side in (-1, 1))
        taken = np.array([log != "none" for log in logs])
        self.deviation = np.where(taken, (high - low) / 2, self.deviation)
        self.centers, self.mean = without_logs(self.centers, logs), without_logs(self.mean, logs)
        return self

    def of_columns(self, names: list[str], columns: list[npt.NDArray[Any]]) -> Profile:
        """Describe columns of the rows by the means of each cluster; gaps are left out."""
        found = [describe_column(values, self.labels, self.weights, len(self.centers)) for values in columns]
        self.names, self.is_sparse, self._differences = names, False, None
        self.centers = np.column_stack([one["values"] for one in found])
        self.mean, self.deviation = (np.array([one[what] for one in found]) for what in ("overall", "deviation"))
        return self

    @property
    def differences(self) -> npt.NDArray[np.float64]:
        """Distance of the centres from the mean of all rows, in deviations; 0 where a column is constant."""
        if self._differences is not None:
            return self._differences
        constant = self.deviation == 0
        apart: npt.NDArray[np.float64] = (self.centers - self.mean) / np.where(constant, 1.0, self.deviation)
        return np.where(constant, 0.0, apart)

    def of_clusters(self) -> dict[str, npt.NDArray[Any]]:
        """Give size, share of the weight, and spread of each cluster; the spread of an empty one is NaN."""
        k = len(self.centers)
        size = np.bincount(self.labels, minlength=k)
        mass = size if self.weights is None else np.bincount(self.labels, self.weights, minlength=k)
        far = self.squares if self.weights is None else self.squares * self.weights
        with np.errstate(invalid="ignore", divide="ignore"):
            spread = np.sqrt(np.bincount(self.labels, far, minlength=k) / mass)
        return {"size": size, "share": mass / mass.sum(), "spread": spread}

    def traits(self, profile: Any) -> list[Trait]:
        """Describe the clusters by other columns of the rows, if there are any."""
        if profile is None:
            return []
        return traits_of(profile, self.X, self.labels, self.weights, len(self.centers))

    def typical(self, count: int) -> list[list[Any]]:
        """Give the rows of each cluster that are nearest to its centre, by their index or identifier, or number."""
        order = np.lexsort((self.squares, self.labels))
        ends = np.cumsum(np.bincount(self.labels, minlength=len(self.centers)))
        chosen = [rows[:count] for rows in np.split(order, ends[:-1])]
        names = row_names(self.X)
        return [rows.tolist() if names is None else names[rows].tolist() for rows in chosen]

    def table(self, profile: Any = None) -> Any:
        """Give a DataFrame of pandas with a row for each cluster, or a dict of lists where pandas is not installed."""
        found: dict[str, Any] = self.of_clusters() | self.more
        count = len(found) + 2 * len(self.names)
        for j, name in enumerate(self.names):
            found[f"{name} (center)" if name in found else name] = self.centers[:, j]
        for name, differences in zip(self.names, self.differences.T, strict=True):
            found[f"{name} (sd)"] = differences
        for columns in (trait.columns() for trait in self.traits(profile)):
            found |= columns
            count += len(columns)
        if len(found) != count:
            raise UsageError(f"[X] {TWICE}")
        try:
            with importing:
                import pandas
        except ImportError:
            return {name: values.tolist() for name, values in found.items()}
        return pandas.DataFrame(found, index=pandas.RangeIndex(len(self.centers), name="cluster"))
