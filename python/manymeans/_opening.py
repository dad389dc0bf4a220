"""Points that users pass as the name of a file, and the weights that were read with them."""

from __future__ import annotations

import contextlib
import csv
import os
import re
import tempfile
from collections.abc import Container, Iterator
from dataclasses import replace
from typing import Any

from . import _manymeans, _threads
from ._errors import BadDataError, Error, UsageError, warn
from ._fields import PLAIN, format_by_pyarrow, read_fields
from ._imports import importing
from ._input import Points
from ._parameters import path_of
from ._tables import Dataset, Source
from ._wording import in_python, of_model, of_read

#: Types of what names a file.
NAMES_OF_FILES = (str, bytes, os.PathLike)

_LINE = re.compile(r" \(line \d+\)")


def opened(X: Any, like: Any = None, rules: dict[str, Any] | None = None, own: Container[str] = ()) -> Any:
    """Read points as the FitResult `like` asks: of a file whose name is given, and of a frame if there are rules.

    Anything else is given as it is. `rules` are options of the library. Messages name parameters of `read`, but those
    that the caller has of its `own`.
    """
    ruled = is_frame(X) and (rules or (like is not None and (like._source.rules or like._source.drops_gaps)))
    if not (ruled or isinstance(X, NAMES_OF_FILES)):
        return X
    options = PLAIN | {"threads": _threads.effective(None), "like": None if like is None else like._points_of_fit()}
    options |= rules or {}
    given = "X" if ruled else "path"
    try:
        with keeping_columns_of(like):
            table = dataset_of_frame(X, options) if ruled else dataset_of(path_of("X", X), options)
    except Error as error:
        raise type(error)(of_read(str(error), own, given)) from None
    for text in table.warnings:
        warn(of_read(text, own, given))
    return table


@contextlib.contextmanager
def keeping_columns_of(model: Any) -> Iterator[None]:
    """Let errors advise nothing that would leave out a column of the model, if there is one."""
    try:
        yield
    except Error as error:
        raise error if model is None else type(error)(of_model(str(error))) from None


def is_frame(X: Any) -> bool:
    """Return whether this is a frame of pandas or polars, or a table of pyarrow."""
    return type(X).__module__.split(".")[0] in ("pandas", "polars", "pyarrow") and getattr(X, "shape", ())[1:] != ()


def dataset_of_frame(X: Any, options: dict[str, Any]) -> Dataset:
    """Read a frame by a temporary file, so that it becomes what its file would become.

    Numbers are float32 if all columns of numbers are, else float64.

    Raises
    ------
    BadDataError
        As for a file; the message names the row from 0 and the column.

    """
    options = options | {"header": "yes", "decimal": "."}
    if options["dtype"] is None and options["like"] is None:
        options["dtype"] = _type_of(X)
    with tempfile.TemporaryDirectory(prefix="manymeans-") as folder:
        path = os.path.join(folder, "X.csv")
        try:
            _write(X, path)
        except Exception as error:  # polars and pyarrow have their own, of columns of lists for instance
            if isinstance(error, OSError):
                raise
            reason = str(error).partition("\n")[0]  # polars recommends other formats of files
            raise BadDataError(f"[X] {reason}; columns of numbers, texts, truth values and dates are right") from None
        try:
            found = dataset_of(os.fsencode(path), options)
        except Error as error:
            raise type(error)(_LINE.sub("", str(error).replace(path, "X"))) from None
    texts = [_LINE.sub("", text.replace(path, "X")) for text in found.warnings]
    return replace(found, warnings=texts, source=replace(found.source, path=b"", first_line=0))


def _type_of(X: Any) -> str:
    types = {str(dtype).lower() for dtype in (X.dtypes if hasattr(X, "dtypes") else X.schema.types)}
    numbers = {name for name in types if name.startswith(("int", "uint", "float", "double", "half", "decimal"))}
    return "float32" if numbers and numbers <= {"float32", "float"} else "float64"


def _write(X: Any, path: str) -> None:
    if hasattr(X, "to_csv"):
        X.to_csv(path, index=False, quoting=csv.QUOTE_NONNUMERIC)
    elif hasattr(X, "write_csv"):
        X.write_csv(path, null_value="NA" if X.shape[1] == 1 else None)  # an empty line at the end is no row
    else:
        with importing:
            import pyarrow.compute
            import pyarrow.csv
        if X.num_columns == 1 and X.column(0).null_count > 0:
            X = pyarrow.table([pyarrow.compute.fill_null(X.column(0).cast("string"), "NA")], X.column_names)
        pyarrow.csv.write_csv(X, path)


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
        Source(
            **found["source"], path=os.path.abspath(whole), others=others, dropped=found["dropped"],
            zero_gaps=found["zero_gaps"],
        ),
        list(found["ids"]),
    )  # fmt: skip
