"""From what users pass to arrays that the library reads in place."""

from __future__ import annotations

import contextlib
import datetime
import functools
import itertools
import math
import mmap
import os
import sys
import weakref
from typing import Any, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt

from . import _manymeans
from ._alignment import check_rows
from ._errors import BadDataError, OutOfMemoryError
from ._integers import warn_of_rounded
from ._tables import Dataset, Source, columns_by_name, columns_of_fit
from ._wording import shown

#: Read in place; every other number type is converted to float64.
DTYPES = [np.float64, np.float32, np.float16, np.uint8, np.int8]

# float64 holds all integers up to here.
_MOST_EXACT = 2**53

_READY = frozenset(np.dtype(dtype) for dtype in DTYPES)

# Devices of DLPack whose memory the CPU can read: CPU, CUDA's and ROCm's pinned host memory, CUDA's managed memory.
_HOST_DEVICES = {1, 3, 11, 13}
_CUDA_DEVICE = 2
_DEVICE_TYPES = ("float64", "float32", "float16", "bfloat16", "uint8", "int8")


class Points(NamedTuple):
    """A C-contiguous array of two dimensions.

    Attributes
    ----------
    array : ndarray, DeviceArray or SparseArray
        Of one of `DTYPES`, or uint16 where `bfloat16`; the other two have nothing but a shape and a dtype.
    bfloat16 : bool
        True for bfloat16 numbers, for which NumPy has no type.
    names : list of str or None
        Names of the columns where `X` had some.
    source : Source or None
        The columns of their file, where `X` was read from one.

    """

    array: Any
    bfloat16: bool = False
    names: list[str] | None = None
    source: Source | None = None

    @property
    def on_device(self) -> bool:
        """Return whether the array lies in the memory of a CUDA device."""
        return isinstance(self.array, _manymeans.DeviceArray)

    @property
    def is_sparse(self) -> bool:
        """Return whether the points are a sparse matrix."""
        return isinstance(self.array, _manymeans.SparseArray)

    @property
    def numbers(self) -> Any:
        """The array; a copy as float32 for bfloat16, on the CPU for a device's, SciPy's for a sparse one."""
        if self.is_sparse:
            return self.array.matrix
        if self.on_device:
            columns = self.array.shape[1]
            unchanged = {"kind": "none", "offset": [0.0] * columns, "divisor": [1.0] * columns}
            numbers = _manymeans.apply_scaling(self.array, self.bfloat16, unchanged, 0)
            return numbers if self.bfloat16 else numbers.astype(self.array.dtype, copy=False)  # exact either way
        array: npt.NDArray[Any] = self.array
        return (array.astype(np.uint32) << 16).view(np.float32) if self.bfloat16 else array

    @property
    def wide(self) -> bool:
        """Return whether prototypes of the points are float64."""
        return bool(self.array.dtype == np.float64)


class Target(NamedTuple):
    """The target of a regression.

    Attributes
    ----------
    values : ndarray of shape (n_samples, 1)
        Of float64.
    name : str
        Its name.

    """

    values: npt.NDArray[Any]
    name: str = "y"


def is_dataframe(X: Any) -> bool:
    """Return whether this is of pandas, with values: a frame, column, index or array, but no scalar and no group."""
    return type(X).__module__.split(".")[0] == "pandas" and hasattr(type(X), "__array__")


def _is_arrow_type(dtype: Any) -> bool:
    """Return whether pyarrow keeps the columns of this type of pandas."""
    return hasattr(dtype, "pyarrow_dtype") or getattr(dtype, "storage", "") == "pyarrow"


def is_tensor(X: Any) -> bool:
    """Return whether this is no NumPy array, but an array of another library that speaks DLPack.

    Arrow's arrays do, but pyarrow 25 and older cannot name the device of texts, gaps and booleans.
    """
    speaks = hasattr(X, "__dlpack_device__") and hasattr(X, "__dlpack__")
    return speaks and not isinstance(X, np.ndarray) and not is_arrow(X)


def is_torch(X: Any) -> bool:
    """Return whether this is a tensor of torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(X, torch.Tensor)


def is_picture(X: Any) -> bool:
    """Return whether this is a picture: an array of bytes, whose last axis has three or four colours."""
    return X.ndim == 3 and X.shape[-1] in (3, 4) and str(X.dtype).rpartition(".")[2] == "uint8"


def is_cupy(X: Any) -> bool:
    """Return whether this is an array of CuPy."""
    return type(X).__module__.partition(".")[0] == "cupy"


def is_on_cuda(X: Any) -> bool:
    """Return whether this array lies in the memory of a CUDA device."""
    if is_torch(X):
        return bool(X.is_cuda)
    if is_tensor(X):
        return int(X.__dlpack_device__()[0]) == _CUDA_DEVICE
    return hasattr(X, "__cuda_array_interface__")


def check_arrow(X: Any, name: str) -> Any:
    """Give Arrow data of pyarrow or pandas checked in full, and anything else as it is.

    Readers rely on their lengths, offsets and codes, and find no size of a buffer.

    Raises
    ------
    BadDataError
        Where they do not fit together.

    """
    pyarrow = sys.modules.get("pyarrow")
    if pyarrow is None:
        return X
    if isinstance(X, pyarrow.RecordBatchReader):
        X = X.read_all()
    parts = X if isinstance(X, (list, tuple)) else [X]
    if is_dataframe(X):
        is_frame = getattr(X, "ndim", 0) == 2
        columns = [X.iloc[:, j] for j, dtype in enumerate(X.dtypes) if _is_arrow_type(dtype)] if is_frame else [X]
        parts = [column.array.__arrow_array__() for column in columns if _is_arrow_type(getattr(column, "dtype", None))]
    kinds = (pyarrow.Table, pyarrow.RecordBatch, pyarrow.Array, pyarrow.ChunkedArray)
    try:
        for part in parts:
            if isinstance(part, kinds):
                part.validate(full=True)
    except pyarrow.ArrowException as error:
        text = f"{error}".rstrip(".")
        raise BadDataError(f"{name} is no valid table of Arrow: {text}; read or make it anew") from None
    return X


def check_sparse(X: Any, name: str) -> None:
    """Check the indices of a sparse matrix of SciPy, which writes to where they point.

    Raises
    ------
    BadDataError
        Where they point out of it.

    """
    try:
        if hasattr(X, "check_format"):  # CSR, CSC and BSR
            X.check_format(full_check=True)
        elif X.format == "coo" and X.ndim == 2:
            type(X)((X.data, (X.row, X.col)), shape=X.shape)
        elif X.format == "lil":
            for row, data in zip(X.rows, X.data, strict=True):
                if len(row) != len(data) or (row and not 0 <= min(row) <= max(row) < X.shape[1]):
                    raise ValueError("a column of a row is not there, or has no value")
    except (ValueError, TypeError, IndexError) as error:
        raise BadDataError(f"{name} is a sparse matrix whose parts do not fit together: {error}") from None


def unmasked(X: Any, name: str) -> Any:
    """Give the numbers of a masked array without masked values, and anything else as it is, checked.

    Raises
    ------
    BadDataError
        When values are masked: NumPy would hand over what lies behind the mask. When parts of a table of Arrow or of a
        sparse matrix do not fit together: NumPy and SciPy would read what is not theirs.

    """
    if is_scipy_sparse(X):
        check_sparse(X, name)
        return X
    refuse_old_tables(X, name)
    X = check_arrow(X, name)
    rows = X if isinstance(X, (list, tuple)) else [X]
    masked = sum(int(np.count_nonzero(np.ma.getmaskarray(row))) for row in rows if isinstance(row, np.ma.MaskedArray))
    if masked:
        raise BadDataError(
            f"{name} has masked values ({masked} in all); fill them in (numpy.ma.filled) or leave such rows out"
        )
    return X.data if isinstance(X, np.ma.MaskedArray) else X


def refuse_files(X: Any, name: str) -> None:
    """Say what is to be done with the name of a file, and with a `Dataset` where only its points are wanted.

    Raises
    ------
    BadDataError
        For such.

    """
    if isinstance(X, Dataset):
        raise BadDataError(f"{name} is a Dataset; {name}.points are right here, and {name}.weights as sample_weight")
    if isinstance(X, (str, bytes, os.PathLike)):
        raise BadDataError(f"{name} is {shown(X)}; points are needed, and manymeans.read gives those of a file")


# The first versions with the interface of Arrow; arrays that older ones make lose types, names and gaps.
_WITH_INTERFACE = {"polars": "1.12", "pyarrow": "14"}


def refuse_old_tables(X: Any, name: str) -> None:
    """Say what is to be done with tables that have no interface of Arrow.

    Raises
    ------
    BadDataError
        For such of polars and pyarrow.

    """
    library = type(X).__module__.split(".")[0]
    if library not in _WITH_INTERFACE or is_arrow(X):
        return
    if hasattr(X, "collect"):
        raise BadDataError(
            f"{name} is a {type(X).__name__} of {library}, which has no values yet; give {name}.collect()"
        )
    if hasattr(X, "columns"):
        version = getattr(sys.modules.get(library), "__version__", "")
        raise BadDataError(
            f"{name} is a {type(X).__name__} of {library} {version}, which cannot hand over its columns; use {library} "
            f"{_WITH_INTERFACE[library]} or newer, or give {name}.to_pandas()"
        )


# Values that are not made into numbers, although NumPy would do so with some of them.
_NO_NUMBERS: list[tuple[tuple[type, ...], str]] = [
    ((str, bytes), "text"),
    ((datetime.date, np.datetime64), "dates or times"),
    ((datetime.time,), "times of the day"),
    ((datetime.timedelta, np.timedelta64), "durations"),
    ((complex, np.complexfloating), "complex numbers"),
    ((list, tuple, dict, np.ndarray), "lists or records"),
]

_NO_KINDS = "cSUMmVT"

# Why, or how a column of them becomes numbers.
_ADVICE = {
    "text": ": could not convert text to numbers",
    "dates or times": ", as pandas.to_datetime(column).dt.day_of_year",
    "durations": ", as pandas.to_timedelta(column).dt.total_seconds()",
    "a Period": ", as pandas.PeriodIndex(column).year",
    "an Interval": ", as pandas.IntervalIndex(column).mid",
}


#: Advice that names parameters of `read`.
OF_TEXT = (
    '; manymeans.read(X, categories="onehot").points makes columns of 0 and 1 of texts, and numeric_only=True in its '
    "place leaves them out"
)


def is_gap(value: Any) -> bool:
    """Return whether this value means a missing one. NaN is not tested here."""
    return value is None or value is np.ma.masked or type(value).__name__ in ("NAType", "NaTType")


def _no_number(value: Any) -> str | None:
    """Say what a value is that is no number; return None for a number, or for a gap, which has its own error."""
    if value is np.ma.masked:
        return None
    known = next((what for kinds, what in _NO_NUMBERS if isinstance(value, kinds)), None)
    if known or value is None or hasattr(value, "__float__") or hasattr(value, "__index__"):
        return known
    name = type(value).__name__
    return None if name == "NAType" else f"{'an' if name[0] in 'AEIO' else 'a'} {name}"


def _refuse(name: str, dtype: Any, value: Any = None, where: str = "") -> NoReturn:
    """Refuse such values; `value` is one of them."""
    what = _no_number(value)
    begin = "Complex data not supported: " if "complex" in f"{dtype} {what}" else ""  # as scikit-learn says it
    held = f" and holds {what}, {shown(value)} in {where or 'it'}" if what else where and f" in {where}"
    advice = _ADVICE.get("text" if getattr(dtype, "kind", "") in tuple("SUT") else str(what), "")
    if what == "text" and name == "X" and "column" in where:  # of a frame, which read() takes
        advice += OF_TEXT
    raise BadDataError(f"{begin}{name} is of type {dtype}{held}; numbers are needed{advice}")


def check_kind(X: Any, name: str) -> None:
    """Refuse arrays and frames of what is no number, also where NumPy would make numbers of it.

    Raises
    ------
    BadDataError
        For text, dates, durations, periods, intervals, complex numbers, records and other objects.

    """
    if isinstance(X, np.ndarray) and X.dtype.kind in _NO_KINDS:
        _refuse(name, X.dtype)
    if not is_dataframe(X):
        return
    for j in range(X.shape[1] if X.ndim == 2 else 1):
        column, at = (X.iloc[:, j], f"column '{X.columns[j]}'") if X.ndim == 2 else (X, "")
        kind = getattr(column.dtype, "kind", "O")
        if kind in "biuf":
            continue
        values = getattr(column.dtype, "categories", column)  # of many rows the few different values
        for row, value in enumerate(values):
            if _no_number(value):
                _refuse(name, column.dtype, value, ", ".join(filter(None, [f"row {row}" * (values is column), at])))
        if kind in _NO_KINDS:
            _refuse(name, column.dtype, where=at)


def in_native_order(X: Any) -> Any:
    """Give a copy in the machine's byte order of an array in the other one, and anything else as it is."""
    if isinstance(X, np.ndarray) and not X.dtype.isnative and X.dtype.kind in "fiu":
        return X.astype(X.dtype.newbyteorder("="))
    return X


def array_of(X: Any, name: str) -> npt.NDArray[Any]:
    """Give an array of NumPy, of whatever values.

    Raises
    ------
    BadDataError
        For masked values, sparse matrices, and rows of different lengths.

    """
    if is_scipy_sparse(X):
        raise BadDataError(f"{name} is a sparse matrix; an array of NumPy is needed, X.toarray() gives one")
    try:
        array = np.asarray(unmasked(X, name))
        if isinstance(X, (list, tuple)) and array.dtype == np.float64 and (np.abs(array) >= _MOST_EXACT).any():
            array = np.asarray(X, dtype=object)  # with the integers that are now rounded, if there are any
        if array.dtype.kind == "f":
            warn_of_rounded(X, name)
        return array
    except (TypeError, ValueError) as error:  # rows of different lengths
        if isinstance(error, BadDataError):
            raise
        raise BadDataError(f"{name} cannot be made an array: {error}") from None


def _numbers_of(array: npt.NDArray[Any], name: str, columns: list[str] | None = None) -> npt.NDArray[Any]:
    """Give numbers of a type that the library reads; text is refused, also where it could be read as numbers."""
    array = in_native_order(array)
    if array.dtype in DTYPES:
        return array
    check_kind(array, name)
    if array.dtype.kind == "O":
        wrong = next((i for i, value in enumerate(array.flat) if _no_number(value)), None)
        if wrong is not None:
            place = [int(i) for i in np.unravel_index(wrong, array.shape)]
            where = f"row {place[0]}" if place else "it"
            if len(place) > 1:
                where += f", column '{columns[place[1]]}'" if columns else f", column {place[1]}"
            _refuse(name, array.dtype, array.flat[wrong], where)
        # pandas.NA and a masked value are no numbers; as NaN they have a place that can be named.
        gaps = np.frompyfunc(is_gap, 1, 1)(array)
        array = np.where(np.asarray(gaps, dtype=bool), np.nan, array)
    warn_of_rounded(array, name, columns)
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise BadDataError(f"{name} is of type {array.dtype} and cannot be made float64: {error}") from None


def plain_numbers(given: Any, name: str) -> npt.NDArray[Any]:
    """Return the numbers of a target, weights or centres of any shape, by the rules for X.

    Raises
    ------
    BadDataError
        For what is refused in X.

    """
    given = on_host(given)
    if is_tensor(given) and not hasattr(given, "__array__"):
        given = _from_tensor(given).numbers
    if isinstance(given, np.ndarray) or not is_arrow(given):
        check_kind(given, name)
        return _numbers_of(array_of(given, name), name)
    is_table = hasattr(given, "columns") or hasattr(given, "column_names")
    kind = getattr(given, "type", getattr(given, "dtype", None))
    if not is_table and str(kind).lower().startswith("struct"):  # which would be a table
        _refuse(name, kind)
    try:
        array: npt.NDArray[Any] = _manymeans.arrow_points(check_arrow(given, name))[0]
        warn_of_rounded(given, name)
    except BadDataError as error:
        raise BadDataError(f"[{name}] {str(error).removeprefix('[').replace(']', ':', 1)}") from None
    return array if is_table else array[:, 0] if array.shape[1] == 1 else array


def on_host(X: Any) -> Any:
    """Give a copy in the memory of the CPU of an array of a device, and anything else as it is."""
    if not is_on_cuda(X):
        return X
    if hasattr(X, "detach"):  # torch
        X = X.detach().cpu()
        return X.float() if "bfloat16" in str(X.dtype) else X
    if hasattr(X, "copy_to_host"):  # numba
        return X.copy_to_host()
    return X.get() if is_cupy(X) else np.asarray(X)


def is_arrow(X: Any) -> bool:
    """Return whether this is a table or column of Arrow (pyarrow, polars, ...); pandas has its own way."""
    return not is_dataframe(X) and (hasattr(X, "__arrow_c_stream__") or hasattr(X, "__arrow_c_array__"))


@functools.cache
@functools.cache
def _has_cuda() -> bool:
    backends = _manymeans.info(devices=True)["backends"]
    return any(backend["name"] == "cuda" and backend["available"] for backend in backends)


def _readable_on_device(X: Any) -> Any:
    """Give the array itself, or a copy on its device, contiguous and of a type that the library reads."""
    dtype = str(getattr(X, "dtype", "")).rsplit(".", maxsplit=1)[-1]
    if dtype and dtype not in _DEVICE_TYPES:
        if "complex" in dtype or not (hasattr(X, "double") or hasattr(X, "astype")):
            raise BadDataError(f"X is of type {dtype} on a CUDA device; {', '.join(_DEVICE_TYPES)} are right")
        X = X.double() if hasattr(X, "double") else X.astype("float64")
    if hasattr(X, "contiguous"):
        return X.contiguous()
    if is_cupy(X) and not X.flags.c_contiguous:
        return X.copy(order="C")
    return X


def _its_device(X: Any) -> Any:
    """Return a context in which the array's device is the current one, as torch and CuPy require for an export."""
    if is_torch(X):
        return sys.modules["torch"].cuda.device(X.device)
    device = getattr(X, "device", None)
    return device if hasattr(device, "__enter__") else contextlib.nullcontext()


def from_device(X: Any) -> Points:
    """Give an array of a CUDA device where it lies, or a copy there: contiguous, of a type that the library reads.

    Raises
    ------
    BadDataError
        Where this build, or the library, cannot read it.

    """
    if not _has_cuda():
        raise BadDataError(
            "X is on a CUDA device, which this build of manymeans cannot read; copy it to the CPU's memory first, "
            "with X.cpu() in torch or X.get() in CuPy, or build manymeans with CUDA"
        )
    if hasattr(X, "detach"):
        X = X.detach()
    if is_torch(X):
        array = _tensor_in_place(_readable_on_device(X))
    else:
        with _its_device(X):
            array = array_in_place(_readable_on_device(X))
    return Points(array, bfloat16=array.bfloat16)


def _tensor_in_place(X: Any) -> _manymeans.DeviceArray:
    """Give a contiguous tensor of torch. Its export by DLPack takes longer than the labels of a few rows."""
    stream = sys.modules["torch"].cuda.current_stream(X.device).cuda_stream
    dtype = str(X.dtype).removeprefix("torch.")
    return _manymeans.DeviceArray.from_address(X, X.data_ptr(), tuple(X.shape), dtype, (X.device.index, stream))


def array_in_place(X: Any) -> _manymeans.DeviceArray:
    """Give an array of a CUDA device where it lies.

    Raises
    ------
    BadDataError
        Where it is not contiguous.

    """
    with _its_device(X):
        if is_tensor(X):  # 1: CUDA's default stream, which the library waits for
            return _manymeans.DeviceArray.from_capsule(X.__dlpack__(stream=1))
        return _manymeans.DeviceArray.from_interface(X)


def _from_tensor(X: Any) -> Points:
    device = int(X.__dlpack_device__()[0])
    if device not in _HOST_DEVICES:
        raise BadDataError(
            f"X is on a device (DLPack type {device}) that manymeans cannot read; copy it to the CPU's memory first"
        )
    if hasattr(X, "detach"):  # torch gives nothing away that still wants gradients
        X = X.detach()
    try:
        return Points(np.from_dlpack(X))
    except (BufferError, RuntimeError, TypeError) as error:
        dtype = str(getattr(X, "dtype", ""))
        if "bfloat16" not in dtype:
            known = hasattr(np, dtype.rpartition(".")[2])  # sctypeDict has types of other packages, too
            advice = "make it a NumPy array first" if known else "make it float32 first"
            raise BadDataError(f"X of type {dtype} cannot be read: {error}; {advice}") from None
    if hasattr(X, "contiguous"):
        X = X.contiguous()
    return Points(_manymeans.bfloat16_bits(X), bfloat16=True)


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple, np.ndarray)) and value is not np.ma.masked


def has_lists(X: Any) -> bool:
    """Return whether this is a frame or a column of pandas that holds lists or arrays, as embeddings often are."""
    if not is_dataframe(X):
        return False
    if X.ndim == 2:
        places = [j for j, dtype in enumerate(X.dtypes) if getattr(dtype, "kind", "O") == "O"]
        return any(has_lists(X.iloc[:, j]) for j in places)
    if hasattr(X.dtype, "pyarrow_dtype"):
        return "list" in str(X.dtype.pyarrow_dtype).partition("<")[0]
    return getattr(X.dtype, "kind", "O") == "O" and any(map(_is_list, X))


def has_objects(X: Any) -> bool:
    """Return whether a frame of pandas has columns other than plain numbers: objects, or sparse ones of gaps."""
    return (
        is_dataframe(X)
        and X.ndim == 2
        and any(getattr(dtype, "kind", "O") not in "biuf" or getattr(dtype, "fill_value", 0) != 0 for dtype in X.dtypes)
    )


def _rows_of_lists(column: Any, where: str) -> npt.NDArray[Any]:
    """Give a row for each list of a column; all need the same length, and numbers."""
    if hasattr(column.dtype, "pyarrow_dtype"):
        table = check_arrow(column.array.__arrow_array__(), "X")
        if not is_arrow(table):  # pyarrow 15 and older have no interface for one column
            table = sys.modules["pyarrow"].table([table], names=["X"])
        typed: npt.NDArray[Any] = _manymeans.arrow_points(table)[0]
        return typed
    rows: list[npt.NDArray[Any]] = []
    for i, value in enumerate(column):
        if not _is_list(value):
            raise BadDataError(f"[X] row {i}{where}: {shown(value)} is no list; every row needs one")
        row = np.asarray(value)
        if row.ndim != 1 or (rows and len(row) != len(rows[0])):
            length = len(rows[0]) if rows else "any number of"
            raise BadDataError(
                f"[X] row {i}{where}: its list has the shape {row.shape}, those before it have {length} numbers; "
                "every row needs as many"
            )
        if row.dtype.kind not in "fiub":
            place = next((j for j, item in enumerate(value) if not isinstance(item, (int, float, np.number))), 0)
            raise BadDataError(
                f"[X] row {i}{where}: {shown(value[place])}, value {place + 1} of its list, is no number"
            )
        rows.append(row)
    if not len(rows[0]):
        raise BadDataError(f"[X] row 0{where}: its list is empty; at least one number is needed")
    return np.stack(rows)


def _from_lists(X: Any) -> Points:
    if X.ndim == 1:
        return Points(_rows_of_lists(X, ""))
    blocks, parts = [], []
    for j in range(X.shape[1]):
        column, name = X.iloc[:, j], str(X.columns[j])
        if has_lists(column):
            blocks.append(_rows_of_lists(column, f", column '{name}'"))
            parts.append([f"{name}[{i + 1}]" for i in range(blocks[-1].shape[1])])
        else:
            blocks.append(_from_frame(X.iloc[:, [j]], "X").array)
            parts.append([name])
    array, names = np.hstack(blocks), list(itertools.chain(*parts))
    for block, part in zip(blocks, parts, strict=True) if array.dtype.kind == "f" else ():
        warn_of_rounded(block, "X", part)
    return Points(_numbers_of(array, "X", names), names=names)


def unwrap(X: Any) -> Points | None:
    """Give the array of a tensor or an Arrow table; return None for arrays that NumPy and scikit-learn understand."""
    if isinstance(X, Dataset):
        return Points(X.points, names=X.column_names or None, source=X.source)
    if isinstance(X, np.ndarray):
        if X.dtype.name == "bfloat16":  # of the package ml_dtypes
            return Points(readable(X).view(np.uint16), bfloat16=True)
        return None
    if has_lists(X):
        return _from_lists(X)
    if has_objects(X):
        framed = _from_frame(X, "X")
        return framed._replace(array=_numbers_of(framed.array, "X", framed.names))
    if is_arrow(X):
        try:
            array, names, _ = _manymeans.arrow_points(check_arrow(X, "X"))
        except BadDataError as error:
            text = str(error)
            is_text = "] it holds text" in text and getattr(X, "shape", ())[1:]
            raise BadDataError(text.split(": leave it out")[0] + OF_TEXT if is_text else text) from None
        warn_of_rounded(X, "X")
        return Points(array, names=list(names) or None)
    if is_on_cuda(X):
        return from_device(X)
    if is_tensor(X):
        return _from_tensor(X)
    return None


def _from_frame(X: Any, name: str) -> Points:
    X = check_arrow(X, name)
    check_kind(X, name)
    return Points(array_of(X, name), names=[str(column) for column in X.columns])


def is_scipy_sparse(X: Any) -> bool:
    """Return whether this is a sparse matrix or array of SciPy, in any format."""
    return hasattr(X, "toarray") and hasattr(X, "tocsr")


def sparse_points(X: Any) -> Points:
    """Give a sparse matrix as it is where it is CSR of float32 or float64 with sorted columns, else a copy that is.

    Entries of the same place are added up, as scikit-learn does.

    Raises
    ------
    BadDataError
        For matrices of other things than numbers.

    """
    if X.dtype.kind in "cSUMmVO":
        raise BadDataError(f"X is a sparse matrix of type {X.dtype}; numbers are needed")
    warn_of_rounded(X, "X")
    narrow = X.dtype.newbyteorder("=") in (np.dtype("f2"), np.dtype("u1"), np.dtype("i1"))
    dtype = np.dtype(np.float32) if narrow else X.dtype.newbyteorder("=")
    rows = X.tocsr().astype(dtype if dtype in (np.float32, np.float64) else np.float64, copy=False)
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return Points(_manymeans.SparseArray(rows))


def densify(X: Any) -> npt.NDArray[Any]:
    """Make an array of a sparse matrix, if it fits.

    Raises
    ------
    OutOfMemoryError
        When the array would take more memory than is available.

    """
    if X.dtype.kind in "cSUMmV":
        raise BadDataError(f"X is a sparse matrix of type {X.dtype}; numbers are needed")
    warn_of_rounded(X, "X")
    dtype = X.dtype.newbyteorder("=")
    dtype = dtype if dtype in DTYPES else np.dtype(np.float64)
    needed = math.prod(X.shape) * dtype.itemsize
    limit = _manymeans.info(devices=False)["available_memory"]
    if needed > limit:
        raise OutOfMemoryError(
            f"X is a sparse matrix of shape {X.shape}, which is made dense here, and as a dense array X would take "
            f"{-(-needed // 2**20)} MiB where {limit // 2**20} MiB are available; reduce its columns, "
            "with sklearn.decomposition.TruncatedSVD for instance"
        )
    array: npt.NDArray[Any] = X.astype(dtype, copy=False).toarray(order="C")
    return array


def is_ready(X: Any) -> bool:
    """Return whether the library reads this array of NumPy in place: checks and conversions change nothing."""
    return (
        type(X) is np.ndarray
        and X.dtype in _READY
        and X.ndim == 2
        and X.shape[0] > 0
        and X.shape[1] > 0
        and X.flags.c_contiguous
        and X.flags.aligned
        and not isinstance(X.base, (np.memmap, mmap.mmap))
    )


def plain_points(X: Any, name: str = "X", *, empty: bool = False, keep_sparse: bool = False) -> Points:
    """Give points for functions that know no estimator; scikit-learn is not needed.

    Raises
    ------
    BadDataError
        Unless `X` has two dimensions, rows and columns, and numbers.

    """
    points = unwrap(X)
    if points is None:
        if is_scipy_sparse(X):
            check_sparse(X, name)
            if keep_sparse and X.ndim == 2:
                return conform(sparse_points(X), name, 0 if empty else 1)
            X = densify(X)
        refuse_files(X, name)
        points = _from_frame(X, name) if is_dataframe(X) and hasattr(X, "columns") else Points(array_of(X, name))
    return conform(points, name, 0 if empty else 1)


def plain_centers(X: Any, name: str, columns: list[str] | None = None) -> npt.NDArray[Any]:
    """Return the centres of a user: an array of two dimensions, in the order of `columns` of the points.

    Raises
    ------
    BadDataError
        As `plain_points`; a sparse matrix is refused.

    """
    X = in_order(X, name, columns)
    if is_ready(X):
        ready: npt.NDArray[Any] = X
        return ready
    array: npt.NDArray[Any] = conform(Points(plain_numbers(X, name)), name).array
    return array


def in_order(X: Any, name: str, columns: list[str] | None) -> Any:
    """Return centres as an array with the points' order of columns, if both have names; else unchanged.

    Raises
    ------
    BadDataError
        Where a column of the points is missing, or values are masked.

    """
    if isinstance(X, np.ndarray):
        return unmasked(X, name)
    try:
        if not isinstance(X, Dataset):
            X = columns_of_fit(X, columns or [])
        points = Points(X.points, names=X.column_names) if isinstance(X, Dataset) else None
        if is_arrow(X):
            points = unwrap(X)
        elif is_dataframe(X) and X.ndim == 2 and not has_lists(X):
            points = _from_frame(X, name)
        if points is not None:
            return columns_by_name(points.array, points.names, columns or [])
    except BadDataError as error:
        text = str(error).replace("X has", f"{name} has")
        raise BadDataError(text.replace("the model was fitted to the columns", "X has the columns")) from None
    return unmasked(on_host(X), name)


def conform(points: Points, name: str = "X", least_rows: int = 1) -> Points:
    """Check the dimensions, and convert to a type and an order that the library reads."""
    array = points.array
    if array.ndim != 2 or array.shape[0] < least_rows or array.shape[1] < 1:
        text = f"{name} has the shape {array.shape}; rows and columns, at least one of each, are needed"
        if is_picture(array):
            text += f": {name}.reshape(-1, {array.shape[-1]}) makes a row of each pixel of a picture"
        elif array.ndim > 2:
            text += f": {name}.reshape({array.shape[0]}, {math.prod(array.shape[1:])}) makes a row of each {name}[i]"
            text += f", and manymeans.fit_each fits each {name}[i]" if array.ndim == 3 and name == "X" else ""
        raise BadDataError(text)
    if points.bfloat16 or points.on_device or points.is_sparse:
        return points
    return Points(readable(_numbers_of(array, name, points.names)), names=points.names, source=points.source)


_mappings: weakref.WeakKeyDictionary[mmap.mmap, _manymeans.ForeignMapping] = weakref.WeakKeyDictionary()


def _watch_mapping(array: npt.NDArray[Any]) -> None:
    """Where others have mapped a file (`numpy.memmap`): make calls notice that it was cut off."""
    base: Any = array
    while base is not None and not isinstance(base, mmap.mmap):
        base = base.obj if isinstance(base, memoryview) else getattr(base, "base", None)
    if base is None:
        return
    if base not in _mappings:
        whole = np.frombuffer(base, np.uint8)
        _mappings[base] = _manymeans.ForeignMapping(whole.ctypes.data, whole.nbytes)
    _mappings[base].check()


def readable(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Give the array itself where it is contiguous and aligned, else a copy that is."""
    try:
        array = np.require(array, requirements=["C", "A"])
    except MemoryError as error:
        raise OutOfMemoryError(f"there is not enough memory for a contiguous copy: {error}") from None
    _watch_mapping(array)
    return array


def aligned(state: Any) -> Any:
    """Give what was unpickled with arrays that can be read: those that came over a network may lie at any address.

    Objects that need no copy are returned themselves, so the next pickle has the same bytes.
    """
    if isinstance(state, np.ndarray):
        return np.require(state, requirements=["A"])
    named = type(state) is dict
    if not named and not isinstance(state, (list, tuple)):
        return state
    before = list(state.values()) if named else state
    after = [aligned(value) for value in before]
    if all(a is b for a, b in zip(after, before, strict=True)):
        return state
    if named:
        return dict(zip(state, after, strict=True))
    return type(state)(*after) if hasattr(state, "_fields") else type(state)(after)


def restore(thing: Any, state: dict[str, Any]) -> None:
    """Give a thing its attributes as unpickling does: names are interned, so the next pickle has the same bytes."""
    vars(thing).update((sys.intern(name), value) for name, value in aligned(state).items())


def plain_weights(sample_weight: Any, n: int, X: Any, read: Any = None) -> npt.NDArray[np.float64] | None:
    """Return the weights of the n rows of X, or of what was read of it, as the library requires them."""
    if sample_weight is None:
        return None
    name = "sample_weight"
    check_rows(name, sample_weight, X)
    if isinstance(sample_weight, (str, bytes, os.PathLike)):
        raise BadDataError(
            f"[sample_weight] is {shown(sample_weight)}; a weight for each row is right: manymeans.read(weights=...) "
            "takes them from a column or file, and a frame gives them by frame[name]"
        )
    weights = readable(plain_numbers(sample_weight, name).astype(np.float64, copy=False))
    rows = X if read is None else read
    if isinstance(rows, Dataset) and len(rows.dropped) > 0 and weights.shape == (n + len(rows.dropped),):
        weights = np.delete(weights, rows.dropped)  # those of rows with gaps go with the rows
    if weights.ndim == 0:
        weights = np.full(n, float(weights))
    if weights.shape != (n,):
        raise BadDataError(f"sample_weight has the shape {weights.shape}; one weight for each of the {n} rows is right")
    return weights
