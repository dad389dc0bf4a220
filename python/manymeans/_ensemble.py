"""EnsembleKMeans: many models over the same points."""

from __future__ import annotations

import copy
import functools
import os
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from ._base import (
    INITS,
    Clustering,
    _BaseEstimator,
    at_least,
    initial_of,
)
from ._consensus import Consensus, consensus
from ._declaring import parameter, parameters
from ._errors import UsageError
from ._functions import k_list, library_options, run_fit
from ._initial import initial_models
from ._kmeans import _describe_input
from ._profile import Profile, Remembered
from ._result import Criterion, FitResult
from ._sklearn import checks_parameters

# Attributes that exist if one of the models is the best.
_OF_ONE_MODEL = ("best_", "cluster_centers_", "labels_", "inertia_", "_n_features_out")


class _UnclearError(UsageError, AttributeError):
    """An attribute of one model, where there are several: hasattr says no."""


@parameters
class EnsembleKMeans(Clustering, _BaseEstimator):
    """Many k-means models, of one or several numbers of clusters, in one reading of the points per iteration.

    Attributes
    ----------
    models_ : list of Model
        All models: numbers of clusters in the order given, replicas inside.
    best_ : Model
        The model of lowest inertia, or the one that `criterion` chooses. With several numbers of clusters it requires
        a `criterion`; the attributes of the next line do too. Without one they raise an error that says so.
    cluster_centers_, labels_, inertia_
        Attributes of `best_`; labels int32.
    best_of_k_ : dict of int to Model
        The model of lowest inertia for each number of clusters.
    answer_ : str
        Digest of all models: 32 hexadecimal digits, equal for equal answers, on every machine.
    provenance_ : dict
        Where the answer came from and what it cost: see docs/user/json.md.
    result_ : FitResult
        The models with warnings and provenance.
    n_iter_ : int
        Max updates of the centres of any model, at least 1.
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

    _keeps_sparse = True
    n_clusters: int | str | Iterable[int] = parameter(
        default=8, accepts=[at_least(1), "array-like", range, str], kw_only=False, type="int, str or list-like of int",
        text="Numbers of clusters: ``8``, ``[8, 16]``, ``range(2, 21)``, ``\"8,16\"`` or ``\"2..20:2\"``.",
    )  # fmt: skip
    models_per_k: int = parameter(
        default=1, accepts=[at_least(1)], text="Models for each number of clusters, from different seeds."
    )
    init: Any = parameter(
        default="k-means++", accepts=[StrOptions(set(INITS)), "array-like"],
        type='{"k-means++", "random", "k-means||", "first", "auto"} or array-like',
        text="Initial centres: a method, an array of shape (k, n_features) for one model, or for all models an array "
        "of shape (models_per_k, k, n_features) or a list of arrays, those of one k together.",
    )  # fmt: skip
    algorithm: str = parameter(
        default="auto", accepts=[StrOptions({"auto", "matrix", "bounds", "kdtree", "brute"})],
        type='{"auto", "matrix", "bounds", "kdtree", "brute"}',
        text="How labels are found. Never changes the answer.",
    )  # fmt: skip
    strategy: str = parameter(
        default="concatenated", accepts=[StrOptions({"concatenated", "data", "task"})], option=True,
        type='{"concatenated", "data", "task"}',
        text="How the ensemble is spread: one pass for all models, one model after the other, or a model per thread. "
        "Never changes the answer.",
    )  # fmt: skip
    criterion: Criterion | None = parameter(
        default=None, accepts=[StrOptions({"inertia"}), callable, None], type='"inertia", callable or None',
        text="How `best_` is chosen among models of several numbers of clusters: by lowest inertia (which is nearly "
        "always the largest number), or by a function that gives a number for a `Model`, of which the least wins. "
        "None: not at all, methods want to be told `k`.",
    )  # fmt: skip

    @checks_parameters
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
        return self._fit_all(X, sample_weight, {})

    @checks_parameters
    def search(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, time: float = 3.0, rounds: int | None = None,
        trials: int = 16,
    ) -> EnsembleKMeans:  # fmt: skip
        """Search for the best model of each number of clusters, instead of `fit`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points, as in `fit`.
        y : Ignored
            There by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights, 0 or larger; None: all equal.
        time : float, default=3.0
            Seconds of each search; it is not looked at where `rounds` are given.
        rounds : int, optional
            Rounds of each search, instead of `time`: the answer is then a function of points, parameters and seed.
        trials : int, default=16
            Max trials of a round: it has 4 at first, later a fourth of all before it. Part of the answer.

        Returns
        -------
        self : EnsembleKMeans
            Fitted. Each model in `models_` has its own search, `Model.rounds` and `Model.search`.

        See Also
        --------
        manymeans.search : The function, with more about searches.

        """
        options = library_options({"time": time, "rounds": rounds, "trials": trials})
        return self._fit_all(X, sample_weight, options)

    def _ks(self) -> list[int]:
        ks = k_list(self.n_clusters)
        twice = [k for k in ks if ks.count(k) > 1]
        if twice:
            raise UsageError(f"[n_clusters] {twice[0]} is given twice; models_per_k fits several models of each number")
        return ks

    def _fit_all(self, X: Any, sample_weight: Any, search: dict[str, Any]) -> EnsembleKMeans:
        """Fit, or with options of a search, search for all models."""
        points = self._points(X, reset=True)
        weights = self._weights(sample_weight, points, X)
        ks = self._ks()
        if max(ks, default=0) > points.array.shape[0]:
            raise ValueError(f"n_samples={points.array.shape[0]} should be >= n_clusters={max(ks)}.")
        options = self._options() | {"k": ks, "models": int(self.models_per_k), "algorithm": self.algorithm} | search
        initial = None
        if isinstance(self.init, str):
            options["init"] = self.init
        else:
            given = initial_models(self.init, points.names, self.metric)
            options = given.in_options(options)
            initial = initial_of(given.rows, np.float64 if points.wide else np.float32)
        result = run_fit(points, weights, options, initial=initial, search=bool(search), **self._shown())
        result._remember(Remembered(X, sample_weight))
        self._keep_all(result, X)
        self._warn(result.warnings)
        return self

    def _keep_all(self, result: FitResult, X: Any = None) -> None:
        for name in _OF_ONE_MODEL:  # of an earlier fit
            self.__dict__.pop(name, None)
        result._candidates(None, "inertia")  # an error where no model has begun
        self._answer, self.result_ = None, result
        self.models_ = result.models
        self.best_of_k_ = result._best_models()
        self.n_iter_ = max(1, *(model.n_iter for model in result.models))
        # Last: where the user's criterion fails, the models are there all the same.
        if self.criterion is not None or len(result.k_values) == 1:
            self.best_ = result.best(criterion=self.criterion)
            self._keep(result, self.best_, X)

    def __getattr__(self, name: str) -> Any:
        # Only called for what is not there.
        if name in _OF_ONE_MODEL and len(self.__dict__.get("models_", ())) > 0:
            if name == "labels_" and "best_" in self.__dict__:
                raise AttributeError("labels_ is not in a model file; predict gives the labels")
            raise _UnclearError(
                f"{name} is that of one model, but there are models for k = "
                f"{', '.join(map(str, self.result_.k_values))}, and the inertia falls with k whatever the points are: "
                "give the method a k, use best_of_k_[k], or set criterion before fit or in load"
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _check_one(self) -> None:
        """Refuse a long fit after which it would be open which model is meant."""
        ks = list(dict.fromkeys(k_list(self.n_clusters)))
        if self.criterion is None and len(ks) > 1:
            raise UsageError(
                f"[criterion] there will be models for k = {', '.join(map(str, ks))}, and this method gives what one "
                "of them says: set criterion, or fit first and give predict or transform a k"
            )

    def _centers_of(self, k: int | None) -> npt.NDArray[Any]:
        return self._fitted_centers() if k is None else self.result_.best(k).cluster_centers

    def _with_best_of(self, k: int | None) -> EnsembleKMeans:
        """Return this ensemble with the best model of k instead of the best of all."""
        check_is_fitted(self)
        if k is None:
            return self
        other = copy.copy(self)
        other.cluster_centers_ = self.result_.best(k).cluster_centers
        return other

    def predict(self, X: Any, k: int | None = None, *, out: Any = None) -> Any:
        """Label points by the nearest centre of the best model, ties to the lowest index.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points.
        k : int, default=None
            Take the best model of this number of clusters; None: `best_`.
        out : array of shape (n_samples,), default=None
            int32, as in `KMeans.predict`.

        Returns
        -------
        labels : array of shape (n_samples,)
            int32, as in `KMeans.predict`.

        """
        check_is_fitted(self)
        return self._predict(X, self._centers_of(k), out)

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
        self._check_one()
        self.fit(X, sample_weight=sample_weight)
        return self.labels_

    def transform(self, X: Any, k: int | None = None, *, out: Any = None) -> Any:
        """Give the Euclidean distances of all points to all centres of the best model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points.
        k : int, default=None
            Take the best model of this number of clusters; None: `best_`.
        out : array of shape (n_samples, k), default=None
            Of the type of the result, as in `KMeans.predict`.

        Returns
        -------
        X_new : array of shape (n_samples, k)
            float64 where points or centres are, else float32. It lies where the labels of `predict` would.

        """
        return self._transform(X, self._centers_of(k), out)

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
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
        self._check_one()
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
            Take the best model of this number of clusters; None: `best_`.

        Returns
        -------
        score : float
            Minus the weighted sum of squared distances to the nearest centre.

        """
        check_is_fitted(self)
        return self._score(X, sample_weight, self._centers_of(k))

    def summary(self, X: Any = None, sample_weight: Any = None, k: int | None = None, *, profile: Any = None) -> Any:
        """Describe the clusters of the best model in the units of the points.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), default=None
            Points; by default the points of the fit: 64 MiB or less, others as long as the program keeps them.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights.
        k : int, default=None
            Take the best model of this number of clusters; None: `best_`.
        profile : frame, Series, array or dict, default=None
            Other columns of the same rows.

        Returns
        -------
        summary : pandas.DataFrame
            As `manymeans.summary` gives it.

        """
        check_is_fitted(self)
        return (self.best_ if k is None else self.result_.best(k)).summary(X, sample_weight, profile=profile)

    def _profile(self, X: Any, sample_weight: Any) -> Profile:
        check_is_fitted(self)
        return self.best_._profile(X, sample_weight)

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[Any]:
        """Give the names of the columns that `transform` makes of the best model.

        Parameters
        ----------
        input_features : Ignored
            There by convention.

        Returns
        -------
        names : ndarray of str
            ``ensemblekmeans0`` and so on.

        Raises
        ------
        UsageError
            For models of several numbers of clusters where `criterion` chose none. It is an AttributeError, too.

        """
        self._fitted_centers()  # says so where it is not clear which model that is
        names: npt.NDArray[Any] = super().get_feature_names_out(input_features)
        return names

    def consensus(
        self,
        k: int,
        X: Any = None,
        *,
        method: str = "centroids",
        fits: int = 10,
        pairs: int = 100_000,
        seed: Any = 0,
    ) -> Consensus:
        """Find the clusters on which the models agree: each row gets the one for which most of them vote.

        Parameters
        ----------
        k : int
            Clusters of the consensus. Models may have more or fewer.
        X : array-like of shape (n_samples, n_features), default=None
            Points to label. By default the points of the fit, unless the ensemble was loaded from a file.
        method : {"centroids", "matched"}, default="centroids"
            As in `manymeans.consensus`.
        fits : int, default=10
            Fits of the centres; the fit of min inertia counts.
        pairs : int, default=100_000
            Pairs of rows by which models are compared; 0: none.
        seed : int or numpy.random.RandomState, default=0
            Seed of the fits and of the pairs.

        Returns
        -------
        consensus : Consensus
            Labels, how many models agree on each, and how alike the models are.

        """
        check_is_fitted(self)
        return consensus(
            self, k, X, method=method, fits=fits, pairs=pairs, seed=seed, backend=self.backend, n_threads=self.n_threads
        )

    def to_frame(self) -> Any:
        """Give a pandas DataFrame with one row for each model.

        Returns
        -------
        frame : pandas.DataFrame
            Columns k, k_requested, replica, seed, init, inertia, n_iter, stop_reason, seconds, digest, best.

        """
        check_is_fitted(self)
        return self._fitted_result().to_frame()

    @classmethod
    def load(cls, path: str | bytes | os.PathLike[Any], criterion: Criterion | None = None) -> EnsembleKMeans:
        """Read a model file that `save` or ``manymeans fit --model`` has written.

        Parameters
        ----------
        path : str, bytes or path-like
            A ``.npz``.
        criterion : "inertia", callable or None, default=None
            How `best_` is chosen where the file holds models of several numbers of clusters. With None it is not
            chosen, as in the class.

        Returns
        -------
        estimator : EnsembleKMeans
            Fitted, without `labels_`.

        """
        result = FitResult.load(path)._of_kind(linear=False)
        options = result.provenance["options"]
        estimator = cls(
            options["k"], models_per_k=options["models"], max_iter=max(1, options["max_iter"]), tol=options["tol"],
            criterion=criterion,
        )  # fmt: skip
        estimator._take_metric(result.metric)
        estimator._keep_all(result)
        _describe_input(estimator, result)
        return estimator


def _for_any_k(wrapped: Callable[..., Any]) -> Callable[..., Any]:
    """Let set_output, which has wrapped this method, name the columns of the model that is used."""

    @functools.wraps(wrapped)
    def transform(self: EnsembleKMeans, X: Any, k: int | None = None, *, out: Any = None) -> Any:
        return wrapped(self._with_best_of(k), X, out=out)

    return transform


EnsembleKMeans.transform = _for_any_k(EnsembleKMeans.transform)  # type: ignore[method-assign]
