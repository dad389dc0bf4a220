"""Points that users pass as the name of a file, and the weights that were read with them."""

from __future__ import annotations

import os
from typing import Any

from . import _manymeans, _threads
from ._errors import Error, UsageError, warn
from ._fields import PLAIN, format_by_pyarrow, read_fields
from ._input import Points
from ._parameters import path_of
from ._tables import Dataset, Source
from ._wording import in_python, of_read

#: Types of what names a file.
NAMES_OF_FILES = (str, bytes, os.PathLike)


def opened(X: Any, like: Any = None) -> Any:
    """Read points where the name of their file is given, as the FitResult `like` asks; give anything else as it is."""
    if not isinstance(X, NAMES_OF_FILES):
        return X
    options = PLAIN | {"threads": _threads.effective(None), "like": None if like is None else like._points_of_fit()}
    try:
        table = dataset_of(path_of("X", X), options)
    except Error as error:
        raise type(error)(of_read(str(error))) from None
    for text in table.warnings:
        warn(of_read(text))
    return table


def weights_of(X: Any, sample_weight: Any) -> Any:
    """Give the weights that a user passes, or else those that were read with the points."""
    return X.weights if sample_weight is None and isinstance(X, Dataset) else sample_weight


def opened_without_weights(X: Any, function: str) -> Any:
    """Read points as `opened` does, for a function that has no weights.

    Raises
    ------
    UsageError
        For points that were read with weights, which would be ignored.

    """
    X = opened(X)
    if isinstance(X, Dataset) and X.weights is not None:
        raise UsageError(f"[X] has weights, which {function} does not support; X.points has none")
    return X


def existing(path: bytes) -> bytes:
    """Give the name of a file that is there."""
    os.stat(os.fsdecode(path))  # FileNotFoundError is what Python programs expect
    return path


def dataset_of(file: bytes, options: dict[str, Any], others: tuple[bytes, ...] = ()) -> Dataset:
    """Read a file with options by the library's names, silently; `others` are files that are read with it."""
    whole = existing(_manymeans.points_file(file))
    by_pyarrow = format_by_pyarrow(whole, options["format"])
    found = read_fields(whole, by_pyarrow, options) if by_pyarrow else _manymeans.read(file, options)
    return Dataset(
        Points(found["points"], found["bfloat16"]).numbers,
        list(found["column_names"]),
        found["weights"],
        [in_python(text) for text in found["warnings"]],
        Source(**found["source"], path=os.path.abspath(whole), others=others, dropped=found["dropped"]),
        list(found["ids"]),
    )
