"""Shards: their answers merge in any order to what one machine says."""

import functools
import operator
import pickle
import random

import numpy as np
import pytest

import manymeans
from manymeans import Shard


def cut(X, ends, sample_weight=None, **options):
    """Give the shards of X that end there."""
    firsts = [0, *ends[:-1]]
    return [
        Shard(X[first:end], None if sample_weight is None else sample_weight[first:end], first, **options)
        for first, end in zip(firsts, ends, strict=True)
    ]


def asking(shards, seed=0):
    """Ask them in an order, and merge in another."""
    generator = random.Random(seed)

    def ask(question):
        answers = [shard.answer(question) for shard in generator.sample(shards, len(shards))]
        generator.shuffle(answers)
        return functools.reduce(manymeans.merge_answers, answers)

    return ask


def added(answers):
    answers = list(answers)
    random.Random(len(answers)).shuffle(answers)
    return functools.reduce(operator.add, answers)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("init", ["k-means||", "k-means++", "random", "first"])
def test_digest_of_one_machine(mixture, init, dtype):
    X = mixture[:2000].astype(dtype)
    for ends in ([2000], [1, 2, 2000], [500, 500, 900, 2000], list(range(250, 2001, 250))):
        result = manymeans.fit_shards(asking(cut(X, ends)), [3, 8], models=2, seed=7, init=init, n_threads=1)
        assert result.digest == manymeans.fit(X, [3, 8], models=2, seed=7, init=init).digest
        assert result.models[0].labels is None
        assert (
            result.predict(X[:10], 8) == manymeans.fit(X, [3, 8], models=2, seed=7, init=init).predict(X[:10], 8)
        ).all()


@pytest.mark.parametrize("stop", ["tol", "strict", "labels:0.01", "shift:0.1:0.5", "inertia:0.01", "error:3000"])
def test_stop_rules_and_weights(mixture, stop):
    X, weights = mixture[:1500], np.random.default_rng(3).random(1500)
    found = manymeans.fit_shards(asking(cut(X, [400, 401, 1500], weights)), 9, seed=2, stop=stop)
    assert found.digest == manymeans.fit(X, 9, seed=2, stop=stop, init="k-means||", sample_weight=weights).digest


@pytest.mark.parametrize("empty", ["farthest", "keep", "drop"])
def test_empty_clusters(mixture, empty):
    X = mixture[:600]
    init = np.concatenate([X[:4], X[:2], np.full((2, 6), 100, dtype=np.float32)])
    found = manymeans.fit_shards(asking(cut(X, [10, 300, 600])), 8, init=init, empty=empty)
    assert found.digest == manymeans.fit(X, 8, init=init, empty=empty).digest


def test_given_initial_centres_of_an_ensemble(mixture):
    init = mixture[:12].reshape(3, 4, -1)
    found = manymeans.fit_shards(asking(cut(mixture, [2500, 5000])), 4, init=init)
    assert len(found.models) == 3 and found.digest == manymeans.fit(mixture, 4, init=init).digest


def test_given_initial_centres_of_another_type(mixture):
    init = mixture[:5].astype(np.float64) + 1e-9
    found = manymeans.fit_shards(asking(cut(mixture, [2500, 5000])), 5, init=init)
    assert found.digest == manymeans.fit(mixture, 5, init=init).digest


def test_pickled_shards_answer_alike(mixture):
    shards = cut(mixture, [2000, 5000])

    def ask(question):
        again = pickle.loads(pickle.dumps(shards[1]))
        assert again.answer(question) == shards[1].answer(question)
        return manymeans.merge_answers(again.answer(question), shards[0].answer(question))

    assert manymeans.fit_shards(ask, 6, seed=1).digest == manymeans.fit(mixture, 6, seed=1, init="k-means||").digest


def test_loop_of_ones_own(mixture):
    X = mixture
    expected = manymeans.fit(X, 7, init=X[:7], stop="strict", tol=0)
    shards = cut(X, [100, 100, 3000, 5000])
    scan = added(shard.scan(added(other.shape() for other in shards)) for shard in shards)
    centers, previous = [X[:7]], None
    for _ in range(300):
        parts = [shard.statistics(scan, centers, previous) for shard in shards]
        parts = [pickle.loads(pickle.dumps(part)) for part in parts]
        statistics = added(type(part).from_bytes(part.to_bytes()) for part in parts)
        if statistics.changed == [0]:
            break
        centers, previous = manymeans.solve(statistics), centers
    assert (centers[0] == expected.models[0].cluster_centers).all()
    assert (statistics.counts[0] == expected.models[0].counts).all()
    assert statistics.weights[0].sum() == len(X)
    # Without `previous` all labels are new, and the sums are the same.
    anew = added(shard.statistics(scan, centers) for shard in shards)
    assert anew.changed == [len(X)]
    assert anew.label_sum == statistics.label_sum


def test_several_models_in_one_pass(mixture):
    shards = cut(mixture, [1234, 5000])
    scan = added(shard.scan(added(other.shape() for other in shards)) for shard in shards)
    models = [mixture[:3], mixture[10:15]]
    together = manymeans.solve(added(shard.statistics(scan, models) for shard in shards))
    for model, solved in zip(models, together, strict=True):
        alone = manymeans.fit(mixture, len(model), init=model, max_iter=1).models[0]
        assert (alone.cluster_centers == solved).all()


def test_addition_in_any_order(mixture):
    shards = cut(mixture, [10, 2000, 2000, 5000])
    scan = added(shard.scan(added(other.shape() for other in shards)) for shard in shards)
    parts = [shard.statistics(scan, [mixture[:4]]) for shard in shards]
    sums = {functools.reduce(operator.add, random.Random(seed).sample(parts, 4)) for seed in range(20)}
    assert len(sums) == 1


def test_parts_of_different_fits(mixture):
    one, other = cut(mixture, [2000, 5000])
    shape = one.shape() + other.shape()
    scan = one.scan(shape) + other.scan(shape)
    here, there = one.statistics(scan, [mixture[:3]]), other.statistics(scan, [mixture[:4]])
    with pytest.raises(manymeans.UsageError, match="different questions"):
        here + there
    with pytest.raises(manymeans.UsageError, match="in two of them"):
        here + here
    with pytest.raises(manymeans.UsageError, match="row 2000"):
        manymeans.solve(here)
    with pytest.raises(manymeans.UsageError, match="row 0"):
        other.scan(other.shape())
    with pytest.raises(manymeans.UsageError, match="previous|before"):
        one.statistics(scan, [mixture[:3]], [mixture[:3], mixture[:3]])
    with pytest.raises(manymeans.UsageError, match="2 columns"):
        one.statistics(scan, [mixture[:3, :2]])
    with pytest.raises(TypeError):
        here + 1


def test_errors(mixture):
    with pytest.raises(manymeans.BadDataError, match="row 3000, column 1 is NaN"):
        X = mixture.copy()
        X[3000, 1] = np.nan
        manymeans.fit_shards(asking(cut(X, [100, 2000, 5000])), 3)
    with pytest.raises(manymeans.UsageError, match="ask"):
        manymeans.fit_shards(None, 3)
    with pytest.raises(manymeans.UsageError, match="no bytes"):
        manymeans.fit_shards(lambda question: None, 3)
    with pytest.raises(ZeroDivisionError):
        manymeans.fit_shards(lambda question: 1 / 0, 3)
    with pytest.raises(manymeans.BadDataError, match="answer"):
        manymeans.fit_shards(lambda question: b"nonsense", 3)
    with pytest.raises(manymeans.BadDataError, match="question"):
        Shard(mixture).answer(b"nonsense")
    with pytest.raises(manymeans.UsageError, match="first_row"):
        Shard(mixture, first_row=-1)
    with pytest.raises(manymeans.BadDataError, match="no rows"):
        manymeans.fit_shards(Shard(mixture[:0]).answer, 3)
    with pytest.raises(manymeans.BadDataError, match="sample_weight"):
        Shard(mixture, np.ones(3))
    with pytest.raises(manymeans.UsageError, match="5001"):
        manymeans.fit_shards(Shard(mixture).answer, 5001)


def test_a_callback_stops(mixture):
    shard = Shard(mixture)
    result = manymeans.fit_shards(
        shard.answer, 8, seed=4, stop="strict", callback=lambda p: p.phase == "initialise" or p.iteration < 2
    )
    assert result.interrupted
    assert result.digest == manymeans.fit(mixture, 8, seed=4, stop="strict", init="k-means||", max_iter=2).digest


def test_weights_that_were_read_with_the_points_count(tmp_path):
    (tmp_path / "a.csv").write_text("x,w\n1,2\n2,1\n9,3\n8,1\n")
    data = manymeans.read(tmp_path / "a.csv", weights="w")
    shards = {"read": manymeans.Shard(data), "given": manymeans.Shard(data.points, data.weights)}
    found = {name: manymeans.fit_shards(shard.answer, 2).digest for name, shard in shards.items()}
    assert found["read"] == found["given"] != manymeans.fit_shards(manymeans.Shard(data.points).answer, 2).digest


def test_metric_cosine(mixture):
    found = manymeans.fit_shards(asking(cut(mixture, [700, 5000])), 5, seed=2, metric="cosine")
    assert found.digest == manymeans.fit(mixture, 5, seed=2, metric="cosine", init="k-means||").digest
    assert found.metric == "cosine"
