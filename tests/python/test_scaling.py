"""scale= of fit and search: the program's --scale, and results in the units of the points."""

import json
import subprocess

import numpy as np
import pytest

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
