"""manymeans.multiply against exact rational arithmetic, and what it refuses."""

from fractions import Fraction

import numpy as np
import pytest

import manymeans


def rounded(value, dtype):
    """The number of `dtype` nearest to a fraction, ties to even."""
    digits, least = (53, -1074) if dtype == np.float64 else (24, -149)
    if value == 0:
        return dtype(0)
    magnitude = abs(value)
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    exponent += magnitude >= Fraction(2) ** exponent
    unit = max(exponent - digits, least)
    whole = round(magnitude / Fraction(2) ** unit)
    with np.errstate(over="ignore"):
        found = dtype(np.ldexp(dtype(whole), unit))
    return -found if value < 0 else found


def by_fractions(a, b, dtype):
    rows = [[Fraction(float(x)) for x in row] for row in a]
    columns = [[Fraction(float(x)) for x in column] for column in b.T]
    sums = [[sum((x * y for x, y in zip(r, c, strict=True)), Fraction(0)) for c in columns] for r in rows]
    return np.array([[rounded(s, dtype) for s in row] for row in sums], dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("reach", [0, 3, 40])
def test_equals_rational_arithmetic(dtype, reach):
    rng = np.random.default_rng(reach)
    for depth in (1, 2, 5, 30):
        a, b = (
            (rng.normal(size=shape) * 2.0 ** rng.integers(-reach, reach + 1, shape)).astype(dtype)
            for shape in ((6, depth), (depth, 7))
        )
        a[:, depth // 2 :] *= rng.choice([1, -1, 2**-24], a[:, depth // 2 :].shape).astype(dtype)
        assert manymeans.multiply(a, b).tobytes() == by_fractions(a, b, dtype).tobytes()


@pytest.fixture(scope="module")
def factors():
    rng = np.random.default_rng(1)
    return rng.normal(size=(70, 90)).astype(np.float32), rng.normal(size=(90, 50)).astype(np.float32)


def test_layouts_and_threads_change_no_bit(factors):
    a, b = factors
    expected, counts = manymeans.multiply(a, b, return_counts=True)
    assert expected.dtype == np.float32 and counts.entries == 3500 == counts.certified + counts.resolved
    assert counts.screen == "sums"
    spread = np.zeros((140, 180), np.float32)
    spread[::2, ::2] = a
    for x, y in [
        (np.asfortranarray(a), b),
        (a[::-1], b),
        (spread[::2, ::2], np.asfortranarray(b)),
        (a.astype(">f4"), b),
        (a[:, ::-1], b[::-1]),
    ]:
        found = manymeans.multiply(x, y, n_threads=2)
        assert (found[::-1] if x.strides[0] < 0 else found).tobytes() == expected.tobytes()
    assert (manymeans.multiply(a.T, b.T, transpose_a=True, transpose_b=True) == expected).all()
    packed = np.zeros(70 * 90 * 4 + 1, np.uint8)  # values at odd addresses
    packed[1:] = a.view(np.uint8).ravel()
    odd = np.frombuffer(packed.data, np.float32, offset=1, count=70 * 90).reshape(70, 90)
    assert (manymeans.multiply(odd, b) == expected).all()


def test_out(factors):
    a, b = factors
    expected = manymeans.multiply(a, b)
    room = np.full((100, 140), -1, np.float32)
    out = room[:70, :100:2]
    assert manymeans.multiply(a, b, out=out) is out
    assert (out == expected).all() and (room[:70, 1::2] == -1).all() and (room[70:] == -1).all()
    by_columns = np.empty((70, 50), np.float32, order="F")
    assert (manymeans.multiply(a, b, out=by_columns) == expected).all()
    with pytest.raises(manymeans.UsageError, match=r"\[out\] is a list"):
        manymeans.multiply(a, b, out=[])
    with pytest.raises(manymeans.UsageError, match="the output is float64"):
        manymeans.multiply(a, b, out=np.empty((70, 50)))
    with pytest.raises(manymeans.UsageError, match="the output is 50 x 70; the product is 70 x 50"):
        manymeans.multiply(a, b, out=np.empty((50, 70), np.float32))
    with pytest.raises(manymeans.UsageError, match="overlaps a"):
        manymeans.multiply(a, np.eye(90, dtype=np.float32), out=a)
    frozen = np.empty((70, 50), np.float32)
    frozen.flags.writeable = False
    with pytest.raises(manymeans.UsageError, match="read-only"):
        manymeans.multiply(a, b, out=frozen)


def test_types():
    rng = np.random.default_rng(2)
    for one, other in [(np.int8, np.uint8), (np.float16, np.float32), (np.float64, np.uint8), (np.int64, np.int32)]:
        a, b = rng.integers(0, 100, (9, 8)).astype(one), rng.integers(0, 100, (8, 7)).astype(other)
        found = manymeans.multiply(a, b)
        wide = np.float64 in (one, other) or np.int64 in (one, other)
        assert found.dtype == (np.float64 if wide else np.float32)
        assert (found == a.astype(np.float64) @ b.astype(np.float64)).all()
    assert manymeans.multiply([[True, False]], [[2], [3]])[0, 0] == 2
    assert manymeans.multiply(np.empty((3, 0)), np.empty((0, 2))).tolist() == [[0, 0]] * 3
    assert manymeans.multiply(np.empty((0, 4)), np.empty((4, 2))).shape == (0, 2)


def test_bfloat16():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    a = np.arange(12).reshape(3, 4).astype(ml_dtypes.bfloat16)
    assert (manymeans.multiply(a, a.T) == a.astype(np.float32) @ a.astype(np.float32).T).all()


def test_what_is_not_finite():
    a = np.float32([[np.inf, 1], [np.inf, -np.inf], [0, np.nan], [3e38, 3e38], [3e38, -3e38], [1e-45, 0]])
    found = manymeans.multiply(a, np.float32([[2], [2]])).ravel()
    assert found[0] == np.inf and np.isnan(found[1:3]).all() and found[3] == np.inf
    assert found[4] == 0 and not np.signbit(found[4])
    assert found[1:3].tobytes() == np.float32([np.nan, np.nan]).tobytes()
    assert np.isnan(manymeans.multiply(a[:1], np.float32([[0], [1]]))[0, 0])
    assert manymeans.multiply(np.float32([[-1e-40]]), np.float32([[1e-40]])).tobytes() == np.float32([-0.0]).tobytes()


@pytest.mark.parametrize(
    ("a", "error", "text"),
    [
        (np.ones((2, 3)), manymeans.UsageError, "a is 2 x 3, b is 2 x 2"),
        (np.ones(2), manymeans.BadDataError, r"\[a\] has the shape \(2,\); a matrix has two dimensions"),
        (np.ones((2, 2), complex), manymeans.BadDataError, r"\[a\] holds complex128"),
        ([["x", "y"]], manymeans.BadDataError, r"\[a\] holds <U1"),
        (np.full((2, 2), 2**53 + 1), manymeans.BadDataError, r"\[a\] holds integers beyond 2\^53"),
        ("a.npy", manymeans.BadDataError, "a is 'a.npy'"),
        (np.ma.masked_equal(np.eye(2), 0), manymeans.BadDataError, "a has masked values"),
    ],
)
def test_bad_input(a, error, text):
    with pytest.raises(error, match=text):
        manymeans.multiply(a, np.ones((2, 2)))


def test_sparse_matrices_and_switches_are_refused():
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(manymeans.BadDataError, match=r"\[b\] is a sparse matrix"):
        manymeans.multiply(np.ones((2, 2)), sparse.eye(2, format="csr"))
    with pytest.raises(manymeans.UsageError, match=r"\[transpose_a\] is 'yes'"):
        manymeans.multiply(np.ones((2, 2)), np.ones((2, 2)), transpose_a="yes")


def test_arrays_on_a_device_are_refused_where_there_is_none():
    if manymeans._input._has_cuda():
        pytest.skip("there is a CUDA device")

    class OnDevice:
        __cuda_array_interface__ = {}

    with pytest.raises(manymeans.BadDataError, match=r"\[a\] is on a CUDA device, which this build"):
        manymeans.multiply(OnDevice(), np.ones((2, 2)))


def test_backends(factors):
    a, b = factors
    expected = manymeans.multiply(a, b)
    for backend in manymeans.info()["backends"]:
        if backend["available"] and backend["name"] != "opencl":
            assert (manymeans.multiply(a, b, backend=backend["name"]) == expected).all()
    for name in ("gpu", "opencl"):
        with pytest.raises(manymeans.UsageError, match=f"there is no backend '{name}' of products"):
            manymeans.multiply(a, b, backend=name)
    with pytest.raises(manymeans.UsageError, match=r"\[backend\] is 3"):
        manymeans.multiply(a, b, backend=3)
