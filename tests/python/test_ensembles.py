"""EnsembleKMeans, the functions, model files, and the digests that Python and the command line share."""

import json
import pickle
import subprocess

import numpy as np
import pandas as pd
import pytest
import sklearn.base

import manymeans
from manymeans import EnsembleKMeans, FitResult, KMeans


def run(program, *arguments):
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def points_file(mixture, tmp_path_factory):
    path = tmp_path_factory.mktemp("points") / "points.npy"
    np.save(path, mixture)
    return path


@pytest.fixture(scope="module")
def ensemble(mixture):
    return EnsembleKMeans([3, 5, 8], models_per_k=3, random_state=7).fit(mixture)


@pytest.fixture(scope="module")
def judged(mixture):
    """The same with a word on how the best is chosen."""
    return EnsembleKMeans([3, 5, 8], models_per_k=3, random_state=7, criterion="inertia").fit(mixture)


DIGEST_CASES = [
    (["-k", "8"], {"k": 8}),
    (["-k", "4,9", "--models", "3", "--seed", "5"], {"k": [4, 9], "models": 3, "seed": 5}),
    (["-k", "2..10:4", "--init", "random", "--seed", str(2**64 - 1)], {"k": range(2, 11, 4), "init": "random",
                                                                       "seed": 2**64 - 1}),
    (["-k", "6", "--init", "k-means||", "--tol", "0"], {"k": 6, "init": "k-means||", "tol": 0}),
    (["-k", "6", "--stop", "labels:0.05", "--empty", "keep"], {"k": 6, "stop": "labels:0.05", "empty": "keep"}),
    (["-k", "7", "--max-iter", "3", "--algorithm", "brute"], {"k": "7", "max_iter": 3, "strategy": "data"}),
    (["-k", "5", "--model-seed", "99", "--backend", "reference"], {"k": 5, "model_seed": 99, "n_threads": 2}),
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "u1"])
@pytest.mark.parametrize(("flags", "options"), DIGEST_CASES, ids=[" ".join(flags) for flags, _ in DIGEST_CASES])
def test_digests_of_the_command_line(flags, options, dtype, program, mixture, tmp_path):
    X = np.clip(mixture * 8 + 100, 0, 255).astype(dtype)
    np.save(tmp_path / "points.npy", X)
    summary = json.loads(run(program, "fit", tmp_path / "points.npy", *flags, "--json"))
    result = manymeans.fit(X, **options)
    assert result.digest == summary["digest"]
    assert [model.digest for model in result.models] == [model["digest"] for model in summary["models"]]


def test_digest_of_the_estimators(program, points_file, mixture, ensemble):
    flags = ["--init", "k-means++", "--json"]
    summary = json.loads(run(program, "fit", points_file, "-k", "3,5,8", "--models", "3", "--seed", "7", *flags))
    assert ensemble.answer_ == summary["digest"]
    summary = json.loads(run(program, "fit", points_file, "-k", "6", "--models", "4", "--seed", "3", *flags))
    assert KMeans(6, n_init=4, random_state=3).fit(mixture).answer_ == summary["digest"]


def test_digest_with_weights(program, points_file, mixture, tmp_path):
    weights = np.random.default_rng(0).uniform(0, 2, len(mixture))
    np.save(tmp_path / "weights.npy", weights)
    summary = json.loads(run(program, "fit", points_file, "-k", "5", "--weights", tmp_path / "weights.npy", "--json"))
    assert manymeans.fit(mixture, 5, sample_weight=weights).digest == summary["digest"]


def test_attributes(ensemble, mixture):
    assert len(ensemble.models_) == 9
    assert [model.k for model in ensemble.models_] == [3] * 3 + [5] * 3 + [8] * 3
    for k in (3, 5, 8):
        best = ensemble.best_of_k_[k]
        assert best.inertia == min(model.inertia for model in ensemble.models_ if model.k == k)
        assert np.array_equal(ensemble.predict(mixture, k=k), best.labels)
        assert ensemble.transform(mixture, k=k).shape == (len(mixture), k)
        assert ensemble.score(mixture, k=k) == -best.inertia
        assert best.counts.sum() == len(mixture)
    with pytest.raises(ValueError, match="k is 4; there are models for k = 3, 5, 8"):
        ensemble.predict(mixture, k=4)
    provenance = ensemble.provenance_
    assert provenance["rows"] == len(mixture) and provenance["options"]["models"] == 3


def test_attributes_of_the_best(judged, ensemble, mixture):
    assert judged.answer_ == ensemble.answer_
    assert judged.best_ is min(judged.models_, key=lambda model: model.inertia)
    assert judged.inertia_ == judged.best_.inertia
    assert judged.labels_.dtype == np.int32
    assert np.array_equal(judged.labels_, judged.predict(mixture))
    assert np.array_equal(judged.labels_, judged.result_.predict(mixture, criterion="inertia"))
    assert judged.transform(mixture).shape == (len(mixture), 8)


ONE_MODELS = {
    "predict": lambda ensemble, X: ensemble.predict(X),
    "transform": lambda ensemble, X: ensemble.transform(X),
    "score": lambda ensemble, X: ensemble.score(X),
    "labels_": lambda ensemble, X: ensemble.labels_,
    "cluster_centers_": lambda ensemble, X: ensemble.cluster_centers_,
    "inertia_": lambda ensemble, X: ensemble.inertia_,
    "best_": lambda ensemble, X: ensemble.best_,
    "get_feature_names_out": lambda ensemble, X: ensemble.get_feature_names_out(),
    "fit_predict": lambda ensemble, X: sklearn.base.clone(ensemble).fit_predict(X),
    "fit_transform": lambda ensemble, X: sklearn.base.clone(ensemble).fit_transform(X),
    "result.best": lambda ensemble, X: ensemble.result_.best(),
    "result.predict": lambda ensemble, X: ensemble.result_.predict(X),
    "manymeans.predict": lambda ensemble, X: manymeans.predict(ensemble.result_, X),
}


@pytest.mark.parametrize("what", ONE_MODELS)
def test_among_several_k_somebody_has_to_choose(what, ensemble, judged, mixture):
    with pytest.raises(manymeans.UsageError, match=r"k = 3, 5, 8.*criterion"):
        ONE_MODELS[what](ensemble, mixture)
    if not what.startswith(("result", "manymeans")):
        ONE_MODELS[what](judged, mixture)
        ONE_MODELS[what](EnsembleKMeans([5], models_per_k=2, random_state=7).fit(mixture), mixture)


def test_attributes_that_are_not_clear_are_not_there(ensemble):
    for name in ("labels_", "cluster_centers_", "inertia_", "best_"):
        assert not hasattr(ensemble, name)
    again = pickle.loads(pickle.dumps(ensemble))
    assert again.answer_ == ensemble.answer_ and not hasattr(again, "best_")
    with pytest.raises(AttributeError, match="no attribute 'nonsense_'"):
        ensemble.nonsense_  # noqa: B018


def test_an_earlier_fit_leaves_nothing(mixture):
    ensemble = EnsembleKMeans(3, random_state=0).fit(mixture)
    assert ensemble.inertia_ > 0
    ensemble.set_params(n_clusters=[3, 4]).fit(mixture)
    assert not hasattr(ensemble, "inertia_")


def test_a_function_as_criterion(mixture):
    def distance_from_four(model):
        return abs(model.k - 4)

    ensemble = EnsembleKMeans([3, 4, 5], criterion=distance_from_four, random_state=0).fit(mixture)
    assert ensemble.best_.k == 4 and ensemble.cluster_centers_.shape == (4, 6)
    assert ensemble.result_.best(criterion=distance_from_four) is ensemble.best_
    assert manymeans.predict(ensemble.result_, mixture, criterion=distance_from_four).max() == 3
    for wrong in ("bic", 3, lambda model: float("nan"), lambda model: "least"):
        with pytest.raises(manymeans.UsageError, match="criterion"):
            ensemble.result_.best(criterion=wrong)


def test_k_is_what_was_asked_for(program, tmp_path):
    """Also where empty="drop" left fewer clusters, as in the program."""
    X = np.repeat(np.eye(3), 10, axis=0)
    with pytest.warns(UserWarning):
        result = manymeans.fit(X, [2, 5], empty="drop", init="random", seed=1)
    dropped = result.best(5)
    assert dropped.k_requested == 5 and dropped.k < 5
    with pytest.raises(manymeans.UsageError, match="k = 2, 5"):
        result.best(dropped.k if dropped.k != 2 else 3)
    result.save(tmp_path / "model.npz")
    assert FitResult.load(tmp_path / "model.npz").best(5).digest == dropped.digest
    np.save(tmp_path / "points.npy", X)
    flags = ["-k", "5", "--labels", tmp_path / "labels.npy"]
    run(program, "predict", tmp_path / "model.npz", tmp_path / "points.npy", *flags)
    assert np.array_equal(np.load(tmp_path / "labels.npy"), result.predict(X, 5))


def test_one_model_again_from_its_seed(ensemble, mixture):
    model = ensemble.models_[4]
    alone = manymeans.fit(mixture, model.k, model_seed=model.seed, init="k-means++")
    assert alone.models[0].digest == model.digest


def test_frame(ensemble):
    frame = ensemble.to_frame()
    assert frame["digest"].tolist() == [model.digest for model in ensemble.models_]
    assert frame.groupby("k")["best"].sum().tolist() == [1, 1, 1]
    assert frame.loc[frame["best"], "inertia"].tolist() == [ensemble.best_of_k_[k].inertia for k in (3, 5, 8)]


def test_same_models_as_kmeans(mixture):
    kmeans = KMeans(5, n_init=3, random_state=7).fit(mixture)
    ensemble = EnsembleKMeans(5, models_per_k=3, random_state=7).fit(mixture)
    assert kmeans.answer_ == ensemble.answer_
    assert np.array_equal(kmeans.labels_, ensemble.labels_)


@pytest.mark.parametrize("clusters", [[], [0], [3, 3], [3, -1], "x", [[1, 2]], [10**6]])
def test_wrong_numbers_of_clusters(clusters, mixture):
    with pytest.raises((ValueError, TypeError)):
        EnsembleKMeans(clusters).fit(mixture)


@pytest.mark.parametrize("kind", [KMeans, EnsembleKMeans])
def test_pickle(kind, mixture):
    fitted = kind(4, random_state=1).fit(mixture)
    again = pickle.loads(pickle.dumps(fitted))
    assert again.answer_ == fitted.answer_
    assert np.array_equal(again.labels_, fitted.labels_)
    assert np.array_equal(again.predict(mixture), fitted.labels_)
    assert again.provenance_["rows"] == fitted.provenance_["rows"]


def test_pickles_keep_the_best_model(mixture, tmp_path):
    """Of n_init models, and what attributes need; so do copies. EnsembleKMeans keeps all."""
    fitted = KMeans(4, n_init=10, random_state=1).fit(mixture)
    one = KMeans(4, n_init=1, random_state=1).fit(mixture)
    again = pickle.loads(pickle.dumps(fitted))
    assert len(pickle.dumps(fitted)) < len(pickle.dumps(one)) + len(mixture)  # less than the labels of one more
    assert len(fitted.result_.models) == 10 and len(again.result_.models) == 1
    assert again.result_.best().digest == fitted.result_.best().digest
    for attribute in ("answer_", "inertia_", "n_iter_", "n_features_in_", "_n_features_out"):
        assert getattr(again, attribute) == getattr(fitted, attribute), attribute
    assert pickle.loads(pickle.dumps(again)).answer_ == fitted.answer_
    assert np.array_equal(again.predict(mixture), fitted.labels_)
    again.save(tmp_path / "model.npz")
    assert KMeans.load(tmp_path / "model.npz").answer_ == again.result_.digest
    again.set_params(n_init=1).fit(mixture)
    assert again.answer_ == one.answer_
    ensemble = EnsembleKMeans(4, models_per_k=10, random_state=1).fit(mixture)
    assert len(pickle.loads(pickle.dumps(ensemble)).models_) == 10


def test_equal_answers_are_equal_bytes(mixture):
    """Options that change no answer are in no pickle."""
    run = {"time_limit": 1000.0, "backend": "reference", "strategy": "task", "n_threads": 1}
    plain, other = (manymeans.fit(mixture, 3, seed=1, max_iter=4, **options) for options in ({}, run))
    assert other.provenance["options"]["backend"] == "reference"
    assert pickle.dumps(plain) == pickle.dumps(other)


@pytest.mark.parametrize("kind", [KMeans, EnsembleKMeans])
def test_files_written_here_are_read_by_the_command_line(kind, program, points_file, mixture, tmp_path):
    fitted = kind(5, random_state=1).fit(mixture)
    fitted.save(tmp_path / "model.npz")
    run(program, "predict", tmp_path / "model.npz", points_file, "--labels", tmp_path / "labels.npy")
    assert np.array_equal(np.load(tmp_path / "labels.npy"), fitted.labels_)
    again = kind.load(tmp_path / "model.npz")
    assert again.answer_ == fitted.answer_
    assert again.inertia_ == fitted.inertia_ and again.n_iter_ == fitted.n_iter_
    assert np.array_equal(again.predict(mixture), fitted.labels_)
    assert not hasattr(again, "labels_")
    again.save(tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == (tmp_path / "model.npz").read_bytes()


def test_files_of_the_command_line_are_read_here(program, points_file, mixture, tmp_path):
    model, labels = tmp_path / "model.npz", tmp_path / "labels.npy"
    flags = ["-k", "3,6", "--models", "2", "--seed", "4", "--json"]
    summary = json.loads(run(program, "fit", points_file, *flags, "--model", model, "--labels", labels))
    loaded = EnsembleKMeans.load(model)
    assert loaded.answer_ == summary["digest"]
    for column, k in enumerate((3, 6)):
        assert np.array_equal(loaded.predict(mixture, k=k), np.load(labels)[:, column])
    assert manymeans.predict(FitResult.load(model), mixture, 3).tolist() == np.load(labels)[:, 0].tolist()
    assert KMeans.load(model, k=6).n_clusters == 6
    assert EnsembleKMeans.load(model, criterion="inertia").best_.k == 6
    assert not hasattr(loaded, "best_")
    with pytest.raises(
        manymeans.UsageError,
        match=r"k = 3, 6.*say which k, as in result.best\(3\), or let a function of a model decide",
    ):
        KMeans.load(model)
    with pytest.raises(manymeans.UsageError, match=r"k = 3, 6.*set criterion before fit or in load"):
        loaded.predict(mixture)
    assert KMeans.load(model, criterion="inertia").n_clusters == 6
    for kind in KMeans, EnsembleKMeans:
        chosen = kind.load(model, criterion=lambda model: abs(model.k - 2))
        assert len(chosen.cluster_centers_) == 3
        assert np.array_equal(chosen.predict(mixture), loaded.predict(mixture, k=3))


@pytest.mark.parametrize("scale", ["standard", "minmax"])
def test_scaling_of_the_command_line_is_applied(scale, program, root, tmp_path):
    path, model, labels = root / "data" / "unbalance.txt.gz", tmp_path / "model.npz", tmp_path / "labels.npy"
    run(program, "fit", path, "-k", "8", "--seed", "2", "--scale", scale, "--model", model, "--labels", labels)
    X = manymeans.read(path).points
    assert np.array_equal(KMeans.load(model).predict(X), np.load(labels))
    assert np.array_equal(FitResult.load(model).predict(X), np.load(labels))
    assert KMeans.load(model).score(X) == pytest.approx(-KMeans.load(model).inertia_, rel=1e-12)


def test_names_of_columns_go_through_files(program, tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(np.random.default_rng(0).standard_normal((50, 2)), columns=["age", "income"])
    fitted = KMeans(3, random_state=0).fit(frame)
    fitted.save(tmp_path / "model.npz")
    again = KMeans.load(tmp_path / "model.npz")
    assert again.feature_names_in_.tolist() == ["age", "income"]
    assert np.array_equal(again.predict(frame), fitted.labels_)
    frame[["income", "age"]].to_csv(tmp_path / "swapped.csv", index=False, float_format="%.17g")
    run(program, "predict", tmp_path / "model.npz", tmp_path / "swapped.csv", "--labels", tmp_path / "labels.npy")
    assert np.array_equal(np.load(tmp_path / "labels.npy"), fitted.labels_)


def test_broken_model_files(tmp_path):
    with pytest.raises(FileNotFoundError):
        KMeans.load(tmp_path / "missing.npz")
    (tmp_path / "broken.npz").write_bytes(b"PK no zip")
    with pytest.raises(manymeans.BadDataError, match="broken.npz"):
        KMeans.load(tmp_path / "broken.npz")
    with pytest.raises(manymeans.UnavailableError):
        KMeans(2).fit(np.eye(3)).save(tmp_path / "no" / "folder.npz")


def test_functions(mixture):
    result = manymeans.fit(mixture, 5, seed=1)
    labels, distances = manymeans.predict(result, mixture, distances=True)
    assert np.array_equal(labels, result.best().labels)
    assert np.sum(distances**2) == pytest.approx(result.best().inertia, rel=1e-9)
    assert np.array_equal(manymeans.predict(result.best().cluster_centers, mixture), labels)
    assert np.array_equal(manymeans.predict(result.best(), mixture), labels)
    from_centers = manymeans.fit(mixture, 5, init=result.best().cluster_centers)
    assert from_centers.best().inertia <= result.best().inertia
    assert "cpu" in [backend["name"] for backend in manymeans.info()["backends"]]
    assert "npy" in [writer["name"] for writer in manymeans.info()["writers"]]


def test_kmeans_plusplus_is_what_a_fit_begins_with(mixture):
    for weights in (None, np.random.default_rng(1).uniform(0.1, 3, len(mixture))):
        centers, rows = manymeans.kmeans_plusplus(mixture, 9, sample_weight=weights, random_state=3)
        assert np.array_equal(centers, mixture[rows]) and len(set(rows.tolist())) == 9
        begun = manymeans.fit(mixture, 9, seed=3, init="k-means++", sample_weight=weights)
        given = manymeans.fit(mixture, 9, init=centers, sample_weight=weights)
        assert given.models[0].inertia == begun.models[0].inertia  # the clusters have other numbers
        order = np.argsort(-given.models[0].weights, kind="stable")
        assert np.array_equal(given.models[0].cluster_centers[order], begun.models[0].cluster_centers)
    for kind in (np.random.RandomState, np.random.default_rng):
        assert manymeans.kmeans_plusplus(mixture, 3, random_state=kind(0))[1].shape == (3,)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"k": 0}, "k"),
        ({"k": "2..x"}, "k"),
        ({"seed": -1}, "seed"),
        ({"seed": 2**64}, "seed"),
        ({"models": 0}, "models"),
        ({"init": "best"}, "init"),
        ({"stop": "never"}, "stop"),
        ({"empty": "fill"}, "empty"),
        ({"strategy": "all"}, "strategy"),
        ({"algorithm": "magic"}, "algorithm"),
        ({"backend": "abacus"}, "backend"),
        ({"tol": float("nan")}, "tol"),
        ({"max_iter": 1.5}, "max_iter"),
        ({"sample_weight": [1.0]}, "sample_weight"),
        ({"sample_weight": -np.ones(5000)}, "weight"),
        ({"sample_weight": np.zeros(5000)}, "weight"),
        ({"init": np.zeros((3, 6))}, "init"),
    ],
)
def test_wrong_options(options, words, mixture):
    with pytest.raises(manymeans.Error, match=words) as caught:
        manymeans.fit(mixture, **options)
    assert isinstance(caught.value, ValueError)


def test_backends_that_are_not_there(mixture):
    missing = [backend["name"] for backend in manymeans.info()["backends"] if not backend["available"]]
    for name in missing:
        with pytest.raises(manymeans.UnavailableError):
            manymeans.fit(mixture, 3, backend=name)


def test_read(root, tmp_path):
    data = manymeans.read(root / "data" / "s1.txt.gz")
    assert data.points.shape == (5000, 2) and data.points.dtype == np.float32
    (tmp_path / "table.csv").write_text("a,b,name,w\n1,2,x,0.5\n3,4,y,2\n")
    table = manymeans.read(tmp_path / "table.csv", columns=["a-b"], weights="w", dtype=np.float64)
    assert table.column_names == ["a", "b"]
    assert table.weights.tolist() == [0.5, 2]
    assert table.points.tolist() == [[1, 2], [3, 4]] and table.points.dtype == np.float64
    numbers = manymeans.read(tmp_path / "table.csv", numeric_only=True)
    assert numbers.column_names == ["a", "b", "w"] and numbers.warnings
    with pytest.raises(manymeans.BadDataError, match="table.csv"):
        manymeans.read(tmp_path / "table.csv")
    with pytest.raises(FileNotFoundError):
        manymeans.read(tmp_path / "missing.csv")


@pytest.mark.parametrize("said", ["much", float("nan"), None])
def test_a_criterion_that_fails_loses_no_models(said, mixture):
    ensemble = EnsembleKMeans([2, 3], random_state=0, criterion=lambda model: said)
    with pytest.raises(manymeans.UsageError, match=rf"\[criterion\] gives {said!r} for Model\(k=2"):
        ensemble.fit(mixture)
    assert [model.k for model in ensemble.models_] == [2, 3] == list(ensemble.best_of_k_)
    assert not hasattr(ensemble, "best_")
    assert set(ensemble.predict(mixture, k=3)) == {0, 1, 2}


def digests(result):
    return [model.digest for model in result.models]


def alone(X, centers, **options):
    return manymeans.fit(X, len(centers), init=centers, **options).models[0].digest


def test_an_ensemble_begins_with_given_models(mixture):
    given = [mixture[i : i + k] for k in (4, 7) for i in (0, 20, 40)]
    expected = [alone(mixture, centers) for centers in given]
    assert len(set(expected)) == 6
    for init in [given, tuple(given), [one.tolist() for one in given], [pd.DataFrame(one) for one in given]]:
        found = manymeans.fit(mixture, [4, 7], init=init)
        assert digests(found) == expected
        assert [model.replica for model in found.models] == [0, 1, 2, 0, 1, 2]
    init = np.stack(given[3:])
    for backend, n_threads in [("reference", 1), ("cpu", 1), ("cpu", 3), ("cpu,reference", 2)]:
        found = manymeans.fit(mixture, 7, models=3, init=init, backend=backend, n_threads=n_threads)
        assert digests(found) == expected[3:]
    assert (
        EnsembleKMeans([4, 7], models_per_k=3, init=given).fit(mixture).result_.digest
        == manymeans.fit(mixture, [4, 7], init=given).digest
    )


def test_an_ensemble_goes_on_from_models(mixture, tmp_path):
    begun = manymeans.fit(mixture, [4, 7], models=3, init="random", max_iter=1)
    expected = [alone(mixture, model.cluster_centers) for model in begun.models]
    begun.save(tmp_path / "m.npz")
    for init in (begun, begun.models, tmp_path / "m.npz"):
        assert digests(manymeans.fit(mixture, [4, 7], init=init)) == expected
    assert digests(manymeans.fit(mixture, 7, init=begun)) == expected[3:]
    best = manymeans.fit(mixture, [4, 7], models=1, init=begun)
    assert digests(best) == [alone(mixture, begun.best(k).cluster_centers) for k in (4, 7)]
    selected = [begun.models[5], begun.models[3]]  # as an algorithm of the user would
    assert digests(manymeans.fit(mixture, 7, init=selected)) == [expected[5], expected[3]]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"k": 7, "init": np.ones((3, 4, 6))}, r"\[init\] k is 7, init has 4; use the same"),
        ({"k": 4, "models": 2, "init": np.ones((3, 4, 6))}, r"\[init\] models is 2, init has 3; use the same"),
        ({"k": [4, 5], "init": [np.ones((4, 6)), np.ones((5, 6)), np.ones((4, 6))]}, "models of k = 4, 5, 4; as many"),
        ({"k": [4, 5], "init": [np.ones((4, 6)), np.ones((5, 5))]}, "different numbers of columns"),
        ({"k": 4, "init": np.ones((3, 4, 5))}, "they have 5 columns, the points have 6"),
        ({"k": 4, "models": 2, "init": np.ones((4, 6))}, "4 rows are given, k is 4 and models 2; 8 rows are right"),
        ({"k": 4, "init": []}, "init"),
    ],
)
def test_given_models_that_do_not_fit(mixture, options, text):
    with pytest.raises(ValueError, match=text):
        manymeans.fit(mixture, **options)
