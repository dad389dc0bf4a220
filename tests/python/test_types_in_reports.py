"""Types of columns, labels and weights of which users of other packages have reported trouble."""

import decimal
import warnings

import numpy as np
import pandas
import polars
import pyarrow
import pytest

import manymeans
from manymeans import KMeans, MiniBatchKMeans, RegressionClustering

X = np.array([[1.0], [1.0], [5.0], [5.0], [100.0], [100.0]])
LABELS = [0, 0, 1, 1, 2, 2]
SKLEARN = "https://github.com/scikit-learn/scikit-learn/issues/"


def fit(X, sample_weight):
    return manymeans.fit(X, 2, sample_weight=sample_weight)


def refused(call, match):
    with pytest.raises(manymeans.BadDataError, match=match):
        call()


def texts_in_arrays():
    for array in (np.array([["1"], ["2"]]), np.array([["1"], ["2"]], dtype=object)):
        refused(lambda array=array: KMeans(1).fit(array), "numbers are needed")


def texts_of_numpy_2():
    array = np.array([["1"], ["2"]], dtype=np.dtypes.StringDType())
    refused(lambda: KMeans(1).fit(array), "numbers are needed")
    assert manymeans.compare(np.array(["a", "b"], dtype=np.dtypes.StringDType()), [0, 1]).adjusted_rand == 1


def texts_of_pandas_3():
    refused(lambda: KMeans(1).fit(pandas.DataFrame({"a": pandas.Series(["1", "2"], dtype="string")})), "holds text")


def missing_integers_of_pandas():
    weights = pandas.Series([1, 2, None, 1, 1, 1], dtype="Int64")
    with pytest.raises(ValueError, match="NaN"):
        KMeans(2).fit(X, sample_weight=weights)
    refused(lambda: manymeans.fit(X, 2, sample_weight=weights), "row 2 has weight nan")


def missing_values_in_objects():
    for frame in (pandas.DataFrame({"a": [1, pandas.NA]}, dtype=object), np.array([[1], [pandas.NA]], dtype=object)):
        for fit in (KMeans(1).fit, lambda frame: manymeans.fit(frame, 1)):
            with pytest.raises(ValueError, match=r"NaN|NA"):
                fit(frame)


def nullable_labels():
    for dtype in ("Int64", "Float64", "boolean"):
        labels = pandas.Series([1, 0, 0, 1, 0, 1], dtype=dtype)
        assert manymeans.compare(labels, np.array([1, 0, 0, 1, 0, 1])).adjusted_rand == 1
        assert manymeans.criteria(X, labels)[:6] == manymeans.criteria(X, [1, 0, 0, 1, 0, 1])[:6]


def nullable_numbers_beside_text():
    frame = pandas.DataFrame({"n": pandas.array([1, 2], dtype="Int64"), "t": ["a", "b"]})
    for text in (frame, frame.astype({"t": "category"})):
        refused(lambda text=text: KMeans(1).fit(text), "holds text, 'a' in .*column 't'")


def dates_as_points():
    frame = pandas.DataFrame({"date": pandas.to_datetime(["2017-11-18", "2017-11-19"])})
    for fit in (KMeans(1).fit, lambda X: manymeans.fit(X, 1), MiniBatchKMeans(1).fit):
        refused(lambda fit=fit: fit(frame), "dates or times, .* in row 0, column 'date'")
        refused(lambda fit=fit: fit(frame.to_numpy()), "datetime64")


def dates_as_target():
    y = pandas.Series(pandas.date_range("2020", periods=6))
    for target in (y, y.to_numpy(), list(y), polars.Series(y), y.astype(str), y - y[0]):
        refused(lambda target=target: RegressionClustering(1).fit(X, target), "numbers are")


def nullable_boolean_target():
    y = pandas.Series([True, False] * 3, dtype="boolean")
    found = RegressionClustering(1, random_state=0).fit(X, y)
    assert (found.coef_ == RegressionClustering(1, random_state=0).fit(X, y.astype(float)).coef_).all()


def objects_of_numbers():
    frame = pandas.DataFrame({"a": pandas.Series([1.5, True, 3], dtype=object), "b": [True, False, True]})
    assert KMeans(3).fit(frame).inertia_ == 0
    assert manymeans.fit(frame, 3).best().inertia == 0


def booleans_beside_numbers():
    for make in (pandas.DataFrame, polars.DataFrame, pyarrow.table):
        frame = make({"x": [0.5, 0.5, 0.5, 0.5], "b": [True, True, False, False]})
        assert sorted(manymeans.fit(frame, 2).best().cluster_centers[:, 1]) == [0, 1]
        assert KMeans(2).fit(frame).inertia_ == 0


def weights_of_very_different_size():
    weights = 10 ** np.array([8.0, 8, 8, 8, -8, -8])
    for fit in (
        lambda: manymeans.fit(X, 2, sample_weight=weights).best().cluster_centers,
        lambda: KMeans(2, random_state=0).fit(X, sample_weight=weights).cluster_centers_,
        lambda: manymeans.kmeans_plusplus(X, 2, sample_weight=weights)[0],
    ):
        with pytest.warns(UserWarning, match=r"too small compared with the largest, 1e\+08, and count as 0"):
            assert sorted(fit().ravel()) == [1, 5]


def tiny_weights():
    weights = np.array([1e-300, 1, 1, 1, 1, 1])
    with pytest.warns(UserWarning, match="weights from 1e-300 to"):
        assert np.isfinite(manymeans.fit(X, 2, sample_weight=weights).best().cluster_centers).all()


def noise_among_labels():
    noise = np.array([0, 0, 1, 1, -1, -1])
    assert manymeans.criteria(X, noise)[:4] == manymeans.criteria(X[:4], noise[:4])[:4]
    assert manymeans.compare(noise, LABELS).left_out == 2


def texts_as_labels():
    assert manymeans.criteria(X, ["a", "a", "b", "b", "c", "c"]).n_clusters == 3


def other_numbers_of_noise():
    for noise in (-1, -2, -3):
        assert manymeans.criteria(X, [0, 0, 1, 1, noise, noise]).n_clusters == 2
        assert manymeans.compare([0, 0, 1, 1, noise, noise], LABELS).left_out == 2


def weights_of_pandas():
    weights = pandas.Series([1, 2, 3, 4, 5, 6], index=list("fedcba"))
    digests = set()
    for given in (weights, weights.to_numpy(), polars.Series(weights), pyarrow.array(weights)):
        digests |= {fit(X, given).digest, KMeans(2, random_state=0, init="auto", n_init=1).fit(X, None, given).answer_}
    assert len(digests) == 1


def decimals_of_polars():
    frame = polars.DataFrame({"a": [decimal.Decimal("35.65"), decimal.Decimal("42.42")], "b": [1.0, 2.0]})
    assert sorted(manymeans.fit(frame, 2).best().cluster_centers[:, 0]) == [35.65, 42.42]
    assert sorted(KMeans(2).fit(frame).cluster_centers_[:, 0]) == [35.65, 42.42]


def decimals_that_casts_round_wrongly():
    texts = ["0.1", "-0.3", "123456789012345678901234567890.12345678", "-99999999999999999999999999999.99999999", "0"]
    column = pyarrow.array([decimal.Decimal(text) for text in texts], pyarrow.decimal128(38, 8))
    wide = column.cast(pyarrow.decimal256(60, 8))
    for values in (column, wide):
        assert manymeans._manymeans.arrow_points(values)[0][:, 0].tolist() == [float(text) for text in texts]


def booleans_of_polars():
    assert KMeans(2).fit(polars.DataFrame({"a": np.array([True, False, True])})).inertia_ == 0


def integers():
    for kind in ("i4", "i8", "u2"):
        assert KMeans(3).fit(pandas.DataFrame({"a": X[:, 0].astype(kind)})).inertia_ == 0


def a_frame_as_init():
    for make in (pandas.DataFrame, polars.DataFrame, pyarrow.table):
        init = make({"a": [1.0, 5.0, 100.0]})
        assert KMeans(3, init=init).fit(X).inertia_ == 0
        assert manymeans.fit(X, 3, init=init).best().inertia == 0


def labels_of_other_libraries():
    class Labels:
        def __init__(self, labels):
            self._labels = np.array(labels)

        def __array__(self, dtype=None, copy=None):
            return self._labels if dtype is None else self._labels.astype(dtype)

    for labels in (Labels(LABELS), polars.Series(LABELS), pyarrow.chunked_array([LABELS[:2], LABELS[2:]])):
        assert manymeans.compare(labels, LABELS).adjusted_rand == 1


def weights_of_two_dimensions():
    for fit_it in (KMeans(2).fit, MiniBatchKMeans(2).fit, fit):
        with pytest.raises(ValueError, match=r"1D|shape"):
            fit_it(X, sample_weight=np.ones((6, 2)))


def weights_that_are_no_numbers():
    for weights in (["1"] * 6, [None] * 6, pandas.Series(["1"] * 6), np.array(["2020"] * 6, dtype="M8[Y]")):
        for fit_it in (KMeans(2).fit, MiniBatchKMeans(2).fit, fit):
            with pytest.raises(ValueError, match=r"numbers are needed|NaN|nan"):
                fit_it(X, sample_weight=weights)


def periods_in_files(tmp_path):
    frame = pandas.DataFrame({"x": range(6), "p": pandas.period_range("2010-01", periods=6, freq="M")})
    frame.to_parquet(tmp_path / "p.parquet")
    refused(lambda: manymeans.read(tmp_path / "p.parquet"), "'p'")
    refused(lambda: manymeans.fit(pyarrow.Table.from_pandas(frame), 2), "'p'.*periods of pandas")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert manymeans.read(tmp_path / "p.parquet", numeric_only=True).column_names == ["x"]


def periods_in_frames():
    frame = pandas.DataFrame({"p": pandas.period_range("2010-01", periods=6, freq="M")})
    for fit in (KMeans(2).fit, lambda X: manymeans.fit(X, 2), lambda y: RegressionClustering(1).fit(X, y)):
        refused(lambda fit=fit: fit(frame), "a Period, .* numbers are needed, as pandas.PeriodIndex")


def true_and_false_in_text(tmp_path):
    for number, (yes, no) in enumerate([("True", "False"), ("true", "false"), ("TRUE", "FALSE")]):
        path = tmp_path / f"{number}.csv"
        path.write_text(f"x,b\n1,{yes}\n2,{no}\n3,{yes}\n")
        assert manymeans.read(path).points.tolist() == [[1, 1], [2, 0], [3, 1]]
        assert manymeans.read(path, categories="onehot").column_names == ["x", "b"]
    path.write_text("x,b\n1,yes\n2,no\n")
    refused(lambda: manymeans.read(path), "'yes' is not a number")


def booleans_and_categories():
    frame = pandas.DataFrame({"x": [1.0, 2], "b": [True, False], "c": pandas.Categorical(["x", "y"])})
    refused(lambda: KMeans(1).fit(frame), "holds text, 'x' in column 'c'")
    frame["c"] = pandas.Categorical([3, 4])
    assert KMeans(2).fit(frame).inertia_ == 0


def lists_of_booleans():
    lists = pyarrow.array([[True, False], [False, True], [True, True]])
    assert manymeans._manymeans.arrow_points(lists)[0].tolist() == [[1, 0], [0, 1], [1, 1]]
    assert manymeans._manymeans.arrow_points(lists[1:])[0].tolist() == [[0, 1], [1, 1]]


def three_dimensions():
    for fit in (KMeans(2).fit, lambda X: manymeans.search(X, 2), lambda X: manymeans.predict([[1.0, 2]], X)):
        with pytest.raises(ValueError, match=r"dim 3|reshape"):
            fit(np.zeros((3, 5, 4)))
    assert len(manymeans.fit(np.random.default_rng(0).random((3, 5, 4)), 2)) == 3


def text_in_init():
    dates = np.array([["2020"], ["2021"]], dtype="M8[Y]")
    for init in (np.array([["1"], ["5"]]), pandas.DataFrame({"a": ["1", "5"]}), dates):
        for fit in (KMeans(2, init=init).fit, lambda X, init=init: manymeans.fit(X, 2, init=init)):
            refused(lambda fit=fit: fit(X), "init is of type")


def intervals_in_files(tmp_path):
    frame = pandas.DataFrame({"x": range(6), "i": pandas.interval_range(0, 6)})
    frame.to_parquet(tmp_path / "i.parquet")
    refused(lambda: manymeans.read(tmp_path / "i.parquet"), "'i'")
    refused(lambda: KMeans(1).fit(frame), "an Interval, .* as pandas.IntervalIndex")


REPORTS = {
    SKLEARN + "10229": texts_in_arrays,
    SKLEARN + "12148": texts_of_numpy_2,
    SKLEARN + "33383": texts_of_pandas_3,
    SKLEARN + "25078": missing_integers_of_pandas,
    SKLEARN + "27482": missing_values_in_objects,
    SKLEARN + "25634 and 25073": nullable_labels,
    SKLEARN + "25798": nullable_numbers_beside_text,
    SKLEARN + "10590": dates_as_points,
    "https://github.com/pycaret/pycaret/issues/454": dates_as_target,
    SKLEARN + "17675": nullable_boolean_target,
    SKLEARN + "3617": objects_of_numbers,
    "https://github.com/sebp/scikit-survival/issues/589": booleans_beside_numbers,
    SKLEARN + "25527": weights_of_very_different_size,
    SKLEARN + "16529": tiny_weights,
    SKLEARN + "18350 and 20351": noise_among_labels,
    SKLEARN + "18358": texts_as_labels,
    SKLEARN + "24698": other_numbers_of_noise,
    SKLEARN + "4628": weights_of_pandas,
    "https://github.com/pola-rs/polars/issues/12730": decimals_of_polars,
    "https://github.com/pola-rs/polars/issues/12730, wide": decimals_that_casts_round_wrongly,
    "https://github.com/pola-rs/polars/issues/1105": booleans_of_polars,
    "https://github.com/NVIDIA/cuml/issues/26": integers,
    "https://github.com/NVIDIA/cuml/issues/1318": a_frame_as_init,
    "https://github.com/NVIDIA/cuml/issues/2102": labels_of_other_libraries,
    "https://github.com/NVIDIA/cuml/issues/7204": weights_of_two_dimensions,
    "https://github.com/EpistasisLab/tpot/pull/717": weights_that_are_no_numbers,
    "https://github.com/aws/aws-sdk-pandas/issues/675": periods_in_files,
    "https://github.com/dask/fastparquet/issues/441": periods_in_frames,
    "https://github.com/dotnet/machinelearning-modelbuilder/issues/2782": true_and_false_in_text,
    "https://github.com/scikit-learn-contrib/imbalanced-learn/issues/974": booleans_and_categories,
    "https://github.com/huggingface/datasets/pull/1904": lists_of_booleans,
    "https://github.com/subhadarship/kmeans_pytorch/issues/33": three_dimensions,
    "https://github.com/nicodv/kmodes/issues/163": text_in_init,
    "https://github.com/pandas-dev/pandas/issues/45881": intervals_in_files,
}


@pytest.mark.parametrize("report", REPORTS)
def test_report(report, tmp_path):
    case = REPORTS[report]
    case(tmp_path) if case.__code__.co_argcount else case()


def test_masked_values_in_columns_of_objects():
    frame = pandas.DataFrame({"a": pandas.Series([1, np.ma.masked, 3], dtype=object), "b": [1.0, 2, 3]})
    for call in (lambda rows: fit(rows, None), KMeans(1).fit):
        refused(lambda call=call: call(frame), r"row 1, column 'a' is NaN")
        refused(lambda call=call: call(frame.to_numpy()), "row 1, column 0 is NaN")
    weights = pandas.Series([1, np.ma.masked, 3], dtype=object)
    refused(lambda: fit(frame[["b"]], weights), r"\[sample_weight\] row 1 has weight nan")
