"""Clusters on which models agree: against NumPy and scikit-learn."""

import json
import os
import subprocess

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

import manymeans
from manymeans import EnsembleKMeans

PROGRAM = os.environ.get("MANYMEANS_PROGRAM")


def made(seed, clusters=9, n=600):
    """Clusters that overlap a little, and which one each row is of."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, clusters, n)
    centres = rng.uniform(0, 25, (clusters, 2))
    return (centres[truth] + rng.normal(size=(n, 2))).astype(np.float32), truth


def voted(result, maps):
    """Labels and votes as everybody would count them."""
    clusters = max(max(its) for its in maps) + 1
    votes = np.zeros((len(result.models[0].labels), clusters), dtype=int)
    for model, its in zip(result.models, maps, strict=True):
        votes[np.arange(len(votes)), np.asarray(its)[model.labels]] += 1
    return votes.argmax(axis=1), votes.max(axis=1)


def test_votes_are_those_of_numpy():
    X, _ = made(0)
    result = manymeans.fit(X, [7, 9], models=6, init="random", seed=1)
    found = manymeans.consensus(result, 9)
    centres = np.concatenate([model.cluster_centers for model in result.models])
    weights = np.concatenate([model.counts for model in result.models]).astype(float)
    of_all = manymeans.fit(centres, 9, sample_weight=weights, models=10, seed=0).best()
    maps = np.split(of_all.labels, np.cumsum([model.k for model in result.models])[:-1])
    best, numbers = result.models.index(result.best(9)), {}  # whose numbers the clusters have
    for own in np.argsort(-result.best(9).counts, kind="stable"):
        numbers.setdefault(maps[best][own], own)
    left = sorted(set(range(9)) - set(numbers.values()))
    numbers |= dict(zip(sorted(set(range(9)) - set(numbers)), left, strict=True))
    maps = [[numbers[label] for label in its] for its in maps]
    labels, votes = voted(result, maps)
    assert (found.labels == labels).all() and (found.votes == votes).all()
    assert (found.agreement == votes / 12).all()
    assert all((found.cluster_centers[new] == of_all.cluster_centers[old]).all() for old, new in numbers.items())
    assert found.counts.tolist() == np.bincount(labels, minlength=9).tolist()


def test_between_is_the_adjusted_rand_index():
    X, _ = made(1, n=200)
    result = manymeans.fit(X, [3, 5], models=3, init="random")
    found = manymeans.consensus(result, 4)
    assert found.pairs == 200 * 199 // 2 and found.n_models == 6
    for i, a in enumerate(result.models):
        for j, b in enumerate(result.models):
            assert found.between[i, j] == pytest.approx(adjusted_rand_score(a.labels, b.labels), rel=1e-12, abs=1e-12)
    together = np.mean([model.labels[:, None] == model.labels for model in result.models], axis=0)
    upper = together[np.triu_indices(200, 1)]
    assert found.ambiguous == np.mean((upper > 0.1) & (upper < 0.9))
    assert manymeans.consensus(result, 4, pairs=0).between.shape == (0, 0)


def test_points_and_labels_give_the_same(tmp_path):
    X, _ = made(2)
    ensemble = EnsembleKMeans([8, 9], models_per_k=4, init="random", random_state=0).fit(X)
    found = ensemble.consensus(9)
    assert ensemble.consensus(9, X).digest == found.digest
    assert manymeans.consensus(ensemble.result_.models, 9, X, n_threads=1).digest == found.digest
    ensemble.save(tmp_path / "many.npz")
    loaded = EnsembleKMeans.load(tmp_path / "many.npz")
    assert loaded.consensus(9, X).digest == found.digest
    np.save(tmp_path / "X.npy", X)
    assert manymeans.consensus(loaded, 9, tmp_path / "X.npy").digest == found.digest
    with pytest.raises(manymeans.UsageError, match=r"\[X\] is needed"):
        loaded.consensus(9)
    if PROGRAM is not None:
        command = [PROGRAM, "consensus", tmp_path / "many.npz", tmp_path / "X.npy", "-k", "9", "--json"]
        told = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        assert told["digest"] == found.digest and told["mean_between"] == found.mean_between


def test_metric_cosine():
    X, _ = made(3)
    result = manymeans.fit(X + 5, 4, models=4, metric="cosine")
    assert manymeans.consensus(result, 4, X + 5).digest == manymeans.consensus(result, 4).digest


def test_is_better_than_the_median_member():
    better = 0
    for seed in range(5):
        X, truth = made(10 + seed, clusters=15, n=3000)
        ensemble = EnsembleKMeans(15, models_per_k=25, init="random", random_state=seed).fit(X)
        alone = np.median([adjusted_rand_score(truth, model.labels) for model in ensemble.models_])
        better += adjusted_rand_score(truth, ensemble.consensus(15).labels) > alone
    assert better >= 4


def test_what_cannot_be():
    X, _ = made(4)
    result = manymeans.fit(X, [3, 4], models=2)
    with pytest.raises(manymeans.UsageError, match="none of the models has 5 clusters"):
        manymeans.consensus(result, 5, method="matched")
    with pytest.raises(manymeans.UsageError, match=r"\[method\] is 'vote'"):
        manymeans.consensus(result, 3, method="vote")
    with pytest.raises(manymeans.UsageError, match="14 centroids altogether"):
        manymeans.consensus(result, 15)
    with pytest.raises(manymeans.UsageError, match="holds a int"):
        manymeans.consensus([1, 2], 3)
    with pytest.raises(manymeans.UsageError, match="there is no model"):
        manymeans.consensus([], 3)
    with pytest.raises(manymeans.BadDataError, match="3 columns"):
        manymeans.consensus(result, 3, np.zeros((10, 3)))
    with pytest.raises(manymeans.BadDataError, match="row 1, column 0"):
        manymeans.consensus(result, 3, [[0.0, 1.0], [np.nan, 1.0]])
    with pytest.raises(manymeans.UsageError, match="linear models"):
        manymeans.consensus(manymeans.RegressionClustering(2).fit(X[:, :1], X[:, 1]).result_, 2)
    assert manymeans.consensus(result, 3, method="matched").n_models == 2
