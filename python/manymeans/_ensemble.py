"""EnsembleKMeans: many models over the same points."""

from __future__ import annotations

import copy
import functools
import os
from collections.abc import Callable, Iterable
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import _fit_context
from sklearn.utils import check_array
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ._base import INITS, SHARED_CONSTRAINTS, _BaseEstimator
from ._functions import k_list, run_fit
from ._input import on_host
from ._kmeans import _take
from ._progress import Callback
from ._result import FitResult, Model


class EnsembleKMeans(_BaseEstimator):
    """Many k-means models, of one or several numbers of clusters, in one reading of the points per iteration.

    Parameters
    ----------
    n_clusters : int or iterable of int, default=8
        Numbers of clusters: ``8``, ``[8, 16]`` or ``range(2, 21)``.
    models_per_k : int, default=1
        Models for each number of clusters, from different seeds.
    init : {"k-means++", "random", "k-means||", "first", "auto"} or array-like, default="k-means++"
        Initial centres; an array needs a single number of clusters and one model.
    max_iter, tol, stop, empty, random_state, backend, n_threads, time_limit, progress, callback, memory_limit, verbose
        As in `KMeans`.
    algorithm : {"auto", "matrix", "bounds", "kdtree", "brute"}, default="auto"
        How labels are found. Never changes the answer.
    strategy : {"concatenated", "data", "task"}, default="concatenated"
        How the ensemble is spread: one pass for all models, one model after the other, or a model per thread. Never
        changes the answer.

    Attributes
    ----------
    models_ : list of Model
        All models: numbers of clusters in the order given, replicas inside.
    best_ : Model
        The model of lowest inertia of all.
    best_of_k_ : dict of int to Model
        The model of lowest inertia for each number of clusters.
    cluster_centers_, labels_, inertia_
        Those of `best_`; labels int32.
    answer_ : str
        Digest of all models: 32 hexadecimal digits, equal for equal answers, on every machine.
    provenance_ : dict
        Where the answer came from and what it cost: see docs/json.md.
    result_ : FitResult
        The models with warnings and provenance.
    n_iter_ : int
        Most updates of the centres that any model did, at least 1.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where all are strings.

    Raises
    ------
    ValueError
        For parameters out of range, n_clusters above n_samples, NaN, infinity, negative weights.
    KeyboardInterrupt
        On Ctrl-C, within about a second.

    See Also
    --------
    KMeans : One model, as in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from manymeans import EnsembleKMeans
    >>> X = np.array([[1, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]], dtype=np.float32)
    >>> ensemble = EnsembleKMeans([1, 2, 3], models_per_k=2, random_state=0).fit(X)
    >>> [ensemble.best_of_k_[k].inertia for k in (1, 2)]
    [137.5, 16.0]
    >>> ensemble.predict([[0, 0], [11, 3]], k=1).tolist()
    [0, 0]

    """

    _parameter_constraints = {
        "n_clusters": [Interval(Integral, 1, None, closed="left"), "array-like", range],
        "models_per_k": [Interval(Integral, 1, None, closed="left")],
        "init": [StrOptions(set(INITS)), "array-like"],
        "algorithm": [StrOptions({"auto", "matrix", "bounds", "kdtree", "brute"})],
        "strategy": [StrOptions({"concatenated", "data", "task"})],
        **SHARED_CONSTRAINTS,
    }

    def __init__(
        self,
        n_clusters: int | Iterable[int] = 8,
        *,
        models_per_k: int = 1,
        init: Any = "k-means++",
        max_iter: int = 300,
        tol: float = 1e-4,
        stop: str = "tol",
        empty: str = "farthest",
        random_state: Any = None,
        algorithm: str = "auto",
        strategy: str = "concatenated",
        backend: str = "auto",
        n_threads: int | None = None,
        time_limit: float | None = None,
        verbose: int = 0,
        progress: bool = False,
        callback: Callback | None = None,
        memory_limit: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.models_per_k = models_per_k
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.stop = stop
        self.empty = empty
        self.random_state = random_state
        self.algorithm = algorithm
        self.strategy = strategy
        self.backend = backend
        self.n_threads = n_threads
        self.time_limit = time_limit
        self.verbose = verbose
        self.progress = progress
        self.callback = callback
        self.memory_limit = memory_limit

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> EnsembleKMeans:
        """Fit all models.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points; see `KMeans.fit` for what is read in place.
        y : Ignored
            There by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights, 0 or larger; None: all equal.

        Returns
        -------
        self : EnsembleKMeans
            The fitted estimator.

        """
        points = self._points(X, reset=True)
        weights = self._weights(sample_weight, points)
        ks = k_list(self.n_clusters)
        if max(ks, default=0) > points.array.shape[0]:
            raise ValueError(f"n_samples={points.array.shape[0]} should be >= n_clusters={max(ks)}.")
        initial = None
        if not isinstance(self.init, str):
            initial = check_array(
                on_host(self.init), dtype=np.float64 if points.wide else np.float32, order="C", input_name="init"
            )
        options = self._options() | {
            "k": ks, "models": int(self.models_per_k), "init": self.init if initial is None else None,
            "algorithm": self.algorithm, "strategy": self.strategy,
        }  # fmt: skip
        result = run_fit(points, weights, options, initial=initial, **self._shown())
        self._keep_all(result)
        self._warn(result.warnings)
        return self

    def _keep_all(self, result: FitResult) -> None:
        best = result.best()
        self._keep(result, best)
        self.models_ = result.models
        self.best_ = best
        self.best_of_k_ = {k: result.best(k) for k in result.k_values if any(m.begun for m in _of(result, k))}
        self.n_iter_ = max(1, *(model.n_iter for model in result.models))

    def _centers_of(self, k: int | None) -> npt.NDArray[Any]:
        return self._fitted_centers() if k is None else self.result_.best(k).cluster_centers

    def _with_best_of(self, k: int | None) -> EnsembleKMeans:
        """Give this ensemble with the best model of k in the place of the best of all."""
        check_is_fitted(self)
        if k is None:
            return self
        other, best = copy.copy(self), self.result_.best(k)
        other.cluster_centers_, other._n_features_out = best.cluster_centers, best.k
        return other

    def predict(self, X: Any, k: int | None = None) -> npt.NDArray[np.int32]:
        """Label points by the nearest centre of the best model, ties to the lowest index.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points.
        k : int, default=None
            Take the best model of this number of clusters; None: the best of all.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            int32.

        """
        self._fitted_centers()
        return self._predict(X, self._centers_of(k))

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> npt.NDArray[np.int32]:
        """Fit all models and give the labels of the best.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points.
        y : Ignored
            There by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            int32.

        """
        self.fit(X, sample_weight=sample_weight)
        return self.labels_

    def transform(self, X: Any, k: int | None = None) -> npt.NDArray[Any]:
        """Give the Euclidean distances of all points to all centres of the best model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points.
        k : int, default=None
            Take the best model of this number of clusters; None: the best of all.

        Returns
        -------
        X_new : ndarray of shape (n_samples, k)
            float64 where points or centres are, else float32.

        """
        return self._transform(X, self._centers_of(k))

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> npt.NDArray[Any]:
        """Fit all models and give the distances of the points to all centres of the best.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points.
        y : Ignored
            There by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights.

        Returns
        -------
        X_new : ndarray of shape (n_samples, k)
            float64 for float64 points, else float32.

        """
        self.fit(X, sample_weight=sample_weight)
        return self._transform(X, self._fitted_centers())

    def score(self, X: Any, y: Any = None, sample_weight: Any = None, k: int | None = None) -> float:
        """Give the negative inertia of points by the best model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points.
        y : Ignored
            There by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights.
        k : int, default=None
            Take the best model of this number of clusters; None: the best of all.

        Returns
        -------
        score : float
            Minus the weighted sum of squared distances to the nearest centre.

        """
        self._fitted_centers()
        return self._score(X, sample_weight, self._centers_of(k))

    def to_frame(self) -> Any:
        """Give a pandas DataFrame with one row for each model.

        Returns
        -------
        frame : pandas.DataFrame
            Columns k, k_requested, replica, seed, init, inertia, n_iter, stop_reason, seconds, digest, best.

        """
        self._fitted_centers()
        return self.result_.to_frame()

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> EnsembleKMeans:
        """Read a model file that `save` or ``manymeans fit --model`` has written.

        Parameters
        ----------
        path : str or path-like
            A ``.npz``.

        Returns
        -------
        estimator : EnsembleKMeans
            Fitted, without `labels_`.

        """
        result = FitResult.load(path)
        options = result.provenance["options"]
        estimator = cls(
            options["k"], models_per_k=options["models"], max_iter=max(1, options["max_iter"]), tol=options["tol"]
        )
        _take(estimator, result, result.best())
        estimator._keep_all(result)
        return estimator


def _for_any_k(wrapped: Callable[..., Any]) -> Callable[..., Any]:
    """Let set_output, which has wrapped this method, name the columns of the model that is used."""

    @functools.wraps(wrapped)
    def transform(self: EnsembleKMeans, X: Any, k: int | None = None) -> Any:
        return wrapped(self._with_best_of(k), X)

    return transform


EnsembleKMeans.transform = _for_any_k(EnsembleKMeans.transform)  # type: ignore[method-assign]


def _of(result: FitResult, k: int) -> list[Model]:
    return [model for model in result.models if model.k_requested == k]
