"""summary(): what clusters look like, beside pandas."""

import pickle
import subprocess
import sys

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import manymeans
from manymeans import (
    BisectingKMeans,
    EnsembleKMeans,
    HierarchicalKMeans,
    KMeans,
    MiniBatchKMeans,
    RegressionClustering,
)


@pytest.fixture
def frame(mixture):
    return pandas.DataFrame(mixture[:, :3].astype("f8"), columns=["age", "income", "size"])


@pytest.mark.parametrize("kind", [KMeans, BisectingKMeans, MiniBatchKMeans, HierarchicalKMeans])
@pytest.mark.parametrize("weighted", [False, True])
def test_is_what_pandas_says(kind, weighted, frame):
    weights = np.random.default_rng(0).integers(0, 3, len(frame)).astype("f8") if weighted else None
    fitted = kind(4, random_state=0).fit(frame, sample_weight=weights)
    found = fitted.summary()
    assert found.columns.tolist() == [
        "size", "share", "spread", "age", "income", "size (center)", "age (sd)", "income (sd)", "size (sd)",
    ]  # fmt: skip
    assert found["size"].tolist() == np.bincount(fitted.labels_).tolist() and found.index.name == "cluster"
    mass = np.ones(len(frame)) if weights is None else weights
    np.testing.assert_allclose(found["share"], np.bincount(fitted.labels_, mass) / mass.sum())
    np.testing.assert_allclose(found[["age", "income", "size (center)"]], fitted.cluster_centers_)
    squares = ((frame.to_numpy() - fitted.cluster_centers_[fitted.labels_]) ** 2).sum(axis=1)
    np.testing.assert_allclose(
        found["spread"] ** 2, np.bincount(fitted.labels_, squares * mass) / np.bincount(fitted.labels_, mass)
    )
    mean = np.average(frame, axis=0, weights=mass)
    deviation = np.sqrt(np.average((frame - mean) ** 2, axis=0, weights=mass))
    np.testing.assert_allclose(found.iloc[:, -3:], (fitted.cluster_centers_ - mean) / deviation)
    pandas.testing.assert_frame_equal(fitted.summary(frame, sample_weight=weights), found)


def test_without_pandas(mixture, monkeypatch):
    fitted = KMeans(2, random_state=0).fit(mixture)
    expected = fitted.summary()
    monkeypatch.setitem(sys.modules, "pandas", None)
    found = fitted.summary()
    assert isinstance(found, dict) and list(found) == expected.columns.tolist()
    assert found["x0"] == expected["x0"].tolist() and isinstance(found["size"][0], int)


def test_points_that_are_gone_or_changed(mixture):
    fitted = KMeans(3, random_state=0).fit(mixture.copy())
    X = mixture.copy()
    for gone in fitted, KMeans(3).fit(mixture[:50].tolist()), pickle.loads(pickle.dumps(fitted.fit(X))):
        if gone is not fitted:
            with pytest.raises(manymeans.UsageError, match=r"\[X\] the points of the fit or their weights are gone"):
                gone.summary()
    assert fitted.summary()["size"].sum() == len(X)
    X[0] += 100
    with pytest.raises(manymeans.UsageError, match=r"\[X\] the points of the fit have changed"):
        fitted.summary()
    assert fitted.summary(X)["size"].sum() == len(X)
    del X
    with pytest.raises(manymeans.UsageError, match=r"\[X\] the points of the fit or their weights are gone"):
        fitted.summary()


def test_constant_columns_and_empty_clusters():
    X = np.array([[1.0, 5], [1, 7], [1, 5]])
    with pytest.warns(UserWarning):
        fitted = KMeans(3, random_state=0).fit(X)
    found = fitted.summary()
    assert (found["x0 (sd)"] == 0).all() and sorted(found["size"]) == [0, 1, 2]
    assert found["spread"].isna().sum() == 1


def test_a_scaled_model_has_the_numbers_of_the_program(frame, program, tmp_path):
    frame.columns = ["age", "income", "height"]
    frame["income"] *= 1000
    frame.to_csv(tmp_path / "t.csv", index=False, float_format="%.17g")
    command = [program, "fit", tmp_path / "t.csv", "-k", "3", "--scale", "standard", "--model", tmp_path / "m.npz"]
    subprocess.run(
        [*command, "--summary", tmp_path / "s.csv", "--dtype", "float64", "--quiet"], check=True, capture_output=True
    )
    theirs = pandas.read_csv(tmp_path / "s.csv").rename(columns={"rows": "size"})
    theirs.columns = [name.replace(" difference", " (sd)") for name in theirs.columns]
    loaded = KMeans.load(tmp_path / "m.npz")
    for found in loaded.summary(frame), loaded.result_.summary(frame), loaded.result_.best().summary(frame):
        np.testing.assert_allclose(found, theirs[found.columns], rtol=1e-9, atol=1e-12)
    with pytest.raises(manymeans.UsageError, match="gone"):
        loaded.summary()


@pytest.mark.parametrize("options", [{}, {"metric": "cosine"}, {"min_size": 200}])
def test_of_whatever_has_fitted(options, frame):
    weights = np.random.default_rng(0).random(len(frame))
    if "min_size" in options:
        weights = None  # sizes count rows
    result = manymeans.fit(frame, [2, 4], seed=1, init="k-means++", sample_weight=weights, **options)
    ensemble = EnsembleKMeans([2, 4], random_state=1, **options).fit(frame, sample_weight=weights)
    expected = KMeans(4, random_state=1, **options).fit(frame, sample_weight=weights).summary()
    assert expected["size"].tolist() == result.best(4).counts.tolist()
    wide = frame.assign(name="someone")
    for found in (
        result.summary(k=4),
        result.best(4).summary(),
        result.summary(wide, weights, k=4),
        manymeans.summary(result, k=4),
        manymeans.summary(result.best(4), wide, sample_weight=weights),
        ensemble.summary(k=4),
        manymeans.summary(ensemble, k=4),
        manymeans.summary(ensemble, frame, k=4, sample_weight=weights),
    ):
        pandas.testing.assert_frame_equal(found, expected, rtol=1e-6)  # their centres differ by one fit's rounding
    for unclear in result.summary, ensemble.summary, lambda: manymeans.summary(ensemble):
        with pytest.raises(manymeans.UsageError, match="k = 2, 4"):
            unclear()
    assert pickle.dumps(pickle.loads(pickle.dumps(result))) == pickle.dumps(result)
    with pytest.raises(manymeans.UsageError, match="gone"):
        pickle.loads(pickle.dumps(result.best(4))).summary()


def test_of_a_file(frame, tmp_path):
    frame.to_csv(tmp_path / "t.csv", index=False)
    result = manymeans.fit(tmp_path / "t.csv", 3)
    pandas.testing.assert_frame_equal(result.summary(), result.summary(tmp_path / "t.csv"))
    assert result.summary()["size"].sum() == len(frame)


def test_of_other_rows(mixture):
    fitted = manymeans.fit(mixture, 3)
    other = mixture[::-1][:100]
    assert fitted.summary(other)["size"].tolist() == np.bincount(fitted.predict(other), minlength=3).tolist()
    assert fitted.summary(mixture[::-1])["size"].tolist() == fitted.summary()["size"].tolist()


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "numpy"])
def test_of_a_pipeline(kind, frame):
    frame.columns = ["age", "income", "height"]
    pipe = make_pipeline(StandardScaler(), KMeans(3, random_state=0)).fit(frame.to_numpy())
    X = {
        "pandas": frame,
        "polars": polars.DataFrame(frame.to_dict("list")),
        "pyarrow": pyarrow.table(frame),
        "numpy": frame.to_numpy(),
    }[kind]
    found = manymeans.summary(pipe, X)
    names = [f"x{j}" for j in range(3)] if kind == "numpy" else frame.columns
    means = frame.groupby(pipe[-1].labels_).mean()
    np.testing.assert_allclose(found[names], means)
    np.testing.assert_allclose(found[[f"{name} (sd)" for name in names]], (means - frame.mean()) / frame.std(ddof=0))
    scaled = pipe[-1].summary(pipe[:-1].transform(frame.to_numpy()))
    assert found[["size", "share", "spread"]].equals(scaled[["size", "share", "spread"]])
    with pytest.raises(manymeans.UsageError, match=r"^\[X\] is missing; a Pipeline does not keep"):
        manymeans.summary(pipe)


def test_of_a_pipeline_of_a_table_with_text_and_gaps(frame):
    frame["colour"] = np.where(np.arange(len(frame)) % 3, "red", "blue")
    frame.loc[::7, "income"] = np.nan
    prepared = make_column_transformer((OneHotEncoder(), ["colour"]), (SimpleImputer(), ["age", "income"]))
    pipe = make_pipeline(prepared, KMeans(3, random_state=0)).fit(frame)
    found = manymeans.summary(pipe, frame)
    assert found.columns[3:6].tolist() == ["age", "income", "size (center)"]
    np.testing.assert_allclose(found["income"], frame.groupby(pipe[-1].labels_)["income"].mean())
    texts = make_pipeline(CountVectorizer(), KMeans(2)).fit(["a word", "more words", "a word", "words"])
    assert manymeans.summary(texts, ["a word", "words"]).columns[3:6].tolist() == ["x0", "x1", "x2"]


@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize("weighted", [False, True])
def test_of_linear_models(degree, weighted, frame):
    X, y = frame[["age", "income"]], frame["size"]
    weights = np.random.default_rng(0).integers(1, 4, len(frame)).astype("f8") if weighted else None
    fitted = RegressionClustering(3, degree=degree, random_state=0).fit(X, y, weights)
    found = fitted.summary()
    labels, mass = fitted.labels_, np.ones(len(y)) if weights is None else weights
    squares = mass * (y - fitted.predict(X, gating="columns")[np.arange(len(y)), labels]) ** 2
    np.testing.assert_allclose(found["spread"] ** 2 * np.bincount(labels, mass), np.bincount(labels, squares))
    np.testing.assert_allclose(found["spread"] ** 2 @ np.bincount(labels, mass), fitted.inertia_)
    for cluster, rows in enumerate(labels == np.arange(3)[:, None]):
        mean = np.average(y[rows], weights=mass[rows])
        assert found["r2"][cluster] == pytest.approx(1 - squares[rows].sum() / (mass * (y - mean) ** 2)[rows].sum())
        assert found["age"][cluster] == pytest.approx(np.average(X["age"][rows], weights=mass[rows]))
        assert found["size (center)"][cluster] == pytest.approx(mean)
    assert found["intercept"].tolist() == fitted.intercept_.tolist()
    np.testing.assert_array_equal(found.filter(like="(coef)"), fitted.coef_)
    assert found.filter(like="(coef)").columns[-1] == ("income (coef)" if degree == 1 else "income^2 (coef)")
    pandas.testing.assert_frame_equal(manymeans.summary(fitted, X, y, sample_weight=weights), found)
    piped = manymeans.summary(make_pipeline(StandardScaler(), fitted).fit(X, y), X, y)
    assert piped.columns[-6:].tolist() == [
        "age", "income", "size (center)", "age (sd)", "income (sd)", "size (sd)",
    ]  # fmt: skip
    before = fitted.fit(X, y)
    y += 100
    with pytest.raises(manymeans.UsageError, match="rows of the fit have changed"):
        before.summary()


def test_of_what_has_no_clusters(mixture):
    with pytest.raises(manymeans.UsageError, match=r"^\[model\] is int; a FitResult"):
        manymeans.summary(3, mixture)
    with pytest.raises(manymeans.UsageError, match=r"^\[k\] chooses among models"):
        manymeans.summary(BisectingKMeans(2).fit(mixture), k=2)
    with pytest.raises(manymeans.UsageError, match=r"^\[y\] is the target"):
        manymeans.summary(KMeans(2).fit(mixture), mixture, mixture[:, 0])


def test_weights_that_are_gone_are_named(mixture):
    X = mixture[:100].copy()
    kmeans = KMeans(2, random_state=0).fit(X, sample_weight=np.ones(len(X)))
    with pytest.raises(manymeans.UsageError, match=r"or their weights are gone.*pass them as X and sample_weight"):
        kmeans.summary()
