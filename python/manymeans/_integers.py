"""Warnings of integers that float32 or float64 rounds, from every source."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ._errors import warn

_MOST_NAMED = 10
_BITS = {"float32": 24, "float64": 53}


class Block(NamedTuple):
    """Columns side by side, and what messages call them."""

    labels: Sequence[str]
    values: npt.NDArray[Any]


def warn_of_rounded(X: Any, name: str, names: Sequence[Any] | None = None) -> None:
    """Warn of integers that become float64 with another value.

    Parameters
    ----------
    X : ndarray, sparse matrix, or data of pandas, pyarrow or polars
        As it is before NumPy or the library makes float64 of it; anything else has no such integers.
    name : str
        Of the argument.
    names : sequence, optional
        Of its columns.

    """
    if hasattr(X, "tocsr") and X.ndim == 2:
        X = X.tocoo()
        places = _rounded(X.data, "float64")
        firsts = _firsts([f"column {j}" for j in range(X.shape[1])], X.data[places], X.row[places], X.col[places])
    else:
        firsts = _of_blocks(_blocks_of(X, names), "float64")
    if firsts:
        warn(f"[{name}] {_said(firsts, 'float64')}; leave ids out")


def rounded_in_file(columns: Sequence[Any], labels: Sequence[str], dtype: str) -> list[str]:
    """Give the library's warning about columns of pyarrow that are read as `dtype`, or nothing."""
    if dtype not in _BITS:
        return []
    blocks = (_block_of_arrow(column, "", "int64" if dtype == "float64" else "int(32|64)") for column in columns)
    renamed = [Block([label] * len(block.labels), block.values) for block, label in zip(blocks, labels, strict=True)]
    firsts = {label: (label, value, row + 1) for label, value, row in reversed(_of_blocks(renamed, dtype))}
    text = _said(list(firsts.values())[::-1], dtype)
    advice = "ids are left out by --exclude, or name the rows by --id"
    return [f"{text}; {advice if dtype == 'float64' else 'dtype float64 keeps integers up to 2^53'}"] if firsts else []


def _said(firsts: Sequence[tuple[str, int, int]], dtype: str) -> str:
    named = [f"{label} (first: {value} in row {row})" for label, value, row in firsts[:_MOST_NAMED]]
    more = f" and {len(firsts) - _MOST_NAMED} more" if len(firsts) > _MOST_NAMED else ""
    text = f"integers that {dtype} cannot hold were rounded in {', '.join(named)}{more}"
    return text.replace("in  (", "(")  # a column alone has no label


def _of_blocks(blocks: Iterable[Block], dtype: str) -> list[tuple[str, int, int]]:
    """Give label, value and row of the first such integer of each column."""
    found: list[tuple[str, int, int]] = []
    for labels, values in blocks:
        places = _rounded(values, dtype)
        if places.size:
            found += _firsts(labels, values.ravel()[places], *np.divmod(places, len(labels)))
    return found


def _firsts(labels: Sequence[str], values: Any, rows: Any, columns: Any) -> list[tuple[str, int, int]]:
    firsts: dict[int, int] = {}
    for place in np.argsort(rows, kind="stable"):
        firsts.setdefault(int(columns[place]), int(place))
    return [(labels[column], int(values[place]), int(rows[place])) for column, place in sorted(firsts.items())]


def _rounded(values: npt.NDArray[Any], dtype: str) -> npt.NDArray[np.intp]:
    """Give the places, in C order, of integers with more bits from the first to the last 1 than `dtype` has."""
    most = 2 ** _BITS[dtype]
    if values.dtype.kind == "O":
        kinds = (int, np.integer)
        odd = ((abs(int(one)) // (int(one) & -int(one) or 1)) if isinstance(one, kinds) else 0 for one in values.flat)
        return np.flatnonzero([number >= most for number in odd])
    whole = values.dtype.kind in "iu" and values.size and 2 ** (8 * values.dtype.itemsize) > most
    if not whole or max(int(values.max()), -int(values.min())) <= most:
        return np.empty(0, np.intp)
    same = values.ravel().astype(np.uint64 if values.dtype.kind == "u" else np.int64)
    magnitude = np.abs(same).astype(np.uint64)
    last = magnitude & (~magnitude + np.uint64(1))
    return np.flatnonzero(magnitude // np.maximum(last, np.uint64(1)) >= np.uint64(most))


def _blocks_of(X: Any, names: Sequence[Any] | None) -> Iterator[Block]:
    module = type(X).__module__.split(".")[0]
    if isinstance(X, np.ndarray) and X.ndim in (1, 2) and X.dtype.kind in "iuO":
        labels = [f"column '{name}'" for name in names] if names else [f"column {j}" for j in range(X.shape[-1])]
        yield Block([""], X) if X.ndim == 1 else Block(labels, X)
    elif module == "pandas":
        one_column = X.ndim == 1
        for j, dtype in enumerate([X.dtype] if one_column else X.dtypes):
            if getattr(dtype, "kind", "O") in "iuO":
                values = _values_of_pandas(X if one_column else X.iloc[:, j])
                yield Block(["" if one_column else f"column '{X.columns[j]}'"], values)
    elif module in ("pyarrow", "polars"):
        columns = X.get_columns() if hasattr(X, "get_columns") else getattr(X, "columns", None)
        texts = [""] if columns is None else X.columns if module == "polars" else X.schema.names
        for text, column in zip(texts, [X] if columns is None else columns, strict=True):
            yield _block_of_arrow(column, text)


def _values_of_pandas(column: Any) -> npt.NDArray[Any]:
    """Give the integers of a column; of other types anything without integers."""
    if isinstance(column.dtype, np.dtype):
        return np.asarray(column)
    if getattr(column.dtype, "kind", "O") in "iu":  # that may have gaps
        return np.asarray(column.to_numpy(dtype=f"{column.dtype.kind}8", na_value=0))
    categories = getattr(column.dtype, "categories", None)
    return np.asarray(column.astype(object) if getattr(categories, "dtype", None) in (np.int64, np.uint64) else [])


def _block_of_arrow(column: Any, name: str, types: str = "int64") -> Block:
    """Give the integers of such types of a column of pyarrow or polars, lists as rows; nothing of other types."""
    flat, rows = column, len(column)
    if hasattr(column, "explode"):  # polars
        flat = column.explode() if column.dtype.is_nested() and "Int64" in f"{column.dtype}" else column
    elif re.search(types, f"{column.type}"):
        flat = column.combine_chunks() if hasattr(column, "combine_chunks") else column
        flat = flat.storage if hasattr(flat, "storage") else flat
        flat = flat.dictionary_decode() if hasattr(flat, "dictionary_decode") else flat
        flat = flat.flatten() if "list<" in f"{flat.type}" else flat
    type_name = f"{getattr(flat, 'type', None) or flat.dtype}".lower()
    if not rows or not re.fullmatch(f"u?{types}", type_name):
        return Block([""], np.empty((0, 1), np.int64))
    values = np.asarray(flat.fill_null(0)).reshape(rows, -1)
    single = values.shape[1] == 1
    labels = [f"column '{name}'" if single else f"column '{name}[{j + 1}]'" for j in range(values.shape[1])]
    return Block(labels if name else [""] * len(labels), values)
