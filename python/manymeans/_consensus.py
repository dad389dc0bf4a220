"""Clusters on which the models of an ensemble agree."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import _manymeans, _threads
from ._compare import Space, centers_in, space_of
from ._errors import UsageError, warn
from ._input import plain_points
from ._opening import opened
from ._parameters import choice, integer
from ._result import FitResult, Model
from ._seeds import seed_of
from ._tables import columns_of_fit
from ._wording import in_python, shown


class Consensus(NamedTuple):
    """What `consensus` gives.

    Attributes
    ----------
    labels : ndarray of shape (n_samples,)
        The cluster of each row for which most models vote, the lowest of equals; in the smallest unsigned type.
    votes : ndarray of shape (n_samples,)
        The number of models that vote for it, in the smallest unsigned type.
    counts : ndarray of shape (k,)
        Rows of each cluster; 0 where no row has it.
    cluster_centers : ndarray of shape (k, n_features)
        Centres of the fit of all centres, or of the model that the others are matched to.
    n_models : int
        Models that vote.
    between : ndarray of shape (n_models, n_models)
        The adjusted Rand index of two models, over the pairs of rows that were looked at; empty without pairs.
    mean_between : float
        Its mean over different models; NaN for one model.
    ambiguous : float
        The share of pairs of rows that more than a tenth and fewer than nine tenths of the models put together.
    pairs : int
        Pairs that were looked at.
    digest : str
        32 hexadecimal digits over labels and votes: equal for equal answers, on every machine.

    """

    labels: npt.NDArray[Any]
    votes: npt.NDArray[Any]
    counts: npt.NDArray[np.int64]
    cluster_centers: npt.NDArray[Any]
    n_models: int
    between: npt.NDArray[np.float64]
    mean_between: float
    ambiguous: float
    pairs: int
    digest: str

    @property
    def agreement(self) -> npt.NDArray[np.float64]:
        """The share of the models that vote for the label of each row; 1 where all agree."""
        return self.votes / float(self.n_models)


def consensus(
    ensemble: Any,
    k: int,
    X: Any = None,
    *,
    method: str = "centroids",
    fits: int = 10,
    pairs: int = 100_000,
    seed: int | Any = 0,
    backend: str = "auto",
    n_threads: int | None = None,
) -> Consensus:
    """Find the clusters on which many models agree: each row gets the one for which most models vote.

    No label of a model is kept, so the memory is two labels a row. Every machine returns the same bits.

    Parameters
    ----------
    ensemble : FitResult, EnsembleKMeans or list of Model
        The models that vote; those that have not begun are left out.
    k : int
        Clusters of the consensus. Models may have more or fewer.
    X : array-like of shape (n_samples, n_features), Dataset or path, optional
        Points to label. By default the points of the fit. The models have their labels, unless they come from a file.
    method : {"centroids", "matched"}, default="centroids"
        ``"centroids"``: the centres of all models are clustered, weighted by their rows, and a model votes for the
        cluster into which its centre came. With ``"matched"``, the clusters of the models that have `k` are matched one
        to one to the clusters of the model of min inertia.
    fits : int, default=10
        Fits of the centres; the fit of min inertia counts.
    pairs : int, default=100_000
        Pairs of rows by which models are compared: all where there are no more; 0: none.
    seed : int or numpy.random.RandomState, default=0
        Seed of the fits and of the pairs.
    backend : str, default="auto"
        Where to compute. Never changes the answer.
    n_threads : int, optional
        Threads; by default all that are usable. Never changes the answer.

    Returns
    -------
    consensus : Consensus
        Labels, how many models agree on each, and how alike the models are.

    Raises
    ------
    UsageError
        Where models have no labels and `X` is None; for models that `method` cannot use; for linear models.

    Examples
    --------
    >>> import manymeans
    >>> X = [[0.0], [1.0], [10.0], [11.0], [20.0], [21.0]]
    >>> ensemble = manymeans.fit(X, [2, 3, 4], models=5)
    >>> found = manymeans.consensus(ensemble, 3)
    >>> sorted(found.counts.tolist())
    [2, 2, 2]

    """
    result, models = _models_of(ensemble)
    count = integer("k", k)
    choice("method", method, ("centroids", "matched"))
    if method == "matched":
        models = [model for model in models if model.k == count]
        if not models:
            raise UsageError(f"[k] none of the models has {count} clusters; method='centroids' takes those of any k")
    array, bfloat16 = None, False
    if X is not None:
        X = opened(X, like=result)
        result = models[0]._alone() if result is None else result
        X = columns_of_fit(X, result.column_names)
        points = result._in_units(plain_points(X, keep_sparse=True), n_threads)
        array, bfloat16 = points.array, points.bfloat16
    space = space_of(models[0])
    wanted = {
        "k": count, "method": method, "fits": integer("fits", fits), "pairs": integer("pairs", pairs, 0),
        "seed": seed_of(seed), "metric": models[0]._metric, "backend": backend,
        "threads": _threads.effective(n_threads),
    }  # fmt: skip
    found = _manymeans.consensus(
        array, bfloat16, [_member(model, space, with_labels=X is None) for model in models], wanted
    )
    for text in found.pop("warnings"):
        warn(in_python(text))
    between = found.pop("between")
    shape = (len(models), len(models)) if between.size else (0, 0)
    return Consensus(**found, between=between.reshape(shape))


def _models_of(given: Any) -> tuple[FitResult | None, list[Model]]:
    """Give the models that have begun, and the result that they belong to."""
    given = getattr(given, "result_", given)
    result = given if isinstance(given, FitResult) else None
    models: Iterable[Any] = given.models if isinstance(given, FitResult) else given
    if not isinstance(models, Iterable):
        raise UsageError(
            f"[ensemble] is {shown(given)}; a FitResult, an EnsembleKMeans that was fitted, or models are right"
        )
    begun = []
    for model in models:
        if not isinstance(model, Model):
            raise UsageError(f"[ensemble] holds a {type(model).__name__}; models are needed, or a FitResult")
        if model.linear:
            raise UsageError(
                "[ensemble] these are linear models, which have no centres to agree on; compare takes two of them"
            )
        if model.begun:
            begun.append(model)
    if not begun:
        raise UsageError("[ensemble] there is no model; fit some")
    if len({model._metric for model in begun}) > 1:
        raise UsageError("[ensemble] some models are of metric euclidean and some of cosine; take one kind")
    return result, begun


def _member(model: Model, space: Space, *, with_labels: bool) -> dict[str, Any]:
    own = model.cluster_centers
    centers = centers_in(space, own, space_of(model), "ensemble", "the first model").astype(own.dtype, copy=False)
    labels = None
    if with_labels:
        if model.labels is None:
            raise UsageError("[X] is needed: models of a file, of shards or of dask have no labels; give the points")
        labels = np.ascontiguousarray(model.labels)
    return {
        "centers": centers, "labels": labels, "inertia": float(model.inertia),
        "counts": np.ascontiguousarray(model.counts, dtype=np.int64),
    }  # fmt: skip
