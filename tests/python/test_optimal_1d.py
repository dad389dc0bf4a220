"""`optimal_1d`: the optimum, in whatever form numbers come."""

import numpy as np
import pytest

import manymeans

VALUES = np.random.default_rng(0).normal(size=(6, 200)).astype(np.float32)
WEIGHTS = np.random.default_rng(1).random((6, 200)) + 0.1


def textbook(values, weights, k):
    """Give the lowest cost by the plain dynamic program."""
    order = np.argsort(values, kind="stable")
    x, w = values[order].astype(np.float64), weights[order]
    zero = np.zeros(1)
    W, S, Q = (np.concatenate([zero, np.cumsum(term)]) for term in (w, w * x, w * x * x))
    n = len(x)
    best = np.full(n + 1, np.inf)
    best[0] = 0
    for _ in range(k):
        following = np.full(n + 1, np.inf)
        for i in range(1, n + 1):
            costs = Q[i] - Q[:i] - (S[i] - S[:i]) ** 2 / (W[i] - W[:i])
            following[i] = (best[:i] + costs).min()
        best = following
    return best[n]


@pytest.mark.parametrize("k", [1, 2, 5, 16])
def test_no_clusters_have_a_lower_inertia(k):
    found = manymeans.optimal_1d(VALUES, k, WEIGHTS)
    for row in range(len(VALUES)):
        assert found.inertia[row] == pytest.approx(textbook(VALUES[row], WEIGHTS[row], k), rel=1e-5)


def test_shapes_and_types():
    found = manymeans.optimal_1d(VALUES, 5, WEIGHTS)
    assert found.centers.shape == (6, 5) and found.centers.dtype == np.float32
    assert found.labels.shape == (6, 200) and found.labels.dtype == np.uint8
    assert found.sizes.shape == (6, 5) and (found.sizes.sum(axis=1) == 200).all()
    assert found.n_clusters.tolist() == [5] * 6 and found.bic is None and found.warnings == []
    assert (np.diff(found.centers) > 0).all()
    one = manymeans.optimal_1d(VALUES[2].astype(np.float64), 5, WEIGHTS[2])
    assert one.centers.shape == (5,) and one.centers.dtype == np.float64
    assert one.labels.shape == (200,) and isinstance(one.inertia, float) and one.n_clusters == 5
    assert len(one.digest) == 32


def test_a_row_is_a_problem_of_its_own():
    found = manymeans.optimal_1d(VALUES, 5, WEIGHTS, n_threads=2)
    assert found.digest == manymeans.optimal_1d(VALUES, 5, WEIGHTS, n_threads=1).digest
    for row in range(len(VALUES)):
        one = manymeans.optimal_1d(VALUES[row], 5, WEIGHTS[row])
        assert one.digest == found.digest[row]
        assert (one.labels == found.labels[row]).all()
    assert manymeans.optimal_1d(VALUES, 5, WEIGHTS[0]).digest[0] == found.digest[0]


def test_a_fit_keeps_the_centres():
    found = manymeans.optimal_1d(VALUES[0], 7, WEIGHTS[0])
    fitted = manymeans.fit(VALUES[0][:, None], 7, init=found.centers[:, None], sample_weight=WEIGHTS[0], tol=0).best()
    assert fitted.digest == found.digest
    assert (fitted.cluster_centers[:, 0] == found.centers).all() and (fitted.labels == found.labels).all()


def test_few_distinct_values_have_a_cluster_each():
    with pytest.warns(UserWarning, match="in 1 of 2 rows, there are fewer distinct values than k"):
        found = manymeans.optimal_1d(np.array([[1.0, 1, 2, 2], [1, 2, 3, 4]]), 3)
    assert found.n_clusters.tolist() == [2, 3]
    assert found.centers[0, :2].tolist() == [1, 2] and np.isnan(found.centers[0, 2])
    assert found.sizes[0].tolist() == [2, 2, 0]
    assert found.inertia[0] == 0
    assert len(found.digest) == 2


def test_k_is_chosen_by_the_bic_of_criteria():
    rng = np.random.default_rng(3)
    values = np.concatenate([rng.normal(centre, 1, 100) for centre in (0, 20, 40, 60)])
    found = manymeans.optimal_1d(values, "auto")
    assert found.n_clusters == 4 and found.bic.shape == (10,) and found.bic.argmin() == 3
    assert manymeans.optimal_1d(values, "2..6").digest == found.digest
    assert found.bic[3] == pytest.approx(manymeans.criteria(values[:, None], found.labels).bic)
    assert manymeans.optimal_1d([1.0, 2.0], "auto").bic.shape == (2,)


def test_lists_frames_and_tensors():
    expected = manymeans.optimal_1d(VALUES.astype(np.float64), 4).digest
    assert manymeans.optimal_1d(VALUES.astype(np.float64).tolist(), 4).digest == expected
    assert manymeans.optimal_1d(VALUES[0].astype(np.float64).tolist(), 4).digest == expected[0]
    if pandas := pytest.importorskip("pandas"):
        frame = pandas.DataFrame(VALUES.astype(np.float64))
        assert manymeans.optimal_1d(frame, 4).digest == expected
        assert manymeans.optimal_1d(frame.iloc[0], 4).digest == expected[0]
    assert manymeans.optimal_1d(np.asfortranarray(VALUES.astype(np.float64)), 4).digest == expected


@pytest.mark.parametrize("library", ["torch", "jax.numpy", "cupy"])
def test_tensors(library):
    module = pytest.importorskip(library)
    expected = manymeans.optimal_1d(VALUES, 4).digest
    assert manymeans.optimal_1d(module.asarray(VALUES), 4).digest == expected
    assert manymeans.optimal_1d(module.asarray(VALUES[0]), 4).digest == expected[0]


def test_bad_input():
    with pytest.raises(manymeans.BadDataError, match=r"\[values\] row 1, column 2 is NaN"):
        manymeans.optimal_1d([[1, 2, 3], [1, 2, float("nan")]], 2)
    with pytest.raises(manymeans.BadDataError, match=r"\[weights\] row 1, column 1 \(from 1\) has weight -1"):
        manymeans.optimal_1d([[1, 2], [3, 4]], 2, [[1, 1], [-1, 1]])
    with pytest.raises(manymeans.BadDataError, match="row 0: all weights are zero"):
        manymeans.optimal_1d([[1, 2], [3, 4]], 2, [[0, 0], [1, 1]])
    with pytest.raises(manymeans.BadDataError, match="shape"):
        manymeans.optimal_1d([[1, 2], [3, 4]], 2, [1, 1, 1])
    with pytest.raises(manymeans.BadDataError, match="empty"):
        manymeans.optimal_1d([], 1)
    with pytest.raises(manymeans.BadDataError):
        manymeans.optimal_1d(np.ones((2, 2, 2)), 1)
    with pytest.raises(manymeans.UsageError, match=r"one value each: optimal_1d\(values.ravel\(\), k\)"):
        manymeans.optimal_1d(np.arange(5.0)[:, None], 5)
    with pytest.raises(manymeans.UsageError, match="one value each"):
        manymeans.optimal_1d(np.arange(5.0)[:, None], "auto")
    with pytest.raises(manymeans.UsageError, match="only 2 rows"):
        manymeans.optimal_1d([1, 2], 3)
    with pytest.raises(manymeans.UsageError, match="0 is out of range"):
        manymeans.optimal_1d([1, 2], 0)


def test_rounding_of_huge_spans_is_told():
    with pytest.warns(UserWarning, match="rounding moves values or centres from the optimum"):
        manymeans.optimal_1d([1.0, 2, 3, 1e110], 3)


def test_shown_in_one_line():
    assert repr(manymeans.optimal_1d([1.0, 2, 9], 2)) == "Optimal1d(2 clusters of 3 values, inertia=0.5)"
    assert repr(manymeans.optimal_1d(np.eye(4), 2)) == "Optimal1d(4 rows of 4 values, 2 clusters)"
