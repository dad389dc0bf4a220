"""Points that come from files: which columns they are, and how errors and models name them."""

from __future__ import annotations

import contextlib
import os
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _manymeans
from ._errors import BadDataError, UsageError
from ._parameters import path_of

# The library's notation for the place of a value.
_PLACE = re.compile(r"^(?:\[problem \d+\] )?\[X\] row (\d+), column (\d+)")

# The library's notation for a column as a whole.
_COLUMN = re.compile(r"^\[X\] column (\d+)(?= has the minimum)")

# The end of the name of a column of lists, for each of their values.
_ELEMENT = re.compile(r"\[\d+\]$")


@dataclass(frozen=True)
class Source:
    """Which columns of a file points are.

    Attributes
    ----------
    count : int
        Columns of the file; 0: the points are of no file.
    numbers : list of int
        Those that are used, from 1. A field of lists is one column.
    names : list of str
        Their names; empty where the file has none.
    first_line : int
        Line of a text file, from 1, with the first row; 0 for others.
    rules : list of dict
        How each of them became columns of the points: ``categories`` (a list, or None for a column of numbers) and
        ``fill`` (the value for a gap, or None). Empty if the columns are taken unchanged.
    drops_gaps : bool
        True if rows with gaps are left out.
    decimal : str
        Decimal sign of numbers in text.
    path : bytes
        The file itself.
    others : tuple of bytes
        Files of weights and initial centres, and files of memory maps. No output replaces any such file.
    dropped : ndarray of int64
        Rows of the file, from 0, that have gaps and are no points.
    zero_gaps : list of int
        Columns of the points whose gaps were filled with 0.

    """

    count: int = 0
    numbers: list[int] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    first_line: int = 0
    rules: list[dict[str, Any]] = field(default_factory=list)
    drops_gaps: bool = False
    decimal: str = "."
    path: bytes = b""
    others: tuple[bytes, ...] = ()
    dropped: npt.NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64), compare=False)
    zero_gaps: list[int] = field(default_factory=list, compare=False)

    def as_dict(self) -> dict[str, Any]:
        """Give what the library calls the columns of a file."""
        names = ("count", "numbers", "names", "rules", "drops_gaps", "decimal")
        return {name: getattr(self, name) for name in names}

    def of_answer(self) -> Source:
        """Leave out where the points lay: pickles of equal results are the same bytes."""
        return replace(self, path=b"", others=(), first_line=0, dropped=np.zeros(0, dtype=np.int64), zero_gaps=[])

    def and_files_of(self, *given: Any) -> Source:
        """Add what has gone into a fit, too."""
        return replace(self, others=(*self.others, *files_of(*given)))


@dataclass(frozen=True)
class Dataset:
    """Points that were read from a file; a `fit` of them knows their columns by name and place.

    Attributes
    ----------
    points : ndarray of shape (n_samples, n_features)
        A view of the mapped file where it is a ``.npy`` that is read as it is; not to be written to.
    column_names : list of str
        Empty where the file names no columns.
    weights : ndarray of shape (n_samples,) or None
        float64.
    warnings : list of str
        Messages for the user.
    ids : list of str
        The name of each row of the file, dropped rows too, if ``id`` chose a column of names.

    """

    points: npt.NDArray[Any]
    column_names: list[str]
    weights: npt.NDArray[np.float64] | None
    warnings: list[str]
    source: Source = field(default_factory=Source, repr=False)
    ids: list[str] = field(default_factory=list, repr=False)

    @property
    def dropped(self) -> npt.NDArray[np.int64]:
        """Rows of the file, from 0, that have gaps and are no points (``missing="drop"``)."""
        return self.source.dropped


def check_output(name: str, path: bytes, inputs: list[bytes]) -> None:
    """Refuse to write to a file that was read.

    Raises
    ------
    UsageError
        For such a file, by whatever name and link.

    """
    for file in inputs:
        with contextlib.suppress(OSError):  # what is not there is no input
            if os.path.samefile(path, file):
                raise UsageError(
                    f"[{name}] {os.fsdecode(path)!r} is the file of the points or other input; name another"
                )


def files_of(*given: Any) -> list[bytes]:
    """Give the files that points, weights and centres were or will be read from."""
    files: list[bytes] = []
    for X in given:
        source = X.source if isinstance(X, Dataset) else X
        if isinstance(source, Source):
            files += [file for file in (source.path, *source.others) if file]
        elif isinstance(X, (str, bytes, os.PathLike)):
            files.append(_manymeans.points_file(path_of("X", X)))
        while isinstance(X, np.ndarray):  # a view of a memory map is none itself
            if isinstance(X, np.memmap) and X.filename is not None:
                files.append(os.fsencode(X.filename))
                break
            X = X.base
    return files


@contextlib.contextmanager
def naming(names: list[str] | None, source: Source | None) -> Iterator[None]:
    """Let errors about a value name its column and the line of its file."""
    try:
        yield
    except BadDataError as error:
        found = _PLACE.match(str(error))
        if whole := _COLUMN.match(str(error)):  # the library counts from 1
            label = _label_of(int(whole[1]) - 1, names, source)
            raise type(error)(f"[X] column {label}{str(error)[whole.end() :]}") from None
        if not found or (not names and (source is None or not source.count)):
            raise
        row, column = int(found[1]), int(found[2])
        for gap in () if source is None else source.dropped:
            row += bool(gap <= row)  # those stand in the file
        line = f" (line {source.first_line + row})" if source is not None and source.first_line else ""
        label = _label_of(column, names, source)
        place = found[0].partition(" row")[0]
        named = type(error)(f"{place} row {row}{line}, column {label}{str(error)[found.end() :]}")
        named.problem = error.problem
        raise named from None


def _label_of(column: int, names: list[str] | None, source: Source | None) -> str:
    """Give the name of a column, else its number in the file, from 1 as in ``columns=``, else in the array."""
    if names and column < len(names):
        return f"'{names[column]}'"
    if source is not None and source.count and column < len(source.numbers):
        return f"{source.numbers[column]} (from 1)"
    return str(column)


def _check_each_once(names: list[str], wanted: list[str], shown: list[str]) -> None:
    """Refuse names unless each wanted name is there once; `shown` are all of a model."""
    theirs, ours = Counter(names), Counter(wanted)
    for name in wanted:
        if theirs[name] == 1 and ours[name] == 1:
            continue
        what = "no column" if theirs[name] == 0 else "no single column"
        raise BadDataError(
            f"X has {what} '{name}'; the model was fitted to the columns {', '.join(shown)}, X has {', '.join(names)}"
        )


def _are_numbers(names: list[str]) -> bool:
    """Return whether these names only number the columns, as pandas does for columns without names."""
    return names == [str(place) for place in range(len(names))]


def columns_of_fit(X: Any, wanted: list[str]) -> Any:
    """Leave out of a frame or table (pandas, polars, pyarrow) the columns that a model was not fitted to.

    They may hold anything then. All other objects, and frames whose columns are only numbered, are returned unchanged.
    If nothing is left out, the columns keep their order.

    Raises
    ------
    BadDataError
        Unless all of the columns are there.

    """
    by_place = hasattr(X, "iloc")
    if not wanted or isinstance(X, Dataset) or not (by_place or hasattr(X, "select")):
        return X
    # A column of pandas may be called column_names.
    found = getattr(X, "columns", None)
    if not by_place:
        found = getattr(X, "column_names", None) or found
    if found is None:
        return X
    names = [str(name) for name in found]
    known = set(names)
    if known.issubset(wanted):
        return X  # nothing to leave out
    # A column of lists is one column of the frame, and several of the points.
    ours = list(dict.fromkeys(name if name in known else _ELEMENT.sub("", name) for name in wanted))
    if known.isdisjoint(ours) and (_are_numbers(names) or _are_numbers(wanted)):
        return X  # by position
    _check_each_once(names, ours, wanted)
    place_of = {name: place for place, name in enumerate(names)}
    return X.iloc[:, [place_of[name] for name in ours]] if by_place else X.select(ours)


def columns_by_name(array: Any, names: list[str] | None, wanted: list[str]) -> Any:
    """Give the columns that a model was fitted to, where the names of `array` tell them.

    Raises
    ------
    BadDataError
        Unless all of the columns are there, or the names only number the columns.

    """
    if not names or not wanted or names == wanted or not isinstance(array, np.ndarray):
        return array
    if set(names).isdisjoint(wanted) and (_are_numbers(names) or _are_numbers(wanted)):
        return array  # by position
    _check_each_once(names, wanted, wanted)
    place_of = {name: place for place, name in enumerate(names)}
    places = [place_of[name] for name in wanted]
    return np.ascontiguousarray(array[:, places])
