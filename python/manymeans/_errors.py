"""The exceptions of manymeans."""

from __future__ import annotations


class Error(Exception):
    """What every function of manymeans raises when it fails; its subclasses say what kind of thing went wrong."""


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
    """Stopped (by a time limit or a callback) before there was anything to return."""


_BY_CODE = {1: InternalError, 2: UsageError, 3: BadDataError, 4: UnavailableError, 5: StoppedError}


def exception_of(code: int, message: str) -> Error:
    """Give the exception for an error of the library; the numbers are those of include/manymeans/error.h."""
    if code == 4 and message.startswith("[memory]"):  # with another code it is the parameter of that name
        return OutOfMemoryError(message)
    return _BY_CODE.get(code, InternalError)(message)


def code_of(error: BaseException) -> int:
    """Give the number under which other processes hear of an exception."""
    kinds = [*_BY_CODE.items(), (5, KeyboardInterrupt), (2, ValueError), (2, TypeError), (4, MemoryError)]
    return next((code for code, kind in kinds if isinstance(error, kind)), 1)
