"""How alike two clusterings are."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import _manymeans
from ._errors import BadDataError, UsageError
from ._input import _no_number, array_of, on_host
from ._result import FitResult, Model

_MOST_LABEL = 2**53


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
        Of models: centres of a and of b, matched one to one so that the sum of the squared distances is least, and
        their Euclidean distance.
    classes_a, classes_b : list of str or None
        Where the labels of a or b are texts: the text of each number, in the order of first appearance.

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
        For labels of different numbers of rows, and if nothing can be compared.
    BadDataError
        For labels that are no whole numbers and no texts.

    Examples
    --------
    >>> import manymeans
    >>> manymeans.compare([0, 0, 1, 1], [5, 5, 7, 7]).adjusted_rand
    1.0

    """
    labels_a, centers_a, classes_a, _ = parts_of("a", a)
    labels_b, centers_b, classes_b, _ = parts_of("b", b)
    matched: list[tuple[int, int, float]] = []
    if centers_a is not None and centers_b is not None:
        if centers_a.shape[1] != centers_b.shape[1]:
            raise UsageError(f"[b] its centres have {centers_b.shape[1]} columns, those of a {centers_a.shape[1]}")
        matched = _manymeans.match_prototypes(centers_a, centers_b)
    elif labels_a is None or labels_b is None:
        raise UsageError("[a, b] one has centres only and the other labels only; predict() gives labels of rows")
    if labels_a is None or labels_b is None:
        return Comparison(None, 0, [], [], 0, 0, matched)
    found = _manymeans.compare_labels(labels_a, labels_b)
    return Comparison(**found, centers=matched, classes_a=classes_a, classes_b=classes_b)


class Parts(NamedTuple):
    """Labels and centres of what a user passes, as far as it has them."""

    labels: npt.NDArray[np.int64] | None
    centers: npt.NDArray[np.float64] | None
    classes: list[str] | None
    metric: str = "euclidean"


def parts_of(name: str, given: Any) -> Parts:
    """Take apart what a user passes as labels, a model or an estimator."""
    fitted = getattr(given, "result_", given)
    metric = fitted.metric if isinstance(fitted, FitResult) else getattr(given, "_metric", "euclidean")
    if isinstance(fitted, FitResult) and not hasattr(given, "cluster_centers_"):
        given = fitted.best()
    if isinstance(given, Model):
        labels, centers = given.labels, None if given.linear else given.cluster_centers
    elif hasattr(given, "cluster_centers_") or hasattr(given, "labels_"):
        labels, centers = getattr(given, "labels_", None), getattr(given, "cluster_centers_", None)
    else:
        labels, classes = _labels_of(name, given)
        return Parts(labels, None, classes)
    return Parts(
        None if labels is None else _labels_of(name, labels)[0],
        None if centers is None else np.ascontiguousarray(centers, dtype=np.float64),
        None,
        metric,
    )


def _labels_of(name: str, given: Any) -> tuple[npt.NDArray[np.int64], list[str] | None]:
    """Give a label for each row, -1 where it has none, and of labels that are texts the text of each number."""
    labels = array_of(on_host(given), f"[{name}]")
    if getattr(getattr(given, "type", None), "extension_name", "") == "pandas.period":
        raise BadDataError(f"[{name}] row 0 is a period of pandas; labels are whole numbers or texts")
    if labels.ndim != 1:
        what = f"has the shape {labels.shape}" if labels.ndim else f"is {given!r:.60}"
        raise BadDataError(f"[{name}] {what}; a label for each row is needed, or a model")
    kind = labels.dtype.kind
    if kind in "bi" or (kind == "u" and not (labels > _MOST_LABEL).any()):
        return labels.astype(np.int64), None
    if kind in "uf":
        return _whole(name, labels, np.where(labels != labels, -1.0, labels.astype(np.float64))), None
    values = [None if _is_gap(value) else value for value in labels.tolist()] if kind in "OSUT" else list(labels)
    if any(isinstance(value, (str, bytes)) for value in values):
        texts = [None if value is None else _text_of(value) for value in values]
        if not all(text is None or _is_number(text) for text in texts):
            return _classes_of(texts)
        values = [None if text is None else float(text) for text in texts]
    return _whole(name, labels, np.array([_number_of(value) for value in values])), None


def _number_of(label: Any) -> float:
    """Give -1 for a gap, and NaN for what is no number."""
    if label is None or _no_number(label):
        return -1.0 if label is None else math.nan
    try:
        return float(label)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def _whole(name: str, labels: npt.NDArray[Any], numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Give these numbers of labels as integers."""
    wrong = np.flatnonzero(~((np.abs(numbers) < _MOST_LABEL) & (numbers == np.floor(numbers))))
    if wrong.size:
        raise BadDataError(
            f"[{name}] row {wrong[0]} has {labels[wrong[0]]!r:.60}; labels are whole numbers or texts, and below 0 or "
            "missing where a row has none"
        )
    return numbers.astype(np.int64)


def _is_gap(value: Any) -> bool:
    """Return whether this is no label but a gap, as in files (docs/user/tables.md)."""
    if isinstance(value, (str, bytes)):
        return _text_of(value).strip().lower() in ("", "na", "n/a", "nan", "null", "none", "#n/a", "<na>")
    return (
        value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)
    )


def _text_of(value: Any) -> str:
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else str(value)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


def _classes_of(texts: list[str | None]) -> tuple[npt.NDArray[np.int64], list[str]]:
    """Number texts in the order of first appearance."""
    places: dict[str, int] = {}
    labels = [-1 if text is None else places.setdefault(text, len(places)) for text in texts]
    return np.array(labels, dtype=np.int64), list(places)
