"""Many problems in one call: what they are, and their results."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import _manymeans, _threads
from ._errors import BadDataError, Error, OutOfMemoryError, StoppedError, UsageError, exception_of, warn, warn_of_stop
from ._input import (
    Points,
    array_of,
    is_picture,
    on_host,
    plain_centers,
    plain_numbers,
    plain_points,
    plain_weights,
    readable,
)
from ._opening import weights_of
from ._parameters import integer
from ._profile import NOTHING
from ._progress import Callback, Reporter
from ._result import FitResult
from ._tables import naming
from ._wording import in_python, shown


class Problems(NamedTuple):
    """The rows of all problems, one behind the other.

    Attributes
    ----------
    points : Points
        All rows.
    weights : ndarray or None
        One for each row.
    groups : ndarray of int64
        Problem b has the rows from ``groups[b]`` to before ``groups[b + 1]``.
    rows : int or None
        Rows of each problem where `X` had three dimensions.

    """

    points: Points
    weights: npt.NDArray[np.float64] | None
    groups: npt.NDArray[np.int64]
    rows: int | None

    @property
    def number(self) -> int:
        """Return how many problems there are."""
        return len(self.groups) - 1


class Initial(NamedTuple):
    """Initial centres of all problems; None: `init` is a method. A problem with wrong centres has an error."""

    rows: npt.NDArray[Any] | None
    errors: dict[int, Error]


class EachProblem(NamedTuple):
    """What differs between problems: empty arrays where nothing does."""

    k: npt.NDArray[np.int64]
    seed: npt.NDArray[np.uint64]
    skip: bool


def each_of(name: str, values: Any, dtype: Any) -> npt.NDArray[Any]:
    """Give one integer for each problem; none for None.

    Raises
    ------
    UsageError
        For other things than integers, and for those that `dtype` cannot hold.

    """
    if values is None:
        return np.empty(0, dtype)
    array = on_host(values)
    try:
        array = np.asarray(array)
        if array.dtype.kind not in "iu":  # also large seeds beside small ones, of which NumPy makes float64
            array = np.array([integer(name, value, 0, 2**64 - 1) for value in values], np.uint64)
    except (TypeError, ValueError, OverflowError) as error:
        if isinstance(error, UsageError):
            raise
        raise UsageError(f"[{name}] is {shown(values)}; an integer for each problem is right") from None
    bounds = np.iinfo(dtype)
    if array.ndim != 1 or array.size == 0:
        raise UsageError(f"[{name}] has the shape {array.shape}; an integer for each problem is right")
    if int(array.min()) < bounds.min or int(array.max()) > bounds.max:
        raise UsageError(f"[{name}] goes from {array.min()} to {array.max()}; it must be {bounds.min} to {bounds.max}")
    return readable(array.astype(dtype, copy=False))


def is_batch(X: Any) -> bool:
    """Return whether this is an array of three dimensions, and no picture, whose pixels are rows."""
    return getattr(X, "ndim", 0) == 3 and not is_picture(X)


def problems_of(X: Any, groups: Any, sample_weight: Any) -> Problems:
    """Give the problems of an array of three dimensions, or of two with offsets of groups.

    Raises
    ------
    UsageError
        Where it is neither.
    BadDataError
        As `plain_points`.

    """
    if groups is not None:
        points = plain_points(X, empty=True, keep_sparse=True)
        weights = plain_weights(weights_of(X, sample_weight), points.array.shape[0], X)
        return Problems(points, weights, _offsets(groups, points.array.shape[0]), None)
    if not hasattr(X, "reshape") or not hasattr(X, "shape"):
        X = array_of(X, "X") if isinstance(X, (list, tuple)) else X
    shape = tuple(getattr(X, "shape", ()))
    if len(shape) != 3:
        more = f": X.reshape(-1, {shape[-2]}, {shape[-1]}) makes a problem of each" if len(shape) > 3 else ""
        raise BadDataError(
            f"X has the shape {shape}; problems, rows and columns are needed, or rows and columns with groups{more}"
        )
    if not hasattr(X, "reshape"):
        raise BadDataError(f"X is a {type(X).__name__}, which has no reshape; give its rows with groups")
    count, rows, columns = shape
    if count == 0 or columns == 0:
        raise BadDataError(f"X has the shape {shape}: at least one problem and one column are needed")
    try:
        points = plain_points(X.reshape(count * rows, columns), empty=True)
    except (MemoryError, ValueError) as error:
        if isinstance(error, Error):
            raise
        kind = OutOfMemoryError if isinstance(error, MemoryError) else BadDataError
        raise kind(f"X has the shape {shape}, and its rows cannot be joined: {error}") from None
    weights = None if sample_weight is None else plain_numbers(sample_weight, "sample_weight")
    if weights is not None and weights.shape != (count, rows):
        raise BadDataError(f"sample_weight has the shape {weights.shape}; {(count, rows)} is right")
    flat = None if weights is None else plain_weights(weights.reshape(-1), count * rows, None)
    return Problems(points, flat, np.arange(count + 1, dtype=np.int64) * rows, rows)


def _offsets(groups: Any, rows: int) -> npt.NDArray[np.int64]:
    offsets = each_of("groups", groups, np.int64)
    if offsets[0] == 0 and offsets[-1] == rows:
        return offsets
    hint = (
        "; the group of each row is something else: docs/user/many-problems.md sorts by it"
        if len(offsets) == rows
        else ""
    )
    raise UsageError(
        f"[groups] goes from {offsets[0]} to {offsets[-1]}; offsets go from 0 to {rows}, the rows of X{hint}"
    )


def initial_of(init: Any, problems: Problems, options: dict[str, Any], each: EachProblem) -> Initial:
    """Give the initial centres of all problems, one below the other.

    Raises
    ------
    UsageError, BadDataError
        Unless there are k centres for each problem, of one model. If problems are skipped, a wrong one has NaN.

    """
    if isinstance(init, str):
        return Initial(None, {})
    if len(options["k"]) > 1 or options["models"] not in (None, 1):
        raise UsageError("[init] centres are for one model of each problem; give one k and models=1, or a method")
    stacked = plain_numbers(on_host(init), "init") if getattr(init, "ndim", 0) == 3 else None
    if stacked is None and not (hasattr(init, "__len__") and hasattr(init, "__iter__")):
        raise UsageError(f"[init] is {shown(init)}; a method, or initial centres of each problem, are right")
    given = init if stacked is None else stacked
    if len(given) != problems.number:
        raise UsageError(f"[init] has centres of {len(given)} problems; there are {problems.number}")
    k, columns = each.k.tolist() or options["k"] * problems.number, problems.points.array.shape[1]
    if stacked is not None and set(k) == {stacked.shape[1]} and stacked.shape[2] == columns:
        return Initial(readable(stacked.reshape(-1, columns)), {})
    rows: list[npt.NDArray[Any]] = []
    wrong: dict[int, Error] = {}
    for b, one in enumerate(given):
        try:
            centers = plain_centers(one, "init")
            if centers.shape != (k[b], columns):
                raise UsageError(f"[init] has the shape {centers.shape}; {(k[b], columns)} is right")
        except (UsageError, BadDataError) as error:
            if not each.skip:
                raise of_problem(error, b) from None
            centers, wrong[b] = np.full((max(0, k[b]), columns), np.nan), error
        rows.append(centers)
    return Initial(readable(np.concatenate([*rows, np.empty((0, columns))])), wrong)


def of_problem(error: Error, problem: int) -> Error:
    """Give the error of a problem, which names it."""
    named = type(error)(f"[problem {problem}] {error}")
    named.problem = problem
    return named


class BatchResult:
    """The models of many problems.

    ``len(result)`` is the number of problems. ``result[b]`` is the `FitResult` of problem b. It raises the error of a
    skipped problem, and `StoppedError` if the call was stopped before the problem began. Iterating gives each
    `FitResult`, or None for a problem without models. The arrays hold the best model of each problem; they need a fit
    with one k for each.

    Attributes
    ----------
    errors : dict of int to str
        What was wrong with each problem that ``errors="skip"`` left out.
    warnings : list of str
        Messages for the user. Those about a problem begin with it.
    interrupted : bool
        True if a time limit or a callback ended the fit.

    """

    def __init__(
        self, fits: _manymeans.EachFits, problems: Problems, k: npt.ArrayLike, several: bool, wrong: dict[int, Error]
    ) -> None:
        self._fits = fits
        self._k = k
        self._fitted_to = NOTHING
        self._groups, self._rows = problems.groups, problems.rows
        self._columns: int = problems.points.array.shape[1]
        self._wide, self._names = problems.points.wide, problems.points.names
        self._several = several
        self._labels: npt.NDArray[np.int32] | None = None
        self._centers: npt.NDArray[Any] | list[npt.NDArray[Any] | None] | None = None
        self._digests: list[str | None] | None = None
        self._exceptions = {b: exception_of(code, text) for b, (code, text) in fits.errors().items()} | wrong
        self.errors: dict[int, str] = {b: str(error) for b, error in self._exceptions.items()}
        self.warnings: list[str] = [in_python(text) for text in fits.warnings()]
        self.interrupted: bool = fits.interrupted

    def _one_k(self) -> _manymeans.EachFits:
        if self._several:
            raise UsageError(
                "[k] each problem has models of several k, whose inertias say nothing; use result[b].best(k)"
            )
        return self._fits

    @property
    def labels_(self) -> npt.NDArray[np.int32]:
        """Return the labels: (problems, rows), or (n_samples,) with groups; -1 where a problem has no model."""
        if self._labels is None:
            labels = self._one_k().labels()
            self._labels = labels if self._rows is None else labels.reshape(-1, self._rows)
        return self._labels

    @property
    def cluster_centers_(self) -> Any:
        """Return the centres: (problems, k, n_features), NaN where a problem has no model.

        Where k differs, this is a list of one array for each problem, or None.
        """
        if self._centers is None:
            clusters = self._one_k().clusters()
            found = np.unique(clusters[clusters > 0] if clusters.any() else self._k)
            if len(found) == 1 and 1 <= found[0] <= self._groups[-1]:
                stacked = self._fits.stacked_centers(int(found[0]), self._columns, self._wide)
                self._centers = stacked.reshape(len(self), -1, self._columns)
            else:
                self._centers = [self._fits.centers(b) for b in range(len(self))]
        return self._centers

    @property
    def inertia_(self) -> npt.NDArray[np.float64]:
        """Return the inertia of each problem; NaN where it has no model."""
        return self._one_k().inertia()

    @property
    def n_iter_(self) -> npt.NDArray[np.int64]:
        """Return the updates of the centres of each problem."""
        return self._one_k().iterations()

    @property
    def digests(self) -> list[str | None]:
        """Return the digest of each problem's `FitResult`, None without one. O(n_samples) once."""
        if self._digests is None:
            self._digests = self._fits.digests()
        return self._digests

    @property
    def groups(self) -> npt.NDArray[np.int64]:
        """Return the offsets of the problems' rows."""
        return self._groups

    def __len__(self) -> int:
        return len(self._groups) - 1

    def __getitem__(self, problem: int) -> FitResult:
        b = operator.index(problem)
        b += len(self) if b < 0 else 0
        if not 0 <= b < len(self):
            raise IndexError(f"there is no problem {problem}; there are {len(self)}")
        found = self._result(b)
        if isinstance(found, Error):
            raise found
        return found

    def _result(self, b: int) -> FitResult | Error:
        if b in self._exceptions:
            return of_problem(self._exceptions[b], b)
        values = self._fits.result(b)
        if not values["models"]:
            return of_problem(StoppedError("the call was stopped before it began"), b)
        values["warnings"] = [in_python(text) for text in values["warnings"]]
        result = FitResult(values, self._names)
        rows = slice(*self._groups[b : b + 2].tolist()) if self._rows is None else b
        result._remember(self._fitted_to.part(rows))
        return result

    def __iter__(self) -> Iterator[FitResult | None]:
        for b in range(len(self)):
            found = self._result(b)
            yield None if isinstance(found, Error) else found

    def __repr__(self) -> str:
        rows = f"{self._groups[-1]} rows" if self._rows is None else f"{self._rows} rows each"
        state = f", {len(self.errors)} skipped" if self.errors else ""
        return f"BatchResult({len(self)} problems, {rows}{state}{', interrupted' * self.interrupted})"


def fit_batch(
    problems: Problems,
    options: dict[str, Any],
    each: EachProblem,
    *,
    initial: Initial,
    n_threads: int | None,
    callback: Callback | None,
    progress: bool,
    checkpoint: tuple[bytes, int, bool] | None,
) -> BatchResult:
    """Fit all problems; options have the library's names."""
    reporter = Reporter(callback, progress)
    hooks = {"initial": initial.rows, "checkpoint": checkpoint, "ranks": None, "callback": reporter.hook}
    given = {name: value for name, value in options.items() if value is not None}
    given["threads"] = _threads.effective(n_threads)
    points = problems.points
    with reporter, naming(points.names, None):
        fits = _manymeans.fit_each(
            (points.array, points.bfloat16, problems.weights, problems.groups), given, each._asdict(), hooks
        )
    k = each.k if each.k.size else options["k"]
    result = BatchResult(fits, problems, k, len(options["k"]) > 1, initial.errors)
    if result.interrupted and options["time_limit"]:
        warn_of_stop(
            f"time_limit={options['time_limit']:g} ended the call before the models of all problems had converged"
        )
    if result.warnings:
        more = f" (and {len(result.warnings) - 1} others: warnings)" if len(result.warnings) > 1 else ""
        warn(result.warnings[0] + more)
    return result
