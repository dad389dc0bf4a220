"""Estimators on dask collections: one answer, that of one process, whatever becomes of the workers."""

import inspect
import os
import pathlib
import signal
import subprocess

import numpy as np
import pandas as pd
import pytest

import manymeans

dask = pytest.importorskip("dask")
pytest.importorskip("distributed")

import dask.array as da  # noqa: E402
import dask.dataframe as dd  # noqa: E402
from distributed import Client, LocalCluster  # noqa: E402

import manymeans.dask as md  # noqa: E402
from manymeans._functions import run_fit_shards  # noqa: E402


@pytest.fixture(scope="module")
def cluster():
    """Two workers, processes of their own that come back when they are killed.

    A cluster gives up one that is not back in 15 seconds, which a busy machine may need.
    """
    patience = {"distributed.scheduler.allowed-failures": 20, "distributed.deploy.lost-worker-timeout": "10 minutes"}
    with (
        dask.config.set(patience),
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as local,
    ):
        yield local


@pytest.fixture
def client(cluster):
    with Client(cluster) as connected:
        connected.wait_for_workers(2, timeout=120)
        yield connected


def here(X, sample_weight=None, **options):
    options = {"n_clusters": 8, "random_state": 3, "init": "k-means||"} | options
    return manymeans.KMeans(**options).fit(X, sample_weight=sample_weight)


def there(X, sample_weight=None, **options):
    return md.KMeans(**{"n_clusters": 8, "random_state": 3} | options).fit(X, sample_weight=sample_weight)


def same(found, expected):
    assert found.answer_ == expected.answer_
    assert (found.cluster_centers_ == expected.cluster_centers_).all()
    assert found.inertia_ == expected.inertia_
    assert found.n_iter_ == expected.n_iter_
    assert found.n_features_in_ == expected.n_features_in_
    assert (found.labels_.compute() == expected.labels_).all()


@pytest.mark.parametrize("chunks", [5000, 700, (1, 2, 4997), (2500, 0, 2500), (4000, 1, 999), (625,) * 8])
def test_partitions(mixture, chunks):
    chunks = (chunks,) if isinstance(chunks, tuple) else chunks
    X = da.from_array(mixture, chunks=(chunks[0], 6) if isinstance(chunks, tuple) else (chunks, 6))
    found = there(X)
    same(found, here(mixture))
    assert found.labels_.chunks == (X.chunks[0],)
    assert found.labels_.dtype == np.int32


@pytest.mark.parametrize(
    "options",
    [
        {"init": "k-means++", "n_clusters": 5},
        {"init": "random", "n_init": 2},
        {"init": "first", "stop": "strict"},
        {"stop": "labels:0.01"},
        {"max_iter": 2},
        {"empty": "drop", "n_clusters": 30},
        {"n_clusters": 1},
    ],
)
def test_options(mixture, options):
    same(there(da.from_array(mixture, chunks=(1300, 6)), **options), here(mixture, **options))


@pytest.mark.parametrize("dtype", [np.float64, np.float16, np.uint8, np.int64])
def test_types(mixture, dtype):
    X = (mixture * 10).astype(dtype)
    same(there(da.from_array(X, chunks=(1300, 6))), here(X))


def test_initial_centres(mixture):
    X = da.from_array(mixture, chunks=(1000, 6))
    same(there(X, init=mixture[:8]), here(mixture, init=mixture[:8]))
    options = {"n_clusters": [3, 5], "models_per_k": 2}
    init = [mixture[:3], mixture[3:6], mixture[:5], mixture[5:10]]
    theirs = manymeans.dask.EnsembleKMeans(**options, init=init).fit(X)
    assert theirs.answer_ == manymeans.EnsembleKMeans(**options, init=init).fit(mixture).answer_
    with pytest.raises(manymeans.UsageError, match="function"):
        there(X, init=lambda X, k, random_state: mixture[:8])


def test_weights(mixture):
    weights = np.random.default_rng(1).random(5000)
    X = da.from_array(mixture, chunks=(900, 6))
    expected = here(mixture, weights)
    same(there(X, weights), expected)
    same(there(X, da.from_array(weights, chunks=5000)), expected)
    same(there(X, da.from_array(weights, chunks=900)), expected)
    with pytest.raises(manymeans.BadDataError, match="4999 weights"):
        there(X, weights[1:])
    unknown = da.from_array(weights, chunks=900)
    unknown = unknown[unknown >= 0]
    same(there(X, unknown), expected)
    with pytest.raises(manymeans.UsageError, match="partitions"):
        there(X, da.concatenate([unknown, unknown]))


def test_unknown_chunks_and_chunked_columns(mixture):
    X = da.from_array(mixture, chunks=(900, 4))
    chosen = X[X[:, 0] > 0]  # nobody knows how many
    rows = mixture[mixture[:, 0] > 0]
    same(there(chosen), here(rows))


def test_dataframes(mixture):
    frame = pd.DataFrame(mixture, columns=list("abcdef"))
    X = dd.from_pandas(frame, npartitions=4)
    found, expected = there(X), here(frame)
    same(found, expected)
    assert list(found.feature_names_in_) == list("abcdef")
    assert (found.predict(X).compute() == expected.labels_).all()
    same(there(X[X["a"] > 3], n_clusters=3), here(frame[frame["a"] > 3], n_clusters=3))
    one_empty = dd.from_delayed([dask.delayed(part) for part in (frame[:0], frame[:3000], frame[:0], frame[3000:])])
    same(there(one_empty), expected)
    with pytest.raises(manymeans.BadDataError, match="columns"):
        found.predict(X[["b", "a", "c", "d", "e", "f"]])
    weighted = frame.assign(w=np.arange(5000.0))
    Y = dd.from_pandas(weighted, npartitions=3)
    same(there(Y[list("abcdef")], Y["w"]), here(frame, weighted["w"]))


def test_predict_transform_score(mixture):
    X = da.from_array(mixture, chunks=(1500, 6))
    found, expected = there(X), here(mixture)
    assert (found.predict(mixture) == expected.labels_).all()
    assert (found.transform(X).compute() == expected.transform(mixture)).all()
    assert found.transform(X).chunks == (X.chunks[0], (8,))
    assert found.score(X) == expected.score(mixture) == -found.inertia_
    assert (found.fit_predict(X).compute() == expected.labels_).all()
    with pytest.raises(manymeans.BadDataError, match="5 features"):
        found.predict(X[:, :5])


def test_ensembles(mixture):
    X = da.from_array(mixture, chunks=(800, 6))
    options = {"n_clusters": [2, 5, 9], "models_per_k": 3, "random_state": 5, "criterion": lambda model: model.k}
    for strategy in ("concatenated", "data", "task"):
        found = md.EnsembleKMeans(**options, strategy=strategy).fit(X)
        expected = manymeans.EnsembleKMeans(**options, init="k-means||").fit(mixture)
        assert found.answer_ == expected.answer_
        assert [model.digest for model in found.models_] == [model.digest for model in expected.models_]
    assert (found.labels_.compute() == expected.labels_).all()
    assert (found.predict(X, 9).compute() == expected.predict(mixture, 9)).all()
    assert found.score(X, k=5) == expected.score(mixture, k=5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_metric_cosine(mixture, dtype, tmp_path):
    rows = mixture.astype(dtype)
    X = da.from_array(rows, chunks=(800, 6))
    weights = np.arange(1, len(rows) + 1, dtype=np.float64)
    found, expected = there(X, weights, metric="cosine"), here(rows, weights, metric="cosine")
    same(found, expected)
    assert (found.predict(X).compute() == expected.predict(rows)).all()
    assert (found.transform(X).compute() == expected.transform(rows)).all()
    assert found.score(X, sample_weight=weights) == expected.score(rows, sample_weight=weights)
    many, one = [{"n_clusters": [3, 5], "models_per_k": 2, "random_state": 1, "metric": "cosine"}] * 2
    ensemble = md.EnsembleKMeans(**many, criterion=lambda model: model.k).fit(X)
    assert (
        ensemble.answer_
        == manymeans.EnsembleKMeans(**one, init="k-means||", criterion=lambda model: model.k).fit(rows).answer_
    )
    assert (ensemble.labels_.compute() == ensemble.predict(X).compute()).all()
    expected.result_.save(tmp_path / "model.npz")
    again = md.KMeans.load(tmp_path / "model.npz")
    assert (again.predict(X).compute() == expected.labels_).all()
    with pytest.raises(manymeans.BadDataError, match="row 4099 is all zeros"):
        rows[4099] = 0
        there(da.from_array(rows, chunks=(800, 6)), metric="cosine")


def test_models_of_scaled_files(mixture, tmp_path):
    np.save(tmp_path / "points.npy", mixture)
    program = [os.environ["MANYMEANS_PROGRAM"], "fit", tmp_path / "points.npy", "-k", "4", "--scale", "standard"]
    subprocess.run([*program, "--quiet", "--model", tmp_path / "model.npz"], check=True)
    expected, found = (kind.load(tmp_path / "model.npz") for kind in (manymeans.KMeans, md.KMeans))
    X = da.from_array(mixture, chunks=(800, 6))
    assert (found.predict(X).compute() == expected.predict(mixture)).all()
    assert (found.transform(X).compute() == expected.transform(mixture)).all()
    assert found.score(X) == expected.score(mixture)


def test_errors(mixture):
    X = da.from_array(mixture, chunks=(800, 6))
    with pytest.raises(manymeans.UsageError, match="is a ndarray"):
        there(mixture)
    with pytest.raises(manymeans.BadDataError, match="dimensions"):
        there(X[:, 0])
    bad = mixture.copy()
    bad[[4000, 1700], 2] = np.nan
    with pytest.raises(manymeans.BadDataError, match="row 1700, column 2 is NaN"):
        there(da.from_array(bad, chunks=(800, 6)))
    with pytest.raises(manymeans.UsageError, match="6000"):
        there(X, n_clusters=6000)
    with pytest.raises(manymeans.BadDataError, match="no rows"):
        there(X[X[:, 0] > 1e30])
    mixed = da.concatenate([X, X.astype(np.float64)]).map_blocks(lambda block: block, dtype=np.float64)
    blocks = [dask.delayed(mixture[:100]), dask.delayed(mixture[:100].astype(np.float64))]
    mixed = da.concatenate([da.from_delayed(block, (100, 6), dtype=np.float32) for block in blocks])
    with pytest.raises(manymeans.UsageError, match="float64"):
        there(mixed)


def test_parameters_are_those_of_one_process():
    for ours, theirs in ((md.KMeans, manymeans.KMeans), (md.EnsembleKMeans, manymeans.EnsembleKMeans)):
        expected = theirs().get_params() | {"init": "k-means||"}
        assert ours().get_params() == expected
        assert list(inspect.signature(ours).parameters) == list(inspect.signature(theirs).parameters)


@pytest.mark.parametrize("option", [{"min_size": 2}, {"max_size": 4000}, {"search": True}])
def test_what_needs_all_rows_is_refused(mixture, option):
    X = da.from_array(mixture, chunks=(800, 6))
    with pytest.raises(manymeans.UsageError, match=rf"\[{next(iter(option))}\]"):
        there(X, **option)


def test_on_workers(client, mixture):
    X = da.from_array(mixture, chunks=(700, 6))
    same(there(X), here(mixture))
    same(there(X.persist()), here(mixture))
    pieces = client.scatter([mixture[:2000], mixture[2000:]])
    scattered = da.concatenate(
        [da.from_delayed(piece, (rows, 6), dtype=np.float32) for piece, rows in zip(pieces, (2000, 3000), strict=True)]
    )
    same(there(scattered), here(mixture))


# What a question asks for stands behind its version of eight bytes (Asked, backend/remote/question.h).
PHASES = {"shape": 0, "scan": 1, "rows": 4, "pass": 5, "inertia": 8, "labels": 9, "seeding": 14}


def test_a_fit_in_a_task_leaves_its_thread_to_others(client, mixture):
    def fit():
        X = da.from_array(mixture, chunks=(1250, 6))
        return there(X, n_clusters=12, stop="strict").result_.digest

    tasks = [client.submit(fit, pure=False) for _ in range(2)]  # one on each worker, of one thread each
    assert {task.result(timeout=60) for task in tasks} == {here(mixture, n_clusters=12, stop="strict").result_.digest}


@pytest.mark.parametrize("noticed", [True, False])
def test_a_worker_that_went_between_two_questions_is_not_waited_for(client, mixture, monkeypatch, noticed):
    partitions = md.Partitions(da.from_array(mixture, chunks=(1250, 6)))
    find_places, asked, stale = partitions._places_of_shards, [], []

    async def places_of_shards(client):
        return stale.pop() if stale else await find_places(client)

    def ask(question):
        asked.append(question)
        if len(asked) == 6:
            if not noticed:  # the scheduler still names the worker when the next question is asked
                stale.append(client.sync(find_places, client))
            client.run(os._exit, 1, workers=list(client.scheduler_info()["workers"])[:1], on_error="ignore")
        return partitions.ask(question)

    monkeypatch.setattr(partitions, "_places_of_shards", places_of_shards)
    options = {"init": "random", "max_iter": 20, "seed": 1, "tol": 0.0, "stop": "strict"}
    with dask.config.set({"distributed.comm.timeouts.connect": "1h"}):  # who tries to connect to it does not end
        found = run_fit_shards(ask, {"k": [12], "models": 1} | options)
    assert len(asked) > 6
    assert not stale
    assert found.digest == manymeans.fit(mixture, 12, **options).digest


class Killer:
    """Kills a worker while it answers such a question for the n-th time."""

    def __init__(self, folder, phase, times):
        self.folder, self.asked, self.times = pathlib.Path(folder), PHASES[phase], times

    def __call__(self, shard, question):
        if shard.first_row == 0 and question[8] == self.asked:
            seen = len(list(self.folder.iterdir())) + 1
            self.folder.joinpath(str(seen)).touch()
            if seen == self.times:
                os.kill(os.getpid(), signal.SIGKILL)
        return shard.answer(question)


@pytest.mark.parametrize(
    ("phase", "times"), [("shape", 1), ("scan", 1), ("seeding", 3), ("pass", 2), ("pass", 6), ("labels", 1)]
)
def test_a_killed_worker_changes_no_bit(client, mixture, tmp_path, monkeypatch, phase, times):
    monkeypatch.setattr(md, "_answer", Killer(tmp_path, phase, times))
    X = da.from_array(mixture, chunks=(1250, 6))
    found = there(X, n_clusters=12, stop="strict")
    assert len(list(tmp_path.iterdir())) > times, "nobody was killed"
    monkeypatch.undo()
    same(found, here(mixture, n_clusters=12, stop="strict"))


@pytest.mark.parametrize("option", [{"min_size": 2}, {"max_size": 4000}, {"search": True}, {"search_rounds": 2}])
def test_it_is_refused_before_rows_are_counted(mixture, option):
    X = da.from_array(mixture, chunks=(800, 6)).map_blocks(
        lambda block: pytest.fail("rows were read"), meta=mixture[:0]
    )
    with pytest.raises(manymeans.UsageError, match="needs all rows in one process"):
        there(X, **option)


def test_a_search_and_a_consensus_need_all_rows(mixture):
    X = da.from_array(mixture, chunks=(800, 6))
    ensemble = md.EnsembleKMeans([3, 4], models_per_k=2, random_state=0)
    with pytest.raises(manymeans.UsageError, match=r"\[search\] a search needs all rows in one process; manymeans.Ens"):
        ensemble.search(X, rounds=1)
    ensemble.fit(X)
    for rows in (None, X):
        with pytest.raises(manymeans.UsageError, match=r"\[X\] a consensus needs all rows in one process; give them"):
            ensemble.consensus(3, rows)
    assert ensemble.consensus(3, mixture).counts.sum() == len(mixture)
    with pytest.raises(manymeans.UsageError, match=r"\[X\] is needed: models of a file, of shards or of dask have no"):
        manymeans.consensus(ensemble, 3)
