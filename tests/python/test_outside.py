"""Rows that lie far outside the points of the fit are a warning: unscaled ones, other units, swapped columns."""

import json
import pickle
import subprocess
import warnings

import numpy as np
import pandas
import pytest
import scipy.sparse
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

import manymeans
from manymeans import BisectingKMeans, EnsembleKMeans, KMeans, MiniBatchKMeans, OutsideWarning, RegressionClustering

ESTIMATORS = [KMeans, EnsembleKMeans, MiniBatchKMeans, BisectingKMeans, manymeans.HierarchicalKMeans]


def penguins(rows, seed):
    """Bills and flippers in millimetres, mass in grams, of three species."""
    random = np.random.default_rng(seed)
    species = random.integers(3, size=rows)
    centers = np.array([[38.8, 18.3, 190, 3700], [48.8, 18.4, 196, 3730], [47.5, 15, 217, 5080]])
    return centers[species] + random.standard_normal((rows, 4)) * [2.9, 1.1, 6.5, 460]


@pytest.fixture
def silent():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.mark.parametrize("kind", ESTIMATORS)
@pytest.mark.parametrize("scaler", [StandardScaler, MinMaxScaler])
def test_unscaled_rows(kind, scaler):
    raw, others = penguins(342, 1), penguins(100, 2)
    scale = scaler().fit(raw)
    fitted = kind(3, random_state=0).fit(scale.transform(raw))
    for call in fitted.predict, fitted.transform, fitted.score, pickle.loads(pickle.dumps(fitted)).predict:
        with pytest.warns(OutsideWarning, match=r"^\[X\] column 0 and 3 other columns are far outside") as found:
            call(others)
        assert len(found) == 1 and found[0].filename == __file__
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            call(scale.transform(others))
    with pytest.warns(OutsideWarning):
        fitted.predict(others[:1])


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_units_and_places(kind):
    names = ["bill_length", "bill_depth", "flipper", "mass"]
    frame = pandas.DataFrame(penguins(342, 1), columns=names)
    fitted = kind(3, random_state=0).fit(frame)
    others = pandas.DataFrame(penguins(100, 2), columns=names)
    for column, factor in ("mass", 1e-3), ("flipper", 0.1), ("bill_depth", 100), ("bill_length", 1 / 25.4):
        with pytest.warns(OutsideWarning, match=f"^.X. column '{column}' is far outside"):
            fitted.predict(others.assign(**{column: others[column] * factor}))
    with pytest.warns(OutsideWarning, match="column 'bill_depth' and 1 other column are"):
        fitted.predict(others.assign(bill_depth=others["mass"], mass=others["bill_depth"]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted.predict(others)


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_ordinary_rows_are_silent(kind, mixture, silent):
    """Rows of the same kind, one and many, also of fits of few rows; heavy tails; rare values; drift."""
    random = np.random.default_rng(0)
    sets = [mixture, np.exp(2 * random.standard_normal((2000, 4))), random.poisson(0.1, (2000, 30)).astype("f4")]
    for points in sets:
        for rows in 40, 1000:
            fitted = kind(3, random_state=0).fit(points[:rows])
            fitted.predict(points[1000:])
            for row in range(1000, 1100):
                fitted.predict(points[row : row + 1])
    fitted = kind(3, random_state=0).fit(mixture)
    for shift in -2, -1, 1, 2:  # by up to two deviations, which is much
        fitted.predict(mixture[::3] + np.float32(shift) * mixture.std(axis=0))


def test_results_functions_and_files(program, tmp_path):
    raw, others = penguins(342, 1), penguins(100, 2)
    scale = StandardScaler().fit(raw)
    result = manymeans.fit(scale.transform(raw), [2, 3], models=2)
    result.save(tmp_path / "m.npz")
    for model in result, manymeans.FitResult.load(tmp_path / "m.npz"):
        with pytest.warns(OutsideWarning):
            model.predict(others, k=3)
        with pytest.warns(OutsideWarning):
            manymeans.predict(model, others, k=3)
        with pytest.warns(OutsideWarning):
            manymeans.consensus(model, 3, others)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            manymeans.predict(model, scale.transform(others), k=3)
    with pytest.warns(OutsideWarning):
        KMeans.load(tmp_path / "m.npz", k=3).predict(others)
    np.save(tmp_path / "raw.npy", others)
    np.save(tmp_path / "scaled.npy", scale.transform(others))
    said = {}
    for name in "raw", "scaled":
        command = [program, "predict", "m.npz", f"{name}.npy", "-k", "3", "--labels", "l.npy", "--json"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        said[name] = json.loads(done.stdout)["warnings"]
    assert said["scaled"] == [] and len(said["raw"]) == 1
    assert said["raw"][0].startswith("column 1 and 3 other columns are far outside the points of the fit")


def test_a_file_of_before_has_no_ranges(tmp_path, silent):
    raw = penguins(342, 1)
    manymeans.fit(StandardScaler().fit_transform(raw), 3).save(tmp_path / "m.npz")
    arrays = {name: value for name, value in np.load(tmp_path / "m.npz").items() if not name.startswith("column_m")}
    assert len(arrays) == len(np.load(tmp_path / "m.npz")) - 2
    np.savez(tmp_path / "old.npz", **arrays)
    manymeans.FitResult.load(tmp_path / "old.npz").predict(raw)


def test_centres_by_hand(silent):
    """They may be those of other units."""
    raw = penguins(342, 1)
    scale = StandardScaler().fit(raw)
    fitted = KMeans(3, random_state=0).fit(scale.transform(raw))
    fitted.cluster_centers_ = scale.inverse_transform(fitted.cluster_centers_)
    fitted.predict(raw)


def test_types_and_sparse_rows():
    raw = penguins(342, 1).astype("f4")
    fitted = KMeans(3, random_state=0).fit(StandardScaler().fit_transform(raw))
    for X in raw, raw.astype("f8"), raw.astype("f2"), np.asfortranarray(raw), raw.tolist(), raw[:, :].astype(">f4"):
        with pytest.warns(OutsideWarning):
            fitted.predict(X)
    counts = scipy.sparse.random(300, 50, 0.1, "csr", random_state=0, data_rvs=lambda n: np.arange(1, n + 1) % 9 + 1.0)
    fitted = KMeans(3, random_state=0).fit(MaxAbsScaler().fit_transform(counts))
    with pytest.warns(OutsideWarning):
        fitted.predict(counts)


def test_partial_fits_widen_the_ranges(silent):
    fitted = MiniBatchKMeans(3, random_state=0)
    batches = [penguins(200, seed) + 1000 * seed for seed in range(4)]
    for batch in batches:
        fitted.partial_fit(batch)
    for batch in batches:
        fitted.predict(batch)


def test_regression():
    x = penguins(400, 1)
    y = x @ [1, 2, 3, 0.1]
    scale = StandardScaler().fit(x)
    fitted = RegressionClustering(2, random_state=0).fit(scale.transform(x), y)
    with pytest.warns(OutsideWarning):
        fitted.predict(x)
    with pytest.warns(OutsideWarning):
        fitted.predict_cluster(x, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted.predict(scale.transform(penguins(100, 2)))


def test_dask_partitions():
    array = pytest.importorskip("dask.array")
    from manymeans.dask import KMeans as DaskKMeans

    raw = penguins(400, 1)
    fitted = DaskKMeans(3, random_state=0).fit(array.from_array(StandardScaler().fit_transform(raw), chunks=(100, 4)))
    with pytest.warns(OutsideWarning):
        fitted.predict(array.from_array(raw, chunks=(200, 4))).compute()
