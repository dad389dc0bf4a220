"""A page about a result: charts and tables in one file of HTML."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _threads
from ._choose import Choice
from ._columns import columns_of, traits_of
from ._errors import UsageError
from ._input import Points, plain_weights
from ._opening import opened, weights_of
from ._outside import UNSCALED
from ._page import page
from ._parameters import integer, path_of, text_of
from ._profile import row_names
from ._result import FitResult, Model
from ._tables import check_output, files_of
from ._wording import shown


def report(
    result: Any,
    X: Any = None,
    path: str | bytes | os.PathLike[Any] | None = None,
    *,
    k: int | None = None,
    sample_weight: Any = None,
    title: str | None = None,
    profile: Any = None,
    names: Sequence[str] | None = None,
    n_threads: int | None = None,
) -> str:
    """Make a page about a result: one file of HTML that opens without a network, light or dark, on any screen.

    The page begins with a sentence and a card for each cluster, with the numbers of `cards`. Charts follow: sizes,
    centroids, silhouettes and the criteria of a choice of k. It shows what becomes of clusters from one k to the next,
    how far models agree and how a search went. The command ``manymeans fit --report`` writes the same page.

    Parameters
    ----------
    result : FitResult, Choice, fitted KMeans, EnsembleKMeans or RegressionClustering, or Pipeline that ends with one
        The result of `fit`, `search` or `choose_k`, or an estimator that has a ``result_``. Of a
        `Pipeline` of scikit-learn, `X` is what its first step gets. Columns that its steps only shift and scale are
        shown in their own units, all others as the last step sees them.
    X : array-like of shape (n_samples, n_features), Dataset or path, optional
        The points of the fit. Without them the page has no centroids in their units, no silhouettes and no rows. The
        page of linear models needs them, its features, for `profile` alone.
    path : str, bytes or path-like, optional
        A file that ends in ``.html``, where to write the page. It appears whole or not at all.
    k : int, optional
        The number of clusters whose best model is shown; by default the recommended one of a choice, else the first.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the fit.
    title : str, optional
        A name for the points; by default their file.
    profile : frame, Series, array or dict, optional
        Other columns of the same rows, as for `summary`; needs `X`.
    names : sequence of str, optional
        Names of the columns, such as ``get_feature_names_out()`` of a vectorizer; by default the names of the fit.
    n_threads : int, optional
        Threads; by default all that are usable. Never changes the page.

    Returns
    -------
    page : str
        The HTML.

    Raises
    ------
    UsageError
        For points other than the points of the fit; for a file of another kind.
    StoppedError
        When no model had begun.

    Examples
    --------
    >>> import manymeans
    >>> X = [[float(10 * (i % 3) + i / 60), 1.0] for i in range(60)]
    >>> page = manymeans.report(manymeans.fit(X, k=3), X, title="three groups")
    >>> "What sets clusters apart" in page
    True

    """
    name = b"" if path is None else path_of("path", path)
    steps = result if hasattr(result, "named_steps") else None
    fitted, choice = _parts_of(result if steps is None else result.steps[-1][1])
    k = _shown_k(fitted, choice, k)
    wanted = {
        "name": os.fsdecode(fitted._source.path) if title is None else text_of("title", title, "surrogateescape"),
        "path": name, "k": k, "threads": _threads.effective(n_threads), "times": True, "whole": True,
    }  # fmt: skip
    if name:
        check_output("path", name, files_of(fitted._source, X, sample_weight))
        if not name.endswith(b".html"):
            raise UsageError(f"[path] must name a file that ends in .html, found {shown(os.fsdecode(name))}")
    if names is not None:
        wanted["column_names"] = _checked(names, fitted.best(k))
    if X is None:
        if profile is not None:
            raise UsageError("[profile] has columns of the rows of X, which is missing; pass both")
        return page(fitted, choice, None, None, wanted)
    if fitted.models[0].linear:
        wanted["traits"] = _of_planes(fitted.best(k), X, sample_weight, profile)
        return page(fitted, choice, None, None, wanted)
    rows = X if steps is None else steps[:-1].transform(X) if len(steps.steps) > 1 else X
    rows = opened(rows, fitted)
    points = fitted._points_of(rows, n_threads)
    weights = plain_weights(weights_of(rows, sample_weight), points.array.shape[0], X, rows)
    of_rows = row_names(rows if steps is None else X)
    if of_rows is not None:
        wanted["row_names"] = [str(name) for name in of_rows]
    if steps is not None and fitted.metric == "euclidean":
        found, wanted["scaling"] = _own_units(steps, X, points)
        wanted.setdefault("column_names", found)
    if profile is not None:
        best = fitted.best(k)
        labels = fitted.predict(rows, k) if best.labels is None else best.labels
        traits = traits_of(profile, rows if steps is None else X, np.asarray(labels), weights, best.k)
        wanted["traits"] = [trait._asdict() for trait in traits]
    return page(fitted, choice, points, weights, wanted)


def _checked(names: Sequence[str], best: Model) -> list[str]:
    columns = best.cluster_centers.shape[1]
    if best.linear:
        raise UsageError("[names] is for centroids; linear models have the names of the frame that was fitted")
    if len(names) != columns:
        raise UsageError(f"[names] has {len(names)} names, and there are {columns} columns")
    return [str(name) for name in names]


def _of_planes(best: Model, X: Any, sample_weight: Any, profile: Any) -> list[dict[str, Any]]:
    """Describe the clusters of linear models, which take features and targets to label rows."""
    if profile is None:
        return []
    if best.labels is None:
        raise UsageError(
            "[profile] needs the labels of the fit, which a model file has not; fit again, or leave it out"
        )
    weights = plain_weights(weights_of(X, sample_weight), len(best.labels), X)
    return [trait._asdict() for trait in traits_of(profile, X, np.asarray(best.labels), weights, best.k)]


def _own_units(steps: Any, X: Any, points: Points) -> tuple[list[str], dict[str, Any]]:
    """Name the columns that the last step sees, and find those that other steps have only shifted and scaled."""
    d = points.array.shape[1]
    given = {name: values for name, values in columns_of(X).items() if values.dtype == np.float64}
    names = list(given) if len(given) == d else [f"x{j}" for j in range(d)]
    with contextlib.suppress(Exception):  # a step of the user's own may lack it
        names = [str(name) for name in steps[:-1].get_feature_names_out()]
    offset, divisor = np.zeros(d), np.ones(d)
    short = [name.rpartition("__")[2] for name in names]  # of "step__column", as a ColumnTransformer names them
    if len(set(short)) == d:
        names = short
    for j, name in enumerate(names if not points.is_sparse else ()):
        found = _line_through(given[name], points.numbers[:, j]) if name in given else None
        if found is not None:
            offset[j], divisor[j] = found
    scaled = bool((offset != 0).any() or (divisor != 1).any())
    scaling = {"kind": "standard", "offset": offset, "divisor": divisor} if scaled else UNSCALED
    return names, scaling


def _line_through(values: npt.NDArray[Any], seen: npt.NDArray[Any]) -> tuple[float, float] | None:
    """Give offset and divisor where each value is offset + divisor * seen; None where it is not."""
    known = ~np.isnan(values)
    values, seen = values[known], seen[known].astype(np.float64)
    if len(values) == 0 or np.ptp(seen) == 0 or np.ptp(values) == 0:
        return None
    low, high = seen.argmin(), seen.argmax()
    divisor = (values[high] - values[low]) / (seen[high] - seen[low])
    offset = values[low] - divisor * seen[low]
    close = np.allclose(offset + divisor * seen, values, rtol=0, atol=1e-5 * np.ptp(values))
    return (float(offset), float(divisor)) if close and divisor > 0 else None


def _parts_of(result: Any) -> tuple[FitResult, Choice | None]:
    choice = result if isinstance(result, Choice) else None
    fitted = result.result if isinstance(result, Choice) else getattr(result, "result_", result)
    if not isinstance(fitted, FitResult):
        raise UsageError(
            f"[result] is {type(result).__name__}; what fit, search or choose_k gave, a Pipeline, or a fitted KMeans, "
            "EnsembleKMeans or RegressionClustering is right"
        )
    return fitted, choice


def _shown_k(fitted: FitResult, choice: Choice | None, k: int | None) -> int:
    if k is None:
        return choice.k if choice is not None else fitted.k_values[0]
    return fitted.best(integer("k", k)).k_requested
