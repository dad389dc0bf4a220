"""Codebooks: beside fits of the blocks and levels, beside faiss, and the same bits always."""

import copy
import pickle

import numpy as np
import pandas
import pytest
import sklearn.base
from sklearn.exceptions import NotFittedError

import manymeans
from manymeans import ProductQuantizer, ResidualQuantizer

KINDS = {
    "product": ProductQuantizer(3, 16, random_state=7),
    "residual": ResidualQuantizer(3, 16, random_state=7),
    "balanced": ResidualQuantizer(3, 16, balanced=True, random_state=7),
    "beam": ResidualQuantizer(3, 16, beam=4, random_state=7),
}


def quantizer(kind, **options):
    return sklearn.base.clone(KINDS[kind]).set_params(**options)


def squared_error(fitted, X, codes=None):
    codes = fitted.transform(X) if codes is None else codes
    return ((X.astype("f8") - fitted.inverse_transform(codes)) ** 2).sum()


def same(one, two, X):
    assert one.answer_ == two.answer_ and one.inertia_ == two.inertia_
    assert np.array_equal(one.codebooks_, two.codebooks_) and np.array_equal(one.n_iter_each_, two.n_iter_each_)
    assert np.array_equal(one.transform(X), two.transform(X))


@pytest.mark.parametrize("kind", KINDS)
def test_same_bits_however_it_is_computed(kind, mixture):
    def fit(**options):
        return quantizer(kind, sample=1000, **options).fit(mixture)

    expected = fit(n_threads=1)
    for options in {"n_threads": 2}, {"n_threads": 5}, {"backend": "cpu"}, {"backend": "reference"}:
        same(fit(**options), expected, mixture)
    same(fit(random_state=np.random.RandomState(7)), expected, mixture)
    assert fit(random_state=8).answer_ != expected.answer_
    whole = expected.transform(mixture)
    expected._bytes_of_row = lambda: 1 << 20  # 64 rows a chunk
    assert np.array_equal(expected.transform(mixture), whole)


def test_blocks_are_fits_of_their_columns(mixture):
    fitted = quantizer("product", sample=None, tol=0.01).fit(mixture)
    options = {"seed": 7, "init": "random", "tol": 0.01, "max_iter": 25}
    fits = [manymeans.fit(mixture[:, 2 * m : 2 * m + 2], 16, **options) for m in range(3)]
    models = [result.best() for result in fits]
    assert np.array_equal(fitted.codebooks_, [model.cluster_centers for model in models])
    assert np.array_equal(fitted.transform(mixture), np.stack([model.labels for model in models], axis=1))
    assert fitted.inertia_ == pytest.approx(sum(model.inertia for model in models), rel=1e-12)
    assert fitted.n_iter_each_.tolist() == [model.n_iter for model in models]
    assert fitted.answer_ == manymeans._manymeans.combined_digest([result.digest for result in fits])


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("balanced", [False, True])
def test_levels_are_fits_of_residuals(balanced, dtype, mixture):
    X = mixture[:999].astype(dtype)
    fitted = quantizer("residual", balanced=balanced, random_state=2**64 - 1).fit(X)
    sizes = {"min_size": 62, "max_size": 63} if balanced else {}
    rest, labels = X.copy(), []
    for level, seed in enumerate((2**64 - 1, 0, 1)):
        model = manymeans.fit(rest, 16, seed=seed, init="k-means||", max_iter=25, **sizes).best()
        assert np.array_equal(fitted.codebooks_[level], model.cluster_centers)
        assert fitted.codebooks_.dtype == dtype
        if balanced:
            assert set(np.bincount(model.labels)) == {62, 63}
        labels.append(model.labels)
        rest -= model.cluster_centers[model.labels]
    assert fitted.inertia_ == model.inertia
    codes = np.stack(labels, axis=1)
    assert squared_error(fitted, X, codes) == pytest.approx(fitted.inertia_, rel=1e-5)
    if not balanced:
        assert np.array_equal(fitted.transform(X), codes)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "u1", "i1"])
@pytest.mark.parametrize("kind", ["product", "residual"])
def test_error_of_the_rows_is_the_inertia(kind, dtype, mixture):
    X = np.clip(10 * mixture + 60, 0, 120).astype(dtype)
    fitted = quantizer(kind, sample=None).fit(X)
    codes = fitted.transform(X)
    assert codes.shape == (5000, 3) and codes.dtype == np.uint8
    assert fitted.codebooks_.shape == ((3, 16, 2) if kind == "product" else (3, 16, 6))
    assert fitted.inverse_transform(codes).dtype == (np.float64 if dtype == "f8" else np.float32)
    assert squared_error(fitted, X, codes) == pytest.approx(fitted.inertia_, rel=1e-5)
    assert np.array_equal(quantizer(kind, sample=None).fit_transform(X), codes)


def test_beam(mixture):
    greedy, wide = quantizer("residual").fit(mixture), quantizer("beam").fit(mixture)
    assert greedy.answer_ == wide.answer_
    assert squared_error(wide, mixture) < squared_error(greedy, mixture)
    codes = wide.transform(mixture[:40])
    every = wide.set_params(beam=16**2).transform(mixture[:40])  # all codes
    books = wide.codebooks_.astype("f8")
    sums = (books[0][:, None, None] + books[1][:, None] + books[2]).reshape(-1, 6)
    least = ((mixture[:40, None] - sums) ** 2).sum(axis=2).min(axis=1)
    found = ((mixture[:40] - wide.inverse_transform(every)) ** 2).sum(axis=1)
    assert found == pytest.approx(least, rel=1e-4)
    assert squared_error(wide, mixture[:40], every) <= squared_error(wide, mixture[:40], codes)


def test_ties_go_to_the_lower_code():
    fitted = ResidualQuantizer(2, 2, beam=3, random_state=0).fit([[0.0], [2.0], [10.0], [12.0]])
    fitted.codebooks_ = np.array([[[1.0], [3.0]], [[-1.0], [1.0]]])  # 2 is the sum of 1 and 1, and of 3 and -1
    assert fitted.transform([[2.0]]).tolist() == [[0, 1]]
    fitted.codebooks_[1] = 0.0
    for beam in (1, 3):
        assert fitted.set_params(beam=beam).transform([[2.0]]).tolist() == [[0, 0]]


@pytest.mark.parametrize("kind", ["product", "residual"])
def test_sample(kind, mixture):
    auto = quantizer(kind, n_codes=4).fit(mixture)
    size = 4 * {"product": 256, "residual": 1024}[kind]
    rows = manymeans.fit(np.arange(5000.0)[:, None], size, init="random", seed=7, max_iter=0).best().cluster_centers
    same(auto, quantizer(kind, n_codes=4, sample=None).fit(mixture[np.sort(rows[:, 0].astype(int))]), mixture)
    same(auto, quantizer(kind, n_codes=4, sample=size).fit(mixture), mixture)
    same(quantizer(kind, sample=9999).fit(mixture), quantizer(kind, sample=None).fit(mixture), mixture)
    weights = np.random.default_rng(0).random(5000)
    weighted = quantizer(kind, sample=1000).fit(mixture, sample_weight=weights)
    assert weighted.answer_ != quantizer(kind, sample=1000).fit(mixture).answer_
    unread = mixture.copy()
    unread[np.setdiff1d(np.arange(5000), rows)[0]] = np.nan
    same(auto, quantizer(kind, n_codes=4).fit(unread), mixture)


def test_weights(mixture):
    X, weights = mixture[:500], np.random.default_rng(0).integers(1, 4, 500)
    for kind in ("product", "residual"):
        fitted = quantizer(kind).fit(X, sample_weight=weights)
        squares = ((X - fitted.inverse_transform(fitted.transform(X))).astype("f8") ** 2).sum(axis=1)
        assert fitted.inertia_ == pytest.approx((weights * squares).sum(), rel=1e-5)


def test_types_of_codes(mixture):
    for n_codes, dtype in ((256, np.uint8), (257, np.uint16)):
        fitted = ResidualQuantizer(2, n_codes, max_iter=1, init="first", random_state=0).fit(mixture)
        codes = fitted.transform(mixture)
        assert codes.dtype == dtype and codes[:, 0].max() == n_codes - 1
        for given in (codes.astype(np.int64), codes.tolist(), pandas.DataFrame(codes)):
            assert np.array_equal(fitted.inverse_transform(given), fitted.inverse_transform(codes))
    assert fitted.inverse_transform(codes[:0]).shape == (0, 6)


@pytest.mark.parametrize("kind", KINDS)
def test_estimators_conventions(kind, mixture, capsys):
    frame = pandas.DataFrame(mixture, columns=list("abcdef"))
    fitted = quantizer(kind, verbose=1).fit(frame)
    assert len(capsys.readouterr().out.splitlines()) == 3
    assert fitted.n_features_in_ == 6 and fitted.feature_names_in_.tolist() == list("abcdef")
    for again in pickle.loads(pickle.dumps(fitted)), copy.deepcopy(fitted), sklearn.base.clone(fitted).fit(frame):
        same(again, fitted, frame)
    assert pickle.dumps(pickle.loads(pickle.dumps(fitted))) == pickle.dumps(fitted)
    assert not hasattr(fitted, "provenance_")
    with pytest.raises(manymeans.BadDataError, match=r"\[X\] row 4, column 'c' is NaN"):
        fitted.transform(frame.assign(c=frame["c"].where(frame.index != 4)))
    for call in (
        lambda new: new.transform(mixture),
        lambda new: new.inverse_transform([[0]]),
        lambda new: new.to_faiss(),
    ):
        with pytest.raises(NotFittedError):
            call(quantizer(kind))


def test_tensors(mixture):
    torch = pytest.importorskip("torch")
    for kind in KINDS:
        fitted = quantizer(kind).fit(torch.from_numpy(mixture))
        same(fitted, quantizer(kind).fit(mixture), mixture)
        codes = fitted.transform(torch.from_numpy(mixture))
        assert np.array_equal(fitted.inverse_transform(torch.from_numpy(codes)), fitted.inverse_transform(codes))
        narrow = quantizer(kind).fit(torch.from_numpy(mixture).bfloat16())
        assert narrow.codebooks_.dtype == np.float32


@pytest.mark.parametrize(
    ("estimator", "text"),
    [
        (ProductQuantizer(4, 16), r"\[n_subspaces\] is 4; the 6 features can be cut into 1, 2, 3, 6 blocks"),
        (ProductQuantizer(7, 16), r"\[n_subspaces\] is 7"),
        (ProductQuantizer(3, 6000), "n_samples=5000 should be >= n_codes=6000"),
        (ResidualQuantizer(3, 6000), "n_samples=5000 should be >= n_codes=6000"),
        (ProductQuantizer(3, 16, sample=15), r"\[sample\] is 15; it must be at least n_codes=16"),
        (ProductQuantizer(0, 16), "n_subspaces"),
        (ProductQuantizer(3, 16, sample="all"), "sample"),
        (ResidualQuantizer(3, 16, beam=0), "beam"),
        (ResidualQuantizer(3, 16, balanced=2), "balanced"),
    ],
)
def test_wrong_parameters(estimator, text, mixture):
    with pytest.raises(ValueError, match=text):
        estimator.fit(mixture)


@pytest.mark.parametrize("kind", KINDS)
def test_wrong_points(kind, mixture):
    X = mixture.copy()
    X[4321, 5] = np.nan
    with pytest.raises(manymeans.BadDataError, match=r"\[X\] row 4321, column 5 is NaN"):
        quantizer(kind, sample=4999, random_state=3).fit(X)
    fitted = quantizer(kind).fit(mixture)
    with pytest.raises(manymeans.BadDataError, match=r"\[X\] row 4321, column 5 is NaN"):
        fitted.transform(X)
    with pytest.raises(ValueError, match="5 features"):
        fitted.transform(X[:, :5])
    with pytest.raises(manymeans.BadDataError, match=r"\[sample_weight\] row 3 has weight -1"):
        fitted.fit(mixture, sample_weight=[1, 1, 1, -1] + [1] * 4996)


@pytest.mark.parametrize(
    ("codes", "text"),
    [
        ([[0, 1, 16]], r"\[codes\] row 0, column 2 is 16; codes go from 0 to 15"),
        ([[0, 1, 2], [0, -1, 2]], r"\[codes\] row 1, column 1 is -1"),
        (np.array([[0, 2**64 - 1, 2]], np.uint64), r"\[codes\] row 0, column 1 is 18446744073709551615"),
        ([[0, 1]], r"codes have the shape \(1, 2\); \(n_samples, 3\) is right"),
        ([0, 1, 2], r"codes have the shape \(3,\)"),
        ([[0.0, 1, 2]], "codes are of type float64; integers are right"),
        ([[True, False, True]], "codes are of type bool"),
        ([["0", "1", "2"]], "codes are of type <U1"),
    ],
)
@pytest.mark.parametrize("kind", ["product", "residual"])
def test_wrong_codes(kind, codes, text, mixture):
    fitted = quantizer(kind).fit(mixture)
    with pytest.raises(manymeans.BadDataError, match=text):
        fitted.inverse_transform(codes)


@pytest.mark.parametrize("kind", KINDS)
def test_conventions_after_the_fit(kind, mixture):
    fitted = quantizer(kind).fit(mixture)
    empty = fitted.inverse_transform(fitted.transform(mixture)[:0])
    assert empty.shape == (0, 6) and empty.dtype == np.float32
    assert fitted.n_iter_ == max(fitted.n_iter_each_)
    names = fitted.get_feature_names_out().tolist()
    assert names == [f"{type(fitted).__name__.lower()}{i}" for i in range(3)]
    assert list(fitted.set_output(transform="pandas").transform(mixture).columns) == names
    with pytest.raises(manymeans.UsageError, match=r"beyond 3.4e38"):
        quantizer(kind).fit(mixture.astype(np.float64) * 1e100).to_faiss()


@pytest.mark.parametrize("beam", [0, 1.5, None, "x", -1])
def test_beam_may_be_set_after_the_fit(beam, mixture):
    fitted = ResidualQuantizer(2, 16, random_state=0).fit(mixture)
    with pytest.raises(ValueError, match="'beam' parameter"):
        fitted.set_params(beam=beam).transform(mixture)


def test_errors_name_blocks(mixture):
    X = mixture.astype(np.float64)
    X[:, 4] *= 1e200
    with pytest.raises(manymeans.BadDataError, match=r"^\[block 2\] \[X\]") as raised:
        ProductQuantizer(3, 16).fit(X)
    assert raised.value.problem is None


def test_faiss_has_whole_bits(mixture):
    for kind in (ProductQuantizer, ResidualQuantizer):
        with pytest.raises(manymeans.UsageError, match=r"\[n_codes\] is 20; codes of faiss have whole bits: 32"):
            kind(2, 20, random_state=0).fit(mixture).to_faiss()


def nearly_equal(fitted, X, ours, theirs):
    """Other codes come from distances that float32 cannot tell apart."""
    assert (ours != theirs).any(axis=1).mean() < 0.01
    assert squared_error(fitted, X, ours) == pytest.approx(squared_error(fitted, X, theirs), rel=1e-5)


def test_product_beside_faiss(mixture):
    faiss = pytest.importorskip("faiss")
    fitted = ProductQuantizer(3, 256, random_state=0).fit(mixture)
    theirs = faiss.ProductQuantizer(6, 3, 8)
    faiss.copy_array_to_vector(fitted.to_faiss().ravel(), theirs.centroids)
    codes = fitted.transform(mixture)
    assert np.array_equal(theirs.decode(codes), fitted.inverse_transform(codes))
    nearly_equal(fitted, mixture, codes, theirs.compute_codes(mixture))


@pytest.mark.parametrize("beam", [1, 4])
def test_residual_beside_faiss(beam, mixture):
    faiss = pytest.importorskip("faiss")
    fitted = ResidualQuantizer(3, 256, beam=beam, random_state=0).fit(mixture)
    theirs = faiss.ResidualQuantizer(6, 3, 8)
    faiss.copy_array_to_vector(fitted.to_faiss().ravel(), theirs.codebooks)
    theirs.is_trained, theirs.max_beam_size = True, beam
    codes = fitted.transform(mixture)
    assert np.array_equal(theirs.decode(codes), fitted.inverse_transform(codes))
    nearly_equal(fitted, mixture, codes, theirs.compute_codes(mixture))
