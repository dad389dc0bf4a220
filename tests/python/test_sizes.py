"""Clusters of given sizes against SciPy's assignment, with a slot for every row that a cluster may have."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

import manymeans
from manymeans import EnsembleKMeans, KMeans


def least_cost(costs, least, most):
    """The total of the best labels: the first slots of a cluster have to be filled."""
    n, k = costs.shape
    must = n * (costs.max() + 1)
    slots = [costs[:, [c]] - (must if place < least else 0) for c in range(k) for place in range(most)]
    rows, columns = linear_sum_assignment(np.hstack(slots))
    return costs[rows, columns // most].sum(), np.bincount(columns // most, minlength=k)


def squares(X, centers):
    return ((X[:, None, :] - centers[None]) ** 2).sum(axis=2)


@pytest.mark.parametrize("case", range(12))
def test_labels_are_an_optimal_assignment(case):
    random = np.random.default_rng(case)
    n, k = int(random.integers(8, 60)), int(random.integers(1, 7))
    X = random.integers(0, 6, size=(n, 2)).astype(float) if case % 3 == 0 else random.normal(size=(n, 3))
    least = int(random.integers(0, n // k + 1))
    most = int(random.integers(-(-n // k), n + 1))
    model = manymeans.fit(X, k, seed=case, min_size=least, max_size=most, stop="strict").best()
    costs = squares(X, model.cluster_centers)
    best, sizes = least_cost(costs, least, most)
    assert (sizes >= least).all()
    assert (sizes <= most).all()
    counts = np.bincount(model.labels, minlength=k)
    assert (counts >= least).all()
    assert (counts <= most).all()
    assert (counts == model.counts).all()
    assert costs[np.arange(n), model.labels].sum() == pytest.approx(best, rel=1e-12, abs=1e-12)
    assert model.inertia == pytest.approx(best, rel=1e-12, abs=1e-12)


def test_weights_count_in_the_cost_alone():
    random = np.random.default_rng(5)
    X, weights = random.normal(size=(60, 2)), random.integers(0, 4, size=60).astype(float)
    model = manymeans.fit(X, 5, sample_weight=weights, min_size=12, max_size=12, stop="strict").best()
    assert (model.counts == 12).all()
    costs = squares(X, model.cluster_centers) * weights[:, None]
    best, _ = least_cost(costs, 12, 12)
    assert model.inertia == pytest.approx(best, rel=1e-12)


def test_the_answer_is_one():
    X = np.random.default_rng(6).normal(size=(500, 4)).astype(np.float32)
    wanted = {"min_size": 40, "max_size": 60, "models": 3}
    digest = manymeans.fit(X, [9, 10], **wanted).digest
    for way in ({"backend": "reference"}, {"algorithm": "brute", "n_threads": 1}, {"strategy": "task"}):
        assert manymeans.fit(X, [9, 10], **wanted, **way).digest == digest
    assert manymeans.fit(X, [9, 10], metric="cosine", **wanted).digest != digest


def test_estimators():
    X = np.random.default_rng(7).normal(size=(300, 3))
    kmeans = KMeans(6, min_size=50, max_size=50, random_state=0).fit(X)
    assert (np.bincount(kmeans.labels_) == 50).all()
    nearest = squares(X, kmeans.cluster_centers_).argmin(axis=1)
    assert (kmeans.predict(X) == nearest).all()
    assert (np.asarray(kmeans.summary()["size"]) == 50).all()
    ensemble = EnsembleKMeans([2, 3], max_size=150, random_state=0).fit(X)
    assert (ensemble.best_of_k_[2].counts == 150).all()


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"min_size": 51}, r"\[min_size\] 51 rows in each of 2 clusters .* at most 50 is right"),
        ({"max_size": 49}, r"\[max_size\] 49 rows in each of 2 clusters .* at least 50 is right"),
        ({"min_size": 9, "max_size": 8}, r"\[min_size\] 9 is above max_size, 8"),
        ({"min_size": 9, "empty": "drop"}, r"\[empty\] drop takes clusters away"),
        ({"min_size": -1}, r"\[min_size\] is -1"),
        ({"max_size": 2.5}, r"\[max_size\] is 2.5"),
    ],
)
def test_what_cannot_be(sizes, message):
    with pytest.raises(manymeans.UsageError, match=message):
        manymeans.fit(np.arange(100.0).reshape(100, 1), 2, **sizes)
