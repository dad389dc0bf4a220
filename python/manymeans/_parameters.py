"""Parameters other than the points: integers, reals, switches, paths."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from ._errors import UsageError
from ._wording import shown

_MOST = 2**63 - 1

#: Gives the value that the library takes for a parameter of this name, or raises UsageError.
Check = Callable[[str, Any], Any]


def integer(name: str, value: Any, least: int | None = None, most: int = _MOST) -> int:
    """Give an int for what is one: Python's and NumPy's integers, and arrays without dimensions that hold one.

    bool is none, nor is a float, even where it is whole: both are mistakes more often than not.

    Raises
    ------
    UsageError
        For anything else, or a number out of range.

    """
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    try:
        if isinstance(value, (bool, np.bool_)):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise UsageError(f"[{name}] is {shown(value)}; an integer is right") from None
    if (least is not None and number < least) or number > most:
        raise UsageError(f"[{name}] is {number}; it must be between {-_MOST if least is None else least} and {most}")
    return number


def between(least: int, most: int = _MOST) -> Check:
    """Give the check of an integer that has bounds."""
    return lambda name, value: integer(name, value, least, most)


def optional(check: Check) -> Check:
    """Give a check that lets None through."""
    return lambda name, value: None if value is None else check(name, value)


def real(name: str, value: Any) -> float:
    """Give a float for a number: Python's and NumPy's, and arrays without dimensions; no bool, no text.

    Raises
    ------
    UsageError
        For anything else.

    """
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, (bool, np.bool_, str, bytes, bytearray, np.ndarray)):
        raise UsageError(f"[{name}] is {shown(value)}; a number is right")
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise UsageError(f"[{name}] is {shown(value)}; a number is right") from None


def text_of(name: str, value: Any, errors: str = "strict") -> str:
    """Give a str that the library can read; `errors` is as in ``str.encode``.

    Raises
    ------
    UsageError
        For anything else, and for surrogates that stand for no byte.

    """
    try:
        if isinstance(value, str) and value.encode("utf-8", errors) is not None:
            return value
    except UnicodeEncodeError:
        pass
    raise UsageError(f"[{name}] is {shown(value)}; text is right, without lone surrogates")


def choice(name: str, value: Any, choices: tuple[str | None, ...]) -> None:
    """Refuse what is none of the choices.

    Raises
    ------
    UsageError
        For such.

    """
    if isinstance(value, (str, type(None))) and value in choices:
        return
    known = ", ".join(repr(choice) for choice in choices)
    raise UsageError(f"[{name}] is {shown(value)}; {known} is right")


def instance(name: str, value: Any, kind: type) -> Any:
    """Give the value, unless it is of another class.

    Raises
    ------
    UsageError
        For such.

    """
    if isinstance(value, kind):
        return value
    raise UsageError(f"[{name}] is {shown(value)}; an object of {kind.__name__} is right")


def switch(name: str, value: Any) -> bool:
    """Give a bool for True, False and NumPy's: ``"no"`` would count as true.

    Raises
    ------
    UsageError
        For anything else.

    """
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    raise UsageError(f"[{name}] is {shown(value)}; True or False is right")


def check_callback(callback: Any) -> None:
    """Refuse what cannot be called before the work begins.

    Raises
    ------
    UsageError
        For anything but a callable and None.

    """
    if callback is not None and not callable(callback):
        raise UsageError(f"[callback] is {shown(callback)}; a function of a Progress is right, or None")


def path_of(name: str, path: Any) -> bytes:
    """Give the bytes of a file's name, which may be str (with the surrogates of ``os.fsdecode``), bytes or os.PathLike.

    Raises
    ------
    UsageError
        For anything else, for an empty path, and for a NUL, at which the system would cut the name off.

    """
    try:
        encoded = os.fsencode(path)
    except (TypeError, UnicodeEncodeError):
        raise UsageError(f"[{name}] is {shown(path)}; a path (str, bytes or os.PathLike) is right") from None
    if not encoded:
        raise UsageError(f"[{name}] is empty; the name of a file is right")
    if b"\0" in encoded:
        raise UsageError(f"[{name}] is {shown(path)}; a path without NUL is right")
    return encoded
