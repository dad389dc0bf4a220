"""Arrays in the memory of a CUDA device are read there, and give what the same numbers give from the CPU's memory."""

import pickle

import numpy as np
import pytest

import manymeans
from manymeans import EnsembleKMeans, HierarchicalKMeans, KMeans

if not manymeans._input._has_cuda():
    pytest.skip("no CUDA device, or manymeans is built without CUDA", allow_module_level=True)


class Interface:
    """An array of a library that has nothing but __cuda_array_interface__."""

    def __init__(self, array):
        self._array = array
        self.shape, self.dtype = array.shape, array.dtype

    @property
    def __cuda_array_interface__(self):
        return self._array.__cuda_array_interface__


def torch_tensor(X):
    torch = pytest.importorskip("torch")
    return torch.from_numpy(X).cuda()


def cupy_array(X):
    return pytest.importorskip("cupy").asarray(X)


def interface_of_cupy(X):
    return Interface(cupy_array(X))


def slice_of_torch(X):
    return torch_tensor(np.vstack([X[:3], X, X[:2]]))[3:-2]


def torch_columns(X):
    return torch_tensor(np.ascontiguousarray(X.T)).T


def cupy_columns(X):
    return cupy_array(np.asfortranarray(X))


def host(array):
    return np.asarray(manymeans._input.on_host(array))


WAYS = [torch_tensor, cupy_array, interface_of_cupy, slice_of_torch, torch_columns, cupy_columns]


@pytest.mark.parametrize("wrap", WAYS)
@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "u1", "i1"])
def test_every_way_gives_one_answer(wrap, dtype, mixture):
    X = np.clip(mixture * 10, 0, 100).astype(dtype)
    on_device = wrap(X)
    fitted = KMeans(6, random_state=4).fit(on_device)
    expected = KMeans(6, random_state=4).fit(X)
    assert fitted.answer_ == expected.answer_
    assert fitted.provenance_["backend"] == "cuda"
    assert np.array_equal(host(fitted.predict(on_device)), expected.labels_)
    assert np.array_equal(host(fitted.transform(on_device)), expected.transform(X))
    assert fitted.score(on_device) == expected.score(X)
    result = manymeans.fit(on_device, [3, 5], models=2, init="k-means||")
    assert result.digest == manymeans.fit(X, [3, 5], models=2, init="k-means||").digest


# Interfaces without a library, and those whose arrays cannot be written to, are not among these.
OWN_LIBRARY = [torch_tensor, cupy_array, slice_of_torch, torch_columns, cupy_columns]


@pytest.mark.parametrize("wrap", OWN_LIBRARY)
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("k", [3, 300])
def test_results_are_arrays_of_the_points_library(wrap, metric, k, mixture):
    on_device = wrap(mixture)
    fitted = KMeans(k, random_state=4, metric=metric).fit(on_device)
    expected = KMeans(k, random_state=4, metric=metric).fit(mixture)
    distances = expected.transform(mixture)
    for estimator in (fitted, EnsembleKMeans(k, random_state=4, metric=metric).fit(on_device)):
        labels = estimator.predict(on_device)
        results = [estimator.labels_, estimator.cluster_centers_, labels, estimator.transform(on_device)]
        assert {type(result) for result in results} == {type(on_device)}
        assert {str(result.device) for result in results} == {str(on_device.device)}
        assert host(labels).dtype == np.int32
        assert host(estimator.labels_).dtype == np.int32
    assert np.array_equal(host(fitted.labels_), expected.labels_)
    assert np.array_equal(host(fitted.cluster_centers_), expected.cluster_centers_)
    assert np.array_equal(host(fitted.transform(on_device)), distances)
    for rows in (1, 7, 400, len(mixture)):
        assert np.array_equal(host(fitted.predict(on_device[:rows])), expected.labels_[:rows])
    assert np.array_equal(host(fitted.fit_transform(on_device)), distances)
    assert isinstance(fitted.predict(mixture), np.ndarray)


@pytest.mark.parametrize("wrap", WAYS)
def test_output_numpy(wrap, mixture):
    on_device = wrap(mixture)
    fitted = KMeans(6, random_state=4, output="numpy").fit(on_device)
    labels, distances = fitted.predict(on_device), fitted.transform(on_device)
    assert all(isinstance(r, np.ndarray) for r in (fitted.labels_, fitted.cluster_centers_, labels, distances))


@pytest.mark.parametrize("wrap", [torch_tensor, cupy_array])
def test_out_on_the_device(wrap, mixture):
    fitted = KMeans(6, random_state=4).fit(mixture)
    n = len(mixture)
    labels, distances = wrap(np.full(n, -1, np.int32)), wrap(np.zeros((n, 6), np.float32))
    for points in (wrap(mixture), mixture):  # also for points of the CPU's memory
        labels[:] = -1
        distances[:] = 0
        assert fitted.predict(points, out=labels) is labels
        assert fitted.transform(points, out=distances) is distances
        assert np.array_equal(host(labels), fitted.labels_)
        assert np.array_equal(host(distances), fitted.transform(mixture))
    taken = np.empty(n, np.int32)
    assert fitted.predict(wrap(mixture), out=taken) is taken
    assert np.array_equal(taken, fitted.labels_)
    strided = wrap(np.zeros((n, 2), np.int32))[:, 0]
    for wrong, text in ((labels[1:], "shape"), (wrap(np.zeros(n, np.int64)), "int32 are right"), (strided, "strides")):
        with pytest.raises(manymeans.UsageError, match=text):
            fitted.predict(wrap(mixture), out=wrong)


@pytest.mark.parametrize("wrap", [torch_tensor, cupy_array])
def test_centers_that_were_changed_on_the_device_count(wrap, mixture):
    points = wrap(mixture)
    fitted = KMeans(4, random_state=0).fit(points)
    before = host(fitted.predict(points))
    fitted.cluster_centers_[2] += 1e6
    assert set(before) == {0, 1, 2, 3}
    assert set(host(fitted.predict(points))) == {0, 1, 3}


@pytest.mark.parametrize("wrap", [torch_tensor, cupy_array])
def test_pickles_hold_arrays_of_numpy(wrap, mixture):
    points = wrap(mixture)
    fitted = KMeans(4, random_state=0).fit(points)
    again = pickle.loads(pickle.dumps(fitted))
    assert isinstance(again.labels_, np.ndarray)
    assert np.array_equal(again.cluster_centers_, host(fitted.cluster_centers_))
    assert np.array_equal(host(again.predict(points)), again.labels_)
    assert fitted.summary(mixture).shape == again.summary(mixture).shape


def test_results_wait_for_work_in_torchs_stream(mixture):
    torch = pytest.importorskip("torch")
    X = torch_tensor(mixture)
    fitted = KMeans(5, random_state=0).fit(X)
    expected = fitted.predict(X).clone()
    out = torch.zeros(len(mixture), dtype=torch.int32, device="cuda")
    Y = torch.randn((3000, 3000), device="cuda")
    with torch.cuda.stream(torch.cuda.Stream()):
        for _ in range(50):
            Y = Y @ Y / 3000
        out.fill_(7)  # is done before the labels are written
        fitted.predict(X.clone(), out=out)
    torch.cuda.synchronize()
    assert torch.equal(out, expected)


def test_frames_of_scikit_learn_are_made_of_arrays_of_numpy(mixture):
    frame = KMeans(3, random_state=0).fit(torch_tensor(mixture)).set_output(transform="pandas")
    assert frame.transform(torch_tensor(mixture)).shape == (len(mixture), 3)


def test_bfloat16(mixture):
    torch = pytest.importorskip("torch")
    rounded = torch.from_numpy(mixture).bfloat16()
    assert KMeans(5, random_state=0).fit(rounded.cuda()).answer_ == KMeans(5, random_state=0).fit(rounded).answer_


def test_other_types_are_converted_on_the_device(mixture):
    X = (mixture * 10).astype("i4")
    expected = KMeans(5, random_state=0).fit(X.astype("f8")).answer_
    assert KMeans(5, random_state=0).fit(torch_tensor(X)).answer_ == expected
    assert KMeans(5, random_state=0).fit(cupy_array(X)).answer_ == expected


def test_nothing_is_copied(mixture):
    torch = pytest.importorskip("torch")
    X = torch.zeros((40_000_000, 16), device="cuda")  # 2.6 GB
    X[:, 0] = torch.arange(len(X), device="cuda") % 5
    torch.cuda.synchronize()
    seen = []
    KMeans(5, init="random", n_init=1, max_iter=2, callback=lambda p: seen.append(torch.cuda.mem_get_info()[0])).fit(X)
    before = torch.cuda.mem_get_info()[0]
    assert before - min(seen) < X.numel() * 4  # labels, lists and statistics; no points


def test_work_in_torchs_stream_is_waited_for(mixture):
    torch = pytest.importorskip("torch")
    Y = torch.randn((3000, 3000), device="cuda")
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        X = torch.full(mixture.shape, float("nan"), device="cuda")
        for _ in range(50):  # X is right only when these are done
            Y = Y @ Y / 3000
        X.copy_(torch.from_numpy(mixture))
        fitted = KMeans(5, random_state=0).fit(X)
    assert fitted.answer_ == KMeans(5, random_state=0).fit(mixture).answer_


def test_weights_and_prototypes_of_the_device(mixture):
    weights = np.arange(len(mixture)) % 3 + 0.5
    expected = KMeans(4, init=mixture[:4], n_init=1).fit(mixture, sample_weight=weights)
    for wrap in (torch_tensor, cupy_array):
        X = wrap(mixture)
        fitted = KMeans(4, init=wrap(mixture[:4]), n_init=1).fit(X, sample_weight=wrap(weights))
        assert fitted.answer_ == expected.answer_
        again = EnsembleKMeans(4, init=wrap(mixture[:4])).fit(X, sample_weight=wrap(weights))
        assert again.inertia_ == expected.inertia_


def test_prototypes_of_the_device_in_predict(mixture):
    expected = manymeans.predict(mixture[:7], mixture)
    for wrap in (torch_tensor, cupy_array):
        assert np.array_equal(manymeans.predict(wrap(mixture[:7]), wrap(mixture)), expected)
        assert np.array_equal(manymeans.predict(mixture[:7].astype("f8"), wrap(mixture)), expected)


@pytest.mark.parametrize(("backend", "fitted_by"), [("auto", "cpu"), ("cuda", "cuda")])
def test_many_small_problems(backend, fitted_by, mixture):
    X = np.stack([mixture + shift for shift in range(5)]).astype("f2")
    each = manymeans.fit_each(torch_tensor(X), 3, init=X[:, :3], backend=backend)
    for b, problem in enumerate(each):
        assert problem.provenance["backend"] == fitted_by
        assert problem.digest == manymeans.fit(X[b], 3, init=X[b, :3], backend="cpu").digest


@pytest.mark.parametrize("wrap", WAYS)
def test_trees(wrap, mixture):
    tree = HierarchicalKMeans(30, random_state=4).fit(wrap(mixture))
    assert tree.answer_ == HierarchicalKMeans(30, random_state=4).fit(mixture).answer_
    assert tree.provenance_["backend"] == "cuda"
    assert isinstance(tree.labels_, np.ndarray) and isinstance(tree.cluster_centers_, np.ndarray)


def test_numba(mixture):
    cuda = pytest.importorskip("numba.cuda")
    on_device = cuda.to_device(mixture)
    assert manymeans.fit(on_device, 5).digest == manymeans.fit(mixture, 5).digest


def test_the_current_device_stays(mixture):
    torch = pytest.importorskip("torch")
    if torch.cuda.device_count() < 2:
        pytest.skip("one device")
    expected = manymeans.fit(mixture, 5).digest
    for device in range(torch.cuda.device_count()):
        assert manymeans.fit(torch.from_numpy(mixture).cuda(device), 5).digest == expected
        assert torch.cuda.current_device() == 0


def test_init_functions_get_numpy(mixture):
    def first(X, k, random_state):
        assert isinstance(X, np.ndarray)
        return X[:k]

    fitted = KMeans(4, init=first, n_init=1).fit(torch_tensor(mixture))
    assert fitted.answer_ == KMeans(4, init=mixture[:4], n_init=1).fit(mixture).answer_


def test_errors(mixture):
    with pytest.raises(ValueError, match="cpu"):
        KMeans(4, backend="cpu").fit(torch_tensor(mixture))
    with pytest.raises(ValueError, match="rows and columns"):
        manymeans.fit(torch_tensor(mixture[:, 0].copy()), 3)
    bad = mixture.copy()
    bad[7, 1] = np.nan
    with pytest.raises(ValueError, match="row 7, column 1 is NaN"):
        KMeans(4).fit(torch_tensor(bad))
    with pytest.raises(ValueError, match="complex"):
        KMeans(4).fit(torch_tensor(mixture.astype("c8")))
    with pytest.raises(ValueError, match="features"):
        KMeans(4).fit(torch_tensor(mixture)).predict(torch_tensor(mixture[:, :1].copy()))


@pytest.mark.parametrize("wrap", [torch_tensor, cupy_array, interface_of_cupy])
@pytest.mark.parametrize("shape", [(), (12,), (4, 3, 1), (2, 2, 3, 1)])
def test_other_dimensions(wrap, shape):
    given = wrap(np.ones(shape, dtype=np.float32))
    fitted = KMeans(1).fit(np.eye(2, dtype=np.float32))
    for use in (
        lambda X: manymeans.fit(X, 2) if len(shape) != 3 else KMeans(2).fit(X),  # three are many problems
        lambda X: manymeans.search(X, 2, rounds=1),
        lambda X: manymeans.kmeans_plusplus(X, 2),
        lambda X: manymeans.predict(np.eye(2), X),
        lambda X: manymeans.criteria(X, [0, 1]),
        lambda X: manymeans.multiply(X, np.eye(2)),
        KMeans(2).fit,
        EnsembleKMeans(2).fit,
        fitted.predict,
        fitted.transform,
    ):
        with pytest.raises(manymeans.BadDataError, match="shape"):
            use(given)


@pytest.mark.parametrize("wrap", WAYS)
@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "u1"])
def test_products(wrap, dtype, mixture):
    X = np.clip(mixture[:500] * 10, 0, 100).astype(dtype)
    b = np.ascontiguousarray(X[:90].T)
    expected = manymeans.multiply(X, b, backend="cpu")
    for x, y in [(wrap(X), wrap(b)), (X, wrap(b)), (wrap(X), b)]:
        assert (manymeans.multiply(x, y) == expected).all()
    out = cupy_array(np.zeros(expected.shape, expected.dtype))
    assert manymeans.multiply(wrap(X), b, out=out) is out
    assert (out.get() == expected).all()
    with pytest.raises(manymeans.UsageError, match="the backend 'cpu' cannot read them"):
        manymeans.multiply(wrap(X), b, backend="cpu")
