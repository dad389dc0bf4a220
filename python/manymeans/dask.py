"""Estimators on dask arrays and dataframes, wherever their partitions are: one answer, equal to one machine's.

A pass is a pure function of every partition, so the scheduler's own retries survive the loss of a worker. They cost
time, and no bit of the answer. See docs/user/devices.md.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import dask
import dask.array as da
import numpy as np
import numpy.typing as npt
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from . import _ensemble, _kmeans, _manymeans
from ._base import INITS, at_least
from ._consensus import Consensus
from ._declaring import parameter, parameters
from ._errors import BadDataError, UsageError
from ._functions import run_fit_shards
from ._imports import importing
from ._initial import initial_models
from ._input import Points, aligned, plain_numbers, plain_points
from ._labelling import as_measured, is_scaled, predict_points, scaled, transform_points
from ._outside import UNSCALED, Ranges, warn_of_outside
from ._result import FitResult
from ._shards import Shard
from ._sklearn import checks_parameters

__all__ = ["EnsembleKMeans", "KMeans", "Partitions"]

_FAN_IN = 8  # answers that are merged at a time
_AT_ONCE = 16  # workers that are asked past the scheduler's queue, and whose answers are merged in one place
_LOOK_EVERY = 0.5  # seconds between looks whether the workers that are asked still have their shards


class Partitions:
    """The rows of a dask collection as shards, which live on the workers.

    `ask` is what `manymeans.fit_shards` calls. The scheduler keeps only the shards between two questions, each where it
    was made. If a worker is lost, its shards are made again from their partitions.

    Parameters
    ----------
    X : dask.array.Array of shape (n_samples, n_features), or dask.dataframe.DataFrame
        Points. Chunks may have any number of rows, also unknown ones; chunks of several columns are joined.
    sample_weight : array-like or dask collection of shape (n_samples,), optional
        Weights. A dask collection has the partitions of `X`, or known chunks.
    n_threads : int, default=1
        Threads of a task: dask runs as many tasks at a time as its workers have threads.
    backend, algorithm : str, default="auto"
        As in `Shard`.

    Attributes
    ----------
    lengths : list of int
        Rows of each partition.

    """

    def __init__(
        self,
        X: Any,
        sample_weight: Any = None,
        *,
        n_threads: int | None = None,
        backend: str = "auto",
        algorithm: str = "auto",
    ) -> None:
        """Send the rows to the workers, count them, and make shards of them."""
        X = _tall(X)
        blocks = _blocks_of(X)
        # Checked and kept before anybody counts them, so that nothing is read twice.
        points = dask.persist(*[dask.delayed(_Rows, pure=False)(block) for block in blocks])
        self.lengths: list[int] = list(dask.compute(*[dask.delayed(len)(part) for part in points]))
        firsts = [sum(self.lengths[:i]) for i in range(len(self.lengths))]
        options = {"n_threads": 1 if n_threads is None else n_threads, "backend": backend, "algorithm": algorithm}
        weights = _weights_of(sample_weight, self.lengths)
        self._shards: Sequence[Any] = dask.persist(
            *[
                dask.delayed(_shard_of, pure=False)(*of_part, options)
                for of_part in zip(points, weights, firsts, strict=True)
            ]
        )
        self._futures = _futures_of(self._shards)

    def ask(self, question: bytes) -> bytes:
        """Give what the answers of all partitions merge to."""
        if self._futures:
            return self._ask_workers(question)
        shared = dask.delayed(question, traverse=False)  # sent once
        answers = [dask.delayed(_answer, pure=False)(shard, shared) for shard in self._shards]
        while len(answers) > _FAN_IN:
            answers = [
                dask.delayed(_merged, pure=False)(answers[i : i + _FAN_IN]) for i in range(0, len(answers), _FAN_IN)
            ]
        # The last ones are merged here, which saves a round trip.
        return _merged(dask.compute(*answers, optimize_graph=False))

    def _ask_workers(self, question: bytes) -> bytes:
        """Do the same where a distributed scheduler has the shards.

        The workers with shards are called at once, past the scheduler's queue, and merge their own answers. This takes
        5 ms instead of 20. If a worker is gone, or anything else is wrong, tasks ask again. Then the scheduler makes
        shards anew where it likes, and reports the error if that does not help.
        """
        client = self._futures[0].client
        answers = client.sync(self._answers_of_workers, client, question)
        if answers:
            return _merged(answers)
        tasks = client.map(_answer, self._futures, question=question, pure=False)
        while len(tasks) > _FAN_IN:
            tasks = [client.submit(_merged, tasks[i : i + _FAN_IN], pure=False) for i in range(0, len(tasks), _FAN_IN)]
        return _merged(client.gather(tasks))

    async def _answers_of_workers(self, client: Any, question: bytes) -> list[bytes]:
        """Give an answer of each worker, nothing if one of them has none.

        A call to a worker that has gone tries to connect until it times out. So the call is given up when the scheduler
        has noticed that the worker's shards are elsewhere.
        """
        places = await self._places_of_shards(client)
        if not 0 < len(places) <= _AT_ONCE:
            return []
        asked = client.run(_answer_here, _answer, places, question, workers=list(places), on_error="return")
        answering = asyncio.ensure_future(asked)
        while not (await asyncio.wait({answering}, timeout=_LOOK_EVERY))[0]:
            if await self._places_of_shards(client) != places:
                answering.cancel()
                return []
        answers = list(answering.result().values())
        return answers if all(isinstance(answer, bytes) for answer in answers) else []

    async def _places_of_shards(self, client: Any) -> dict[str, list[Any]]:
        """Give the keys of the shards on each worker, nothing as long as some are nowhere."""
        places: dict[str, list[Any]] = {}
        who_has = await client.who_has(self._futures)
        for future in self._futures:
            workers = who_has.get(future.key, ())
            if not workers:
                return {}
            places.setdefault(min(workers), []).append(future.key)
        return places


def _futures_of(persisted: Sequence[Any]) -> list[Any]:
    """Give the futures of what a distributed scheduler keeps, none where another one does the work.

    Nor in a task, which has a thread of its worker: `dask.compute` gives that back while it waits.
    """
    try:
        with importing:
            from distributed import futures_of, get_worker
    except ImportError:
        return []
    try:
        get_worker()
    except ValueError:
        pass
    else:
        return []
    return [future for kept in persisted for future in futures_of(kept)]  # type: ignore[no-untyped-call]


class _Rows:
    """The points of a partition as the library reads them."""

    def __init__(self, block: Any) -> None:
        self.points = plain_points(block, empty=True)

    def __len__(self) -> int:
        return int(self.points.array.shape[0])

    def __sizeof__(self) -> int:
        return int(self.points.array.nbytes)


def _shard_of(rows: _Rows, weights: Any, first_row: int, options: dict[str, Any]) -> Shard:
    if weights is not None and hasattr(weights, "to_numpy"):
        weights = weights.to_numpy()
    return Shard(rows.points.numbers, weights, first_row, **options)


def _answer(shard: Shard, question: bytes) -> bytes:
    return shard.answer(question)


async def _answer_here(
    answer: Callable[[Shard, bytes], bytes], places: dict[str, list[Any]], question: bytes, dask_worker: Any = None
) -> bytes:
    """Give what this worker's shards answer, by the threads that run its tasks."""
    shards = [dask_worker.data[key] for key in places[dask_worker.address]]
    loop, threads = asyncio.get_running_loop(), dask_worker.executors["default"]
    return _merged(await asyncio.gather(*[loop.run_in_executor(threads, answer, shard, question) for shard in shards]))


def _merged(answers: Sequence[bytes]) -> bytes:
    first, *others = answers
    for other in others:
        first = _manymeans.merge_answers(first, other)
    return first


def _is_frame(X: Any) -> bool:
    return hasattr(X, "map_partitions") and not isinstance(X, da.Array)


def is_dask(X: Any) -> bool:
    """Return whether this is a dask collection of rows."""
    return isinstance(X, da.Array) or (_is_frame(X) and dask.is_dask_collection(X))


def _tall(X: Any) -> Any:
    """Check the dimensions; join chunks of several columns."""
    if not is_dask(X):
        raise UsageError(
            f"[X] is a {type(X).__name__}; a dask array or dataframe is right (dask.array.from_array, from_delayed), "
            "and manymeans.KMeans for what one process holds"
        )
    if len(X.shape if isinstance(X, da.Array) else getattr(X, "shape", (0, 0))) != 2:
        raise BadDataError("X has the wrong number of dimensions; rows and columns are needed")
    if isinstance(X, da.Array):
        if X.shape[1] < 1:
            raise BadDataError(f"X has the shape {X.shape}; at least one column is needed")
        if X.numblocks[1] > 1:
            return X.rechunk({1: -1})
    return X


def _blocks_of(X: Any) -> list[Any]:
    """Give a delayed object for each partition."""
    blocks = X.to_delayed()
    return list(blocks.ravel()) if isinstance(blocks, np.ndarray) else list(blocks)


def _weights_of(weights: Any, lengths: list[int]) -> list[Any]:
    """Give the weights of each partition, None for none."""
    if weights is None:
        return [None] * len(lengths)
    if isinstance(weights, da.Array):
        if weights.ndim != 1:
            raise BadDataError(f"sample_weight has {weights.ndim} dimensions; one weight for each row is right")
        if not np.isnan(weights.shape[0]):
            _check_weights(weights.shape[0], lengths)
            weights = weights.rechunk((tuple(lengths),))
    if dask.is_dask_collection(weights):
        blocks = _blocks_of(weights)
        if len(blocks) != len(lengths):
            raise UsageError(
                f"[sample_weight] has {len(blocks)} partitions, X has {len(lengths)}; give it those of X, or chunks of "
                "known sizes (compute_chunk_sizes)"
            )
        return blocks
    array = plain_numbers(weights, "sample_weight").astype(np.float64)
    if array.ndim == 0:
        return [float(array)] * len(lengths)
    if array.ndim != 1:
        raise BadDataError(f"sample_weight has the shape {array.shape}; one weight for each row is right")
    _check_weights(array.shape[0], lengths)
    return np.split(array, np.cumsum(lengths)[:-1])


def _check_weights(count: int, lengths: list[int]) -> None:
    if count != sum(lengths):
        raise BadDataError(f"sample_weight has {count} weights; one for each of the {sum(lengths)} rows is right")


# --- what becomes of each partition by a fitted model -----------------------------------------------------------------


class _Fitted(NamedTuple):
    """What workers need of a fitted model."""

    centers: npt.NDArray[Any]
    metric: str
    scaling: dict[str, Any] = UNSCALED
    ranges: Ranges | None = None

    def __reduce__(self) -> Any:
        return _received, tuple(self)

    def measured(self, block: Any, n_threads: int) -> Points:
        """Give the rows of a partition as the models measure them."""
        points = plain_points(block, empty=True)
        if points.array.shape[0] == 0:
            return points
        warn_of_outside(points, self.ranges, self.scaling)
        return as_measured(scaled(points, self.scaling, n_threads), self.metric, self.centers, n_threads)


def _received(*values: Any) -> _Fitted:
    return _Fitted(*aligned(values))


def _labels_of_block(block: Any, fitted: _Fitted, n_threads: int) -> npt.NDArray[np.int32]:
    points, centers = fitted.measured(block, n_threads), fitted.centers
    if points.array.shape[0] == 0:
        return np.empty(0, dtype=np.int32)
    labels, _, _ = predict_points(points, centers, _manymeans.Predictor(centers), n_threads=n_threads)
    found: npt.NDArray[np.int32] = labels.astype(np.int32)
    return found


def _distances_of_block(block: Any, fitted: _Fitted, n_threads: int) -> npt.NDArray[Any]:
    points, centers = fitted.measured(block, n_threads), fitted.centers
    if points.array.shape[0] == 0:
        return np.empty((0, len(centers)), dtype=np.float64 if points.wide else centers.dtype)
    found: npt.NDArray[Any] = transform_points(points, centers, _manymeans.Predictor(centers), n_threads=n_threads)
    return found


def _measured_block(block: Any, fitted: _Fitted, n_threads: int) -> npt.NDArray[Any]:
    array: npt.NDArray[Any] = fitted.measured(block, n_threads).array
    return array


def _labels(X: Any, fitted: _Fitted, n_threads: int | None) -> da.Array:
    """Give labels in the chunks of X."""
    threads = 1 if n_threads is None else n_threads
    array = X.to_dask_array() if _is_frame(X) else X
    return array.map_blocks(_labels_of_block, fitted, threads, dtype=np.int32, drop_axis=1, meta=np.empty(0, np.int32))


def _distances(X: Any, fitted: _Fitted, n_threads: int | None) -> da.Array:
    threads = 1 if n_threads is None else n_threads
    array = X.to_dask_array() if _is_frame(X) else X
    dtype = np.float64 if np.float64 in (array.dtype, fitted.centers.dtype) else np.float32
    return array.map_blocks(
        _distances_of_block, fitted, threads, dtype=dtype, chunks=(array.chunks[0], (len(fitted.centers),)),
        meta=np.empty((0, 0), dtype),
    )  # fmt: skip


_INIT = '``"k-means||"`` asks the workers 13 questions, ``"k-means++"`` four for each centre. No callable.'
_N_THREADS = "Threads of a task; None: one, since dask runs as many tasks at a time as a worker has threads."


# --- estimators -----------------------------------------------------------------------------------------------------


class _OnDask:
    """The work of the two estimators for dask collections; other data go to the classes of one process."""

    init: Any
    metric: str
    n_threads: int | None
    backend: str
    algorithm: str
    n_features_in_: int
    feature_names_in_: npt.NDArray[Any]

    def _fit_partitions(self, X: Any, sample_weight: Any, options: dict[str, Any]) -> FitResult:
        algorithm = "auto" if self.algorithm in ("lloyd", "elkan") else self.algorithm
        names = [str(name) for name in X.columns] if _is_frame(X) else None
        initial = None if isinstance(self.init, str) else initial_models(self.init, names, self.metric)
        for size in ("min_size", "max_size"):
            if getattr(self, size):
                raise UsageError(f"[{size}] needs all rows in one process; manymeans.{type(self).__name__} has them")
        partitions = Partitions(X, sample_weight, n_threads=self.n_threads, backend=self.backend, algorithm=algorithm)
        options = options | {"backend": None}
        options = options | {"init": self.init} if initial is None else initial.in_options(options)
        result = run_fit_shards(partitions.ask, options, initial=initial and initial.rows, names=names, **self._shown())  # type: ignore[attr-defined]
        self.n_features_in_ = result.models[0].cluster_centers.shape[1]
        self.__dict__.pop("feature_names_in_", None)
        if names is not None and all(isinstance(name, str) for name in X.columns):
            self.feature_names_in_ = np.asarray(names, dtype=object)
        return result

    def _fitted(self, centers: npt.NDArray[Any]) -> _Fitted:
        result: FitResult | None = getattr(self, "result_", None)
        if result is None:
            return _Fitted(centers, self.metric)
        return _Fitted(centers, self.metric, result.scaling, result._ranges)

    def _checked(self, X: Any) -> Any:
        """Check that the columns are the columns of the fit."""
        X = _tall(X)
        columns = X.shape[1] if isinstance(X, da.Array) else len(X.columns)
        if columns != self.n_features_in_:
            raise BadDataError(
                f"X has {columns} features, but {type(self).__name__} was fitted to {self.n_features_in_}"
            )
        fitted = getattr(self, "feature_names_in_", None)
        if _is_frame(X) and fitted is not None and list(X.columns) != list(fitted):
            raise BadDataError(f"X has the columns {list(X.columns)}; the fit had {list(fitted)}")
        return X

    def _dask_score(self, X: Any, sample_weight: Any, centers: npt.NDArray[Any]) -> float:
        """Give the inertia of a pass."""
        X, fitted = self._checked(X), self._fitted(centers)
        if centers.dtype == np.float64:
            X = X.astype(np.float64)
        if fitted.metric != "euclidean" or is_scaled(fitted.scaling):
            # Rows as they are measured: a fit by the metric would scale the centres once more, to other bits.
            X = X.to_dask_array() if _is_frame(X) else X
            X = X.map_blocks(_measured_block, fitted, self.n_threads or 1, dtype=centers.dtype)
        partitions = Partitions(X, sample_weight, n_threads=self.n_threads, backend=self.backend)
        options = {"k": [len(centers)], "models": 1, "max_iter": 0, "tol": 0.0, "stop": "strict", "empty": "keep"}
        result = run_fit_shards(partitions.ask, options, initial=np.ascontiguousarray(centers))
        return -result.models[0].inertia


@parameters
class KMeans(_OnDask, _kmeans.KMeans):
    """K-means of a dask array or dataframe: the answer of `manymeans.KMeans` of all rows in one process, to the bit.

    Attributes
    ----------
    labels_ : dask.array.Array of shape (n_samples,)
        int32, lazy, in the chunks of `X`.
    cluster_centers_, inertia_, n_iter_, answer_, result_, provenance_, n_features_in_, feature_names_in_
        As in `manymeans.KMeans`, in this process.

    Raises
    ------
    UsageError, BadDataError
        For parameters out of range, n_clusters above n_samples, and NaN and infinity (with the first row and column).
        For partitions of different types, and unless each row has one weight. ValueErrors.

    Notes
    -----
    `X` should be of a kind that dask can make again (files, `from_array`): what was scattered to a worker is lost with
    it. A fit asks three questions at first, one a pass, and three at the end. Each question is a round trip through the
    scheduler, and O(n_samples n_features n_clusters) work. This process holds O(n_features n_clusters), and 8 bytes a
    row where there are weights; a worker holds its rows and about as much again.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from manymeans.dask import KMeans
    >>> X = np.array([[1, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]], dtype=np.float32)
    >>> kmeans = KMeans(n_clusters=2, random_state=0).fit(da.from_array(X, chunks=(2, 2)))
    >>> sorted(kmeans.cluster_centers_.tolist())
    [[1.0, 2.0], [10.0, 2.0]]
    >>> kmeans.labels_.chunks
    ((2, 2, 2),)

    """

    init: Any = parameter(
        default="k-means||", accepts=[StrOptions(set(INITS)), callable, "array-like"],
        type='{"k-means||", "k-means++", "random", "first", "auto"} or array-like', text=_INIT,
    )  # fmt: skip
    n_threads: int | None = parameter(default=None, accepts=[at_least(1), None], text=_N_THREADS)

    @checks_parameters
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KMeans:
        """Fit the model.

        Parameters
        ----------
        X : dask.array.Array or dask.dataframe.DataFrame of shape (n_samples, n_features)
            Points; see `Partitions`.
        y : Ignored
            There by convention.
        sample_weight : array-like or dask collection of shape (n_samples,), default=None
            Weights, 0 or larger; None: all equal.

        Returns
        -------
        self : KMeans
            The fitted estimator.

        """
        X = _tall(X)
        if callable(self.init):
            raise UsageError("[init] is a function, which would need all rows in one process; give a method or centres")
        if self.search or self.search_rounds is not None:
            raise UsageError("[search] a search needs all rows in one process; manymeans.KMeans has them")
        n_init = self._n_init = self._check_n_init()
        options = self._options() | {"k": [int(self.n_clusters)], "models": n_init}
        result = self._fit_partitions(X, sample_weight, options)
        best = result.best()
        self._keep(result, best)
        self.labels_ = _labels(X, _Fitted(best.cluster_centers, self.metric), self.n_threads)
        self.n_iter_ = best.n_iter + (best.stop_reason == "strict")
        self._warn(result.warnings)
        return self

    def predict(self, X: Any) -> Any:  # type: ignore[override]  # arrays of dask have no room
        """Label points by the nearest centre, ties to the lowest index: lazily, in the chunks of a dask `X`."""
        if not is_dask(X):
            return super().predict(X)
        check_is_fitted(self)
        return _labels(self._checked(X), self._fitted(self._fitted_centers()), self.n_threads)

    def transform(self, X: Any) -> Any:  # type: ignore[override]
        """Give the distances of all points to all centres: lazily, in the chunks of a dask `X`."""
        if not is_dask(X):
            return super().transform(X)
        check_is_fitted(self)
        return _distances(self._checked(X), self._fitted(self._fitted_centers()), self.n_threads)

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit the model and give the distances of its points to all centres, lazily."""
        return self.fit(X, sample_weight=sample_weight).transform(X)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Give the negative inertia of points; of a dask `X` it is computed now."""
        if not is_dask(X):
            return super().score(X, sample_weight=sample_weight)
        check_is_fitted(self)
        return self._dask_score(X, sample_weight, self._fitted_centers())


@parameters
class EnsembleKMeans(_OnDask, _ensemble.EnsembleKMeans):
    """Many k-means models of a dask array or dataframe: the answers of `manymeans.EnsembleKMeans`, to the bit.

    Attributes are as in `manymeans.EnsembleKMeans`, with the remarks of `manymeans.dask.KMeans`. All models share the
    questions of a pass.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from manymeans.dask import EnsembleKMeans
    >>> X = np.array([[1, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]], dtype=np.float32)
    >>> ensemble = EnsembleKMeans([1, 2], models_per_k=2, random_state=0).fit(da.from_array(X, chunks=(2, 2)))
    >>> [ensemble.best_of_k_[k].inertia for k in (1, 2)]
    [137.5, 16.0]

    """

    init: Any = parameter(
        default="k-means||", accepts=[StrOptions(set(INITS)), "array-like"],
        type='{"k-means||", "k-means++", "random", "first", "auto"} or array-like', text=_INIT,
    )  # fmt: skip
    n_threads: int | None = parameter(default=None, accepts=[at_least(1), None], text=_N_THREADS)

    @checks_parameters
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> EnsembleKMeans:
        """Fit all models; parameters as in `KMeans.fit`."""
        X = _tall(X)
        options = self._options() | {
            "k": self._ks(), "models": int(self.models_per_k),
        }  # fmt: skip
        result = self._fit_partitions(X, sample_weight, options)
        self._keep_all(result)
        if "best_" in vars(self):
            self.labels_ = _labels(X, _Fitted(self.best_.cluster_centers, self.metric), self.n_threads)
        self._warn(result.warnings)
        return self

    def search(self, X: Any, y: Any = None, sample_weight: Any = None, **options: Any) -> EnsembleKMeans:
        """Raise an error: a search needs all rows in one process."""
        raise UsageError("[search] a search needs all rows in one process; manymeans.EnsembleKMeans has them")

    def consensus(self, k: int, X: Any = None, **options: Any) -> Consensus:
        """Find the clusters on which the models agree, in rows of this process; parameters as in one process."""
        if X is None or is_dask(X):
            raise UsageError("[X] a consensus needs all rows in one process; give them as an array")
        return super().consensus(k, X, **options)

    def predict(self, X: Any, k: int | None = None) -> Any:  # type: ignore[override]
        """Label points by the best model: lazily, in the chunks of a dask `X`."""
        if not is_dask(X):
            return super().predict(X, k)
        check_is_fitted(self)
        return _labels(self._checked(X), self._fitted(self._centers_of(k)), self.n_threads)

    def transform(self, X: Any, k: int | None = None) -> Any:  # type: ignore[override]
        """Give the distances of all points to all centres of the best model: lazily."""
        if not is_dask(X):
            return super().transform(X, k)
        check_is_fitted(self)
        return _distances(self._checked(X), self._fitted(self._centers_of(k)), self.n_threads)

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit all models and give the distances of the points to all centres of the best, lazily."""
        self._check_one()
        return self.fit(X, sample_weight=sample_weight).transform(X)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None, k: int | None = None) -> float:
        """Give the negative inertia of points by the best model; of a dask `X` it is computed now."""
        if not is_dask(X):
            return super().score(X, sample_weight=sample_weight, k=k)
        check_is_fitted(self)
        return self._dask_score(X, sample_weight, self._centers_of(k))
