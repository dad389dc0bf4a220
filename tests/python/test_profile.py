"""summary(): what clusters look like, beside pandas."""

import pickle
import sys

import numpy as np
import pandas
import pytest

import manymeans
from manymeans import BisectingKMeans, HierarchicalKMeans, KMeans, MiniBatchKMeans


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


def test_units_of_a_scaled_model(frame, program, tmp_path):
    import subprocess

    frame.columns = ["age", "income", "height"]
    frame["income"] *= 1000
    frame.to_csv(tmp_path / "t.csv", index=False, float_format="%.17g")
    command = [program, "fit", tmp_path / "t.csv", "-k", "3", "--scale", "standard", "--model", tmp_path / "m.npz"]
    subprocess.run([*command, "--quiet"], check=True, capture_output=True)
    fitted = KMeans.load(tmp_path / "m.npz")
    found = fitted.summary(frame)
    labels = fitted.predict(frame)
    means = frame.groupby(labels).mean()
    assert np.abs(found[["age", "income", "height"]] - means.to_numpy()).max().max() < 0.05 * frame["income"].std()
    with pytest.raises(manymeans.UsageError, match="gone"):
        fitted.summary()


def test_weights_that_are_gone_are_named(mixture):
    X = mixture[:100].copy()
    kmeans = KMeans(2, random_state=0).fit(X, sample_weight=np.ones(len(X)))
    with pytest.raises(manymeans.UsageError, match=r"or their weights are gone.*pass them as X and sample_weight"):
        kmeans.summary()
