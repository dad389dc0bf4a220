"""Common parts of the estimators: checking input as scikit-learn does, without copies."""

from __future__ import annotations

import contextlib
import math
import sys
import warnings
from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils import check_array
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from . import _manymeans
from ._alignment import check_rows
from ._declaring import Parameter, parameter, parameters
from ._errors import BadDataError, UsageError, warn
from ._input import (
    DTYPES,
    Points,
    aligned,
    array_of,
    check_kind,
    conform,
    densify,
    from_device,
    has_lists,
    has_objects,
    in_native_order,
    is_arrow,
    is_dataframe,
    is_on_cuda,
    is_ready,
    is_scipy_sparse,
    is_tensor,
    on_host,
    plain_centers,
    plain_numbers,
    plain_weights,
    readable,
    refuse_files,
    sparse_points,
    unmasked,
    unwrap,
)
from ._integers import warn_of_rounded
from ._labelling import PreparedCenters, as_measured, predict_points, transform_points
from ._outside import Ranges, warn_of_outside
from ._parameters import Check, integer, real, text_of
from ._placing import PlacedCenters, Result, Room, copied_like, hosted_state, placed
from ._profile import NOTHING, Profile, labelled
from ._progress import Callback
from ._result import FitResult, Model
from ._seeds import seed_of
from ._sklearn import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from ._wording import printable

# Newer versions import this for their first fit, where a fork might come between.
with contextlib.suppress(ImportError):
    import sklearn.callback._callback_support  # noqa: F401

#: Values of `init` that name a method.
INITS = ("k-means++", "random", "k-means||", "first", "auto")


class _Whole(Interval):
    """An integer in a range, and no bool, which scikit-learn takes for one."""

    def is_satisfied_by(self, val: Any) -> bool:
        return not isinstance(val, bool) and bool(super().is_satisfied_by(val))


def at_least(least: int) -> Interval:
    """Give the constraint of an integer."""
    return _Whole(Integral, least, None, closed="left")


@parameters
class Common:
    """The parameters of all estimators."""

    max_iter: int = parameter(
        default=300, accepts=[at_least(1)], option=True,
        text="Max iterations (updates of the centres) of a model.",
    )  # fmt: skip
    tol: float = parameter(
        default=1e-4, accepts=[Interval(Real, 0, None, closed="left")], option=True,
        text="Stop when the squared shift of all centres is at most `tol` times the mean variance of the columns.",
    )  # fmt: skip
    verbose: int = parameter(
        default=0, accepts=["verbose"],
        text="Other than 0: print a line for every iteration, and how the models ended.",
    )  # fmt: skip
    random_state: Any = parameter(
        default=None, accepts=["random_state", Interval(Integral, 0, 2**64 - 1, closed="both")],
        type="int, RandomState instance or None",
        text="Seed. An int is the seed of the command line's ``--seed`` too; ``RandomState(s)`` gives at first what s "
        "gives. None draws one from NumPy's global generator.",
    )  # fmt: skip
    backend: str = parameter(
        default="auto", accepts=[str], option=True,
        text="Where to compute: see `manymeans.info`. Never changes the answer.",
    )  # fmt: skip
    n_threads: int | None = parameter(
        default=None, accepts=[at_least(1), None],
        text="Threads; None: all that are usable, within threadpoolctl's limit and OMP_NUM_THREADS. Never changes the "
        "answer.",
    )  # fmt: skip


@parameters
class Fitting(Common):
    """The parameters of estimators with one fit of the library."""

    stop: str = parameter(
        default="tol", accepts=[str], option=True,
        text='Comma-separated stop rules beside "no label changed": ``tol``, ``labels:F``, ``shift:E[:P]``, '
        "``inertia:R``, ``error:E``.",
    )  # fmt: skip
    empty: str = parameter(
        default="farthest", accepts=[StrOptions({"farthest", "keep", "drop", "error"})], option=True,
        type='{"farthest", "keep", "drop", "error"}',
        text="What happens to a cluster without points.",
    )  # fmt: skip
    time_limit: float | None = parameter(
        default=None, accepts=[Interval(Real, 0, None, closed="neither"), None], option=True,
        text="Seconds; the fit stops after the first pass that exceeds them, and keeps the models so far: at least the "
        "first one, after one pass.",
    )  # fmt: skip
    progress: bool = parameter(
        default=False, accepts=["boolean"],
        text="Show a progress bar (of tqdm, where that is installed).",
    )  # fmt: skip
    callback: Callback | None = parameter(
        default=None, accepts=[callable, None], type="callable or None",
        text="Gets a `manymeans.Progress` after every pass; if it returns something false other than None, the fit "
        "stops and keeps the models so far.",
    )  # fmt: skip

    def _shown(self) -> dict[str, Any]:
        shown = {name: getattr(self, name) for name in ("n_threads", "callback", "verbose")}
        return shown | {"progress": bool(self.progress)}


@parameters
class Clustering(Fitting):
    """The parameters of estimators that fit centres with the library."""

    metric: str = parameter(
        default="euclidean", accepts=[StrOptions({"euclidean", "cosine"})], option=True,
        type='{"euclidean", "cosine"}',
        text="``\"cosine\"``: rows and centres are scaled to length one (spherical k-means), here and in `predict`; no "
        "row may be all zeros.",
    )  # fmt: skip
    min_size: int | None = parameter(
        default=None, accepts=[at_least(0), None], option=True,
        text="Min rows of a cluster; None: no minimum. Rows are assigned at the lowest total cost that the sizes "
        "allow. `predict` ignores sizes and gives the nearest centre.",
    )  # fmt: skip
    max_size: int | None = parameter(
        default=None, accepts=[at_least(1), None], option=True,
        text="Max rows of a cluster; None: no maximum.",
    )  # fmt: skip
    output: str = parameter(
        default="auto", accepts=[StrOptions({"auto", "numpy"})], type='{"auto", "numpy"}',
        text="What `labels_`, `cluster_centers_`, `predict` and `transform` are for points on a CUDA device: "
        "``\"auto\"``: arrays of the points' library, on that device; ``\"numpy\"``: arrays of NumPy.",
    )  # fmt: skip


# How a parameter with this annotation becomes what the library takes.
_PLAIN: dict[str, Check] = {"int": integer, "float": real, "str": text_of}


class _ObjectsError(BadDataError, TypeError):
    """Objects that are no numbers: scikit-learn's check_estimator requires a TypeError, and these words."""


def _without_objects(X: Any) -> Any:
    """Give an array of numbers of a list, an array of objects, or what NumPy makes objects of; else X as it is."""
    array = X if isinstance(X, np.ndarray) or is_dataframe(X) or is_scipy_sparse(X) else array_of(X, "X")
    if not isinstance(array, np.ndarray):
        return X
    if array.dtype.kind != "O":
        if array is not X:
            check_kind(array, "X")  # text of a list, and dates of other libraries, which scikit-learn would convert
        return X if hasattr(X, "columns") else array
    try:
        return plain_numbers(array, "X")
    except BadDataError as error:
        raise _ObjectsError(f"{error}; an argument must be neither a string nor another object, but a number") from None


def initial_of(given: Any, dtype: Any, *, copy: bool = False) -> npt.NDArray[Any]:
    """Check initial centres, or models, as scikit-learn does."""
    array: npt.NDArray[Any] = check_array(
        plain_numbers(given, "init"), dtype=dtype, order="C", copy=copy, input_name="init"
    )
    return array


class _FittingEstimator(Common, BaseEstimator):
    """Checked input, the options that all fits have, and what a fit leaves behind."""

    init: Any
    _parameters: dict[str, Parameter]
    result_: FitResult
    _keeps_sparse = False  # a sparse matrix is read as it is
    _answer: str | None = None  # where the models of which it is the digest are gone: after pickling

    # --- input --------------------------------------------------------------------------------------------------

    def _points(self, X: Any, *, reset: bool) -> Points:
        """Check as scikit-learn does; what the library can read stays where it is. It finds NaN and infinity itself."""
        known = None if reset else self._points_as_fitted(X)
        if known is not None:
            return known
        bfloat16 = isinstance(X, np.ndarray) and X.dtype.name == "bfloat16"
        lists = has_lists(X)
        if lists or has_objects(X) or bfloat16 or is_arrow(X) or is_tensor(X) or is_on_cuda(X):
            with self._names_first(X, reset):
                points = unwrap(X)
            assert points is not None
            ready = points.bfloat16 or points.on_device  # of types that scikit-learn does not know
            if ready or points.array.ndim != 2:
                points = conform(points)
            # Names count where each names a column of the points, not one of lists.
            named = not lists and points.names is not None and len(points.names) == points.array.shape[-1]
            validate_data(self, X if named else points.array, reset=reset, skip_check_array=True)
            if ready:
                return points
            warn_of_rounded(points.array, "X", points.names)
            array = check_array(points.array, **self._how(), estimator=self, input_name="X")
        else:
            refuse_files(X, "X")
            if is_scipy_sparse(X) and X.ndim != 2:
                conform(Points(X))
            X = in_native_order(unmasked(X, "X"))
            with self._names_first(X, reset):
                X = _without_objects(X)
                check_kind(X, "X")
            warn_of_rounded(X, "X")
            array = validate_data(self, X, reset=reset, accept_sparse="csr", **self._how())
        if not isinstance(array, np.ndarray):
            if self._keeps_sparse:
                return sparse_points(array)
            array = densify(array)
        names = getattr(self, "feature_names_in_", None)
        return Points(readable(array), names=None if names is None else list(names))

    @contextlib.contextmanager
    def _names_first(self, X: Any, reset: bool) -> Iterator[None]:
        """Let scikit-learn say first which columns of a frame the fit has not seen, and then what is wrong in them."""
        try:
            yield
        except BadDataError:
            if not reset and hasattr(self, "feature_names_in_") and hasattr(X, "columns"):
                validate_data(self, X, reset=False, skip_check_array=True)
            raise

    def _points_as_fitted(self, X: Any) -> Points | None:
        """Skip scikit-learn's checks where they would find nothing: they take longer than the labels of a few rows."""
        ready = is_ready(X)
        if not ready and not (is_on_cuda(X) and getattr(X, "ndim", 0) == 2 and X.shape[0] > 0):
            return None
        if X.shape[1] != vars(self).get("n_features_in_") or hasattr(self, "feature_names_in_"):
            return None
        return Points(X) if ready else from_device(X)

    @staticmethod
    def _how() -> dict[str, Any]:
        return {"dtype": DTYPES, "order": "C", "ensure_all_finite": False}

    @staticmethod
    def _weights(sample_weight: Any, points: Points, X: Any) -> npt.NDArray[np.float64] | None:
        if sample_weight is None:
            return None
        if points.on_device:
            return plain_weights(sample_weight, points.array.shape[0], X)
        check_rows("sample_weight", sample_weight, X)
        weights = plain_numbers(sample_weight, "sample_weight")
        counted = points.numbers if points.is_sparse else points.array
        return readable(_check_sample_weight(weights if weights.ndim else float(weights), counted, dtype=np.float64))

    def _options(self) -> dict[str, Any]:
        """Give the parameters that are options of the library, and the seed."""
        options = {
            name: _PLAIN[value.hint.split(" ")[0]](name, getattr(self, name))
            for name, value in self._parameters.items()
            if value.option and getattr(self, name) is not None
        }
        return options | {"seed": self._seed()}

    def _seed(self) -> int:
        """Draw from a generator only where something is chosen by chance, as scikit-learn does."""
        given = isinstance(self.random_state, (Integral, np.integer))
        return seed_of(self.random_state) if given or isinstance(self.init, str) else 0

    # --- results ------------------------------------------------------------------------------------------------

    @staticmethod
    def _warn(texts: list[str]) -> None:
        for text in texts:
            warnings.warn(printable(text), ConvergenceWarning, stacklevel=4)

    @property
    def answer_(self) -> str:
        """Digest of all models: 32 hexadecimal digits, equal for equal answers, on every machine."""
        check_is_fitted(self)
        return self._answer or self._fitted_result().digest

    @property
    def provenance_(self) -> dict[str, Any]:
        """Where the answer came from and what it cost: see docs/user/json.md."""
        check_is_fitted(self)
        return self._fitted_result().provenance

    def save(self, path: Any) -> None:
        """Write all models to a ``.npz`` that the command line's ``predict`` and `load` read.

        Parameters
        ----------
        path : str, bytes or path-like
            Where to write; the file appears whole or not at all.

        """
        check_is_fitted(self)
        self._fitted_result().save(path)

    def _fitted_result(self) -> FitResult:
        result: FitResult | None = getattr(self, "result_", None)
        if result is None:
            raise NotFittedError(
                f"this {type(self).__name__} has cluster_centers_ that were set by hand; only a fit has more to tell"
            )
        return result

    def _state_of_best(self, state: dict[str, Any]) -> dict[str, Any]:
        """Give what pickling keeps where one model counts: the best one, and the digest of all."""
        result = state.get("result_")
        if result is not None and len(result.models) > 1:
            state["_answer"], state["result_"] = self.answer_, result._only(result.best())
        return state

    def __getstate__(self) -> dict[str, Any]:
        """Give equal texts as one object: a pickle tells if they are one, which a copy of it may not have kept."""
        state = super().__getstate__().items()
        kept = {sys.intern(name): sys.intern(value) if type(value) is str else value for name, value in state}
        return hosted_state(kept)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(aligned(state))  # type: ignore[misc]  # scikit-learn has it

    def __sklearn_tags__(self) -> Any:
        """Describe what input is accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class _BaseEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, _FittingEstimator):
    """Labelling, distances and scores by `cluster_centers_`."""

    cluster_centers_: npt.NDArray[Any]
    labels_: npt.NDArray[np.int32]
    inertia_: float
    _prepared: PreparedCenters | None = None  # since the last fit
    _ranges: Ranges | None = None  # of the points, where there is no result_ that knows them

    def _check_fitted(self) -> None:
        if "cluster_centers_" not in vars(self):
            check_is_fitted(self)

    def _test_points(self, X: Any) -> Points:
        self._check_fitted()
        return self._measured(self._points(X, reset=False))

    def _measured(self, points: Points, *, compare: bool = True) -> Points:
        """Give points as the fit measures them; `compare` warns of those far outside the points of the fit."""
        result: FitResult | None = getattr(self, "result_", None)  # none where a user has set cluster_centers_
        if result is None:
            if compare:
                warn_of_outside(points, self._ranges)
            metric = getattr(self, "metric", "euclidean")
            return as_measured(points, metric, self._fitted_centers(), self.n_threads)
        centers = vars(self).get("cluster_centers_")  # a user may have set others since
        there = self._placed_centers()
        own = centers is None or (there is not None and centers is there.array)
        own = own or any(model.cluster_centers is centers for model in result.models)
        return result._scaled(points, self.n_threads, compare=compare and own)

    def _take_metric(self, metric: str) -> None:
        """Be an estimator of the metric of a model file."""
        self.metric = metric

    def _keep(self, result: FitResult, best: Model, X: Any = None) -> None:
        """Take the results of a fit to X, or of a model file."""
        self._answer = None
        self.result_ = result
        self.cluster_centers_ = best.cluster_centers
        self.inertia_ = best.inertia
        if best.labels is not None:
            self.labels_ = best.labels.astype(np.int32)
        there = None
        if self._output() == "auto" and is_on_cuda(X):
            self.cluster_centers_ = copied_like(X, best.cluster_centers)
            if best.labels is not None:
                self.labels_ = copied_like(X, self.labels_)
            there = PlacedCenters.of(self.cluster_centers_, best.cluster_centers)
        self._prepared = PreparedCenters(there)

    def _output(self) -> str:
        """Give the parameter `output`, for estimators that have it."""
        return getattr(self, "output", "numpy")

    def _placed_centers(self) -> PlacedCenters | None:
        return None if self._prepared is None else self._prepared.placed

    def _fitted_centers(self) -> npt.NDArray[Any]:
        self._check_fitted()
        there = self._placed_centers()
        if there is not None and there.are(self.cluster_centers_):
            return there.host
        return plain_centers(self.cluster_centers_, "cluster_centers_")

    def _predictor_of(self, centers: npt.NDArray[Any]) -> _manymeans.Predictor:
        """Give the one of the last call, where the centres are still the same."""
        return _manymeans.Predictor(centers) if self._prepared is None else self._prepared.predictor_of(centers)

    def _predict(self, X: Any, centers: npt.NDArray[Any], out: Any = None) -> Any:
        points, predictor = self._test_points(X), self._predictor_of(centers)

        def labels(room: Room | None) -> Any:
            return predict_points(
                points, centers, predictor, n_threads=self.n_threads, backend=self.backend, room=room
            )[0]

        return placed(X, Result((points.array.shape[0],), "int32", labels), self._output(), out)

    def _transform(self, X: Any, centers: npt.NDArray[Any], out: Any = None) -> Any:
        points, predictor = self._test_points(X), self._predictor_of(centers)

        def distances(room: Room | None) -> Any:
            return transform_points(
                points, centers, predictor, n_threads=self.n_threads, backend=self.backend, room=room
            )

        wide = points.wide or centers.dtype == np.float64
        shape = (points.array.shape[0], centers.shape[0])
        # A frame that scikit-learn makes of the result needs an array of the host.
        output = self._output() if _get_output_config("transform", self)["dense"] == "default" else "numpy"
        return placed(X, Result(shape, "float64" if wide else "float32", distances), output, out)

    def _score(self, X: Any, sample_weight: Any, centers: npt.NDArray[Any]) -> float:
        points = self._test_points(X)
        weights = self._weights(sample_weight, points, X)
        _, _, inertia = predict_points(
            points,
            centers,
            self._predictor_of(centers),
            n_threads=self.n_threads,
            backend=self.backend,
            inertia=True,
            weights=weights,
        )
        return -inertia

    @property
    def _n_features_out(self) -> int:
        return int(np.shape(self.cluster_centers_)[0])  # a user may have set them


class _NoResultError(UsageError, AttributeError):
    """An attribute that only a `FitResult` has: hasattr returns False."""


def hosted(points: Points) -> Points:
    """Return points whose rows can be chosen: points of a device are copied to the host's memory."""
    return points._replace(array=points.numbers, bfloat16=False) if points.on_device else points


def warn_of_weights(texts: list[str]) -> None:
    """Warn of weights that are too small, where other warnings of a fit are scikit-learn's."""
    for text in texts:
        if text.startswith("weights from "):
            warn(text)


def warn_of_few(distinct: int, n_clusters: int) -> None:
    """Warn as scikit-learn does where some clusters are empty."""
    if distinct < n_clusters:
        warn(
            f"Number of distinct clusters ({distinct}) found smaller than n_clusters ({n_clusters}). "
            "Possibly due to duplicate points in X.",
            ConvergenceWarning,
        )


class _Clusterer(_BaseEstimator):
    """The methods of scikit-learn's clusterers of k-means, for one model."""

    _fitted_to = NOTHING

    def predict(self, X: Any, *, out: Any = None) -> Any:
        """Label points by the nearest centre, ties to the lowest index.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points.
        out : array of shape (n_samples,), default=None
            int32, of NumPy or CuPy, or a tensor of torch on a CUDA device: the labels are written there.

        Returns
        -------
        labels : array of shape (n_samples,)
            int32: `out`, or an array of NumPy. For points on a CUDA device it is an array of their library on that
            device, unless the estimator has ``output="numpy"``.

        """
        return self._predict(X, self._fitted_centers(), out)

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> npt.NDArray[np.int32]:
        """Fit the model and give the labels of its points.

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
        labels : ndarray of shape (n_samples,)
            int32.

        """
        self.fit(X, sample_weight=sample_weight)
        return self.labels_

    def transform(self, X: Any, *, out: Any = None) -> Any:
        """Give the Euclidean distances of all points to all centres.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points.
        out : array of shape (n_samples, n_clusters), default=None
            Of the type of the result, as for `predict`.

        Returns
        -------
        X_new : array of shape (n_samples, n_clusters)
            float64 where points or centres are, else float32. It lies where the labels of `predict` would.

        """
        return self._transform(X, self._fitted_centers(), out)

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit the model and give the distances of its points to all centres.

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
        X_new : array of shape (n_samples, n_clusters)
            float64 for float64 points, else float32; as `transform` gives it.

        """
        self.fit(X, sample_weight=sample_weight)
        return self._transform(X, self._fitted_centers())

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Give the negative inertia of points: on the points of the fit exactly ``-inertia_``, unless sizes had bounds.

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
        return self._score(X, sample_weight, self._fitted_centers())

    def summary(self, X: Any = None, sample_weight: Any = None, *, profile: Any = None) -> Any:
        """Describe the clusters in the units of the points.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), default=None
            Points to describe the clusters by. By default the points of the fit: it keeps 64 MiB or less, and finds
            others and their weights as long as the program keeps them, except long lists.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights.
        profile : frame, Series, array or dict, default=None
            Other columns of the same rows.

        Returns
        -------
        summary : pandas.DataFrame
            As `manymeans.summary` gives it.

        """
        return self._profile(X, sample_weight).table(profile)

    def _profile(self, X: Any, sample_weight: Any) -> Profile:
        self._check_fitted()
        own = X is None
        if own:
            X, sample_weight = self._fitted_to.objects()
        points, centers = self._points(X, reset=False), self._fitted_centers()
        weights = self._weights(sample_weight, points, X)
        measured = self._measured(points, compare=False)
        # Centres that were set by hand have neither.
        fitted = on_host(getattr(self, "labels_", None)), getattr(self, "inertia_", math.nan)
        found = labelled(measured, weights, centers, fitted, None if own else lambda: on_host(self.predict(X)))
        result: FitResult | None = getattr(self, "result_", None)
        profile, names = Profile(X, weights, found, centers), getattr(self, "feature_names_in_", None)
        if result is None:
            return profile.of_points(points, names)
        return result._describe(profile, points, measured, names)


class _WithoutResult(_Clusterer):
    """Clusterers whose fit is more than one fit of the library."""

    def _fitted_result(self) -> FitResult:
        name = type(self).__name__
        raise _NoResultError(f"a {name} has no FitResult, and so no provenance and no model file; pickle keeps it")
