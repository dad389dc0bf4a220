"""What is read in place, what is copied once, and that no way of passing points changes the answer."""

import pickle

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from scipy import sparse

import manymeans
from manymeans import BisectingKMeans, EnsembleKMeans, KMeans, MiniBatchKMeans, _manymeans


class Tensor:
    """An array of some other library: nothing but DLPack."""

    def __init__(self, array, device=None):
        self._array, self._device = array, device
        self.shape, self.dtype = array.shape, array.dtype

    def __dlpack__(self, **options):
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._device or self._array.__dlpack_device__()


@pytest.fixture
def seen(monkeypatch):
    """The arrays that the library gets."""
    arrays = []
    fit, predictor = _manymeans.fit, _manymeans.Predictor

    def watched_fit(points, *arguments):
        arrays.append(points)
        return fit(points, *arguments)

    class Watched:
        def __init__(self, prototypes):
            self._predictor = predictor(prototypes)
            self.holds = self._predictor.holds

        def predict(self, points, *arguments):
            arrays.append(points)
            return self._predictor.predict(points, *arguments)

        def transform(self, points, *arguments):
            arrays.append(points)
            return self._predictor.transform(points, *arguments)

    monkeypatch.setattr(_manymeans, "fit", watched_fit)
    monkeypatch.setattr(_manymeans, "Predictor", Watched)
    return arrays


def as_memmap(X, folder):
    np.save(folder / "points.npy", X)
    return np.load(folder / "points.npy", mmap_mode="r")


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "u1", "i1"])
@pytest.mark.parametrize("kind", [KMeans, EnsembleKMeans])
def test_arrays_are_read_in_place(kind, dtype, mixture, seen):
    X = np.clip(mixture * 10, -100, 100).astype("i1").astype(dtype)
    fitted = kind(5, random_state=0).fit(X)
    fitted.predict(X)
    fitted.transform(X)
    manymeans.fit(X, 5)
    assert len(seen) == 4
    assert all(np.shares_memory(array, X) and array.shape == X.shape for array in seen)


def test_memory_maps_are_read_in_place(mixture, seen, tmp_path):
    X = as_memmap(mixture, tmp_path)
    assert not X.flags.writeable
    fitted = KMeans(5, random_state=0).fit(X)
    manymeans.fit(manymeans.read(tmp_path / "points.npy").points, 5)
    assert np.shares_memory(seen[0], X)
    assert fitted.answer_ == KMeans(5, random_state=0).fit(mixture).answer_


def test_tensors_are_read_in_place(mixture, seen):
    fitted = KMeans(5, random_state=0).fit(Tensor(mixture))
    assert np.shares_memory(seen[0], mixture)
    assert np.array_equal(fitted.predict(Tensor(mixture)), fitted.labels_)
    assert np.array_equal(manymeans.fit(Tensor(mixture), 5).best().labels.shape, (5000,))


@pytest.mark.parametrize("device", [2, 10])  # CUDA, ROCm
@pytest.mark.parametrize("fit", [lambda X: KMeans(5).fit(X), lambda X: manymeans.fit(X, 5)], ids=["KMeans", "fit"])
def test_tensors_elsewhere_are_refused(device, fit, mixture, monkeypatch):
    monkeypatch.setattr(manymeans._input, "_has_cuda", lambda: False)
    with pytest.raises(ValueError, match="device"):
        fit(Tensor(mixture, device=(device, 0)))


def test_arrays_of_a_cuda_interface_are_refused_without_cuda(mixture, monkeypatch):
    monkeypatch.setattr(manymeans._input, "_has_cuda", lambda: False)

    class Interface:
        __cuda_array_interface__ = {"shape": (2, 2), "typestr": "<f4", "data": (0, False), "version": 3}

    with pytest.raises(ValueError, match="CUDA"):
        KMeans(1).fit(Interface())
    with pytest.raises(ValueError, match="CUDA"):
        manymeans.fit(Interface(), 1)


def fixed_size_lists(X):
    values = pyarrow.array(X.ravel())
    return pyarrow.FixedSizeListArray.from_arrays(values, X.shape[1])


@pytest.mark.parametrize(
    ("lie", "words"),
    [({"shape": (4, -2)}, "negative"), ({"data": ()}, "no address"), ({"strides": (8,)}, "strides"),
     ({"typestr": "<c8"}, "type <c8"), ({"data": (16, False)}, "do not lie in the memory of a CUDA device")],
)  # fmt: skip
def test_cuda_interfaces_that_lie(lie, words):
    class Array:
        __cuda_array_interface__ = {"shape": (4, 2), "typestr": "<f4", "data": (16, True), "version": 3, **lie}  # noqa: RUF012

    with pytest.raises(manymeans.BadDataError, match=words):
        _manymeans.DeviceArray.from_interface(Array())


def address(arrow_array):
    return arrow_array.flatten().buffers()[1].address


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "u1", "i1"])
def test_arrow_lists_are_read_in_place(dtype, mixture, seen):
    X = mixture.astype("i1").astype(dtype)
    column = fixed_size_lists(X)
    for table in (column, pyarrow.table({"embedding": column}), pyarrow.record_batch({"embedding": column})):
        fitted = KMeans(5, random_state=0).fit(table)
        assert seen[-1].ctypes.data == address(column)
        assert seen[-1].dtype == np.dtype(dtype)
        assert fitted.n_features_in_ == X.shape[1]
        assert fitted.answer_ == KMeans(5, random_state=0).fit(X).answer_


def test_one_arrow_column_is_read_in_place(mixture, seen):
    column = pyarrow.array(mixture[:, 0].copy())
    fitted = KMeans(5, random_state=0).fit(pyarrow.table({"x": column}))
    assert seen[-1].ctypes.data == column.buffers()[1].address
    assert fitted.feature_names_in_.tolist() == ["x"]


def test_slices_of_arrow_lists(mixture, seen):
    column = fixed_size_lists(mixture).slice(100, 900)
    fitted = KMeans(5, random_state=0).fit(pyarrow.table({"x": column}))
    assert fitted.answer_ == KMeans(5, random_state=0).fit(mixture[100:1000]).answer_


def arrow_table(X):
    return pyarrow.table({f"c{j}": X[:, j].copy() for j in range(X.shape[1])})


def chunked(X):
    return pyarrow.concat_tables([arrow_table(X[:1000]), arrow_table(X[1000:1001]), arrow_table(X[1001:])])


@pytest.mark.parametrize(
    "wrap",
    [
        np.asfortranarray,
        lambda X: np.repeat(X, 2, axis=0)[::2],
        lambda X: np.repeat(X, 2, axis=1)[:, ::2],
        lambda X: X.astype(">f4"),
        lambda X: X[::-1][::-1],
        Tensor,
        arrow_table,
        chunked,
        lambda X: arrow_table(X).to_batches()[0],
        lambda X: arrow_table(np.vstack([X[:3], X])).slice(3),
        lambda X: pyarrow.table({"x": pyarrow.chunked_array([fixed_size_lists(X[:9]), fixed_size_lists(X[9:])])}),
        polars.DataFrame,
        pandas.DataFrame,
        fixed_size_lists,
    ],
)
@pytest.mark.parametrize("fit", [lambda X: KMeans(6, random_state=4).fit(X).answer_, None], ids=["KMeans", "fit"])
def test_every_way_gives_one_answer(wrap, fit, mixture):
    fit = fit or (lambda X: manymeans.fit(X, 6, seed=4, init="k-means++").digest)
    assert fit(wrap(mixture)) == fit(mixture)


def test_integers_and_mixed_arrow_columns():
    X = np.arange(60).reshape(20, 3) % 17
    expected = KMeans(3, random_state=0).fit(X.astype("f8")).answer_
    columns = {"a": X[:, 0].astype("u4"), "b": X[:, 1].astype("i8"), "c": X[:, 2].astype("f4")}
    assert KMeans(3, random_state=0).fit(pyarrow.table(columns)).answer_ == expected
    narrow = {"a": X[:, 0].astype("u2"), "b": X[:, 1].astype("i1"), "c": X[:, 2].astype("f2")}
    assert (
        KMeans(3, random_state=0).fit(pyarrow.table(narrow)).answer_
        == KMeans(3, random_state=0).fit(X.astype("f4")).answer_
    )


def test_every_half_converts_exactly():
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    halves = halves[np.isfinite(halves)]
    array, _, copied = _manymeans.arrow_points(pyarrow.table({"a": halves, "b": halves.astype("f4")}))
    assert copied and np.array_equal(array[:, 0], array[:, 1])


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (pyarrow.table({"age": [1.0, None, 3.0]}), "age.*row 1.*null"),
        (pyarrow.table({"name": ["x", "y", "z"]}), "name"),
        (pyarrow.table({"day": pyarrow.array([1, 2, 3], pyarrow.date32())}), "day"),
        (pyarrow.table({"x": pyarrow.array([[1.0], [2.0], [None]], pyarrow.list_(pyarrow.float32(), 1))}), "x.*null"),
        (pyarrow.table({"x": pyarrow.array(["a", "b", "a"]).dictionary_encode()}), "x"),
    ],
)
def test_arrow_columns_that_cannot_be_used(table, words):
    for fit in (KMeans(2).fit, lambda X: manymeans.fit(X, 2)):
        with pytest.raises(ValueError, match=words):
            fit(table)


def embeddings(rows=40, width=6):
    return np.random.default_rng(7).standard_normal((rows, width)).astype(np.float32)


def lists_of(X):
    """The same embeddings in every kind of column that holds lists."""
    rows = [list(map(float, row)) for row in X]
    return {
        "list": pyarrow.array(rows, pyarrow.list_(pyarrow.float32())),
        "large_list": pyarrow.array(rows, pyarrow.large_list(pyarrow.float32())),
        "fixed": pyarrow.array(rows, pyarrow.list_(pyarrow.float32(), X.shape[1])),
        "chunked": pyarrow.chunked_array([rows[:7], [], rows[7:]], pyarrow.list_(pyarrow.float32())),
        "sliced": pyarrow.array([*rows[:3], *rows], pyarrow.large_list(pyarrow.float32())).slice(3),
        "polars": polars.Series("embedding", rows, dtype=polars.List(polars.Float32)),
        "polars array": polars.Series(rows, dtype=polars.Array(polars.Float32, X.shape[1])),
        "pandas arrays": pandas.Series(list(X)),
        "pandas lists": pandas.Series(rows),
        "pandas arrow": pandas.Series(rows, dtype=pandas.ArrowDtype(pyarrow.list_(pyarrow.float32()))),
        "frame": pandas.DataFrame({"embedding": list(X)}),
        "table": pyarrow.table({"embedding": pyarrow.array(rows, pyarrow.list_(pyarrow.float32()))}),
        "polars frame": polars.DataFrame({"embedding": polars.Series(rows, dtype=polars.List(polars.Float32))}),
    }


def test_columns_of_lists():
    X = embeddings()
    expected = KMeans(3, random_state=0).fit(X)
    for name, lists in lists_of(X).items():
        found = KMeans(3, random_state=0).fit(lists)
        wide = name == "pandas lists"  # of Python's numbers
        assert found.cluster_centers_.dtype == (np.float64 if wide else np.float32), name
        assert (found.labels_ == expected.labels_).all(), name
        if not wide:
            assert found.answer_ == expected.answer_, name
        assert (found.predict(lists) == expected.labels_).all(), name
        assert manymeans.fit(lists, 3, seed=1).models[0].k == 3, name


@pytest.mark.parametrize("kind", ["list", "large_list", "fixed", "sliced", "polars", "table"])
def test_lists_are_read_in_place(kind):
    array, _, copied = _manymeans.arrow_points(lists_of(embeddings())[kind])
    assert not copied and array.tobytes() == embeddings().tobytes()


def test_lists_beside_numbers():
    X = embeddings(30, 2)
    frame = pandas.DataFrame({"age": np.arange(30.0), "at": list(X.astype(float))})
    points = manymeans.fit(frame, 2, seed=1)
    assert points.column_names == ["age", "at[1]", "at[2]"]
    table = pyarrow.table({"age": np.arange(30.0), "at": pyarrow.array(list(X.astype(float)))})
    assert (manymeans.fit(table, 2, seed=1).models[0].labels == points.models[0].labels).all()


LIST_TROUBLE = {
    "lengths": ([[1.0, 2.0], [3.0, 4.0], [5.0]], "row 2.*every row needs as many"),
    "null": ([[1.0, 2.0], None, [5.0, 6.0]], "row 1.*(null|no list)"),
    "null inside": ([[1.0, 2.0], [3.0, None], [5.0, 6.0]], "row 1.*value 2"),
    "empty": ([[], [], []], "empty"),
    "text": ([["a"], ["b"], ["c"]], "value 1|text"),
}


@pytest.mark.parametrize("trouble", LIST_TROUBLE)
def test_lists_that_cannot_be_used(trouble):
    rows, words = LIST_TROUBLE[trouble]
    kind = pyarrow.string() if trouble == "text" else pyarrow.float32()
    for X in (
        pyarrow.table({"age": [1.0, 2.0, 3.0], "at": pyarrow.array(rows, pyarrow.list_(kind))}),
        pyarrow.table({"at": pyarrow.chunked_array([rows[:1], rows[1:]], pyarrow.large_list(kind))}),
        polars.DataFrame(
            {"at": polars.Series(rows, dtype=polars.List(polars.String if trouble == "text" else polars.Float32))}
        ),
        pandas.DataFrame({"age": [1.0, 2.0, 3.0], "at": rows}),
    ):
        for fit in (KMeans(2).fit, lambda X: manymeans.fit(X, 2)):
            with pytest.raises(manymeans.BadDataError, match=words) as raised:
                fit(X)
            assert "'at'" in str(raised.value)


def test_bfloat16():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    X = np.random.default_rng(0).standard_normal((500, 4)).astype(ml_dtypes.bfloat16)
    expected = KMeans(4, random_state=1).fit(X.astype("f4"))
    fitted = KMeans(4, random_state=1).fit(X)
    assert fitted.answer_ == expected.answer_
    assert np.array_equal(fitted.predict(X), expected.labels_)
    assert manymeans.fit(X, 4, seed=1).digest == manymeans.fit(X.astype("f4"), 4, seed=1).digest


def test_narrow_points_and_wide_centers(mixture):
    """Nothing is rounded on the way: float32 points are widened to meet float64 centres."""
    X = mixture.astype("f8") + 1e-12
    fitted = KMeans(5, random_state=0).fit(X)
    narrow = X.astype("f4")
    assert np.array_equal(fitted.predict(narrow), fitted.predict(narrow.astype("f8")))
    assert fitted.transform(narrow).dtype == np.float64


@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix, sparse.coo_matrix])
def test_sparse_matrices(make):
    dense = sparse.random(300, 20, 0.3, dtype="f4", random_state=0).toarray()
    fitted = KMeans(4, random_state=0).fit(make(dense))
    assert fitted.answer_ == KMeans(4, random_state=0).fit(dense).answer_
    assert np.array_equal(fitted.predict(make(dense)), fitted.labels_)
    assert manymeans.fit(make(dense), 4, seed=0, init="k-means++").digest == fitted.answer_


def test_sparse_matrices_that_do_not_fit(monkeypatch):
    """Estimators that choose rows of their own make them dense."""
    monkeypatch.setattr("manymeans._input._manymeans.info", lambda **_: {"available_memory": 10**6})
    X = sparse.random(1000, 1000, 1e-3, format="csr", random_state=0)
    for estimator in (BisectingKMeans(3), MiniBatchKMeans(3)):
        with pytest.raises(MemoryError, match=r"sparse.*\(1000, 1000\).*8 MiB.*available"):
            estimator.fit(X)


def test_transform_is_exact(mixture):
    fitted = KMeans(7, random_state=0).fit(mixture.astype("f8"))
    exact = np.sqrt(((mixture.astype("f8")[:, None, :] - fitted.cluster_centers_) ** 2).sum(axis=2))
    np.testing.assert_allclose(fitted.transform(mixture.astype("f8")), exact, rtol=1e-14)
    narrow = KMeans(7, random_state=0).fit(mixture)
    exact = np.sqrt(((mixture.astype("f8")[:, None, :] - narrow.cluster_centers_.astype("f8")) ** 2).sum(axis=2))
    assert (
        np.array_equal(narrow.transform(mixture), exact.astype("f4"))
        or np.abs(narrow.transform(mixture) / exact - 1).max() < 2**-23
    )
    assert np.array_equal(narrow.transform(mixture).argmin(axis=1), narrow.labels_)


FITS = {
    "KMeans": lambda X: KMeans(4, init="random", n_init=1, random_state=4).fit(X).answer_,
    "EnsembleKMeans": lambda X: EnsembleKMeans(4, init="random", random_state=4).fit(X).answer_,
    "fit": lambda X: manymeans.fit(X, 4, seed=4, init="random").digest,
}
EACH_FIT = pytest.mark.parametrize("fit", FITS.values(), ids=FITS)
SMALL = np.random.default_rng(3).integers(0, 50, (40, 3))


@EACH_FIT
@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"])
def test_byte_orders(fit, dtype, order):
    X = SMALL.astype(dtype)
    assert fit(SMALL.astype(order + dtype)) == fit(X)


def test_byte_orders_elsewhere(tmp_path):
    X = SMALL.astype("f4")
    big = X.astype(">f4")
    fitted = KMeans(4, random_state=1).fit(big)
    assert fitted.cluster_centers_.dtype == np.float32
    assert np.array_equal(fitted.predict(big), fitted.labels_)
    assert fitted.score(big, sample_weight=np.ones(40, ">f8")) == -fitted.inertia_
    assert manymeans.fit(big, 4, init=big[:4]).digest == manymeans.fit(X, 4, init=X[:4]).digest
    assert KMeans(4, init=big[:4]).fit(big).answer_ == KMeans(4, init=X[:4]).fit(X).answer_
    weights = np.arange(1.0, 41)
    weighted = manymeans.fit(X, 4, sample_weight=weights).digest
    for kind in (">f8", ">i4", "u2", "f4"):
        assert manymeans.fit(X, 4, sample_weight=weights.astype(kind)).digest == weighted
    assert np.array_equal(manymeans.predict(big[:4], big), manymeans.predict(X[:4], X))
    np.save(tmp_path / "big.npy", big)
    assert FITS["fit"](np.load(tmp_path / "big.npy", mmap_mode="r")) == FITS["fit"](X)
    assert FITS["fit"](manymeans.read(tmp_path / "big.npy").points) == FITS["fit"](X)


def unaligned(X):
    space = np.zeros(X.nbytes + 1, np.uint8)
    array = space[1:].view(X.dtype).reshape(X.shape)
    array[:] = X
    assert not array.flags.aligned
    return array


def read_only(X):
    X = X.copy()
    X.setflags(write=False)
    return X


def inside_a_record(X):
    table = np.zeros(len(X), dtype=[("tag", "u1"), ("point", X.dtype, (X.shape[1],))])
    table["point"] = X
    return table["point"]


@EACH_FIT
@pytest.mark.parametrize(
    "wrap",
    [
        unaligned,
        read_only,
        inside_a_record,
        np.asfortranarray,
        lambda X: X[::-1][::-1],
        lambda X: np.repeat(X, 2, axis=0)[::2],
        lambda X: np.ma.masked_array(X),
        lambda X: np.ma.masked_array(X, mask=np.zeros(X.shape, bool)),
        lambda X: np.broadcast_to(X, X.shape),
        lambda X: X.tolist(),
        lambda X: list(X),
        lambda X: X.astype(object),
        sparse.csr_matrix,
        sparse.coo_array,
        pandas.DataFrame,
    ],
)
def test_kinds_of_arrays(fit, wrap):
    X = SMALL.astype("f8")
    assert fit(wrap(X)) == fit(X)


def fitted(X):
    return KMeans(4, random_state=0).fit(X)


def with_centers(centers):
    estimator = fitted(SMALL)
    estimator.cluster_centers_ = centers
    return estimator


def line_fit(X, y):
    return manymeans.RegressionClustering(2, random_state=0).fit(X, y)


VALUES, CENTERS = SMALL.astype("f8"), SMALL[:4].astype("f8")
LABELS, WEIGHTS = np.arange(len(SMALL)) % 4, np.arange(1.0, 1 + len(SMALL))
WAYS_IN = {
    "points": lambda pack: manymeans.fit(pack(VALUES), 4).digest,
    "a tensor": lambda pack: manymeans.fit(Tensor(pack(VALUES)), 4).digest,
    "weights": lambda pack: manymeans.fit(VALUES, 4, sample_weight=pack(WEIGHTS)).digest,
    "initial centroids": lambda pack: manymeans.fit(VALUES, 4, init=pack(CENTERS)).digest,
    "predict": lambda pack: manymeans.predict(pack(CENTERS), pack(VALUES)),
    "transform": lambda pack: fitted(VALUES).transform(pack(VALUES)),
    "score": lambda pack: fitted(VALUES).score(pack(VALUES), sample_weight=pack(WEIGHTS)),
    "labels": lambda pack: manymeans.compare(pack(LABELS), LABELS // 2).adjusted_rand,
    "centroids": lambda pack: manymeans.compare(with_centers(pack(CENTERS)), fitted(VALUES)).centers,
    "criteria": lambda pack: manymeans.criteria(pack(VALUES), pack(LABELS)).calinski_harabasz,
    "batches": lambda pack: MiniBatchKMeans(4, random_state=0).fit(pack(VALUES)).cluster_centers_,
    "targets": lambda pack: line_fit(pack(VALUES[:, :1]), pack(VALUES[:, 1])).labels_,
    "factors": lambda pack: manymeans.multiply(pack(VALUES), pack(VALUES), transpose_b=True),
}


@pytest.mark.parametrize("way", WAYS_IN)
def test_values_that_are_not_aligned(way):
    assert np.array_equal(WAYS_IN[way](unaligned), WAYS_IN[way](np.array))


def test_numbers_of_sixteen_bits_that_are_not_aligned():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    for kind in (np.float16, ml_dtypes.bfloat16):
        X = VALUES.astype(kind)
        assert manymeans.fit(unaligned(X), 4).digest == manymeans.fit(X, 4).digest
        assert np.array_equal(manymeans.multiply(unaligned(X), X.T), manymeans.multiply(X, X.T))


def odd(values):
    """A copy at an odd address: a bytearray has an even one."""
    space = bytearray(len(values) + 1)
    space[1:] = values
    return memoryview(space)[1:]


def sent(thing):
    """Return a copy that was pickled as dask sends it: each array is a buffer of its own, at any address."""
    buffers = []
    data = pickle.dumps(thing, protocol=5, buffer_callback=buffers.append)
    return pickle.loads(data, buffers=[odd(buffer.raw()) for buffer in buffers])


SENT = {
    "KMeans": (lambda: fitted(VALUES), lambda it: (it.predict(VALUES), it.transform(VALUES), it.result_.digest)),
    "a result": (lambda: manymeans.fit(VALUES, 4), lambda it: (it.predict(VALUES), it.digest, it.best().digest)),
    "lines": (
        lambda: line_fit(VALUES[:, :1], VALUES[:, 1]),
        lambda it: (it.predict(VALUES[:, :1]), it.coef_, it.answer_),
    ),
    "batches": (lambda: MiniBatchKMeans(4, random_state=0).fit(VALUES), lambda it: (it.predict(VALUES),)),
    "bisections": (lambda: BisectingKMeans(4, random_state=0).fit(VALUES), lambda it: (it.predict(VALUES),)),
    "a shard": (
        lambda: manymeans.Shard(VALUES, WEIGHTS),
        lambda it: (manymeans.fit_shards(it.answer, 4).digest,),
    ),
}


@pytest.mark.parametrize(("make", "use"), SENT.values(), ids=SENT)
def test_what_was_sent_answers_as_before(make, use):
    thing = make()
    for before, after in zip(use(thing), use(sent(thing)), strict=True):
        assert np.array_equal(before, after)


def test_matrix():
    """Refused by the estimators as by scikit-learn's; an array of two dimensions to the functions."""
    X = SMALL.astype("f4")
    with pytest.raises(TypeError, match=r"np\.matrix"):
        KMeans(4).fit(np.matrix(X))
    assert FITS["fit"](np.matrix(X)) == FITS["fit"](X)


MASKED = np.ma.masked_array(SMALL.astype("f4"), mask=SMALL[5, 1] == SMALL)
NO_POINTS = {
    "masked": MASKED,
    "list of masked rows": [*MASKED],
    "masked row": np.ma.masked_array(SMALL, mask=np.arange(120).reshape(40, 3) < 3),
    "complex": SMALL + 1j,
    "complex objects": (SMALL + 1j).astype(object),
    "text": SMALL.astype("U"),
    "bytes": SMALL.astype("S"),
    "text that is no number": np.array([["a", "b"], ["c", "d"]] * 5),
    "times": SMALL.astype("M8[s]"),
    "durations": SMALL.astype("m8[s]"),
    "records": np.zeros((40, 3), dtype=[("a", "f4")]),
    "objects": np.full((40, 3), object()),
    "None": np.full((40, 3), None),
    "empty": np.zeros((0, 3)),
    "no columns": np.zeros((40, 0)),
    "one dimension": SMALL[0].astype("f4"),
    "four dimensions": SMALL[None, None].astype("f4"),
    "no dimension": np.float32(3),
    "rows of different lengths": [[1.0, 2.0], [3.0]] * 20,
    "NaN": np.full((40, 3), np.nan),
    "name of a file": "points.npy",
    "nothing": None,
    "sparse complex": sparse.csr_matrix(SMALL + 1j),
    "frame of dates": pandas.DataFrame({"a": np.arange(40).astype("M8[s]"), "b": np.arange(40)}),
    "frame with text": pandas.DataFrame({"a": ["x", "y"] * 20}),
    "frame with gaps": pandas.DataFrame({"a": pandas.array([1, None] * 20, dtype="Int64")}),
}


@EACH_FIT
@pytest.mark.parametrize("name", NO_POINTS)
def test_what_are_no_points(fit, name):
    """ValueError or, of scikit-learn's checks, TypeError; the functions have one kind, ours."""
    if fit is FITS["fit"]:
        with pytest.raises(FileNotFoundError if name == "name of a file" else manymeans.BadDataError):
            fit(NO_POINTS[name])
    else:
        with pytest.raises((ValueError, TypeError)):
            fit(NO_POINTS[name])


@pytest.mark.parametrize("wrong", ["masked", "complex", "text", "times", "rows of different lengths", "sparse complex"])
def test_what_are_no_centres_and_no_weights(wrong):
    X, bad = SMALL.astype("f4"), NO_POINTS[wrong]
    with pytest.raises(manymeans.BadDataError, match="init"):
        manymeans.fit(X, 40, init=bad)
    with pytest.raises(manymeans.BadDataError, match="model"):
        manymeans.predict(bad, X)
    column = bad[:, 0] if hasattr(bad, "dtype") else bad
    with pytest.raises(manymeans.BadDataError, match="sample_weight"):
        manymeans.fit(X, 4, sample_weight=column)
    for points, options in ((bad, {}), (X, {"sample_weight": column})):
        if wrong == "masked":
            with pytest.raises(manymeans.BadDataError, match="masked"):
                KMeans(4, n_init=1).fit(points, **options)
    if wrong == "masked":
        with pytest.raises(manymeans.BadDataError, match="init has masked values"):
            KMeans(40, init=bad, n_init=1).fit(X)
        with pytest.raises(manymeans.BadDataError, match="masked"):
            KMeans(4, random_state=0).fit(X).predict(bad)


@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csc_array])
def test_sparse_centres_and_weights_say_what_to_do(make):
    X = SMALL.astype("f4")
    for call in (
        lambda: manymeans.fit(X, 4, init=make(X[:4])),
        lambda: manymeans.predict(make(X[:4]), X),
        lambda: manymeans.fit(X, 4, sample_weight=make(np.ones((40, 1)))),
    ):
        with pytest.raises(manymeans.BadDataError, match=r"sparse matrix; .*toarray"):
            call()


def test_centres_set_by_hand():
    """As in scikit-learn: cluster_centers_ is all that predict, transform and score need."""
    import sklearn.cluster

    X = SMALL.astype("f8")
    ours, theirs = KMeans(3), sklearn.cluster.KMeans(3)
    for estimator in (ours, theirs):
        estimator.cluster_centers_ = X[:3].copy()
        estimator._n_threads = 1  # what scikit-learn's own fit leaves for predict
    assert np.array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X), rtol=1e-9)
    assert ours.score(X) == pytest.approx(theirs.score(X))
    for name in ("answer_", "provenance_"):
        assert not hasattr(ours, name)
    with pytest.raises(ValueError, match="set by hand"):
        ours.save("model.npz")
    fitted = KMeans(3, random_state=0).fit(X)
    fitted.cluster_centers_ = X[:3].copy()
    assert np.array_equal(fitted.predict(X), ours.predict(X))
    assert ours.get_feature_names_out().tolist() == ["kmeans0", "kmeans1", "kmeans2"]  # scikit-learn's fails here
    assert ours.set_output(transform="pandas").transform(X).shape == (40, 3)


def test_more_than_two_dimensions():
    """The error says how an array of images becomes rows."""
    with pytest.raises(manymeans.BadDataError, match=r"X.reshape\(10, 12\) makes a row of each X\[i\]"):
        manymeans.search(np.zeros((10, 4, 3), "f4"), 2)


def test_frames_that_hold_no_numbers():
    frame = pandas.DataFrame({"x": [1.0, 2.0, 3.0], "city": ["Rome", "Oslo", "Bern"]})
    days = pandas.DataFrame({"x": [1.0, 2.0, 3.0], "day": pandas.to_datetime(["2024-02-29"] * 3)})
    for fit in (KMeans(2).fit, lambda X: manymeans.fit(X, 2)):
        with pytest.raises(manymeans.BadDataError, match="text, 'Rome' in row 0, column 'city'"):
            fit(frame)
        with pytest.raises(manymeans.BadDataError, match="datetime64|dates or times.*row 0, column 'day'"):
            fit(days)
        with pytest.raises(manymeans.BadDataError, match="column 'city'.*it holds text"):
            fit(pyarrow.Table.from_pandas(frame))


@pytest.mark.parametrize("colours", [3, 4])
def test_a_picture_has_pixels_as_rows(colours):
    picture = np.zeros((5, 6, colours), dtype=np.uint8)
    with pytest.raises(manymeans.BadDataError, match=rf"X.reshape\(-1, {colours}\) makes a row of each pixel"):
        manymeans.fit(picture, 2)
    for other in (picture.astype(float), np.zeros((5, 3, 6), dtype=np.uint8)):
        with pytest.raises(manymeans.BadDataError, match=rf"X.reshape\(5, {other[0].size}\) makes a row of each"):
            manymeans.search(other, 2)


def test_a_series_of_numbers_is_no_matrix_for_estimators():
    pandas = pytest.importorskip("pandas")
    for values in [1.0, 2.0, 9.0], pandas.array([1, None, 3], dtype="Int64"):
        with pytest.raises(ValueError, match="1D array|2-dimensional"):
            manymeans.KMeans(2).fit(pandas.Series(values))
    with pytest.raises(manymeans.BadDataError, match="datetime64.*numbers are needed"):
        manymeans.KMeans(2).fit(pandas.Series(pandas.to_datetime(["2024-02-29"] * 3)))


def test_types_that_dlpack_lacks_are_bad_data():
    class Eighth:  # as JAX's float8
        shape, ndim, dtype = (10, 2), 2, "float8_e4m3fn"

        def __dlpack_device__(self):
            return (1, 0)

        def __dlpack__(self, **_):
            raise RuntimeError("Unsupported dtype in DLTensor")

    with pytest.raises(manymeans.BadDataError, match="X of type float8_e4m3fn cannot be read: .*; make it float32"):
        manymeans.fit(Eighth(), 2)
