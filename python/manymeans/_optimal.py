"""The optimal clusters of numbers: k-means in one dimension, solved exactly."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import _manymeans, _threads
from ._errors import BadDataError, UsageError, warn
from ._functions import k_list
from ._input import array_of, plain_numbers, plain_points, refuse_files

_AUTO = range(1, 11)


class Optimal1d(NamedTuple):
    """What `optimal_1d` gives. The first axis, of length B, is left out if `values` had one dimension.

    Attributes
    ----------
    centers : ndarray of shape (B, k)
        The centres of each row, ascending: float64 for float64 values, else float32. NaN where a row has fewer clusters
        than another row.
    labels : ndarray of shape (B, n)
        The cluster of each value, from 0 for the smallest values, in the smallest unsigned type.
    inertia : ndarray of shape (B,), or float
        Weighted sum of squared distances to the centres.
    sizes : ndarray of shape (B, k)
        Values of each cluster.
    n_clusters : ndarray of shape (B,), or int
        Clusters of each row: k, or the number of distinct values of weight above zero if that is less.
    bic : ndarray of shape (B, number of k), or None
        The criterion of each k, if there are several. It is infinite if k is not below the number of distinct values.
    warnings : list of str
        Messages for the user.
    n_iter, stop_reason : ndarray of shape (B,) and list of str, or int and str
        Iterations and stop reason of the fit from these centres: 1 and ``"strict"``, unless rounding moves a value.
    digest : list of str, or str
        Of each row the 32 hexadecimal digits of ``fit(values[:, None], n_clusters, init=centers[:, None], tol=0)`` with
        the weights of the row.

    """

    centers: npt.NDArray[Any]
    labels: npt.NDArray[Any]
    inertia: Any
    sizes: npt.NDArray[np.int64]
    n_clusters: Any
    bic: npt.NDArray[np.float64] | None
    warnings: list[str]
    n_iter: Any
    stop_reason: Any
    digest: Any

    def __repr__(self) -> str:
        if self.labels.ndim == 1:
            return f"Optimal1d({self.n_clusters} clusters of {len(self.labels)} values, inertia={self.inertia:g})"
        rows, n = self.labels.shape
        return f"Optimal1d({rows} rows of {n} values, {self.centers.shape[1]} clusters)"


def optimal_1d(
    values: Any, k: int | str | Iterable[int] = 8, weights: Any = None, *, n_threads: int | None = None
) -> Optimal1d:
    """Find the k clusters of numbers with the lowest inertia that any k clusters can have.

    `fit` finds a local optimum; this is the global one, decided in exact arithmetic. A fit that begins with these
    centres keeps their bits. Rounding may move values that differ in their last bits only, and centres of values that
    are 1e100 times smaller than others; a warning says so. Rows of a matrix are problems of their own.

    Parameters
    ----------
    values : array-like of shape (n,) or (B, n)
        Numbers in a type that `fit` takes: arrays, lists, frames, or tensors of torch, CuPy and JAX.
    k : int, str or iterable of int, default=8
        Number of clusters. If there are several (``"2..10"``, ``[2, 4, 8]``), the lowest BIC chooses one for each row;
        `criteria` computes the same BIC. ``"auto"`` means 1 to 10, or to n.
    weights : array-like of shape (n,) or (B, n), optional
        Weights, at least 0: of all rows, or of each row. They are quantised as `fit` does.
    n_threads : int, optional
        Threads for the rows; by default all that are usable. Never changes the answer.

    Returns
    -------
    optimum : Optimal1d
        Centres, labels, inertia, sizes and digests. The optimum whose last cluster has most distinct values wins a
        tie. If that leaves several, the last but one decides, and so on.

    Raises
    ------
    UsageError
        For a `k` below 1 or above n.
    BadDataError
        For NaN, infinity, negative weights, and rows without values or weight.

    Notes
    -----
    The expected time is O(n log n) for each row and each k. Penalties for each part turn the problem into a shortest
    path: Aggarwal, Schieber and Tokuyama (1994), Finding a minimum-weight k-link path in graphs with the concave Monge
    property. Comparisons that rounding cannot decide are made with exact numbers. Many exact ties add O(k n log n) of
    these.

    Examples
    --------
    >>> import manymeans
    >>> optimum = manymeans.optimal_1d([1, 2, 10, 12, 11, 30], k=3)
    >>> optimum.centers.tolist(), optimum.labels.tolist()
    ([1.5, 11.0, 30.0], [0, 0, 1, 1, 1, 2])

    """
    refuse_files(values, "values")
    given = values if hasattr(values, "reshape") and hasattr(values, "shape") else array_of(values, "values")
    flat = len(given.shape) == 1
    if flat and given.shape[0] == 0:
        raise BadDataError("values is empty; at least one number is needed")
    points = plain_points(given.reshape((1, -1)) if flat else given, "values")
    n = points.array.shape[1]
    auto = isinstance(k, str) and k == "auto"
    asked = list(_AUTO)[:n] if auto else k_list(k)
    if n == 1 < points.array.shape[0] and (auto or max(asked, default=0) > 1):
        raise UsageError("[values] has rows of one value each: optimal_1d(values.ravel(), k) clusters a column")
    wanted = {"k": asked, "threads": _threads.effective(n_threads)}
    try:
        found = _manymeans.optimal_1d(points.array, points.bfloat16, _weights_of(weights, points.array.shape), wanted)
    except BadDataError as error:
        text = str(error).replace("[X]", "[values]").replace("[sample_weight]", "[weights]")
        raise BadDataError(text) from None
    for text in found["warnings"]:
        warn(text)
    rows = points.array.shape[0]
    answer = Optimal1d(
        centers=found["centers"], labels=found["labels"].reshape(rows, n), inertia=found["inertia"],
        sizes=found["sizes"].reshape(rows, -1), n_clusters=found["k"],
        bic=found["bic"].reshape(rows, -1) if len(asked) > 1 else None, warnings=found["warnings"],
        n_iter=found["n_iter"], stop_reason=found["stop_reasons"], digest=found["digests"],
    )  # fmt: skip
    if not flat:
        return answer
    return Optimal1d(
        answer.centers[0], answer.labels[0], float(answer.inertia[0]), answer.sizes[0], int(answer.n_clusters[0]),
        None if answer.bic is None else answer.bic[0], answer.warnings, int(answer.n_iter[0]), answer.stop_reason[0],
        answer.digest[0],
    )  # fmt: skip


def _weights_of(weights: Any, shape: tuple[int, int]) -> npt.NDArray[np.float64] | None:
    if weights is None:
        return None
    array = plain_numbers(weights, "weights")
    if array.shape not in (shape, shape[1:]):
        raise BadDataError(f"weights has the shape {array.shape}; {shape[1:]} or {shape} is right")
    return np.ascontiguousarray(array, dtype=np.float64).reshape(-1)
