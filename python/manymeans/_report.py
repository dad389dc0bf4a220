"""A page about a result: charts and tables in one file of HTML."""

from __future__ import annotations

import os
from typing import Any

from . import _threads
from ._choose import Choice
from ._errors import UsageError
from ._input import plain_weights
from ._opening import opened, weights_of
from ._page import page
from ._parameters import integer, path_of, text_of
from ._result import FitResult
from ._tables import check_output, files_of


def report(
    result: Any,
    X: Any = None,
    path: str | bytes | os.PathLike[Any] | None = None,
    *,
    k: int | None = None,
    sample_weight: Any = None,
    title: str | None = None,
    n_threads: int | None = None,
) -> str:
    """Make a page about a result: one file of HTML that opens without a network, light or dark, on any screen.

    The page has charts of sizes, centroids, silhouettes and the criteria of a choice of k. It shows what becomes of
    clusters from one k to the next, how far models agree and how a search went, and has tables to copy. The command
    ``manymeans fit --report`` writes the same page.

    Parameters
    ----------
    result : FitResult, Choice, or fitted KMeans or EnsembleKMeans
        The result of `fit`, `search` or `choose_k`, or an estimator that has a ``result_`` with centres.
    X : array-like of shape (n_samples, n_features), Dataset or path, optional
        The points of the fit. Without them the page has no centroids in their units, no silhouettes and no rows.
    path : str, bytes or path-like, optional
        Where to write the page, which appears whole or not at all.
    k : int, optional
        The number of clusters whose best model is shown; by default the recommended one of a choice, else the first.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the fit.
    title : str, optional
        A name for the points; by default their file.
    n_threads : int, optional
        Threads; by default all that are usable. Never changes the page.

    Returns
    -------
    page : str
        The HTML.

    Raises
    ------
    UsageError
        For points other than the points of the fit; for linear models.
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
    fitted, choice = _parts_of(result)
    shown = _shown_k(fitted, choice, k)
    points = None if X is None else fitted._points_of(opened(X, fitted), n_threads)
    weights = None if points is None else plain_weights(weights_of(X, sample_weight), points.array.shape[0], X)
    name = b"" if path is None else path_of("path", path)
    if name:
        check_output("path", name, files_of(fitted._source, X, sample_weight))
    wanted = {
        "name": os.fsdecode(fitted._source.path) if title is None else text_of("title", title, "surrogateescape"),
        "path": name, "k": shown, "threads": _threads.effective(n_threads), "times": True, "whole": True,
    }  # fmt: skip
    return page(fitted, choice, points, weights, wanted)


def _parts_of(result: Any) -> tuple[FitResult, Choice | None]:
    choice = result if isinstance(result, Choice) else None
    fitted = result.result if isinstance(result, Choice) else getattr(result, "result_", result)
    if not isinstance(fitted, FitResult):
        raise UsageError(
            f"[result] is {type(result).__name__}; what fit, search or choose_k gave, or a fitted KMeans or "
            "EnsembleKMeans is right"
        )
    return fitted._of_kind(linear=False), choice


def _shown_k(fitted: FitResult, choice: Choice | None, k: int | None) -> int:
    if k is None:
        return choice.k if choice is not None else fitted.k_values[0]
    return fitted.best(integer("k", k)).k_requested
