"""Labels and distances of points by the centres of one model."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from . import _manymeans, _threads
from ._input import Points, sparse_points
from ._placing import PlacedCenters, Room
from ._tables import naming


def as_measured(points: Points, metric: str, centers: npt.NDArray[Any], n_threads: int | None = None) -> Points:
    """Scale rows to length one where the metric is cosine. This makes one copy."""
    if metric == "euclidean":
        return points
    return _unit_rows(matching(points, centers), n_threads)


def _unit_rows(points: Points, n_threads: int | None) -> Points:
    threads = _threads.effective(n_threads)
    with naming(points.names, points.source):
        if points.is_sparse:
            rows = points.numbers.copy()
            rows.data = _manymeans.values_of_length_one(points.array, threads)
            return points._replace(array=_manymeans.SparseArray(rows))
        array = _manymeans.rows_of_length_one(points.array, points.bfloat16, threads)
    return Points(array, names=points.names, source=points.source)


def is_scaled(scaling: dict[str, Any]) -> bool:
    """Return whether it changes points. Older pickles have no logarithms."""
    return scaling["kind"] != "none" or len(scaling.get("log", [])) > 0


def scaled(points: Points, scaling: dict[str, Any], n_threads: int | None = None) -> Points:
    """Apply the scaling of a model file. This makes one copy."""
    if not is_scaled(scaling):
        return points
    if points.is_sparse and scaling["kind"] == "unit" and not len(scaling.get("log", [])):
        return _unit_rows(points, n_threads)
    with naming(points.names, points.source):
        array = _manymeans.apply_scaling(points.array, points.bfloat16, scaling, _threads.effective(n_threads))
    return Points(array, names=points.names, source=points.source)


def matching(points: Points, centers: Any) -> Points:
    """Widen points to float64 where the centres are, so that no centre is rounded. This makes one copy."""
    if centers.dtype != np.float64 or points.wide:
        return points
    wide = points.numbers.astype(np.float64)
    return sparse_points(wide) if points.is_sparse else Points(wide, names=points.names, source=points.source)


class PreparedCenters:
    """The centres of the last call, ready for the next one. A copy or a pickle has none at first."""

    def __init__(self, placed: PlacedCenters | None = None) -> None:
        self._predictor: _manymeans.Predictor | None = None
        self.placed = placed

    def __reduce__(self) -> tuple[type[PreparedCenters], tuple[()]]:
        return PreparedCenters, ()

    def predictor_of(self, centers: npt.NDArray[Any]) -> _manymeans.Predictor:
        """Give the one of the last call, where the centres are still the same."""
        predictor = self._predictor
        unchanged = self.placed is not None and centers is self.placed.host
        if predictor is None or not (unchanged or predictor.holds(centers)):
            predictor = self._predictor = _manymeans.Predictor(centers)
        return predictor


def predict_points(
    points: Points,
    centers: npt.NDArray[Any],
    predictor: _manymeans.Predictor,
    *,
    n_threads: int | None = None,
    backend: str = "auto",
    distances: bool = False,
    inertia: bool = False,
    weights: npt.NDArray[np.float64] | None = None,
    room: Room | None = None,
) -> tuple[Any, npt.NDArray[np.float64] | None, float]:
    """Give labels in their smallest type and, if asked for, distances and inertia. The predictor is of the centres.

    Labels that are written to a room, as int32, are not returned.
    """
    points = matching(points, centers)
    with naming(points.names, points.source):
        wanted = {
            "backend": backend,
            "threads": _threads.effective(n_threads),
            "distances": distances,
            "inertia": inertia,
            "weights": weights,
            "room": room,
        }
        return predictor.predict(points.array, points.bfloat16, wanted)


def walk_points(
    points: Points,
    tree: dict[str, Any],
    *,
    n_threads: int | None = None,
    backend: str = "auto",
    room: Room | None = None,
) -> Any:
    """Give the labels of a walk, or write them to a room. `tree` has vectors and parents of its nodes, and n_probe."""
    points = matching(points, tree["vectors"])
    with naming(points.names, points.source):
        wanted = {"backend": backend, "threads": _threads.effective(n_threads), "room": room}
        return _manymeans.predict_by_walk(tree, points.array, points.bfloat16, wanted)


def transform_points(
    points: Points,
    centers: npt.NDArray[Any],
    predictor: _manymeans.Predictor,
    *,
    n_threads: int | None = None,
    backend: str = "auto",
    room: Room | None = None,
) -> Any:
    """Give the distances of all points to all centres, or write them to a room."""
    points = matching(points, centers)
    with naming(points.names, points.source):
        wanted = {"backend": backend, "threads": _threads.effective(n_threads), "room": room}
        return predictor.transform(points.array, points.bfloat16, wanted)
