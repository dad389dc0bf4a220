"""Results that a caller has room for. Those on a device are in test_cuda_arrays.py."""

import numpy as np
import pytest

from manymeans import EnsembleKMeans, KMeans, UsageError


@pytest.mark.parametrize("dtype", ["f4", "f8", "u1"])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_out_of_numpy(dtype, metric, mixture):
    X = np.clip(mixture * 10, 1, 100).astype(dtype)
    wide = np.float64 if dtype == "f8" else np.float32
    for fitted in (KMeans(4, random_state=0, metric=metric).fit(X), EnsembleKMeans(4, metric=metric).fit(X)):
        labels, distances = np.full(len(X), -1, np.int32), np.zeros((len(X), 4), wide)
        assert fitted.predict(X, out=labels) is labels
        assert fitted.transform(X, out=distances) is distances
        assert np.array_equal(labels, fitted.predict(X))
        assert np.array_equal(distances, fitted.transform(X))
        strided = np.zeros((len(X), 2), np.int32)[:, 1]
        assert np.array_equal(fitted.predict(X, out=strided), labels)


def test_out_has_to_fit(mixture):
    fitted = KMeans(4, random_state=0).fit(mixture)
    n = len(mixture)
    read_only = np.zeros(n, np.int32)
    read_only.flags.writeable = False
    for out, text in (
        (np.zeros(n + 1, np.int32), rf"the shape \({n + 1},\)"),
        (np.zeros((n, 1), np.int32), "the shape"),
        (np.zeros(n, np.int64), "the type int64"),
        (np.zeros(n, ">i4"), "byte order"),
        (read_only, "read-only"),
        ([0] * n, "is a list"),
    ):
        with pytest.raises(UsageError, match=text):
            fitted.predict(mixture, out=out)
    with pytest.raises(UsageError, match="the type float64"):
        fitted.transform(mixture, out=np.zeros((n, 4)))


def test_tensors_of_the_cpu_are_no_room(mixture):
    torch = pytest.importorskip("torch")
    fitted = KMeans(4, random_state=0).fit(mixture)
    with pytest.raises(UsageError, match=r"out\.numpy\(\)"):
        fitted.predict(mixture, out=torch.zeros(len(mixture), dtype=torch.int32))


def test_output_is_checked(mixture):
    with pytest.raises(ValueError, match="output"):
        KMeans(4, output="torch").fit(mixture)
