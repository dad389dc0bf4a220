"""The result of a fit: models, and where they came from."""

from __future__ import annotations

import copy
import json
import math
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _manymeans
from ._errors import StoppedError, UsageError
from ._imports import importing
from ._input import Points, plain_points, plain_weights, restore
from ._labelling import as_measured, predict_points, scaled
from ._opening import existing, opened, weights_of
from ._outside import UNSCALED, Ranges, warn_of_outside
from ._page import fragment
from ._parameters import integer, path_of, real
from ._profile import NOTHING, Profile, Remembered, labelled, without_points
from ._scales import linear_units, logs_alone
from ._summary import provenance_of_answer, read_provenance, read_summary, written_provenance
from ._tables import Source, check_output, columns_by_name, columns_of_fit, files_of
from ._wording import in_python, shown

#: How one of several models is chosen: by its inertia, or by what a function says of it; the least wins.
Criterion = str | Callable[["Model"], float]

# Keys of a model in the library's dicts; "labels" is missing in what was loaded from a file.
_FIELDS = (
    "k", "k_requested", "replica", "seed", "init", "inertia", "n_iter", "stop_reason", "cluster_centers", "counts",
    "weights",
)  # fmt: skip


# Further fields of linear models.
_LINEAR_FIELDS = ("r2", "bic", "means", "feature_scales", "cluster_r2", "standard_errors")


class Model:
    """One fitted model.

    Attributes
    ----------
    k : int
        Number of clusters (fewer than `k_requested` only with ``empty="drop"``).
    k_requested : int
        Number of clusters asked for.
    replica : int
        0, 1, ... among the models of one `k_requested`.
    seed : int
        The model's own seed: ``fit(..., model_seed=seed)`` gives this model again.
    init : str
        The initialisation that was used.
    cluster_centers : ndarray of shape (k, n_features)
        float64 for float64 points, else float32; in the scaled space if the model file has a scaling.
    labels : ndarray of shape (n_samples,) or None
        In the smallest unsigned type that holds them; it is None for a model from a file.
    counts : ndarray of shape (k,)
        Rows per cluster.
    weights : ndarray of shape (k,)
        Weight per cluster.
    inertia : float
        Weighted sum of squared distances to the nearest centre, exact to about 1e-12 relative.
    n_iter : int
        Updates of the centres. (`KMeans.n_iter_` counts as scikit-learn does: one more after ``strict``.)
    stop_reason : str
        ``"strict"`` (no label changed), ``"tol"``, ``"max_iter"``, ``"time_limit"``, ...; ``"not_begun"`` when the fit
        was stopped before this model's first pass.
    seconds : float
        Its share of the passes; NaN after loading and unpickling: equal models have equal files.
    rounds : int or None
        For a model with a search: the rounds that it did. This number of rounds gives the same model again.
    search : list of (int, float, float) or None
        How it was found: round, seconds and inertia of what the search began with, and of everything better. Seconds
        are NaN after unpickling.
    r2, bic : float or None
        Of linear models: the share of the target's variance that they explain, each row by its own model, and the
        Bayesian information criterion.
    means, feature_scales : ndarray or None
        Of linear models: the mean of the features in each cluster, and the deviation of each feature over all rows.
    cluster_r2, standard_errors : ndarray or None
        Of linear models: R2 of each cluster, and the standard errors of its coefficients and, last, of its intercept,
        in the units of the file; None for older files.

    """

    # Its FitResult tells it others.
    _metric = "euclidean"
    _column_names: Sequence[str] = ()
    _scaling: dict[str, Any] = UNSCALED
    _fitted_to = NOTHING

    def __init__(self, values: dict[str, Any], digest: str | None = None) -> None:
        self.k: int = values["k"]
        self.k_requested: int = values["k_requested"]
        self.replica: int = values["replica"]
        self.seed: int = values["seed"]
        self.init: str = values["init"]
        self.inertia: float = values["inertia"]
        self.n_iter: int = values["n_iter"]
        self.stop_reason: str = values["stop_reason"]
        self.cluster_centers: npt.NDArray[Any] = values["cluster_centers"]
        self.labels: npt.NDArray[Any] | None = values.get("labels")
        self.counts: npt.NDArray[np.int64] = values["counts"]
        self.weights: npt.NDArray[np.float64] = values["weights"]
        self.seconds: float = values.get("seconds", math.nan)
        self.rounds: int | None = values.get("rounds")
        self.search: list[tuple[int, float, float]] | None = values.get("search")
        self.r2: float | None = values.get("r2")
        self.bic: float | None = values.get("bic")
        self.means: npt.NDArray[np.float64] | None = values.get("means")
        self.feature_scales: npt.NDArray[np.float64] | None = values.get("feature_scales")
        self.cluster_r2: npt.NDArray[np.float64] | None = values.get("cluster_r2")
        self.standard_errors: npt.NDArray[np.float64] | None = values.get("standard_errors")
        self._left_out: list[list[int]] = values.get("left_out", [])
        self._residuals: npt.NDArray[np.float64] | None = values.get("residuals")
        self._digest: str | None = values.get("digest", digest)

    @property
    def linear(self) -> bool:
        """Return whether `cluster_centers` are linear models: coefficients, and last the intercept."""
        return self.means is not None

    @property
    def begun(self) -> bool:
        """Return whether the model has centres. False only if the fit was stopped early."""
        return self.stop_reason != "not_begun"

    @property
    def digest(self) -> str:
        """32 hexadecimal digits that two models share only if all of their bits are the same. O(n_samples) once."""
        if self._digest is None:
            labels = np.ascontiguousarray(self.labels, dtype=np.uint32)
            self._digest = _manymeans.digest(self._as_dict() | {"labels": labels})
        return self._digest

    def __getstate__(self) -> dict[str, Any]:
        """Keep what equal models share, so that their pickles are the same bytes."""
        search = None if self.search is None else [(step, math.nan, inertia) for step, _, inertia in self.search]
        lasting = {"seconds": math.nan, "search": search, "_digest": self.digest}
        return without_points(vars(self) | lasting)

    def __setstate__(self, state: dict[str, Any]) -> None:
        restore(self, state)

    def _alone(self) -> FitResult:
        """Give a result of this model alone, which takes points as its fit did."""
        values = {"models": [], "warnings": [], "interrupted": False, "provenance": "", "metric": self._metric,
                  "scaling": self._scaling}  # fmt: skip
        result = FitResult(values, list(self._column_names))
        result.models, result._fitted_to = [self], self._fitted_to
        return result

    def summary(self, X: Any = None, sample_weight: Any = None, *, profile: Any = None) -> Any:
        """Describe the clusters in the units of the points.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), Dataset or path, optional
            Points; by default the points of the fit: 64 MiB or less, others as long as the program keeps them.
        sample_weight : array-like of shape (n_samples,), optional
            Their weights.
        profile : frame, Series, array or dict, optional
            Other columns of the same rows.

        Returns
        -------
        summary : pandas.DataFrame
            As `manymeans.summary` gives it.

        """
        return self._profile(X, sample_weight).table(profile)

    def _profile(self, X: Any, sample_weight: Any) -> Profile:
        return self._alone()._profile(X, sample_weight)

    def _as_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in (*_FIELDS, *(_LINEAR_FIELDS if self.linear else ()))}

    def __repr__(self) -> str:
        return (
            f"Model(k={self.k}, seed={self.seed}, inertia={self.inertia:.6g}, n_iter={self.n_iter}, "
            f"stop_reason={self.stop_reason!r})"
        )


class FitResult:
    """An ensemble of fitted models.

    Attributes
    ----------
    models : list of Model
        k in the order given, replicas inside.
    warnings : list of str
        Messages for the user.
    interrupted : bool
        True if a time limit or a callback ended the fit.
    metric : str
        ``"euclidean"``, or ``"cosine"``: then points are scaled to rows of length one before they are labelled.
    scaling : dict
        ``kind`` (``"none"``, ``"standard"``, ``"minmax"``, ``"robust"`` or ``"unit"``), ``offset`` and ``divisor``: a
        point x is scaled to (x - offset) / divisor before it is labelled. ``log`` has ``"log"``, ``"log1p"`` or
        ``"none"`` for each column: the NumPy function that comes first.
    column_names : list of str
        Names of the columns; empty where there are none.

    """

    # What older pickles do not have.
    _ranges: Ranges | None = None
    _terms: tuple[int, bool] = (1, True)  # degree, products
    _fitted_to = NOTHING

    def __init__(
        self, values: dict[str, Any], column_names: list[str] | None = None, source: Source | None = None
    ) -> None:
        self.models = [Model(model) for model in values["models"]]
        self.warnings: list[str] = values["warnings"]
        self.interrupted: bool = values["interrupted"]
        self.scaling: dict[str, Any] = values.get("scaling", UNSCALED)
        self.metric: str = values.get("metric", "euclidean")
        self.column_names = list(column_names or [])
        for model in self.models:
            model._metric, model._column_names, model._scaling = self.metric, self.column_names, self.scaling
        self._source = source or Source()
        self._provenance: str = values["provenance"]
        self._ranges = values.get("ranges")
        self._digest: str | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Keep what equal results share, so that their pickles are the same bytes."""
        provenance = written_provenance(provenance_of_answer(self.provenance))
        lasting = {
            "_provenance": json.dumps(provenance),
            "_digest": self.digest,
            "warnings": self._warnings_of_answer(),
            "_source": self._source.of_answer(),
        }
        return without_points(vars(self) | lasting)

    def __setstate__(self, state: dict[str, Any]) -> None:
        restore(self, state)

    @property
    def digest(self) -> str:
        """32 hexadecimal digits over the digests of all models: equal for equal answers, on every machine."""
        if self._digest is None:
            self._digest = _manymeans.combined_digest([model.digest for model in self.models])
        return self._digest

    @property
    def provenance(self) -> dict[str, Any]:
        """Where the answer came from and, unless it was loaded, what it cost: see docs/user/json.md."""
        return read_provenance(self._provenance)

    @property
    def k_values(self) -> list[int]:
        """The different k of the models, in the order given."""
        return list(dict.fromkeys(model.k_requested for model in self.models))

    def _of_kind(self, *, linear: bool) -> FitResult:
        """Refuse linear models where centres are needed, and the other way round."""
        if all(model.linear == linear for model in self.models):
            return self
        raise UsageError(
            "[model] these are centres; RegressionClustering needs linear models"
            if linear
            else "[model] these are linear models; give the fitted RegressionClustering in place of its result, "
            "or RegressionClustering.load of their file: it has predict and summary, and cards takes it"
        )

    def best(self, k: int | None = None, criterion: Criterion | None = None) -> Model:
        """Return the best model: for one number of clusters the model of lowest inertia, the first of equals.

        Parameters
        ----------
        k : int, optional
            The number of clusters that was asked for at the fit, also where ``empty="drop"`` left fewer. May be left
            out where there are models of one k only, or with `criterion`.
        criterion : "inertia" or callable, optional
            How models are compared: by lowest inertia (among several k nearly always the largest k), or by a function
            that returns a number for a `Model`. The lowest number wins.

        Returns
        -------
        model : Model
            One that has begun.

        Raises
        ------
        UsageError
            When there are no models of this k; when there are several k and neither argument says how to choose.
        StoppedError
            When the fit was stopped before any of them had begun.

        """
        return min(self._candidates(k, criterion), key=_score_by(criterion))

    def _candidates(self, k: int | None, criterion: Criterion | None) -> list[Model]:
        """Give the models among which to choose."""
        known = ", ".join(map(str, self.k_values))
        if k is None and criterion is None and len(self.k_values) > 1:
            raise UsageError(
                f"[k] there are models for k = {known}, and the inertia falls with k whatever the points are; say "
                f"which k, as in result.best({self.k_values[0]}), or let a function of a model decide, of which the "
                'least wins: result.best(criterion="inertia")'
            )
        if k is not None and integer("k", k) not in self.k_values:
            raise UsageError(f"[k] k is {k}; there are models for k = {known}")
        begun = [model for model in self.models if model.begun and k in (None, model.k_requested)]
        if not begun:
            raise StoppedError("the fit was stopped before the first pass, so there is no model; let it run longer")
        return begun

    def predict(
        self, X: Any, k: int | None = None, *, criterion: Criterion | None = None, n_threads: int | None = None
    ) -> npt.NDArray[Any]:
        """Label new points by the best model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), Dataset or path
            Points, in the units of the fit's points, or the name of their file. Of a frame that has the columns of the
            fit by name others are left out, whatever they hold.
        k : int, optional
            The number of clusters; needed where there are models of several, unless there is a criterion.
        criterion : "inertia" or callable, optional
            How the model is chosen; see `best`.
        n_threads : int, optional
            Threads; by default all that are usable.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            In the smallest unsigned type that holds them.

        """
        centers = self._of_kind(linear=False).best(k, criterion).cluster_centers
        points = self._points_of(opened(X, self), n_threads)
        labels: npt.NDArray[Any] = predict_points(points, centers, _manymeans.Predictor(centers), n_threads=n_threads)[
            0
        ]
        return labels

    def summary(self, X: Any = None, sample_weight: Any = None, k: int | None = None, *, profile: Any = None) -> Any:
        """Describe the clusters of the best model in the units of the points.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), Dataset or path, optional
            Points; by default the points of the fit: 64 MiB or less, others as long as the program keeps them.
        sample_weight : array-like of shape (n_samples,), optional
            Their weights.
        k : int, optional
            The number of clusters; needed where there are models of several.
        profile : frame, Series, array or dict, optional
            Other columns of the same rows.

        Returns
        -------
        summary : pandas.DataFrame
            As `manymeans.summary` gives it.

        """
        return self._profile(X, sample_weight, k).table(profile)

    def _profile(self, X: Any, sample_weight: Any, k: int | None = None) -> Profile:
        best = self._of_kind(linear=False).best(k)
        own = X is None
        if own:
            X, sample_weight = self._fitted_to.objects()
        X = opened(X, self)
        points = plain_points(columns_of_fit(X, self.column_names), keep_sparse=True)
        weights = plain_weights(weights_of(X, sample_weight), points.array.shape[0], X)
        measured, centers = self._scaled(points, compare=False), best.cluster_centers

        def predict() -> Any:
            warn_of_outside(self._described(points, points), self._ranges, self.scaling)
            return predict_points(measured, centers, _manymeans.Predictor(centers))[0]

        found = labelled(measured, weights, centers, (best.labels, best.inertia), None if own else predict)
        return self._describe(Profile(X, weights, found, centers), points, measured, self.column_names or points.names)

    def _remember(self, fitted_to: Remembered) -> Remembered:
        """Know the points of the fit, large ones as long as the caller keeps them."""
        self._fitted_to = fitted_to
        for model in self.models:
            model._fitted_to = self._fitted_to
        return self._fitted_to

    def _set_scaling(self, scaling: dict[str, Any]) -> None:
        self.scaling = scaling
        for model in self.models:
            model._scaling = scaling

    def _describe(self, profile: Profile, points: Points, measured: Points, names: Any) -> Profile:
        """Describe the clusters of a profile in the units of the points, or as rows of length one."""
        if self.metric != "euclidean" or self.scaling["kind"] == "unit":
            return profile.of_points(measured, names)
        described, logs = self._described(points, measured), self.scaling.get("log", [])
        if logs:
            described = scaled(described, logs_alone(self.scaling))
        profile.centers = linear_units(profile.centers, self.scaling)
        profile.of_points(described, names)
        return profile.of_logs(logs) if logs else profile

    def _described(self, points: Points, measured: Points) -> Points:
        """Give the columns that describe clusters: the fit's, or the columns of rows of length one."""
        if self.metric != "euclidean" or self.scaling["kind"] == "unit":
            return measured
        return points._replace(array=columns_by_name(points.array, points.names, self.column_names))

    def _points_of(self, X: Any, n_threads: int | None = None) -> Points:
        """Give points as the models measure them, of a frame the columns of the fit alone."""
        points = plain_points(columns_of_fit(X, self.column_names), keep_sparse=True)
        return self._scaled(points, n_threads)

    def _in_units(self, points: Points, n_threads: int | None = None, *, compare: bool = True) -> Points:
        """Pick the columns of the fit where names tell them, and apply the scaling that the model file has, if any."""
        array = columns_by_name(points.array, points.names, self.column_names)
        if array is not points.array:
            points = Points(array, points.bfloat16, self.column_names, points.source)
        if compare:
            warn_of_outside(points, self._ranges, self.scaling)
        return scaled(points, self.scaling, n_threads)

    def _scaled(self, points: Points, n_threads: int | None = None, *, compare: bool = True) -> Points:
        """Give them as the models measure them: scaled, and rows of length one with the metric cosine."""
        points = self._in_units(points, n_threads, compare=compare)
        centers = next((model.cluster_centers for model in self.models if model.begun), points.array)
        return as_measured(points, self.metric, centers, n_threads)

    def _best_models(self) -> dict[int, Model]:
        """Return the best model of each k that has centres; `best` for one k takes as long as this for all."""
        best: dict[int, Model] = {}
        for model in self.models:
            known = best.get(model.k_requested)
            if model.begun and (known is None or model.inertia < known.inertia):
                best[model.k_requested] = model
        return best

    def to_frame(self) -> Any:
        """Give a pandas DataFrame with one row for each model: k, replica, seed, inertia, iterations, digest, ..."""
        with importing:
            import pandas

        best = self._best_models()
        rows = [
            {
                "k": model.k,
                "k_requested": model.k_requested,
                "replica": model.replica,
                "seed": model.seed,
                "init": model.init,
                "inertia": model.inertia if model.begun else float("nan"),
                "n_iter": model.n_iter,
                "stop_reason": model.stop_reason,
                "seconds": model.seconds,
                "digest": model.digest,
                "best": model is best.get(model.k_requested),
            }
            | ({"r2": model.r2, "bic": model.bic} if model.linear else {})
            for model in self.models
        ]
        return pandas.DataFrame(rows)

    def _with_options(self, options: dict[str, Any]) -> FitResult:
        """Return the result with a provenance that has these options, too."""
        other = copy.copy(self)
        other._source = self._source  # no output replaces a file of it
        other.warnings = self.warnings  # also of the run
        provenance = self.provenance
        provenance["options"] |= options
        other._provenance = json.dumps(provenance, indent=2)
        return other

    def _of_terms(self, terms: tuple[int, bool], column_names: list[str]) -> FitResult:
        """Return the result of a fit to terms of these columns."""
        if terms[0] > 1:
            self._terms, self.column_names = terms, column_names
            for model in self.models:
                model._column_names = column_names
        return self

    def _only(self, model: Model) -> FitResult:
        """Give a result of this model alone."""
        other = FitResult(
            {
                "models": [],
                "warnings": self.warnings,
                "interrupted": self.interrupted,
                "provenance": self._provenance,
                "metric": self.metric,
                "scaling": self.scaling,
                "ranges": self._ranges,
            },
            self.column_names,
        )
        other.models = [model]
        return other._of_terms(self._terms, self.column_names)

    def save(self, path: str | bytes | os.PathLike[Any]) -> None:
        """Write all models to a ``.npz`` that ``manymeans predict``, `load` and `numpy.load` read.

        Labels are not part of the file: ``predict`` on the same points gives them again. The file appears whole or not
        at all.

        Parameters
        ----------
        path : str, bytes or path-like
            Where to write.

        Raises
        ------
        StoppedError
            When no model had begun.

        """
        name = path_of("path", path)
        check_output("path", name, files_of(self._source))
        _manymeans.save_model(
            name,
            {
                "models": [model._as_dict() for model in self.models if model.begun],
                "metric": self.metric,
                "scaling": self.scaling,
                "column_names": self.column_names,
                "source": self._source.as_dict(),
                "ranges": self._ranges,
                "json": json.dumps(self._summary(), indent=2),
                "terms": self._terms,
            },
        )

    def _points_of_fit(self) -> dict[str, Any]:
        """Say what `read` has to know to read points for these models."""
        centers = next(model.cluster_centers for model in self.models if model.begun)
        wide = bool(centers.dtype == np.float64)
        columns = centers.shape[1]
        if self._terms[0] > 1:
            columns = _manymeans.features_of_terms(columns - 1, self._terms) + 1
        return self._source.as_dict() | {"column_names": self.column_names, "columns": columns, "wide": wide}

    def _warnings_of_answer(self) -> list[str]:
        of_run = {in_python(text) for text in self.provenance.get("warnings", [])}
        return [text for text in self.warnings if text not in of_run]

    def _summary(self) -> dict[str, Any]:
        models, best = [], self._best_models()
        for model in self.models:
            values = {name: getattr(model, name) for name in ("k", "k_requested", "replica", "seed", "init")}
            values["seed"] = str(model.seed)  # many readers of JSON round integers above 2^53
            values["inertia"] = model.inertia if math.isfinite(model.inertia) else None  # JSON has no infinity
            values |= {"iterations": model.n_iter, "stop_reason": model.stop_reason, "digest": model.digest}
            values |= {"best": model is best.get(model.k_requested)}
            if model.linear:
                numbers = {name: getattr(model, name) for name in ("r2", "bic")}
                values |= {name: value if math.isfinite(value) else None for name, value in numbers.items()}
                values["left_out"] = model._left_out
            models.append(values)
        provenance = self.provenance
        return {
            "digest": self.digest,
            "n_rows": provenance["rows"],
            "n_columns": provenance["columns"],
            "interrupted": self.interrupted,
            "warnings": self._warnings_of_answer(),
            "models": models,
            "provenance": written_provenance(provenance_of_answer(provenance)),
        }

    @classmethod
    def load(cls, path: str | bytes | os.PathLike[Any]) -> FitResult:
        """Read a model file that `save` or ``manymeans fit --model`` has written.

        Parameters
        ----------
        path : str, bytes or path-like
            A ``.npz``.

        Returns
        -------
        result : FitResult
            Without labels.

        Raises
        ------
        BadDataError
            When it is no model file, or damaged, whatever the damage is.

        """
        name = existing(path_of("path", path))
        file = _manymeans.load_model(name)
        summary, digests = read_summary(os.fsdecode(name), file)
        result = cls(
            {
                "models": file["models"],
                "warnings": summary.warnings,
                "interrupted": summary.interrupted,
                "provenance": summary.provenance_text,
                "metric": file["metric"],
                "scaling": file["scaling"],
                "ranges": file["ranges"],
            },
            file["column_names"],
            Source(**file["source"]),
        )
        result = result._of_terms(file["terms"], result.column_names)
        for model, digest in zip(result.models, digests, strict=True):
            model._digest = digest
        result._digest = summary.digest
        return result

    def _repr_html_(self) -> str | None:
        if any(model.linear for model in self.models) or not any(model.begun for model in self.models):
            return None
        return fragment(str(self), self._of_kind(linear=False))

    def __repr__(self) -> str:
        return f"FitResult({len(self.models)} models, k = {', '.join(map(str, self.k_values))})"


def _score_by(criterion: Criterion | None) -> Callable[[Model], float]:
    if criterion is None or (isinstance(criterion, str) and criterion == "inertia"):
        return lambda model: model.inertia
    if isinstance(criterion, str) or not callable(criterion):
        raise UsageError(f'[criterion] is {shown(criterion)}; "inertia" or a function of a model is right')

    def score(model: Model) -> float:
        said = criterion(model)
        try:
            found = real("criterion", said)
        except UsageError:
            found = float("nan")
        if found != found:
            raise UsageError(f"[criterion] gives {shown(said)} for {model!r}; a number is right")
        return found

    return score
