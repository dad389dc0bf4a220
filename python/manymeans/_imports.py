"""Imports at their first use, and forks: the child of a fork never sees the end of an import of another thread."""

from __future__ import annotations

# These have hooks of fork, too. The last hook comes first: theirs must not hold a lock that an import waits for.
import concurrent.futures.thread  # noqa: F401
import logging  # noqa: F401
import os
import threading

#: A thread holds this lock while it imports something after this package was imported.
importing = threading.RLock()

_PATIENCE = 60  # seconds: an import that forks, and waits for an import of another thread, would wait for ever

_held = threading.local()


def _before() -> None:
    _held.by_fork = importing.acquire(timeout=_PATIENCE)


def _after() -> None:
    if _held.by_fork:
        importing.release()


os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after)
