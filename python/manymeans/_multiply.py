"""The matrix product, each entry rounded once."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import _manymeans, _threads
from ._errors import BadDataError, UsageError
from ._input import (
    DTYPES,
    array_in_place,
    array_of,
    from_device,
    is_on_cuda,
    is_scipy_sparse,
    refuse_files,
    unmasked,
    unwrap,
)
from ._parameters import switch, text_of

_LARGEST_INTEGER = 2**53


class ProductCounts(NamedTuple):
    """How the entries of a product came to their bits.

    Attributes
    ----------
    entries : int
        Of the product.
    certified : int
        The error bound of the fast product left one rounding.
    resolved : int
        Summed again, exactly where need be, which takes some hundred times as long.
    screen : str
        The fast product: "sums" of binary64 or "residues", which need a Hopper GPU. Empty where there was none.

    """

    entries: int
    certified: int
    resolved: int
    screen: str


def multiply(
    a: Any,
    b: Any,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    n_threads: int | None = None,
    backend: str = "auto",
    out: Any = None,
    return_counts: bool = False,
) -> Any:
    """Multiply two matrices; each entry is the exact sum of its products, rounded once.

    No better float32 (or float64) exists, and the bits are the same for any number of threads, in any order of the rows
    and on any machine. `a @ b` of NumPy promises neither.

    Parameters
    ----------
    a, b : array-like of two dimensions
        float64, float32, float16, bfloat16, uint8 and int8 are read where they lie, with any strides; other integers
        are converted to float64 where that is exact. Arrays of torch, CuPy and others on a CUDA device are read there.
    transpose_a, transpose_b : bool, default=False
        Multiply the transpose, which costs nothing. `a.T` does the same.
    n_threads : int, optional
        Threads; by default what threadpoolctl, OMP_NUM_THREADS or the machine allows. It changes no bit.
    backend : str, default="auto"
        "cpu", "cuda" (of several devices "cuda:1"), or "reference": where to compute. It changes no bit.
        "auto" is "cuda" where `a`, `b` or `out` lies on a CUDA device, else "cpu".
    out : ndarray or array of a CUDA device, optional
        Where to write the product: of its shape and type, apart from `a` and `b`; with any strides in the memory of the
        CPU, C-contiguous on a device.
    return_counts : bool, default=False
        Return the `ProductCounts`, too.

    Returns
    -------
    product : ndarray
        `out` where it was given; else in the memory of the CPU. float64 where a factor is, else float32.
    counts : ProductCounts
        Only with `return_counts`.

    Raises
    ------
    UsageError
        For shapes that do not fit each other, and for an `out` that cannot take the product.
    BadDataError
        For what is no matrix of numbers, integers beyond 2^53, and arrays of a device that this build cannot read.
    OutOfMemoryError
        Where the product, or lines of the factors on a device, do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> import manymeans
    >>> a = np.float32([[2**24, 1, -(2**24)]])
    >>> manymeans.multiply(a, np.ones((3, 1), np.float32))
    array([[1.]], dtype=float32)

    """
    x, x_bfloat16 = _matrix(a, "a")
    y, y_bfloat16 = _matrix(b, "b")
    wanted = {
        "transpose_a": switch("transpose_a", transpose_a),
        "transpose_b": switch("transpose_b", transpose_b),
        "threads": _threads.effective(n_threads),
        "backend": text_of("backend", backend),
        "a_bfloat16": x_bfloat16,
        "b_bfloat16": y_bfloat16,
    }
    counts, to = switch("return_counts", return_counts), out
    if is_on_cuda(out):
        to = array_in_place(out)
    elif out is not None:
        _check_out(out)
    made, entries, certified, resolved, screen = _manymeans.multiply(x, y, to, wanted)
    product = made if out is None else out
    return (product, ProductCounts(entries, certified, resolved, screen)) if counts else product


def _check_out(out: Any) -> None:
    if not isinstance(out, np.ndarray):
        raise UsageError(f"[out] is a {type(out).__name__}; a NumPy array is needed")
    if out.ndim != 2 or out.dtype not in (np.float32, np.float64) or not out.dtype.isnative:
        raise UsageError(f"[out] is {out.dtype} of the shape {out.shape}; a matrix of float32 or float64 is needed")
    if not out.flags.writeable:
        raise UsageError("[out] is read-only")
    if not _has_plain_strides(out):
        raise UsageError("[out] has values that are not aligned; an array of its own is right")


def _has_plain_strides(array: npt.NDArray[Any]) -> bool:
    return bool(array.flags.aligned) and all(stride % array.itemsize == 0 for stride in array.strides)


def _matrix(given: Any, name: str) -> tuple[Any, bool]:
    """Give an array of one of the library's types, with whatever strides, and whether it holds bfloat16."""
    refuse_files(given, name)
    if is_on_cuda(given):
        try:
            there = from_device(given)
        except BadDataError as error:
            raise BadDataError(f"[{name}] {str(error).removeprefix('X ')}") from None
        if there.array.ndim != 2:
            raise BadDataError(f"[{name}] has the shape {there.array.shape}; a matrix has two dimensions")
        return there.array, there.bfloat16
    if is_scipy_sparse(given):
        raise BadDataError(f"[{name}] is a sparse matrix; toarray() gives one that can be multiplied")
    taken = unwrap(unmasked(given, name))
    array = array_of(given, name) if taken is None else np.asarray(taken.array)
    bfloat16 = taken is not None and taken.bfloat16
    if array.ndim != 2:
        raise BadDataError(f"[{name}] has the shape {array.shape}; a matrix has two dimensions (reshape makes one)")
    if not bfloat16:
        array = _numbers(array, name)
    return (array if _has_plain_strides(array) else np.require(array, requirements=["C", "A"])), bfloat16


def _numbers(array: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
    native = array.astype(array.dtype.newbyteorder("="), copy=False)
    if native.dtype in DTYPES:
        return native
    if native.dtype.kind not in "biu":
        raise BadDataError(f"[{name}] holds {array.dtype}; float64, float32, float16 or integers are needed")
    if native.dtype.itemsize == 8 and native.size and max(int(native.max()), -int(native.min())) > _LARGEST_INTEGER:
        raise BadDataError(f"[{name}] holds integers beyond 2^53, which float64 would round")
    return native.astype(np.float64)
