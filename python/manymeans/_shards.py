"""Fits whose rows are spread over processes: what each says of its rows, and how that merges."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _manymeans, _threads
from ._errors import UsageError, warn
from ._functions import library_options, run_fit_shards
from ._initial import initial_models
from ._input import Points, plain_centers, plain_points, plain_weights, restore
from ._opening import weights_of
from ._parameters import check_callback, instance, integer, switch
from ._progress import Callback
from ._result import FitResult
from ._wording import shown

#: Asks all shards a question and gives what their answers merge to.
Ask = Callable[[bytes], bytes]


class Answer:
    """The answer of shards to one question. Answers add up, in any order, to the answer of one shard with all rows.

    Parameters
    ----------
    question, answer : bytes
        As they were made.

    Raises
    ------
    UsageError
        By ``+``, for answers to different questions, as of two fits, and for rows that are in both.

    """

    def __init__(self, question: bytes, answer: bytes) -> None:
        self._question: bytes = instance("question", question, bytes)
        self._answer: bytes = instance("answer", answer, bytes)

    def __add__(self, other: Answer) -> Any:
        if not isinstance(other, Answer):
            return NotImplemented
        return type(self)(self._question, _manymeans.merge_answers(self._answer, other._answer))

    def to_bytes(self) -> bytes:
        """Return bytes, from which `from_bytes` makes this again in another process.

        Returns
        -------
        data : bytes
            The question and the answer.

        """
        return len(self._question).to_bytes(8, "little") + self._question + self._answer

    @classmethod
    def from_bytes(cls, data: bytes) -> Any:
        """Make what `to_bytes` was called of.

        Parameters
        ----------
        data : bytes
            What it gave.

        Returns
        -------
        answer : Answer
            An object of this class. Bytes that are damaged are an error where the answer is used.

        """
        end = 8 + int.from_bytes(instance("data", data, bytes)[:8], "little")
        return cls(data[8:end], data[end:])

    def __reduce__(self) -> tuple[Any, tuple[bytes, bytes]]:
        return type(self), (self._question, self._answer)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__reduce__() == other.__reduce__()

    def __hash__(self) -> int:
        return hash(self._answer)


class Shape(Answer):
    """How many rows there are, of how many columns, and how large the weights."""


class Scan(Answer):
    """The range of the values of the columns, which turns sums into integers."""


class Statistics(Answer):
    """The labels of all rows, counted and summed, by the prototypes that `Shard.statistics` was given.

    The attributes are lists, one entry for each model. They, and `solve`, need the statistics of all rows, added up.

    Attributes
    ----------
    counts : list of ndarray of shape (k,)
        Rows per cluster.
    weights : list of ndarray of shape (k,)
        Weight per cluster.
    changed : list of int
        Rows that have another label than `previous` gave them; all rows where there was none.
    label_sum : list of int
        A number of 128 bits that two labellings of the same rows share only if they are equal.

    """

    def _read(self, name: str) -> list[Any]:
        return [model[name] for model in _manymeans.read_statistics(self._question, self._answer)]

    @property
    def counts(self) -> list[npt.NDArray[np.int64]]:
        """Rows per cluster."""
        return self._read("counts")

    @property
    def weights(self) -> list[npt.NDArray[np.float64]]:
        """Weight per cluster."""
        return self._read("weights")

    @property
    def changed(self) -> list[int]:
        """Rows that have another label than before."""
        return self._read("changed")

    @property
    def label_sum(self) -> list[int]:
        """Label sums."""
        return self._read("label_sum")


class Shard:
    """Neighbouring rows of a data set, wherever they are.

    Its answers are functions of its rows and the question alone, so any process that has the rows may answer, and
    answer again. Data for a fast next answer are kept, and not pickled.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features) or Dataset
        Points; there may be none. Points that the library can read are not copied, and must not be changed. A sparse
        matrix is made dense.
    sample_weight : array-like of shape (n_rows,), optional
        Weights, 0 or larger, by default the weights of a `Dataset`; for all shards or for none.
    first_row : int, default=0
        The number of rows in the shards before this one.
    n_threads : int, optional
        Threads; by default all that are usable. Never changes an answer.
    backend, algorithm : str, default="auto"
        Where and how to compute. They never change an answer.

    Attributes
    ----------
    n_rows, first_row : int
        Its rows are first_row, ..., first_row + n_rows - 1.

    Raises
    ------
    BadDataError
        For what is no table of numbers.

    Examples
    --------
    A loop of Lloyd's over two shards, as many processes might share it:

    >>> import functools, operator
    >>> import numpy as np
    >>> from manymeans import Shard, solve
    >>> X = np.array([[1, 1], [1, 2], [9, 9], [9, 8]], dtype=np.float32)
    >>> shards = [Shard(X[:3]), Shard(X[3:], first_row=3)]
    >>> merged = lambda answers: functools.reduce(operator.add, answers)
    >>> shape = merged(shard.shape() for shard in shards)
    >>> scan = merged(shard.scan(shape) for shard in shards)
    >>> centers, previous = [X[:2]], None
    >>> for _ in range(10):
    ...     statistics = merged(shard.statistics(scan, centers, previous) for shard in shards)
    ...     if statistics.changed == [0]:
    ...         break
    ...     centers, previous = solve(statistics), centers
    >>> centers[0].tolist()
    [[1.0, 1.5], [9.0, 8.5]]

    """

    def __init__(
        self,
        X: Any,
        sample_weight: Any = None,
        first_row: int = 0,
        *,
        n_threads: int | None = None,
        backend: str = "auto",
        algorithm: str = "auto",
    ) -> None:
        self._points: Points = plain_points(X, empty=True)
        self.n_rows: int = self._points.array.shape[0]
        self.first_row = integer("first_row", first_row, 0)
        self._weights = plain_weights(weights_of(X, sample_weight), self.n_rows, X)
        self._backend, self._algorithm, self._n_threads = backend, algorithm, n_threads
        self._open()

    def _open(self) -> None:
        options = {
            "first_row": self.first_row,
            "backend": self._backend,
            "algorithm": self._algorithm,
            "threads": _threads.effective(self._n_threads),
        }
        points = self._points
        self._shard = _manymeans.RowShard(points.array, points.bfloat16, self._weights, options)

    def __getstate__(self) -> dict[str, Any]:
        """Give the rows, and nothing that was kept for the next answer."""
        return {name: value for name, value in self.__dict__.items() if name != "_shard"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        restore(self, state)
        self._open()

    def __sizeof__(self) -> int:
        return int(self._points.array.nbytes) + (0 if self._weights is None else int(self._weights.nbytes))

    def answer(self, question: bytes) -> bytes:
        """Answer a question of `fit_shards`. O(n_rows n_features sum(k)), O(n_rows n_features) memory.

        Parameters
        ----------
        question : bytes
            The question that the function of `fit_shards` was given.

        Returns
        -------
        answer : bytes
            For `merge_answers`. Errors in the rows are part of it, so the first row counts, in any order of the
            answers.

        Raises
        ------
        BadDataError
            For bytes that are no question.
        OutOfMemoryError
            When there is not enough memory.

        """
        return self._shard.answer(instance("question", question, bytes))

    def shape(self) -> Shape:
        """Tell rows, columns and weights. O(n_rows).

        Returns
        -------
        shape : Shape
            To be added up over all shards.

        """
        question = _manymeans.shape_question()
        return Shape(question, self.answer(question))

    def scan(self, shape: Shape) -> Scan:
        """Read all values once. O(n_rows n_features).

        Parameters
        ----------
        shape : Shape
            The sum over all shards.

        Returns
        -------
        scan : Scan
            To be added up over all shards.

        Raises
        ------
        UsageError
            When rows are missing, or shards differ in columns, type or weights.

        """
        question = _manymeans.scan_question(instance("shape", shape, Shape)._answer)
        return Scan(question, self.answer(question))

    def statistics(self, scan: Scan, models: Iterable[Any], previous: Iterable[Any] | None = None) -> Statistics:
        """Label the rows by the nearest prototype and add them up. O(n_rows n_features sum(k)).

        Parameters
        ----------
        scan : Scan
            The sum over all shards.
        models : list of array-like of shape (k, n_features)
            Prototypes, of one model or of several. They are rounded to float64 for float64 points, else to float32.
        previous : list of array-like of shape (k, n_features), optional
            Prototypes of the pass before, which tell whose label changes.

        Returns
        -------
        statistics : Statistics
            To be added up over all shards. O(n_features sum(k)) bytes.

        Raises
        ------
        UsageError
            When rows are missing in `scan`, or prototypes have other columns.
        BadDataError
            With what is wrong with the values of the first row that cannot be used.

        """
        instance("scan", scan, Scan)
        names = self._points.names
        centers = [plain_centers(model, "models", names) for model in instance("models", models, Iterable)]
        past = () if previous is None else instance("previous", previous, Iterable)
        before = [plain_centers(model, "previous", names) for model in past]
        question = _manymeans.statistics_question(scan._question, scan._answer, centers, before)
        return Statistics(question, self.answer(question))


def solve(statistics: Statistics) -> list[npt.NDArray[Any]]:
    """Give the means of all clusters. A cluster that weighs nothing keeps its prototype. O(n_features sum(k)).

    Parameters
    ----------
    statistics : Statistics
        The sum over all shards.

    Returns
    -------
    centers : list of ndarray of shape (k, n_features)
        Of each model; float64 for float64 points, else float32.

    Raises
    ------
    UsageError
        When rows are missing.
    BadDataError
        With what is wrong with the values of the first row that cannot be used.

    Examples
    --------
    >>> import numpy as np
    >>> from manymeans import Shard, solve
    >>> shard = Shard(np.array([[1.0], [2.0], [9.0]]))
    >>> scan = shard.scan(shard.shape())
    >>> solve(shard.statistics(scan, [[[0.0], [10.0]]]))[0].tolist()
    [[1.5], [9.0]]

    """
    instance("statistics", statistics, Statistics)
    return _manymeans.solve(statistics._question, statistics._answer)


def merge_answers(a: bytes, b: bytes) -> bytes:
    """Give what one shard with the rows of both would answer to a question of `fit_shards`. O(bytes).

    Parameters
    ----------
    a, b : bytes
        Answers of shards, or merged ones, in any order.

    Returns
    -------
    answer : bytes
        The merged answer.

    Raises
    ------
    UsageError
        For answers to different questions, and for rows that are in both.
    BadDataError
        For bytes that are no answers.

    Examples
    --------
    >>> import functools
    >>> import numpy as np
    >>> from manymeans import Shard, fit_shards, merge_answers
    >>> X = np.arange(10.0)[:, np.newaxis]
    >>> shards = [Shard(X[:4]), Shard(X[4:], first_row=4)]
    >>> result = fit_shards(lambda question: merge_answers(*[shard.answer(question) for shard in shards]), 2)
    >>> sorted(result.models[0].cluster_centers.ravel().tolist())
    [2.0, 7.0]

    """
    return _manymeans.merge_answers(instance("a", a, bytes), instance("b", b, bytes))


def fit_shards(
    ask: Ask,
    k: int | str | Iterable[int] = 8,
    *,
    models: int | None = None,
    seed: int = 0,
    model_seed: int | None = None,
    init: Any = "k-means||",
    metric: str = "euclidean",
    max_iter: int = 300,
    tol: float = 1e-4,
    stop: str = "tol",
    empty: str = "farthest",
    time_limit: float | None = None,
    strategy: str = "concatenated",
    n_threads: int | None = None,
    callback: Callback | None = None,
    progress: bool = False,
) -> FitResult:
    """Fit an ensemble to the rows of all shards. The digests equal those for `fit` of all rows in one array.

    Parameters
    ----------
    ask : callable
        Is given a question, and returns the merged answers of all shards: ``Shard.answer`` of each, by `merge_answers`
        in any order. It may ask a shard anywhere, again or twice; each shard's answer counts once.
    k : int, str or iterable of int, default=8
        Numbers of clusters, as in `fit`.
    models, seed, model_seed, metric, max_iter, tol, stop, empty, time_limit, strategy, callback, progress : optional
        As in `fit`. The inertia of progress reports is not known.
    init : str or array-like of shape (k, n_features) or (models, k, n_features), default="k-means||"
        As in `fit`, but for the default: ``"k-means||"`` asks 13 questions, ``"k-means++"`` four for each centre.
    n_threads : int, optional
        Threads of this process, which has no rows; shards have their own threads.

    Returns
    -------
    result : FitResult
        All models, without labels: ``result.predict`` of the rows of a shard returns them.

    Raises
    ------
    UsageError
        For options out of range, k above the number of rows, shards that differ in columns, type or weights, rows that
        are missing.
    BadDataError
        For NaN or infinity (it names the first row and column), or weights that cannot be used.

    Notes
    -----
    Up to four questions before the first pass, one a pass, three at the end. O(n_features sum(k)) memory, and 8 bytes a
    row where there are weights.

    Examples
    --------
    >>> import functools
    >>> import numpy as np
    >>> import manymeans
    >>> X = np.random.default_rng(0).random((1000, 3))
    >>> shards = [manymeans.Shard(X[i : i + 250], first_row=i) for i in range(0, 1000, 250)]
    >>> def ask(question):
    ...     return functools.reduce(manymeans.merge_answers, [shard.answer(question) for shard in shards])
    >>> result = manymeans.fit_shards(ask, 5, seed=1)
    >>> result.digest == manymeans.fit(X, 5, seed=1, init="k-means||").digest
    True

    """
    given = locals()
    check_callback(callback)
    if not callable(ask):
        raise UsageError(f"[ask] is {shown(ask)}; a function from bytes to bytes is right")
    options = library_options(given)
    initial = None if isinstance(init, str) else initial_models(init, None, options["metric"])
    options = options | {"init": init} if initial is None else initial.in_options(options)
    result = run_fit_shards(
        ask, options, initial=initial and initial.rows, n_threads=n_threads, callback=callback,
        progress=switch("progress", progress),
    )  # fmt: skip
    for text in result.warnings:
        warn(text)
    return result
