"""Columns of rows that were not fitted, and how surprising their values are in clusters."""

from __future__ import annotations

import numbers
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import _manymeans
from ._alignment import check_rows
from ._errors import UsageError, warn
from ._input import is_gap, is_scipy_sparse
from ._tables import Dataset

TWICE = "names of columns are there twice, so that a table cannot have them; rename some"
_MOST_TEXTS = 100  # different ones in a column


class Trait(NamedTuple):
    """What a column of numbers, or one text of a column, says of each cluster.

    Attributes
    ----------
    name : str
        Name of the column; ``"name=text"`` for a text.
    values : ndarray of shape (k,)
        Mean of the numbers, or share of the text, by weight and among rows without a gap.
    overall, deviation : float
        Of all rows: mean or share, and standard deviation.
    z : ndarray of shape (k,)
        Test value.
    is_text : bool
        True if `values` are shares.
    column : int
        The number of the column.

    """

    name: str
    values: npt.NDArray[np.float64]
    overall: float
    deviation: float
    z: npt.NDArray[np.float64]
    is_text: bool
    column: int

    def on_card(self, cluster: int, far: str) -> tuple[str, float, float, float, str]:
        """Give the entry of a card."""
        return self.name, float(self.values[cluster]), float(self.overall), float(self.z[cluster]), far

    def columns(self) -> dict[str, npt.NDArray[np.float64]]:
        """Give the columns of a table."""
        z = {f"{self.name} (z)": self.z}
        if not self.is_text:
            return {f"{self.name} (mean)": self.values} | z
        return {self.name: self.values, f"{self.name} (lift)": self.values / self.overall} | z


def traits_of(
    given: Any, X: Any, labels: npt.NDArray[Any], weights: npt.NDArray[np.float64] | None, k: int
) -> list[Trait]:
    """Describe clusters by the columns of `profile`; X are the points.

    Raises
    ------
    UsageError
        For columns of another number of rows, and for very many different texts.
    BadDataError
        For an index with the labels of X's index in another order.

    """
    if is_scipy_sparse(given):
        raise UsageError("[profile] is a sparse matrix; a frame, a Series, an array or a dict of columns is right")
    check_rows("profile", given, X)
    traits = []
    for column, (name, values) in enumerate(columns_of(given, "profile").items()):
        if values.shape != labels.shape:
            raise UsageError(
                f"[profile] '{name}' has the shape {values.shape}; a value for each of the {len(labels)} rows is right"
                + _how_to_drop(given, X)
            )
        if values.dtype == np.float64:
            for what, holds in ("gaps alone", np.isnan(values).all()), ("an infinity", np.isinf(values).any()):
                if holds:
                    warn(f"[profile] '{name}' holds {what}, so no card shows it")
            traits.append(Trait(name, **describe_column(values, labels, weights, k), is_text=False, column=column))
            continue
        gaps = np.array([_is_missing(value) for value in values], dtype=bool)
        texts, codes = np.unique(values[~gaps].astype(str), return_inverse=True)
        if len(texts) > _MOST_TEXTS:
            raise UsageError(
                f"[profile] '{name}' has {len(texts)} different texts; at most {_MOST_TEXTS} are right, so group "
                "them or leave the column out"
            )
        for code, text in enumerate(texts):
            is_it = np.full(len(values), np.nan)
            is_it[~gaps] = codes == code
            traits.append(
                Trait(f"{name}={text}", **describe_column(is_it, labels, weights, k), is_text=True, column=column)
            )
    return traits


def _how_to_drop(given: Any, X: Any) -> str:
    """Say which rows were left out of the points, if any, and how to leave them out of other columns."""
    dropped = X.dropped if isinstance(X, Dataset) else ()
    if len(dropped) == 0:
        return ""
    first = ", ".join(map(str, dropped[:5])) + (", ..." if len(dropped) > 5 else "")
    is_pandas = hasattr(given, "iloc")
    how = "profile.drop(profile.index[data.dropped])" if is_pandas else "numpy.delete(column, data.dropped)"
    return (
        f'; missing="drop" left out {len(dropped)} of {len(dropped) + len(X.points)} rows ({first}), so take {how}, '
        "where data is what manymeans.read gives"
    )


def columns_of(given: Any, parameter: str = "X") -> dict[str, npt.NDArray[Any]]:
    """Give the columns of a frame (pandas, polars, pyarrow), a Dataset, a dict, an array, or a single column.

    Returns
    -------
    columns : dict of str to ndarray of shape (n_samples,)
        float64 for numbers, whose gaps are NaN; else objects. A sparse matrix has no columns here.

    Raises
    ------
    UsageError
        Where two columns have one name.

    """
    if is_scipy_sparse(given):
        return {}
    pairs = [(str(name), _values_of(column)) for name, column in _pairs_of(given)]
    found = dict(pairs)
    if len(found) < len(pairs):
        raise UsageError(f"[{parameter}] {TWICE}")
    return found


def _pairs_of(given: Any) -> list[tuple[Any, Any]]:
    if isinstance(given, Dataset):
        names = given.column_names or [f"x{j}" for j in range(given.points.shape[1])]
        return list(zip(names, given.points.T, strict=True))
    if isinstance(given, dict):
        return list(given.items())
    if hasattr(given, "iloc"):  # pandas, whose columns may have any names
        frame = given if given.ndim == 2 else given.to_frame()
        return [(name, frame.iloc[:, j]) for j, name in enumerate(frame.columns)]
    named = getattr(given, "column_names", None) or getattr(given, "columns", None)  # pyarrow, polars
    if named is not None:
        return [(name, given[name]) for name in named]
    array = np.asarray(given)
    if array.ndim == 2:
        return [(f"x{j}", column) for j, column in enumerate(array.T)]
    return [(getattr(given, "name", None) or "x", array)]


def _is_missing(value: Any) -> bool:
    if isinstance(value, numbers.Number):
        return value != value
    return is_gap(value) or (isinstance(value, str) and value == "NaT")  # the text of a missing date


def _values_of(column: Any) -> npt.NDArray[Any]:
    values = np.asarray(column)
    if values.dtype.kind in "iuf":
        return values.astype(np.float64)
    if values.dtype.kind in "mM":  # as objects they may be numbers of nanoseconds
        values = values.astype(str)
    values = values.astype(object)
    values[[_is_missing(value) for value in values]] = np.nan
    if all(isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_)) for value in values):
        return values.astype(np.float64)
    return values


def describe_column(
    values: npt.NDArray[np.float64], labels: npt.NDArray[Any], weights: npt.NDArray[np.float64] | None, k: int
) -> dict[str, Any]:
    """Give the mean and test value of a column in each cluster, and mean and deviation in all rows, without gaps."""
    return _manymeans.describe_column(
        np.ascontiguousarray(values), np.ascontiguousarray(labels, dtype=np.uint32), weights, k
    )
