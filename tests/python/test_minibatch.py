"""MiniBatchKMeans: beside scikit-learn's, and the same bits always."""

import math
import pickle

import numpy as np
import pandas
import pytest
import sklearn.cluster
import threadpoolctl

import manymeans
from manymeans import MiniBatchKMeans, _manymeans


def same(one, two):
    assert one.inertia_ == two.inertia_ and one.n_steps_ == two.n_steps_
    assert np.array_equal(one.cluster_centers_, two.cluster_centers_) and np.array_equal(one.labels_, two.labels_)


@pytest.mark.parametrize(("name", "k"), [("s1.txt.gz", 15), ("dim032.txt.gz", 16), ("unbalance.txt.gz", 8)])
def test_inertia_beside_scikit_learn(name, k, root):
    """bench/minibatch.py has larger sets, and times."""
    X = manymeans.read(root / "data" / name).points
    ours = [MiniBatchKMeans(k, random_state=seed).fit(X).inertia_ for seed in range(15)]
    with threadpoolctl.threadpool_limits(1):
        theirs = [sklearn.cluster.MiniBatchKMeans(k, random_state=seed).fit(X).inertia_ for seed in range(15)]
    assert np.median(ours) <= 1.1 * np.median(theirs)  # these sets have local optima far apart


@pytest.mark.parametrize("weighted", [False, True])
def test_same_bits_however_it_is_computed(weighted, mixture):
    weights = np.random.default_rng(0).uniform(0, 2, len(mixture)) if weighted else None

    def fit(**options):
        return MiniBatchKMeans(9, random_state=3, tol=1e-5, n_init=2, **options).fit(mixture, sample_weight=weights)

    expected = fit(n_threads=1)
    for options in {"n_threads": 2}, {"n_threads": 5}, {"backend": "reference"}, {}:
        same(fit(**options), expected)
    parts = [MiniBatchKMeans(9, random_state=3, n_threads=threads) for threads in (1, 3)]
    for part in parts:
        for first in range(0, 5000, 500):
            rows = slice(first, first + 500)
            part.partial_fit(mixture[rows], sample_weight=None if weights is None else weights[rows])
    same(*parts)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("columns", [1, 16, 37])
def test_sums_of_a_batch_are_those_of_row_after_row_in_float64(dtype, columns):
    random = np.random.default_rng(0)
    rows = (random.standard_normal((50, columns)) * 10.0 ** random.integers(-6, 6, (50, columns))).astype(dtype)
    for weights in None, random.uniform(0, 2, 50):
        for kind in "u1", "u2", "u4":
            labels = random.integers(0, 7, 50).astype(kind)
            expected = np.zeros((8, columns))  # one has no row
            for i, row in enumerate(rows.astype(np.float64)):
                expected[labels[i]] += row if weights is None else row * weights[i]
            assert np.array_equal(_manymeans.batch_sums(rows, labels, weights, 8), expected)
    with pytest.raises(Exception, match="no cluster"):
        _manymeans.batch_sums(rows, labels, None, 3)


@pytest.mark.parametrize("dtype", ["f4", "f8", "u1"])
def test_labels_and_inertia_are_exact(dtype, mixture):
    X = np.clip(mixture * 8 + 100, 0, 255).astype(dtype)
    fitted = MiniBatchKMeans(7, random_state=0).fit(X)
    assert fitted.cluster_centers_.dtype == (np.float64 if dtype == "f8" else np.float32)
    assert np.array_equal(fitted.predict(X), fitted.labels_) and fitted.score(X) == -fitted.inertia_
    labels = manymeans.predict(fitted.cluster_centers_, X)
    assert np.array_equal(labels, fitted.labels_)


def test_a_step_is_the_mean_of_all_rows_so_far():
    X = np.arange(40.0).reshape(20, 2)
    online = MiniBatchKMeans(1, init=[[3.0, 3.0]], reassignment_ratio=0)
    online.partial_fit(X[:5])
    assert online.cluster_centers_[0].tolist() == X[:5].mean(axis=0).tolist()
    online.partial_fit(X[5:12], sample_weight=np.full(7, 2.0))
    expected = (X[:5].sum(axis=0) + 2 * X[5:12].sum(axis=0)) / 19
    assert online.cluster_centers_[0] == pytest.approx(expected, rel=1e-15)
    assert online.n_steps_ == 2 and len(online.labels_) == 7
    theirs = sklearn.cluster.MiniBatchKMeans(2, init=X[[0, 19]], reassignment_ratio=0, n_init=1)
    ours = MiniBatchKMeans(2, init=X[[0, 19]], reassignment_ratio=0, n_init=1)
    for rows in (slice(0, 9), slice(9, 20), slice(3, 17)):
        theirs.partial_fit(X[rows])
        ours.partial_fit(X[rows])
        np.testing.assert_allclose(ours.cluster_centers_, theirs.cluster_centers_, rtol=1e-12)
        np.testing.assert_array_equal(ours.labels_, theirs.labels_)


def test_ids_are_stable(mixture):
    """Also through a pickle; a later batch moves centres, it does not renumber them."""
    online = MiniBatchKMeans(6, random_state=0, reassignment_ratio=0).partial_fit(mixture[:1000])
    before = online.cluster_centers_.copy()
    again = pickle.loads(pickle.dumps(online))
    for part in online, again:
        for first in range(1000, 5000, 1000):
            part.partial_fit(mixture[first : first + 1000])
    same(online, again)
    apart = ((before[:, None] - online.cluster_centers_[None]) ** 2).sum(axis=2)
    assert apart.argmin(axis=1).tolist() == list(range(6))


def test_light_centres_are_moved():
    X = np.concatenate([np.zeros((50, 2)), np.ones((50, 2))]) + np.random.default_rng(0).normal(0, 0.01, (100, 2))
    far = np.array([[0.0, 0], [100, 100]])
    kept = MiniBatchKMeans(2, init=far, n_init=1, reassignment_ratio=0, random_state=0).fit(X)
    assert kept.cluster_centers_[1].tolist() == [100, 100]
    moved = MiniBatchKMeans(2, init=far, n_init=1, random_state=0).fit(X)
    assert sorted(moved.cluster_centers_[:, 0].round()) == [0, 1]


def test_weights_of_zero_are_never_drawn():
    X = np.concatenate([np.zeros((30, 1)), np.ones((30, 1)), np.full((5, 1), 1e6)])
    weights = np.r_[np.ones(60), np.zeros(5)]
    fitted = MiniBatchKMeans(2, init=[[0.2], [0.7]], n_init=1, random_state=0).fit(X, sample_weight=weights)
    assert sorted(fitted.cluster_centers_.ravel()) == [0, 1] and fitted.inertia_ == 0
    for wrong in (np.zeros(65), -weights, np.full(65, np.nan)):
        with pytest.raises(ValueError, match="weight"):
            fitted.fit(X, sample_weight=wrong)


def test_all_rows_are_checked(mixture):
    frame = pandas.DataFrame(mixture, columns=list("abcdef"))
    frame.loc[4567, "c"] = np.nan
    for call in MiniBatchKMeans(3, compute_labels=False).fit, MiniBatchKMeans(3).partial_fit:
        with pytest.raises(manymeans.BadDataError, match=r"\[X\] row 4567, column 'c' is NaN"):
            call(frame)
        with pytest.raises(manymeans.BadDataError, match=r"\[X\] row 4567, column 2 is NaN"):
            call(frame.to_numpy())


def test_without_labels(mixture):
    fitted = MiniBatchKMeans(5, random_state=0, compute_labels=False).fit(mixture)
    whole = MiniBatchKMeans(5, random_state=0).fit(mixture)
    assert not hasattr(fitted, "labels_")
    assert np.array_equal(fitted.cluster_centers_, whole.cluster_centers_)
    assert fitted.inertia_ == pytest.approx(whole.inertia_, rel=0.2)


@pytest.mark.parametrize(
    ("options", "end"),
    [
        ({"tol": 1e-2, "max_no_improvement": None}, r"Converged (small centers change) at step"),
        ({"max_no_improvement": 3}, "Converged (lack of improvement in inertia) at step"),
        ({"max_iter": 1, "max_no_improvement": None}, "Stopped at step 4/4: max_iter is reached"),
    ],
)
def test_verbose_says_why_it_stopped(options, end, mixture, capsys):
    fitted = MiniBatchKMeans(5, random_state=0, verbose=1, **options).fit(mixture)
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].startswith(end) and not any("nan" in line for line in lines)
    assert sum(line.startswith("Minibatch step") for line in lines) == fitted.n_steps_
    assert fitted.n_iter_ == math.ceil(fitted.n_steps_ * 1024 / 5000)


def test_a_fit_begins_anew(mixture):
    fitted = MiniBatchKMeans(5, random_state=0).fit(mixture)
    centers = fitted.cluster_centers_
    assert np.array_equal(fitted.fit(mixture).cluster_centers_, centers)
    assert fitted.partial_fit(mixture[:100]).n_steps_ > 1
    assert fitted.partial_fit(mixture[:100].astype("f8")).cluster_centers_.dtype == np.float64
    with pytest.raises(manymeans.UsageError, match="pickle"):
        fitted.save("x.npz")
