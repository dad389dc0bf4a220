"""KMeans: scikit-learn's estimator on the library."""

from __future__ import annotations

import os
import time
import warnings
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from ._base import (
    INITS,
    Clustering,
    _BaseEstimator,
    _Clusterer,
    at_least,
    initial_of,
    warn_of_few,
    warn_of_weights,
)
from ._declaring import parameter, parameters
from ._functions import run_fit
from ._input import Points, in_order
from ._parameters import real
from ._profile import Remembered
from ._result import Criterion, FitResult
from ._sklearn import checks_parameters


@parameters
class KMeans(Clustering, _Clusterer):
    """K-means clustering: a drop-in for `sklearn.cluster.KMeans` that gives the same bits on every machine.

    Every parameter, attribute and method of scikit-learn's class is here, with its meaning. The answer is a function
    of the points, the weights, the parameters and the seed: never of the number of threads, the instruction set or the
    backend.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        float64 for float64 points, else float32.
    labels_ : ndarray of shape (n_samples,)
        int32; ties go to the lowest index. Cluster 0 is the largest, unless `init` gave the centres.
    inertia_ : float
        Weighted sum of squared distances to the nearest centre, exact to about 1e-12 relative.
    n_iter_ : int
        Iterations, counted as scikit-learn does.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where all are strings.
    result_ : FitResult
        All `n_init` models; after pickling or copying the estimator the best one only.
    answer_ : str
        Digest of all models of the fit.
    provenance_ : dict
        Where the answer came from and what it cost.

    Raises
    ------
    ValueError
        For parameters out of range, n_clusters above n_samples, NaN, infinity, negative weights.
    KeyboardInterrupt
        On Ctrl-C, within about a second.

    See Also
    --------
    EnsembleKMeans : Many models, of several numbers of clusters, in one reading of the points per iteration.

    Examples
    --------
    >>> from manymeans import KMeans
    >>> import numpy as np
    >>> X = np.array([[1, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
    >>> kmeans = KMeans(n_clusters=2, random_state=0).fit(X)
    >>> sorted(kmeans.cluster_centers_.tolist())
    [[1.0, 2.0], [10.0, 2.0]]
    >>> bool(kmeans.predict([[0, 0]])[0] == kmeans.labels_[0])
    True

    """

    _keeps_sparse = True
    n_clusters: int = parameter(default=8, accepts=[at_least(1)], kw_only=False, text="Number of clusters.")
    init: Any = parameter(
        default="k-means++", accepts=[StrOptions(set(INITS)), callable, "array-like"],
        type='{"k-means++", "random", "k-means||", "first", "auto"}, callable or array-like',
        text="Initial centres: a method, an array of shape (n_clusters, n_features), or a callable that gets `X`, "
        "`n_clusters` and `random_state` and returns such an array.",
    )  # fmt: skip
    n_init: int | str = parameter(
        default="auto", accepts=[StrOptions({"auto"}), at_least(1)], type='"auto" or int',
        text="Models to fit from different seeds, of which the best is kept. ``\"auto\"``: 10 for ``\"random\"`` or a "
        "callable, else 1.",
    )  # fmt: skip
    copy_x: bool = parameter(default=True, accepts=["boolean"], text="Without effect: `X` is never written to.")
    algorithm: str = parameter(
        default="lloyd", accepts=[StrOptions({"lloyd", "elkan", "auto", "matrix", "bounds", "kdtree", "brute"})],
        type='{"lloyd", "elkan", "auto", "matrix", "bounds", "kdtree", "brute"}',
        text="How labels are found. Never changes the answer; scikit-learn's two names mean ``\"auto\"``.",
    )  # fmt: skip
    search: bool | float = parameter(
        default=False, accepts=["boolean", Interval(Real, 0, None, closed="neither")],
        text="Before the fit, search for the model of lowest inertia: seconds; True means 3. See "
        "`manymeans.search`.",
    )  # fmt: skip
    search_rounds: int | None = parameter(
        default=None, accepts=[None, at_least(1)],
        text="Number of rounds of the search, instead of seconds. It gives the same model again on every machine.",
    )  # fmt: skip

    @checks_parameters
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KMeans:
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points. Data that are read in place: C-contiguous arrays (memory maps too) of float32, float64, float16,
            uint8 and int8, tensors (also of CUDA devices, where built with CUDA) and single-chunk Arrow columns. All
            else, also Fortran order and strides, is copied once. A sparse matrix is never made dense: CSR of float32 or
            float64 is read in place, other ones become that.
        y : Ignored
            There by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights, 0 or larger; None: all equal.

        Returns
        -------
        self : KMeans
            The fitted estimator.

        """
        points = self._points(X, reset=True)
        if points.array.shape[0] < self.n_clusters:
            raise ValueError(f"n_samples={points.array.shape[0]} should be >= n_clusters={self.n_clusters}.")
        weights = self._weights(sample_weight, points, X)
        n_init = self._n_init = self._check_n_init()
        if self.algorithm == "elkan" and self.n_clusters == 1:
            warnings.warn(
                "algorithm='elkan' doesn't make sense for a single cluster. Using 'lloyd' instead.",
                RuntimeWarning,
                stacklevel=2,
            )
        result = self._fit_all(points, weights, n_init)
        best = result.best()
        self._keep(result, best, X)
        self.n_iter_ = best.n_iter + (best.stop_reason == "strict")
        self._fitted_to = result._remember(Remembered(X, sample_weight))
        warn_of_weights(result.warnings)
        warn_of_few(int(np.count_nonzero(best.counts)), self.n_clusters)
        return self

    def _check_n_init(self) -> int:
        by_array = not isinstance(self.init, str) and not callable(self.init)
        if self.n_init == "auto":
            return 10 if callable(self.init) or (isinstance(self.init, str) and self.init == "random") else 1
        if by_array and self.n_init != 1:
            warnings.warn(
                "Explicit initial center position passed: performing only one init in "
                f"{type(self).__name__} instead of n_init={self.n_init}.",
                RuntimeWarning,
                stacklevel=3,
            )
            return 1
        return int(self.n_init)

    def _fit_all(self, points: Points, weights: npt.NDArray[np.float64] | None, n_init: int) -> FitResult:
        algorithm = "auto" if self.algorithm in ("lloyd", "elkan") else self.algorithm
        options = self._options() | {"k": [int(self.n_clusters)], "algorithm": algorithm}
        if isinstance(self.init, str):
            return self._run(points, weights, options | {"init": self.init, "models": n_init})
        if not callable(self.init):
            return self._run(points, weights, options, self._initial(self.init, points))
        return self._fit_from_callable(points, weights, n_init, options)

    def _run(
        self,
        points: Points,
        weights: npt.NDArray[np.float64] | None,
        options: dict[str, Any],
        initial: npt.NDArray[Any] | None = None,
    ) -> FitResult:
        """Fit, or search and fit."""
        rounds = None if self.search_rounds is None else int(self.search_rounds)
        if rounds is None and isinstance(self.search, (bool, np.bool_)) and not self.search:
            return run_fit(points, weights, options, initial=initial, **self._shown())
        seconds = None if isinstance(self.search, (bool, np.bool_)) else real("search", self.search)
        options = options | {"search_time": seconds, "rounds": rounds}
        return run_fit(points, weights, options, initial=initial, search=True, **self._shown())

    def _fit_from_callable(
        self, points: Points, weights: npt.NDArray[np.float64] | None, n_init: int, options: dict[str, Any]
    ) -> FitResult:
        begin = time.monotonic()
        random = check_random_state(self.random_state)
        data, results = points.numbers, []
        for _ in range(n_init):
            initial = self._initial(self.init(data, self.n_clusters, random_state=random), points)
            if self.time_limit is not None:  # it is for all of them
                options["time_limit"] = max(1e-9, self.time_limit - (time.monotonic() - begin))
            results.append(self._run(points, weights, options, initial))
            if results[-1].interrupted:
                break
        return _joined(results)

    def _initial(self, centers: Any, points: Points) -> npt.NDArray[Any]:
        array = initial_of(in_order(centers, "init", points.names), np.float64 if points.wide else np.float32)
        if array.shape[0] != self.n_clusters:
            raise ValueError(
                f"The shape of the initial centers {array.shape} does not match the number of clusters "
                f"{self.n_clusters}."
            )
        if array.shape[1] != points.array.shape[1]:
            raise ValueError(
                f"The shape of the initial centers {array.shape} does not match the number of features of the data "
                f"{points.array.shape[1]}."
            )
        return array

    def __getstate__(self) -> Any:
        """Give what pickling keeps: of the models the best one, and the digest of all."""
        return self._state_of_best(dict(super().__getstate__()))

    @classmethod
    def load(
        cls, path: str | bytes | os.PathLike[Any], k: int | None = None, criterion: Criterion | None = None
    ) -> KMeans:
        """Read a model file that `save` or ``manymeans fit --model`` has written; the best of its models is taken.

        Parameters
        ----------
        path : str, bytes or path-like
            A ``.npz``.
        k : int, default=None
            The number of clusters; it or `criterion` is needed where the file holds models of several.
        criterion : "inertia" or callable, default=None
            How the model is chosen; see `FitResult.best`.

        Returns
        -------
        estimator : KMeans
            Fitted, without `labels_`.

        """
        result = FitResult.load(path)._of_kind(linear=False)
        best = result.best(k, criterion)
        options = result.provenance["options"]
        estimator = cls(best.k_requested, max_iter=max(1, options["max_iter"]), tol=options["tol"])
        estimator._take_metric(result.metric)
        estimator._keep(result, best)
        _describe_input(estimator, result)
        estimator.n_iter_ = best.n_iter + (best.stop_reason == "strict")
        return estimator


def _describe_input(estimator: _BaseEstimator, result: FitResult) -> None:
    """Tell what points a model file's models are for."""
    estimator.n_features_in_ = result.models[0].cluster_centers.shape[1]
    if result.column_names:
        estimator.feature_names_in_ = np.asarray(result.column_names, dtype=object)


def _joined(results: list[FitResult]) -> FitResult:
    """Make one ensemble of fits from different initial centres, with the provenance of the first fit."""
    first = results[0]
    for replica, other in enumerate(results[1:], 1):
        for model in other.models:
            model.replica = replica
        first.models += other.models
        first.warnings += other.warnings
        first.interrupted |= other.interrupted
    return first
