"""Sparse matrices give the answers of the dense arrays of the same numbers."""

import json
import subprocess

import numpy as np
import pytest
from scipy import sparse

import manymeans
from manymeans import EnsembleKMeans, KMeans


def made(rows=400, columns=300, share=0.03, dtype="f4", seed=0):
    X = sparse.random(rows, columns, share, format="csr", dtype=dtype, random_state=seed)
    X[7] = 0  # an empty row
    X.eliminate_zeros()
    return X


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(
    "make", [sparse.csr_matrix, sparse.csr_array, sparse.csc_array, sparse.coo_matrix, sparse.lil_array]
)
def test_everything_is_as_of_the_dense_array(make, dtype):
    X = made(dtype=dtype)
    given, dense = make(X), X.toarray()
    weights = np.arange(len(dense)) % 4 + 0.5
    for init in ("k-means++", "random", dense[:6]):
        ours = KMeans(6, init=init, random_state=3, n_init=1).fit(given, sample_weight=weights)
        theirs = KMeans(6, init=init, random_state=3, n_init=1).fit(dense, sample_weight=weights)
        assert ours.answer_ == theirs.answer_
        assert ours.inertia_ == theirs.inertia_
    assert np.array_equal(ours.predict(given), theirs.labels_)
    assert np.array_equal(ours.transform(given), theirs.transform(dense))
    assert ours.score(given, sample_weight=weights) == -theirs.inertia_
    assert np.array_equal(ours.fit_predict(given), theirs.fit_predict(dense))
    assert manymeans.fit(given, [2, 5], models=2).digest == manymeans.fit(dense, [2, 5], models=2).digest
    labels, distances = manymeans.predict(dense[:3], given, distances=True)
    expected = manymeans.predict(dense[:3], dense, distances=True)
    assert np.array_equal(labels, expected[0])
    assert np.array_equal(distances, expected[1])
    assert manymeans.kmeans_plusplus(given, 4)[1].tolist() == manymeans.kmeans_plusplus(dense, 4)[1].tolist()


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_cosine(dtype, tmp_path):
    X = made(dtype=dtype)[8:]
    X = X[np.diff(X.indptr) > 0]
    X.data -= 0.5
    dense = X.toarray()
    ours = KMeans(6, metric="cosine", random_state=3).fit(X)
    theirs = KMeans(6, metric="cosine", random_state=3).fit(dense)
    assert ours.answer_ == theirs.answer_
    before = X.data.copy()
    assert np.array_equal(ours.predict(X), theirs.labels_)
    assert np.array_equal(ours.transform(X), theirs.transform(dense))
    assert ours.score(X) == -theirs.inertia_
    assert np.array_equal(X.data, before)
    ours.save(tmp_path / "model.npz")
    assert np.array_equal(KMeans.load(tmp_path / "model.npz").predict(X), theirs.labels_)
    wanted = {"metric": "cosine", "models": 2}
    assert manymeans.fit(X, [2, 5], **wanted).digest == manymeans.fit(dense, [2, 5], **wanted).digest
    reference = manymeans.fit(X, [2, 5], backend="reference", **wanted)
    assert reference.digest == manymeans.fit(X, [2, 5], backend="cpu", **wanted).digest
    assert np.array_equal(manymeans.predict(reference, X, k=5), manymeans.predict(reference, dense, k=5))
    assert np.allclose(ours.summary()["spread"], theirs.summary(dense)["spread"])
    empty = sparse.csr_matrix(made(dtype=dtype))
    for work in (lambda: KMeans(6, metric="cosine").fit(empty), lambda: ours.predict(empty)):
        with pytest.raises(manymeans.BadDataError, match="row 7 is all zeros, which has no direction"):
            work()


def test_ensembles():
    X = made()
    ours = EnsembleKMeans([2, 4], models_per_k=2, random_state=1).fit(X)
    theirs = EnsembleKMeans([2, 4], models_per_k=2, random_state=1).fit(X.toarray())
    assert ours.answer_ == theirs.answer_
    assert np.array_equal(ours.predict(X, k=4), theirs.predict(X.toarray(), k=4))


@pytest.mark.parametrize("dtype", ["i1", "u1", "i8", "?"])
def test_types_that_are_converted(dtype):
    X = sparse.csr_matrix((made().toarray() * 100).astype(dtype))
    assert KMeans(3, random_state=0).fit(X).answer_ == KMeans(3, random_state=0).fit(X.toarray()).answer_


def test_float16_centres_of_another_type_and_wide_indices():
    dense = made().toarray().astype("f2")
    X = sparse.csr_array(dense.astype("f4"))
    assert manymeans.fit(X, 3).digest == manymeans.fit(dense, 3).digest
    centres = dense[:3].astype("f8") + 1e-9
    assert np.array_equal(manymeans.predict(centres, X), manymeans.predict(centres, dense))
    wide = sparse.csr_array((X.data, X.indices.astype("i8"), X.indptr.astype("i8")), shape=X.shape)
    assert manymeans.fit(wide, 3).digest == manymeans.fit(dense, 3).digest


def test_unsorted_and_repeated_entries_are_sorted_and_added_up():
    X = sparse.csr_matrix(
        (np.array([1, 2, 3, 4, 5.0]), np.array([3, 0, 1, 1, 2]), np.array([0, 2, 4, 5])), shape=(3, 5)
    )
    before = X.indices.copy(), X.data.copy()
    assert manymeans.fit(X, 2).digest == manymeans.fit(X.toarray(), 2).digest
    assert np.array_equal(X.indices, before[0])
    assert np.array_equal(X.data, before[1])


def test_what_is_wrong_is_named():
    X = made(20, 10, 0.3)
    X.data[0] = np.nan
    row, column = X.nonzero()[0][0], X.indices[0]
    with pytest.raises(manymeans.BadDataError, match=f"row {row}, column {column} is NaN"):
        manymeans.fit(X, 2)
    X = made(20, 10, 0.3)
    assert X.has_canonical_format
    X.indices[0] = 10
    with pytest.raises(manymeans.BadDataError, match="do not fit together: .*indices must be < 10"):
        manymeans.fit(X, 2)
    with pytest.raises(manymeans.BadDataError, match="numbers are needed"):
        manymeans.fit(sparse.csr_matrix(np.eye(3) * 1j), 2)


FAR = 10**8


@pytest.mark.parametrize(
    ("kind", "part", "value"),
    [
        ("csr", "indptr", FAR),
        ("csr", "indptr", -FAR),
        ("csr", "indices", FAR),
        ("csr", "indices", -FAR),
        ("csc", "indptr", FAR),
        ("csc", "indices", FAR),
        ("csc", "indices", -FAR),
        ("bsr", "indices", FAR),
        ("coo", "row", FAR),
        ("coo", "col", -FAR),
        ("lil", "rows", [FAR]),
        ("lil", "rows", [-1]),
    ],
)
def test_indices_that_point_elsewhere(kind, part, value):
    """SciPy would write there, as soon as it converts such a matrix."""
    X = made(60, 10, 0.3).asformat(kind)
    getattr(X, part)[3] = value
    centers = manymeans.fit(np.eye(10), 2)
    for use in (
        lambda: manymeans.fit(X, 2),
        lambda: manymeans.KMeans(2).fit(X),
        lambda: manymeans.MiniBatchKMeans(2).fit(X),
        lambda: manymeans.HierarchicalKMeans(2).fit(X),
        lambda: centers.predict(X),
        lambda: manymeans.Shard(X),
        lambda: manymeans.choose_k(X, [1, 2]),
    ):
        with pytest.raises(manymeans.BadDataError, match="X is a sparse matrix whose parts do not fit together"):
            use()


def test_what_does_not_read_sparse_matrices_says_so():
    X = made(50, 10, 0.3)
    assert manymeans.fit(X, 2, memory="1GB").digest == manymeans.fit(X, 2).digest
    with pytest.raises(manymeans.UnavailableError, match=r"\(memory \d+MiB\)"):
        manymeans.fit(X, 2, memory="1MiB")
    for options in ({"algorithm": "kdtree"}, {"algorithm": "bounds"}):
        with pytest.raises(manymeans.UsageError, match="sparse"):
            manymeans.fit(X, 2, **options)
    with pytest.raises((manymeans.UsageError, manymeans.UnavailableError), match=r"sparse|backend|cuda"):
        manymeans.fit(X, 2, backend="cuda")


def test_summary_and_a_callable_init():
    X = made(60, 20, 0.2)
    seen = []

    def init(given, k, random_state):
        seen.append(type(given))
        return given[:k].toarray()

    fitted = KMeans(3, init=init, n_init=1).fit(X)
    assert sparse.issparse(X)
    assert seen[0] is type(X)
    dense = KMeans(3, init=X[:3].toarray(), n_init=1).fit(X.toarray())
    assert fitted.answer_ == dense.answer_
    ours, theirs = fitted.summary(), dense.summary(X.toarray())
    assert np.array_equal(ours["size"], theirs["size"])
    assert np.allclose(ours["spread"], theirs["spread"])


def test_a_saved_model_labels_sparse_points(tmp_path):
    X = made()
    fitted = KMeans(4, random_state=0).fit(X)
    fitted.save(tmp_path / "model.npz")
    loaded = KMeans.load(tmp_path / "model.npz")
    assert np.array_equal(loaded.predict(X), fitted.labels_)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i8", "?"])
def test_the_program_reads_what_scipy_writes(dtype, tmp_path, program):
    X = (made() * 9).astype(dtype)
    X.eliminate_zeros()
    sparse.save_npz(tmp_path / "counts.npz", X)
    sparse.save_npz(tmp_path / "wide.npz", sparse.csr_array(X), compressed=False)
    expected = manymeans.fit(X if dtype in ("f4", "f8") else X.astype("f4"), 4).digest
    for name in "counts.npz", "wide.npz":
        wanted = [program, "fit", name, "-k", "4", "--json"]
        done = subprocess.run(wanted, cwd=tmp_path, capture_output=True, text=True, check=True)
        assert json.loads(done.stdout)["digest"] == expected
    with pytest.raises(manymeans.UsageError, match=r"scipy\.sparse\.load_npz"):
        manymeans.read(tmp_path / "counts.npz")


def test_the_page_names_top_terms():
    X = sparse.random(60, 30, 0.2, format="csr", dtype="f4", random_state=1)
    result, names = manymeans.fit(X, 3), [f"term {j}" for j in range(30)]
    page = manymeans.report(result, X, names=names)
    for card in manymeans.cards(result, X, names=names):
        assert f"<p>top terms: {', '.join(name for name, _, _ in card.terms)}</p>" in page
    with pytest.raises(manymeans.UsageError, match=r"\[names\] has 29 names, and there are 30 columns"):
        manymeans.report(result, X, names=names[:-1])


def test_what_judges_reads_sparse_matrices(monkeypatch):
    """Nothing makes them dense, and nothing changes."""
    X = made(60, 20, 0.2)
    dense, result = X.toarray(), manymeans.fit(X, [2, 3], models=3)
    ways = {
        "search": lambda X: manymeans.search(X, 3, rounds=3).digest,
        "choose_k": lambda X: repr(manymeans.choose_k(X, [2, 3], models=2).table()),
        "consensus": lambda X: manymeans.consensus(result, 3, X).digest,
        "criteria": lambda X: repr(manymeans.criteria(X, result.best(3))),
        "criteria of some": lambda X: repr(manymeans.criteria(X, np.arange(60) % 4 - 1)),
        # Sparse points have top terms in the answer.
        "report": lambda X: manymeans.report(result, X).partition("<h2>Sizes")[2],
    }
    expected = {name: way(dense) for name, way in ways.items()}
    monkeypatch.setattr(manymeans._input, "densify", lambda X: pytest.fail("it was made dense"))
    for name, way in ways.items():
        assert way(X) == expected[name], name
