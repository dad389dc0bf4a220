"""What users pass beside the points: integers, switches, names of files, of every kind that Python has."""

import os
import pathlib
import warnings

import numpy as np
import pandas
import pytest

import manymeans
from manymeans import EnsembleKMeans, FitResult, KMeans, _parameters

INTEGERS = [3, np.int8(3), np.uint64(3), np.int64(3), np.array(3), np.array(3, dtype=np.uint8)]
NO_INTEGERS = [
    3.7, 3.0, np.float64(3), np.float32(3.5), np.array(3.0), np.array([3]), True, np.True_, np.array(True), "three",
    b"3", None, 3 + 0j, object(),
]  # fmt: skip


def fit_with(name):
    return lambda X, value: manymeans.fit(X, **({"k": 3} | {name: value}))


WHERE = {
    "k": fit_with("k"),
    "k in a list": lambda X, value: manymeans.fit(X, [2, value]),
    "models": fit_with("models"),
    "seed": fit_with("seed"),
    "model_seed": fit_with("model_seed"),
    "max_iter": fit_with("max_iter"),
    "n_threads": fit_with("n_threads"),
    "checkpoint_every": lambda X, value: manymeans.fit(X, 3, checkpoint=os.devnull + ".x", checkpoint_every=value),
    "best": lambda X, value: manymeans.fit(X, [2, 3]).best(value),
    "predict": lambda X, value: manymeans.predict(manymeans.fit(X, [2, 3]), X, value),
    "kmeans_plusplus": lambda X, value: manymeans.kmeans_plusplus(X, value),
    "clusters of an ensemble": lambda X, value: EnsembleKMeans([2, value]).fit(X),
}
OPTIONAL = ("models", "model_seed", "n_threads", "best", "predict")


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).standard_normal((50, 2)).astype("f4")


@pytest.mark.parametrize("where", WHERE)
def test_integers(where, X, monkeypatch):
    found = []
    monkeypatch.setattr(manymeans._functions, "run_fit", _seen(found, manymeans._functions.run_fit))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the checkpoint that cannot be written
        for value in INTEGERS:
            WHERE[where](X, value)
    assert all(result.digest == found[0].digest for result in found)


def _seen(found, run_fit):
    def watch(*arguments, **options):
        found.append(run_fit(*arguments, **options))
        return found[-1]

    return watch


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("value", NO_INTEGERS, ids=repr)
def test_what_is_no_integer(where, value, X):
    if value is None and where in OPTIONAL:
        return
    if where == "k" and isinstance(value, np.ndarray) and value.ndim == 1:
        return  # a list of one
    with pytest.raises(manymeans.UsageError):
        WHERE[where](X, value)


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, 10**30, -1])
@pytest.mark.parametrize("where", ["k", "models", "max_iter", "n_threads", "checkpoint_every", "best"])
def test_integers_out_of_range(where, value, X):
    with pytest.raises(manymeans.UsageError):
        WHERE[where](X, value)


@pytest.mark.parametrize("name", ["tol", "time_limit"])
def test_reals(name, X):
    for value in (1, 0.5, np.float32(0.5), np.int64(1), np.array(0.5)):
        manymeans.fit(X, 3, **{name: value})
    for value in ("0.5", True, np.True_, [0.5], b"1", 1j, float("nan"), -1, 10**400):
        with pytest.raises(manymeans.UsageError, match=name):
            manymeans.fit(X, 3, **{name: value})


@pytest.mark.parametrize("name", ["resume", "progress"])
def test_switches(name, X):
    for value in ("no", 0, 1, None, []):
        with pytest.raises(manymeans.UsageError, match=name):
            manymeans.fit(X, 3, checkpoint="x", **{name: value})
    with pytest.raises(manymeans.UsageError, match="distances"):
        manymeans.predict(X[:2], X, distances="no")
    assert _parameters.switch("x", np.True_) is True


@pytest.mark.parametrize("memory", ["1XB", "", "GB", "-1GB", "1e3MB", "1\udcff", -1, 1.5, True, b"1GB", 2**63])
def test_memory_that_is_no_size(memory, X):
    with pytest.raises(manymeans.UsageError, match="memory") as caught:
        manymeans.fit(X, 3, memory=memory)
    assert isinstance(caught.value, ValueError) and not isinstance(caught.value, MemoryError)


def test_too_little_memory_is_another_error(X):
    with pytest.raises(manymeans.OutOfMemoryError):
        manymeans.fit(X, 3, memory=1)


def test_random_state_of_one_number(X):
    """As in scikit-learn: s, RandomState(s) and numpy.random.seed(s) mean the same, and generators go on."""
    for init in ("k-means++", "random", lambda X, k, random_state: X[random_state.permutation(len(X))[:k]]):
        expected = KMeans(4, init=init, n_init=2, random_state=7).fit(X).answer_
        generator = np.random.RandomState(7)
        assert KMeans(4, init=init, n_init=2, random_state=generator).fit(X).answer_ == expected
        assert KMeans(4, init=init, n_init=2, random_state=generator).fit(X).answer_ != expected
        np.random.seed(7)
        assert KMeans(4, init=init, n_init=2).fit(X).answer_ == expected
        assert KMeans(4, init=init, n_init=2).fit(X).answer_ != expected
    used = np.random.RandomState(7)
    used.random_sample()
    assert manymeans.kmeans_plusplus(X, 4, random_state=used)[1].tolist() != rows_of(X, 7)
    assert manymeans.kmeans_plusplus(X, 4, random_state=np.random.RandomState(7))[1].tolist() == rows_of(X, 7)
    assert manymeans.kmeans_plusplus(X, 4, random_state=np.random.RandomState(2**32 - 1))[1].tolist() == rows_of(
        X, 2**32 - 1
    )


def rows_of(X, seed):
    return manymeans.kmeans_plusplus(X, 4, random_state=seed)[1].tolist()


def test_given_centres_draw_nothing(X):
    generator = np.random.RandomState(3)
    KMeans(3, init=X[:3], n_init=1, random_state=generator).fit(X)
    assert generator.randint(1000) == np.random.RandomState(3).randint(1000)


NAMES = [b"plain", "caf\u00e9".encode(), b"caf\xe9", b"\xff\xfe", b"a b\nc", "\U0001f600".encode()]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", [bytes, os.fsdecode, lambda name: pathlib.Path(os.fsdecode(name))])
def test_names_of_files(name, kind, X, tmp_path):
    folder = os.fsencode(tmp_path)
    points, model = folder + b"/" + name + b".npy", folder + b"/" + name + b".npz"
    checkpoint, weights = folder + b"/" + name + b".ckpt", folder + b"/" + name + b".w.npy"
    with open(points, "wb") as file:
        np.save(file, X)
    with open(weights, "wb") as file:
        np.save(file, np.arange(1.0, 51))
    data = manymeans.read(kind(points), weights=kind(weights) if kind is not os.fsdecode else weights)
    assert np.array_equal(data.points, X) and data.weights[-1] == 50
    result = manymeans.fit(X, 3, checkpoint=kind(checkpoint))
    result.save(kind(model))
    assert {points, model, checkpoint, weights} == {folder + b"/" + found for found in os.listdir(folder)}
    assert FitResult.load(kind(model)).digest == KMeans.load(kind(model)).answer_ == result.digest
    again = manymeans.fit(X, 3, checkpoint=kind(checkpoint), resume=True)
    assert again.digest == result.digest
    os.truncate(model, 100)
    with pytest.raises(manymeans.BadDataError) as caught:
        FitResult.load(kind(model))
    assert os.fsdecode(model) in str(caught.value)
    os.remove(points)
    with pytest.raises(FileNotFoundError):
        manymeans.read(kind(points))


@pytest.mark.parametrize(
    "path", ["", b"", "a\0b.npy", b"a\0b.npy", pathlib.Path("a\0b.npy"), 3, None, 1.5, "\ud800", ["x"]], ids=repr
)
def test_names_that_are_none(path, X, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").write_text("1\n2\n")
    result = manymeans.fit(X, 2)
    calls = [manymeans.read, result.save, FitResult.load, KMeans.load, EnsembleKMeans.load]
    if path is not None:
        calls.append(lambda path: manymeans.fit(X, 2, checkpoint=path))
    if isinstance(path, os.PathLike):
        calls.append(lambda path: manymeans.read("a", format="text", weights=path))
    for call in calls:
        with pytest.raises(manymeans.UsageError):
            call(path)
    assert os.listdir(tmp_path) == ["a"]


def test_headers_that_are_no_utf8(program, tmp_path):
    """Nothing raises, and the names that read gives choose the same columns again."""
    path = tmp_path / "table.csv"
    path.write_bytes("größe,länge,w\n".encode("latin-1") + b"1,2,1\n3,5,2\n8,9,1\n")
    data = manymeans.read(path)
    assert [name.encode("utf-8", "surrogateescape") for name in data.column_names] == [
        b"gr\xf6\xdfe",
        b"l\xe4nge",
        b"w",
    ]
    again = manymeans.read(path, columns=[data.column_names[1]], weights=data.column_names[2])
    assert again.column_names == [data.column_names[1]]
    assert again.points.tolist() == [[2], [5], [9]] and again.weights.tolist() == [1, 2, 1]
    with pytest.raises(manymeans.BadDataError) as caught:
        path.write_bytes("größe\n".encode("latin-1") + b"x\n")
        manymeans.read(path)
    str(caught.value).encode("utf-8", "surrogateescape")


def test_names_of_columns_of_any_bytes_go_through_model_files(X, tmp_path):
    result = manymeans.fit(X, 2)
    result.column_names = ["gr\udcf6\udcdfe", "caf\u00e9"]
    result.save(tmp_path / "model.npz")
    assert FitResult.load(tmp_path / "model.npz").column_names == result.column_names


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"callback": 3}, r"\[callback\] is 3; a function"),
        ({"n_threads": "x"}, r"\[n_threads\] is 'x'; an integer is right"),
        ({"max_iter": -1}, r"\[max_iter\] is -1; it must be between 0 and"),
    ],
)
def test_wrong_options_say_what_is_right(options, words, X):
    with pytest.raises(manymeans.UsageError, match=words):
        manymeans.fit(X, 2, **options)


SHARD = manymeans.Shard([[0.0], [1.0], [5.0]])
SCAN = SHARD.scan(SHARD.shape())
BIG, LONE = 10**400, "\ud800"
OF_PANDAS = [pandas.NA, pandas.NaT, pandas.Timestamp("2020-01-01"), pandas.DataFrame({"a": [1.0]}).groupby("a")]
USES = {
    "answer": (SHARD.answer, [None, "x", object()]),
    "scan": (SHARD.scan, [None, "x", b"x"]),
    "statistics": (lambda value: SHARD.statistics(value, [[[0.0]]]), [None, SHARD.shape()]),
    "models": (lambda value: SHARD.statistics(SCAN, value), [None, 5]),
    "previous": (lambda value: SHARD.statistics(SCAN, [[[0.0]]], value), [5, object()]),
    "solve": (manymeans.solve, [None, "x", SCAN]),
    "merge": (lambda value: manymeans.merge_answers(value, b""), [None, "x"]),
    "Statistics": (lambda value: manymeans.Statistics(value, b""), [None, "x"]),
    "from_bytes": (manymeans.Answer.from_bytes, [None, "x"]),
    "points": (lambda value: manymeans.fit(value, 1), [*OF_PANDAS, [[BIG]]]),
    "weights": (lambda value: manymeans.fit([[1.0]], 1, sample_weight=value), [*OF_PANDAS, BIG]),
    "weights of an estimator": (lambda value: KMeans(1).fit([[1.0]], sample_weight=value), [*OF_PANDAS, BIG]),
    "init": (lambda value: manymeans.fit([[1.0]], 1, init=value), [*OF_PANDAS, BIG, LONE]),
    "model": (lambda value: manymeans.predict(value, [[1.0]]), [*OF_PANDAS, BIG, manymeans.BisectingKMeans()]),
    "labels": (lambda value: manymeans.compare(value, [0]), [OF_PANDAS[-1], [1.5], [BIG], KMeans(1)]),
    "tol": (lambda value: KMeans(1, tol=value).fit([[1.0]]), [BIG]),
    "search": (lambda value: KMeans(1, search=value).fit([[1.0]]), [BIG]),
    "ensemble": (lambda value: manymeans.consensus(value, 1), [None, 5, pathlib.Path("x"), EnsembleKMeans()]),
    "method": (lambda value: manymeans.consensus(manymeans.fit([[1.0]], 1), 1, method=value), [None, LONE, np.ones(2)]),
    "title": (lambda value: manymeans.report(manymeans.fit([[1.0]], 1), title=value), [5, LONE]),
    "return_counts": (lambda value: manymeans.multiply([[1.0]], [[1.0]], return_counts=value), ["no", None]),
    "k": (lambda value: manymeans.fit([[1.0]], value), [LONE, None, BIG]),
    "stop": (lambda value: manymeans.fit([[1.0]], 1, stop=value), [LONE, None, np.ones(2)]),
}  # fmt: skip


@pytest.mark.parametrize("use", USES)
def test_what_is_wrong_is_an_error_of_this_package(use):
    call, values = USES[use]
    for value in values:
        with pytest.raises(manymeans.Error):
            call(value)


@pytest.mark.parametrize("name", ["columns", "exclude", "id", "weights", "format", "dtype"])
def test_read_says_what_names_columns(name, tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n1,2\n3,4\n")
    for value in (LONE, [LONE], 2.5, np.ones(2)):
        with pytest.raises(manymeans.Error, match=name):
            manymeans.read(tmp_path / "a.csv", **{name: value})
    assert manymeans.read(tmp_path / "a.csv", columns=np.array(2)).column_names == ["b"]
    with pytest.raises(manymeans.UsageError, match=r"\[weights\] is \['a'\]; the name or number of a column is right"):
        manymeans.read(tmp_path / "a.csv", weights=["a"])


@pytest.mark.parametrize("estimator", [KMeans, EnsembleKMeans, manymeans.MiniBatchKMeans, manymeans.BisectingKMeans])
@pytest.mark.parametrize("name", ["n_clusters", "max_iter"])
def test_a_bool_is_no_integer_of_an_estimator(estimator, name):
    with pytest.raises(ValueError, match=rf"'{name}' parameter of {estimator.__name__} must be an int"):
        estimator(**{name: True}).fit([[1.0], [2.0]])


def test_a_share_is_at_most_one():
    with pytest.raises(ValueError, match="reassignment_ratio"):
        manymeans.MiniBatchKMeans(1, reassignment_ratio=2.0).fit([[1.0], [2.0]])


def test_what_is_advised_can_be_done(X):
    result = manymeans.fit(X, [2, 3], models=2)
    ensemble = EnsembleKMeans([2, 3], random_state=0).fit(X)
    for use in (
        lambda: manymeans.compare(result, result), lambda: manymeans.criteria(X, result),
        lambda: manymeans.compare(ensemble, ensemble),
    ):  # fmt: skip
        with pytest.raises(manymeans.UsageError, match=r"say which k, as in result.best\(2\), or"):
            use()
    assert manymeans.compare(result.best(2), result.best(2)).adjusted_rand == 1
    for init in (result, result.best(2)):
        assert manymeans.fit(X, 2, init=init).best().inertia <= result.best(2).inertia
    for estimator in (manymeans.BisectingKMeans(2), manymeans.MiniBatchKMeans(2)):
        with pytest.raises(manymeans.UsageError, match=r"\[model\] is \w+KMeans.*Estimators have a method predict"):
            manymeans.predict(estimator.fit(X), X)
        with pytest.raises(
            manymeans.UsageError, match="a fitted KMeans, EnsembleKMeans or RegressionClustering is right"
        ):
            manymeans.report(estimator)
    for wrong in (manymeans.choose_k(X, [2], models=1), manymeans.RegressionClustering(2).fit(X, X[:, 0])):
        with pytest.raises(manymeans.UsageError, match=r"result of a Choice\), a Model, or centres"):
            manymeans.predict(wrong, X)
    with pytest.raises(manymeans.UsageError, match=r"\[n_clusters\] 2 is given twice; models_per_k fits"):
        EnsembleKMeans([2, 2]).fit(X)
    with pytest.raises(manymeans.UsageError, match=r"^\[time\] a search without a limit"):
        manymeans.search(X, 3, time=0)


def test_an_init_file_gives_the_best_model_of_this_k(X, tmp_path):
    result = manymeans.fit(X, [2, 3], models=2)
    result.save(tmp_path / "many.npz")
    found = manymeans.fit(X, 3, init=tmp_path / "many.npz", max_iter=0).best()
    assert np.array_equal(found.cluster_centers, result.best(3).cluster_centers)
