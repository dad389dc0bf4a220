"""MiniBatchKMeans: centres that move with a sample of the rows at a time."""

from __future__ import annotations

import math
import warnings
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from . import _manymeans, _threads
from ._base import _WithoutResult, at_least, hosted, initial_of
from ._declaring import parameter, parameters
from ._input import Points, in_order
from ._labelling import PreparedCenters, predict_points
from ._outside import ranges_of
from ._profile import NOTHING, Remembered, check_finite, check_weights, moments
from ._seeds import seed_of
from ._sklearn import checks_parameters
from ._tables import naming


@parameters
class MiniBatchKMeans(_WithoutResult):
    """Mini-batch k-means: a drop-in for `sklearn.cluster.MiniBatchKMeans`.

    Every step takes a sample of the rows, labels them, and moves each centre to the mean of all rows that it was ever
    given. This suits points that come one by one (`partial_fit`), and a good answer after a part of a pass. If all
    points exist and a minute is available, `KMeans` finds a lower inertia, often in the same time.

    Equal points, weights, parameters and seed give equal bits with any number of threads, on any backend and
    instruction set. The library computes labels and inertia, and ``RandomState`` the random numbers. The sums of a
    batch are added in one order, row after row, in float64. The answer is **not** part of the library's contract ("one
    answer"): it has no digest, no other implementation has to give it, and another release may sample otherwise. It
    also depends on how the points are cut into batches: `partial_fit` of two halves is not a `fit` of the whole.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        float64 for float64 points, else float32.
    labels_ : ndarray of shape (n_samples,)
        int32, with `compute_labels`: of the rows of the last `fit` or `partial_fit`.
    inertia_ : float
        Weighted sum of squared distances of the rows to the nearest centre. Without `compute_labels` it is an estimate
        by the batches of `fit`.
    n_iter_ : int
        Passes over as many rows as there are, the last one begun.
    n_steps_ : int
        Batches that were processed.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where all are strings.

    Raises
    ------
    ValueError
        For parameters out of range, n_clusters above n_samples, NaN, infinity, negative weights.

    See Also
    --------
    KMeans : All rows in every step.

    Notes
    -----
    `partial_fit` never renumbers clusters: the centre of number j has moved, or, where it was too light, was put on
    another row (``reassignment_ratio=0`` forbids that). In `fit` a row is drawn with a probability of its weight; in
    `partial_fit` it counts as much as its weight, as in scikit-learn.

    Examples
    --------
    >>> from manymeans import MiniBatchKMeans
    >>> import numpy as np
    >>> X = np.array([[1.0, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
    >>> online = MiniBatchKMeans(n_clusters=2, random_state=0)
    >>> for batch in (X[[0, 3, 1]], X[[2, 4, 5]]):
    ...     online = online.partial_fit(batch)
    >>> sorted(online.cluster_centers_.tolist())
    [[1.0, 2.0], [10.0, 2.0]]

    """

    n_clusters: int = parameter(default=8, accepts=[at_least(1)], kw_only=False, text="Number of clusters.")
    init: Any = parameter(
        default="k-means++",
        accepts=[StrOptions({"k-means++", "random", "k-means||", "first"}), callable, "array-like"],
        type='{"k-means++", "random", "k-means||", "first"}, callable or array-like',
        text="Initial centres: a method (of `init_size` rows, in `fit`), an array of shape (n_clusters, n_features), "
        "or a callable that gets rows, `n_clusters` and `random_state`.",
    )  # fmt: skip
    max_iter: int = parameter(default=100, accepts=[at_least(1)], text="Max passes over the rows.")
    batch_size: int = parameter(default=1024, accepts=[at_least(1)], text="Rows of a step of `fit`.")
    verbose: int = parameter(
        default=0, accepts=["verbose"], text="Other than 0: print a line for every step, and why the fit stopped."
    )
    compute_labels: bool = parameter(
        default=True, accepts=["boolean"], text="Label all rows at the end, and compute their inertia."
    )
    random_state: Any = parameter(
        default=None, accepts=["random_state"], type="int, RandomState instance or None",
        text="Seed of the initial centres, the batches and the reassignments.",
    )  # fmt: skip
    tol: float = parameter(
        default=0.0, accepts=[Interval(Real, 0, None, closed="left")],
        text="Stop when the squared shift of all centres in a step is at most `tol` times the mean variance of the "
        "columns; 0: never.",
    )  # fmt: skip
    max_no_improvement: int | None = parameter(
        default=10, accepts=[at_least(0), None],
        text="Stop after this number of steps in a row without a better smoothed inertia; None: never.",
    )  # fmt: skip
    init_size: int | None = parameter(
        default=None, accepts=[at_least(1), None],
        text="Rows of which initial centres are chosen; None: three batches, or three rows for each cluster.",
    )  # fmt: skip
    n_init: int | str = parameter(
        default="auto", accepts=[StrOptions({"auto"}), at_least(1)], type='"auto" or int',
        text="Choices of initial centres, of which the best on one sample is kept (of the first batch of "
        "`partial_fit`, too). ``\"auto\"``: 3 for ``\"random\"`` or a callable, else 1.",
    )  # fmt: skip
    reassignment_ratio: float = parameter(
        default=0.01, accepts=[Interval(Real, 0, 1, closed="both")],
        text="A centre that has less than this share of the weight of the heaviest moves to a random row of the batch.",
    )  # fmt: skip

    # --- fitting ------------------------------------------------------------------------------------------------

    @checks_parameters
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> MiniBatchKMeans:
        """Fit centres by batches that are drawn from the rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points; see `KMeans.fit` for what is read in place. Points of a device are copied to the host's memory.
        y : Ignored
            There by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights, 0 or larger; None: all equal.

        Returns
        -------
        self : MiniBatchKMeans
            The fitted estimator.

        """
        points, weights = self._checked(X, sample_weight, reset=True)
        self._check_against(points)
        self._random_state = random = check_random_state(self.random_state)
        n = points.array.shape[0]
        self.cluster_centers_ = self._best_initial(points, weights, random)
        self._begin()
        self._ranges = ranges_of(points)
        draw = _Draw(n, weights, random)
        watch = _Watch(self, points, n)
        rows = np.empty((self._batch_size, points.array.shape[1]), dtype=points.array.dtype)  # of every batch
        batch = Points(rows, points.bfloat16)
        with naming(points.names, None):
            for step in range(1, watch.n_steps + 1):
                np.take(points.array, draw(self._batch_size), axis=0, out=rows, mode="clip")
                before = self.cluster_centers_
                inertia = self._step(batch, None)
                if watch.has_converged(step, inertia, before):
                    break
        self.n_steps_ = step
        self.n_iter_ = math.ceil(step * self._batch_size / n)
        self._label(points, weights)
        if not self.compute_labels:
            whole = float(n) if weights is None else float(weights.sum())
            self.inertia_ = (0.0 if watch.smoothed is None else watch.smoothed) * whole
        self._fitted_to = Remembered(X, sample_weight) if self.compute_labels else NOTHING
        return self

    @checks_parameters
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> MiniBatchKMeans:
        """Move the centres by one batch; the first batch gives the initial centres, too.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows of the batch.
        y : Ignored
            There by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each row counts; None: 1 each.

        Returns
        -------
        self : MiniBatchKMeans
            The fitted estimator.

        """
        begun = hasattr(self, "cluster_centers_")
        points, weights = self._checked(X, sample_weight, reset=not begun)
        if not hasattr(self, "_random_state"):
            self._random_state = check_random_state(self.random_state)
        if not begun:
            self._check_against(points)
            self.cluster_centers_ = self._best_initial(points, weights, self._random_state)
        if not hasattr(self, "_counts"):
            self._begin()
            self.n_steps_ = 0
            self._ranges = None
        self._widen_ranges(points)
        if points.wide and self.cluster_centers_.dtype != np.float64:
            self.cluster_centers_ = self.cluster_centers_.astype(np.float64)  # a batch of float64 loses nothing
        self._step(points, weights)
        self.n_steps_ += 1
        self._fitted_to = Remembered(X, sample_weight) if self.compute_labels else NOTHING
        self._label(points, weights)
        return self

    def _widen_ranges(self, batch: Points) -> None:
        minimum, maximum, rows = ranges_of(batch)
        if self._ranges is not None:
            minimum, maximum = np.minimum(minimum, self._ranges[0]), np.maximum(maximum, self._ranges[1])
            rows += self._ranges[2]
        self._ranges = minimum, maximum, rows

    def _checked(self, X: Any, sample_weight: Any, *, reset: bool) -> tuple[Points, npt.NDArray[np.float64] | None]:
        points = hosted(self._points(X, reset=reset))
        check_finite(points)
        weights = self._weights(sample_weight, points, X)
        if weights is not None:
            check_weights(weights)
            if (weights == weights[0]).all() and weights[0] == 1:
                weights = None
        return points, weights

    def _check_against(self, points: Points) -> None:
        n = points.array.shape[0]
        if n < self.n_clusters:
            raise ValueError(f"n_samples={n} should be >= n_clusters={self.n_clusters}.")
        by_array = not isinstance(self.init, str) and not callable(self.init)
        self._n_init = 3 if callable(self.init) or (isinstance(self.init, str) and self.init == "random") else 1
        if self.n_init != "auto":
            self._n_init = int(self.n_init)
        if by_array and self._n_init != 1:
            warnings.warn(
                "Explicit initial center position passed: performing only one init in "
                f"{type(self).__name__} instead of n_init={self._n_init}.",
                RuntimeWarning,
                stacklevel=4,
            )
            self._n_init = 1
        self._batch_size = min(int(self.batch_size), n)
        size = 3 * self._batch_size if self.init_size is None else int(self.init_size)
        if size < self.n_clusters:
            if self.init_size is not None:
                warnings.warn(
                    f"init_size={size} should be larger than n_clusters={self.n_clusters}. Setting it to "
                    "min(3*n_clusters, n_samples)",
                    RuntimeWarning,
                    stacklevel=4,
                )
            size = 3 * self.n_clusters
        self._init_size = min(size, n)

    def _begin(self) -> None:
        self._counts = np.zeros(self.n_clusters)
        self._n_since_last_reassign = 0

    def _best_initial(
        self, points: Points, weights: npt.NDArray[np.float64] | None, random: np.random.RandomState
    ) -> npt.NDArray[Any]:
        """Choose centres of a sample several times, and keep the centres with the lowest inertia on another sample."""
        if self._n_init == 1:
            return self._initial(points, weights, random)
        n = points.array.shape[0]
        validation = random.randint(0, n, self._init_size)
        sample, sample_weights = _chosen(points, weights, validation)
        best, least = None, math.inf
        for number in range(self._n_init):
            centers = self._initial(points, weights, random)
            _, inertia = self._assigned(sample, sample_weights, centers)
            if self.verbose:
                print(f"Inertia for init {number + 1}/{self._n_init}: {inertia}")
            if best is None or inertia < least:
                best, least = centers, inertia
        assert best is not None
        return best

    def _initial(
        self, points: Points, weights: npt.NDArray[np.float64] | None, random: np.random.RandomState
    ) -> npt.NDArray[Any]:
        dtype = np.float64 if points.wide else np.float32
        n, d = points.array.shape
        if isinstance(self.init, str):
            if self._init_size < n:
                points, weights = _chosen(points, weights, random.randint(0, n, self._init_size))
            if weights is not None and not weights.any():
                weights = None  # of a few rows of many
            options = {
                "k": [int(self.n_clusters)], "init": self.init, "seed": seed_of(random), "backend": self.backend,
                "threads": _threads.effective(self.n_threads),
            }  # fmt: skip
            return _manymeans.initialise(points.array, points.bfloat16, weights, options)[0].astype(dtype, copy=False)
        given = self.init(points.numbers, self.n_clusters, random_state=random) if callable(self.init) else self.init
        centers = initial_of(in_order(given, "init", points.names), dtype, copy=True)
        for place, (what, right) in enumerate(
            (("number of clusters", self.n_clusters), ("number of features of the data", d))
        ):
            if centers.shape[place] != right:
                raise ValueError(f"The shape of the initial centers {centers.shape} does not match the {what} {right}.")
        return centers

    # --- a step -------------------------------------------------------------------------------------------------

    def _step(self, batch: Points, weights: npt.NDArray[np.float64] | None) -> float:
        """Move the centres by a batch, and give its inertia before that."""
        centers = self.cluster_centers_
        labels, inertia = self._assigned(batch, weights, centers)
        mass, sums = _sums_of(batch, weights, labels, self.n_clusters)
        counts = self._counts + mass
        moved = mass > 0
        new = centers.copy()
        before = centers[moved].astype(np.float64) * self._counts[moved, None]
        new[moved] = (before + sums[moved]) / counts[moved, None]
        self._counts = counts
        if self._is_time_to_reassign(batch.array.shape[0]):
            self._reassign(batch, new)
        self.cluster_centers_ = new
        return inertia

    def _is_time_to_reassign(self, rows: int) -> bool:
        self._n_since_last_reassign += rows
        if (self._counts == 0).any() or self._n_since_last_reassign >= 10 * self.n_clusters:
            self._n_since_last_reassign = 0
            return True
        return False

    def _reassign(self, batch: Points, centers: npt.NDArray[Any]) -> None:
        """Move centres of little weight to rows of the batch, at most half as many as it has."""
        light = self._counts < self.reassignment_ratio * self._counts.max()
        most = int(0.5 * batch.array.shape[0])
        if light.sum() > most:
            light[np.argsort(self._counts, kind="stable")[most:]] = False
        if not light.any():
            return
        rows = self._random_state.choice(batch.array.shape[0], replace=False, size=int(light.sum()))
        if self.verbose:
            print(f"[MiniBatchKMeans] Reassigning {len(rows)} cluster centers.")
        centers[light] = _chosen(batch, None, rows)[0].numbers
        self._counts[light] = self._counts[~light].min()  # not too light, else they would move again at once

    def _assigned(
        self, points: Points, weights: npt.NDArray[np.float64] | None, centers: npt.NDArray[Any]
    ) -> tuple[npt.NDArray[Any], float]:
        """Give labels, and the inertia by the distances: the library's own takes longer than such a step."""
        labels, distances, _ = predict_points(
            points, centers, self._predictor_of(centers), n_threads=self.n_threads, backend=self.backend,
            distances=True,
        )  # fmt: skip
        assert distances is not None
        squares = distances * distances
        return labels, _total(squares if weights is None else squares * weights)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Give the negative inertia of points: on the points of the fit exactly ``-inertia_``.

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
        score : float
            Minus the weighted sum of squared distances to the nearest centre.

        """
        points = self._test_points(X)
        return -self._assigned(points, self._weights(sample_weight, points, X), self._fitted_centers())[1]

    def _label(self, points: Points, weights: npt.NDArray[np.float64] | None) -> None:
        self._prepared = PreparedCenters()
        if self.compute_labels:
            labels, self.inertia_ = self._assigned(points, weights, self.cluster_centers_)
            self.labels_ = labels.astype(np.int32)


class _Draw:
    """Draws rows with replacement, each with a probability of its weight."""

    def __init__(self, n: int, weights: npt.NDArray[np.float64] | None, random: np.random.RandomState) -> None:
        self._n, self._random = n, random
        self._up_to = None if weights is None else np.cumsum(weights / weights.max())

    def __call__(self, size: int) -> npt.NDArray[np.int64]:
        if self._up_to is None:
            return self._random.randint(0, self._n, size)
        found = np.searchsorted(self._up_to, self._random.random_sample(size) * self._up_to[-1], side="right")
        rows: npt.NDArray[np.int64] = np.minimum(found, self._n - 1)
        return rows


class _Watch:
    """Decides when the batches are enough, as scikit-learn does."""

    def __init__(self, estimator: MiniBatchKMeans, points: Points, n: int) -> None:
        self._estimator = estimator
        self._batch = estimator._batch_size
        self._alpha = min(1.0, self._batch * 2.0 / (n + 1))
        self._tol = estimator.tol * float(moments(points)[1].mean()) if estimator.tol > 0 else 0.0
        self._least: float | None = None
        self._without_improvement = 0
        self.n_steps = max(1, estimator.max_iter * n // self._batch)
        self.smoothed: float | None = None

    def has_converged(self, step: int, inertia: float, before: npt.NDArray[Any]) -> bool:
        reason = self._reason(step, inertia / self._batch, before)
        if self._estimator.verbose:
            at = f"step {step}/{self.n_steps}"
            smoothed = "" if self.smoothed is None else f", ewa inertia: {self.smoothed}"
            print(f"Minibatch {at}: mean batch inertia: {inertia / self._batch}{smoothed}")
            if reason:
                print(f"Converged ({reason}) at {at}")
            elif step == self.n_steps:
                print(f"Stopped at {at}: max_iter is reached")
        return reason != ""

    def _reason(self, step: int, inertia: float, before: npt.NDArray[Any]) -> str:
        if step == 1:  # that of the initial centres
            return ""
        if self.smoothed is None:
            self.smoothed = inertia
        else:
            self.smoothed = self.smoothed * (1 - self._alpha) + inertia * self._alpha
        if self._tol > 0:
            shift = (self._estimator.cluster_centers_.astype(np.float64) - before) ** 2
            if math.fsum(shift.ravel().tolist()) <= self._tol:
                return "small centers change"
        if self._least is None or self.smoothed < self._least:
            self._least, self._without_improvement = self.smoothed, 0
        else:
            self._without_improvement += 1
        most = self._estimator.max_no_improvement
        return "lack of improvement in inertia" if most is not None and self._without_improvement >= most else ""


def _total(values: npt.NDArray[np.float64]) -> float:
    """Add in one order, on every machine; blocks keep the error small."""
    size = 1024
    values = np.pad(values, (0, -len(values) % size)).reshape(-1, size)
    return math.fsum(np.cumsum(values, axis=1)[:, -1].tolist())


def _chosen(
    points: Points, weights: npt.NDArray[np.float64] | None, rows: npt.NDArray[Any]
) -> tuple[Points, npt.NDArray[np.float64] | None]:
    chosen = points._replace(array=points.array[rows], source=None)
    return chosen, None if weights is None else weights[rows]


def _sums_of(
    batch: Points, weights: npt.NDArray[np.float64] | None, labels: npt.NDArray[Any], k: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the weight and the sum of the rows of each cluster, in float64, added in the order of the rows."""
    mass = np.bincount(labels, weights, minlength=k).astype(np.float64)
    rows = batch.numbers
    if rows.dtype not in (np.float32, np.float64):
        rows = rows.astype(np.float32)  # exact: all others are narrower
    return mass, _manymeans.batch_sums(rows, labels, weights, k)
