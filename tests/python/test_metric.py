"""Spherical k-means against NumPy and against scikit-learn on normalised rows."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.cluster import KMeans as SklearnKMeans
from sklearn.preprocessing import normalize

import manymeans
from manymeans import EnsembleKMeans, FitResult, KMeans


@pytest.fixture
def X():
    random = np.random.default_rng(4)
    directions = random.normal(size=(6, 8))
    rows = directions[random.integers(6, size=900)] + 0.4 * random.normal(size=(900, 8))
    return rows * random.lognormal(sigma=2, size=(900, 1))


def plain(X, centers, iterations):
    """Spherical k-means as a textbook has it, in float64."""
    X = X / np.linalg.norm(X, axis=1)[:, None]
    for _ in range(iterations):
        labels = (X @ centers.T).argmax(axis=1)
        sums = np.array([X[labels == k].sum(axis=0) for k in range(len(centers))])
        centers = sums / np.linalg.norm(sums, axis=1)[:, None]
    labels = (X @ centers.T).argmax(axis=1)
    return labels, centers, 2 * (1 - (X @ centers.T).max(axis=1)).sum()


def test_is_what_a_textbook_says(X):
    init = normalize(X[:6])
    kmeans = KMeans(6, metric="cosine", init=init, n_init=1, max_iter=7, tol=0).fit(X)
    labels, centers, inertia = plain(X, init, kmeans.result_.best().n_iter)
    assert (kmeans.labels_ == labels).all()
    np.testing.assert_allclose(kmeans.cluster_centers_, centers, rtol=1e-12)
    assert kmeans.inertia_ == pytest.approx(inertia, rel=1e-9)


def test_is_no_worse_than_scikit_learn_on_normalised_rows(X):
    ours = KMeans(6, metric="cosine", n_init=5, random_state=0).fit(X)
    unit = normalize(X)
    theirs = SklearnKMeans(6, n_init=5, random_state=0).fit(unit)
    centers = normalize(theirs.cluster_centers_)
    cosines = (unit @ centers.T).max(axis=1)
    assert ours.inertia_ <= 2 * (1 - cosines).sum() * (1 + 1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8])
def test_predicts_what_it_fitted(X, dtype):
    X = np.abs(X * 20 + 1).clip(0, 255).astype(dtype)
    kmeans = KMeans(5, metric="cosine", random_state=1).fit(X)
    assert (kmeans.predict(X) == kmeans.labels_).all()
    assert kmeans.score(X) == -kmeans.inertia_
    distances = kmeans.transform(X)
    assert (distances.argmin(axis=1) == kmeans.labels_).all()
    assert (manymeans.predict(kmeans.result_, X) == kmeans.labels_).all()
    assert (manymeans.predict(kmeans.result_.best(), X) == kmeans.labels_).all()


def test_the_answer_is_one(X):
    wanted = {"metric": "cosine", "seed": 3, "models": 2}
    digest = manymeans.fit(X, [3, 7], **wanted).digest
    for way in ({"backend": "reference"}, {"algorithm": "brute", "n_threads": 1}, {"strategy": "task"}):
        assert manymeans.fit(X, [3, 7], **wanted, **way).digest == digest
    assert manymeans.fit(X * 4, [3, 7], **wanted).digest == digest
    assert manymeans.fit(X, [3, 7], seed=3, models=2).digest != digest


def test_model_files_keep_the_metric(X, tmp_path):
    kmeans = KMeans(4, metric="cosine", random_state=0).fit(X)
    kmeans.save(tmp_path / "m.npz")
    again = KMeans.load(tmp_path / "m.npz")
    assert again.metric == "cosine"
    assert (again.predict(X) == kmeans.labels_).all()
    result = FitResult.load(tmp_path / "m.npz")
    assert result.metric == "cosine"
    result.save(tmp_path / "again.npz")
    assert (FitResult.load(tmp_path / "again.npz").predict(X) == kmeans.labels_).all()
    assert EnsembleKMeans.load(tmp_path / "m.npz").metric == "cosine"


def test_summary_is_of_rows_of_length_one(X):
    kmeans = KMeans(4, metric="cosine", random_state=0).fit(X)
    summary = kmeans.summary()
    np.testing.assert_allclose(np.asarray(summary["size"]), np.bincount(kmeans.labels_))
    spread = np.asarray(summary["spread"])
    assert (spread**2 * np.bincount(kmeans.labels_)).sum() == pytest.approx(kmeans.inertia_)


def test_rows_of_zeros_are_named(X):
    X[17] = 0
    with pytest.raises(manymeans.BadDataError, match=r"\[X\] row 17 is all zeros, which has no direction"):
        KMeans(4, metric="cosine").fit(X)
    fitted = KMeans(4, metric="cosine").fit(X[:17])
    with pytest.raises(manymeans.BadDataError, match="row 17 is all zeros"):
        fitted.predict(X)


def test_a_metric_that_is_none(X):
    with pytest.raises(ValueError, match="metric"):
        KMeans(4, metric="manhattan").fit(X)
    with pytest.raises(manymeans.UsageError, match=r"\[metric\] is 'l1'; must be euclidean or cosine"):
        manymeans.fit(X, 4, metric="l1")


def test_ensembles(X):
    ensemble = EnsembleKMeans([3, 5], models_per_k=2, metric="cosine", random_state=0).fit(X)
    assert (ensemble.predict(X, k=5) == ensemble.best_of_k_[5].labels).all()


def test_initial_centres_of_another_metric_are_refused(X):
    for metric, other in (("euclidean", "cosine"), ("cosine", "euclidean")):
        result = manymeans.fit(X, 4, metric=metric)
        assert manymeans.fit(X, 4, metric=metric, init=result).best().n_iter <= 1
        for init in (result, result.best()):
            with pytest.raises(
                manymeans.UsageError, match=rf"\[init\] this model is of metric {metric}, this fit of {other}"
            ):
                manymeans.fit(X, 4, metric=other, init=init)
    with pytest.raises(manymeans.UsageError, match="metric cosine"):
        manymeans.search(X, 4, rounds=1, init=manymeans.fit(X, 4, metric="cosine"))


def test_searches(X):
    given = {"rounds": 5, "metric": "cosine", "seed": 2}
    found = manymeans.search(X, 30, **given)
    model = found.best()
    assert np.linalg.norm(model.cluster_centers, axis=1) == pytest.approx(1)
    many = manymeans.fit(X, 30, metric="cosine", models=20, seed=2)
    assert model.inertia < many.best().inertia
    assert (manymeans.predict(found, X) == model.labels).all()
    sparse = scipy.sparse.csr_matrix(X)
    for how in ({"n_threads": 1}, {"n_threads": 2}, {"backend": "reference"}, {"algorithm": "brute"}):
        for rows in (X, sparse):
            if how != {"algorithm": "brute"} or rows is X:
                assert manymeans.search(rows, 30, **given, **how).digest == found.digest
    again = EnsembleKMeans(30, metric="cosine", random_state=2).search(X, rounds=5)
    assert again.answer_ == found.digest
    kmeans = KMeans(30, metric="cosine", search_rounds=5, n_init=1, random_state=2).fit(3 * X)
    assert kmeans.inertia_ == kmeans.result_.best().inertia < many.best().inertia
    begun = manymeans.search(X, 30, rounds=1, metric="cosine", init=many)
    assert begun.best().inertia <= many.best().inertia


def test_choosing_k(X):
    little = {"models": 3, "references": 3, "bootstraps": 4, "metric": "cosine", "seed": 3}
    choice = manymeans.choose_k(X, range(2, 9), **little)
    assert choice.k == 6
    for evidence in choice.evidence[1:]:
        model = manymeans.fit(X, evidence.k, metric="cosine", model_seed=evidence.model_seed).best()
        assert model.inertia == evidence.inertia
        assert manymeans.criteria(X, model, random_state=3).bic == evidence.criteria.bic
    longer = manymeans.choose_k(scipy.sparse.csr_matrix(4 * X), range(2, 9), n_threads=1, **little)
    assert [its.gap for its in longer.evidence] == [its.gap for its in choice.evidence]
    assert [its.stability for its in longer.evidence[1:]] == [its.stability for its in choice.evidence[1:]]


def test_centres_that_were_set_by_hand(X):
    fitted, by_hand = KMeans(4, metric="cosine", random_state=0).fit(X), KMeans(4, metric="cosine")
    by_hand.cluster_centers_ = fitted.cluster_centers_
    by_hand.n_features_in_ = X.shape[1]
    assert by_hand.score(X) == fitted.score(X)
    assert np.array_equal(by_hand.transform(X), fitted.transform(X))
    assert np.array_equal(by_hand.predict(X), fitted.labels_)
