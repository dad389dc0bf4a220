"""The exceptions of manymeans."""

from __future__ import annotations

import functools
import re
import sys
import warnings

from ._wording import in_python, printable


class Error(Exception):
    """The base class of every error of manymeans; its subclasses tell the kind of the error.

    Attributes
    ----------
    problem : int or None
        Of `fit_each`: the number of the problem, from 0, if the error is about one.

    """

    problem: int | None = None

    def __init__(self, *args: object) -> None:
        super().__init__(*(printable(text) if isinstance(text, str) else text for text in args))


class InternalError(Error, RuntimeError):
    """A bug in manymeans: please report it."""


class UsageError(Error, ValueError):
    """A parameter is wrong, or parameters contradict each other."""


class BadDataError(Error, ValueError):
    """A file or the values in it cannot be used."""


class UnavailableError(Error, RuntimeError):
    """No such device, not built in, or disk full."""


class OutOfMemoryError(UnavailableError, MemoryError):
    """There is not enough memory."""


class StoppedError(Error, RuntimeError):
    """Stopped (by a callback, say) before there was anything to return."""


class StoppedWarning(UserWarning):
    """A time limit has ended a fit. Where scikit-learn is in use, it is a `ConvergenceWarning`, too."""


class OutsideWarning(UserWarning):
    """Most rows lie far outside the points of the fit: unscaled ones, other units, swapped columns."""


_BY_CODE = {1: InternalError, 2: UsageError, 3: BadDataError, 4: UnavailableError, 5: StoppedError}


_OF_MEMORY = re.compile(r"(\[problem \d+\] )?\[memory\]|.*\] there is not enough memory")


def warn(text: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line of the user's program that has called this package, also by way of scikit-learn."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in ("manymeans", "sklearn"):
        level, frame = level + 1, frame.f_back
    warnings.warn(printable(text), category, stacklevel=level)


def warn_of_stop(text: str) -> None:
    """Warn that a time limit has ended a fit; in scikit-learn's way too, where that is in use."""
    exceptions = sys.modules.get("sklearn.exceptions")
    warn(text, StoppedWarning if exceptions is None else _both_warnings(exceptions.ConvergenceWarning))


@functools.cache
def _both_warnings(convergence: type[Warning]) -> type[Warning]:
    about = {"__module__": __name__, "__doc__": StoppedWarning.__doc__}
    return type("StoppedWarning", (StoppedWarning, convergence), about)


def exception_of(code: int, message: str) -> Error:
    """Return the exception for an error of the library; the numbers are as in include/manymeans/error.h."""
    message = in_python(message)
    if code == 4 and _OF_MEMORY.match(message):  # with another code it is the parameter of that name
        return OutOfMemoryError(message)
    return _BY_CODE.get(code, InternalError)(message)


def code_of(error: BaseException) -> int:
    """Give the number under which other processes hear of an exception."""
    kinds = [*_BY_CODE.items(), (5, KeyboardInterrupt), (2, ValueError), (2, TypeError), (4, MemoryError)]
    return next((code for code, kind in kinds if isinstance(error, kind)), 1)
