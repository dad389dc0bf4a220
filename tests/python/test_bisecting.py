"""BisectingKMeans: beside scikit-learn's, and the same bits always."""

import copy
import pickle
import warnings

import numpy as np
import pandas
import pytest
import sklearn.base
import sklearn.cluster
import threadpoolctl
from sklearn.exceptions import ConvergenceWarning

import manymeans
from manymeans import BisectingKMeans

SETS = {"s1.txt.gz": 15, "unbalance.txt.gz": 8, "dim032.txt.gz": 16, "birch1.txt.gz": 30, "skin_nonskin.txt.gz": 20}
STRATEGIES = ["biggest_inertia", "largest_cluster"]


@pytest.fixture(scope="module")
def points(root):
    def read(name):
        found = manymeans.read(root / "data" / name).points
        return np.ascontiguousarray(found[:: max(1, len(found) // 5000), : 3 if name.startswith("skin") else None])

    return {name: read(name) for name in SETS}


def same(one, two):
    assert one.answer_ == two.answer_ and one.inertia_ == two.inertia_
    assert np.array_equal(one.cluster_centers_, two.cluster_centers_) and np.array_equal(one.labels_, two.labels_)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("name", SETS)
def test_inertia_beside_scikit_learn(name, strategy, points):
    """Splits begin at random rows: the best of ten, and the median over some seeds, depend little on that."""
    X, k = points[name], SETS[name]
    options = {"n_clusters": k, "bisecting_strategy": strategy, "n_init": 10}
    seeds = range(5)
    ours = [BisectingKMeans(random_state=seed, **options).fit(X).inertia_ for seed in seeds]
    with threadpoolctl.threadpool_limits(1):
        theirs = [sklearn.cluster.BisectingKMeans(random_state=seed, **options).fit(X).inertia_ for seed in seeds]
    assert np.median(ours) <= 1.01 * np.median(theirs)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_same_bits_however_it_is_computed(strategy, mixture):
    def fit(**options):
        return BisectingKMeans(9, random_state=3, bisecting_strategy=strategy, n_init=2, **options).fit(mixture)

    expected = fit(n_threads=1)
    for options in {"n_threads": 2}, {"n_threads": 5}, {"algorithm": "brute"}, {"backend": "reference"}, {}:
        same(fit(**options), expected)
    assert expected.answer_ != BisectingKMeans(9, random_state=4, bisecting_strategy=strategy).fit(mixture).answer_


@pytest.mark.parametrize("dtype", ["f4", "f8", "u1"])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_tree_labels_the_points_of_the_fit(strategy, dtype, mixture):
    X = np.clip(mixture * 8 + 100, 0, 255).astype(dtype)
    fitted = BisectingKMeans(12, random_state=0, bisecting_strategy=strategy).fit(X)
    assert np.array_equal(fitted.predict(X), fitted.labels_)
    assert set(fitted.labels_) == set(range(12))
    own = ((X.astype("f8") - fitted.cluster_centers_[fitted.labels_]) ** 2).sum()
    assert fitted.inertia_ == pytest.approx(own, rel=1e-6)
    assert fitted.score(X) >= -fitted.inertia_  # by the nearest of all centres
    for label in range(12):
        mean = X[fitted.labels_ == label].mean(axis=0, dtype="f8")
        assert np.abs(fitted.cluster_centers_[label] - mean).max() < 0.05 * X.std()


def test_splits_what_the_strategy_says():
    """A wide cluster of few rows, a narrow one of many."""
    random = np.random.default_rng(0)
    X = np.concatenate([random.normal(0, 1, (1000, 2)), random.normal(1000, 100, (50, 2))])
    wide = BisectingKMeans(3, random_state=0).fit(X)
    many = BisectingKMeans(3, random_state=0, bisecting_strategy="largest_cluster").fit(X)
    assert len(set(wide.labels_[:1000])) == 1 and len(set(wide.labels_[1000:])) == 2
    assert len(set(many.labels_[:1000])) == 2 and len(set(many.labels_[1000:])) == 1


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_equal_rows(strategy):
    X = np.repeat([[0.0, 0], [5, 5], [9, 1]], 7, axis=0)
    with pytest.warns(ConvergenceWarning, match=r"distinct clusters \(3\) found smaller than n_clusters \(6\)"):
        fitted = BisectingKMeans(6, random_state=0, bisecting_strategy=strategy).fit(X)
    assert fitted.cluster_centers_.shape == (6, 2) and fitted.inertia_ == 0
    assert np.array_equal(fitted.predict(X), fitted.labels_)
    with pytest.warns(ConvergenceWarning):
        same_everywhere = BisectingKMeans(2, random_state=0).fit(np.full((4, 2), 7.0))
    assert same_everywhere.cluster_centers_.tolist() == [[7, 7], [7, 7]]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_weights(strategy):
    X = np.array([[0.0], [1], [10], [11], [50]])
    fitted = BisectingKMeans(2, random_state=0, bisecting_strategy=strategy).fit(X, sample_weight=[1, 1, 1, 1, 0])
    assert sorted(fitted.cluster_centers_.ravel()) == [0.5, 10.5]
    assert fitted.inertia_ == 1
    none = BisectingKMeans(3, random_state=0, bisecting_strategy=strategy)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        none.fit(X, sample_weight=[0, 0, 0, 2, 0])
    assert none.inertia_ == 0 and (none.cluster_centers_ == 11).all()
    with pytest.raises(ValueError, match="negative"):
        none.fit(X, sample_weight=[-1, 1, 1, 1, 1])


def test_deep_trees_are_pickled(mixture):
    X = 2.0 ** np.arange(500)[:, None].repeat(2, axis=1)  # every split cuts one row off
    fitted = BisectingKMeans(499, random_state=0, init="k-means++").fit(X)
    for again in pickle.loads(pickle.dumps(fitted)), copy.deepcopy(fitted):
        same(again, fitted)
        assert np.array_equal(again.predict(X), fitted.labels_)
    one = BisectingKMeans(1).fit(mixture)
    assert set(one.predict(mixture)) == {0}
    assert one.cluster_centers_[0] == pytest.approx(mixture.mean(axis=0), abs=1e-4)


def test_estimators_conventions(mixture):
    frame = pandas.DataFrame(mixture, columns=list("abcdef"))
    fitted = BisectingKMeans(5, random_state=0).set_output(transform="pandas")
    names = fitted.fit_transform(frame).columns.tolist()
    assert names == [f"bisectingkmeans{j}" for j in range(5)] == fitted.get_feature_names_out().tolist()
    assert np.array_equal(sklearn.base.clone(fitted).fit_predict(frame), fitted.labels_)
    drawn = BisectingKMeans(5, random_state=np.random.RandomState(0)).fit(mixture)
    same(drawn, BisectingKMeans(5, random_state=0).fit(mixture))
    assert not hasattr(fitted, "provenance_")
    with pytest.raises(manymeans.UsageError, match="pickle"):
        fitted.save("x.npz")
    with pytest.raises(ValueError, match=r"n_samples=3 should be >= n_clusters=5"):
        BisectingKMeans(5).fit(mixture[:3])
    with pytest.raises(ValueError, match=r"\[X\] row 4, column 'c' is NaN"):
        BisectingKMeans(5).fit(frame.assign(c=frame["c"].where(frame.index != 4)))


def test_a_callable_and_verbose(mixture, capsys):
    seen = []

    def choose(X, k, random_state):
        seen.append(len(X))
        return X[random_state.permutation(len(X))[:k]]

    fitted = BisectingKMeans(4, init=choose, n_init=2, random_state=0, verbose=1).fit(mixture)
    assert seen[:2] == [5000, 5000] and len(seen) == 6
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3 and lines[0].startswith("Bisection 1 of 3: ")
    same(fitted, BisectingKMeans(4, init=choose, n_init=2, random_state=0).fit(mixture))
    with pytest.raises(ValueError, match=r"centers of shape \(3, 6\) for a split; \(2, 6\) is right"):
        BisectingKMeans(4, init=lambda X, k, random_state: X[:3]).fit(mixture)
