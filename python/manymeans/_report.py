"""A page about a result: charts and tables in one file of HTML."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from . import _manymeans, _threads
from ._choose import Choice
from ._errors import UsageError
from ._functions import _opened, _weights_of
from ._input import Points, plain_points, plain_weights
from ._parameters import integer, path_of
from ._result import FitResult, Model, predict_points
from ._tables import check_output, columns_of_fit, files_of, naming

# Models of the shown k that are compared with each other.
_MOST_MEMBERS = 10


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

    It has charts of sizes, centroids, silhouettes, of the criteria of a choice of k, of what becomes of clusters from
    one k to the next, of how far models agree and of how a search went, and tables to copy. The same page is written by
    ``manymeans fit --report``.

    Parameters
    ----------
    result : FitResult, Choice or fitted estimator
        What `fit`, `search` or `choose_k` gave, or an estimator that has a ``result_``.
    X : array-like of shape (n_samples, n_features), Dataset or path, optional
        The points of the fit. Without them the page has no centroids in their units, no silhouettes and no rows.
    path : str, bytes or path-like, optional
        Where to write the page, which appears whole or not at all.
    k : int, optional
        Of which number of clusters the best model is shown; by default the recommended one of a choice, else the first.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the fit.
    title : str, optional
        What the points are called; by default their file.
    n_threads : int, optional
        Threads; by default all that are usable. Never changes the page.

    Returns
    -------
    page : str
        The HTML.

    Raises
    ------
    UsageError
        For points that are not those of the fit; for linear models.
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
    points = (
        None
        if X is None
        else fitted._scaled(plain_points(columns_of_fit(_opened(X, fitted), fitted.column_names)), n_threads)
    )
    weights = None if points is None else plain_weights(_weights_of(X, sample_weight), len(points.array))
    name = b"" if path is None else path_of("path", path)
    if name:
        check_output("path", name, files_of(fitted._source, X, sample_weight))
    wanted = {
        "name": os.fsdecode(fitted._source.path) if title is None else title, "path": name, "k": shown,
        "threads": _threads.effective(n_threads), "times": True, "whole": True,
    }  # fmt: skip
    return _page(fitted, choice, points, weights, wanted)


def fragment(result: FitResult | Choice) -> str:
    """Give what notebooks show of a result: a part of a page, without points."""
    fitted, choice = _parts_of(result)
    wanted = {
        "name": str(result) if choice is None else f"k = {choice.k}", "path": b"",
        "k": _shown_k(fitted, choice, None), "threads": 1, "times": True, "whole": False,
    }  # fmt: skip
    return _page(fitted, choice, None, None, wanted)


def _parts_of(result: Any) -> tuple[FitResult, Choice | None]:
    choice = result if isinstance(result, Choice) else None
    fitted = result.result if isinstance(result, Choice) else getattr(result, "result_", result)
    if not isinstance(fitted, FitResult):
        kind = type(result).__name__
        raise UsageError(f"[result] is {kind}; what fit, search or choose_k gave, or a fitted estimator is right")
    return fitted._of_kind(linear=False), choice


def _shown_k(fitted: FitResult, choice: Choice | None, k: int | None) -> int:
    if k is None:
        return choice.k if choice is not None else fitted.k_values[0]
    return fitted.best(integer("k", k)).k_requested


def _page(fitted: FitResult, choice: Choice | None, points: Points | None, weights: Any, wanted: dict[str, Any]) -> str:
    best = fitted.best(wanted["k"])
    kept = _compared(fitted, best)
    if points is not None and best.labels is None:
        kept[id(best)] = predict_points(points, best.cluster_centers, _manymeans.Predictor(best.cluster_centers))[0]
    values = {
        "models": [_as_dict(model, kept.get(id(model))) for model in fitted.models],
        "provenance": fitted.provenance,
        "metric": fitted.metric,
        "warnings": list(fitted.warnings),
        "interrupted": fitted.interrupted,
        "column_names": fitted.column_names,
        "scaling": {name: value if name == "kind" else list(value) for name, value in fitted.scaling.items()},
        "chosen": None if choice is None else _chosen(choice),
    }
    if points is None:
        return _manymeans.report(None, False, None, values, wanted)
    with naming(points.names, points.source):
        return _manymeans.report(points.array, points.bfloat16, weights, values, wanted)


def _compared(fitted: FitResult, best: Model) -> dict[int, Any]:
    """Give the labels that the page looks at: of the best model of each k, and of the best ones of the shown k."""
    begun = [model for model in fitted.models if model.begun and model.labels is not None]
    order = sorted(begun, key=lambda model: model.inertia)
    own = [model for model in order if model.k_requested == best.k_requested][:_MOST_MEMBERS]
    first = {model.k_requested: model for model in reversed(order)}
    return {id(model): model.labels for model in [*own, *first.values()]}


def _as_dict(model: Model, labels: Any) -> dict[str, Any]:
    return model._as_dict() | {
        "labels": None if labels is None else np.ascontiguousarray(labels, dtype=np.uint32),
        "digest": model.digest, "search": model.search, "rounds": model.rounds,
    }  # fmt: skip


def _chosen(choice: Choice) -> dict[str, Any]:
    return {
        "k": choice.k,
        "reason": choice.reason,
        "votes": choice.votes,
        "evidence": [its._asdict() | {"criteria": its.criteria._asdict()} for its in choice.evidence],
    }
