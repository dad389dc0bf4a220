"""search() and KMeans(search=...)."""

import numpy as np
import pytest
import scipy.sparse

import manymeans
from manymeans import EnsembleKMeans, KMeans, UsageError


@pytest.fixture(scope="module")
def points():
    random = np.random.default_rng(5)
    return (random.normal(size=(900, 3)) + 4 * random.integers(0, 3, size=(900, 3))).astype(np.float32)


def test_rounds_are_the_answer(points):
    found = manymeans.search(points, 30, rounds=6, seed=3)
    model = found.best()
    assert model.rounds == 6
    assert model.init == "search"
    assert [step[0] for step in model.search] == sorted({step[0] for step in model.search})
    assert all(a[2] > b[2] for a, b in zip(model.search, model.search[1:], strict=False))
    assert model.inertia <= model.search[-1][2]
    assert model.inertia < manymeans.fit(points, 30, models=40, seed=3).best().inertia
    for how in ({"n_threads": 1}, {"backend": "reference"}, {"algorithm": "brute"}):
        assert manymeans.search(points, 30, rounds=6, seed=3, **how).digest == found.digest


def test_time_is_reproduced_by_rounds(points):
    timed = manymeans.search(points, 30, time=0.1)
    assert not timed.interrupted
    rounds = timed.best().rounds
    if rounds:
        assert manymeans.search(points, 30, rounds=rounds).digest == timed.digest


def test_weights_initial_centres_and_several_k(points):
    weights = np.linspace(0, 1, len(points))
    first = manymeans.fit(points, 10, sample_weight=weights).best()
    found = manymeans.search(points, 10, rounds=3, sample_weight=weights, init=first.cluster_centers).best()
    assert found.inertia <= first.inertia
    several = manymeans.search(points, [2, 7], rounds=2, models=2)
    assert [model.k for model in several.models] == [2, 2, 7, 7]
    again = manymeans.search(points, 7, rounds=2, model_seed=several.models[3].seed)
    assert again.models[0].digest == several.models[3].digest


def test_a_callback_sees_the_inertia_fall_and_ends_it(points):
    seen = []

    def look(progress):
        if progress.phase == "search":
            seen.append(progress.inertia)
        return progress.phase != "search" or progress.iteration < 5

    stopped = manymeans.search(points, 30, rounds=10**6, callback=look)
    known = [inertia for inertia in seen if inertia == inertia]
    assert known == sorted(known, reverse=True)
    assert stopped.interrupted
    assert stopped.best().rounds == 5
    assert stopped.best().inertia == known[-1]


def test_estimator(points):
    expected = manymeans.search(points, 12, rounds=4, seed=1).best()
    model = KMeans(12, search_rounds=4, random_state=1).fit(points)
    assert model.result_.best().digest == expected.digest
    assert model.result_.best().rounds == 4
    assert model.predict(points).tolist() == model.labels_.tolist()
    assert KMeans(12, search=0.05, random_state=1).fit(points).result_.best().rounds is not None
    assert KMeans(12, random_state=1).fit(points).result_.best().rounds is None
    given = KMeans(12, search_rounds=2, init=points[:12]).fit(points)
    assert given.result_.best().rounds == 2
    called = KMeans(12, search_rounds=2, init=lambda X, k, random_state: X[:k], n_init=1).fit(points)
    assert called.inertia_ == given.inertia_


def test_ensembles(points):
    expected = manymeans.search(points, [3, 12], rounds=2, models=2, seed=1)
    found = EnsembleKMeans([3, 12], models_per_k=2, random_state=1).search(points, rounds=2)
    assert found.answer_ == expected.digest
    assert [model.rounds for model in found.models_] == [2, 2, 2, 2]
    assert found.predict(points, k=12).tolist() == expected.best(12).labels.tolist()
    assert EnsembleKMeans(3).search(points, time=0.05, trials=4).best_.rounds is not None
    assert found.fit(points).models_[0].rounds is None
    for wrong in ({"rounds": 0}, {"time": 0}, {"trials": 2.5}):
        with pytest.raises(UsageError, match=next(iter(wrong))):
            found.search(points, **wrong)


def test_one_column_has_the_optimum(points):
    column = points[:, :1]
    weights = np.arange(len(column)) % 5
    found = manymeans.search(column, [3, 8], sample_weight=weights)
    for model in found.models:
        optimum = manymeans.optimal_1d(column[:, 0], model.k, weights)
        assert model.init == "optimal" and model.rounds == 0
        assert np.array_equal(model.cluster_centers[:, 0], optimum.centers)
        assert np.array_equal(model.labels, optimum.labels)
        assert model.inertia == optimum.inertia
    assert KMeans(8, search=True).fit(column, sample_weight=weights).inertia_ == optimum.inertia


def test_a_search_goes_on_from_its_checkpoint(points, tmp_path):
    expected = manymeans.search(points, 12, rounds=6, seed=1)
    path = tmp_path / "run.ckpt"
    stopped = manymeans.search(
        points, 12, rounds=6, seed=1, checkpoint=path, checkpoint_every=1,
        callback=lambda progress: progress.phase != "search" or progress.iteration < 3,
    )  # fmt: skip
    assert stopped.best().rounds == 3
    went_on = manymeans.search(points, 12, rounds=6, seed=1, checkpoint=path, resume=True)
    assert went_on.digest == expected.digest
    assert [step[0::2] for step in went_on.best().search] == [step[0::2] for step in expected.best().search]
    with pytest.raises(UsageError, match="trials was 16 and is 8"):
        manymeans.search(points, 12, rounds=6, trials=8, seed=1, checkpoint=path, resume=True)
    with pytest.raises(UsageError, match="need checkpoint"):
        manymeans.search(points, 12, rounds=6, resume=True)


@pytest.mark.parametrize("columns", [5, 30])  # few, and as many as bounds pay for
def test_sparse_rows_are_searched_as_dense_ones(columns):
    rows = scipy.sparse.random(300, columns, density=0.2, format="csr", dtype=np.float32, random_state=1)
    found = EnsembleKMeans(4, random_state=0).search(rows, rounds=4)
    assert found.answer_ == EnsembleKMeans(4, random_state=0).search(rows.toarray(), rounds=4).answer_


@pytest.mark.parametrize(
    "wrong", [{"rounds": 0}, {"rounds": 1.5}, {"trials": 0}, {"time": -1.0}, {"time": 0}, {"time": "long"}]
)
def test_wrong_values_are_refused(points, wrong):
    with pytest.raises(UsageError):
        manymeans.search(points, 5, **wrong)


@pytest.mark.parametrize("wrong", [{"search": -1.0}, {"search": "yes"}, {"search_rounds": 0}])
def test_wrong_parameters_are_refused(points, wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        KMeans(5, **wrong).fit(points)
