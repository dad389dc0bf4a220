"""Descriptions of clusters, whatever has fitted them."""

from __future__ import annotations

import numbers
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from ._choose import Choice
from ._errors import UsageError
from ._input import is_gap, is_scipy_sparse
from ._profile import Profile
from ._result import FitResult
from ._tables import Dataset


def summary(model: Any, X: Any = None, y: Any = None, *, k: int | None = None, sample_weight: Any = None) -> Any:
    """Describe clusters in the units of the points, whatever has fitted them.

    The estimators, `FitResult` and `Model` have a method ``summary``, which gives the same. A `Pipeline` of
    scikit-learn has none. This function describes its clusters by the columns of `X` that hold numbers, before other
    steps change them. Its centres are the means of the rows of each cluster; gaps are left out.

    Parameters
    ----------
    model : FitResult, Model, Choice, fitted estimator, or Pipeline that ends with one
        Estimators of this package, also `RegressionClustering`.
    X : array-like of shape (n_samples, n_features), Dataset or path, optional
        Points to describe the clusters by. By default the points of the fit, as long as the program keeps them and
        their weights. Lists are not remembered, nor what the steps of a pipeline make of points.
    y : array-like of shape (n_samples,), optional
        The target of a `RegressionClustering`; needed with `X`.
    k : int, optional
        The number of clusters whose best model is described; needed where there are models of several k.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the rows of `X`.

    Returns
    -------
    summary : pandas.DataFrame
        A row for each cluster; a dict of lists where pandas is not installed. ``size`` is the number of rows,
        ``share`` their share of the weight. ``spread`` is the root of the mean squared distance to the centre, in the
        units of the fit: scaled ones for a scaled model. Each feature has a column of its name with the centres in its
        own units, and one named ``"name (sd)"``. This one has the distance of the centre from the mean of all rows, in
        standard deviations of the column. The program's ``--summary`` has the same numbers. With
        ``metric="cosine"``, the rows have length one.
        For linear models, ``spread`` is the root of the mean squared residual, and ``r2`` the share of the target's
        variance in the cluster that its model explains. ``intercept`` and ``"name (coef)"`` are the model. The columns
        of features and target have their means.

    Raises
    ------
    UsageError
        For points of the fit that are gone or have changed, and for a `model` that is something else.

    Notes
    -----
    The points of the fit have its labels, other points have the labels of ``predict``. Time O(n_samples n_features),
    without ``predict``; memory O(n_samples).

    Examples
    --------
    >>> import manymeans
    >>> import numpy as np
    >>> X = np.array([[1.0, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
    >>> table = manymeans.summary(manymeans.fit(X, 2), X)
    >>> sorted(table["x0"]), list(table["share"])
    ([1.0, 10.0], [0.5, 0.5])

    """
    return profile_of(model, X, y, k, sample_weight).table()


def profile_of(model: Any, X: Any, y: Any, k: int | None, sample_weight: Any) -> Profile:
    """Describe the clusters of whatever has fitted them."""
    if hasattr(model, "named_steps"):
        return _of_pipeline(model, X, y, k, sample_weight)
    if isinstance(model, Choice):
        model, k = model.result, model.k if k is None else k
    if k is not None:
        model = _result_of(model).best(k)
    if hasattr(model, "predict_cluster"):
        return cast("Profile", model._profile(X, y, sample_weight))
    if y is not None:
        raise UsageError("[y] is the target of a RegressionClustering; other models have none, so leave it out")
    if not hasattr(model, "_profile"):
        raise UsageError(
            f"[model] is {type(model).__name__}; a FitResult, a Model, a Choice, a fitted clusterer of manymeans, or a "
            "Pipeline that ends with one is right"
        )
    return cast("Profile", model._profile(X, sample_weight))


def _result_of(model: Any) -> FitResult:
    result = getattr(model, "result_", model)
    if not isinstance(result, FitResult):
        raise UsageError(f"[k] chooses among models, and {type(model).__name__} is one; leave it out")
    return result


def _of_pipeline(model: Any, X: Any, y: Any, k: int | None, sample_weight: Any) -> Profile:
    if X is None:
        raise UsageError("[X] is missing; a Pipeline does not keep the points of its fit, so pass them as X")
    points = model[:-1].transform(X) if len(model.steps) > 1 else X
    profile = profile_of(model.steps[-1][1], points, y, k, sample_weight)
    found = {name: values for name, values in columns_of(X).items() if values.dtype == np.float64}
    if not found:  # a text, or a sparse matrix: what the last step has seen
        return profile
    target = [] if y is None else [(profile.names[-1], np.asarray(y, dtype=np.float64))]
    names, columns = zip(*found.items(), *target, strict=True)
    return profile.of_columns(list(names), list(columns))


def columns_of(given: Any) -> dict[str, npt.NDArray[Any]]:
    """Give the columns of a frame (pandas, polars, pyarrow), a Dataset, an array, or a single column.

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
        raise UsageError("[X] names of columns are there twice, so that a table cannot have them; rename some")
    return found


def _pairs_of(given: Any) -> list[tuple[Any, Any]]:
    if isinstance(given, Dataset):
        names = given.column_names or [f"x{j}" for j in range(given.points.shape[1])]
        return list(zip(names, given.points.T, strict=True))
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


def _values_of(column: Any) -> npt.NDArray[Any]:
    values = np.asarray(column)
    if values.dtype.kind in "iuf":
        return values.astype(np.float64)
    values = values.astype(object)
    gaps = np.array([is_gap(value) or value != value for value in values], dtype=bool)
    values[gaps] = np.nan
    if all(isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_)) for value in values):
        return values.astype(np.float64)
    return values
