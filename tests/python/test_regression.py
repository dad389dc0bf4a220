"""RegressionClustering: beside scikit-learn, its promises, files, kinds of input, errors."""

import copy
import json
import os
import pickle
import re
import subprocess
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn.linear_model
import sklearn.preprocessing
from sklearn.base import clone, is_regressor
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import manymeans
from manymeans import RegressionClustering

TRUE = np.array([[2.0, -1, 3], [-2.0, 1, 0], [0.5, 4, -6]])  # two slopes and the intercept of each model


def planted(n=600, noise=0.05, seed=0):
    """Rows of three linear models that lie in the same place, and which is whose."""
    random = np.random.default_rng(seed)
    x = random.normal(size=(n, 2))
    whose = random.integers(0, 3, n)
    y = (x * TRUE[whose, :2]).sum(axis=1) + TRUE[whose, 2] + random.normal(scale=noise, size=n)
    return x, y, whose


@pytest.fixture(scope="module")
def fitted():
    x, y, whose = planted()
    return RegressionClustering(3, random_state=0).fit(x, y), x, y, whose


def by_intercept(estimator):
    return np.column_stack([estimator.coef_, estimator.intercept_])[np.argsort(estimator.intercept_)[::-1]]


def test_planted_models_are_found(fitted):
    estimator, x, y, whose = fitted
    assert np.abs(by_intercept(estimator) - TRUE[np.argsort(TRUE[:, 2])[::-1]]).max() < 0.05
    assert estimator.r2_ > 0.999
    agreement = np.zeros((3, 3))
    np.add.at(agreement, (estimator.labels_, whose), 1)
    assert agreement.max(axis=1).sum() > 0.97 * len(x)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("offset", [0, 1e4])
def test_one_model_is_scikit_learns_linear_regression(intercept, offset):
    random = np.random.default_rng(3)
    x = random.normal(size=(500, 6)) + offset
    y = x @ random.normal(size=6) + random.normal(size=500)
    weights = random.uniform(0.5, 2, size=500)
    ours = RegressionClustering(1, fit_intercept=intercept, random_state=0).fit(x, y, sample_weight=weights)
    theirs = sklearn.linear_model.LinearRegression(fit_intercept=intercept).fit(x, y, sample_weight=weights)
    np.testing.assert_allclose(ours.predict(x), theirs.predict(x), rtol=1e-12 * max(1, offset))
    if not offset:
        np.testing.assert_allclose(ours.coef_[0], theirs.coef_, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(ours.intercept_[0], theirs.intercept_, rtol=1e-12, atol=1e-12)
    assert ours.score(x, y, weights) == pytest.approx(theirs.score(x, y, weights), abs=1e-12)
    if intercept:
        assert ours.r2_ == pytest.approx(theirs.score(x, y, weights), abs=1e-12)


def regress_file(path, *arguments):
    """Call the program for the last column of a file; what it prints."""
    columns = str(manymeans.read(path).points.shape[1])
    clusters = [] if "-k" in arguments else ["-k", "1"]
    program = [os.environ["MANYMEANS_PROGRAM"], "regress", path, "--target", columns, *clusters, *arguments]
    return subprocess.run(program, capture_output=True, text=True, check=True).stdout


def far_from_zero():
    """Float32 numbers of a feature that is far from zero beside its spread, and the least error of a line."""
    i = np.arange(2000)
    x = (1000000 + i).astype(np.float32)
    y = (1.1 * i + np.random.default_rng(7).normal(scale=0.01, size=2000)).round(2).astype(np.float32)
    centred = x - np.float64(x.mean(dtype=np.float64))
    return x, y, ((np.polyval(np.polyfit(centred, y.astype(np.float64), 1), centred) - y) ** 2).sum()


def test_float32_columns_far_from_zero_get_the_least_squares():
    x, y, least = far_from_zero()
    lines = RegressionClustering(1, random_state=0).fit(x[:, np.newaxis], y)
    assert lines.inertia_ == pytest.approx(least, rel=1e-9)
    theirs = sklearn.linear_model.LinearRegression().fit(x[:, np.newaxis].astype(np.float64), y.astype(np.float64))
    assert lines.coef_[0, 0] == pytest.approx(theirs.coef_[0], rel=1e-9)
    assert (lines.predict_cluster(x[:, np.newaxis], y) == lines.labels_).all()


@pytest.mark.parametrize("ending", ["csv", "npy"])
def test_the_program_takes_float32_files_as_float64(ending, tmp_path):
    x, y, least = far_from_zero()
    path = tmp_path / f"far.{ending}"
    rows = np.column_stack([x, y])
    np.save(path, rows) if ending == "npy" else np.savetxt(path, rows, delimiter=",", fmt="%.2f")
    found = json.loads(regress_file(path, "--json"))
    assert found["provenance"]["dtype"] == "float64"
    assert found["models"][0]["inertia"] == pytest.approx(least, rel=1e-2 if ending == "csv" else 1e-9)
    coarse = json.loads(regress_file(path, "--dtype", "float32", "--json"))
    assert coarse["provenance"]["dtype"] == "float32"
    assert coarse["models"][0]["inertia"] > 1.5 * least


def printed_models(report):
    """Read coefficients and intercept, last, out of the equations of two features x1 and x2."""
    number = r"(-?[0-9.]+(?:e[-+][0-9]+)?)"
    found = re.findall(rf"y = {number} ([-+]) {number} x1 ([-+]) {number} x2", report)
    return np.array([[float(s + a), float(t + b), float(c)] for c, s, a, t, b in found])


@pytest.mark.parametrize("scale", ["none", "standard", "minmax"])
@pytest.mark.parametrize("unit", [1, 1000])
def test_printed_equations_predict(scale, unit, tmp_path):
    random = np.random.default_rng(2)
    x, _, whose = planted(900)
    x[:, 0] = unit * (1.7e9 + 60 * np.arange(900))
    y = np.where(whose, 1e-3, -2e-3) * (x[:, 0] / unit - 1.7e9) + x[:, 1] + random.normal(scale=0.5, size=900)
    np.save(tmp_path / "rows.npy", np.column_stack([x, y]))
    options = ("-k", "2", "-m", "4", "--scale", scale, "--model", tmp_path / "m.npz")
    models = printed_models(regress_file(tmp_path / "rows.npy", *options))
    described = subprocess.run(
        [os.environ["MANYMEANS_PROGRAM"], "describe", tmp_path / "m.npz"], capture_output=True, text=True, check=True
    )
    assert (models == printed_models(described.stdout)).all()
    fitted = RegressionClustering.load(tmp_path / "m.npz")
    residual = np.sqrt(fitted.inertia_ / 900)
    labels = fitted.predict_cluster(x, y)
    printed = x @ models[:, :2].T + models[:, 2]
    change = (printed - fitted.predict(x, gating="columns"))[np.arange(900), labels]
    lost = 2e-16 * np.abs(models[:, 2]).max()  # by computing in binary64
    for k in range(2):
        assert np.sqrt((change[labels == k] ** 2).mean()) < 2e-3 * residual + 2 * lost


def test_equations_are_short_where_that_is_enough(tmp_path):
    i = np.arange(10.0)
    np.save(tmp_path / "rows.npy", np.column_stack([i, i * i % 7, 0.1 * i - 0.2 * (i * i % 7) + 0.3]))
    assert "y = 0.3 + 0.1 x1 - 0.2 x2" in regress_file(tmp_path / "rows.npy")


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_weight_of_two_is_the_row_twice(dtype):
    x, y, _ = (values.astype(dtype) for values in planted(seed=1))
    weights = np.random.default_rng(1).integers(1, 4, len(x))
    start = (TRUE + 0.7).astype(dtype)
    once = RegressionClustering(3, init=start, swaps=0).fit(x, y, sample_weight=weights)
    often = RegressionClustering(3, init=start, swaps=0).fit(x.repeat(weights, axis=0), y.repeat(weights))
    assert once.n_iter_ > 1
    for name in ("coef_", "intercept_"):
        assert getattr(once, name).dtype == np.float64
        assert getattr(once, name).tobytes() == getattr(often, name).tobytes()
    assert (once.labels_.repeat(weights) == often.labels_).all()
    assert once.r2_ == pytest.approx(often.r2_, rel=1e-14)
    assert once.bic_ == pytest.approx(often.bic_, rel=1e-12)


def test_the_answer_is_one(fitted):
    estimator, x, y, _ = fitted
    for parameters in ({"n_threads": 1}, {"backend": "reference"}, {"algorithm": "brute"}):
        assert clone(estimator).set_params(**parameters).fit(x, y).answer_ == estimator.answer_
    assert clone(estimator).set_params(random_state=1).fit(x, y).answer_ != estimator.answer_


def test_summaries_are_what_they_say(fitted):
    estimator, x, y, _ = fitted
    error = ((estimator.predict(x, gating="columns")[np.arange(len(x)), estimator.labels_] - y) ** 2).sum()
    assert estimator.inertia_ == pytest.approx(error, rel=1e-9)
    assert estimator.r2_ == pytest.approx(1 - error / ((y - y.mean()) ** 2).sum(), rel=1e-12)
    n, parameters = len(x), 3 * (2 + 2) - 1
    assert estimator.bic_ == pytest.approx(n * (np.log(2 * np.pi * error / n) + 1) + parameters * np.log(n), rel=1e-9)
    means = [x[estimator.labels_ == k].mean(axis=0) for k in range(3)]
    np.testing.assert_allclose(estimator.cluster_means_, means, atol=1e-12)


def test_labels_of_rows_with_a_target(fitted):
    estimator, x, y, _ = fitted
    assert (estimator.predict_cluster(x, y) == estimator.labels_).all()
    residuals = np.abs(x @ estimator.coef_.T + estimator.intercept_ - (y + 0.5)[:, np.newaxis])
    assert (estimator.predict_cluster(x, y + 0.5) == residuals.argmin(axis=1)).all()
    assert (clone(estimator).fit_predict(x, y) == estimator.labels_).all()


def test_gating(fitted):
    estimator, x, y, _ = fitted
    columns = x @ estimator.coef_.T + estimator.intercept_
    np.testing.assert_allclose(estimator.predict(x, gating="columns"), columns, atol=1e-12)
    shares = np.bincount(estimator.labels_) / len(x)
    np.testing.assert_allclose(estimator.predict(x, gating="prior"), columns @ shares, atol=1e-12)
    scaled = (x[:, np.newaxis] - estimator.cluster_means_) / x.std(axis=0)
    nearest = (scaled**2).sum(axis=2).argmin(axis=1)
    np.testing.assert_allclose(estimator.predict(x), columns[np.arange(len(x)), nearest], atol=1e-12)
    prior = copy.copy(estimator).set_params(gating="prior")
    assert (prior.predict(x) == estimator.predict(x, gating="prior")).all()
    with pytest.raises(ValueError, match="score needs"):
        copy.copy(estimator).set_params(gating="columns").score(x, y)
    with pytest.raises(ValueError, match="nearest, prior or columns"):
        estimator.predict(x, gating="next")


def test_nearest_is_right_where_clusters_lie_apart():
    random = np.random.default_rng(5)
    x = np.concatenate([random.normal(-5, 1, 300), random.normal(5, 1, 300)])[:, np.newaxis]
    y = np.where(x[:, 0] < 0, 2 * x[:, 0] + 12, 2 - 3 * x[:, 0]) + random.normal(scale=0.1, size=600)
    estimator = RegressionClustering(2, random_state=0).fit(x[::2], y[::2])
    assert estimator.score(x[1::2], y[1::2]) > 0.999
    assert estimator.set_params(gating="prior").score(x[1::2], y[1::2]) < 0.9


def test_pickles_and_copies(fitted):
    estimator, x, y, _ = fitted
    for other in (pickle.loads(pickle.dumps(estimator)), copy.deepcopy(estimator)):
        assert (other.predict(x) == estimator.predict(x)).all()
        assert other.answer_ == estimator.answer_
        assert len(other.result_.models) == 1
    assert is_regressor(estimator)


def test_files(fitted, tmp_path):
    estimator, x, y, _ = fitted
    estimator.save(tmp_path / "m.npz")
    other = RegressionClustering.load(tmp_path / "m.npz")
    assert (other.predict(x) == estimator.predict(x)).all()
    assert (other.predict_cluster(x, y) == estimator.labels_).all()
    for name in ("r2_", "bic_", "inertia_", "n_iter_", "answer_", "n_features_in_"):
        assert getattr(other, name) == getattr(estimator, name)
    assert not hasattr(other, "labels_")
    assert len(other.result_.models) == 8
    other.save(tmp_path / "again.npz")
    assert (np.load(tmp_path / "again.npz")["r2"] == np.load(tmp_path / "m.npz")["r2"]).all()
    for load in (manymeans.KMeans.load, manymeans.EnsembleKMeans.load):
        with pytest.raises(ValueError, match="linear models"):
            load(tmp_path / "m.npz")
    with pytest.raises(ValueError, match="linear models"):
        manymeans.predict(manymeans.FitResult.load(tmp_path / "m.npz"), x)
    manymeans.KMeans(2, random_state=0).fit(x).save(tmp_path / "k.npz")
    with pytest.raises(ValueError, match="these are centres"):
        RegressionClustering.load(tmp_path / "k.npz")


CHOSEN = {
    "n_clusters": 2, "n_init": 3, "init": "kmeans", "swaps": 4, "fit_intercept": False, "ridge": 0.001,
    "gating": "prior", "max_iter": 50, "tol": 0.01, "stop": "tol,labels:0.01", "empty": "keep", "random_state": 5,
}  # fmt: skip


def test_a_file_restores_the_parameters(tmp_path):
    x, y, _ = planted(200)
    estimator = RegressionClustering(**CHOSEN, algorithm="brute", time_limit=1000.0).fit(x, y)
    estimator.save(tmp_path / "m.npz")
    loaded = RegressionClustering.load(tmp_path / "m.npz")
    of_run = {"algorithm": "auto", "time_limit": None}  # equal answers are equal files
    assert loaded.get_params() == estimator.get_params() | of_run
    assert clone(loaded).fit(x, y).answer_ == estimator.answer_ == loaded.answer_
    loaded.set_params(gating="columns").save(tmp_path / "again.npz")
    assert RegressionClustering.load(tmp_path / "again.npz").gating == "columns"


def test_files_of_the_program_restore_the_parameters(tmp_path):
    x, y, _ = planted(200)
    np.save(tmp_path / "rows.npy", np.column_stack([x, y]))
    options = [
        "-k", "2", "-m", "3", "--init", "kmeans", "--swaps", "4", "--intercept", "false", "--ridge", "0.001",
        "--stop", "tol", "--empty", "keep", "--seed", "5",
    ]  # fmt: skip
    regress_file(tmp_path / "rows.npy", *options, "--model", tmp_path / "m.npz")
    loaded = RegressionClustering.load(tmp_path / "m.npz")
    names = ("n_init", "init", "swaps", "fit_intercept", "ridge", "stop", "empty", "random_state", "gating")
    values = [3, "kmeans", 4, False, 0.001, "tol", "keep", 5, "nearest"]
    assert [loaded.get_params()[name] for name in names] == values
    assert clone(loaded).fit(x, y).answer_ == loaded.answer_


def test_parameters_that_are_none(fitted, tmp_path):
    fitted[0].save(tmp_path / "m.npz")
    parts = dict(np.load(tmp_path / "m.npz"))
    summary = json.loads(str(parts["json"]))
    for name, value in (("ridge", "much"), ("intercept", 1), ("swaps", -1), ("gating", ["prior"]), ("stop", 3)):
        options = summary["provenance"]["options"] | {name: value}
        changed = summary | {"provenance": summary["provenance"] | {"options": options}}
        np.savez(tmp_path / "changed.npz", **parts | {"json": np.array(json.dumps(changed))})
        with pytest.raises(manymeans.BadDataError, match="is not (of type|a|an) "):
            RegressionClustering.load(tmp_path / "changed.npz")
    for name in ("ridge", "intercept", "swaps", "gating"):  # of an earlier version
        del summary["provenance"]["options"][name]
    np.savez(tmp_path / "changed.npz", **parts | {"json": np.array(json.dumps(summary))})
    assert RegressionClustering.load(tmp_path / "changed.npz").fit_intercept


@pytest.mark.parametrize("scale", ["none", "standard", "minmax"])
def test_models_of_the_command_line(scale, tmp_path):
    x, y, _ = planted(200)
    np.savetxt(
        tmp_path / "t.csv", np.column_stack([x[:, 0], y, 50 * x[:, 1] + 7]), delimiter=",", header="a,t,b", comments=""
    )
    program = [os.environ["MANYMEANS_PROGRAM"], "regress", "t.csv", "--target", "t", "-k", "3", "-m", "8"]
    arguments = ["--dtype", "float64", "--scale", scale, "--model", "m.npz", "--json"]
    done = subprocess.run(program + arguments, cwd=tmp_path, capture_output=True, text=True, check=True)
    data = manymeans.read(tmp_path / "t.csv", dtype="float64").points
    x, y = data[:, [0, 2]], data[:, 1]
    ours = RegressionClustering(3, random_state=0).fit(x, y)
    theirs = RegressionClustering.load(tmp_path / "m.npz")
    assert list(theirs.feature_names_in_) == ["a", "b"]
    if scale == "none":
        assert ours.answer_ == json.loads(done.stdout)["digest"] == theirs.answer_
    np.testing.assert_allclose(by_intercept(theirs), by_intercept(ours), rtol=1e-7)
    order = np.argsort(ours.intercept_), np.argsort(theirs.intercept_)
    np.testing.assert_allclose(theirs.cluster_means_[order[1]], ours.cluster_means_[order[0]], rtol=1e-9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # x has no names
        np.testing.assert_allclose(theirs.predict(x), ours.predict(x), rtol=1e-7)
        assert (np.argsort(order[0])[ours.labels_] == np.argsort(order[1])[theirs.predict_cluster(x, y)]).all()


@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_scaled_models_take_narrow_features_as_their_fit_did(dtype, tmp_path):
    x, y, _ = planted(200)
    rows = np.column_stack([20 * x, 5 * y]).round().clip(-128, 127).astype(dtype)
    np.save(tmp_path / "r.npy", rows)
    np.save(tmp_path / "x.npy", rows[:, :2])
    regress_file(tmp_path / "r.npy", "-k", "3", "--scale", "standard",
                 "--model", tmp_path / "m.npz", "--labels", tmp_path / "l.npy")  # fmt: skip
    command = ["predict", "m.npz", "x.npy", "--predictions", "y.npy"]
    subprocess.run([os.environ["MANYMEANS_PROGRAM"], *command], cwd=tmp_path, capture_output=True, check=True)
    loaded = RegressionClustering.load(tmp_path / "m.npz")
    np.testing.assert_array_equal(loaded.predict_cluster(rows[:, :2], rows[:, 2]), np.load(tmp_path / "l.npy"))
    np.testing.assert_array_equal(loaded.predict(rows[:, :2]), np.load(tmp_path / "y.npy"))


def test_kinds_of_input(fitted, tmp_path):
    estimator, x, y, _ = fitted
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(x, columns=["a", "b"])
    named = clone(estimator).fit(frame, pandas.Series(y, name="t"))
    assert named.answer_ == estimator.answer_
    assert list(named.feature_names_in_) == ["a", "b"]
    named.save(tmp_path / "m.npz")
    assert list(np.load(tmp_path / "m.npz")["column_names"]) == ["a", "b", "t"]
    assert (RegressionClustering.load(tmp_path / "m.npz").predict(frame) == estimator.predict(x)).all()
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({"a": x[:, 0], "b": x[:, 1]})
    assert clone(estimator).fit(table, pyarrow.array(y)).answer_ == estimator.answer_
    assert clone(estimator).fit(x.tolist(), y.tolist()).answer_ == estimator.answer_
    assert clone(estimator).fit(np.asfortranarray(x), y[:, np.newaxis].ravel()).answer_ == estimator.answer_
    small = clone(estimator).fit(x.astype(np.float32), y.astype(np.float32))
    assert small.coef_.dtype == np.float64
    assert (
        small.answer_ == clone(estimator).fit(*(values.astype(np.float32).astype(float) for values in (x, y))).answer_
    )


def test_bad_input(fitted):
    estimator, x, y, _ = fitted
    with pytest.raises(ValueError, match="y to be passed"):
        clone(estimator).fit(x, None)
    with pytest.raises(ValueError, match=r"\[y\] row \d+ is NaN; every target must be finite"):
        clone(estimator).fit(x, np.where(np.arange(len(y)) == 7, np.nan, y))
    holed = x.copy()
    holed[4, 1] = np.nan
    with pytest.raises(ValueError, match="row 4, column 1 is NaN"):
        clone(estimator).fit(holed, y)
    with pytest.raises(ValueError, match="row 4, column 1 is NaN"):
        estimator.predict(holed)
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples"):
        clone(estimator).fit(x, y[1:])
    with pytest.raises(ValueError, match=r"n_samples=8 should be >= 9: n_clusters=3 linear models of 3 coefficients"):
        clone(estimator).fit(x[:8], y[:8])
    with pytest.raises(ValueError, match="could not convert"):
        clone(estimator).fit(x, ["a"] * len(x))
    with pytest.raises(ValueError, match="features"):
        estimator.predict(x[:, :1])
    with pytest.raises(NotFittedError):
        RegressionClustering().predict(x)
    with pytest.warns(ConvergenceWarning, match="target is constant"):
        constant = clone(estimator).fit(x, np.full(len(x), 3.0))
    assert (constant.coef_ == 0).all()
    assert constant.r2_ == 1


def test_a_callback_stops_it():
    x, y, _ = planted()
    seen = []
    estimator = RegressionClustering(3, random_state=0, callback=lambda progress: seen.append(progress) or False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(manymeans.StoppedError):
            estimator.fit(x, y)
    assert len(seen) == 1


def curved(n=300):
    """Two curves in two features, and the terms of degree 2 as scikit-learn makes them."""
    random = np.random.default_rng(4)
    x = random.normal(size=(n, 2)).astype(np.float32)
    wide = x.astype(np.float64)
    terms = sklearn.preprocessing.PolynomialFeatures(2, include_bias=False).fit_transform(wide)
    true = np.array([[1.0, 0, 2, -1, 0], [-1.0, 3, -2, 0, 1]])
    y = (terms * true[random.integers(0, 2, n)]).sum(axis=1) + random.normal(scale=0.01, size=n)
    return x, terms, y


def test_squares_and_products(tmp_path):
    x, terms, y = curved()
    curves = RegressionClustering(2, degree=2, random_state=0).fit(x, y)
    made = RegressionClustering(2, random_state=0).fit(terms, y)
    assert curves.answer_ == made.answer_ and curves.r2_ > 0.999
    assert curves.coef_.shape == (2, 5) and curves.n_features_in_ == 2
    assert (curves.predict(x) == made.predict(terms)).all()
    assert (curves.predict_cluster(x, y) == curves.labels_).all()
    squares = RegressionClustering(1, degree=2, products=False, random_state=0).fit(x, y)
    assert squares.answer_ == RegressionClustering(1, random_state=0).fit(terms[:, [0, 1, 2, 4]], y).answer_
    curves.save(tmp_path / "curves.npz")
    again = [RegressionClustering.load(tmp_path / "curves.npz"), pickle.loads(pickle.dumps(curves)), clone(curves)]
    again[2].fit(x, y)
    for other in again:
        assert other.degree == 2 and other.products is True and other.n_features_in_ == 2
        assert (other.predict(x) == curves.predict(x)).all()
    assert again[2].answer_ == curves.answer_


def test_terms_of_the_command_line(program, tmp_path):
    x, _, y = curved()
    frame = pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "y": y})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    rows = manymeans.read(tmp_path / "rows.csv", dtype="float64").points
    flags = ["-k", "2", "--models", "8", "--degree", "2", "--model", tmp_path / "m.npz", "--json"]
    command = [program, "regress", tmp_path / "rows.csv", "--target", "y", *flags]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True)
    features = pd.DataFrame(rows[:, :2], columns=["a", "b"])
    curves = RegressionClustering(2, degree=2, random_state=0).fit(features, rows[:, 2])
    assert curves.answer_ == json.loads(done.stdout)["digest"]
    loaded = RegressionClustering.load(tmp_path / "m.npz")
    assert loaded.degree == 2 and loaded.feature_names_in_.tolist() == ["a", "b"]
    assert (loaded.predict(features) == curves.predict(features)).all()


@pytest.mark.parametrize(
    ("parameters", "columns", "text"),
    [({"degree": 3}, 2, "degree"), ({"degree": 2}, 22, "22 features have 275 terms of degree 2, 44 without products")],
)
def test_terms_that_cannot_be(parameters, columns, text):
    with pytest.raises(ValueError, match=text):
        RegressionClustering(1, **parameters).fit(np.ones((40, columns)), np.ones(40))


def test_standard_errors_are_those_of_least_squares_in_each_cluster():
    X, y, _ = planted()
    weights = np.random.default_rng(4).integers(1, 4, len(y)).astype(float)
    lines = RegressionClustering(3, random_state=0).fit(X, y, sample_weight=weights)
    for k in range(3):
        own = lines.labels_ == k
        A, w = np.column_stack([X[own], np.ones(own.sum())]), weights[own]
        left = y[own] - A @ np.append(lines.coef_[k], lines.intercept_[k])
        covariance = w @ left**2 / (w.sum() - A.shape[1]) * np.linalg.inv(A.T @ (w[:, None] * A))
        assert np.allclose(lines.standard_errors_[k], np.sqrt(np.diag(covariance)), rtol=1e-6)
        assert lines.cluster_r2_[k] == pytest.approx(
            1 - w @ left**2 / (w @ (y[own] - np.average(y[own], weights=w)) ** 2)
        )
    table = lines.summary(X, y, weights)
    assert np.allclose(table["intercept (error)"], lines.standard_errors_[:, -1])
    assert np.allclose(table["x0 (error)"], lines.standard_errors_[:, 0])
    assert np.allclose(table["r2"], lines.cluster_r2_)


def test_standard_errors_are_in_the_file(tmp_path):
    X, y, _ = planted()
    lines = RegressionClustering(3, random_state=0).fit(X, y)
    lines.save(tmp_path / "m.npz")
    again = RegressionClustering.load(tmp_path / "m.npz")
    assert np.array_equal(again.standard_errors_, lines.standard_errors_)
    assert np.array_equal(again.cluster_r2_, lines.cluster_r2_)
    again.save(tmp_path / "again.npz")
    assert np.array_equal(RegressionClustering.load(tmp_path / "again.npz").standard_errors_, lines.standard_errors_)
    parts = {
        name: value
        for name, value in np.load(tmp_path / "m.npz").items()
        if "error" not in name and "cluster_r2" not in name
    }
    np.savez(tmp_path / "older.npz", **parts)
    assert RegressionClustering.load(tmp_path / "older.npz").standard_errors_ is None


def test_cross_validated_r2_is_that_of_rows_held_out(tmp_path, program):
    X, y, _ = planted()
    lines = RegressionClustering(3, n_init=3, random_state=5).fit(X, y)
    near, prior = lines.cross_validated_r2(X, y), lines.cross_validated_r2(X, y, gating="prior")
    assert near != prior
    assert max(near, prior) < lines.r2_
    assert lines.cross_validated_r2() == near
    assert lines.set_params(n_threads=1).cross_validated_r2(X, y) == near
    table = np.column_stack([X, y])
    np.save(tmp_path / "table.npy", table)
    command = [program, "regress", tmp_path / "table.npy", "--target", str(table.shape[1]), "-k", "3", "--models", "3"]
    done = subprocess.run([*command, "--seed", "5", "--folds", "5", "--json"], capture_output=True, check=True)
    assert json.loads(done.stdout)["r2_held_out"] == [{"k": 3, "nearest": near, "prior": prior}]
    one = RegressionClustering(1, random_state=0).fit(X, y)
    assert one.cross_validated_r2(X, y) == pytest.approx(one.cross_validated_r2(X, y, gating="prior"))
    with pytest.raises(manymeans.UsageError, match="predicts no single target"):
        lines.cross_validated_r2(X, y, gating="columns")
    with pytest.raises(manymeans.UsageError, match="folds"):
        lines.cross_validated_r2(X, y, folds=1)
    given = RegressionClustering(3, init=np.column_stack([lines.coef_, lines.intercept_])).fit(X, y)
    with pytest.raises(manymeans.UsageError, match="held out"):
        given.cross_validated_r2(X, y)
