"""What is read in place, what is copied once, and that no way of passing points changes the answer."""

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from scipy import sparse

import manymeans
from manymeans import EnsembleKMeans, KMeans, _manymeans


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
    for name in ("fit", "predict", "transform"):
        original = getattr(_manymeans, name)

        def watch(points, *arguments, original=original):
            arrays.append(points)
            return original(points, *arguments)

        monkeypatch.setattr(_manymeans, name, watch)
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
        (pyarrow.table({"age": [1.0, None, 3.0]}), "age.*row 2.*null"),
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


def test_sparse_matrices_that_do_not_fit():
    X = sparse.random(1000, 1000, 1e-3, format="csr", random_state=0)
    for fit in (KMeans(3, memory_limit=10**6).fit, lambda X: manymeans.fit(X, 3, memory_limit=10**6)):
        with pytest.raises(MemoryError, match=r"sparse.*\(1000, 1000\).*8 MiB.*memory_limit"):
            fit(X)
    huge = sparse.csr_matrix((10**7, 10**7))
    with pytest.raises(MemoryError, match="memory_limit"):
        KMeans(3).fit(huge)


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
