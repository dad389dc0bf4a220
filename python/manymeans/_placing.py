"""Results in the memory of a CUDA device, as arrays of the library that the points came from."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ._errors import UsageError
from ._input import is_cupy, is_on_cuda, is_torch, on_host

#: Address and device of memory that results are written to, and the stream whose work is waited for before.
Room = tuple[int, int, int]


class Result(NamedTuple):
    """The array that a method returns.

    Attributes
    ----------
    shape : tuple of int
        Its shape.
    dtype : str
        Its type, by NumPy's name.
    compute : callable
        Computes the values. Called with a `Room` that it writes them to, it returns None. Called with None, it returns
        them.

    """

    shape: tuple[int, ...]
    dtype: str
    compute: Callable[[Room | None], npt.NDArray[Any] | None]

    def values(self) -> npt.NDArray[Any]:
        """Compute them in the memory of the host."""
        found = self.compute(None)
        assert found is not None
        return found.astype(self.dtype, copy=False)


def _empty_like(X: Any, result: Result) -> Any:
    """Allocate an array on the device of X; return None where the arrays of X's library cannot be written to."""
    if is_torch(X):
        torch = sys.modules["torch"]
        return torch.empty(result.shape, dtype=getattr(torch, result.dtype), device=X.device)
    if is_cupy(X):
        with X.device:
            return sys.modules["cupy"].empty(result.shape, result.dtype)
    return None


def copied_like(X: Any, array: npt.NDArray[Any]) -> Any:
    """Copy an array to the device of X, for its library; libraries that have no way to do so get NumPy's array."""
    if is_torch(X):
        return sys.modules["torch"].tensor(array, device=X.device)
    if is_cupy(X):
        with X.device:
            return sys.modules["cupy"].asarray(array)
    if hasattr(X, "__array_namespace__"):  # JAX
        return X.__array_namespace__().asarray(array, device=X.device)
    if hasattr(X, "copy_to_host"):
        return sys.modules["numba.cuda"].to_device(array)
    return array


def _checked(out: Any, result: Result) -> Any:
    """Return `out` if the result fits into it.

    Raises
    ------
    UsageError
        Where it does not.

    """
    of_numpy = isinstance(out, np.ndarray)
    if not (of_numpy or is_torch(out) or is_cupy(out)):
        raise UsageError(f"[out] is a {type(out).__name__}; an array of NumPy or CuPy, or a torch tensor, is right")
    if of_numpy and not out.dtype.isnative:
        raise UsageError("[out] has another byte order than this machine")
    dtype = str(out.dtype).rsplit(".", maxsplit=1)[-1]
    if tuple(out.shape) != result.shape or dtype != result.dtype:
        raise UsageError(
            f"[out] has the shape {tuple(out.shape)} and the type {dtype}; {result.shape} and {result.dtype} are right"
        )
    if of_numpy:
        if not out.flags.writeable:
            raise UsageError("[out] is read-only")
        return out
    if not is_on_cuda(out):
        raise UsageError("[out] is a tensor in the memory of the CPU; out.numpy() is its array of NumPy")
    if not (out.is_contiguous() if is_torch(out) else out.flags.c_contiguous):
        raise UsageError("[out] has strides; a contiguous array is right")
    return out


def _room_of(array: Any) -> Room:
    if is_torch(array):
        stream = sys.modules["torch"].cuda.current_stream(array.device)
        return array.data_ptr(), array.device.index, stream.cuda_stream
    with array.device:
        return array.data.ptr, array.device.id, sys.modules["cupy"].cuda.get_current_stream().ptr


def placed(X: Any, result: Result, output: str, out: Any = None) -> Any:
    """Compute a result where it belongs: in `out`, or as an array of the library of X, on its device.

    Parameters
    ----------
    X : array-like
        The points. Where they do not lie on a device, or `output` is ``"numpy"``, the result is an array of NumPy.
    result : Result
        What is computed.
    output : {"auto", "numpy"}
        The estimator's parameter.
    out : array of NumPy or CuPy, torch tensor or None
        Where the result is written.

    Returns
    -------
    array : array
        The result, or `out`.

    """
    if out is None and (output == "numpy" or not is_on_cuda(X)):
        return result.values()
    target = _empty_like(X, result) if out is None else _checked(out, result)
    if target is None:
        return copied_like(X, result.values())
    if isinstance(target, np.ndarray):
        target[...] = result.values()
    else:
        result.compute(_room_of(target))
    return target


class PlacedCenters(NamedTuple):
    """Centres that an estimator has put onto a device.

    Attributes
    ----------
    array : array
        Those that a user sees.
    host : ndarray
        The same in the memory of the host.
    version : int or None
        The count of changes of a tensor; None for libraries that do not count.

    """

    array: Any
    host: npt.NDArray[Any]
    version: int | None

    @classmethod
    def of(cls, array: Any, host: npt.NDArray[Any]) -> PlacedCenters:
        """Remember them as they are."""
        return cls(array, host, getattr(array, "_version", None))

    def are(self, centers: Any) -> bool:
        """Return whether these are the centres, and certainly unchanged."""
        return centers is self.array and self.version is not None and centers._version == self.version


def hosted_state(state: dict[str, Any]) -> dict[str, Any]:
    """Give attributes with arrays of NumPy, not of a device: a pickle may be read on a machine without one."""
    names = ("labels_", "cluster_centers_")
    return state | {name: np.asarray(on_host(state[name])) for name in names if is_on_cuda(state.get(name))}
