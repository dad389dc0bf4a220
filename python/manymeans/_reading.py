"""Reading points as the command line does."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from . import _threads
from ._errors import UsageError, warn
from ._opening import dataset_of, dataset_of_frame, is_frame, keeping_columns_of
from ._parameters import choice, integer, path_of, real, switch, text_of
from ._result import FitResult
from ._tables import Dataset, files_of
from ._wording import shown


def read(
    path: Any,
    *,
    format: str = "auto",
    dtype: Any = None,
    columns: str | int | Iterable[str | int] = (),
    exclude: str | int | Iterable[str | int] = (),
    numeric_only: bool = False,
    missing: str | float = "error",
    categories: str = "error",
    most_categories: int = 100,
    decimal: str | None = None,
    header: str = "auto",
    id: str | int | None = None,
    weights: str | int | bytes | os.PathLike[Any] = "",
    n_threads: int | None = None,
    like: FitResult | None = None,
) -> Dataset:
    r"""Read points as the command line does: ``.npy`` (mapped), text (packed, too), ``.npz``, ``.parquet`` and more.

    Parameters
    ----------
    path : str, bytes, path-like or frame
        The file; ``"file:name"`` is one of several arrays in a ``.npz`` or ``.h5``. `info` lists what this build reads.
        A frame of pandas, polars or pyarrow becomes what its ``.csv`` would become: a temporary one is written. Its
        numbers are float32 if all columns of numbers are, else float64.
    format : str, default="auto"
        A reader's name (see `info`), or auto: by the file's ending.
    dtype : str or dtype, optional
        Convert to this type; by default as stored. Text, decimals and integers of 32 and 64 bits become float32 if
        no two different values become equal, else float64.
    columns : str, int or iterable of them, optional
        Names, numbers from 1, or ranges of them (``"2-5"``); all by default. ``"age,income"`` is two; a name with a
        comma goes into a list. Names that are no UTF-8 in the file have
        the surrogates of ``bytes.decode("utf-8", "surrogateescape")``, here and in the result.
    exclude : str, int or iterable of them, optional
        Columns to leave out, in the same notation.
    numeric_only : bool, default=False
        Leave out columns that hold text, with a warning that names them.
    missing : {"error", "drop", "mean", "median"} or float, default="error"
        Gaps are empty fields, nulls, NaN, and in text also NA, N/A, null and None. They are an error, rows to leave
        out, or filled with the mean or median of the column, or with this number. A model of the points remembers it.
    categories : {"error", "drop", "onehot"}, default="error"
        Columns of text: an error, left out (as with `numeric_only`), or a column of 0 and 1 for each of their texts.
    most_categories : int, default=100
        Max number of categories per column with ``"onehot"``; more are an error.
    decimal : {".", ","}, optional
        Decimal sign of numbers in text; with a comma there may be points between thousands.
    header : {"auto", "yes", "no"}, default="auto"
        Tells if the first line of a text table holds the names of its columns; ``"auto"``: found from the first lines,
        with a warning if they do not tell.
    id : str or int, optional
        Column that names the rows. It is not clustered.
    weights : str, int, bytes or path-like, optional
        A column of the file (name or number), or a file of n_samples numbers (bytes are its name).
    n_threads : int, optional
        Threads; by default all that are usable.
    like : FitResult, optional
        Read what this model needs: the columns of its fit, by name where both files have names, else by their place,
        and the type of its centres.

    Returns
    -------
    dataset : Dataset
        Points, names of columns, weights. `fit` and `predict` take it in place of an array. A model of it applies its
        rules for gaps and texts to the frames that `FitResult.predict` gets. A warning names what was
        left out or filled in, and ``dataset.warnings`` holds it.

    Raises
    ------
    FileNotFoundError
        When there is no such file.
    BadDataError
        When it cannot be read; names the file, the row and the column.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import manymeans
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name) / "points.csv"
    >>> _ = path.write_text("age,income\n31,2.5\n47,3.25\n")
    >>> manymeans.read(path).points
    array([[31.  ,  2.5 ],
           [47.  ,  3.25]], dtype=float32)

    """
    name = None if dtype is None else _name_of_type(dtype)
    file = b"" if is_frame(path) else path_of("path", path)
    if like is not None and not isinstance(like, FitResult):
        raise UsageError(f"[like] is {shown(like)}; a FitResult is right (result_ of an estimator, or FitResult.load)")
    chosen = _listed("columns", columns)
    choice("decimal", decimal, (".", ",", None))
    choice("header", header, ("auto", "yes", "no"))
    options = rules_of(exclude, numeric_only, missing, categories) | {
        "format": text_of("format", format),
        "dtype": name,
        "columns": [_column("columns", column) for column in chosen],
        "max_categories": integer("most_categories", most_categories, 1),
        "decimal": "\0" if decimal is None else decimal,
        "header": header,
        "id": "" if id is None else _column("id", id),
        "weights": path_of("weights", weights)
        if isinstance(weights, (bytes, os.PathLike))
        else _column("weights", weights),
        "threads": _threads.effective(n_threads),
        "like": None if like is None else like._points_of_fit(),
    }
    others = (*(os.path.abspath(path) for path in files_of(weights or None)),)
    with keeping_columns_of(like):
        table = dataset_of(file, options, others) if file else dataset_of_frame(path, options)
    for warning in table.warnings:
        warn(warning)
    return table


def rules_of(exclude: Any, numeric_only: bool, missing: str | float, categories: str) -> dict[str, Any]:
    """Give the options of the library that say what becomes of columns and gaps."""
    if isinstance(missing, str):
        choice("missing", missing, ("error", "drop", "mean", "median"))
    choice("categories", categories, ("error", "drop", "onehot"))
    return {
        "exclude": [_column("exclude", column) for column in _listed("exclude", exclude)],
        "numeric_only": switch("numeric_only", numeric_only) or categories == "drop",
        "missing": missing if isinstance(missing, str) else "value",
        "missing_value": 0.0 if isinstance(missing, str) else _finite("missing", missing),
        "one_hot": categories == "onehot",
    }


def _listed(name: str, columns: Any) -> list[str | int]:
    """Give a list of columns; a text is one, or several between commas, as on the command line."""
    if isinstance(columns, str):
        return [column.strip() for column in columns.split(",")] if "," in columns else [columns]
    if isinstance(columns, int) or getattr(columns, "ndim", 1) == 0:
        return [columns]
    if isinstance(columns, bytes) or not isinstance(columns, Iterable):
        raise UsageError(f"[{name}] is {shown(columns)}; names or numbers of columns are right, one or a list of them")
    return list(columns)


def _finite(name: str, value: Any) -> float:
    number = real(name, value)
    if not np.isfinite(number):
        raise UsageError(f"[{name}] is {number}; a finite number is right")
    return number


def _name_of_type(dtype: Any) -> str:
    if isinstance(dtype, str):
        return text_of("dtype", dtype)  # the library knows bfloat16 too
    try:
        name: str = np.dtype(dtype).name
    except TypeError:
        raise UsageError(f"[dtype] is {shown(dtype)}; a type of numbers is right") from None
    return name


def _column(name: str, value: str | int) -> str:
    if isinstance(value, str):
        return text_of(name, value, "surrogateescape")
    try:
        return str(integer(name, value))
    except UsageError:
        raise UsageError(f"[{name}] is {shown(value)}; the name or number of a column is right") from None
