"""KMeans: scikit-learn's estimator on the library."""

from __future__ import annotations

import os
import time
import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from ._base import (
    CLUSTERING_CONSTRAINTS,
    INITS,
    SHARED_CONSTRAINTS,
    _BaseEstimator,
    _Clusterer,
    clustering_options,
    initial_of,
    warn_of_few,
    warn_of_weights,
)
from ._functions import run_fit
from ._input import Points, in_order
from ._profile import Remembered
from ._progress import Callback
from ._result import Criterion, FitResult


class KMeans(_Clusterer):
    """K-means clustering: a drop-in for `sklearn.cluster.KMeans` that gives the same bits on every machine.

    Every parameter, attribute and method of scikit-learn's class is here, with its meaning. The answer is a function
    of the points, the weights, the parameters and the seed: never of the number of threads, the instruction set or the
    backend.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    init : {"k-means++", "random", "k-means||", "first", "auto"}, callable or array-like, default="k-means++"
        Initial centres: a method, an array of shape (n_clusters, n_features), or a callable that gets `X`,
        `n_clusters` and `random_state` and returns such an array.
    n_init : "auto" or int, default="auto"
        Models to fit from different seeds, of which the best is kept. ``"auto"``: 10 for ``"random"`` or a callable,
        else 1.
    max_iter : int, default=300
        Most iterations of a model.
    tol : float, default=1e-4
        Stop when the squared shift of all centres is at most `tol` times the mean variance of the columns.
    verbose : int, default=0
        Other than 0: print a line for every iteration, and how the models ended.
    random_state : int, RandomState instance or None, default=None
        Seed. An int is the seed of the command line's ``--seed`` too; ``RandomState(s)`` gives at first what s gives.
        None draws one from NumPy's global generator.
    copy_x : bool, default=True
        Without effect: `X` is never written to.
    algorithm : {"lloyd", "elkan", "auto", "matrix", "bounds", "kdtree", "brute"}, default="lloyd"
        How labels are found. Never changes the answer; scikit-learn's two names mean ``"auto"``.
    stop : str, default="tol"
        Comma-separated stop rules beside "no label changed": ``tol``, ``labels:F``, ``shift:E[:P]``, ``inertia:R``,
        ``error:E``.
    empty : {"farthest", "keep", "drop", "error"}, default="farthest"
        What happens to a cluster without points.
    metric : {"euclidean", "cosine"}, default="euclidean"
        ``"cosine"``: rows and centres are scaled to length one (spherical k-means), here and in `predict`; no row may
        be all zeros.
    min_size, max_size : int or None, default=None
        Fewest and most rows of a cluster; None: any number. Rows are assigned at the least total cost that the sizes
        allow; `predict` gives the nearest centre all the same.
    backend : str, default="auto"
        Where to compute: see `manymeans.info`. Never changes the answer.
    n_threads : int or None, default=None
        Threads; None: all that are usable, within threadpoolctl's limit and OMP_NUM_THREADS. Never changes the answer.
    time_limit : float or None, default=None
        Seconds; the fit stops after the pass during which they are used up and keeps what there is: at least the first
        model, after one pass.
    progress : bool, default=False
        Show a progress bar (of tqdm, where that is installed).
    callback : callable or None, default=None
        Gets a `manymeans.Progress` after every pass; the fit stops when it returns something false other than None,
        and keeps what there is.
    search : bool or float, default=False
        Search for the model of lowest inertia before the fit: for so many seconds, 3 for True. See `manymeans.search`.
    search_rounds : int or None, default=None
        Search for so many rounds instead, which gives the same model again on every machine.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        float64 for float64 points, else float32.
    labels_ : ndarray of shape (n_samples,)
        int32; ties go to the lowest index.
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
    _parameter_constraints = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "init": [StrOptions(set(INITS)), callable, "array-like"],
        "n_init": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "copy_x": ["boolean"],
        "search": ["boolean", Interval(Real, 0, None, closed="neither")],
        "search_rounds": [None, Interval(Integral, 1, None, closed="left")],
        "algorithm": [StrOptions({"lloyd", "elkan", "auto", "matrix", "bounds", "kdtree", "brute"})],
        **CLUSTERING_CONSTRAINTS,
        **SHARED_CONSTRAINTS,
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Any = "k-means++",
        n_init: int | str = "auto",
        max_iter: int = 300,
        tol: float = 1e-4,
        verbose: int = 0,
        random_state: Any = None,
        copy_x: bool = True,
        algorithm: str = "lloyd",
        stop: str = "tol",
        empty: str = "farthest",
        metric: str = "euclidean",
        min_size: int | None = None,
        max_size: int | None = None,
        backend: str = "auto",
        n_threads: int | None = None,
        time_limit: float | None = None,
        progress: bool = False,
        callback: Callback | None = None,
        search: bool | float = False,
        search_rounds: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose
        self.random_state = random_state
        self.copy_x = copy_x
        self.algorithm = algorithm
        self.stop = stop
        self.empty = empty
        self.metric = metric
        self.min_size = min_size
        self.max_size = max_size
        self.backend = backend
        self.n_threads = n_threads
        self.time_limit = time_limit
        self.progress = progress
        self.callback = callback
        self.search = search
        self.search_rounds = search_rounds

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KMeans:
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points. C-contiguous arrays (memory maps too) of float32, float64, float16, uint8 and int8, tensors
            (also of CUDA devices, where built with CUDA) and single-chunk Arrow columns are read in place; all else,
            also Fortran order and strides, is copied once. A sparse matrix is never made dense: CSR of float32 or
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
        weights = self._weights(sample_weight, points)
        n_init = self._n_init = self._check_n_init()
        if self.algorithm == "elkan" and self.n_clusters == 1:
            warnings.warn(
                "algorithm='elkan' doesn't make sense for a single cluster. Using 'lloyd' instead.",
                RuntimeWarning,
                stacklevel=2,
            )
        result = self._fit_all(points, weights, n_init)
        best = result.best()
        self._keep(result, best)
        self.n_iter_ = best.n_iter + (best.stop_reason == "strict")
        self._fitted_to = Remembered(X, sample_weight)
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
        options = self._options() | clustering_options(self)
        options |= {"k": [int(self.n_clusters)], "algorithm": algorithm}
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
        seconds = None if isinstance(self.search, (bool, np.bool_)) else float(self.search)
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
    """Make one ensemble of fits from different initial centres; the provenance is that of the first."""
    first = results[0]
    for replica, other in enumerate(results[1:], 1):
        for model in other.models:
            model.replica = replica
        first.models += other.models
        first.warnings += other.warnings
        first.interrupted |= other.interrupted
    return first
