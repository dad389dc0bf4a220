"""Arrays of other than two dimensions, of every kind and at every entry: a typed error, never Python's own."""

import numpy as np
import pandas
import pytest
import scipy.sparse
import sklearn.base

import manymeans
from manymeans import _input

X = np.random.default_rng(0).random((12, 2))
Y = X[:, 0]


class Tensor:
    """An array of a library that speaks DLPack."""

    def __init__(self, array):
        self._array = np.asarray(array)
        self.shape, self.dtype, self.ndim = self._array.shape, self._array.dtype, self._array.ndim

    def __dlpack__(self, **options):
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


class OnDevice:
    """What the extension module makes of an array of a CUDA device: it has no length."""

    def __init__(self, array):
        self.shape, self.dtype, self.ndim, self.bfloat16 = array.shape, array.dtype, array.ndim, False


class Cuda:
    """An array of a CUDA device, as far as it goes without one."""

    def __init__(self, array):
        self.array, self.shape, self.dtype = array, array.shape, array.dtype
        self.__cuda_array_interface__ = {"shape": array.shape}

    def get(self):
        return self.array


def as_list(array):
    return array.tolist()


def of_objects(array):
    return array.astype(object)


def bfloat16(array):
    return array.astype(pytest.importorskip("ml_dtypes").bfloat16)


def sparse(array):
    return scipy.sparse.coo_array(array)


KINDS = {
    "numpy": np.asarray, "list": as_list, "Fortran": np.asfortranarray, "objects": of_objects, "uint8": np.uint8,
    "DLPack": Tensor, "bfloat16": bfloat16, "sparse": sparse, "CUDA": Cuda, "scalars": np.float64,
}  # fmt: skip
SHAPES = {"0-D": np.array(3.0), "1-D": Y, "3-D": np.stack([X, X]), "4-D": np.zeros((2, 2, 2, 2))}


RESULT = manymeans.fit(X, 2)
ESTIMATORS = [
    manymeans.KMeans(2, n_init=1), manymeans.EnsembleKMeans(2), manymeans.MiniBatchKMeans(2),
    manymeans.BisectingKMeans(2), manymeans.HierarchicalKMeans(2), manymeans.RegressionClustering(1, n_init=1),
]  # fmt: skip
ENTRIES = {
    "fit": lambda a: manymeans.fit(a, 2),
    "search": lambda a: manymeans.search(a, 2, rounds=1),
    "kmeans_plusplus": lambda a: manymeans.kmeans_plusplus(a, 2),
    "predict": lambda a: manymeans.predict(X[:2], a),
    "predict of a result": lambda a: manymeans.predict(RESULT, a),
    "predict by centres": lambda a: manymeans.predict(a, X),
    "FitResult.predict": RESULT.predict,
    "criteria": lambda a: manymeans.criteria(a, [0, 1] * 6),
    "choose_k": lambda a: manymeans.choose_k(a, [2], models=1),
    "consensus": lambda a: manymeans.consensus(RESULT, 2, a),
    "report": lambda a: manymeans.report(RESULT, a),
    "multiply": lambda a: manymeans.multiply(a, X),
    "multiply by": lambda a: manymeans.multiply(X, a),
    "init": lambda a: manymeans.fit(X, 2, init=a),
    "KMeans init": lambda a: manymeans.KMeans(2, init=a, n_init=1).fit(X),
    "MiniBatchKMeans init": lambda a: manymeans.MiniBatchKMeans(2, init=a, n_init=1).fit(X),
    "EnsembleKMeans init": lambda a: manymeans.EnsembleKMeans(2, init=a).fit(X),
    "RegressionClustering init": lambda a: manymeans.RegressionClustering(2, init=a).fit(X, Y),
}
for estimator in ESTIMATORS:
    kind = type(estimator).__name__
    ENTRIES[f"{kind}.fit"] = lambda a, estimator=estimator: sklearn.base.clone(estimator).fit(a, Y)
    for method in ("predict", "transform", "score")[: 1 if kind == "RegressionClustering" else 3]:
        ENTRIES[f"{kind}.{method}"] = getattr(estimator.fit(X, Y), method)
COLUMNS = {
    "sample_weight": lambda a: manymeans.fit(X, 2, sample_weight=a),
    "KMeans sample_weight": lambda a: manymeans.KMeans(2).fit(X, sample_weight=a),
    "MiniBatchKMeans sample_weight": lambda a: manymeans.MiniBatchKMeans(2).fit(X, sample_weight=a),
    "target": lambda a: manymeans.RegressionClustering(1).fit(X, a),
    "labels": lambda a: manymeans.compare(a, [0, 1] * 6),
    "labels of criteria": lambda a: manymeans.criteria(X, a),
}


@pytest.fixture(autouse=True)
def stand_in(monkeypatch):
    """Let arrays of a device get as far as their shape is looked at."""
    monkeypatch.setattr(_input._manymeans, "DeviceArray", OnDevice)
    monkeypatch.setattr(_input, "from_device", lambda given: _input.Points(OnDevice(given.array)))


def refused(call, given):
    with pytest.raises(ValueError) as caught:
        call(given)
    assert isinstance(caught.value, manymeans.Error) or "sklearn" in str(caught.traceback[-1].path)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("entry", ENTRIES)
def test_matrices(entry, kind, shape):
    if kind == "sparse" and shape == "0-D":
        pytest.skip("SciPy has none")
    if (entry, shape) == ("fit", "3-D") and kind not in ("list", "DLPack", "CUDA"):
        pytest.skip("these are many problems")
    refused(ENTRIES[entry], KINDS[kind](SHAPES[shape]))


@pytest.mark.parametrize("shape", ["0-D", "3-D", "4-D"])
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "bfloat16"])
@pytest.mark.parametrize("entry", COLUMNS)
def test_columns(entry, kind, shape):
    if kind == "sparse" and shape == "0-D":
        pytest.skip("SciPy has none")
    given = KINDS[kind](SHAPES[shape])
    if entry.endswith("sample_weight") and shape == "0-D":
        COLUMNS[entry](3.0)  # a number is a weight for all rows
        return
    refused(COLUMNS[entry], given)


def test_series_and_empty_frames():
    frames = [pandas.Series(Y), pandas.DataFrame(), pandas.DataFrame({"a": []}), pandas.Index([1, 2])]
    for given in (*frames, None, 3, "x"):
        for entry in ("KMeans.fit", "MiniBatchKMeans.fit", "BisectingKMeans.fit", "EnsembleKMeans.fit"):
            refused(ENTRIES[entry], given)
        if not isinstance(given, str):
            refused(ENTRIES["fit"], given)
