"""RegressionClustering: clusters that are linear models of a target."""

from __future__ import annotations

import os
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_consistent_length
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_y, check_is_fitted

from . import _manymeans, _threads
from ._alignment import check_rows
from ._base import Fitting, _FittingEstimator, at_least, initial_of
from ._declaring import parameter, parameters
from ._errors import BadDataError, UsageError
from ._functions import run_regress
from ._input import Points, Target, in_order, plain_numbers, readable
from ._labelling import is_scaled, matching
from ._outside import warn_of_outside
from ._parameters import integer
from ._profile import NOTHING, Profile, Remembered
from ._result import FitResult, Model
from ._scales import without_logs
from ._sklearn import RegressorMixin, checks_parameters
from ._tables import columns_by_name, naming
from ._wording import shown


@parameters
class RegressionClustering(Fitting, RegressorMixin, _FittingEstimator):
    """Regression clustering: `n_clusters` linear models, and each row belongs to the one that predicts its target best.

    The method is also known as clusterwise linear regression or k-plane regression. Clusters may lie in the same place:
    what makes them clusters is how the target depends on the features there. The answer is a function of the rows, the
    weights, the parameters and the seed: never of the number of threads, the instruction set or the backend.

    Attributes
    ----------
    coef_ : ndarray of shape (n_clusters, n_terms)
        Coefficients, float64 (float32 in a file of ``manymeans regress --dtype float32``); n_terms is n_features for
        ``degree=1``. A feature that a cluster cannot tell from others has 0: it is constant there, or the cluster has
        too few rows.
    intercept_ : ndarray of shape (n_clusters,)
        Intercepts.
    labels_ : ndarray of shape (n_samples,)
        int32: the model that predicts a row's target best; ties go to the lowest index.
    inertia_ : float
        Weighted sum of squared residuals, each row by its own model, exact to about 1e-12 relative.
    r2_ : float
        1 - `inertia_` / weighted sum of squares of the target around its mean: how well the models explain rows whose
        target is known, which `score` does not say.
    bic_ : float
        n (ln(2 pi inertia_ / n) + 1) + p ln n; the lowest is best. The sum of the weights is n, the number of
        coefficients, intercepts and shares of clusters is p.
    cluster_r2_ : ndarray of shape (n_clusters,)
        R2 of each cluster: 1 - its squared residuals / sum of squares of its targets around their mean; NaN where its
        targets are equal.
    standard_errors_ : ndarray of shape (n_clusters, n_terms + 1)
        Standard errors of the coefficients and, last, of the intercept: those of least squares in the cluster, whose
        rows they take as given. NaN for a feature without a coefficient, with `ridge`, and for a cluster whose weight
        is no more than its coefficients. They and `cluster_r2_` are None in older model files.
    cluster_means_ : ndarray of shape (n_clusters, n_terms)
        Mean of the terms of each cluster's rows.
    n_iter_ : int
        Updates of the best model.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where all are strings.
    result_ : FitResult
        All `n_init` fits; after pickling or copying the estimator the best one only.
    answer_ : str
        Digest of all fits.
    provenance_ : dict
        Where the answer came from and what it cost.

    Raises
    ------
    ValueError
        For parameters out of range, fewer rows than coefficients, NaN, infinity, negative weights.
    KeyboardInterrupt
        On Ctrl-C, within about a second.

    See Also
    --------
    KMeans : Clusters that are points.

    Examples
    --------
    >>> import numpy as np
    >>> from manymeans import RegressionClustering
    >>> x = np.arange(10.0).repeat(2)[:, np.newaxis]
    >>> y = np.where(np.arange(20) % 2, 3 * x[:, 0] + 1, 20 - x[:, 0])  # two lines that cross
    >>> lines = RegressionClustering(n_clusters=2, random_state=0).fit(x, y)
    >>> sorted(lines.coef_.round(9).tolist())
    [[-1.0], [3.0]]
    >>> bool(lines.r2_ > 0.999999)
    True

    """

    _fitted_to = NOTHING
    n_clusters: int = parameter(default=2, accepts=[at_least(1)], kw_only=False, text="Number of linear models.")
    n_init: int = parameter(
        default=8, accepts=[at_least(1)], text="Fits from different seeds, of which the one of lowest error is kept."
    )
    init: Any = parameter(
        default="auto", accepts=[StrOptions({"auto", "random-subsets", "kmeans", "kmeans-x"}), "array-like"],
        type='{"auto", "random-subsets", "kmeans", "kmeans-x"} or array-like of shape (n_clusters, n_features + 1)',
        text="Initial models: each from n_features + 1 random rows (``\"auto\"`` is this), from the clusters of a "
        "k-means fit of features and target, or of features alone (``\"kmeans-x\"``), or given: coefficients, and the "
        "intercept last.",
    )  # fmt: skip
    swaps: int = parameter(
        default=10, accepts=[at_least(0)], option=True,
        text="Before a fit iterates to the end, its least useful model is replaced by the best of 16 candidates, until "
        "so many trials in a row have not lowered the error; 0: not at all.",
    )  # fmt: skip
    fit_intercept: bool = parameter(default=True, accepts=["boolean"], text="Whether models have an intercept.")
    ridge: float = parameter(
        default=0.0, accepts=[Interval(Real, 0, None, closed="left")], option=True,
        text="Each feature's centred sum of squares in a cluster grows by this share of itself; 0: least squares.",
    )  # fmt: skip
    degree: int = parameter(
        default=1, accepts=[Interval(Integral, 1, 2, closed="both")],
        text="2: models of squares and products of features, too, at most 256 terms in all. They stand behind the "
        "features: x0^2, x0*x1, ..., x1^2, ...",
    )  # fmt: skip
    products: bool = parameter(
        default=True, accepts=["boolean"], text="False leaves out products of different features where `degree` is 2."
    )
    gating: str = parameter(
        default="nearest", accepts=[StrOptions({"nearest", "prior", "columns"})],
        type='{"nearest", "prior", "columns"}',
        text="How `predict` chooses among the models, which it cannot know: the model of the cluster whose mean is "
        "nearest in features divided by their deviations, the mean of all models weighted by their clusters, or what "
        "each of them says, a column each. docs/user/regression.md says when each is right.",
    )  # fmt: skip
    max_iter: int = parameter(
        default=3000, accepts=[at_least(1)], option=True,
        text="Max updates of the models of a fit, those of the swaps included.",
    )  # fmt: skip
    tol: float = parameter(
        default=1e-4, accepts=[Interval(Real, 0, None, closed="left")], option=True,
        text="For the stop rule ``tol``, which depends on the units of the features.",
    )  # fmt: skip
    stop: str = parameter(default="strict")
    empty: str = parameter(
        default="farthest", accepts=[StrOptions({"farthest", "keep", "drop", "error"})], option=True,
        type='{"farthest", "keep", "drop", "error"}',
        text="What happens to a cluster without rows; ``\"farthest\"`` re-seeds it from the largest residual.",
    )  # fmt: skip
    algorithm: str = parameter(
        default="auto", accepts=[StrOptions({"auto", "brute"})], option=True, type='{"auto", "brute"}',
        text="How labels are found. Never changes the answer.",
    )  # fmt: skip

    @checks_parameters
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> RegressionClustering:
        """Fit the models.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features; see `KMeans.fit` for what is taken. Features and target are copied once, side by side, as float64.
            Models have the type of their rows, and float32 cannot hold the least squares of columns far from zero. The
            copy has 8 (n_features + 1) bytes a row.
        y : array-like of shape (n_samples,)
            Target.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights, 0 or larger; None: all equal.

        Returns
        -------
        self : RegressionClustering
            The fitted estimator.

        """
        points = self._points(X, reset=True)
        target = self._target(y, points, X)
        weights = self._weights(sample_weight, points, X)
        names, terms = points.names, (int(self.degree), bool(self.products))
        points = self._in_terms(points, terms, np.empty((0, 0)))
        n, each = points.array.shape[0], points.array.shape[1] + bool(self.fit_intercept)
        if n < self.n_clusters * each:
            raise ValueError(
                f"n_samples={n} should be >= {self.n_clusters * each}: n_clusters={self.n_clusters} linear models of "
                f"{each} coefficients."
            )
        options = self._fit_options()
        initial = None
        if isinstance(self.init, str):
            options["init"] = self.init
        else:
            given = in_order(self.init, "init", self._columns_of_models(points, target))
            initial = initial_of(given, [np.float64, np.float32])
            options["models"] = 1
        result = run_regress(points, target, weights, options, initial=initial, **self._shown())
        result = result._of_terms(terms, [*names, target.name] if names else [])
        self._keep(result, result.best())
        self._fitted_to = Remembered(X, y, sample_weight)
        self._warn(result.warnings)
        return self

    def _columns_of_models(self, points: Points, target: Target) -> list[str]:
        """Return the names of the columns of initial models: the features, then the intercept, under any name."""
        names = list(points.names or ())
        # A column of pandas may be called column_names.
        given = () if hasattr(self.init, "iloc") else getattr(self.init, "column_names", ())
        given = given or getattr(self.init, "columns", ())
        return names and [*names, next((str(name) for name in given if str(name) not in names), target.name)]

    def _target(self, y: Any, points: Points, X: Any) -> Target:
        if y is None:
            raise ValueError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None.")
        check_rows("y", y, X)
        name = getattr(y, "name", None)
        given = plain_numbers(y, "y")
        wrong = np.argwhere(~np.isfinite(given))
        if wrong.size:
            shown = str(given[tuple(wrong[0])]).replace("nan", "NaN").replace("inf", "infinity")
            raise BadDataError(f"[y] row {wrong[0][0]} is {shown}; every target must be finite (leave out such rows)")
        values = _check_y(given, y_numeric=True, estimator=self)
        check_consistent_length(points.array, values)
        column = readable(values.reshape(-1, 1).astype(np.float64, copy=False))  # so are the rows that it is part of
        return Target(column, name if isinstance(name, str) else "y")

    def _keep(self, result: FitResult, best: Model) -> None:
        self._answer = None
        self.result_ = result
        self._model = best
        coefficients, means = best.cluster_centers, best.means
        assert means is not None
        if is_scaled(result.scaling):  # of a model file of the command line
            offset, divisor = (np.asarray(result.scaling[name])[:-1] for name in ("offset", "divisor"))
            slopes = coefficients[:, :-1] / divisor
            coefficients = np.column_stack([slopes, coefficients[:, -1] - (slopes * offset).sum(axis=1)])
            means = without_logs(means * divisor + offset, result.scaling.get("log", [])[:-1])
        self.coef_, self.intercept_ = coefficients[:, :-1].copy(), coefficients[:, -1].copy()
        self.cluster_means_ = means
        self.inertia_, self.r2_, self.bic_ = best.inertia, best.r2, best.bic
        self.cluster_r2_, self.standard_errors_ = best.cluster_r2, best.standard_errors
        self.n_iter_ = best.n_iter
        self.__dict__.pop("labels_", None)  # of an earlier fit
        if best.labels is not None:
            self.labels_ = best.labels.astype(np.int32)

    def _features(self, X: Any) -> Points:
        """Give features as they go into the models: of a model file of the command line, scaled."""
        check_is_fitted(self)
        points = self._points(X, reset=False)
        scaling, names = self.result_.scaling, self.result_.column_names[:-1]
        array = columns_by_name(points.array, points.names, names)
        if array is not points.array:
            points = Points(array, points.bfloat16, names, points.source)
        points = self._in_terms(points, self.result_._terms, self._model.cluster_centers)
        warn_of_outside(points, self.result_._ranges, scaling)
        if is_scaled(scaling):
            points = matching(points, self._model.cluster_centers)  # scaled as wide as the fit scaled them
            scaling = scaling | {name: list(scaling.get(name, []))[:-1] for name in ("offset", "divisor", "log")}
            threads = _threads.effective(self.n_threads)
            array = _manymeans.apply_scaling(points.array, points.bfloat16, scaling, threads)
            points = Points(array, names=points.names, source=points.source)
        return points

    def _in_terms(self, points: Points, terms: tuple[int, bool], models: npt.NDArray[Any]) -> Points:
        """Give squares and products, too, as wide as the models."""
        if terms[0] == 1:
            return points
        points = matching(points, models)
        threads = _threads.effective(self.n_threads)
        array, names = _manymeans.make_terms(points.array, points.bfloat16, terms, points.names or [], threads)
        return Points(array, names=names or None, source=points.source)

    def _how_and_where(self) -> dict[str, Any]:
        return {"backend": self.backend, "threads": _threads.effective(self.n_threads)}

    def predict(self, X: Any, gating: str | None = None) -> npt.NDArray[np.float64]:
        """Predict the target of rows from their features alone.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        gating : {"nearest", "prior", "columns"}, default=None
            Replaces the parameter of that name.

        Returns
        -------
        y : ndarray of shape (n_samples,), or (n_samples, n_clusters) with ``"columns"``
            Predicted targets.

        """
        gating = self.gating if gating is None else gating
        points = self._features(X)
        with naming(points.names, points.source):
            found = _manymeans.regress_predict(
                points.array, points.bfloat16, self._model._as_dict(), self._how_and_where() | {"gating": gating}
            )
        return found if gating == "columns" else found[:, 0]

    def predict_cluster(self, X: Any, y: Any) -> npt.NDArray[np.int32]:
        """Label rows whose target is known by the model that predicts it best, ties to the lowest index.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,)
            Target.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            int32; for its own rows the labels of the fit.

        """
        points = self._features(X)
        target = self._target(y, points, X)
        rows = {"points": points.array, "bfloat16": points.bfloat16, "target": target.values}
        with naming(points.names, points.source):
            labels = _manymeans.regress_labels(rows, self._model.cluster_centers, self._how_and_where())
        return labels.astype(np.int32)

    def fit_predict(self, X: Any, y: Any, sample_weight: Any = None) -> npt.NDArray[np.int32]:
        """Fit the models and give the labels of the rows, as clusterers do; `predict` gives targets.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,)
            Target.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            int32.

        """
        self.fit(X, y, sample_weight=sample_weight)
        return self.labels_

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Give R2 of `predict`: of targets that the models did not see. (`r2_` comes from the fit, which saw them.)

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,)
            Target.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights.

        Returns
        -------
        score : float
            1 - (sum of squared errors) / (sum of squares of y around its mean).

        """
        if self.gating == "columns":
            raise UsageError('[gating] "columns" predicts no single target; score needs "nearest" or "prior"')
        check_rows("y", y, X)
        check_rows("sample_weight", sample_weight, X)
        weights = None if sample_weight is None else plain_numbers(sample_weight, "sample_weight")
        return float(super().score(X, plain_numbers(y, "y"), weights))

    def cross_validated_r2(
        self, X: Any = None, y: Any = None, sample_weight: Any = None, *, folds: int = 5, gating: str | None = None
    ) -> float:
        """Give R2 of predictions for rows that the models have not seen: fit to the other folds, predict each fold.

        `r2_` is larger, since there the target of a row has chosen its model. ``manymeans regress --folds`` gives the
        same numbers.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), default=None
            Features; by default the features of the fit: 64 MiB or less, others as long as the program keeps them.
        y : array-like of shape (n_samples,), default=None
            Target.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights.
        folds : int, default=5
            Number of parts of the rows, and of fits. Row i is in the fold that the library's random number of the
            seed and i draws, in every order of computing.
        gating : {"nearest", "prior"}, default=None
            How the features of a row say which model predicts it; replaces the parameter of that name.

        Returns
        -------
        r2 : float
            1 - (weighted sum of squared errors) / (weighted sum of squares of y around its mean); NaN for a constant y.

        """
        check_is_fitted(self)
        gating = self.gating if gating is None else gating
        if gating not in ("nearest", "prior"):
            raise UsageError(f'[gating] {shown(gating)} predicts no single target; "nearest" or "prior" is right')
        if not isinstance(self.init, str):
            raise UsageError("[init] given models may have seen the rows that are held out; name a method")
        if X is None:
            X, y, sample_weight = self._fitted_to.objects()
        points = self._points(X, reset=False)
        target, weights = self._target(y, points, X), self._weights(sample_weight, points, X)
        points = self._in_terms(points, self.result_._terms, np.empty((0, 0)))
        options = self._fit_options() | {"init": self.init, "threads": _threads.effective(self.n_threads)}
        options["seed"] = self.result_.provenance["options"]["seed"]
        rows = {"points": points.array, "bfloat16": points.bfloat16, "target": target.values}
        given = {name: value for name, value in options.items() if value is not None}
        with naming(points.names, points.source):
            found = _manymeans.regress_cross_validate(rows, weights, given, integer("folds", folds, 2))
        return found[0][gating]

    def _fit_options(self) -> dict[str, Any]:
        return self._options() | {
            "k": [int(self.n_clusters)], "models": int(self.n_init), "intercept": bool(self.fit_intercept),
        }  # fmt: skip

    def summary(self, X: Any = None, y: Any = None, sample_weight: Any = None, *, profile: Any = None) -> Any:
        """Describe the linear models and the rows of each.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), default=None
            Features; by default the features of the fit: 64 MiB or less, others as long as the program keeps them.
        y : array-like of shape (n_samples,), default=None
            Target.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights.
        profile : frame, Series, array or dict, default=None
            Other columns of the same rows.

        Returns
        -------
        summary : pandas.DataFrame
            As `manymeans.summary` gives it.

        """
        return self._profile(X, y, sample_weight).table(profile)

    def _profile(self, X: Any, y: Any, sample_weight: Any) -> Profile:
        check_is_fitted(self)
        own = X is None
        if own:
            X, y, sample_weight = self._fitted_to.objects()
        points = self._points(X, reset=False)
        names = points.names or [f"x{j}" for j in range(points.array.shape[1])]
        target, weights = self._target(y, points, X), self._weights(sample_weight, points, X)
        labels, values = self.predict_cluster(X, y), target.values[:, 0]
        squares = (values - self.predict(X, gating="columns")[np.arange(len(labels)), labels]) ** 2
        masses = np.ones(len(labels)) if weights is None else weights
        if own and not np.isclose(squares @ masses, self.inertia_, rtol=1e-6, atol=1e-12 * (values**2 @ masses)):
            raise UsageError("[X] the rows of the fit have changed since; pass those that are meant as X and y")
        terms = self._in_terms(points._replace(names=names), self.result_._terms, self._model.cluster_centers).names
        coefficients = {f"{name} (coef)": values for name, values in zip(terms or [], self.coef_.T, strict=True)}
        if self.standard_errors_ is not None:
            errors = zip(["intercept", *(terms or [])], np.roll(self.standard_errors_, 1, axis=1).T, strict=True)
            coefficients |= {f"{name} (error)": values for name, values in errors}
        r2 = _r2_of_clusters(values, labels, squares, masses, len(self.coef_))
        profile = Profile(
            X, weights, (labels, squares), self.coef_, {"r2": r2, "intercept": self.intercept_} | coefficients
        )
        return profile.of_columns([*names, target.name], [*points.numbers.T, values])

    def __getstate__(self) -> Any:
        """Give what pickling keeps: of the fits the best one, and the digest of all."""
        return self._state_of_best(dict(super().__getstate__()))

    def save(self, path: Any) -> None:
        """Write all models to a ``.npz`` that ``manymeans predict`` and `load` read.

        `load` finds `gating` there, too; ``manymeans predict`` has an option ``--gating`` of its own.

        Parameters
        ----------
        path : str, bytes or path-like
            Where to write; the file appears whole or not at all.

        """
        check_is_fitted(self)
        self._fitted_result()._with_options({"gating": self.gating}).save(path)

    @classmethod
    def load(cls, path: str | bytes | os.PathLike[Any], k: int | None = None) -> RegressionClustering:
        """Read a model file that `save` or ``manymeans regress --model`` has written; the best of its fits is taken.

        The parameters are the parameters of the fit, so that a clone of the estimator fits the same models to the same
        rows. Fits with initial models, or with ``--scale``, ``--model-seed``, ``--dtype`` or ``--max-iter 0`` on the
        command line, have no parameters here. Parameters of the run that do not affect the answer have their defaults:
        `algorithm`, `backend`, `n_threads`, `time_limit`, `verbose`, `progress`, `callback`.

        Parameters
        ----------
        path : str, bytes or path-like
            A ``.npz``.
        k : int, default=None
            The number of models; needed where the file holds fits of several.

        Returns
        -------
        estimator : RegressionClustering
            Fitted, without `labels_`.

        """
        result = FitResult.load(path)._of_kind(linear=True)
        best = result.best(k)
        degree, products = result._terms
        options = _parameters_of(result.provenance["options"])
        estimator = cls(best.k_requested, degree=degree, products=products, **options)
        estimator._keep(result, best)
        estimator.n_features_in_ = result._points_of_fit()["columns"] - 1
        if result.column_names:
            estimator.feature_names_in_ = np.asarray(result.column_names[:-1], dtype=object)
        return estimator


def _r2_of_clusters(
    target: npt.NDArray[Any], labels: npt.NDArray[Any], squares: npt.NDArray[Any], masses: npt.NDArray[Any], k: int
) -> npt.NDArray[np.float64]:
    """Give the share of the target's variance in each cluster that its model explains; NaN where there is none."""
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.bincount(labels, masses * target, minlength=k) / np.bincount(labels, masses, minlength=k)
        around = np.bincount(labels, masses * (target - means[labels]) ** 2, minlength=k)
        found: npt.NDArray[np.float64] = 1 - np.bincount(labels, masses * squares, minlength=k) / around
    return np.where(around > 0, found, np.nan)


#: Names in a model file of the parameters that it may hold.
_PARAMETERS = {
    "n_init": "models", "init": "init", "swaps": "swaps", "fit_intercept": "intercept", "ridge": "ridge",
    "gating": "gating", "max_iter": "max_iter", "tol": "tol", "stop": "stop", "empty": "empty", "random_state": "seed",
}  # fmt: skip


def _parameters_of(options: dict[str, Any]) -> dict[str, Any]:
    """Give the parameters of the estimator that fits as the options of a model file say."""
    found = {parameter: options[name] for parameter, name in _PARAMETERS.items() if options.get(name) is not None}
    found["n_init"], found["max_iter"] = max(1, found["n_init"]), max(1, found["max_iter"])
    return found
