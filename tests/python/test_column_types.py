"""What each type of column becomes by each route: every cell of the table in docs/user/tables.md."""

import datetime
import decimal
import itertools
import pathlib
import re
import subprocess
import warnings
from typing import NamedTuple

import h5py
import numpy as np
import pandas
import polars
import pyarrow
import pytest
from pyarrow import feather, parquet

import manymeans

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/user/tables.md"
ROUTES = ["NumPy", "pandas", "polars", "pyarrow", "CSV", "Parquet", "Arrow", "HDF5", "npz"]
ENDINGS = {"CSV": ".csv", "Parquet": ".parquet", "Arrow": ".feather", "HDF5": ".h5", "npz": ".npz"}
WHOLE = [1, 2, 1, 2, 9, 8, 9, 8]
TRUTH = [True, False, True, False, True, True, False, False]
TEXT = ["a", "b"] * 4
OTHER = np.arange(8.0)


class Column(NamedTuple):
    """One column by the routes that have it, and the numbers that it holds; files come from the arrays."""

    numbers: list | None = None
    numpy: object = None
    pandas: object = None
    polars: object = None
    pyarrow: object = None

    def by(self, route):
        """Give what this route is made of."""
        if route in ("HDF5", "npz"):  # which would be pickled
            return None if self.numpy is None or self.numpy.dtype.kind in "OT" else self.numpy
        if route in ("NumPy", "polars", "pyarrow"):
            return getattr(self, route.lower())
        if route in ("Parquet", "Arrow"):
            return pyarrow.array(self.pandas) if self.pyarrow is None and self.pandas is not None else self.pyarrow
        return self.pandas


def everywhere(values, dtype, numbers=WHOLE):
    array = np.array(values, dtype=dtype)
    return Column(numbers, array, pandas.Series(array), polars.Series("c", array), pyarrow.array(array))


def objects(values, **more):
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return Column(None, array, pandas.Series(values, dtype=object), **more)


DECIMALS = [decimal.Decimal(str(value)) / 4 for value in WHOLE]
DATES = [datetime.date(2020, 1, day) for day in range(1, 9)]
TIMES = [datetime.time(hour) for hour in range(8)]
STAMPS, SPANS = pandas.date_range("2020", periods=8), pandas.to_timedelta(range(8), unit="D")
PERIODS, INTERVALS = pandas.period_range("2020", periods=8, freq="M"), pandas.interval_range(0, 8)
PAIRS, RAGGED = [[float(i), 2.0] for i in WHOLE], [[1.0], [1.0, 2.0]] * 4
RECORDS = [{"a": i} for i in WHOLE]
KINDS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]

TYPES = {
    "bool": [everywhere(TRUTH, "?", TRUTH)],
    "integers": [everywhere(WHOLE, kind) for kind in KINDS],
    "float16": [everywhere(WHOLE, "f2")],
    "float32, float64": [everywhere(WHOLE, "f4"), everywhere(WHOLE, "f8")],
    "decimal": [
        Column([float(value) for value in DECIMALS], np.array(DECIMALS), pandas.Series(DECIMALS),
               polars.Series("c", DECIMALS), pyarrow.array(DECIMALS)),
    ],
    "nullable Int64, boolean": [
        Column(WHOLE, pandas=pandas.Series(WHOLE, dtype="Int64")),
        Column(TRUTH, pandas=pandas.Series(TRUTH, dtype="boolean")),
        Column(TRUTH, pandas=pandas.Series(TRUTH, dtype="bool[pyarrow]")),
        Column(WHOLE, pandas=pandas.Series(WHOLE, dtype="Float64")),
    ],
    "objects that are numbers": [
        Column(WHOLE, np.array(WHOLE, dtype=object), pandas.Series(WHOLE, dtype=object)),
        Column(TRUTH, np.array(TRUTH, dtype=object), pandas.Series(TRUTH, dtype=object)),
    ],
    "sparse": [
        Column(WHOLE, pandas=pandas.Series(pandas.arrays.SparseArray(np.array(WHOLE, dtype="f8")))),
        Column(WHOLE, pandas=pandas.Series(pandas.arrays.SparseArray(WHOLE, fill_value=0))),
    ],
    "categories of numbers": [
        Column(WHOLE, pandas=pandas.Series(WHOLE, dtype="category"), pyarrow=pyarrow.array(WHOLE).dictionary_encode()),
    ],
    "categories of text": [
        Column(pandas=pandas.Series(TEXT, dtype="category"), polars=polars.Series("c", TEXT, dtype=polars.Categorical),
               pyarrow=pyarrow.array(TEXT).dictionary_encode()),
    ],
    "text": [
        Column(None, np.array(TEXT), pandas.Series(TEXT), polars.Series("c", TEXT), pyarrow.array(TEXT)),
        Column(numpy=np.array(["1", "2"] * 4), polars=polars.Series("c", ["1", "2"] * 4)),
        Column(numpy=np.array(["1", "2"] * 4, dtype=np.dtypes.StringDType()),
               pandas=pandas.Series(TEXT, dtype="string")),
    ],
    "bytes": [
        objects([b"1", b"2"] * 4, polars=polars.Series("c", [b"1", b"2"] * 4),
                pyarrow=pyarrow.array([b"1", b"2"] * 4))._replace(numpy=np.array([b"1", b"2"] * 4)),
    ],
    "date": [
        objects(DATES, polars=polars.Series("c", DATES), pyarrow=pyarrow.array(DATES))._replace(
            numpy=np.array(DATES, dtype="M8[D]")),
        objects(DATES)._replace(pandas=None),
    ],
    "timestamp": [
        Column(None, STAMPS.to_numpy(), pandas.Series(STAMPS), polars.Series("c", STAMPS), pyarrow.array(STAMPS)),
        Column(pandas=pandas.Series(STAMPS.tz_localize("UTC"))),
        objects(list(STAMPS)),
    ],
    "time of day": [objects(TIMES, polars=polars.Series("c", TIMES), pyarrow=pyarrow.array(TIMES))],
    "duration": [
        Column(None, SPANS.to_numpy(), pandas.Series(SPANS), polars.Series("c", SPANS), pyarrow.array(SPANS)),
        objects(list(SPANS)),
    ],
    "Period": [objects(list(PERIODS))._replace(pandas=pandas.Series(PERIODS),
                                               pyarrow=pyarrow.array(pandas.Series(PERIODS)))],
    "Interval": [objects(list(INTERVALS))._replace(pandas=pandas.Series(INTERVALS),
                                                   pyarrow=pyarrow.array(pandas.Series(INTERVALS)))],
    "complex": [Column(None, np.array(WHOLE) + 1j, pandas.Series(np.array(WHOLE) + 1j)), objects([1j] * 8)],
    "null": [
        objects([None] * 8, polars=polars.Series("c", [None] * 8), pyarrow=pyarrow.nulls(8)),
        objects([pandas.NA] * 8),
    ],
    "lists of one length": [objects(PAIRS, polars=polars.Series("c", PAIRS), pyarrow=pyarrow.array(PAIRS))],
    "lists of several lengths": [objects(RAGGED, polars=polars.Series("c", RAGGED), pyarrow=pyarrow.array(RAGGED))],
    "records": [
        objects(RECORDS, polars=polars.Series("c", RECORDS), pyarrow=pyarrow.array(RECORDS))._replace(
            numpy=np.array([(i,) for i in WHOLE], dtype=[("a", "f8")])),
    ],
}  # fmt: skip


def cells():
    """Give the type, the route and the verdict of each cell of the page."""
    found = []
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        parts = [part.strip() for part in line.strip("|").split(" | ")]
        if parts[0] in TYPES and len(parts) == len(ROUTES) + 2:
            found += [(parts[0], route, verdict) for route, verdict in zip([*ROUTES, "labels"], parts[1:], strict=True)]
    return found


TRIED = [pytest.param(*cell, id=" ".join(cell[:2])) for cell in cells() if cell[1] != "labels" and cell[2] != "-"]
IN_FILES = [cell for cell in TRIED if cell.values[1] in ENDINGS]
IN_MEMORY = [cell for cell in TRIED if cell.values[1] not in ENDINGS]


def columns(name, route):
    found = [column for column in TYPES[name] if column.by(route) is not None]
    assert found, "this cell of the page has no test"
    return found


def frame_of(column, route, *, beside=True):
    """A table of this column, c, behind one of numbers, x."""
    values = column.by(route)
    if route == "NumPy":
        if values.dtype.kind == "V":
            return values
        both = [OTHER.astype(object if values.dtype.kind in "OMmSUT" else "f8"), values]
        return np.column_stack(both) if beside and values.dtype.kind != "T" else values[:, None]
    parts = ({"x": OTHER} if beside else {}) | {"c": values}
    return {"pandas": pandas.DataFrame, "polars": polars.DataFrame, "pyarrow": pyarrow.table}[route](parts)


def save(column, route, path):
    values, path = column.by(route), f"{path}{ENDINGS[route]}"
    if route == "CSV":
        pandas.DataFrame({"x": OTHER, "c": values}).to_csv(path, index=False)
    elif route == "Parquet":
        parquet.write_table(pyarrow.table({"x": OTHER, "c": values}), path)
    elif route == "Arrow":
        feather.write_feather(pyarrow.table({"x": OTHER, "c": values}), path, compression="uncompressed")
    elif route == "npz":
        np.savez(path, c=values)
    else:
        with h5py.File(path, "w") as file:
            file["c"] = values.astype("S") if values.dtype.kind == "U" else values
    return path


def quietly(call, *arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call(*arguments, **options)


def refuses(call, *arguments, **options):
    """Whether it is a typed error that says what is wrong; anything else is thrown."""
    with pytest.raises(manymeans.BadDataError) as caught:
        quietly(call, *arguments, **options)
    text = str(caught.value)
    assert re.search(r"numbers|number|gap|NaN|finite|null|empty|supported|missing|list", text), text
    assert "float()" not in text, text


@pytest.mark.parametrize(("name", "route", "verdict"), IN_MEMORY)
def test_points(name, route, verdict):
    for column in columns(name, route):
        for X in (frame_of(column, route), frame_of(column, route, beside=False)):
            uses = [lambda X: manymeans.fit(X, 2), manymeans.KMeans(2, n_init=1).fit, manymeans.MiniBatchKMeans(2).fit]
            uses += [manymeans.EnsembleKMeans(2).fit, manymeans.BisectingKMeans(2).fit]
            uses += [
                lambda X: manymeans.kmeans_plusplus(X, 2),
                lambda X: manymeans.predict(np.zeros((1, X.shape[1])), X),
            ]
            uses += [lambda X: manymeans.criteria(X, WHOLE), lambda X: manymeans.choose_k(X, [2], models=1)]
            if verdict in ("refused", "gap"):
                for use in uses if route != "NumPy" or X.ndim == 2 else uses[:1]:
                    refuses_points(use, X, verdict)
                continue
            found = quietly(manymeans.fit, X, 2, seed=1)
            assert (
                quietly(manymeans.KMeans(2, init="auto", n_init=1, random_state=1).fit, X).inertia_
                == found.best().inertia
            )
            if verdict != "columns":
                numbers = np.column_stack([OTHER, column.numbers] if X.shape[1] == 2 else [column.numbers])
                expected = quietly(manymeans.fit, numbers.astype("f8"), 2, seed=1).best()
                assert (expected.labels == found.best().labels).all()
                assert expected.cluster_centers.tolist() == found.best().cluster_centers.tolist()


def refuses_points(use, X, verdict):
    if verdict == "gap":
        with pytest.raises(ValueError, match=r"NaN|null|missing"):
            quietly(use, X)
        return
    with pytest.raises(ValueError) as caught:
        quietly(use, X)
    assert isinstance(caught.value, manymeans.BadDataError) or "Expected 2D array" in str(caught.value)


@pytest.mark.parametrize(("name", "route", "verdict"), IN_MEMORY)
def test_targets_weights_and_centres(name, route, verdict):
    X = np.column_stack([OTHER, OTHER[::-1] ** 2])
    for column in columns(name, route):
        values = column.by(route)
        regression = manymeans.RegressionClustering(1, n_init=1, random_state=0)
        uses = [lambda values, fit=regression.fit: fit(X, values)]
        uses += [lambda values: manymeans.fit(X, 2, sample_weight=values)]
        uses += [lambda values: manymeans.KMeans(2, n_init=1).fit(X, sample_weight=values)]
        uses += [lambda values: manymeans.MiniBatchKMeans(2).fit(X, sample_weight=values)]
        uses += [lambda values: manymeans.kmeans_plusplus(X, 2, sample_weight=values)]
        starts = [lambda init: manymeans.fit(OTHER[:, None], 8, init=init)]
        starts += [lambda init: manymeans.KMeans(8, n_init=1, init=init).fit(OTHER[:, None])]
        starts += [lambda init: manymeans.EnsembleKMeans(8, init=init).fit(OTHER[:, None])]
        starts += [lambda init: manymeans.MiniBatchKMeans(8, n_init=1, init=init).fit(OTHER[:, None])]
        if verdict in ("refused", "gap", "columns"):
            for use in uses:
                with pytest.raises(ValueError) as caught:
                    quietly(use, values)
                typed = isinstance(caught.value, manymeans.BadDataError)
                assert typed or re.search(r"contains NaN|is NaN|1d array|1D array|shape", str(caught.value)), (
                    caught.value
                )
            if verdict == "refused" and (route != "NumPy" or values.ndim == 1):
                for start in starts:
                    refuses(start, frame_of(column, route, beside=False))
            continue
        numbers = np.array(column.numbers, dtype="f8")
        coefficients = quietly(uses[0], numbers).coef_.tolist()
        assert quietly(uses[0], values).coef_.tolist() == coefficients
        assert quietly(uses[1], values).digest == quietly(uses[1], numbers).digest
        for use in uses[2:]:
            quietly(use, values)
        init = frame_of(column, route, beside=False)
        assert quietly(starts[0], init).digest == quietly(starts[0], numbers[:, None]).digest
        for start in starts:
            quietly(start, init)


@pytest.mark.parametrize(("name", "route", "verdict"), IN_FILES)
def test_files(name, route, verdict, tmp_path, program, request):
    if route in ("Parquet", "Arrow"):
        request.getfixturevalue("arrow")
    for number, column in enumerate(columns(name, route)):
        path = save(column, route, tmp_path / f"{number}")
        command = [program, "fit", path, "-k", "2", "--quiet", "--seed", "1"]
        if verdict in ("refused", "gap"):
            refuses(manymeans.read, path)
            refuses(manymeans.fit, path, 2)
            done = subprocess.run(command, capture_output=True, text=True)
            assert done.returncode == 3, done.stderr
            if route in ("CSV", "Parquet", "Arrow"):
                assert re.search(r"column 2|'c'", done.stderr), done.stderr
                if verdict == "refused" and not name.startswith("lists"):  # those are numbers
                    assert quietly(manymeans.read, path, numeric_only=True).column_names == ["x"]
            continue
        table = quietly(manymeans.read, path)
        subprocess.run(command, capture_output=True, check=True)
        if verdict == "columns":
            assert table.points.shape[1] == 3
            continue
        assert table.points[:, -1].astype("f8").tolist() == [float(value) for value in column.numbers]
        if table.points.shape[1] == 2:
            weights = quietly(manymeans.read, path, weights="c").weights
            assert weights.tolist() == [float(value) for value in column.numbers]


LABELS = [cell[::2] for cell in cells() if cell[1] == "labels"]


@pytest.mark.parametrize(("name", "verdict"), LABELS, ids=[name for name, _ in LABELS])
def test_labels(name, verdict):
    for column, route in itertools.product(TYPES[name], ["NumPy", "pandas", "polars", "pyarrow"]):
        values = column.by(route)
        if values is None:
            continue
        if verdict == "refused":
            for use in (manymeans.compare, lambda a, b: manymeans.criteria(OTHER[:, None], a)):
                with pytest.raises(manymeans.BadDataError, match=r"^\[(a|labels)\] (row 0|has the shape|cannot)"):
                    use(values, WHOLE)
            continue
        if verdict == "none":
            assert manymeans.compare(values, WHOLE).left_out == 8
            continue
        if name == "decimal":
            values = [decimal.Decimal(value) for value in WHOLE]
        keys = [
            str(value) for value in (values.to_list() if hasattr(values, "to_list") else np.asarray(values).tolist())
        ]
        _, expected = np.unique(keys, return_inverse=True)
        assert manymeans.compare(values, expected).adjusted_rand == 1
        found = manymeans.criteria(OTHER[:, None], values, sample=0)
        assert found.calinski_harabasz == manymeans.criteria(OTHER[:, None], expected, sample=0).calinski_harabasz


def test_the_page_has_all_types():
    assert sorted({cell[0] for cell in cells()}) == sorted(TYPES)
    assert len(cells()) == len(TYPES) * (len(ROUTES) + 1)
