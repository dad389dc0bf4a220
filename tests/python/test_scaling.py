"""scale= and log= of fit, search and choose_k: the program's flags, and results in the units of the points."""

import csv
import json
import subprocess
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import manymeans


def points(dtype=np.float32):
    random = np.random.default_rng(2)
    ages = np.concatenate([random.normal(30, 4, 200), random.normal(60, 4, 200)])
    incomes = np.concatenate([random.normal(2e4, 1e3, 200), random.normal(9e4, 1e3, 200)])
    incomes[0] = 5e6  # an outlier
    return np.column_stack([ages, incomes, np.zeros(400)]).astype(dtype)


@pytest.mark.parametrize("scale", ["standard", "minmax", "robust"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_it_is_the_scaling_of_the_program(scale, dtype, program, tmp_path):
    X = points(dtype)
    np.save(tmp_path / "x.npy", X)
    command = [program, "fit", tmp_path / "x.npy", "-k", "2", "--scale", scale, "--model", tmp_path / "m.npz", "--json"]
    done = subprocess.run(command, capture_output=True, check=True)
    result = manymeans.fit(X, 2, scale=scale)
    assert result.digest == json.loads(done.stdout)["digest"]
    manymeans.fit(tmp_path / "x.npy", 2, scale=scale).save(tmp_path / "own.npz")
    assert (tmp_path / "own.npz").read_bytes() == (tmp_path / "m.npz").read_bytes()
    again = manymeans.FitResult.load(tmp_path / "own.npz")
    assert np.array_equal(again.predict(X), result.best().labels)
    assert np.array_equal(result.predict(X), result.best().labels)


def test_robust_takes_median_and_quartiles():
    X = points(np.float64)
    scaling = manymeans.fit(X, 2, scale="robust").scaling
    assert np.array_equal(scaling["offset"], np.median(X, axis=0))
    lower, upper = np.quantile(X, [0.25, 0.75], axis=0)
    assert np.allclose(scaling["divisor"], [*(upper - lower)[:2], 1], rtol=1e-14)


def test_summaries_are_in_the_units_of_the_points():
    X = points()
    result = manymeans.fit(X, 2, scale="robust", seed=1)
    labels = result.best().labels
    table = result.summary(X)
    for k in range(2):
        assert table["x0"][k] == pytest.approx(X[labels == k, 0].mean(), rel=1e-5)
    assert manymeans.search(X, 2, scale="robust", rounds=2).scaling == result.scaling


def test_what_scale_cannot_be():
    X = points()
    with pytest.raises(
        manymeans.UsageError, match=r"\[scale\] is 'log'; one of 'none', 'standard', 'minmax', 'robust'"
    ):
        manymeans.fit(X, 2, scale="log")
    with pytest.raises(manymeans.UsageError, match="scale the points of many before"):
        manymeans.fit(X, 2, scale="robust", groups=np.arange(400) % 2)


def test_warnings_are_of_scaled_points():
    X = points()[1:, :2]
    with pytest.warns(UserWarning, match="variance"):
        manymeans.fit(X, 2)
    assert not manymeans.fit(X, 2, scale="standard").warnings


def skewed(dtype=np.float64):
    random = np.random.default_rng(4)
    prices = np.exp(np.concatenate([random.normal(2, 0.4, 150), random.normal(6, 0.4, 150)]))
    visits = np.concatenate([random.poisson(1, 150), random.poisson(40, 150)])
    return np.column_stack([prices, random.normal(0, 1, 300), visits]).astype(dtype)


@pytest.mark.parametrize("scale", ["none", "standard", "robust", "unit"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_logarithms_are_those_of_the_program(scale, dtype, program, tmp_path):
    X = skewed(dtype)
    np.save(tmp_path / "x.npy", X)
    flags = [
        "-k",
        "2",
        "--scale",
        scale,
        "--log",
        "1,3",
        "--model",
        tmp_path / "m.npz",
        "--summary",
        tmp_path / "s.csv",
    ]
    done = subprocess.run([program, "fit", tmp_path / "x.npy", *flags, "--json"], capture_output=True, check=True)
    result = manymeans.fit(X, 2, scale=scale, log=[0, 2])
    assert result.digest == json.loads(done.stdout)["digest"]
    assert result.scaling["log"] == ["log", "none", "log1p"]
    manymeans.fit(tmp_path / "x.npy", 2, scale=scale, log=[2, 0]).save(tmp_path / "own.npz")
    assert (tmp_path / "own.npz").read_bytes() == (tmp_path / "m.npz").read_bytes()
    again = manymeans.FitResult.load(tmp_path / "m.npz")
    assert again.scaling == result.scaling
    assert np.array_equal(again.predict(X), result.best().labels)
    table = result.summary(X)
    with open(tmp_path / "s.csv") as file:
        for k, row in enumerate(csv.DictReader(file)):
            for j in range(3):
                assert table[f"x{j}"][k] == pytest.approx(float(row[f"column {j + 1}"]), rel=1e-5, abs=1e-6)
                assert table[f"x{j} (sd)"][k] == pytest.approx(
                    float(row[f"column {j + 1} difference"]), rel=1e-5, abs=1e-5
                )


def test_means_of_logarithms_are_geometric():
    X = skewed()
    result = manymeans.fit(X, 2, scale="standard", log=0)
    labels, table = result.best().labels, result.summary(X)
    for k in range(2):
        assert table["x0"][k] == pytest.approx(np.exp(np.log(X[labels == k, 0]).mean()))
        assert table["x2"][k] == pytest.approx(X[labels == k, 2].mean())
    shown = {name: mean for card in manymeans.cards(result, X) for name, _, mean, _ in card.columns}
    assert shown["x0"] == pytest.approx(np.exp(np.log(X[:, 0]).mean()))
    assert shown["x2"] == pytest.approx(X[:, 2].mean())
    assert "geometric where the fit took a logarithm: log(" in manymeans.report(result, X=X)


@pytest.mark.parametrize(("missing", "log"), [(0, "log1p"), (0.5, "log"), ("median", "log")])
def test_gaps_that_zeros_fill_are_named(missing, log):
    frame = pd.DataFrame({"price": [1.0, 2, np.nan, 30, 40], "z": [1.0, 2, 3, 4, 5]})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = manymeans.fit(frame, 2, missing=missing, log="price")
        manymeans.choose_k(manymeans.read(frame, missing=missing), 2, log="price", references=1, bootstraps=0)
    said = [str(one.message) for one in caught if "gaps of" in str(one.message)]
    assert result.scaling["log"] == [log, "none"] and len(said) == (2 if log == "log1p" else 0)
    assert all(one.startswith("[log] the gaps of column 'price' are 0, so its logarithm is of 1 + x;") for one in said)


def test_logarithms_of_a_frame():
    X = skewed()
    frame = pd.DataFrame({"town": ["A", "B"] * 150, "price": X[:, 0], "z": X[:, 1], "visits": X[:, 2]})
    frame.loc[7, "price"] = np.nan
    given = {"categories": "onehot", "missing": "median", "scale": "minmax"}
    result = manymeans.fit(frame, 2, log="price,visits", **given)
    assert result.scaling["log"] == ["none", "none", "log", "none", "log1p"]
    assert manymeans.search(frame, 2, rounds=1, log=["visits", "price"], **given).scaling == result.scaling
    assert np.array_equal(result.predict(frame), result.best().labels)
    for wrong, said in (("cost", r"\[log\] is 'cost'; the columns are town=A"), ([1], r"\[log\] is 1; the columns"),
                        (["z", "z"], r"\[log\] has column 'z' twice"), (b"z", "names of columns")):  # fmt: skip
        with pytest.raises(manymeans.UsageError, match=said):
            manymeans.fit(frame, 2, log=wrong, **given)
    with pytest.raises(manymeans.BadDataError, match="'z' has the minimum -.*0 or more"):
        manymeans.fit(frame, 2, log="z", **given)


def test_logarithms_that_are_not_there():
    X = skewed()
    result = manymeans.fit(X, 2, log=[0])
    X[3, 0] = 0
    with pytest.raises(manymeans.BadDataError, match=r"row 3, column 0 is 0, which has no logarithm"):
        result.predict(X)
    for wrong, said in (
        (3, "the columns are 0 to 2"),
        (-1, r"\[log\]"),
        ("x0", r"\[log\]"),
        (None, r"\[log\] is None"),
    ):
        with pytest.raises(manymeans.UsageError, match=said):
            manymeans.fit(X, 2, log=wrong)
    with pytest.raises(manymeans.BadDataError, match="column 1 has the minimum -"):
        manymeans.fit(X, 2, log=1)
    with pytest.raises(manymeans.UsageError, match=r"\[log\] is for one problem"):
        manymeans.fit(X, 2, log=[0], groups=np.arange(300) % 2)


def test_choose_k_scales_as_the_program(program, tmp_path):
    X = skewed(np.float32)
    np.save(tmp_path / "x.npy", X)
    flags = ["-k", "2..4", "--models", "3", "--scale", "robust", "--log", "1,3", "--json"]
    done = json.loads(subprocess.run([program, "choose", tmp_path / "x.npy", *flags], capture_output=True).stdout)
    choice = manymeans.choose_k(X, range(2, 5), models=3, scale="robust", log=[0, 2])
    assert (choice.k, choice.reason) == (done["choice"]["k"], done["choice"]["reason"])
    assert choice.result.scaling["kind"] == "robust"
    assert np.array_equal(choice.result.predict(X, choice.k), choice.result.best(choice.k).labels)
    with pytest.raises(manymeans.UsageError, match=r"\[scale\] is 'no'"):
        manymeans.choose_k(X, scale="no")


def test_unit_divides_rows_and_leaves_sparse_rows_sparse(tmp_path):
    X = np.abs(skewed())
    rows = X / np.linalg.norm(X, axis=1)[:, None]
    result = manymeans.fit(X, 2, scale="unit")
    assert np.allclose(result.best().cluster_centers[0], rows[result.best().labels == 0].mean(axis=0))
    table = result.summary(X)
    assert np.allclose(table["x0"], result.best().cluster_centers[:, 0])
    X[X < 3] = 0
    X[:, 0] += 1
    sparse = manymeans.fit(scipy.sparse.csr_matrix(X), 2, scale="unit")
    assert sparse.digest == manymeans.fit(X, 2, scale="unit").digest
    assert np.array_equal(sparse.predict(scipy.sparse.csr_matrix(X)), sparse.best().labels)
    X[5] = 0
    with pytest.raises(manymeans.BadDataError, match="row 5 is all zeros"):
        manymeans.fit(X, 2, scale="unit")


def test_linear_models_of_logarithms(program, tmp_path):
    X = skewed()[:, [0, 2]]
    y = 3 + 2 * np.log(X[:, 0])
    np.savetxt(tmp_path / "x.csv", np.column_stack([X, y]), delimiter=",", header="price,visits,y", comments="")
    flags = [
        "--target",
        "y",
        "--log",
        "price",
        "-k",
        "1",
        "--scale",
        "standard",
        "--model",
        tmp_path / "m.npz",
        "--quiet",
    ]
    subprocess.run([program, "regress", tmp_path / "x.csv", *flags], check=True)
    model = manymeans.RegressionClustering.load(tmp_path / "m.npz")
    assert np.allclose(model.coef_, [[2, 0]]) and np.allclose(model.intercept_, 3)
    assert np.allclose(model.predict(X), y)
    assert np.allclose(model.cluster_means_, [[np.exp(np.log(X[:, 0]).mean()), X[:, 1].mean()]])


def test_unit_rows_of_logarithms_are_dense():
    X = np.abs(points(np.float64)) + 1
    result = manymeans.fit(X, 3, scale="unit", log=[0])
    assert np.array_equal(result.predict(X), result.best().labels)
    with pytest.raises(manymeans.UsageError, match="sparse"):
        result.predict(scipy.sparse.csr_matrix(X))


def test_logarithms_by_labels_that_are_numbers():
    frame = pd.DataFrame(np.abs(points(np.float64)) + 1, columns=[2001, 2002, 2003])
    expected = manymeans.fit(frame.to_numpy(), 2, log=[1], scale="standard")
    assert manymeans.fit(frame, 2, log=2002, scale="standard").digest == expected.digest
    assert manymeans.fit(frame, 2, log=[2002], scale="standard").digest == expected.digest


def test_logarithms_are_compared_by_name():
    X = np.abs(points(np.float64)) + 1
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    one = manymeans.fit(frame, 2, log="a", scale="standard").best()
    other = manymeans.fit(frame[["b", "a", "c"]], 2, log="a", scale="standard").best()
    assert [distance for *_, distance in manymeans.compare(one, other).centers] == pytest.approx([0, 0], abs=1e-9)
