"""Rows of two arguments are taken by position: an index of pandas that says otherwise is not passed over."""

import warnings

import numpy as np
import pandas
import pytest

import manymeans
from manymeans import (
    BadDataError,
    BisectingKMeans,
    EnsembleKMeans,
    HierarchicalKMeans,
    KMeans,
    MiniBatchKMeans,
    RegressionClustering,
)

RANDOM = np.random.default_rng(0)
NAMES = [f"row {i}" for i in range(40)]
X = pandas.DataFrame({"x": np.repeat([0.0, 9], 20) + RANDOM.normal(size=40), "y": RANDOM.normal(size=40)}, NAMES)
WEIGHTS = pandas.Series(RANDOM.uniform(0.1, 9, 40), NAMES)
LABELS = pandas.Series(np.repeat([0, 1], 20), NAMES)

#: Calls with points and something that has a value for each row.
PAIRS = {
    "fit": ("sample_weight", lambda X, w: manymeans.fit(X, 2, sample_weight=w)),
    "search": ("sample_weight", lambda X, w: manymeans.search(X, 2, sample_weight=w, rounds=1)),
    "kmeans_plusplus": ("sample_weight", lambda X, w: manymeans.kmeans_plusplus(X, 2, sample_weight=w)),
    "Shard": ("sample_weight", manymeans.Shard),
    "report": ("sample_weight", lambda X, w: manymeans.report(manymeans.fit(X, 2), X, sample_weight=w)),
    "criteria": ("labels", lambda X, w: manymeans.criteria(X, (w > 5).astype(int))),
    "compare": ("b", lambda X, w: manymeans.compare(LABELS.set_axis(X.index), (w > 5).astype(int))),
    "score": ("sample_weight", lambda X, w: KMeans(2).fit(X).score(X, sample_weight=w)),
    "summary": ("sample_weight", lambda X, w: KMeans(2).fit(X).summary(X, w)),
    "score of batches": ("sample_weight", lambda X, w: MiniBatchKMeans(2).fit(X).score(X, sample_weight=w)),
    "partial_fit": ("sample_weight", lambda X, w: MiniBatchKMeans(2).partial_fit(X, sample_weight=w)),
    "regression": ("y", lambda X, w: RegressionClustering(1).fit(X, w)),
    "regression of a frame": ("y", lambda X, w: RegressionClustering(1).fit(X, w.to_frame())),
    "weights of a regression": ("sample_weight", lambda X, w: RegressionClustering(1).fit(X, np.ones(len(X)), w)),
    "predict_cluster": ("y", lambda X, w: RegressionClustering(1).fit(X, w.to_numpy()).predict_cluster(X, w)),
    "score of a regression": ("y", lambda X, w: RegressionClustering(1).fit(X, w.to_numpy()).score(X, w)),
} | {
    kind.__name__: ("sample_weight", lambda X, w, kind=kind: kind(2).fit(X, sample_weight=w))
    for kind in (KMeans, EnsembleKMeans, BisectingKMeans, MiniBatchKMeans, HierarchicalKMeans)
}  # fmt: skip
ignored = pytest.mark.filterwarnings("ignore")


def shuffled(rows):
    return rows.sample(frac=1, random_state=1)


@ignored
@pytest.mark.parametrize("pair", PAIRS)
def test_other_order(pair):
    name, call = PAIRS[pair]
    call(X, WEIGHTS)
    with pytest.raises(BadDataError, match=rf"^\[{name}\] its index .*{name}\.loc\[\w+\.index\].*{name}\.to_numpy\(\)"):
        call(X, shuffled(WEIGHTS))


@pytest.mark.parametrize("pair", PAIRS)
def test_points_without_labels(pair):
    name, call = PAIRS[pair]
    with pytest.warns(UserWarning, match=rf"^\[{name}\] its index .*as is done here"):
        call(X.reset_index(drop=True), shuffled(WEIGHTS.reset_index(drop=True)))


def test_labels_of_which_the_second_have_none():
    with pytest.warns(UserWarning, match=r"^\[a\] its index .*a\.loc\[b\.index\]"):
        manymeans.compare(shuffled(LABELS.reset_index(drop=True)), LABELS.reset_index(drop=True))


def test_what_tells_no_order():
    fitted = manymeans.fit(X, 2, sample_weight=WEIGHTS).digest
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for weights in (
            WEIGHTS.to_numpy()[::-1][::-1],
            WEIGHTS.reset_index(drop=True),
            WEIGHTS.set_axis([f"other {name}" for name in NAMES]),
            WEIGHTS.set_axis(range(7, 47)),
        ):
            assert manymeans.fit(X, 2, sample_weight=weights).digest == fitted
            assert manymeans.fit(X.reset_index(drop=True), 2, sample_weight=weights).digest == fitted
        assert manymeans.fit(X, 2, sample_weight=shuffled(WEIGHTS).loc[X.index]).digest == fitted
        assert manymeans.fit(shuffled(X), 2, sample_weight=LABELS.reset_index(drop=True) + 1).digest


@pytest.mark.parametrize(
    "index",
    [
        NAMES[:20] * 2,
        [None, *NAMES[1:]],
        [1, *NAMES[1:]],
        pandas.MultiIndex.from_product([[0, 1], range(20)]),
        pandas.date_range("2020", periods=40),
    ],
    ids=["repeated", "missing", "mixed", "levels", "dates"],
)
def test_kinds_of_labels(index):
    rows, weights = X.set_axis(index), WEIGHTS.set_axis(index)
    manymeans.fit(rows, 2, sample_weight=weights)
    with pytest.raises(BadDataError, match="in another order; (sort both|sample_weight.loc)"):
        manymeans.fit(rows, 2, sample_weight=shuffled(weights))
