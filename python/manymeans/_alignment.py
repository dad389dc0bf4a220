"""The order of rows, where two arguments have an index of pandas."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._errors import BadDataError, warn


def check_rows(name: str, given: Any, X: Any, of: str = "X") -> None:
    """Refuse weights, targets or labels whose index has the labels of X's index in another order.

    Rows are taken by position. Other sets of labels, and a default index of `given`, say nothing about the order.

    Raises
    ------
    BadDataError
        For such an order; where X has a default index, the order may be meant, and it is a warning.

    """
    theirs, ours = _index_of(given), _index_of(X)
    if theirs is None or ours is None or len(theirs) != len(ours) or _is_default(theirs) or theirs.equals(ours):
        return
    codes = ours.append(theirs).factorize()[0] + 1  # a missing label has the code -1
    first, second = (np.bincount(half, minlength=codes.max() + 1) for half in np.split(codes, 2))
    if not np.array_equal(first, second):
        return
    order = f"{name}.loc[{of}.index] has that order" if ours.is_unique else "sort both"
    text = (
        f"[{name}] its index has the labels of {of}'s index in another order; {order}, and {name}.to_numpy() takes the "
        f"rows of {name} as they are"
    )
    if not _is_default(ours):
        raise BadDataError(text)
    warn(f"{text}, as is done here: {of} has no labels of its own")


def _index_of(given: Any) -> Any:
    return given.index if type(given).__module__.split(".")[0] == "pandas" and hasattr(given, "iloc") else None


def _is_default(index: Any) -> bool:
    """Return whether an index only numbers the rows, as pandas does for rows without labels."""
    return type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1
