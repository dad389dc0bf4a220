"""Functions, as an alternative to the estimators."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Container, Iterable, Iterator
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from . import _manymeans, _threads
from ._batch import BatchResult, EachProblem, each_of, fit_batch, initial_of, is_batch, problems_of
from ._errors import BadDataError, UsageError, warn, warn_of_stop
from ._initial import initial_of_fit
from ._input import OF_TEXT, Points, Target, in_order, plain_centers, plain_points, plain_weights
from ._labelling import predict_points, scaled
from ._opening import NAMES_OF_FILES, is_frame, opened, weights_of
from ._parameters import Check, between, check_callback, integer, optional, path_of, real, switch, text_of
from ._profile import Remembered
from ._progress import Callback, Reporter
from ._ranks import Ranks
from ._reading import rules_of
from ._result import Criterion, FitResult, Model
from ._scales import scaling_of
from ._seeds import seed_of
from ._tables import Source, check_output, files_of, naming
from ._wording import in_python, of_array, of_read, shown

_MOST_SEED = 2**64 - 1
_OF_TABLES = {"exclude": (), "numeric_only": False, "missing": "error", "categories": "error"}
_OF_CHECKPOINTS = ("checkpoint", "checkpoint_every", "resume")


def k_list(k: int | str | Iterable[int]) -> list[int]:
    """Give the numbers of clusters in 8, [8, 16], range(2, 20), ``"8,16"`` or ``"2..20:2"``."""
    if isinstance(k, str):
        return _manymeans.parse_k_list(text_of("k", k))
    if isinstance(k, Iterable) and not isinstance(k, bytes) and not (isinstance(k, np.ndarray) and k.ndim == 0):
        return [integer("k", one) for one in k]
    return [integer("k", k)]


def _memory(name: str, value: Any) -> Any:
    return text_of(name, value) if isinstance(value, str) else integer(name, value, 0)


#: How the parameters of `fit`, `search` and `fit_shards` are checked that are options of the library. Signatures and
#: documentation of functions are written out: editors and the site read them from the source.
_OPTIONS: dict[str, Check] = {
    "k": lambda name, value: k_list(value),
    "models": optional(integer),
    "seed": between(0, _MOST_SEED),
    "model_seed": optional(between(0, _MOST_SEED)),
    "metric": text_of,
    "min_size": between(0),
    "max_size": between(0),
    "max_iter": between(0),
    "tol": real,
    "stop": text_of,
    "empty": text_of,
    "time_limit": optional(real),
    "algorithm": text_of,
    "backend": text_of,
    "strategy": text_of,
    "memory": optional(_memory),
    "time": real,
    "trials": between(1),
    "rounds": optional(between(1)),
}


def library_options(given: dict[str, Any]) -> dict[str, Any]:
    """Check parameters, and give those that are options of the library, by its names.

    Raises
    ------
    UsageError
        For a value of a wrong type or out of range.

    """
    options = {name: check(name, given[name]) for name, check in _OPTIONS.items() if name in given}
    if "time" in options:
        options["search_time"] = options.pop("time")
    return options


def run_fit(
    points: Points,
    weights: npt.NDArray[np.float64] | None,
    options: dict[str, Any],
    *,
    initial: npt.NDArray[Any] | None = None,
    checkpoint: tuple[bytes, int, bool] | None = None,
    ranks: Ranks | None = None,
    search: bool = False,
    **shown: Any,
) -> FitResult:
    """Call the library to fit, or to search before that; options have its names."""
    call = _manymeans.search if search else _manymeans.fit
    return _run(
        lambda options, hooks: call(points.array, points.bfloat16, weights, options, hooks),
        _Columns(points.names, (points.source or Source()).and_files_of(points.array, weights, initial)),
        options,
        {"initial": initial, "checkpoint": checkpoint, "ranks": ranks},
        **shown,
    )


def run_tree(
    points: Points,
    weights: npt.NDArray[np.float64] | None,
    options: dict[str, Any],
    *,
    checkpoint: tuple[bytes, int, bool] | None,
    **shown: Any,
) -> tuple[FitResult, dict[str, Any]]:
    """Call the library to fit a tree; options have its names. Gives the leaves, and the nodes."""
    tree: dict[str, Any] = {}

    def call(options: dict[str, Any], hooks: dict[str, Any]) -> dict[str, Any]:
        values, nodes = _manymeans.fit_tree(points.array, points.bfloat16, weights, options, hooks)
        tree.update(nodes)
        return values

    columns = _Columns(points.names, (points.source or Source()).and_files_of(points.array, weights, None))
    result = _run(call, columns, options, {"initial": None, "checkpoint": checkpoint, "ranks": None}, **shown)
    own = {name: options.get(name) for name in ("branching", "quota", "refine", "sample")}
    result = result._with_options(own)
    result._digest = tree["digest"]  # of all splits, too
    return result, tree


def run_fit_shards(
    ask: Callable[[bytes], bytes],
    options: dict[str, Any],
    *,
    initial: npt.NDArray[Any] | None = None,
    names: list[str] | None = None,
    **shown: Any,
) -> FitResult:
    """Fit shards; options have the library's names."""

    def call(options: dict[str, Any], hooks: dict[str, Any]) -> dict[str, Any]:
        values = _manymeans.fit_shards(ask, options, hooks)
        for model in values["models"]:
            del model["labels"]  # they are with the shards
        return values

    return _run(
        call,
        _Columns(names, None),
        options,
        {"initial": initial, "checkpoint": None, "ranks": None},
        **shown,
    )


class _Columns(NamedTuple):
    """The names of the columns of a fit."""

    names: list[str] | None
    source: Source | None


def _run(
    call: Callable[[dict[str, Any], dict[str, Any]], dict[str, Any]],
    columns: _Columns,
    options: dict[str, Any],
    hooks: dict[str, Any],
    *,
    n_threads: int | None = None,
    callback: Callback | None = None,
    progress: bool = False,
    verbose: int | bool = False,
) -> FitResult:
    """Fit, and show the progress. The parameters from `n_threads` on are common to all fits."""
    reporter = Reporter(callback, progress, verbose=bool(verbose))
    options = {name: value for name, value in options.items() if value is not None}
    options["threads"] = _threads.effective(n_threads)
    with reporter, naming(*columns):
        values = call(options, hooks | {"callback": reporter.hook})
    values["warnings"] = [in_python(text) for text in values["warnings"]]
    result = FitResult(values, *columns)
    reporter.finish(result.models, options["tol"])
    _warn_of_stop(result, options.get("time_limit"))
    return result


def _warn_of_stop(result: FitResult, time_limit: float | None) -> None:
    late = [model for model in result.models if model.stop_reason == "time_limit"]
    if not late:
        return
    warn_of_stop(
        f"time_limit={time_limit:g} ended the fit before {len(late)} of {len(result.models)} models had converged "
        f"(after {max(model.n_iter for model in late)} iterations at most); they are as their last pass left them"
    )


def run_regress(
    points: Points,
    target: Target,
    weights: npt.NDArray[np.float64] | None,
    options: dict[str, Any],
    *,
    initial: npt.NDArray[Any] | None = None,
    **shown: Any,
) -> FitResult:
    """Fit linear models; options have the library's names."""
    rows = {"points": points.array, "bfloat16": points.bfloat16, "target": target.values}
    result = _run(
        lambda options, hooks: _manymeans.regress(rows, weights, options, hooks),
        _Columns(
            [*points.names, target.name] if points.names else None,
            Source().and_files_of(points.source, points.array, weights, initial),
        ),
        options,
        {"initial": initial, "checkpoint": None, "ranks": None},
        **shown,
    )
    # The library's provenance names the options that fit() has, too.
    return result._with_options({name: options[name] for name in ("ridge", "intercept", "swaps")})


def fit(
    X: Any,
    k: int | str | Iterable[int] = 8,
    *,
    groups: Any = None,
    errors: str = "raise",
    models: int | None = None,
    seed: int = 0,
    model_seed: int | None = None,
    init: Any = "auto",
    metric: str = "euclidean",
    min_size: int = 0,
    max_size: int = 0,
    sample_weight: Any = None,
    max_iter: int = 300,
    tol: float = 1e-4,
    stop: str = "tol",
    empty: str = "farthest",
    time_limit: float | None = None,
    algorithm: str = "auto",
    backend: str = "auto",
    strategy: str = "concatenated",
    memory: int | str | None = None,
    n_threads: int | None = None,
    callback: Callback | None = None,
    progress: bool = False,
    checkpoint: str | bytes | os.PathLike[Any] | None = None,
    checkpoint_every: int = 0,
    resume: bool = False,
    scale: str = "none",
    log: str | int | Iterable[str | int] = (),
    exclude: str | int | Iterable[str | int] = (),
    numeric_only: bool = False,
    missing: str | float = "error",
    categories: str = "error",
    comm: Any = None,
) -> FitResult:
    """Fit an ensemble of k-means models to the same points.

    The options have the names, defaults and meanings of the command line's, so that both give the same digest.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features), Dataset or path
        Points, what `read` gives, or the name of a file that it can read. Data that are read in place: C-contiguous
        arrays (memory maps too) of float32, float64, float16, uint8 and int8, tensors (also of CUDA devices, where
        built with CUDA) and single-chunk Arrow columns. SciPy's CSR matrices of float32 and float64 are read in place,
        too, and never made dense (backends cpu and reference). All else is copied once.
    k : int, str or iterable of int, default=8
        Numbers of clusters: ``8``, ``[8, 16]``, ``range(2, 21)``, ``"8,16"`` or ``"2..20:2"``.
    groups, errors : optional
        Of many problems: `X` of three dimensions, or rows with `groups`. See `fit_each`, which also has `k_each` and
        `seed_each`. A list for `k` still means a model of each k, for every problem.
    models : int, optional
        Models for each k, from different seeds; by default as many as `init` has, else 1.
    seed : int, default=0
        Seed of the ensemble, 0 to 2**64 - 1; every model's own seed follows from it.
    model_seed : int, optional
        Seed of one model, as an earlier fit reported it: gives that model alone, with the same digest.
    init : str or array-like of shape (k, n_features) or (models, k, n_features), default="auto"
        A method (``"auto"``, ``"k-means++"``, ``"k-means||"``, ``"random"``, ``"first"``), or the initial centres.
        These are an array, a frame, a `Dataset`, a `Model`, or the name of a file. An ensemble begins with an array of
        three dimensions or a list of such objects, models of one k together. A `FitResult` or model file gives all its
        models of the asked k; ``models=1`` takes the best of each k. A fit from the centres of one model alone gives
        the same answer.
        Columns are matched by name if the centres and `X` have names.
    metric : {"euclidean", "cosine"}, default="euclidean"
        ``"cosine"``: rows and centres are scaled to length one (spherical k-means); no row may be all zeros.
    min_size, max_size : int, default=0
        Min and max rows of a cluster; 0: no limit. Rows are assigned at the lowest total cost that the sizes
        allow.
    sample_weight : array-like of shape (n_samples,), optional
        Weights, 0 or larger; by default the weights of a `Dataset`, else all equal.
    max_iter : int, default=300
        Max iterations (updates of the centres) of a model.
    tol : float, default=1e-4
        Stop when the squared shift of all centres is at most `tol` times the mean variance of the columns; 0: never.
    stop : str, default="tol"
        Comma-separated stop rules: ``tol``, ``strict``, ``labels:F``, ``shift:E[:P]``, ``inertia:R``,
        ``error:E``.
    empty : {"farthest", "keep", "drop", "error"}, default="farthest"
        The treatment of a cluster without points.
    time_limit : float, optional
        Seconds; the fit stops after the first pass that exceeds them, and returns the models so far: at least the
        first one, after one pass.
    algorithm, backend, strategy : str
        How and where to compute; see ``manymeans fit --help`` and `info`. A device has a number: ``"opencl:1"``. They
        never change the answer.
    memory : int or str, optional
        Max memory in addition to `X`, in bytes or as "2GB"; by default the machine's memory. A ``numpy.memmap`` that
        does not fit is read from its file in every pass. With ``backend="cuda"`` or ``"opencl"``: max memory of the
        device. Never changes the answer.
    n_threads : int, optional
        Threads; by default all that are usable. Never changes the answer.
    callback : callable, optional
        Gets a `Progress` after every pass; the fit stops when it returns something false other than None.
    progress : bool, default=False
        Show a progress bar.
    checkpoint : path-like, optional
        File in which the fit writes down how far it is, also when it is stopped or fails. It stays there. No
        other file than a checkpoint is replaced, and two fits cannot share one.
    checkpoint_every : int, default=0
        Iterations between two writes; 0: every ten seconds, or as seldom as it takes to cost less than 1 % of the time.
    resume : bool, default=False
        Continue from `checkpoint`, if it exists, to the result of a fit without interruption. `X`, the weights and all
        parameters must be the same, but for those that never change the answer, `time_limit` and `callback`.
    scale : {"none", "standard", "minmax", "robust", "unit"}, default="none"
        Scale the columns, as ``--scale`` does: to mean 0 and deviation 1, to 0 to 1, or by the median and the distance
        of the quartiles. ``"unit"`` divides each row by its Euclidean length. Centres, inertia and an array as `init`
        are in scaled units; `predict` of the result scales its points in the same way, and `summary` tells the units
        of `X` (not of rows of length one). This makes a copy.
    log : str, int or iterable of them, optional
        Columns whose logarithm is taken before they are scaled, as ``--log`` does: log(x), or log(1 + x) where the
        minimum is 0. Names of columns; of points without names their indices, from 0. `summary` then tells geometric
        means.
    exclude, numeric_only, missing, categories : optional
        As in `read`, for the name of a file or a frame of pandas, polars or pyarrow: what becomes of columns of text,
        and of gaps.
    comm : mpi4py.MPI.Intracomm, optional
        The ranks that share the points: `X` and `sample_weight` are the rows of this one, and the ranks have them in
        their order. All ranks call `fit` with the same parameters. This rank gets the `labels` of its rows. All else of
        the models, `digest` too, is the same on all ranks, and equals the result of one process with all rows.

    Returns
    -------
    result : FitResult
        All models. Many problems, by `groups` or an `X` of three dimensions, give the `BatchResult` of `fit_each`.

    Raises
    ------
    UsageError
        For options out of range, k above n_samples, or `init` of other k or models than asked for. A ValueError.
    BadDataError
        For NaN or infinity (it names the first row and column), or weights that cannot be used. A ValueError.
    UnavailableError
        For a backend that is not there. A RuntimeError.
    OutOfMemoryError
        When there is not enough memory. A MemoryError.
    KeyboardInterrupt
        On Ctrl-C, within about a second.

    Notes
    -----
    Time O(iterations n_samples n_features sum(k)), memory O(n_samples n_features) for the packed copy and
    O(n_samples) for each model. The GIL is released.

    Examples
    --------
    >>> import numpy as np
    >>> import manymeans
    >>> X = np.array([[1, 1], [1, 2], [2, 1], [9, 9], [9, 8], [8, 9]], dtype=np.float32)
    >>> result = manymeans.fit(X, 2, models=4, seed=1)
    >>> round(result.best().inertia, 6)
    2.666667
    >>> len(result.digest)
    32

    """
    given = locals()
    if groups is None and not is_batch(X):
        if errors != "raise":
            raise UsageError(f"[errors] is {shown(errors)}; it is for many problems: X of three dimensions, or groups")
        return _fitted(given)
    for name, default in (("scale", "none"), ("log", ())):
        value = given.pop(name)
        if value is not None and (not isinstance(value, type(default)) or value != default):
            raise UsageError(f"[{name}] is for one problem; scale the points of many before")
    _check_tables({name: given.pop(name) for name in _OF_TABLES}, "many problems")
    if comm is not None:
        raise UsageError("[X] holds many problems, which no ranks share; leave comm out")
    # Type checkers know the result of one problem; fit_each() has the type of many.
    return cast("FitResult", fit_each(**{name: value for name, value in given.items() if name != "comm"}))


def fit_each(
    X: Any,
    k: int | str | Iterable[int] = 8,
    *,
    groups: Any = None,
    k_each: Any = None,
    seed_each: Any = None,
    errors: str = "raise",
    models: int | None = None,
    seed: int = 0,
    model_seed: int | None = None,
    init: Any = "auto",
    metric: str = "euclidean",
    min_size: int = 0,
    max_size: int = 0,
    sample_weight: Any = None,
    max_iter: int = 300,
    tol: float = 1e-4,
    stop: str = "tol",
    empty: str = "farthest",
    time_limit: float | None = None,
    algorithm: str = "auto",
    backend: str = "auto",
    strategy: str = "concatenated",
    memory: int | str | None = None,
    n_threads: int | None = None,
    callback: Callback | None = None,
    progress: bool = False,
    checkpoint: str | bytes | os.PathLike[Any] | None = None,
    checkpoint_every: int = 0,
    resume: bool = False,
) -> BatchResult:
    """Fit a model, or an ensemble, to each of many data sets.

    Each problem has the digest of `fit` with its rows, its k and its seed. One call takes less time than many calls:
    threads share the problems out.

    Parameters
    ----------
    X : array-like of shape (n_problems, n_samples, n_features), or (n_samples, n_features) with `groups`
        The points of all problems. Contiguous arrays and tensors are read in place, as by `fit`.
    k : int, str or iterable of int, default=8
        Numbers of clusters of every problem, as in `fit`: a list means models of several k for each.
    groups : array-like of shape (n_problems + 1,), optional
        Offsets: problem b has the rows ``X[groups[b]:groups[b + 1]]``. They ascend from 0 to n_samples.
    k_each : array-like of shape (n_problems,), optional
        The number of clusters of each problem. It replaces `k`, which must be left out.
    seed_each : array-like of shape (n_problems,), optional
        The seed of each problem. It replaces `seed`, which must be left out.
    errors : {"raise", "skip"}, default="raise"
        ``"raise"``: a problem that cannot be fitted raises its error. ``"skip"``: it is left out, and
        `BatchResult.errors` has its message.
    init : str or array-like of shape (n_problems, k, n_features), default="auto"
        A method as in `fit`, or initial centres; where k differs, a list of an array for each problem.
    sample_weight : array-like of shape (n_problems, n_samples), or (n_samples,) with `groups`, optional
        Weights, 0 or larger.
    time_limit : float, optional
        Seconds of the call. Every problem has one pass at least.
    memory : int or str, optional
        Max memory of each fit in addition to `X`.
    callback : callable, optional
        Gets a `Progress` of the phase ``"problems"`` after a problem: `iteration` are done, of `max_iteration`. When it
        returns something false other than None, no other problem begins.
    checkpoint, checkpoint_every, resume : optional
        As in `fit`; a problem counts as an iteration. A resumed call makes one pass for each model that was done.
    models, seed, model_seed, metric, min_size, max_size, max_iter, tol, stop, empty : optional
        As in `fit`, of every problem.
    algorithm, backend, strategy, n_threads, progress : optional
        As in `fit`. They never change the answer.

    Returns
    -------
    result : BatchResult
        The models of all problems.

    Raises
    ------
    UsageError, BadDataError, UnavailableError, OutOfMemoryError, KeyboardInterrupt
        As `fit`. An error of one problem begins with its number, from 0, as ``[problem 17]``; its rows are counted
        within the problem.

    Notes
    -----
    The fits share the threads. Memory is O(n_samples + n_problems k n_features), plus one fit for each thread. The
    GIL is released.

    Examples
    --------
    >>> import numpy as np
    >>> import manymeans
    >>> X = np.random.default_rng(0).random((100, 50, 4), dtype=np.float32)
    >>> result = manymeans.fit_each(X, 3)
    >>> result.cluster_centers_.shape, result.labels_.shape
    ((100, 3, 4), (100, 50))
    >>> result.digests[7] == manymeans.fit(X[7], 3).digest
    True

    """
    given = locals()
    check_callback(callback)
    if errors not in ("raise", "skip"):
        raise UsageError(f"[errors] is {shown(errors)}; 'raise' or 'skip' is right")
    for name, default in (("k", 8), ("seed", 0)):
        if given[f"{name}_each"] is not None and (type(given[name]) is not int or given[name] != default):
            raise UsageError(f"[{name}] stands beside {name}_each, which takes its place; leave one of them out")
    each = EachProblem(
        each_of("k_each", k_each, np.int64), each_of("seed_each", seed_each, np.uint64), errors == "skip"
    )
    options = library_options(given)
    saved = checkpoint_of((X, sample_weight, init), checkpoint, checkpoint_every, resume)
    problems = problems_of(opened(X), groups, sample_weight)
    initial = initial_of(init, problems, options, each)
    result = fit_batch(
        problems, options | {"init": init if initial.rows is None else None}, each, initial=initial,
        n_threads=n_threads, callback=callback, progress=switch("progress", progress), checkpoint=saved,
    )  # fmt: skip
    result._fitted_to = Remembered(X, sample_weight)
    return result


def _fitted(given: dict[str, Any], *, search: bool = False) -> FitResult:
    """Fit, or search and fit, with all parameters of `fit` or of `search`."""
    X, sample_weight, init, comm = given["X"], given["sample_weight"], given["init"], given.get("comm")
    own = _OF_TABLES if comm is None and (is_frame(X) or isinstance(X, NAMES_OF_FILES)) else ()
    with contextlib.nullcontext() if comm is None else Ranks(comm) as ranks, _advising(own):
        check_callback(given["callback"])
        saved = checkpoint_of((X, sample_weight, init), *(given[name] for name in _OF_CHECKPOINTS))
        if ranks is not None and isinstance(X, NAMES_OF_FILES):
            raise UsageError(f"[X] is {shown(X)}; with comm, the rows of this rank are right")
        rules = {name: given[name] for name in _OF_TABLES}
        if not own:
            _check_tables(rules, "the rows of one rank" if ranks else "an X that is no frame and no name of a file")
        X = opened(X, rules=rules_of(**rules) if _rules_in(rules) else None, own=own)
        points = plain_points(X, empty=ranks is not None, keep_sparse=True)
        weights = plain_weights(weights_of(X, sample_weight), points.array.shape[0], given["X"], X)
        given_points, scaling = points, scaling_of(points, given, ranks)
        points = scaled(points, scaling, given["n_threads"])
        options = library_options(given)
        initial = initial_of_fit(init, points.names, options)
        options = options | {"init": init} if initial is None else initial.in_options(options)
        result = run_fit(
            points, weights, options, initial=initial and initial.rows, n_threads=given["n_threads"],
            callback=given["callback"], progress=switch("progress", given["progress"]), checkpoint=saved, ranks=ranks,
            search=search,
        )  # fmt: skip
    result._set_scaling(scaling)
    if ranks is None and not search:
        result.warnings[:0] = _column_warnings(given_points, points, own)
    if ranks is None:  # one rank does not have all rows
        result._remember(Remembered(given["X"], sample_weight))
    for text in result.warnings:
        warn(text)
    return result


def _rules_in(given: dict[str, Any]) -> list[str]:
    """Give the names of what is not as by default."""
    return [name for name, default in _OF_TABLES.items() if type(given[name]) is not type(default) or
            given[name] != default]  # fmt: skip


def _check_tables(given: dict[str, Any], what: str) -> None:
    """Refuse rules for a table where there is none."""
    for name in _rules_in(given):
        raise UsageError(f"[{name}] is not for {what}; leave it out, or prepare the points first")


# Texts of messages for all functions, each with its text for a function that has parameters for tables.
_ADVICE = (
    (OF_TEXT,
     '; categories="onehot" makes columns of 0 and 1 of texts, and numeric_only=True in its place leaves them out'),
    (" is NaN; every value must be finite (remove or fill such rows first)",
     ' is NaN; every value must be finite: missing="drop" leaves such rows out, and missing="median" fills them'),
)  # fmt: skip


@contextlib.contextmanager
def _advising(own: Container[str]) -> Iterator[None]:
    """Let errors name the caller's own parameters for tables, if it has some."""
    try:
        yield
    except BadDataError as error:
        text = str(error)
        for general, better in _ADVICE if own else ():
            text = text.replace(general, better)
        if text == str(error):
            raise
        raise type(error)(text) from None


def _column_warnings(points: Points, fitted: Points, own: Container[str]) -> list[str]:
    """Say which columns a clustering should not be made of without a thought, in the words for files or for arrays."""
    if points.bfloat16 or not isinstance(points.array, np.ndarray):
        return []
    columns = points.array.shape[1]
    # Columns of arrays are counted from 0.
    source = points.source or Source(count=columns, numbers=list(range(columns)))
    found = _manymeans.table_warnings(points.array, fitted.array, points.names or [], source.as_dict())
    texts = [in_python(text) for text in found]
    if points.source is not None and points.source.path:
        return [of_read(text, own) for text in texts]
    if own or points.source is not None:  # a frame
        return [of_read(text.replace("their place in the file", "their place"), own, "X") for text in texts]
    return [of_array(text) for text in texts]


def checkpoint_of(
    inputs: tuple[Any, ...], checkpoint: Any, checkpoint_every: Any, resume: Any
) -> tuple[bytes, int, bool] | None:
    """Check what a fit is told of its checkpoint; return None if it has no checkpoint."""
    every, resume = integer("checkpoint_every", checkpoint_every, 0), switch("resume", resume)
    if checkpoint is None:
        if resume or every:
            raise UsageError("resume and checkpoint_every need checkpoint, the name of a file")
        return None
    path = path_of("checkpoint", checkpoint)
    check_output("checkpoint", path, files_of(*inputs))
    return path, every, resume


def search(
    X: Any,
    k: int | str | Iterable[int] = 8,
    *,
    time: float = 3.0,
    rounds: int | None = None,
    trials: int = 16,
    models: int | None = None,
    seed: int = 0,
    model_seed: int | None = None,
    init: Any = "auto",
    metric: str = "euclidean",
    sample_weight: Any = None,
    max_iter: int = 300,
    tol: float = 1e-4,
    stop: str = "tol",
    empty: str = "farthest",
    time_limit: float | None = None,
    algorithm: str = "auto",
    backend: str = "auto",
    n_threads: int | None = None,
    callback: Callback | None = None,
    progress: bool = False,
    checkpoint: str | bytes | os.PathLike[Any] | None = None,
    checkpoint_every: int = 0,
    resume: bool = False,
    scale: str = "none",
    log: str | int | Iterable[str | int] = (),
    exclude: str | int | Iterable[str | int] = (),
    numeric_only: bool = False,
    missing: str | float = "error",
    categories: str = "error",
) -> FitResult:
    """Search for the k-means model of lowest inertia.

    One run of k-means ends in the nearest local optimum, and many runs gain little. A search swaps centres instead, and
    tries variations of the best model. It finds models that `fit` could give. docs/user/search.md says when not to
    trust it. Of one column the optimum is known, as `optimal_1d` finds it: `Model.init` is then ``"optimal"``.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features), Dataset or path
        As in `fit`.
    k : int, str or iterable of int, default=8
        Numbers of clusters, as in `fit`; each has a search of its own.
    time : float, default=3.0
        Seconds of each search; it is not looked at where `rounds` are given.
    rounds : int, optional
        Rounds of each search, instead of `time`: the answer is then a function of points, parameters and seed.
        ``rounds=model.rounds`` gives a model again that a time had ended.
    trials : int, default=16
        Max trials of a round: it has 4 at first, later a fourth of all before it. Part of the answer.
    models : int, optional
        Searches for each k, from different seeds; by default as many as `init` has, else 1.
    seed, model_seed, init, metric, sample_weight : optional
        As in `fit`; a search begins with `init`.
    max_iter, tol, stop, empty : optional
        As in `fit`, of the fit that begins with what the search has found.
    time_limit : float, optional
        Seconds of everything.
    algorithm, backend, n_threads, callback, progress : optional
        As in `fit`. A callback that returns something false other than None ends the search, and what it has found is
        kept.
    checkpoint, checkpoint_every, resume : optional
        As in `fit`; a round counts as an iteration. `time` covers all runs that a checkpoint joins.
    scale, log : optional
        As in `fit`.
    exclude, numeric_only, missing, categories : optional
        As in `read`, for the name of a file or a frame of pandas, polars or pyarrow: what becomes of columns of text,
        and of gaps.

    Returns
    -------
    result : FitResult
        The models, with `Model.rounds` and `Model.search`.

    Raises
    ------
    UsageError, BadDataError, UnavailableError, OutOfMemoryError, KeyboardInterrupt
        As `fit`.

    Examples
    --------
    >>> import numpy as np
    >>> import manymeans
    >>> X = np.random.default_rng(0).random((500, 2))
    >>> found = manymeans.search(X, 20, rounds=5).best()
    >>> found.inertia < manymeans.fit(X, 20, models=10).best().inertia
    True
    >>> found.rounds
    5

    """
    return _fitted(locals(), search=True)


def predict(
    model: FitResult | Model | Any,
    X: Any,
    k: int | None = None,
    *,
    criterion: Criterion | None = None,
    distances: bool = False,
    n_threads: int | None = None,
    backend: str = "auto",
) -> Any:
    """Label points by the nearest centre, ties to the lowest index.

    Parameters
    ----------
    model : FitResult, Model or array-like of shape (k, n_features)
        Centres; of a `FitResult` the best model's: where it has models of several k, `k` or `criterion` is needed. If
        centres of a frame and `X` have names of columns, these say which is which.
    X : array-like of shape (n_samples, n_features), Dataset or path
        Points, or the name of their file. Of a file or a frame that has the columns of the model's fit, by name, these
        are read alone, whatever others hold.
    k : int, optional
        Of a `FitResult`: use the best model of this number of clusters, as asked for at the fit.
    criterion : "inertia" or callable, optional
        Of a `FitResult`: how the model is chosen; see `FitResult.best`.
    distances : bool, default=False
        Return the Euclidean distances to the nearest centre, too.
    n_threads : int, optional
        Threads; by default all that are usable.
    backend : str, default="auto"
        Where to compute. Never changes the answer.

    Returns
    -------
    labels : ndarray of shape (n_samples,)
        In the smallest unsigned type that holds them.
    distances : ndarray of shape (n_samples,)
        float64; only if asked for.

    Raises
    ------
    BadDataError
        When the numbers of columns differ, or for NaN and infinity.

    Examples
    --------
    >>> import manymeans
    >>> manymeans.predict([[0.0], [10.0]], [[1.0], [2.0], [9.0]]).tolist()
    [0, 0, 1]

    """
    is_result, kind = isinstance(model, FitResult), type(model)
    if isinstance(model, NAMES_OF_FILES) or (not is_result and (hasattr(kind, "predict") or hasattr(kind, "_fields"))):
        raise UsageError(
            f"[model] is {shown(model)}; a FitResult is right (FitResult.load of a file, result of a Choice), a Model, "
            "or centres. Estimators have a method predict"
        )
    X = opened(X, model if is_result else None)
    distances = switch("distances", distances)
    if isinstance(model, FitResult):
        centers = model._of_kind(linear=False).best(k, criterion).cluster_centers
        points = model._points_of(X, n_threads)
    elif k is not None or criterion is not None:
        raise UsageError("k and criterion choose among the models of a FitResult; without one leave them out")
    elif isinstance(model, Model):
        centers = model.cluster_centers
        points = model._alone()._points_of(X, n_threads)
    else:
        points = plain_points(X, keep_sparse=True)
        centers = in_order(model, "model", points.names)
    centers = plain_centers(centers, "model")
    labels, found, _ = predict_points(
        points, centers, _manymeans.Predictor(centers), n_threads=n_threads, backend=backend, distances=distances
    )
    return (labels, found) if distances else labels


def kmeans_plusplus(
    X: Any,
    n_clusters: int,
    *,
    sample_weight: Any = None,
    random_state: int | Any = 0,
    n_threads: int | None = None,
    backend: str = "auto",
) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
    """Choose initial centres by greedy k-means++, the ones that a fit with this seed begins with.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Points.
    n_clusters : int
        Number of centres.
    sample_weight : array-like of shape (n_samples,), optional
        Weights, 0 or larger; by default the weights of a `Dataset`, else all equal.
    random_state : int or numpy.random.RandomState, default=0
        Seed, 0 to 2**64 - 1, or a generator to draw one from.
    n_threads : int, optional
        Threads; by default all that are usable. Never changes the answer.
    backend : str, default="auto"
        Where to compute. Never changes the answer.

    Returns
    -------
    centers : ndarray of shape (n_clusters, n_features)
        Rows of `X`; float64 for float64 points, else float32.
    indices : ndarray of shape (n_clusters,)
        ``centers == X[indices]``, int64.

    Raises
    ------
    UsageError
        Unless 1 <= n_clusters <= n_samples.

    Examples
    --------
    >>> import numpy as np
    >>> import manymeans
    >>> X = np.array([[1.0, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
    >>> centers, indices = manymeans.kmeans_plusplus(X, n_clusters=2, random_state=0)
    >>> bool((X[indices] == centers).all())
    True

    """
    X = opened(X)
    points = plain_points(X, keep_sparse=True)
    weights = plain_weights(weights_of(X, sample_weight), points.array.shape[0], X)
    options = {
        "k": [integer("n_clusters", n_clusters)], "init": "k-means++", "seed": seed_of(random_state),
        "backend": backend, "threads": _threads.effective(n_threads),
    }  # fmt: skip
    centers, rows, texts = _manymeans.initialise(points.array, points.bfloat16, weights, options)
    for text in texts:
        warn(in_python(text))
    return centers, rows


def info() -> dict[str, Any]:
    """Tell what this build can do on this machine, as ``manymeans info`` does.

    Returns
    -------
    info : dict
        ``version``, ``compiler``, ``build_type``, ``threads`` (what ``n_threads=None`` means without a limit),
        ``available_memory`` (bytes), and lists of ``backends``, ``instruction_sets``, ``inits``, ``readers``,
        ``writers`` (dicts of ``name``, ``description``, ``available``) and ``devices``.

    Examples
    --------
    >>> import manymeans
    >>> [backend["name"] for backend in manymeans.info()["backends"] if backend["available"]][0]
    'cpu'

    """
    return _manymeans.info(devices=True)
