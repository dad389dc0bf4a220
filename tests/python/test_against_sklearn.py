"""manymeans.KMeans beside sklearn.cluster.KMeans: the same answers, attributes, warnings and errors."""

import gzip
import inspect
import warnings

import numpy as np
import pytest
import sklearn.cluster
import sklearn.datasets
from scipy import sparse

import manymeans

OURS, THEIRS = manymeans.KMeans, sklearn.cluster.KMeans


def table(root, name, skip=0):
    path = root / "data" / name
    with gzip.open(path, "rt") if name.endswith(".gz") else open(path) as lines:
        return np.loadtxt(lines, skiprows=skip)


def blobs(n, d, centers, dtype, seed=0):
    X, _ = sklearn.datasets.make_blobs(n, d, centers=centers, random_state=seed)
    return X.astype(dtype)


def noise(n, d, dtype):
    return np.random.default_rng(1).standard_normal((n, d)).astype(dtype)


# name: (points, clusters, options)
CASES = {
    "iris": (lambda _: sklearn.datasets.load_iris().data, 3, {}),
    "iris, float32": (lambda _: sklearn.datasets.load_iris().data.astype("f4"), 3, {}),
    "wine": (lambda _: sklearn.datasets.load_wine().data, 3, {}),
    "breast cancer": (lambda _: sklearn.datasets.load_breast_cancer().data, 2, {}),
    "digits": (lambda _: sklearn.datasets.load_digits().data, 10, {}),
    "digits, uint8": (lambda _: sklearn.datasets.load_digits().data.astype(np.uint8), 10, {}),
    "digits, int64": (lambda _: sklearn.datasets.load_digits().data.astype(np.int64), 10, {}),
    "digits, float16": (lambda _: sklearn.datasets.load_digits().data.astype(np.float16), 10, {}),
    "diabetes": (lambda _: sklearn.datasets.load_diabetes().data, 5, {}),
    "S1": (lambda root: table(root, "s1.txt.gz"), 15, {}),
    "S1, tol 0": (lambda root: table(root, "s1.txt.gz"), 15, {"tol": 0}),
    "unbalance": (lambda root: table(root, "unbalance.txt.gz"), 8, {}),
    "dim032": (lambda root: table(root, "dim032.txt.gz"), 16, {}),
    "tsplib1060": (lambda root: table(root, "tsplib1060.txt", 1), 30, {}),
    "image segmentation": (lambda root: table(root, "image_segmentation.txt.gz", 1), 7, {}),
    "blobs, float32": (lambda _: blobs(3000, 8, 20, "f4"), 20, {}),
    "blobs, float64, elkan": (lambda _: blobs(3000, 8, 20, "f8"), 20, {"algorithm": "elkan"}),
    "blobs, 64 columns": (lambda _: blobs(1000, 64, 10, "f4"), 10, {"tol": 1e-6}),
    "blobs, one column": (lambda _: blobs(2000, 1, 6, "f8"), 6, {}),
    "one cluster": (lambda _: blobs(500, 3, 4, "f8"), 1, {}),
    "as many clusters as points": (lambda _: noise(20, 3, "f8"), 20, {}),
    "noise, 1 iteration": (lambda _: noise(2000, 5, "f8"), 12, {"max_iter": 1}),
    "noise, 7 iterations": (lambda _: noise(2000, 5, "f8"), 12, {"max_iter": 7, "tol": 0}),
    "noise, Fortran order": (lambda _: np.asfortranarray(noise(2000, 5, "f8")), 12, {"max_iter": 5}),
    "noise, strides": (lambda _: noise(4000, 10, "f8")[::2, ::2], 12, {"max_iter": 5}),
    "noise, list of lists": (lambda _: noise(300, 4, "f8").tolist(), 5, {}),
    "sparse": (lambda _: sparse.random(800, 30, 0.2, format="csr", random_state=3), 6, {}),
    "sparse, csc float32": (lambda _: sparse.random(800, 30, 0.2, format="csc", dtype="f4", random_state=3), 6, {}),
}


def initial_centers(X, k):
    """Rows moved a little, so that no row is exactly half-way between two centres."""
    dense = np.asarray(X.todense() if sparse.issparse(X) else X, dtype=np.float64)
    random = np.random.default_rng(11)
    rows = dense[random.choice(len(dense), k, replace=False)]
    return rows + 1e-3 * dense.std() * random.standard_normal(rows.shape)


def weights_for(X, weighted):
    return np.random.default_rng(2).uniform(0.5, 3, np.shape(X)[0]) if weighted else None


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
@pytest.mark.parametrize("name", CASES)
def test_same_answer_from_the_same_start(name, weighted, root):
    make, k, options = CASES[name]
    X = make(root)
    init, weights = initial_centers(X, k), weights_for(X, weighted)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = (
            kind(k, init=init, n_init=1, **options).fit(X, sample_weight=weights) for kind in (OURS, THEIRS)
        )
        assert ours.inertia_ == pytest.approx(theirs.inertia_, rel=1e-5, abs=1e-12)
        assert ours.labels_.shape == theirs.labels_.shape
        assert ours.labels_.dtype == theirs.labels_.dtype == np.int32
        assert ours.cluster_centers_.shape == theirs.cluster_centers_.shape
        assert ours.n_iter_ == theirs.n_iter_
        assert isinstance(ours.inertia_, float) and isinstance(ours.n_iter_, int)
        assert np.mean(ours.labels_ == theirs.labels_) > 0.999
        np.testing.assert_allclose(ours.cluster_centers_, theirs.cluster_centers_, rtol=1e-3, atol=1e-4)
        assert np.mean(ours.predict(X) == theirs.predict(X)) > 0.999
        mine, other = ours.transform(X), theirs.transform(X)
        np.testing.assert_allclose(mine, other, rtol=1e-3, atol=2e-3 * (1 + np.abs(other).max() / 1e3))
        assert ours.score(X, sample_weight=weights) == pytest.approx(
            theirs.score(X, sample_weight=weights), rel=1e-5, abs=1e-12
        )
    assert np.array_equal(ours.predict(X), ours.labels_)
    assert ours.score(X, sample_weight=weights) == -ours.inertia_
    for attribute in ("n_features_in_", "_n_features_out"):
        assert getattr(ours, attribute) == getattr(theirs, attribute)
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_dtypes_of_results(dtype):
    X = blobs(300, 4, 3, dtype)
    ours, theirs = (kind(3, random_state=0).fit(X) for kind in (OURS, THEIRS))
    assert ours.cluster_centers_.dtype == theirs.cluster_centers_.dtype == np.dtype(dtype)
    assert ours.transform(X).dtype == theirs.transform(X).dtype == np.dtype(dtype)
    assert ours.fit_transform(X).dtype == np.dtype(dtype)
    assert ours.predict(X).dtype == theirs.predict(X).dtype


@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_quality_of_initialisations(init, root):
    X = table(root, "s1.txt.gz")
    ours, theirs = (
        np.median([kind(15, init=init, n_init=1, random_state=seed).fit(X).inertia_ for seed in range(20)])
        for kind in (OURS, THEIRS)
    )
    assert ours < 1.25 * theirs


def test_callable_init():
    X = blobs(500, 3, 5, "f8")
    calls = []

    def choose(points, k, random_state):
        calls.append(k)
        return points[random_state.permutation(len(points))[:k]]

    ours, theirs = (kind(5, init=choose, n_init=4, random_state=3).fit(X) for kind in (OURS, THEIRS))
    assert calls == [5] * 8
    assert ours.inertia_ == pytest.approx(theirs.inertia_, rel=1e-9)
    assert len(ours.result_.models) == 4


def test_parameters_and_methods_of_scikit_learn():
    theirs = inspect.signature(THEIRS.__init__).parameters
    ours = inspect.signature(OURS.__init__).parameters
    for name, parameter in theirs.items():
        assert ours[name].default == parameter.default, name
        assert ours[name].kind == parameter.kind, name
    X = blobs(100, 2, 3, "f8")
    fitted = THEIRS(3, random_state=0).fit(X)
    mine = OURS(3, random_state=0).fit(X)
    public = {name for name in dir(fitted) if not name.startswith("_")}
    assert public <= set(dir(mine))
    for name in public:
        if callable(getattr(THEIRS, name, None)):
            wanted = list(inspect.signature(getattr(THEIRS, name)).parameters)
            assert list(inspect.signature(getattr(OURS, name)).parameters)[: len(wanted)] == wanted, name


def bad_calls():
    X = np.random.default_rng(0).standard_normal((30, 3))
    broken, infinite = X.copy(), X.copy()
    broken[4, 1] = np.nan
    infinite[2, 2] = np.inf
    return {
        # name: (parameters, what fit gets, words that say what was wrong)
        "NaN": ({}, (broken,), "NaN"),
        "infinity": ({}, (infinite,), "inf"),
        "one dimension": ({}, (X[0],), "2D array"),
        "three dimensions": ({}, (X[None],), "dim"),
        "no rows": ({}, (X[:0],), "0 sample"),
        "no columns": ({}, (X[:, :0],), "0 feature"),
        "text": ({}, ([["a", "b"], ["c", "d"]],), "convert"),
        "complex": ({}, (X + 1j,), "Complex"),
        "scalar": ({}, (5.0,), "2D array"),
        "more clusters than rows": ({"n_clusters": 31}, (X,), "n_samples=30 should be >= n_clusters=31"),
        "no clusters": ({"n_clusters": 0}, (X,), "n_clusters"),
        "clusters of a wrong type": ({"n_clusters": 2.5}, (X,), "n_clusters"),
        "unknown init": ({"init": "best"}, (X,), "init"),
        "init with too few rows": ({"n_clusters": 3, "init": X[:2]}, (X,), "initial centers"),
        "init with too few columns": ({"n_clusters": 3, "init": X[:3, :2]}, (X,), "initial centers"),
        "init with NaN": ({"n_clusters": 5, "init": broken[:5]}, (X,), "NaN"),
        "init callable, wrong shape": ({"init": lambda X, k, random_state: X[:2]}, (X,), "initial centers"),
        "n_init": ({"n_init": 0}, (X,), "n_init"),
        "max_iter": ({"max_iter": 0}, (X,), "max_iter"),
        "tol": ({"tol": -1.0}, (X,), "tol"),
        "algorithm": ({"algorithm": "magic"}, (X,), "algorithm"),
        "random_state": ({"random_state": "x"}, (X,), "random_state"),
        "copy_x": ({"copy_x": "x"}, (X,), "copy_x"),
        "weights of another length": ({}, (X, None, np.ones(29)), "sample_weight"),
        "weights with NaN": ({}, (X, None, np.full(30, np.nan)), "NaN"),
        "weights of two dimensions": ({}, (X, None, np.ones((30, 2))), "weights"),
    }


@pytest.mark.parametrize("name", bad_calls())
def test_same_errors(name):
    parameters, arguments, words = bad_calls()[name]
    found = []
    for kind in (OURS, THEIRS):
        with pytest.raises(Exception) as caught:
            kind(**parameters).fit(*arguments)
        found.append(caught)
    ours, theirs = found
    assert issubclass(ours.type, theirs.type), (ours.type, theirs.type)
    assert words.lower() in str(ours.value).lower()


@pytest.mark.parametrize("method", ["predict", "transform", "score"])
def test_same_errors_after_fit(method):
    X = blobs(50, 3, 3, "f8")
    broken = X.copy()
    broken[0, 0] = np.nan
    for argument, words in ((X[:, :2], "features"), (broken, "NaN"), (X[0], "2D array")):
        types = []
        for kind in (OURS, THEIRS):
            with pytest.raises(Exception) as caught:
                getattr(kind(3, random_state=0).fit(X), method)(argument)
            types.append(caught.type)
            assert words in str(caught.value)
        assert issubclass(*types)
    with pytest.raises(sklearn.exceptions.NotFittedError):
        getattr(OURS(3), method)(X)


def test_same_warnings():
    X = np.repeat([[0.0, 0], [1, 1], [5, 5]], 10, axis=0)
    for parameters, data in (
        ({"n_clusters": 6, "random_state": 0}, X),
        ({"n_clusters": 3, "init": X[[0, 10, 20]], "n_init": 5}, X),
        ({"n_clusters": 1, "algorithm": "elkan"}, X),
    ):
        found = []
        for kind in (OURS, THEIRS):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                kind(**parameters).fit(data)
            found.append([(one.category, str(one.message)) for one in caught])
        assert found[0] == found[1]


def test_points_are_not_written_to():
    for copy_x in (True, False):
        X = blobs(200, 3, 3, "f8")
        before = X.copy()
        OURS(3, copy_x=copy_x, random_state=0).fit(X)
        assert np.array_equal(X, before)


@pytest.mark.parametrize("init", ["random", "k-means++", "k-means||"])
def test_rows_that_hardly_count_are_no_initial_centres(init):
    """random draws by weight, as in scikit-learn."""
    random = np.random.default_rng(4)
    X = np.concatenate([random.normal([i, 0], 0.01, (5, 2)) for i in range(5)] + [random.uniform(-3, 8, (500, 2))])
    weights = np.where(np.arange(525) < 25, 1.0, np.where(np.arange(525) < 275, 1e-12, 0))
    for kind in (OURS, THEIRS) if init != "k-means||" else (OURS,):
        begun = kind(10, init=init, n_init=20, max_iter=1, random_state=0).fit(X, sample_weight=weights)
        assert begun.inertia_ < 1
    for seed in range(10):
        first = manymeans.fit(X, 10, init=init, seed=seed, max_iter=0, sample_weight=weights).best().cluster_centers
        assert {tuple(row) for row in first} <= {tuple(row) for row in X[:25]}


def test_more_clusters_than_rows_that_count():
    X = np.arange(10.0)[:, None]
    with pytest.warns(UserWarning, match="only 3 rows of a weight above zero"):
        result = manymeans.fit(X, 5, init="random", max_iter=0, sample_weight=[0, 0, 1, 0, 2, 0, 0, 3, 0, 0])
    assert {2.0, 4.0, 7.0} <= set(result.best().cluster_centers.ravel())
    assert sorted(result.best().cluster_centers[:3].ravel()) == [2, 4, 7]
