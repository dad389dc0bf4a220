"""Codebooks: rows as a few small integers, each the number of a centre."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from . import _manymeans
from ._base import _FittingEstimator, _WithoutResult, at_least, hosted
from ._declaring import parameter, parameters
from ._errors import BadDataError, Error, UsageError, warn
from ._functions import fit_each, run_fit
from ._input import Points, on_host
from ._labelling import PreparedCenters, predict_points, transform_points
from ._profile import check_finite, check_weights
from ._sklearn import ClassNamePrefixFeaturesOutMixin, TransformerMixin, checks_parameters
from ._wording import shown

_MOST_COSTS = 1 << 27  # rows times clusters of a fit with sizes
_CHUNK = 1 << 26  # bytes that coding takes beside its input and its codes


@parameters
class _Codebooks(ClassNamePrefixFeaturesOutMixin, TransformerMixin, _FittingEstimator):
    """Both quantisers choose rows of training, check codes, and work in chunks."""

    codebooks_: npt.NDArray[Any]
    n_codes: int
    _rows_per_code = 256  # as faiss's max_points_per_centroid

    sample: int | str | None = parameter(
        default="auto", accepts=[StrOptions({"auto"}), at_least(1), None], type='"auto", int or None',
        text="Max rows of training. ``\"auto\"``: 256 for each code (residual codebooks: 1,024); None: all rows. "
        'If `X` has more, the fit reads a sample: the rows that ``init="random"`` would choose as initial centres, in '
        "the order of `X`.",
    )  # fmt: skip
    init: str = parameter(
        default="random", accepts=[StrOptions({"auto", "k-means++", "k-means||", "random", "first"})], option=True,
        type='{"auto", "k-means++", "k-means||", "random", "first"}',
        text="How the centres begin: see `manymeans.fit`.",
    )  # fmt: skip
    max_iter: int = parameter(
        default=25, accepts=[at_least(1)], option=True, text="Max iterations of each codebook, as in faiss."
    )
    verbose: int = parameter(
        default=0, accepts=["verbose"], text="Other than 0: print the error and the iterations of each codebook."
    )

    _prepared: list[PreparedCenters]
    _fitted_result = _WithoutResult._fitted_result

    # --- fitting ------------------------------------------------------------------------------------------------

    def _training(
        self, X: Any, sample_weight: Any, seed: int, most: float = math.inf
    ) -> tuple[npt.NDArray[Any], npt.NDArray[np.float64] | None]:
        """Give the rows of training, a view where these are all, and their weights."""
        points = hosted(self._points(X, reset=True))
        weights = self._weights(sample_weight, points, X)
        if weights is not None:
            check_weights(weights)
        n = points.array.shape[0]
        if n < self.n_codes:
            raise UsageError(f"n_samples={n} should be >= n_codes={self.n_codes}.")
        size: Any = min(self._rows_per_code * self.n_codes, most) if self.sample == "auto" else self.sample
        if size is not None and size < self.n_codes:
            raise UsageError(f"[sample] is {shown(size)}; it must be at least n_codes={self.n_codes}")
        rows = None if size is None or size >= n else _sampled(n, int(size), seed)
        chosen = points if rows is None else points._replace(array=points.array[rows])
        check_finite(chosen, rows)
        return chosen.numbers, weights if weights is None or rows is None else weights[rows]

    def _keep(self, codebooks: npt.NDArray[Any], iterations: Any, digests: list[str]) -> None:
        self.codebooks_ = codebooks
        self.n_iter_each_ = np.asarray(iterations, dtype=np.int64)
        self.n_iter_ = int(self.n_iter_each_.max())
        self._answer = _manymeans.combined_digest(digests)
        self._prepared = [PreparedCenters() for _ in codebooks]

    def _tell(self, what: str, inertias: Any, iterations: Any) -> None:
        if self.verbose:
            for number, (inertia, n_iter) in enumerate(zip(inertias, iterations, strict=True)):
                print(f"{what} {number}: squared error {inertia:g} after {n_iter} iterations")

    # --- codes --------------------------------------------------------------------------------------------------

    @checks_parameters  # `beam` may be another one than when it was fitted
    def transform(self, X: Any) -> npt.NDArray[Any]:
        """Give the codes of points.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points.

        Returns
        -------
        codes : ndarray of shape (n_samples, n_codebooks)
            uint8 up to 256 codes, uint16 up to 65,536, int32 above.

        """
        check_is_fitted(self)
        points = hosted(self._points(X, reset=False))
        number, size = self.codebooks_.shape[:2]
        codes = np.empty((points.array.shape[0], number), np.min_scalar_type(size - 1) if size <= 1 << 16 else np.int32)
        try:
            for rows in self._chunks(len(codes)):
                self._encode(points._replace(array=points.array[rows]).numbers, codes[rows])
        except BadDataError:
            check_finite(points)  # which knows the row and the column of the whole
            raise
        return codes

    def inverse_transform(self, codes: Any) -> npt.NDArray[Any]:
        """Give the points that codes describe.

        Parameters
        ----------
        codes : array-like of shape (n_samples, n_codebooks)
            Integers, as `transform` gives them.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Of the type of `codebooks_`.

        Raises
        ------
        BadDataError
            For other types and shapes, and for codes out of range.

        """
        check_is_fitted(self)
        array = np.asarray(on_host(codes))
        number, size = self.codebooks_.shape[:2]
        if array.dtype.kind not in "iu":
            raise BadDataError(f"codes are of type {array.dtype}; integers are right")
        if array.ndim != 2 or array.shape[1] != number:
            raise BadDataError(f"codes have the shape {array.shape}; (n_samples, {number}) is right")
        if array.size and (int(array.min()) < 0 or int(array.max()) >= size):
            row, column = np.argwhere((array < 0) | (array > size - 1))[0]
            raise BadDataError(
                f"[codes] row {row}, column {column} is {array[row, column]}; codes go from 0 to {size - 1}"
            )
        return self._decode(array)

    def _chunks(self, n: int) -> Iterator[slice]:
        step = max(1, _CHUNK // self._bytes_of_row())
        return (slice(first, first + step) for first in range(0, n, step))

    def _bytes_of_row(self) -> int:
        raise NotImplementedError

    def _encode(self, rows: npt.NDArray[Any], codes: npt.NDArray[Any]) -> None:
        raise NotImplementedError

    def _decode(self, codes: npt.NDArray[Any]) -> npt.NDArray[Any]:
        raise NotImplementedError

    def _nearest(self, number: int, rows: npt.NDArray[Any]) -> Any:
        """Give the codes of rows in one codebook."""
        book = self.codebooks_[number]
        predictor = self._prepared[number].predictor_of(book)
        return predict_points(Points(rows), book, predictor, n_threads=self.n_threads, backend=self.backend)[0]

    @property
    def _n_features_out(self) -> int:
        return len(self.codebooks_)

    def _for_faiss(self) -> npt.NDArray[np.float32]:
        check_is_fitted(self)
        size = self.codebooks_.shape[1]
        if size & (size - 1):
            raise UsageError(f"[n_codes] is {size}; codes of faiss have whole bits: {1 << size.bit_length()} would do")
        if not np.abs(self.codebooks_).max() <= np.finfo(np.float32).max:
            raise UsageError("[X] has values beyond 3.4e38, which the float32 of faiss cannot hold; scale the points")
        return np.array(self.codebooks_, np.float32)

    def __sklearn_tags__(self) -> Any:
        """Say that codes have a type of their own."""
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags


@parameters
class ProductQuantizer(_Codebooks):
    """Product quantisation: the columns in blocks, and the nearest centre of each block as its code.

    A row becomes `n_subspaces` codes, at ``log2(n_codes)`` bits each. The blocks are consecutive columns of equal
    number. `manymeans.fit_each` fits them in one call: `manymeans.fit` with the columns of a block gives the same
    centres. They never depend on the number of threads, the instruction set or the backend.

    Attributes
    ----------
    codebooks_ : ndarray of shape (n_subspaces, n_codes, n_features / n_subspaces)
        The centres of each block; float64 for float64 points, else float32.
    inertia_ : float
        Weighted sum of squared errors over the rows of training.
    n_iter_ : int
        The most iterations of a block.
    n_iter_each_ : ndarray of shape (n_subspaces,)
        Iterations of each block.
    answer_ : str
        Digest of the fits of all blocks: 32 hexadecimal digits, equal for equal answers, on every machine.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where all are strings.

    Raises
    ------
    UsageError
        For fewer rows than codes, and for `n_subspaces` that does not divide the number of features. A ValueError.
    BadDataError
        For NaN or infinity in the rows of training. A ValueError.

    See Also
    --------
    ResidualQuantizer : Codes of whole rows that refine each other.
    manymeans.fit_each : Many problems in one call.

    Notes
    -----
    A fit takes O(max_iter rows n_codes n_features) time. It holds two copies of the rows of training; the second one
    has the blocks one behind the other. `transform` takes O(n_samples n_codes n_features) time, and 64 MiB. All blocks
    begin with the same seed. A warning's problem is the number of a block.

    References
    ----------
    H. Jegou, M. Douze, C. Schmid: Product Quantization for Nearest Neighbor Search. IEEE Transactions on Pattern
    Analysis and Machine Intelligence 33 (2011).

    Examples
    --------
    >>> import numpy as np
    >>> from manymeans import ProductQuantizer
    >>> X = np.random.default_rng(0).random((2000, 16), dtype=np.float32)
    >>> quantizer = ProductQuantizer(n_subspaces=4, n_codes=64, random_state=0).fit(X)
    >>> codes = quantizer.transform(X)
    >>> codes.shape, codes.dtype.name, quantizer.codebooks_.shape
    ((2000, 4), 'uint8', (4, 64, 4))
    >>> error = ((X - quantizer.inverse_transform(codes)) ** 2).sum(dtype=np.float64)
    >>> bool(np.isclose(error, quantizer.inertia_))
    True

    """

    n_subspaces: int = parameter(
        default=8, accepts=[at_least(1)], kw_only=False, text="Blocks of columns; it divides the number of features."
    )
    n_codes: int = parameter(default=256, accepts=[at_least(1)], kw_only=False, text="Centres of each block.")

    @checks_parameters
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> ProductQuantizer:
        """Fit the codebooks of all blocks.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points; see `KMeans.fit`. Rows that `sample` leaves out are not read.
        y : Ignored
            There by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights, 0 or larger; None: all equal.

        Returns
        -------
        self : ProductQuantizer
            The fitted estimator.

        """
        options = self._options()
        rows, weights = self._training(X, sample_weight, options["seed"])
        n, columns = rows.shape
        number = int(self.n_subspaces)
        if columns % number:
            right = ", ".join(str(m) for m in range(1, columns + 1) if columns % m == 0)
            raise UsageError(f"[n_subspaces] is {number}; the {columns} features can be cut into {right} blocks")
        blocks = np.ascontiguousarray(rows.reshape(n, number, -1).swapaxes(0, 1))
        del rows
        try:
            found = fit_each(
                blocks, self.n_codes, n_threads=self.n_threads, **options,
                sample_weight=None if weights is None else np.broadcast_to(weights, (number, n)),
            )  # fmt: skip
        except Error as error:
            raise type(error)(str(error).replace("[problem ", "[block ", 1)) from None
        self.inertia_ = math.fsum(found.inertia_)
        self._keep(found.cluster_centers_, found.n_iter_, [str(digest) for digest in found.digests])
        self._tell("Block", found.inertia_, found.n_iter_)
        return self

    def _bytes_of_row(self) -> int:
        number, _, width = self.codebooks_.shape
        return 8 * int((number + 1) * width)

    def _encode(self, rows: npt.NDArray[Any], codes: npt.NDArray[Any]) -> None:
        blocks = rows.reshape(len(rows), len(self.codebooks_), -1)
        for m in range(len(self.codebooks_)):
            codes[:, m] = self._nearest(m, np.ascontiguousarray(blocks[:, m]))

    def _decode(self, codes: npt.NDArray[Any]) -> npt.NDArray[Any]:
        number, _, width = self.codebooks_.shape
        rows = np.empty((len(codes), number, width), self.codebooks_.dtype)
        for m, book in enumerate(self.codebooks_):
            rows[:, m] = book[codes[:, m]]
        return rows.reshape(len(codes), number * width)

    def to_faiss(self) -> npt.NDArray[np.float32]:
        """Give the codebooks as ``faiss.ProductQuantizer(n_features, n_subspaces, log2(n_codes))`` has them.

        ``faiss.copy_array_to_vector(quantizer.to_faiss().ravel(), pq.centroids)`` copies them.

        Returns
        -------
        centroids : ndarray of shape (n_subspaces, n_codes, n_features / n_subspaces)
            float32.

        Raises
        ------
        UsageError
            Unless `n_codes` is a power of two, and the centres are within the range of float32.

        """
        return self._for_faiss()


@parameters
class ResidualQuantizer(_Codebooks):
    """Residual quantisation: a row as a sum of centres, one of each level.

    The first level is a fit of the rows, and each other one a fit of what the levels before leave. A row becomes
    `n_levels` codes. Residuals are subtracted one level after the other, in the type of `codebooks_`, and
    `inverse_transform` adds in that order. So codebooks and codes never depend on the number of threads, the
    instruction set or the backend.

    Attributes
    ----------
    codebooks_ : ndarray of shape (n_levels, n_codes, n_features)
        The centres of each level; float64 for float64 points, else float32.
    inertia_ : float
        Weighted sum of squared errors over the rows of training, with the labels of the fits.
    n_iter_ : int
        The most iterations of a level.
    n_iter_each_ : ndarray of shape (n_levels,)
        Iterations of each level.
    answer_ : str
        Digest of the fits of all levels: 32 hexadecimal digits, equal for equal answers, on every machine.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where all are strings.

    Raises
    ------
    UsageError
        For fewer rows than codes. A ValueError.
    BadDataError
        For NaN or infinity in the rows of training. A ValueError.

    See Also
    --------
    ProductQuantizer : Codes of blocks of columns.

    Notes
    -----
    A fit takes O(max_iter rows n_levels n_codes n_features) time. It holds two copies of the rows of training.
    `transform` takes O(beam n_samples n_levels n_codes (n_features + beam)) time, and 64 MiB. Level l has the seed
    ``(seed + l) % 2**64``.

    References
    ----------
    Y. Chen, T. Guan, C. Wang: Approximate Nearest Neighbor Search by Residual Vector Quantization. Sensors 10 (2010).
    A. Babenko, V. Lempitsky: Additive Quantization for Extreme Vector Compression. CVPR (2014), for the beam.

    Examples
    --------
    >>> import numpy as np
    >>> from manymeans import ResidualQuantizer
    >>> X = np.random.default_rng(0).random((2000, 16), dtype=np.float32)
    >>> quantizer = ResidualQuantizer(n_levels=3, n_codes=64, random_state=0).fit(X)
    >>> codes = quantizer.transform(X)
    >>> codes.shape, quantizer.codebooks_.shape
    ((2000, 3), (3, 64, 16))
    >>> error = ((X - quantizer.inverse_transform(codes)) ** 2).sum(dtype=np.float64)
    >>> bool(np.isclose(error, quantizer.inertia_))
    True
    >>> wide = quantizer.set_params(beam=8)
    >>> bool(((X - wide.inverse_transform(wide.transform(X))) ** 2).sum() < error)
    True

    """

    # Levels that are fitted to the same few rows learn these by heart.
    _rows_per_code = 1024
    n_levels: int = parameter(default=4, accepts=[at_least(1)], kw_only=False, text="Codes of a row.")
    n_codes: int = parameter(default=256, accepts=[at_least(1)], kw_only=False, text="Centres of each level.")
    init: str = parameter(default="k-means||")
    balanced: bool = parameter(
        default=False, accepts=["boolean"],
        text="Sizes of the clusters of a level differ by one row at most, in training; `transform` takes the nearest "
        "centres. ``sample=\"auto\"`` is 2**27 / n_codes rows at most: a fit with sizes can have no more.",
    )  # fmt: skip
    beam: int = parameter(
        default=1, accepts=[at_least(1)],
        text="Partial codes of a row that `transform` keeps from level to level: those of the least distance. Of equal "
        "ones, it keeps the one whose partial code stood first, and then the lower code. 1: the nearest centre of "
        "each level.",
    )  # fmt: skip

    @checks_parameters
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> ResidualQuantizer:
        """Fit the codebooks of all levels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points; see `KMeans.fit`. Rows that `sample` leaves out are not read.
        y : Ignored
            There by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights, 0 or larger; None: all equal.

        Returns
        -------
        self : ResidualQuantizer
            The fitted estimator.

        """
        most = _MOST_COSTS // self.n_codes if self.balanced else math.inf
        options = {**self._options(), "k": [self.n_codes]}
        seed = options["seed"]
        rows, weights = self._training(X, sample_weight, seed, most)
        residuals = rows.astype(np.float64 if rows.dtype == np.float64 else np.float32)
        del rows
        if self.balanced:
            least, more = divmod(len(residuals), self.n_codes)
            options |= {"min_size": least, "max_size": least + bool(more)}
        models = []
        for level in range(self.n_levels):
            options["seed"] = (seed + level) % 2**64
            found = run_fit(Points(residuals), weights, options, n_threads=self.n_threads)
            model = found.best()
            models.append((model.cluster_centers, model.inertia, model.n_iter, model.digest))
            for text in found.warnings:
                warn(f"[level {level}] {text}")
            if level + 1 < self.n_levels:
                _subtract(residuals, model.cluster_centers, model.labels)
        books, inertias, iterations, digests = zip(*models, strict=True)
        self.inertia_ = float(inertias[-1])
        self._keep(np.array(books), iterations, list(digests))
        self._tell("Level", inertias, iterations)
        return self

    def _bytes_of_row(self) -> int:
        size, columns = self.codebooks_.shape[1:]
        return 8 * int(self.beam) * int(3 * columns + (size if self.beam > 1 else 0))

    def _encode(self, rows: npt.NDArray[Any], codes: npt.NDArray[Any]) -> None:
        wide = np.float64 in (rows.dtype, self.codebooks_.dtype)
        residuals = rows.astype(np.float64 if wide else np.float32)
        if self.beam > 1:
            codes[:] = self._by_beam(residuals)
            return
        for level, book in enumerate(self.codebooks_):
            labels = self._nearest(level, residuals)
            codes[:, level] = labels
            _subtract(residuals, book, labels)

    def _by_beam(self, residuals: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Give the codes of rows; `kept` has what the partial codes of each row leave, the best first."""
        kept, codes = residuals[:, None], np.empty((len(residuals), 1, 0), np.int32)
        rows = np.arange(len(residuals))
        number, size, columns = self.codebooks_.shape
        for level, book in enumerate(self.codebooks_):
            distances = transform_points(
                Points(kept.reshape(-1, columns)), book, self._prepared[level].predictor_of(book),
                n_threads=self.n_threads, backend=self.backend,
            ).reshape(len(rows), -1)  # fmt: skip
            best = []
            for _ in range(1 if level + 1 == number else min(self.beam, distances.shape[1])):
                best.append(distances.argmin(axis=1))  # the first of equals
                distances[rows, best[-1]] = np.inf
            before, own = np.divmod(np.stack(best, axis=1), size)
            codes = np.concatenate([codes[rows[:, None], before], own[:, :, None]], axis=2, dtype=np.int32)
            if level + 1 < number:
                kept = kept[rows[:, None], before] - book[own]
        return codes[:, 0]

    def _decode(self, codes: npt.NDArray[Any]) -> npt.NDArray[Any]:
        rows: npt.NDArray[Any] = self.codebooks_[0][codes[:, 0]]
        for level in range(1, len(self.codebooks_)):
            rows += self.codebooks_[level][codes[:, level]]
        return rows

    def to_faiss(self) -> npt.NDArray[np.float32]:
        """Give the codebooks as ``faiss.ResidualQuantizer(n_features, n_levels, log2(n_codes))`` has them.

        ``faiss.copy_array_to_vector(quantizer.to_faiss().ravel(), rq.codebooks)`` copies them. ``rq.is_trained = True``
        and ``rq.max_beam_size = quantizer.beam`` then make it ready.

        Returns
        -------
        codebooks : ndarray of shape (n_levels * n_codes, n_features)
            float32.

        Raises
        ------
        UsageError
            Unless `n_codes` is a power of two, and the centres are within the range of float32.

        """
        return self._for_faiss().reshape(-1, self.codebooks_.shape[2])


def _sampled(n: int, size: int, seed: int) -> npt.NDArray[np.int64]:
    options = {"k": [size], "init": "random", "seed": seed, "backend": "cpu", "threads": 1}
    nothing = np.zeros((n, 1), np.uint8)  # the choice depends on the number of rows alone
    return np.sort(_manymeans.initialise(nothing, False, None, options)[1])


def _subtract(residuals: npt.NDArray[Any], book: npt.NDArray[Any], labels: Any) -> None:
    """Take the centre of each row away from it, some rows at a time."""
    step = max(1, _CHUNK // (8 * residuals.shape[1]))
    for first in range(0, len(residuals), step):
        residuals[first : first + step] -= book[labels[first : first + step]]
