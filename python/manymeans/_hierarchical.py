"""HierarchicalKMeans: very many clusters by levels of fits."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from ._base import _Clusterer, at_least, hosted
from ._declaring import parameter, parameters
from ._errors import UsageError
from ._functions import checkpoint_of, run_tree
from ._labelling import walk_points
from ._parameters import integer
from ._placing import Result, Room, placed
from ._profile import Remembered
from ._sklearn import checks_parameters


@parameters
class HierarchicalKMeans(_Clusterer):
    """A tree of k-means: thousands to a million clusters in a fraction of the time of `KMeans`.

    A node is split by an exact fit of its rows, and its children get leaves in proportion to their rows or inertia. All
    splits of a level are one call of `manymeans.fit_each`. The leaves then begin a flat fit of all rows. Sizes of
    leaves may have hard bounds. This suits the lists of an index. The answer depends on the points, the weights, the
    parameters and the seed. It never depends on the number of threads, the instruction set or the backend.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The leaves; float64 for float64 points, else float32. Neighbours in the tree are neighbours here.
    labels_ : ndarray of shape (n_samples,)
        int32: the nearest leaf, ties to the lowest index; with sizes perhaps another one.
    inertia_ : float
        Weighted sum of squared distances to the centre of the row's own leaf.
    sizes_ : ndarray of shape (n_clusters,)
        Rows of each leaf.
    moved_ : int
        Rows whose leaf is not the nearest, since sizes have bounds.
    vectors_ : ndarray of shape (n_nodes, n_features)
        Centres of all nodes: the root, then level after level. The last `n_clusters` are the leaves.
    parents_ : ndarray of shape (n_nodes,)
        The parent of each node; -1 for the root.
    levels_ : ndarray of shape (n_nodes,)
        The level of each node; 0 for the root.
    level_inertias_ : ndarray of shape (n_levels,)
        Inertia of the splits of each level, before the flat fit; of the rows of `sample` from level 1 on.
    n_iter_ : int
        Iterations of the flat fit.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where all are strings.
    result_ : FitResult
        The leaves as one model; its provenance has `branching`, `quota`, `refine` and `sample`, too.
    answer_ : str
        Digest of all splits and the leaves: 32 hexadecimal digits, equal for equal answers, on every machine.

    Raises
    ------
    UsageError
        For `n_clusters` above `n_samples`, and for sizes that `n_clusters` leaves cannot have. A ValueError.
    BadDataError
        For NaN, infinity and negative weights. A ValueError.
    KeyboardInterrupt
        On Ctrl-C, within about a second. A `checkpoint` has what is done.

    See Also
    --------
    KMeans : A lower inertia, for fewer clusters.
    BisectingKMeans : Splits in two, one after the other.

    Notes
    -----
    A fit takes O(n_samples n_features (b levels max_iter + n_clusters refine)) time, with ``b ** levels = n_clusters``.
    It holds a copy of the rows, and 12 bytes for each.

    References
    ----------
    D. Nister, H. Stewenius: Scalable Recognition with a Vocabulary Tree. CVPR 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from manymeans import HierarchicalKMeans
    >>> X = np.random.default_rng(0).random((5000, 8), dtype=np.float32)
    >>> tree = HierarchicalKMeans(n_clusters=100, max_size=70, random_state=0).fit(X)
    >>> tree.vectors_.shape, np.bincount(tree.levels_).tolist(), int(tree.sizes_.max()) <= 70
    ((111, 8), [1, 10, 100], True)

    """

    n_clusters: int = parameter(default=8, accepts=[at_least(1)], kw_only=False, text="Number of leaves.")
    branching: int | str = parameter(
        default="auto", accepts=[StrOptions({"auto"}), at_least(2)], type='"auto" or int',
        text="Children of a node where clusters are of similar sizes. ``\"auto\"``: two levels, or three above 65,536 "
        "leaves.",
    )  # fmt: skip
    quota: str = parameter(
        default="rows", accepts=[StrOptions({"rows", "inertia"})], option=True, type='{"rows", "inertia"}',
        text="How children share the leaves of their node: by their rows or by their inertia. ``\"inertia\"``: small "
        "groups far from others get leaves of their own, and sizes differ more.",
    )  # fmt: skip
    max_size: int | None = parameter(
        default=None, accepts=[at_least(1), None], option=True,
        text="Max rows of a leaf: further rows go to the nearest leaf with room. `predict` gives the nearest leaf "
        "all the same.",
    )  # fmt: skip
    min_size: int | None = parameter(
        default=None, accepts=[at_least(0), None], option=True,
        text="Min rows of a leaf: smaller leaves take their nearest rows from others.",
    )  # fmt: skip
    refine: int = parameter(
        default=2, accepts=[at_least(0)], option=True, text="Iterations of the flat fit from the leaves."
    )
    sample: int | None = parameter(
        default=None, accepts=[at_least(1), None], option=True,
        text="Rows in the sample that makes the tree: those that ``init=\"random\"`` would choose as initial centres, "
        "without weights. None: all rows. The flat fit and `labels_` always have all rows.",
    )  # fmt: skip
    init: str = parameter(
        default="auto", accepts=[StrOptions({"auto", "k-means++", "k-means||", "random", "first"})], option=True,
        type='{"auto", "k-means++", "k-means||", "random", "first"}',
        text="How a split begins: see `manymeans.fit`. ``\"auto\"``: ``\"random\"`` above the last level.",
    )  # fmt: skip
    max_iter: int = parameter(default=5, accepts=[at_least(1)], option=True, text="Max iterations of a split.")
    metric: str = parameter(
        default="euclidean", accepts=[StrOptions({"euclidean", "cosine"})], option=True,
        type='{"euclidean", "cosine"}',
        text="``\"cosine\"``: rows and centres are scaled to length one (spherical k-means).",
    )  # fmt: skip
    checkpoint: str | bytes | os.PathLike[Any] | None = parameter(
        default=None, accepts=[str, bytes, os.PathLike, None], type="path-like",
        text="File in which `fit` writes down how far it is, also when it is stopped or fails. It stays there. No "
        "other file than a checkpoint is replaced, and two fits cannot share one.",
    )  # fmt: skip
    checkpoint_every: int = parameter(
        default=0, accepts=[at_least(0)],
        text="Iterations between two writes; 0: every ten seconds, or as seldom as it takes to cost less than 1 % of "
        "the time.",
    )  # fmt: skip
    resume: bool = parameter(
        default=False, accepts=["boolean"],
        text="Continue from `checkpoint`, if it exists, to the result of a fit without interruption. The points, the "
        "weights and all parameters must be the same, but for those that never change the answer. So `random_state` "
        "is a number.",
    )  # fmt: skip
    verbose: int = parameter(default=0, accepts=["verbose"], text="Other than 0: print a line for each level.")

    @checks_parameters
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> HierarchicalKMeans:
        """Fit the tree.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points; see `KMeans.fit` for what is read in place, points of a CUDA device included. Results are arrays of
            NumPy.
        y : Ignored
            There by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights, 0 or larger; None: all equal. Sizes count rows, and so does the quota ``"rows"``.

        Returns
        -------
        self : HierarchicalKMeans
            The fitted estimator.

        """
        points = self._points(X, reset=True)
        if points.array.shape[0] < self.n_clusters:
            raise UsageError(f"n_samples={points.array.shape[0]} should be >= n_clusters={self.n_clusters}.")
        if self.sample is not None and self.sample < self.n_clusters:
            raise UsageError(f"sample={self.sample} should be >= n_clusters={self.n_clusters}, or None for all rows.")
        weights = self._weights(sample_weight, points, X)
        options = self._options() | {"k": [int(self.n_clusters)]}
        if self.branching != "auto":
            options["branching"] = int(self.branching)
        saved = checkpoint_of((X, sample_weight), self.checkpoint, self.checkpoint_every, self.resume)
        result, tree = run_tree(points, weights, options, checkpoint=saved, n_threads=self.n_threads)
        best = result.best()
        self._keep(result, best, X)
        self.sizes_, self.moved_, self.n_iter_ = best.counts, tree["moved"], best.n_iter
        self.vectors_, self.parents_ = tree["vectors"], tree["parents"]
        self.levels_ = np.repeat(np.arange(len(tree["nodes"]), dtype=np.int32), tree["nodes"])
        self.level_inertias_ = tree["inertias"]
        self._fitted_to = Remembered(X, sample_weight)
        if self.verbose:
            for level, (nodes, inertia) in enumerate(zip(tree["nodes"], tree["inertias"], strict=True)):
                print(f"Level {level}: {nodes} nodes, inertia {inertia:g}")
            print(f"Leaves: inertia {self.inertia_:g} after {self.n_iter_} iterations")
        self._warn(result.warnings)
        return self

    def predict(self, X: Any, *, n_probe: int | None = None, out: Any = None) -> Any:
        """Label points by the nearest leaf, ties to the lowest index; with `n_probe` by a walk.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points; a walk makes a sparse matrix dense.
        n_probe : int, default=None
            On each level, a walk keeps the `n_probe` nearest of the nodes that it reaches, ties to the lowest index.
            It returns the nearest leaf below them, which need not be the nearest of all. With None, all leaves
            are compared. docs/user/trees.md says when a walk is faster.
        out : array of shape (n_samples,), default=None
            int32, of NumPy or CuPy, or a tensor of torch on a CUDA device: the labels are written there.

        Returns
        -------
        labels : array of shape (n_samples,)
            int32: `out`, or an array of NumPy.

        """
        if n_probe is None:
            return super().predict(X, out=out)
        points = hosted(self._test_points(X))
        tree = {"vectors": self.vectors_, "parents": self.parents_, "n_probe": integer("n_probe", n_probe, 1)}

        def labels(room: Room | None) -> Any:
            return walk_points(points, tree, n_threads=self.n_threads, backend=self.backend, room=room)

        return placed(X, Result((points.array.shape[0],), "int32", labels), self._output(), out)

    def to_faiss(self) -> npt.NDArray[np.float32]:
        """Give the leaves as the quantiser of ``faiss.IndexIVFFlat`` has them.

        ``quantizer.add(tree.to_faiss())`` adds them to a ``faiss.IndexFlatL2``. An index with `n_clusters` lists that
        is made with this quantiser is trained. docs/user/trees.md has the whole recipe.

        Returns
        -------
        centroids : ndarray of shape (n_clusters, n_features)
            float32.

        """
        check_is_fitted(self)
        return np.array(self.cluster_centers_, np.float32)
