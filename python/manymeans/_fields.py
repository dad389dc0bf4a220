"""Parquet and Arrow files by pyarrow, where the library was built without Arrow C++ (as in the wheel)."""

from __future__ import annotations

import contextlib
import functools
import os
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _manymeans
from ._errors import BadDataError, UnavailableError, UsageError
from ._imports import importing
from ._integers import rounded_in_file

_ENDINGS = {".parquet": "parquet", ".arrow": "arrow", ".feather": "arrow"}

#: Of float16, float32 and so on; other numbers are converted.
_STORED = {"halffloat": "float16", "float": "float32", "double": "float64", "uint8": "uint8", "int8": "int8"}
_SMALL = ("uint16", "int16", "bool")
_TRUTH, _TENSOR = "arrow.bool8", "arrow.fixed_shape_tensor"


@functools.cache
def _is_built_in(format: str) -> bool:
    readers = _manymeans.info(devices=False)["readers"]
    return any(reader["name"] == format and reader["available"] for reader in readers)


def format_by_pyarrow(path: bytes, format: str) -> str | None:
    """Give the format of a file that pyarrow has to read, parquet or arrow; return None for the others."""
    if format == "auto":
        format = _ENDINGS.get(os.path.splitext(os.fsdecode(path).lower())[1], "")
    return format if format in ("parquet", "arrow") and not _is_built_in(format) else None


def _open(path: str, format: str) -> tuple[Any, Any]:
    """Give the schema of a file and a function that reads some of its fields."""
    try:
        with importing:
            import pyarrow
            import pyarrow.compute
            import pyarrow.parquet
    except ImportError:
        raise UnavailableError(
            f"[{path}] is read by pyarrow, which is not installed: pip install pyarrow; .npy and .csv need no package"
        ) from None
    if not hasattr(pyarrow.Table, "__arrow_c_stream__"):
        raise UnavailableError(
            f"[{path}] is read by pyarrow 14 or newer, and {pyarrow.__version__} is installed: pip install -U pyarrow"
        )
    with _reading(path):
        if format == "parquet":
            file = pyarrow.parquet.ParquetFile(path, memory_map=True)
            names = file.schema_arrow.names
            return file.schema_arrow, lambda places: _checked_table(path, lambda: file.read([names[j] for j in places]))
        source = pyarrow.memory_map(path)
        try:
            table = pyarrow.ipc.open_file(source).read_all()
        except pyarrow.ArrowInvalid:
            source.seek(0)
            table = pyarrow.ipc.open_stream(source).read_all()
    return table.schema, lambda places: _checked_table(path, lambda: table.select(places))


@contextlib.contextmanager
def _reading(path: str) -> Iterator[None]:
    """Let pyarrow's errors be ours."""
    import pyarrow

    try:
        yield
    except (pyarrow.ArrowException, OSError) as error:
        if isinstance(error, FileNotFoundError):
            raise
        text = str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__
        raise BadDataError(f"[{path}] pyarrow cannot read this file: {text}; it is cut off or damaged") from None


def _checked_table(path: str, read: Callable[[], Any]) -> Any:
    """Give fields whose lengths, offsets and codes are checked: pyarrow takes them from the file as they are."""
    with _reading(path):
        table = read()
        table.validate(full=True)
    return table


def _item_type(type: Any) -> Any:
    """Give the type of the numbers of a field: dictionaries, lists and extensions undone."""
    import pyarrow

    while True:
        if _extension_name(type) == _TRUTH:
            return pyarrow.bool_()
        if isinstance(type, pyarrow.BaseExtensionType):
            type = type.storage_type
        elif pyarrow.types.is_dictionary(type) or _is_list(type):
            type = type.value_type
        else:
            return type


def _is_list(type: Any) -> bool:
    import pyarrow

    if isinstance(type, pyarrow.BaseExtensionType):
        type = type.storage_type
    types = pyarrow.types
    return bool(types.is_list(type) or types.is_large_list(type) or types.is_fixed_size_list(type))


def _extension_name(type: Any) -> str:
    import pyarrow

    return type.extension_name if isinstance(type, pyarrow.BaseExtensionType) else ""


def _is_understood(type: Any, inside: bool = False) -> bool:
    """Return false for other extension types: their numbers may be codes, or in a unit that only the type tells."""
    import pyarrow

    name = _extension_name(type)
    if name == _TRUTH:
        return not inside
    if name not in ("", _TENSOR):
        return False
    type = _storage_type(type)
    return _is_understood(type.value_type, True) if _is_list(type) or pyarrow.types.is_dictionary(type) else True


def _is_number(type: Any) -> bool:
    import pyarrow

    types = pyarrow.types
    if not _is_understood(type):
        return False
    if _is_list(type) and _is_list(_storage_type(type).value_type):
        return False
    item = _item_type(type)
    return bool(types.is_integer(item) or types.is_floating(item) or types.is_boolean(item) or types.is_decimal(item))


def _unknown_extension(field: Any) -> str:
    """Give the extension type that only the metadata name, since this pyarrow does not know it."""
    name = (field.metadata or {}).get(b"ARROW:extension:name", b"").decode("utf-8", "replace")
    return "" if name == _TENSOR else name


def _shown_type(field: Any) -> str:
    name = _unknown_extension(field)
    return f"extension<{name}>" if name else str(field.type)


def _storage_type(type: Any) -> Any:
    import pyarrow

    return type.storage_type if isinstance(type, pyarrow.BaseExtensionType) else type


def _plain(column: Any) -> Any:
    """Give a column of numbers, or of lists of them, that the interface of Arrow has a format for."""
    import pyarrow

    truth = _extension_name(column.type) == _TRUTH
    if isinstance(column.type, pyarrow.BaseExtensionType):
        column = pyarrow.chunked_array([chunk.storage for chunk in column.chunks], column.type.storage_type)
    if truth:
        column = pyarrow.compute.not_equal(column, 0)
    if pyarrow.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pyarrow.types.is_boolean(column.type):
        column = column.cast(pyarrow.uint8())
    if pyarrow.types.is_decimal(column.type):  # a cast does not always round to the nearest
        numbers = [None if value is None else float(value) for value in column.to_pylist()]
        column = pyarrow.chunked_array([numbers], pyarrow.float64())
    return column


def _needs_float64(column: Any) -> bool:
    """Return the library's answer for these integers or decimals (docs/user/files.md, "Types")."""
    import pyarrow

    if _is_list(column.type):
        column = pyarrow.chunked_array([chunk.flatten() for chunk in column.chunks] or [[]], column.type.value_type)
    column = column.drop_null()
    if not len(column) or str(column.type) in _SMALL:
        return False
    with tempfile.TemporaryDirectory(prefix="manymeans-") as folder:
        file = os.path.join(folder, "column.npy")
        if pyarrow.types.is_decimal(column.type):
            file = os.path.join(folder, "column.txt")
            with open(file, "w", encoding="ascii") as text:
                text.writelines(f"{value:f}\n" for value in column.to_pylist())
        else:
            np.save(file, column.to_numpy())
        return bool(_manymeans.read(file, PLAIN)["points"].dtype == np.float64)


#: The default options of `read`.
PLAIN: dict[str, Any] = {
    "format": "auto", "dtype": None, "columns": [], "exclude": [], "numeric_only": False, "missing": "error",
    "missing_value": 0.0, "one_hot": False, "max_categories": 100, "decimal": "\0", "header": "auto", "id": "",
    "weights": "", "threads": 1, "like": None,
}  # fmt: skip


def _type_of(table: Any, options: dict[str, Any]) -> str:
    """Give the type of the points, as the library chooses it for such a file."""
    if options["dtype"] is not None:
        return str(options["dtype"])
    types = [str(_item_type(column.type)) for column in table.columns]
    stored = _STORED.get(types[0]) if len(set(types)) == 1 else None
    if options["like"] is not None:
        wide = options["like"]["wide"]
        return stored if stored and not wide and stored != "float64" else "float64" if wide else "float32"
    if stored is not None:
        return stored
    if "double" in types:
        return "float64"
    wide_types = [column for column, type in zip(table.columns, types, strict=True) if type not in _STORED]
    return "float64" if any(map(_needs_float64, wide_types)) else "float32"


def _as_type(array: npt.NDArray[Any], dtype: str, path: str) -> npt.NDArray[Any]:
    if array.dtype == dtype:
        return array
    if dtype == "bfloat16":
        raise UsageError(f"[dtype] is bfloat16, which NumPy has not; '{path}' can be read as float32")
    with np.errstate(all="ignore"):
        converted = array.astype(dtype)
    narrow = dtype not in ("float32", "float64")
    wrong = (converted != array) & ~np.isnan(array) if narrow else np.isinf(converted) & ~np.isinf(array)
    if wrong.any():
        row, column = (int(i) for i in np.argwhere(wrong)[0])
        what = (
            f"is not exact in {dtype}; use a wider dtype" if narrow else f"is too large for {dtype}; use dtype float64"
        )
        raise BadDataError(f"[{path}] row {row}, column {column}: {array[row, column]} {what}")
    return converted


def _checked(options: dict[str, Any], path: str) -> None:
    """Refuse what is made of gaps and texts: the library does that, which does not read this file here."""
    for name, wanted in (
        ("missing", options["missing"] != "error"),
        ("categories", options["one_hot"]),
        ("id", options["id"]),
    ):
        if wanted:
            raise UsageError(
                f"[{name}] is not for '{path}' here, which pyarrow reads because this build has no Arrow C++; "
                "write the table as .csv (pandas.read_parquet(...).to_csv(..., index=False)), or prepare it in pandas"
            )
    if options["header"] != "auto":
        raise UsageError(f"[header] {path} is no text table, whose first line may hold names; leave it out")


def _names(table: Any, widths: list[int]) -> list[str]:
    names = []
    for name, column, width in zip(table.column_names, table.columns, widths, strict=True):
        names += [f"{name}[{i + 1}]" for i in range(width)] if _is_list(column.type) else [name]
    return names


def _short_list(entries: list[str]) -> str:
    """List max ten entries, and how many more there are."""
    shown = ", ".join(entries[:10])
    return shown if len(entries) <= 10 else f"{shown} and {len(entries) - 10} more"


def read_fields(path: bytes, format: str, options: dict[str, Any]) -> dict[str, Any]:
    """Read points as the extension module's `read` does."""
    text = os.fsdecode(path)
    _checked(options, text)
    schema, read = _open(text, format)
    columns, weight = _manymeans.choose_columns(list(schema.names), path, options)
    warnings = []
    others = [j for j in columns if _unknown_extension(schema.field(j)) or not _is_number(schema.field(j).type)]
    if others:
        names = [f"column {j + 1} ('{schema.field(j).name}') ({_shown_type(schema.field(j))})" for j in others]
        shown = _short_list(names)
        if not options["numeric_only"]:
            raise BadDataError(
                f"[{text}] {shown} holds no numbers; choose with columns=, or leave out all such with numeric_only=True"
            )
        warnings.append(f"columns that hold no numbers were left out: {shown}")
        left_out = set(others)
        columns = [j for j in columns if j not in left_out]
    if not columns:
        raise BadDataError(f"[{text}] no column is left: none of them holds numbers; points need numbers")
    table = read(columns)
    try:
        parts = [_manymeans.arrow_points(table.select([j]).set_column(0, name, _plain(table.column(j))))[0]
                 for j, name in enumerate(table.column_names)]  # fmt: skip
        points = parts[0] if len(parts) == 1 else np.hstack(parts)
    except BadDataError as error:
        raise BadDataError(f"[{text}] {str(error).replace('[Arrow column', 'column').replace(']', ',', 1)}") from None
    dtype = _type_of(table, options)
    labels = [f"column {j + 1} ('{schema.field(j).name}')" for j in columns]
    warnings += rounded_in_file([_plain(column) for column in table.columns], labels, dtype)
    weights = None
    if weight >= 0:
        weights = np.ascontiguousarray(_manymeans.arrow_points(read([weight]))[0][:, 0], dtype=np.float64)
    elif options["weights"]:
        file = _manymeans.read(options["weights"], {**PLAIN, "header": options["header"], "rows": len(points)})
        weights, warnings = file["points"].astype(np.float64).ravel(), warnings + file["warnings"]
    return {
        "points": _as_type(points, dtype, text),
        "bfloat16": False,
        "column_names": _names(table, [part.shape[1] for part in parts]),
        "weights": weights,
        "warnings": warnings,
        "source": {"count": len(schema), "numbers": [j + 1 for j in columns], "names": table.column_names,
                   "first_line": 0, "rules": [], "drops_gaps": False, "decimal": "."},
        "dropped": np.empty(0, dtype=np.int64),
        "zero_gaps": [],
        "ids": [],
    }  # fmt: skip
