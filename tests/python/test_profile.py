"""summary(): what clusters look like, beside pandas."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pandas
import polars
import pyarrow
import pytest
import scipy.sparse
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


def test_points_that_are_gone_or_changed(mixture, monkeypatch):
    monkeypatch.setattr(manymeans._profile, "_KEPT", 1000)
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


@pytest.mark.parametrize(
    "made",
    [
        np.copy, np.ndarray.tolist, pandas.DataFrame, polars.DataFrame, scipy.sparse.csr_matrix,
        lambda X: X.copy()[:, ::-1], lambda X: pyarrow.table({"a": X[:, 0], "b": X[:, 1]}),
    ],
)  # fmt: skip
def test_a_fit_keeps_small_points(mixture, made):
    weights = np.ones(len(mixture)).tolist()
    fitted = KMeans(3, random_state=0).fit(made(mixture), sample_weight=weights)
    del weights
    assert fitted.summary()["size"].sum() == len(mixture)
    assert sum(card.size for card in manymeans.cards(fitted.result_.best())) == len(mixture)
    assert copy.copy(fitted).summary().equals(fitted.summary())
    for other in copy.deepcopy(fitted), pickle.loads(pickle.dumps(fitted)):
        with pytest.raises(manymeans.UsageError, match=r"are gone .*; pass them: summary\(X\)"):
            other.summary()


def test_a_fit_keeps_what_read_gives(frame):
    assert manymeans.fit(manymeans.read(frame), 3).summary()["size"].sum() == len(frame)


def test_a_pickle_has_no_points(mixture):
    small, large = (len(pickle.dumps(KMeans(3).fit(np.tile(mixture[:200], (1, d))))) for d in (1, 50))
    assert large - small < 50 * 200 * mixture.itemsize


def test_a_view_of_much_is_not_kept(mixture, monkeypatch):
    monkeypatch.setattr(manymeans._profile, "_KEPT", mixture.nbytes - 1)
    fitted = KMeans(3).fit(mixture.copy()[:100])
    with pytest.raises(manymeans.UsageError, match="are gone"):
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
    assert manymeans.summary(texts, ["a word", "words"]).columns[3:6].tolist() == ["more", "word", "words"]


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


def test_weights_that_are_gone_are_named(mixture, monkeypatch):
    monkeypatch.setattr(manymeans._profile, "_KEPT", 100)
    X = mixture[:100].copy()
    kmeans = KMeans(2, random_state=0).fit(X, sample_weight=np.ones(len(X)))
    with pytest.raises(manymeans.UsageError, match=r"or their weights are gone.*pass them.*sample_weight=weights"):
        kmeans.summary()


def test_other_columns_of_rows_that_were_dropped():
    frame = pandas.DataFrame({"a": [1.0, np.nan, 9, 10], "b": [1.0, 2, 8, 9], "t": list("xxyy")}, index=list("pqrs"))
    data = manymeans.read(frame, exclude="t", missing="drop")
    result = manymeans.fit(data, 2)
    message = r'missing="drop" left out 1 of 4 rows \(1\), so take '
    with pytest.raises(manymeans.UsageError, match=message + r"profile\.drop\(profile\.index\[data\.dropped\]\)"):
        manymeans.cards(result, data, profile=frame["t"])
    profile = frame["t"]
    found = manymeans.cards(result, data, profile=profile.drop(profile.index[data.dropped]))
    for other in {"t": frame["t"].tolist()}, polars.DataFrame({"t": frame["t"].tolist()}):
        with pytest.raises(manymeans.UsageError, match=message + r"numpy\.delete\(column, data\.dropped\)"):
            manymeans.cards(result, data, profile=other)
        assert manymeans.cards(result, data, profile={"t": np.delete(other["t"], data.dropped)}) == found


@pytest.fixture
def outcome(frame):
    random = np.random.default_rng(1)
    return pandas.DataFrame(
        {
            "origin": pandas.Categorical(np.where(frame["age"] > frame["age"].median(), "here", "there")),
            "spent": np.where(random.random(len(frame)) < 0.1, np.nan, random.normal(40, 9, len(frame))),
            "churn": random.random(len(frame)) < 0.3,
        }
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_a_profile_by_other_columns(weighted, frame, outcome):
    outcome.loc[5, "origin"] = None
    weights = np.random.default_rng(0).random(len(frame)) if weighted else None
    fitted = KMeans(3, random_state=0).fit(frame, sample_weight=weights)
    found = fitted.summary(profile=outcome)
    assert found.iloc[:, :9].equals(fitted.summary())
    assert found.columns[9:].tolist() == [
        "origin=here", "origin=here (lift)", "origin=here (z)",
        "origin=there", "origin=there (lift)", "origin=there (z)",
        "spent (mean)", "spent (z)",
        "churn=False", "churn=False (lift)", "churn=False (z)",
        "churn=True", "churn=True (lift)", "churn=True (z)",
    ]  # fmt: skip
    labels, mass = fitted.labels_, np.ones(len(frame)) if weights is None else weights
    known = outcome["spent"].notna().to_numpy()
    spent = outcome["spent"].to_numpy()
    for cluster in range(3):
        rows = known & (labels == cluster)
        assert found["spent (mean)"][cluster] == pytest.approx(np.average(spent[rows], weights=mass[rows]))
        mean = np.average(spent[known], weights=mass[known])
        variance = np.average((spent[known] - mean) ** 2, weights=mass[known])
        n = mass[known].sum() ** 2 / (mass[known] ** 2).sum()
        shift = np.where(rows, mass / mass[rows].sum(), 0) - np.where(known, mass / mass[known].sum(), 0)
        error = np.sqrt(variance * (shift**2).sum() * n / (n - 1))
        assert found["spent (z)"][cluster] == pytest.approx((found["spent (mean)"][cluster] - mean) / error)
    # Texts: the adjusted residuals of the table of counts.
    known = outcome["origin"].notna().to_numpy()
    here = (outcome["origin"] == "here").to_numpy()
    counts = np.array([np.bincount(labels[known & ~here]), np.bincount(labels[here])])
    n = counts.sum()
    p, q = counts.sum(axis=1, keepdims=True) / n, counts.sum(axis=0, keepdims=True) / n
    residuals = (counts - n * p * q) / np.sqrt(n * p * q * (1 - p) * (1 - q))
    if not weighted:
        np.testing.assert_allclose(found["origin=here (z)"], residuals[1] * np.sqrt((n - 1) / n))
        np.testing.assert_allclose(found["origin=there (z)"], residuals[0] * np.sqrt((n - 1) / n))
    shares = np.bincount(labels[here], mass[here]) / np.bincount(labels[known], mass[known])
    np.testing.assert_allclose(found["origin=here"], shares)
    np.testing.assert_allclose(found["origin=here (lift)"], shares / (mass[here].sum() / mass[known].sum()))


@pytest.mark.parametrize("weighted", [False, True])
def test_test_values_are_deviations_over_random_clusters(weighted, frame):
    random = np.random.default_rng(0)
    weights = random.uniform(1, 4, len(frame)) if weighted else None
    fitted = KMeans(4, random_state=0).fit(frame, sample_weight=weights)
    values = random.exponential(size=len(frame))
    found = np.array([
        fitted.summary(profile=pandas.Series(random.permutation(values), name="v"))["v (z)"] for _ in range(400)
    ])  # fmt: skip
    assert np.abs(found.mean(axis=0)).max() < 0.2 and np.abs(found.std(axis=0) - 1).max() < 0.15


def test_kinds_of_profiles(frame, outcome):
    result = manymeans.fit(frame, 3)
    expected = result.summary(profile=outcome)
    names = outcome.columns.tolist()
    table = {name: outcome[name].tolist() for name in names}
    for profile in polars.DataFrame(table), pyarrow.table(table), table:
        pandas.testing.assert_frame_equal(result.summary(profile=profile), expected)
    one = manymeans.summary(result.best(), profile=outcome["spent"])
    pandas.testing.assert_frame_equal(one, expected[one.columns])
    assert result.summary(profile=outcome[["spent"]].to_numpy()).columns[-2:].tolist() == ["x0 (mean)", "x0 (z)"]
    assert result.summary(profile=outcome["spent"].to_numpy()).columns[-2:].tolist() == ["x (mean)", "x (z)"]
    days = pandas.Series(pandas.to_datetime(["2024-01-01", "2024-01-02", None] * len(frame))[: len(frame)], name="day")
    assert result.summary(profile=days).columns[9::3].str.startswith("day=2024-01-0").tolist() == [True, True]
    lines = RegressionClustering(2, random_state=0).fit(frame[["age"]].to_numpy(), frame["income"])
    assert "spent (z)" in manymeans.summary(lines, frame[["age"]].to_numpy(), frame["income"], profile=outcome)
    assert "spent (z)" in EnsembleKMeans([2, 3]).fit(frame).summary(k=3, profile=outcome)


def test_profiles_that_are_wrong(frame, outcome):
    fitted = KMeans(2).fit(frame)
    wrong = {
        r"^\[profile\] 'spent' has the shape \(10,\); a value for each of": outcome["spent"][:10],
        r"^\[profile\] 'name' has \d+ different texts; at most 100": {"name": [f"n{i}" for i in range(len(frame))]},
        r"^\[profile\] is a sparse matrix": scipy.sparse.eye(len(frame)),
        r"^\[profile\] names of columns are there twice": pandas.concat([outcome, outcome], axis=1),
    }
    for words, profile in wrong.items():
        with pytest.raises(manymeans.UsageError, match=words):
            fitted.summary(profile=profile)
    frame.index, outcome.index = frame.index + 7, outcome.index[::-1] + 7
    with pytest.raises(manymeans.BadDataError, match=r"^\[profile\] its index has the labels of X's index"):
        fitted.summary(frame, profile=outcome)
    columns = {"one": np.full(len(frame), 0.1), "gone": [None] * len(frame), "far": np.arange(len(frame)) / 0.1}
    columns["far"][3] = np.inf
    with pytest.warns(UserWarning) as warned:
        constant = fitted.summary(profile=columns)
    assert [str(one.message) for one in warned] == [
        "[profile] 'gone' holds gaps alone, so no card shows it",
        "[profile] 'far' holds an infinity, so no card shows it",
    ]
    assert (constant["one (z)"] == 0).all() and constant["gone (mean)"].isna().all()


def test_cards(frame, outcome):
    frame.index = [f"row {i}" for i in range(len(frame))]
    fitted = KMeans(3, random_state=0).fit(frame)
    table, cards = fitted.summary(profile=outcome), manymeans.cards(fitted, profile=outcome)
    distances = fitted.transform(frame)
    for cluster, card in enumerate(cards):
        assert (card.cluster, card.size, card.more) == (cluster, table["size"][cluster], {})
        assert (card.share, card.spread) == (table["share"][cluster], table["spread"][cluster])
        assert [abs(one[3]) for one in card.columns] == sorted((abs(one[3]) for one in card.columns), reverse=True)
        for name, center, mean, far in card.columns:
            assert (mean, far) == pytest.approx((frame[name].mean(), table[f"{name} (sd)"][cluster]))
            assert center == table["size (center)" if name == "size" else name][cluster] and abs(far) >= 0.1
        assert {one[0].partition("=")[0] for one in card.profile} == {"origin", "spent", "churn"}
        for name, here, everywhere, z, far in card.profile:
            assert z == table[f"{name} (z)"][cluster]
            assert not far.endswith("times") or float(far[:-6]) == pytest.approx(here / everywhere, abs=0.06)
            assert here == table[name if "=" in name else f"{name} (mean)"][cluster]
            if name == "origin=here":
                assert everywhere == pytest.approx((outcome["origin"] == "here").mean())
        own = np.flatnonzero(fitted.labels_ == cluster)
        nearest = own[np.argsort(distances[own, cluster], kind="stable")[:3]]
        assert card.typical == frame.index[nearest].tolist()
        lines = str(card).split("\n  ")
        assert lines[0].startswith(f"cluster {cluster}: {card.size} rows (")
        assert len(lines) == 2 + len(card.columns) + len(card.profile)
        assert lines[-1] == "typical rows: " + ", ".join(card.typical)
    wide = np.random.default_rng(0).normal(size=(60, 20)) + np.repeat([[0], [5]], 30, axis=0)
    assert [len(card.columns) for card in manymeans.cards(KMeans(2).fit(wide))] == [5, 5]
    assert [len(card.typical) for card in manymeans.cards(KMeans(2).fit(wide), rows=7)] == [7, 7]


def test_cards_of_linear_models_and_of_files(frame, tmp_path):
    X, y = frame[["age", "income"]], frame["size"]
    fitted = RegressionClustering(2, random_state=0).fit(X, y)
    card = manymeans.cards(fitted)[1]
    named = ["intercept", "age", "income"]
    coefficients, errors = ["intercept", "age (coef)", "income (coef)"], [f"{name} (error)" for name in named]
    assert list(card.more) == ["r2", *coefficients, *errors]
    assert card.more["intercept"] == fitted.intercept_[1] and "\n  intercept: " in str(card)
    frame.insert(0, "who", [f"p{i}" for i in range(len(frame))])
    frame.loc[3, "age"] = np.nan
    frame.to_csv(tmp_path / "t.csv", index=False)
    with pytest.warns(UserWarning):
        data = manymeans.read(tmp_path / "t.csv", id="who", missing="drop")
    card = manymeans.cards(manymeans.fit(data, 1), rows=len(frame))[0]
    assert set(card.typical) == set(frame["who"]) - {"p3"}
    where = dict(zip(frame["who"], frame[["age", "income", "size"]].to_numpy(), strict=True))
    far = [((where[who] - data.points.mean(axis=0)) ** 2).sum() for who in card.typical]
    assert np.all(np.diff(far) > -1e-3 * max(far))


def test_linear_models_are_described_or_say_how(frame, tmp_path):
    X, y = frame[["age", "income"]], frame["size"]
    fitted = RegressionClustering(2, random_state=0).fit(X, y)
    cards = manymeans.cards(fitted)
    assert manymeans.cards(fitted, k=2) == manymeans.cards(fitted, X, y, k=2) == cards
    assert manymeans.summary(fitted, k=2).equals(fitted.summary())
    with pytest.raises(manymeans.UsageError, match="k"):
        manymeans.cards(fitted, k=3)
    fitted.save(tmp_path / "m.npz")
    assert manymeans.cards(RegressionClustering.load(tmp_path / "m.npz"), X, y) == cards
    result, advice = (
        fitted.result_,
        "linear models; give the fitted RegressionClustering .*: it has predict and summary, and cards",
    )
    for refuse in (
        result.summary, result.best().summary, lambda: result.predict(X), lambda: manymeans.predict(result, X),
        lambda: manymeans.cards(result), lambda: manymeans.summary(result, X), lambda: KMeans.load(tmp_path / "m.npz"),
        lambda: manymeans.cards(result.best()),
    ):  # fmt: skip
        with pytest.raises(manymeans.UsageError, match=advice):
            refuse()
    with pytest.raises(
        manymeans.UsageError, match=r"^\[init\] these are linear models; a FitResult of centres is right"
    ):
        manymeans.fit(X, 2, init=result)
    with pytest.raises(manymeans.UsageError, match="no centres to agree on; compare takes two of them"):
        manymeans.consensus(result, 2)
    assert manymeans.compare(result, result).moved == 0


def test_ties_have_the_order_of_the_program(program, tmp_path):
    frame = pandas.DataFrame(
        {
            "x": [*range(10), *range(40, 50)],
            "one": list(9 * "a" + 10 * "b" + "a"),
            "two": list(9 * "c" + 10 * "d" + "c"),
        }
    )
    frame.to_csv(tmp_path / "t.csv", index=False)
    cards = manymeans.cards(manymeans.fit(frame[["x"]], 2), profile=frame[["one", "two"]])
    assert [entry[0] for entry in cards[0].profile] == ["one=a", "two=c", "one=b", "two=d"]
    command = [program, "fit", tmp_path / "t.csv", "-k", "2", "--columns", "x", "--profile", "one,two"]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    for card in cards:
        assert "\n  ".join(str(card).split("\n  ")[:-1]) in printed


TEXTS = ["money in the bank", "the bank lends money", "a loan of the bank", "fish in the river", "a river of water"]


def test_top_terms_of_sparse_points():
    vectorizer = CountVectorizer()
    words = vectorizer.fit_transform(TEXTS).astype("f8")
    names = vectorizer.get_feature_names_out()
    fitted = KMeans(2, init=words[[0, 4]].toarray(), n_init=1).fit(words)
    of_bank, of_river = manymeans.cards(fitted, words, names=names)
    here, everywhere = words[fitted.labels_ == 0].mean(axis=0).A1, words.mean(axis=0).A1
    expected = sorted(zip(here - everywhere, names, here, everywhere, strict=True), key=lambda one: -one[0])
    assert [name for name, _, _ in of_bank.terms] == [name for far, name, _, _ in expected if far > 0][:10]
    np.testing.assert_allclose([x[1:] for x in of_bank.terms], [x[2:] for x in expected if x[0] > 0][:10])
    shown = str(of_river)
    assert "river" in [name for name, _, _ in of_river.terms] and "sd)" not in shown
    assert "\n  top terms: " + ", ".join(name for name, _, _ in of_river.terms) + "\n" in shown

    pipeline = make_pipeline(CountVectorizer(), KMeans(2, init=words[[0, 4]].toarray(), n_init=1)).fit(TEXTS)
    frame = pandas.DataFrame.sparse.from_spmatrix(words, columns=names)
    for found in (
        manymeans.cards(pipeline, TEXTS),
        manymeans.cards(KMeans(2, init=words[[0, 4]].toarray(), n_init=1).fit(frame), frame),
    ):
        assert [card.terms for card in found] == [of_bank.terms, of_river.terms]
    assert "river" in manymeans.summary(fitted, words, names=names)
    assert manymeans.cards(fitted, words)[0].terms[0][0].startswith("x")
    assert all(card.terms == [] for card in manymeans.cards(fitted, words.toarray()))
    with pytest.raises(manymeans.UsageError, match=r"\[names\] has 1 names, and there are 10 columns"):
        manymeans.cards(fitted, words, names=["one"])


def test_the_program_prints_the_same_cards(mixture, tmp_path, program):
    random = np.random.default_rng(3)
    frame = pandas.DataFrame(mixture.astype("f8") * 3 + 7, columns=[f"c{j}" for j in range(mixture.shape[1])])
    frame["name"] = [f"n{i}" for i in range(len(frame))]
    frame["kind"] = random.choice(["a", "b, c", "d"], len(frame))
    frame["count"] = random.integers(0, 9, len(frame)) + 2 * frame["c0"].round()
    frame.loc[5, ["kind", "count"]] = np.nan
    frame.to_csv(tmp_path / "t.csv", index=False)
    command = [program, "fit", tmp_path / "t.csv", "-k", "5", "--exclude", "name", "--profile", "kind,count"]
    printed = subprocess.run(
        [*command, "--summary", tmp_path / "s.csv"], check=True, capture_output=True, text=True
    ).stdout
    points = manymeans.read(tmp_path / "t.csv", exclude=["name", "kind", "count"], id="name")
    result = manymeans.fit(points, 5)
    cards = manymeans.cards(result, points, profile=frame[["kind", "count"]])
    assert any(card.profile for card in cards)
    assert "\n".join(map(str, cards)) + "\n" in printed
    assert "by column 'name'" in printed
    theirs = pandas.read_csv(tmp_path / "s.csv")
    ours = result.summary(points, profile=frame[["kind", "count"]])
    for name in [name for name in ours if name.startswith(("kind", "count"))]:
        np.testing.assert_array_equal(theirs[name], ours[name])
