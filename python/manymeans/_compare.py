"""How alike two clusterings are."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import _manymeans
from ._errors import BadDataError, UsageError
from ._result import FitResult, Model


class Comparison(NamedTuple):
    """What `compare` gives.

    Attributes
    ----------
    adjusted_rand : float or None
        1 for equal clusterings, whatever the numbers of the clusters are; about 0 for those that are no more alike than
        chance; None where there were no labels to compare.
    moved : int
        Rows in `moves`.
    pairs : list of (int, int, int)
        Clusters of a and of b that are put together one to one so that most rows stay, and the rows that they share.
    moves : list of (int, int, int)
        The other cells of the contingency table that have rows: most rows first.
    rows, left_out : int
        Rows that have a label in both, and those that have not.
    centers : list of (int, int, float)
        Of models: centres of a and of b, matched one to one so that the sum of the squared distances is least, and
        their Euclidean distance.

    """

    adjusted_rand: float | None
    moved: int
    pairs: list[tuple[int, int, int]]
    moves: list[tuple[int, int, int]]
    rows: int
    left_out: int
    centers: list[tuple[int, int, float]]


def compare(a: Any, b: Any) -> Comparison:
    """Compare two clusterings of the same rows: labels, models, or fitted estimators.

    The adjusted Rand index is that of scikit-learn, computed of exact integers.

    Parameters
    ----------
    a, b : array-like of shape (n_samples,), Model, FitResult or estimator
        Labels, of which negative ones mean that a row has none; or a model, a result (its best model), or a fitted
        `KMeans`, whose labels are compared where both have them, and whose centres are where both have those.

    Returns
    -------
    comparison : Comparison
        The index, the rows that moved, and the centres that were matched.

    Raises
    ------
    UsageError
        For labels of different numbers of rows, and where there is nothing to compare.

    Examples
    --------
    >>> import manymeans
    >>> manymeans.compare([0, 0, 1, 1], [5, 5, 7, 7]).adjusted_rand
    1.0

    """
    labels_a, centers_a = parts_of("a", a)
    labels_b, centers_b = parts_of("b", b)
    matched: list[tuple[int, int, float]] = []
    if centers_a is not None and centers_b is not None:
        if centers_a.shape[1] != centers_b.shape[1]:
            raise UsageError(f"[b] its centres have {centers_b.shape[1]} columns, those of a {centers_a.shape[1]}")
        matched = _manymeans.match_prototypes(centers_a, centers_b)
    elif labels_a is None or labels_b is None:
        raise UsageError("[a, b] one has centres only and the other labels only; predict() gives labels of rows")
    if labels_a is None or labels_b is None:
        return Comparison(None, 0, [], [], 0, 0, matched)
    return Comparison(**_manymeans.compare_labels(labels_a, labels_b), centers=matched)


def parts_of(name: str, given: Any) -> tuple[npt.NDArray[np.int64] | None, npt.NDArray[np.float64] | None]:
    """Give labels and centres of what a user passes, as far as it has them."""
    given = given.best() if isinstance(given, FitResult) else given
    if isinstance(given, Model):
        labels, centers, linear = given.labels, given.cluster_centers, given.linear
    elif hasattr(given, "cluster_centers_"):
        labels, centers, linear = getattr(given, "labels_", None), given.cluster_centers_, False
    else:
        return _labels_of(name, given), None
    return (
        None if labels is None else _labels_of(name, labels),
        None if linear else np.ascontiguousarray(centers, dtype=np.float64),
    )


def _labels_of(name: str, given: Any) -> npt.NDArray[np.int64]:
    labels = np.asarray(given)
    if labels.ndim != 1:
        raise BadDataError(f"[{name}] has the shape {labels.shape}; a label for each row is needed, or a model")
    if labels.dtype.kind not in "biu" and labels.size:
        raise BadDataError(f"[{name}] holds {labels.dtype}; labels are integers")
    return np.ascontiguousarray(labels, dtype=np.int64)
