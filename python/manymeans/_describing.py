"""Descriptions of clusters, whatever has fitted them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from . import _manymeans
from ._choose import Choice
from ._columns import columns_of
from ._errors import UsageError
from ._parameters import integer
from ._profile import Profile
from ._result import FitResult
from ._wording import printable

#: Min distance from the mean of all rows, in deviations, min test value, and max columns of each on a card.
_MIN_APART, _MIN_SURPRISE, _MAX_SHOWN = 0.1, 2.0, 5
_MAX_TERMS = 10


class Card(NamedTuple):
    """A cluster in a few lines; `str` and `print` write them.

    Attributes
    ----------
    cluster : int
        Its number.
    size : int
        Its rows.
    share : float
        Its share of the weight.
    spread : float
        Root of the mean squared distance to the centre, in the units of the fit.
    columns : list of (str, float, float, float)
        Name, centre, mean of all rows, and their distance in standard deviations of the column. These are the columns
        with the largest distances, max five, all of 0.1 or more.
    profile : list of (str, float, float, float, str)
        Name, mean or share in the cluster, mean or share of all rows, test value, and how far the first two are apart:
        ``"+0.3 sd"`` of a mean, ``"1.8 times"`` of a share. Each column of `profile` has its most surprising one.
        Others of 2 or more either way follow, as long as there are not more than five.
    typical : list
        The rows nearest to the centre: their labels in the index of a frame, their identifiers, or their numbers.
    more : dict of str to float
        Of a linear model: r2, intercept and coefficients.
    terms : list of (str, float, float)
        Of sparse points: name, centre and mean of all rows. These are the columns whose centre exceeds that mean most,
        max ten.

    """

    cluster: int
    size: int
    share: float
    spread: float
    columns: list[tuple[str, float, float, float]]
    profile: list[tuple[str, float, float, float, str]]
    typical: list[Any]
    more: dict[str, float]
    terms: list[tuple[str, float, float]]

    def __str__(self) -> str:
        first = f"cluster {self.cluster}: {self.size} row{'' if self.size == 1 else 's'} ({100 * self.share:.1f} %)"
        lines = [first if math.isnan(self.spread) else f"{first}, spread {_number(self.spread)}"]
        lines += [f"{name}: {_number(value)}" for name, value in self.more.items()]
        if self.terms:
            lines.append("top terms: " + ", ".join(name for name, _, _ in self.terms))
        for name, here, mean, sd in () if self.terms else self.columns:
            unit = abs((here - mean) / sd)
            lines.append(f"{name}: {_number(here, unit)}, all rows {_number(mean, unit)} ({sd:+.1f} sd)")
        lines += [
            f"{name}: {_number(here)}, all rows {_number(mean)} ({far}, z {z:+.1f}"
            + (": may be chance)" if abs(z) < _MIN_SURPRISE - 0.05 else ")")
            for name, here, mean, z, far in self.profile
        ]
        if self.typical:
            lines.append("typical rows: " + ", ".join(map(str, self.typical)))
        return printable("\n  ".join(lines))


def _number(value: float, unit: float = 0.0) -> str:
    """Write a number as the program does; a zero that was scaled and scaled back may be 6e-9."""
    size = abs(value)
    if size < 1e-6 * unit:
        return "0"
    return f"{value:.0f}" if 1e6 <= size < 1e9 else f"{value:.6g}"


def summary(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    k: int | None = None,
    sample_weight: Any = None,
    profile: Any = None,
    names: Sequence[str] | None = None,
) -> Any:
    """Describe clusters in the units of the points, whatever has fitted them.

    The estimators, `FitResult` and `Model` have a method ``summary``, which gives the same. A `Pipeline` of
    scikit-learn has none. This function describes its clusters by the columns of `X` that hold numbers, before other
    steps change them. Its centres are the means of the rows of each cluster; gaps are left out.

    Parameters
    ----------
    model : FitResult, Model, Choice, fitted estimator, or Pipeline that ends with one
        Estimators of this package, also `RegressionClustering`.
    X : array-like of shape (n_samples, n_features), Dataset or path, optional
        Points to describe the clusters by. By default the points of the fit: it keeps 64 MiB or less, and finds others
        and their weights as long as the program keeps them, except long lists. A `Pipeline` needs `X`.
    y : array-like of shape (n_samples,), optional
        The target of a `RegressionClustering`; needed with `X`.
    k : int, optional
        The number of clusters whose best model is described; needed where there are models of several k.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the rows of `X`.
    profile : frame, Series, array or dict, optional
        Other columns of the same rows, of numbers or of texts: what was not fitted, such as an outcome or an origin. A
        frame is one of pandas, polars or pyarrow.
    names : sequence of str, optional
        Names of the columns, such as ``get_feature_names_out()`` of a vectorizer. By default those of the frame that
        was fitted, or those that a pipeline's steps give.

    Returns
    -------
    summary : pandas.DataFrame
        A row for each cluster; a dict of lists where pandas is not installed. ``size`` is the number of rows,
        ``share`` their share of the weight. ``spread`` is the root of the mean squared distance to the centre, in the
        units of the fit: scaled ones for a scaled model. Each feature has a column of its name with the centres in its
        own units, and one named ``"name (sd)"``. This one has the distance of the centre from the mean of all rows, in
        standard deviations of the column. The program's ``--summary`` has the same numbers. With
        ``metric="cosine"``, the rows have length one.
        For linear models, ``spread`` is the root of the mean squared residual, and ``r2`` the share of the target's
        variance in the cluster that its model explains. ``intercept`` and ``"name (coef)"`` are the model, and
        ``"intercept (error)"`` and ``"name (error)"`` their standard errors. The columns of features and target have
        their means.
        A column of numbers in `profile` adds ``"name (mean)"``. A column of texts, truth values or categories adds
        columns for each value. ``"name=value"`` is its share of the rows, and ``"name=value (lift)"`` that share
        divided by the share of all rows. Rows with a gap are left out. ``"name (z)"`` is the test value: how surprising
        the mean or share is.

    Raises
    ------
    UsageError
        For points of the fit that are gone or have changed, and for a `model` that is something else. For a `profile`
        of another number of rows, or with more than 100 different texts in a column.

    Notes
    -----
    The points of the fit have its labels, other points have the labels of ``predict``. Time O(n_samples n_features),
    without ``predict``; memory O(n_samples).

    The test value of a cluster with n_k of the n rows is (m_k - m) / sqrt(s^2 v n / (n - 1)), v = 1 / n_k - 1 / n.
    The means of the column are m_k in the cluster and m in all rows, and s is its deviation, divided by n. A text is
    a column of 0 and 1. The root is the standard deviation of m_k - m if the values are shuffled among the rows. If
    the column played no part in the fit, a test value beyond 2 is worth a look, and beyond 3 it is no accident. With
    thousands of rows small differences have large test values, so look at the means and shares (Lebart, Morineau and
    Piron, Statistique exploratoire multidimensionnelle, 1995). For a text the test value is sqrt((n - 1) / n) times
    the adjusted residual (Haberman, Biometrics 29, 1973). With weights, n = W^2 / q and v = q_k / W_k^2 - 2 q_k /
    (W_k W) + q / W^2. W is the sum of the weights, q the sum of their squares, and W_k and q_k are the sums over the
    cluster.

    Examples
    --------
    >>> import manymeans
    >>> import numpy as np
    >>> X = np.array([[1.0, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
    >>> table = manymeans.summary(manymeans.fit(X, 2), X)
    >>> sorted(table["x0"]), list(table["share"])
    ([1.0, 10.0], [0.5, 0.5])

    """
    return _named(_profile_of(model, X, y, k, sample_weight), names).table(profile)


def cards(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    k: int | None = None,
    sample_weight: Any = None,
    profile: Any = None,
    names: Sequence[str] | None = None,
    rows: int = 3,
) -> list[Card]:
    r"""Describe each cluster on a card: its size, what sets it apart, and its typical rows.

    Parameters
    ----------
    model, X, y, k, sample_weight, profile, names : optional
        As for `summary`.
    rows : int, default=3
        Number of typical rows.

    Returns
    -------
    cards : list of Card
        A card for each cluster. ``print(*cards, sep="\n")`` writes them out.

    Raises
    ------
    UsageError
        As `summary`.

    Notes
    -----
    Time O(n_samples (n_features + log n_samples)), without ``predict``; memory O(n_samples).

    Examples
    --------
    >>> import manymeans
    >>> import numpy as np
    >>> X = np.array([[1.0, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
    >>> result = manymeans.fit(X, 2, init=X[[0, 3]])
    >>> colours = ["red", "red", "red", "blue", "blue", "blue"]
    >>> print(manymeans.cards(result, X, profile={"colour": colours}, rows=1)[0])
    cluster 0: 3 rows (50.0 %), spread 1.63299
      x0: 1, all rows 5.5 (-1.0 sd)
      colour=blue: 0, all rows 0.5 (0.00 times, z -2.2)
      colour=red: 1, all rows 0.5 (2.0 times, z +2.2)
      typical rows: 0

    """
    rows = integer("rows", rows, 0)
    found = _named(_profile_of(model, X, y, k, sample_weight), names)
    table, differences = found.of_clusters(), found.differences
    traits, typical = found.traits(profile), found.typical(rows)
    surprising = _manymeans.surprising([trait._asdict() for trait in traits], len(typical))
    made = []
    for cluster, (size, share, spread) in enumerate(zip(*table.values(), strict=True)):
        centers = zip(found.names, found.centers[cluster], found.mean, differences[cluster], strict=True)
        more = {name: float(values[cluster]) for name, values in found.more.items()}
        made.append(
            Card(
                cluster, int(size), float(share), float(spread), _largest(centers if share > 0 else (), _MIN_APART),
                [traits[place].on_card(cluster, far) for place, far in surprising[cluster]],
                typical[cluster], more, _terms(found, cluster),
            )
        )  # fmt: skip
    return made


def _largest(values: Iterable[tuple[Any, ...]], least: float) -> list[tuple[str, float, float, float]]:
    """Give the columns whose last number is largest, either way."""
    found = [(name, float(here), float(everywhere), float(far)) for name, here, everywhere, far in values]
    found = [one for one in found if abs(one[3]) >= least]
    return sorted(found, key=lambda one: -abs(one[3]))[:_MAX_SHOWN]


def _terms(found: Profile, cluster: int) -> list[tuple[str, float, float]]:
    """Give the columns of sparse points whose centre exceeds the mean of all rows most."""
    if not found.is_sparse:
        return []
    here, mean = found.centers[cluster], found.mean
    order = np.argsort(mean - here, kind="stable")[:_MAX_TERMS]
    return [(found.names[j], float(here[j]), float(mean[j])) for j in order if here[j] > mean[j]]


def _named(found: Profile, names: Any) -> Profile:
    if names is not None:
        if len(names) != len(found.names):
            raise UsageError(f"[names] has {len(names)} names, and there are {len(found.names)} columns")
        found.names = [str(name) for name in names]
    return found


def _profile_of(model: Any, X: Any, y: Any, k: int | None, sample_weight: Any) -> Profile:
    """Describe the clusters of whatever has fitted them."""
    if hasattr(model, "named_steps"):
        return _of_pipeline(model, X, y, k, sample_weight)
    if isinstance(model, Choice):
        model, k = model.result, model.k if k is None else k
    best = model if k is None else _result_of(model).best(k)
    if hasattr(model, "predict_cluster"):  # has models of one k
        return cast("Profile", model._profile(X, y, sample_weight))
    if y is not None:
        raise UsageError("[y] is the target of a RegressionClustering; other models have none, so leave it out")
    model = best
    if not hasattr(model, "_profile"):
        raise UsageError(
            f"[model] is {type(model).__name__}; a FitResult, a Model, a Choice, a fitted clusterer of manymeans, or a "
            "Pipeline that ends with one is right"
        )
    return cast("Profile", model._profile(X, sample_weight))


def _result_of(model: Any) -> FitResult:
    result = getattr(model, "result_", model)
    if not isinstance(result, FitResult):
        raise UsageError(f"[k] chooses among models, and {type(model).__name__} is one; leave it out")
    return result


def _of_pipeline(model: Any, X: Any, y: Any, k: int | None, sample_weight: Any) -> Profile:
    if X is None:
        raise UsageError("[X] is missing; a Pipeline does not keep the points of its fit, so pass them as X")
    points = model[:-1].transform(X) if len(model.steps) > 1 else X
    profile = _profile_of(model.steps[-1][1], points, y, k, sample_weight)
    if profile.is_sparse and hasattr(model[:-1], "get_feature_names_out"):
        profile = _named(profile, model[:-1].get_feature_names_out())
    profile.X = X
    found = {name: values for name, values in columns_of(X).items() if values.dtype == np.float64}
    if not found:  # a text, or a sparse matrix: what the last step has seen
        return profile
    target = [] if y is None else [(profile.names[-1], np.asarray(y, dtype=np.float64))]
    names, columns = zip(*found.items(), *target, strict=True)
    return profile.of_columns(list(names), list(columns))
