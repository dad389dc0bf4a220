"""BisectingKMeans: clusters that are split in two, one after the other."""

from __future__ import annotations

import math
from collections.abc import Iterator
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from . import _manymeans
from ._base import _WithoutResult, at_least, hosted, initial_of, warn_of_few, warn_of_weights
from ._declaring import parameter, parameters
from ._functions import run_fit
from ._input import Points, in_order, restore
from ._labelling import PreparedCenters, matching, predict_points
from ._outside import ranges_of
from ._profile import Remembered
from ._result import FitResult
from ._sklearn import checks_parameters

# Distance of the seeds of two splits: any odd number would do, and this one has no pattern.
_SEED_STEP = 0x9E3779B97F4A7C15


class _Node:
    """A cluster: a leaf has a label and, during the fit, the rows that it holds; any other node has two parts."""

    def __init__(self, center: npt.NDArray[Any], rows: npt.NDArray[np.int64], score: float) -> None:
        self.center = center
        self.rows: npt.NDArray[np.int64] | None = rows
        self.score = score  # how much it wants to be split; below 0: it cannot be
        self.parts: tuple[_Node, _Node] | None = None
        self.label = -1

    def leaves(self) -> Iterator[_Node]:
        """Give the leaves from the left to the right. (No recursion: a tree may be as deep as there are clusters.)"""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            if node.parts is None:
                yield node
            else:
                waiting += reversed(node.parts)


class _Tree:
    """The splits of a fit, the parents before their children: arrays, which a pickle takes at any depth.

    Attributes
    ----------
    centers : ndarray of shape (n_splits, 2, n_features)
        Where the two parts of each split have their centres.
    parts : ndarray of shape (n_splits, 2)
        The split of each part, or, for what is a cluster, its label with all bits inverted: below 0.

    """

    def __init__(self, root: _Node) -> None:
        splits, centers, parts = [root] if root.parts else [], [], []
        for node in splits:  # which grows
            assert node.parts is not None
            centers.append([part.center for part in node.parts])
            found = []
            for part in node.parts:
                found.append(len(splits) if part.parts else ~part.label)
                if part.parts:
                    splits.append(part)
            parts.append(found)
        self.centers = np.array(centers)
        self.parts = np.array(parts, dtype=np.int64)

    def __setstate__(self, state: dict[str, Any]) -> None:
        restore(self, state)


@parameters
class BisectingKMeans(_WithoutResult):
    """Bisecting k-means: a drop-in for `sklearn.cluster.BisectingKMeans` that gives the same bits on every machine.

    All rows are one cluster at first. Then, until there are `n_clusters`, the cluster of the largest inertia (or of
    most rows) is split in two by a k-means fit of its own rows. The clusters form a tree, and `predict` goes down that
    tree. This suits many clusters, and a hierarchy of them. The inertia is a little higher than with `KMeans`.

    Every split is a fit of this package, so the answer depends on the points, the weights, the parameters and the seed.
    It never depends on the number of threads, the instruction set or the backend.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        float64 for float64 points, else float32. Neighbours in the tree are neighbours here.
    labels_ : ndarray of shape (n_samples,)
        int32.
    inertia_ : float
        Weighted sum of squared distances to the centre of the row's own cluster. (`score` takes the nearest centre,
        which may be another one: the tree is not asked there.)
    answer_ : str
        Digest of all splits: 32 hexadecimal digits, equal for equal answers, on every machine.
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
    KMeans : All clusters at once.

    Notes
    -----
    A split reads the rows of its cluster and has a copy of them, which the first one does not need. Time about
    O(n_samples n_features log(n_clusters)) iterations, where clusters are of similar sizes. Rows of equal values cannot
    be split: with fewer different rows than clusters, some clusters are empty, with a warning.

    Examples
    --------
    >>> from manymeans import BisectingKMeans
    >>> import numpy as np
    >>> X = np.array([[1, 1], [10, 1], [3, 1], [10, 0], [2, 1], [10, 2], [10, 8], [10, 9], [10, 10]])
    >>> bisecting = BisectingKMeans(n_clusters=3, random_state=0).fit(X)
    >>> sorted(bisecting.cluster_centers_.tolist())
    [[2.0, 1.0], [10.0, 1.0], [10.0, 9.0]]

    """

    n_clusters: int = parameter(default=8, accepts=[at_least(1)], kw_only=False, text="Number of clusters.")
    init: Any = parameter(
        default="random", accepts=[StrOptions({"k-means++", "random", "k-means||", "first"}), callable],
        type='{"k-means++", "random", "k-means||", "first"} or callable',
        text="How the two centres of a split begin; a callable gets the rows of the cluster, 2 and `random_state`.",
    )  # fmt: skip
    n_init: int = parameter(
        default=1, accepts=[at_least(1)], text="Fits of a split, from different seeds, of which the best is kept."
    )
    max_iter: int = parameter(default=300, accepts=[at_least(1)], text="Max iterations of a split.")
    verbose: int = parameter(default=0, accepts=["verbose"], text="Other than 0: print a line for every split.")
    tol: float = parameter(
        default=1e-4, accepts=[Interval(Real, 0, None, closed="left")],
        text="A split ends when the squared shift of its centres is at most `tol` times the mean variance of the "
        "columns of the rows that it splits. (scikit-learn compares with `tol` itself.)",
    )  # fmt: skip
    copy_x: bool = parameter(default=True, accepts=["boolean"], text="Without effect: `X` is never written to.")
    algorithm: str = parameter(
        default="lloyd", accepts=[StrOptions({"lloyd", "elkan", "auto", "matrix", "bounds", "kdtree", "brute"})],
        type='{"lloyd", "elkan", "auto", "matrix", "bounds", "kdtree", "brute"}',
        text="How labels are found. Never changes the answer; scikit-learn's two names mean ``\"auto\"``.",
    )  # fmt: skip
    bisecting_strategy: str = parameter(
        default="biggest_inertia", accepts=[StrOptions({"biggest_inertia", "largest_cluster"})],
        type='{"biggest_inertia", "largest_cluster"}',
        text="Which cluster is split next: that of the largest inertia, or of most rows. Of equals it is the first.",
    )  # fmt: skip

    @checks_parameters
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> BisectingKMeans:
        """Split the points into clusters.

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
        self : BisectingKMeans
            The fitted estimator.

        """
        points = hosted(self._points(X, reset=True))
        n = points.array.shape[0]
        if n < self.n_clusters:
            raise ValueError(f"n_samples={n} should be >= n_clusters={self.n_clusters}.")
        weights = self._weights(sample_weight, points, X)
        splits = _Splits(self, points, weights)
        root = splits.grow()
        self._keep_tree(root, splits, n)
        self._ranges = ranges_of(points)
        self._fitted_to = Remembered(X, sample_weight)
        warn_of_few(len(np.unique(self.labels_)), self.n_clusters)
        return self

    def _keep_tree(self, root: _Node, splits: _Splits, n: int) -> None:
        leaves = list(root.leaves())
        self.cluster_centers_ = np.array([leaf.center for leaf in leaves])
        self.labels_ = np.empty(n, dtype=np.int32)
        self.inertia_ = math.fsum(splits.inertia(leaf) for leaf in leaves)
        for label, leaf in enumerate(leaves):
            assert leaf.rows is not None
            self.labels_[leaf.rows] = leaf.label = label
            leaf.rows = None
        self._tree = _Tree(root)
        self._prepared = PreparedCenters()
        self._answer = _manymeans.combined_digest(splits.digests)

    def predict(self, X: Any) -> npt.NDArray[np.int32]:  # type: ignore[override]  # of NumPy
        """Label points by going down the tree: at every split to the nearer of its two centres, ties to the left.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            int32; the points of the fit get the labels of the fit.

        """
        check_is_fitted(self)
        points = matching(hosted(self._test_points(X)), self.cluster_centers_)
        labels = np.zeros(points.array.shape[0], dtype=np.int32)
        waiting: list[tuple[int, npt.NDArray[np.int64] | None]] = [(0, None)] if len(self._tree.parts) else []
        while waiting:
            split, rows = waiting.pop()
            found, _, _ = self._assign(_rows_of(points, rows), self._tree.centers[split])
            for side, part in enumerate(self._tree.parts[split].tolist()):
                chosen = np.flatnonzero(found == side)
                chosen = chosen if rows is None else rows[chosen]
                if part < 0:
                    labels[chosen] = ~part
                elif len(chosen) > 0:
                    waiting.append((part, chosen))
        return labels

    def _assign(self, points: Points, centers: npt.NDArray[Any], **wanted: Any) -> Any:
        predictor = _manymeans.Predictor(centers)
        return predict_points(points, centers, predictor, n_threads=self.n_threads, backend=self.backend, **wanted)


class _Splits:
    """The common data of the splits of one fit."""

    def __init__(self, estimator: BisectingKMeans, points: Points, weights: npt.NDArray[np.float64] | None) -> None:
        self._estimator = estimator
        self._points = points
        self._weights = weights
        self._random = check_random_state(estimator.random_state) if callable(estimator.init) else None
        self._seed = estimator._seed()
        self.digests: list[str] = []

    def grow(self) -> _Node:
        estimator = self._estimator
        everything = np.arange(self._points.array.shape[0])
        if estimator.n_clusters == 1:
            found = self._fit(self._points, self._weights, 1).best()
            self.digests.append(found.digest)
            return _Node(found.cluster_centers[0], everything, 0)
        root = _Node(np.empty(0), everything, 0)  # nobody asks for its centre
        for number in range(1, estimator.n_clusters):
            node = self._next(root)
            self._split(node)
            if estimator.verbose:
                assert node.parts is not None
                sizes = " and ".join(str(len(part.rows)) for part in node.parts if part.rows is not None)
                print(f"Bisection {number} of {estimator.n_clusters - 1}: {sizes} rows")
        return root

    def _next(self, root: _Node) -> _Node:
        """Give the leaf to split: one with different rows, as long as there is one."""
        leaves = list(root.leaves())
        while True:
            node = max(leaves, key=lambda leaf: leaf.score)  # the first of equals
            if node.score < 0 or self._can_be_split(node):
                return node
            node.score = -1.0

    def _can_be_split(self, node: _Node) -> bool:
        rows = node.rows
        assert rows is not None
        if self._weights is not None:
            rows = rows[self._weights[rows] > 0]
        if len(rows) < 2:
            return False
        array = self._points.array
        first = array[rows[0]]
        step = 1 << 14  # nearly always the first few rows differ already
        return any(bool((array[rows[i : i + step]] != first).any()) for i in range(0, len(rows), step))

    def _split(self, node: _Node) -> None:
        rows, node.rows = node.rows, None
        assert rows is not None
        if node.score < 0:  # only equal rows are left: an empty cluster, as KMeans has them
            center = node.center
            if len(center) == 0:
                center = self._fit(self._points, self._weights, 1).best().cluster_centers[0]
            node.parts = _Node(center, rows, -1.0), _Node(center, rows[:0], -1.0)
            return
        weights = None if self._weights is None else self._weights[rows]
        whole = len(rows) == self._points.array.shape[0]
        best = self._fit(self._points if whole else _rows_of(self._points, rows), weights, 2).best()
        self.digests.append(best.digest)
        assert best.labels is not None
        left, right = (_Node(best.cluster_centers[side], rows[best.labels == side], 0.0) for side in (0, 1))
        for part in (left, right):
            part.score = self._score(part)
        node.parts = left, right

    def _score(self, node: _Node) -> float:
        assert node.rows is not None
        if self._estimator.bisecting_strategy == "biggest_inertia":
            return self.inertia(node)
        return float(len(node.rows))

    def inertia(self, node: _Node) -> float:
        """Give the inertia of a leaf."""
        rows = node.rows
        assert rows is not None
        weights = None if self._weights is None else self._weights[rows]
        if len(rows) == 0 or (weights is not None and not weights.any()):
            return 0.0
        _, _, inertia = self._estimator._assign(
            _rows_of(self._points, rows), node.center[None, :], inertia=True, weights=weights
        )
        return float(inertia)

    def _fit(self, points: Points, weights: npt.NDArray[np.float64] | None, k: int) -> FitResult:
        estimator = self._estimator
        algorithm = "auto" if estimator.algorithm in ("lloyd", "elkan") else estimator.algorithm
        options = {
            "k": [k], "max_iter": int(estimator.max_iter), "tol": float(estimator.tol), "algorithm": algorithm,
            "backend": estimator.backend, "seed": (self._seed + len(self.digests) * _SEED_STEP) % 2**64,
        }  # fmt: skip
        if not callable(estimator.init):
            options |= {"init": estimator.init, "models": int(estimator.n_init)}
            result = run_fit(points, weights, options, n_threads=estimator.n_threads)
            if points is self._points:
                warn_of_weights(result.warnings)
            return result
        found = [
            run_fit(points, weights, options, initial=self._called(points, k), n_threads=estimator.n_threads)
            for _ in range(estimator.n_init)
        ]
        return min(found, key=lambda result: result.best().inertia)

    def _called(self, points: Points, k: int) -> npt.NDArray[Any]:
        given = self._estimator.init(points.numbers, k, random_state=self._random)
        centers = initial_of(in_order(given, "init", points.names), np.float64 if points.wide else np.float32)
        expected = (k, points.array.shape[1])
        if centers.shape != expected:
            raise ValueError(f"init gave centers of shape {centers.shape} for a split; {expected} is right")
        return centers


def _rows_of(points: Points, rows: npt.NDArray[np.int64] | None) -> Points:
    return points if rows is None else points._replace(array=points.array[rows], source=None)
