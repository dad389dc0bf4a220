"""Criteria of clusterings: against scikit-learn's."""

import sys

import numpy as np
import pandas
import pytest
import sklearn.cluster
from sklearn.metrics import calinski_harabasz_score, davies_bouldin_score, pairwise_distances, silhouette_score

import manymeans


def made(seed):
    """Points of overlapping clusters, and labels that suit them more or less."""
    rng = np.random.default_rng(seed)
    n, d, k = int(rng.integers(30, 400)), int(rng.integers(1, 9)), int(rng.integers(2, 9))
    labels = rng.integers(0, k, n)
    X = rng.standard_normal((n, d)) + labels[:, None] * rng.standard_normal(d) * 2 + rng.integers(0, 2) * 1000
    return X.astype([np.float32, np.float64][seed % 2]), np.where(rng.random(n) < 0.8, labels, rng.integers(0, k, n))


@pytest.mark.parametrize("seed", range(12))
def test_against_sklearn(seed):
    X, labels = made(seed)
    found = manymeans.criteria(X, labels)
    wide = X.astype(np.float64)
    assert found.n_clusters == len(np.unique(labels))
    assert found.calinski_harabasz == pytest.approx(calinski_harabasz_score(wide - wide.mean(0), labels), rel=1e-12)
    assert found.davies_bouldin == pytest.approx(davies_bouldin_score(wide - wide.mean(0), labels), rel=1e-12)
    # Not scikit-learn's own squared distances, which lose digits far from zero.
    differences = wide[:, None, :] - wide[None, :, :]
    squares = (differences * differences).sum(axis=2)
    squared = silhouette_score(squares, labels, metric="precomputed")
    assert found.squared_silhouette == pytest.approx(squared, rel=1e-12, abs=1e-12)
    euclidean = silhouette_score(np.sqrt(squares), labels, metric="precomputed")
    assert found.silhouette == pytest.approx(euclidean, rel=1e-12, abs=1e-12)
    assert found.silhouette_rows == len(X) and found.silhouette_error == 0


def test_simplified_silhouette_and_bic():
    X, labels = made(1)
    found = manymeans.criteria(X, labels)
    means = np.array([X[labels == c].mean(axis=0) for c in np.unique(labels)])
    distances = pairwise_distances(X, means)
    own = np.searchsorted(np.unique(labels), labels)
    a = distances[np.arange(len(X)), own]
    distances[np.arange(len(X)), own] = np.inf
    b = distances.min(axis=1)
    assert found.simplified_silhouette == pytest.approx(np.mean((b - a) / np.maximum(a, b)), rel=1e-9)
    n, d, k = len(X), X.shape[1], len(means)
    variance = (a * a).sum() / (d * (n - k))
    counts = np.bincount(own)
    likelihood = -n * d / 2 * np.log(2 * np.pi * variance) - d * (n - k) / 2 + (counts * np.log(counts / n)).sum()
    assert found.bic == pytest.approx(k * (d + 1) * np.log(n) - 2 * likelihood, rel=1e-9)


def test_what_it_takes():
    X, _ = made(3)
    result = manymeans.fit(X, 4)
    kmeans = manymeans.KMeans(4, random_state=0).fit(X)
    of_labels = manymeans.criteria(X, result.best().labels)
    for given in (result, result.best(), kmeans, result.best().labels.tolist()):
        found = manymeans.criteria(X, given)
        assert found[:6] == of_labels[:6] and found.silhouette == of_labels.silhouette
    assert np.isnan(manymeans.criteria(X, np.zeros(len(X), int)).silhouette)
    sampled = manymeans.criteria(X, result, sample=10, random_state=3)
    assert sampled.silhouette_rows == 10 and sampled.silhouette_error == pytest.approx(np.sqrt(2 * np.log(40) / 10))
    none = manymeans.criteria(X, result, sample=0)
    assert np.isnan(none.silhouette) and none.squared_silhouette == of_labels.squared_silhouette


@pytest.mark.parametrize(
    ("labels", "text"),
    [
        ([0, 1], r"\[labels\] there are 2 labels of 3 rows"),
        ([0.0, 1.5, 1.0], r"\[labels\] row 1 has .*1.5.*; labels are whole numbers"),
        ([[0], [1], [1]], r"\[labels\] has the shape \(3, 1\)"),
    ],
)
def test_errors(labels, text):
    with pytest.raises(ValueError, match=text):
        manymeans.criteria([[0.0], [1.0], [5.0]], labels)


def test_rows_without_a_label_are_left_out():
    X, labels = made(4)
    labels[::5] = -1
    there = labels >= 0
    expected = manymeans.criteria(X[there], labels[there])
    for given in (labels, labels.astype(float), np.where(there, labels, np.nan), np.where(there, labels, -2)):
        found = manymeans.criteria(X, given)
        assert found[:6] == expected[:6] and found.silhouette == expected.silhouette
    texts = np.array(["a", "b", "c"])[labels % 3].astype(object)
    texts[~there] = None
    assert manymeans.criteria(X, texts).n_clusters == 3
    with pytest.raises(manymeans.BadDataError, match="no rows"):
        manymeans.criteria(X, np.full(len(X), -1))


def test_choose_k_judges_two_to_twenty_where_nobody_says_others():
    X = np.random.default_rng(1).normal(size=(25, 2))
    little = {"models": 1, "references": 0, "bootstraps": 0, "sample": 0}
    assert [evidence.k for evidence in manymeans.choose_k(X, **little).evidence] == list(range(1, 21))
    # As the program: nobody has asked for 20 clusters of 5 rows. Who does is told.
    assert [evidence.k for evidence in manymeans.choose_k(X[:5], **little).evidence] == [1, 2, 3, 4, 5]
    with pytest.raises(manymeans.UsageError, match="only 5 rows"):
        manymeans.choose_k(X[:5], range(2, 21), **little)


def test_choose_k_says_how_sure_it_is():
    random = np.random.default_rng(3)
    X = random.normal(size=(300, 2)) + 9 * (np.arange(300) % 3)[:, None]
    firm = manymeans.choose_k(X, range(2, 6), models=3, references=3)
    assert (firm.status, firm.k, firm.answer) == ("firm", 3, "k = 3")
    assert [its.k for its in firm.defensible] == [3] and firm.defensible[0].meaning.startswith("clusters that valleys")
    assert firm.reason.endswith("valleys separate them, and no other k has both")
    one = manymeans.choose_k(random.lognormal(size=(400, 2)), range(2, 6), models=3, references=3)
    assert (one.status, one.k, one.answer, one.defensible) == ("one", 1, "one group", [])
    assert one.reason.endswith("; skewed columns mislead criteria, 2 of 2 (column 0, column 1): try their logarithms")
    frame = {name: random.lognormal(size=400) for name in ("a", "b", "c\x1b", "d")}
    named = manymeans.choose_k(pandas.DataFrame(frame), range(2, 4), models=1, references=3)
    assert "skewed columns mislead criteria, 4 of 4 (a, b, c\\x1b and 1 more)" in named.reason
    with pytest.warns(UserWarning, match="k = 3 is the largest that was judged"):
        manymeans.choose_k(X, [2, 3], models=2, references=2)


def test_a_table_of_a_choice_has_every_criterion_that_votes():
    X = np.random.default_rng(3).normal(size=(60, 2)) + 9 * (np.arange(60) % 2)[:, None]
    choice = manymeans.choose_k(X, [2, 3], models=2, references=2, bootstraps=4)
    for row in choice.table():
        assert {name for name, _, _ in choice.votes} <= row.keys()
        assert row["silhouette"] == pytest.approx(choice.evidence[row["k"] - 1].criteria.silhouette, nan_ok=True)


def test_a_plot_without_matplotlib_names_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    choice = manymeans.choose_k([[0.0], [1.0], [9.0], [10.0]], [2, 3], models=1, references=0, bootstraps=0)
    with pytest.raises(
        manymeans.UnavailableError, match=r"^\[plot\] is drawn by matplotlib, .*: pip install matplotlib$"
    ):
        choice.plot()


@pytest.mark.parametrize(
    "of", [lambda data: manymeans.criteria(data, [0, 0, 1]), lambda data: manymeans.choose_k(data, [2])]
)
def test_weights_that_were_read_are_refused_where_there_are_none(of, tmp_path):
    (tmp_path / "a.csv").write_text("x,w\n1,2\n2,1\n9,3\n")
    with pytest.raises(
        manymeans.UsageError, match=r"^\[X\] has weights, which \w+ does not support; X.points has none"
    ):
        of(manymeans.read(tmp_path / "a.csv", weights="w"))
    of(manymeans.read(tmp_path / "a.csv", columns="x"))


def test_rows_are_measured_as_the_model_measures_them():
    X = np.random.default_rng(0).normal(size=(200, 4)) * np.arange(1, 201)[:, None]
    unit = X / np.linalg.norm(X, axis=1)[:, None]
    kmeans = manymeans.KMeans(4, metric="cosine", random_state=0).fit(X)
    expected = manymeans.criteria(unit, kmeans.labels_)
    for given in (kmeans, kmeans.result_, kmeans.result_.best()):
        assert manymeans.criteria(X, given)[1:6] == pytest.approx(expected[1:6], rel=1e-9)
    assert manymeans.criteria(X, kmeans.labels_).bic != pytest.approx(expected.bic, rel=0.1)


def test_whatever_has_labels_is_judged():
    X = np.random.default_rng(0).normal(size=(200, 2))
    kinds = sklearn.cluster.DBSCAN(eps=0.3), sklearn.cluster.KMeans(3, n_init=1), sklearn.cluster.MeanShift()
    for estimator in kinds:
        estimator.fit(X)
        assert repr(manymeans.criteria(X, estimator)) == repr(manymeans.criteria(X, estimator.labels_))
    lines = manymeans.RegressionClustering(2, random_state=0).fit(X[:, :1], X[:, 0] ** 2)
    assert repr(manymeans.criteria(X, lines)) == repr(manymeans.criteria(X, lines.labels_))
    assert manymeans.compare(lines, lines.labels_).adjusted_rand == 1
