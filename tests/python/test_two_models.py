"""Two models, or a model and a frame: columns are found by name, and what cannot be put together is an error."""

import numpy as np
import pandas
import polars
import pyarrow
import pytest

import manymeans
from manymeans import EnsembleKMeans, KMeans, UsageError

RANDOM = np.random.default_rng(0)
XY = pandas.DataFrame(
    {"x": np.repeat([0.0, 10], 20) + RANDOM.normal(size=40), "y": np.repeat([0.0, 5], 20) + RANDOM.normal(size=40)}
)
YX = XY[["y", "x"]]
UV = XY.set_axis(["u", "v"], axis=1)
FITS = {
    "results": lambda X, **options: manymeans.fit(X, 2, **options),
    "models": lambda X, **options: manymeans.fit(X, 2, **options).best(),
    "estimators": lambda X, **options: KMeans(2, random_state=0, **options).fit(X),
    "ensembles": lambda X, **options: EnsembleKMeans(2, random_state=0, **options).fit(X),
}  # fmt: skip
both = [(a, b) for a in FITS for b in FITS if a == b or "models" in (a, b)]


@pytest.mark.parametrize(("a", "b"), both)
def test_compare(a, b):
    for kind in (lambda X: X, pyarrow.table, lambda X: polars.DataFrame(X.to_dict("list"))):
        found = manymeans.compare(FITS[a](XY), FITS[b](kind(YX)))
        assert [distance for _, _, distance in found.centers] == [0, 0] and found.adjusted_rand == 1
    with pytest.raises(UsageError, match=r"^\[b\] it has no column 'x'; a has the columns x, y, .*the labels of both"):
        manymeans.compare(FITS[a](XY), FITS[b](UV))
    with pytest.raises(UsageError, match=r"^\[b\] its centres are of metric cosine, those of a of metric euclidean"):
        manymeans.compare(FITS[a](XY), FITS[b](XY, metric="cosine"))
    with pytest.raises(UsageError, match=r"^\[b\] its centres have 1 columns, those of a 2"):
        manymeans.compare(FITS[a](XY), FITS[b](XY[["x"]]))
    unnamed = manymeans.compare(FITS[a](XY.to_numpy()), FITS[b](UV))
    assert [distance for _, _, distance in unnamed.centers] == [0, 0]


@pytest.fixture
def scaled(program, tmp_path):
    """The result of a fit of the command line, to scaled points."""
    import subprocess

    XY.to_csv(tmp_path / "xy.csv", index=False)
    command = [program, "fit", "xy.csv", "-k", "2", "--seed", "0", "--scale", "standard", "--model", "m.npz"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    return manymeans.FitResult.load(tmp_path / "m.npz")


def test_units(scaled):
    plain = manymeans.fit(YX, 2)
    by_units = np.asarray(scaled.scaling["divisor"])
    found = manymeans.compare(plain, scaled).centers
    assert max(distance for _, _, distance in found) < 1e-5
    for i, j, distance in manymeans.compare(scaled, manymeans.fit(YX + [0, 1], 2)).centers:
        assert distance == pytest.approx(1 / by_units[0], rel=1e-5), (i, j)
    labels = scaled.predict(YX)
    assert (manymeans.predict(scaled.best(), YX) == labels).all()
    voted = manymeans.consensus([*scaled.models, *plain.models], 2, YX, pairs=0)
    assert (voted.votes == 2).all()


def test_predict_by_a_model_and_by_a_frame_of_centres():
    fitted = manymeans.fit(XY, 2)
    labels = fitted.best().labels
    centers = pandas.DataFrame(fitted.best().cluster_centers, columns=["x", "y"])
    for model in (fitted, fitted.best(), centers, pyarrow.table(centers)):
        for X in (XY, YX, pyarrow.table(YX), polars.DataFrame(YX.to_dict("list"))):
            assert (manymeans.predict(model, X) == labels).all()
        assert (manymeans.predict(model, XY.to_numpy()) == labels).all()
    wide = YX.assign(name="text")
    assert (manymeans.predict(fitted.best(), wide) == labels).all()
    with pytest.raises(manymeans.BadDataError, match="no column 'x'"):
        manymeans.predict(fitted.best(), UV)


def test_consensus_of_models_of_two_fits():
    models = [*manymeans.fit(XY, 2, models=3).models, *manymeans.fit(YX, 2, models=3, seed=9).models]
    for method in ("centroids", "matched"):
        for X in (None, XY, YX):
            found = manymeans.consensus(models, 2, X, method=method)
            assert (found.votes == 6).all() and found.mean_between == 1
    with pytest.raises(UsageError, match=r"^\[ensemble\] it has no column 'x'"):
        manymeans.consensus([*models, manymeans.fit(UV, 2).best()], 2)


def test_shards():
    shard = manymeans.Shard(YX)
    scan = shard.scan(shard.shape())
    centers = pandas.DataFrame(manymeans.fit(XY, 2).best().cluster_centers, columns=["x", "y"])
    counts = shard.statistics(scan, [centers], [centers[["y", "x"]]])
    assert counts.counts[0].tolist() == [20, 20] and counts.changed == [0]


def test_init():
    fitted = manymeans.fit(XY, 2)
    np.testing.assert_allclose(manymeans.fit(YX, 2, init=fitted).best().inertia, fitted.best().inertia)
