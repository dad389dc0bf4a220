"""predict and transform called again and again: what an estimator keeps between calls never shows."""

import copy
import os
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

from manymeans import BadDataError, EnsembleKMeans, KMeans


@pytest.fixture
def fitted(mixture):
    return KMeans(9, random_state=0).fit(mixture)


def distances(X, centers):
    """The contract's roots of distances in the type of the points."""
    d2 = np.zeros((len(X), len(centers), 8))
    for j in range(X.shape[1]):  # these columns are few: every lane has one term
        d2[:, :, j] = (X[:, None, j].astype("f8") - centers[None, :, j]) ** 2
    even = (d2[..., 0] + d2[..., 4]) + (d2[..., 2] + d2[..., 6])
    return np.sqrt(even + ((d2[..., 1] + d2[..., 5]) + (d2[..., 3] + d2[..., 7]))).astype(X.dtype)


def test_one_row_and_many_get_the_same(fitted, mixture):
    many, far = fitted.predict(mixture), fitted.transform(mixture)
    assert np.array_equal(many, fitted.labels_) and many.dtype == np.int32
    assert np.array_equal(far, distances(mixture, fitted.cluster_centers_))
    for row in range(0, len(mixture), 97):
        assert fitted.predict(mixture[row : row + 1])[0] == many[row]
        assert np.array_equal(fitted.transform(mixture[row : row + 1])[0], far[row])


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "u1", "i1", "i4", ">f4"])
def test_types_take_turns(fitted, mixture, dtype):
    X = np.clip(mixture * 3, 0, 100).astype("i1").astype(dtype)
    expected = fitted.predict(X.astype("f4").tolist())
    for _ in range(2):
        assert np.array_equal(fitted.predict(X), expected)
        assert np.array_equal(fitted.predict(mixture), fitted.labels_)


def test_centres_that_change_in_place_count(fitted, mixture):
    before = fitted.predict(mixture)
    fitted.cluster_centers_[:] = fitted.cluster_centers_[::-1].copy()
    assert np.array_equal(fitted.predict(mixture), 8 - before)
    fitted.cluster_centers_ = fitted.cluster_centers_[:3]
    assert fitted.predict(mixture).max() == 2
    assert fitted.transform(mixture).shape == (len(mixture), 3)


def test_a_new_fit_counts(fitted, mixture):
    fitted.predict(mixture)
    fitted.set_params(n_clusters=4).fit(mixture[:, :1])
    assert np.array_equal(fitted.predict(mixture[:, :1]), fitted.labels_)


def test_copies_and_pickles_predict(fitted, mixture):
    fitted.predict(mixture)
    for other in (copy.copy(fitted), copy.deepcopy(fitted), pickle.loads(pickle.dumps(fitted))):
        assert np.array_equal(other.predict(mixture), fitted.labels_)
        assert other.cluster_centers_ is not None and vars(other).keys() == vars(fitted).keys()


def test_models_of_an_ensemble_take_turns(mixture):
    ensemble = EnsembleKMeans([3, 6], random_state=0).fit(mixture)
    for _ in range(2):
        for k in (3, 6):
            assert np.array_equal(ensemble.predict(mixture, k=k), ensemble.best_of_k_[k].labels)


def test_what_is_refused_at_first_is_refused_later(fitted, mixture):
    fitted.predict(mixture)
    with pytest.raises(ValueError, match="features"):
        fitted.predict(mixture[:, :1])
    with pytest.raises(ValueError, match="minimum of 1"):
        fitted.predict(mixture[:0])
    with pytest.raises(ValueError, match="2D array"):
        fitted.predict(mixture[0])
    bad = mixture.copy()
    bad[1234, 1] = np.nan
    for call in (fitted.predict, fitted.transform):
        with pytest.raises(BadDataError, match="row 1234, column 1 is NaN"):
            call(bad)


def test_names_of_features_are_still_compared(mixture):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(mixture, columns=[f"column {j}" for j in range(mixture.shape[1])])
    fitted = KMeans(3, random_state=0).fit(frame)
    for _ in range(2):
        with pytest.warns(UserWarning, match="feature names"):
            fitted.predict(mixture)


def test_threads_may_share_a_model(fitted, mixture):
    wrong = []

    def use(n_threads):
        for _ in range(20):
            if not np.array_equal(fitted.predict(mixture), fitted.labels_):
                wrong.append(n_threads)

    users = [threading.Thread(target=use, args=(i,)) for i in range(6)]
    for user in users:
        user.start()
    for user in users:
        user.join()
    assert not wrong


FORKS = """
import os, threading, warnings
warnings.simplefilter("error")
import numpy as np
from manymeans import KMeans
X = np.random.default_rng(0).standard_normal((60_000, 40)).astype("f4")
fitted = KMeans(50, random_state=0, n_threads=4, max_iter=2).fit(X)
expected = fitted.predict(X)
for _ in range(3):
    child = os.fork()
    if child == 0:
        good = (fitted.predict(X) == expected).all() and len(os.listdir("/proc/self/task")) == 4
        os._exit(0 if good else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert (fitted.predict(X) == expected).all()
print("done")
"""


def test_a_fork_between_calls_is_nothing_special():
    done = subprocess.run(
        [sys.executable, "-c", FORKS], capture_output=True, text=True, timeout=120,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
