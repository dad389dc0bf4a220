"""How well labels suit their points: criteria by which people choose the number of clusters."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import _manymeans, _threads
from ._alignment import check_rows
from ._compare import Parts, classes_of, parts_of
from ._errors import UsageError
from ._input import Points, plain_points, sparse_points
from ._labelling import as_measured
from ._opening import opened_without_weights
from ._parameters import integer
from ._seeds import seed_of

_MOST_LABEL = 2**31 - 1


class Criteria(NamedTuple):
    """What `criteria` gives. A number is NaN where it is not defined: of one cluster, or of as many as rows.

    Attributes
    ----------
    n_clusters : int
        Labels that have rows.
    calinski_harabasz : float
        Variance between clusters to variance within, as scikit-learn's: the larger, the better.
    davies_bouldin : float
        Mean over clusters of the worst ratio of spreads to distance, as scikit-learn's: the smaller, the better.
    bic : float
        Bayesian information criterion of equal spherical normal distributions: the smaller, the better.
    simplified_silhouette : float
        Mean silhouette by the distances to the means of the clusters.
    squared_silhouette : float
        Mean silhouette by squared Euclidean distances of all pairs of rows, exact; O(n_samples n_clusters n_features).
    cluster_silhouettes : ndarray of shape (largest label + 1,)
        Its means by label; NaN for a label without rows.
    silhouette : float
        Mean silhouette by Euclidean distances, of `silhouette_rows` rows to all rows.
    silhouette_rows : int
        How many rows that were.
    silhouette_error : float
        In 19 of 20 samples the silhouette of all rows is at most this far away. 0 if all rows were taken.

    """

    n_clusters: int
    calinski_harabasz: float
    davies_bouldin: float
    bic: float
    simplified_silhouette: float
    squared_silhouette: float
    cluster_silhouettes: npt.NDArray[np.float64]
    silhouette: float
    silhouette_rows: int
    silhouette_error: float


def criteria(
    X: Any, labels: Any, *, sample: int = 1000, random_state: int | Any = 0, n_threads: int | None = None
) -> Criteria:
    """Judge a clustering by the criteria from which a number of clusters is chosen. All machines give equal bits.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features), Dataset or path
        Points.
    labels : array-like of shape (n_samples,), Model, FitResult or estimator
        Labels as `compare` takes them; rows without one are left out. Texts are numbered in the order of first
        appearance, and so are all labels where one is above 2**31 - 1. Or a model, a result (its best model) or a
        fitted estimator that has the labels of `X`. For the metric cosine, rows are scaled to length one, as the fit
        scaled them.
    sample : int, default=1000
        Rows for which `silhouette` is computed, O(sample n_samples n_features); 0: none.
    random_state : int or numpy.random.RandomState, default=0
        Seed of the sample, 0 to 2**64 - 1, or a generator to draw one from.
    n_threads : int, optional
        Threads; by default all that are usable. Never changes the answer.

    Returns
    -------
    criteria : Criteria
        The numbers. No number is right alone: each has its own idea of a cluster.

    Raises
    ------
    UsageError
        For labels of another number of rows, and for points that were read with weights.
    BadDataError
        For labels that are no whole numbers and no texts; for NaN and infinity in `X`.

    Examples
    --------
    >>> import manymeans
    >>> found = manymeans.criteria([[0.0], [2.0], [10.0], [12.0]], [0, 0, 1, 1])
    >>> found.calinski_harabasz, round(found.davies_bouldin, 3)
    (50.0, 0.2)

    """
    points, parts = plain_points(opened_without_weights(X, "criteria"), keep_sparse=True), parts_of("labels", labels)
    taken = _labels_of(parts)
    check_rows("labels", labels, X)
    if parts.centers is not None:
        points = as_measured(points, parts.space.metric, parts.centers, n_threads)
    there = taken >= 0
    if not there.all() and len(there) == points.array.shape[0]:
        rows = points.numbers[there]
        points = sparse_points(rows) if points.is_sparse else Points(np.ascontiguousarray(rows))
        taken = taken[there]
    wanted = {
        "sample": integer("sample", sample, 0), "seed": seed_of(random_state), "threads": _threads.effective(n_threads),
    }  # fmt: skip
    return Criteria(**_manymeans.criteria(points.array, points.bfloat16, taken.astype(np.uint32), wanted))


def _labels_of(parts: Parts) -> npt.NDArray[np.int64]:
    labels = parts.labels
    if labels is None:
        raise UsageError("[labels] this model has no labels; predict() gives those of rows")
    if labels.size and labels.max() > _MOST_LABEL:
        return classes_of([label if label >= 0 else None for label in labels.tolist()])[0]
    return labels
