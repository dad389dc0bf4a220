"""The page about a result, or the part of it that notebooks show."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _manymeans
from ._input import Points
from ._labelling import predict_points
from ._tables import naming

# Models of the shown k that are compared with each other.
_MOST_MEMBERS = 10


def fragment(name: str, fitted: Any, choice: Any = None) -> str:
    """Give what notebooks show of a FitResult, and of the Choice that judged it: a part of a page, without points."""
    k = fitted.k_values[0] if choice is None else choice.k
    wanted = {"name": name, "path": b"", "k": k, "threads": 1, "times": True, "whole": False}
    return page(fitted, choice, None, None, wanted)


def page(fitted: Any, choice: Any, points: Points | None, weights: Any, wanted: dict[str, Any]) -> str:
    """Make the page of a FitResult, of the Choice that judged it, and of points.

    `wanted` may have names of columns and rows, a scaling, and traits of the clusters.
    """
    best = fitted.best(wanted["k"])
    kept = _compared(fitted, best)
    if points is not None and best.labels is None:
        kept[id(best)] = predict_points(points, best.cluster_centers, _manymeans.Predictor(best.cluster_centers))[0]
    scaling = wanted.get("scaling", fitted.scaling)
    values = {
        "models": [_as_dict(model, kept.get(id(model))) for model in fitted.models],
        "provenance": fitted.provenance,
        "digest": fitted.digest,
        "metric": fitted.metric,
        "warnings": list(fitted.warnings),
        "interrupted": fitted.interrupted,
        "column_names": wanted.get("column_names", fitted.column_names or (points and points.names) or []),
        "scaling": {name: value if name == "kind" else list(value) for name, value in scaling.items()},
        "row_names": wanted.get("row_names", []),
        "linear": best.linear,
        "terms": fitted._terms,
        "traits": wanted.get("traits", []),
        "chosen": None if choice is None else _chosen(choice),
    }
    if points is None:
        return _manymeans.report(None, False, None, values, wanted)
    with naming(points.names, points.source):
        return _manymeans.report(points.array, points.bfloat16, weights, values, wanted)


def _compared(fitted: Any, best: Any) -> dict[int, Any]:
    """Give the labels that the page looks at: of the best model of each k, and of the best ones of the shown k."""
    begun = [model for model in fitted.models if model.begun and model.labels is not None]
    order = sorted(begun, key=lambda model: model.inertia)
    own = [model for model in order if model.k_requested == best.k_requested][:_MOST_MEMBERS]
    first = {model.k_requested: model for model in reversed(order)}
    return {id(model): model.labels for model in [*own, *first.values()]}


def _as_dict(model: Any, labels: Any) -> dict[str, Any]:
    values: dict[str, Any] = model._as_dict()
    return values | {
        "residuals": model._residuals,
        "labels": None if labels is None else np.ascontiguousarray(labels, dtype=np.uint32),
        "digest": model.digest, "search": model.search, "rounds": model.rounds,
    }  # fmt: skip


def _chosen(choice: Any) -> dict[str, Any]:
    return {
        "status": choice.status,
        "k": choice.k,
        "answer": choice.answer,
        "reason": choice.reason,
        "votes": choice.votes,
        "evidence": [its._asdict() | {"criteria": its.criteria._asdict()} for its in choice.evidence],
    }
