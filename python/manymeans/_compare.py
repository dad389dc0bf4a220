"""How alike two clusterings are."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import _manymeans
from ._alignment import check_rows
from ._errors import BadDataError, UsageError
from ._input import _no_number, array_of, is_gap, on_host, readable
from ._labelling import is_scaled
from ._outside import UNSCALED
from ._result import FitResult, Model
from ._scales import linear_units
from ._tables import columns_by_name
from ._wording import shown

_MOST_EXACT, _MOST_INTEGER = 2**53, 2**63 - 1


class Comparison(NamedTuple):
    """What `compare` gives.

    Attributes
    ----------
    adjusted_rand : float or None
        1 for equal clusterings, whatever the numbers of the clusters are; about 0 for those that are no more alike than
        chance; it is None without labels to compare.
    moved : int
        Rows in `moves`.
    pairs : list of (int, int, int)
        Clusters of a and of b that are put together one to one so that most rows stay, and the rows that they share.
    moves : list of (int, int, int)
        The other cells of the contingency table that have rows: most rows first.
    rows, left_out : int
        Rows that have a label in both, and those that have not.
    centers : list of (int, int, float)
        Of models: a centre of a, a centre of b, and their Euclidean distance in the units of a. Centres are matched one
        to one, with the least sum of squared distances. Columns are matched by name if both models have names.
    classes_a, classes_b : list of str or None
        Where the labels of a or b are texts, or some are above 2**53 (integers: 2**63 - 1): the text of each number,
        in the order of first appearance.

    """

    adjusted_rand: float | None
    moved: int
    pairs: list[tuple[int, int, int]]
    moves: list[tuple[int, int, int]]
    rows: int
    left_out: int
    centers: list[tuple[int, int, float]]
    classes_a: list[str] | None = None
    classes_b: list[str] | None = None


def compare(a: Any, b: Any) -> Comparison:
    """Compare two clusterings of the same rows: labels, models, or fitted estimators.

    The adjusted Rand index equals scikit-learn's, computed from exact integers.

    Parameters
    ----------
    a, b : array-like of shape (n_samples,), Model, FitResult or estimator
        Labels: integers, floats with whole values, texts or categories. Each value is a class. A row has none where its
        label is negative or missing (None, NaN, pandas.NA, ""). Or a model, a result (its best model), or what has
        ``labels_`` or ``cluster_centers_``, as fitted estimators have. Labels are compared where both have them, and
        centres where both have those.

    Returns
    -------
    comparison : Comparison
        The index, the rows that moved, and the centres that were matched.

    Raises
    ------
    UsageError
        For labels of different numbers of rows, centres of other columns or metrics, and if nothing can be compared.
    BadDataError
        For labels that are no whole numbers and no texts.

    Examples
    --------
    >>> import manymeans
    >>> manymeans.compare([0, 0, 1, 1], [5, 5, 7, 7]).adjusted_rand
    1.0

    """
    labels_a, centers_a, classes_a, space = parts_of("a", a)
    labels_b, centers_b, classes_b, other = parts_of("b", b)
    check_rows("b", b, a, of="a")
    check_rows("a", a, b, of="b")
    matched: list[tuple[int, int, float]] = []
    if centers_a is not None and centers_b is not None:
        matched = _manymeans.match_prototypes(centers_a, centers_in(space, centers_b, other, "b", "a"))
    elif labels_a is None or labels_b is None:
        raise UsageError("[a, b] one has centres only and the other labels only; predict() gives labels of rows")
    if labels_a is None or labels_b is None:
        return Comparison(None, 0, [], [], 0, 0, matched)
    found = _manymeans.compare_labels(labels_a, labels_b)
    return Comparison(**found, centers=matched, classes_a=classes_a, classes_b=classes_b)


class Space(NamedTuple):
    """The columns of centres: their names, if any, the metric and the units."""

    columns: int
    names: list[str]
    metric: str
    scaling: dict[str, Any]


_NO_SPACE = Space(0, [], "euclidean", UNSCALED)


class Parts(NamedTuple):
    """Labels and centres of what a user passes, as far as it has them."""

    labels: npt.NDArray[np.int64] | None
    centers: npt.NDArray[np.float64] | None
    classes: list[str] | None
    space: Space = _NO_SPACE


def parts_of(name: str, given: Any) -> Parts:
    """Take apart what a user passes as labels, a model or an estimator."""
    fitted = getattr(given, "result_", given)
    if isinstance(fitted, FitResult) and not hasattr(given, "cluster_centers_"):
        given = fitted.best()
    if isinstance(given, Model):
        labels, centers = given.labels, None if given.linear else given.cluster_centers
    elif hasattr(given, "cluster_centers_") or hasattr(given, "labels_"):
        labels, centers = (on_host(getattr(given, name, None)) for name in ("labels_", "cluster_centers_"))
    else:
        labels, classes = _labels_of(name, given)
        return Parts(labels, None, classes)
    return Parts(
        None if labels is None else _labels_of(name, labels)[0],
        None if centers is None else readable(np.asarray(centers, dtype=np.float64)),
        None,
        _NO_SPACE if centers is None else space_of(given),
    )


def space_of(model: Any) -> Space:
    """Give the space of the centres of a Model or a fitted estimator."""
    if isinstance(model, Model):
        columns, names = model.cluster_centers.shape[1], list(model._column_names)
        return Space(columns, names, model._metric, model._scaling)
    names = [str(name) for name in getattr(model, "feature_names_in_", ())]
    scaling = getattr(getattr(model, "result_", None), "scaling", UNSCALED)
    return Space(np.shape(model.cluster_centers_)[1], names, getattr(model, "metric", "euclidean"), scaling)


def _logs_of(space: Space) -> dict[str, str]:
    """Give the logarithms by column: by its name, as columns are matched, or by its place."""
    keys = space.names if len(space.names) == space.columns else [str(j) for j in range(space.columns)]
    logs = space.scaling.get("log", [])
    return {key: log for key, log in zip(keys, logs, strict=False) if log != "none"}


def centers_in(space: Space, centers: npt.NDArray[Any], own: Space, name: str, of: str) -> npt.NDArray[Any]:
    """Give the centres of one model in the columns and units of another.

    Raises
    ------
    UsageError
        Where their columns have other names, or are not as many; for two metrics, and for directions in two units.

    """
    if own.columns != space.columns:
        raise UsageError(f"[{name}] its centres have {own.columns} columns, those of {of} {space.columns}")
    if own.metric != space.metric:
        raise UsageError(f"[{name}] its centres are of metric {own.metric}, those of {of} of metric {space.metric}")
    same = all(np.array_equal(own.scaling.get(part, []), space.scaling[part]) for part in space.scaling)
    if _logs_of(own) != _logs_of(space):
        raise UsageError(f"[{name}] its centres are of other logarithms than those of {of}")
    if not same and (own.metric == "cosine" or "unit" in (own.scaling["kind"], space.scaling["kind"])):
        raise UsageError(f"[{name}] its centres are directions after another scaling than those of {of}")
    if not same:
        centers = linear_units(centers, own.scaling)
    try:
        centers = columns_by_name(centers, own.names, space.names)
    except BadDataError as error:
        text = str(error).replace("X has", "it has").replace("the model was fitted to", f"{of} has")
        raise UsageError(f"[{name}] {text}; the labels of both can be compared") from None
    if not same and is_scaled(space.scaling):
        centers = (centers - np.asarray(space.scaling["offset"])) / np.asarray(space.scaling["divisor"])
    return np.ascontiguousarray(centers)


def _labels_of(name: str, given: Any) -> tuple[npt.NDArray[np.int64], list[str] | None]:
    """Give a label for each row, below 0 where it has none, and where labels are numbered anew their texts."""
    labels = array_of(on_host(given), f"[{name}]")
    if getattr(getattr(given, "type", None), "extension_name", "") == "pandas.period":
        raise BadDataError(f"[{name}] row 0 is a period of pandas; labels are whole numbers or texts")
    if labels.ndim != 1:
        what = f"has the shape {labels.shape}" if labels.ndim else f"is {shown(given)}"
        raise BadDataError(f"[{name}] {what}; a label for each row is needed, or a model")
    kind = labels.dtype.kind
    if kind in "bi" or (kind == "u" and not (labels > _MOST_INTEGER).any()):
        return labels.astype(np.int64), None
    values = labels.tolist() if kind in "OSUTuf" else list(labels)
    if kind not in "uf":
        values = [None if _is_gap(value) else value for value in values]
    if any(isinstance(value, (str, bytes)) for value in values):
        texts = [None if value is None else _text_of(value) for value in values]
        if not all(text is None or _is_number(text) for text in texts):
            return classes_of(texts)
        values = [None if text is None else _exact(text) for text in texts]
    numbers = labels if kind in "uf" else np.array([_number_of(value) for value in values])
    numbers = np.where(numbers != numbers, -1, numbers) if kind == "f" else numbers
    wrong = np.flatnonzero(~((np.abs(numbers) < np.inf) & (numbers == np.floor(numbers))))
    if wrong.size:
        raise BadDataError(
            f"[{name}] row {wrong[0]} has {shown(labels[wrong[0]])}; labels are whole numbers or texts, and below 0 or "
            "missing where a row has none"
        )
    if float(numbers.max(initial=0)) < _MOST_EXACT:
        return np.maximum(numbers, -1).astype(np.int64), None
    return classes_of([value if number >= 0 else None for number, value in zip(numbers, values, strict=True)])


def _number_of(label: Any) -> float:
    """Give -1 for a gap, and NaN for what is no number."""
    if label is None or _no_number(label):
        return -1.0 if label is None else math.nan
    try:
        return float(label)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def _is_gap(value: Any) -> bool:
    """Return whether this is no label but a gap, as in files (docs/user/tables.md)."""
    if isinstance(value, (str, bytes)):
        return _text_of(value).strip().lower() in ("", "na", "n/a", "nan", "null", "none", "#n/a", "<na>")
    return is_gap(value) or (isinstance(value, (float, np.floating)) and bool(value != value))


def _text_of(value: Any) -> str:
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else str(value)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


def _exact(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        return float(text)


def classes_of(values: list[Any]) -> tuple[npt.NDArray[np.int64], list[str]]:
    """Number texts or numbers in the order of first appearance; None has -1."""
    places: dict[Any, int] = {}
    labels = [-1 if value is None else places.setdefault(value, len(places)) for value in values]
    return np.array(labels, dtype=np.int64), list(map(str, places))
