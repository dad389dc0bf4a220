"""Integers that become floats of other values: a warning says so, wherever they come from."""

import re
import warnings

import numpy as np
import pandas
import polars
import pyarrow
import pyarrow.feather
import pyarrow.parquet
import pytest
from scipy import sparse

import manymeans
from manymeans import BisectingKMeans, EnsembleKMeans, KMeans, MiniBatchKMeans, RegressionClustering

LARGE = 2**53 + 1
ROWS = np.array([[5, 1], [LARGE, 2], [LARGE + 2, 7], [2**60, 1]])
FRAME = pandas.DataFrame(ROWS, columns=["a", "b"])
TABLE = pyarrow.table({"a": ROWS[:, 0], "b": ROWS[:, 1].astype(float)})
MIXED = FRAME.assign(b=[0.5, 1, 2, 3])
LISTS = pandas.DataFrame({"a": [row.tolist() for row in ROWS[:, ::-1]]})

#: Points, and what the warning calls the column.
POINTS = {
    "int64": (ROWS, "column 0"),
    "uint64": (ROWS.astype(np.uint64), "column 0"),
    "the other byte order": (ROWS.astype(">i8"), "column 0"),
    "negative": (-ROWS, "column 0"),
    "strides": (np.repeat(ROWS, 2, axis=1)[:, ::-2][:, ::-1], "column 0"),
    "Fortran order": (np.asfortranarray(ROWS), "column 0"),
    "list": (ROWS.tolist(), "column 0"),
    "list beside floats": ([[5, 0.5], [LARGE, 2.0], [7, 1.0]], "column 0"),
    "objects": (ROWS.astype(object), "column 0"),
    "larger than uint64": ([[2**70, 1], [2**70 + 1, 2], [3, 4]], "column 0"),
    "sparse": (sparse.csr_array(ROWS), "column 0"),
    "sparse, by columns": (sparse.csc_matrix(ROWS), "column 0"),
    "frame": (FRAME, "column 'a'"),
    "frame beside floats": (MIXED, "column 'a'"),
    "Int64": (MIXED.astype({"a": "Int64"}), "column 'a'"),
    "UInt64": (FRAME.astype("UInt64"), "column 'a'"),
    "pyarrow in pandas": (MIXED.astype({"a": "int64[pyarrow]"}), "column 'a'"),
    "objects in pandas": (MIXED.astype({"a": object}), "column 'a'"),
    "categories": (MIXED.astype({"a": "category"}), "column 'a'"),
    "lists in pandas": (LISTS, "column 'a[2]'"),
    "lists beside floats": (LISTS.assign(b=0.5), "column 'a[2]'"),
    "Arrow": (TABLE, "column 'a'"),
    "Arrow in chunks": (pyarrow.concat_tables([TABLE[:1], TABLE[1:]]), "column 'a'"),
    "batch of Arrow": (TABLE.to_batches()[0], "column 'a'"),
    "lists of Arrow": (pyarrow.table({"a": LISTS["a"]}), "column 'a[2]'"),
    "dictionary of Arrow": (TABLE.set_column(0, "a", TABLE["a"].dictionary_encode()), "column 'a'"),
    "polars": (polars.from_arrow(TABLE), "column 'a'"),
    "lists of polars": (polars.DataFrame({"a": LISTS["a"].tolist()}), "column 'a[2]'"),
    "fixed lists of polars": (polars.DataFrame({"a": ROWS[:, ::-1]}), "column 'a[2]'"),
}  # fmt: skip
FITS = {
    "fit": lambda X: manymeans.fit(X, 2),
    "KMeans": lambda X: KMeans(2, random_state=0).fit(X),
    "BisectingKMeans": lambda X: BisectingKMeans(2, random_state=0).fit(X),
    "MiniBatchKMeans": lambda X: MiniBatchKMeans(2, random_state=0).fit(X),
    "EnsembleKMeans": lambda X: EnsembleKMeans(2, random_state=0).fit(X),
}


def said(call):
    """Give the warnings about integers."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [str(one.message) for one in caught if "cannot hold" in str(one.message)]


@pytest.mark.parametrize("kind", POINTS)
def test_points(kind):
    X, column = POINTS[kind]
    first = rf"\(first: -?({LARGE} in row 1|{2**70 + 1} in row 1)\)"
    for name, call in FITS.items():
        texts = said(lambda call=call: call(X))
        right = rf"\[X\] integers that float64 cannot hold were rounded in {re.escape(column)} {first}; leave ids out"
        assert len(texts) == 1 and re.fullmatch(right, texts[0]), (name, texts)


def test_points_that_stay_what_they_are():
    exact = np.array([[2**53, 2**62], [-(2**63), 3], [2**53 + 2, 4]])
    for X in (exact, exact.tolist(), sparse.csr_array(exact), exact.astype(object), pandas.DataFrame(exact),
              pandas.DataFrame(exact).astype("Int64"), polars.DataFrame(exact), [[2**53, 0.5], [2.0**90, 1e30]],
              pyarrow.table({"a": exact[:, 0]}), ROWS.astype(float), np.array([[2**63, 2**64 - 2**11]] * 2, "u8"),
              np.array([[-(2**31)], [2**31 - 1]], np.int32)):  # fmt: skip
        assert said(lambda X=X: manymeans.fit(X, 2)) == [] == said(lambda X=X: KMeans(2, random_state=0).fit(X)), X


def test_what_is_beside_the_points():
    weights, X = [1, LARGE, 2, 3], np.arange(4.0)[:, np.newaxis]
    for given in (weights, np.array(weights), pandas.Series(weights), pyarrow.array(weights), polars.Series(weights),
                  pandas.Series(weights, dtype="Int64"), pandas.array(weights, "UInt64"), pandas.Categorical(weights),
                  pandas.Index(weights), pandas.Series(weights, dtype="category")):  # fmt: skip
        text = f"integers that float64 cannot hold were rounded (first: {LARGE} in row 1); leave ids out"
        assert said(lambda given=given: manymeans.fit(X, 2, sample_weight=given)) == ["[sample_weight] " + text]
        assert said(lambda given=given: KMeans(2).fit(X, sample_weight=given)) == ["[sample_weight] " + text]
        assert said(lambda given=given: RegressionClustering(1).fit(X, given)) == ["[y] " + text]
    assert said(lambda: KMeans(1, init=np.array([[LARGE]]), n_init=1).fit(X))[0].startswith("[init] integers")
    fitted = KMeans(2, random_state=0).fit(ROWS.astype(float))
    assert len(said(lambda: fitted.predict(ROWS))) == 1


def test_many_columns():
    (text,) = said(lambda: manymeans.fit(np.full((3, 14), LARGE), 1))
    assert text.count("first") == 10 and " and 4 more; leave" in text


@pytest.mark.parametrize("ending", ["parquet", "feather"])
@pytest.mark.parametrize("dtype", [None, "float32", "float64"])
@pytest.mark.parametrize("values", [ROWS, np.array([[2**24 + 1, 1], [2**26 + 1, 2]]), np.array([[3, 2**31 - 1]])])
def test_files_say_what_npy_says(ending, dtype, values, tmp_path):
    np.save(tmp_path / "x.npy", values)
    for kind in (np.int64, np.uint64, np.int32):
        if values.max() > np.iinfo(kind).max:
            continue
        write = pyarrow.parquet.write_table if ending == "parquet" else pyarrow.feather.write_feather
        write(pyarrow.table({"a": values[:, 0].astype(kind), "b": values[:, 1].astype(kind)}), tmp_path / f"x.{ending}")
        npy = said(lambda: manymeans.read(tmp_path / "x.npy", dtype=dtype))
        found = said(lambda: manymeans.read(tmp_path / f"x.{ending}", dtype=dtype))
        assert found == [text.replace("column 1", "column 'a'").replace("column 2", "column 'b'") for text in npy]
        assert bool(found) == (dtype != "float64" or values is ROWS)
