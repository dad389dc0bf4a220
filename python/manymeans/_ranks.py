"""Ranks that share the rows of a fit: what the library asks of them, by a communicator of mpi4py."""

from __future__ import annotations

import sys
import time
from typing import Any

from . import _manymeans
from ._errors import UsageError, code_of
from ._imports import importing
from ._wording import printable, shown

# MPI counts with int.
_MOST = 1 << 30


class Ranks:
    """The processes of a communicator, for one call of the library. All of them use one as a context.

    An error on this rank before the call of the library is raised on the others, too, which are in the library.
    """

    def __init__(self, comm: Any) -> None:
        try:
            with importing:
                from mpi4py import MPI
        except ImportError:
            raise UsageError("[comm] ranks need mpi4py and an MPI library") from None
        if not isinstance(comm, MPI.Intracomm):
            raise UsageError(f"[comm] is {shown(comm)}; a communicator of mpi4py is right, as MPI.COMM_WORLD")
        self._mpi = MPI
        self._comm = comm.Dup()  # the library's messages do not meet the caller's
        self.rank: int = self._comm.Get_rank()
        self.size: int = self._comm.Get_size()

        self._heard = False
        self._interrupt: KeyboardInterrupt | None = None

    def __enter__(self) -> Ranks:
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if error is not None and not self._heard:
            _manymeans.give_up(self, code_of(error), f"{type(error).__name__}: {error}")
        self._comm.Free()
        if error is None and self._interrupt is not None:
            raise self._interrupt

    def share(self, mine: bytes, everybody: memoryview, seconds: float) -> bool:
        """Send all bytes to all ranks, and return whether all came within `seconds`, if these are above 0.

        A Ctrl-C that comes meanwhile waits for the next call, since the others go on as soon as they have all bytes.
        """
        self._heard = True
        if self._interrupt is not None and seconds <= 0:
            raise self._interrupt
        byte = self._mpi.BYTE
        request = self._comm.Iallgather([mine, len(mine), byte], [everybody, len(mine), byte])
        begin = time.monotonic()
        while True:
            try:
                if request.Test():
                    return True
                waited = time.monotonic() - begin
                if 0 < seconds < waited:
                    return False
                time.sleep(0 if waited < 0.001 else 0.00005)  # for whoever else wants this processor
            except KeyboardInterrupt as interrupt:
                self._interrupt = interrupt

    def reduce(self, values: memoryview, largest: bool) -> None:
        """Replace 64-bit integers by their sums, or the largest, over all ranks."""
        operation = self._mpi.MAX if largest else self._mpi.SUM
        for first in range(0, len(values), 8 * _MOST):
            part = values[first : first + 8 * _MOST]
            self._comm.Allreduce(self._mpi.IN_PLACE, [part, len(part) // 8, self._mpi.INT64_T], op=operation)

    def collect(self, mine: bytes, sizes: list[int], everybody: memoryview) -> None:
        """Put the bytes of all ranks one after the other; `sizes` has the number of bytes of each."""
        first = 0
        for rank, size in enumerate(sizes):
            part = everybody[first : first + size]
            if rank == self.rank:
                part[:] = mine
            self.spread(part, rank)
            first += size

    def spread(self, values: memoryview, root: int) -> None:
        """Give all ranks the bytes of one."""
        for first in range(0, len(values), _MOST):
            part = values[first : first + _MOST]
            self._comm.Bcast([part, len(part), self._mpi.BYTE], root)

    def end_all(self, why: str, code: int) -> None:
        """End all processes: the others are not told otherwise that this one has failed."""
        print(f"manymeans: error: {printable(why)}", file=sys.stderr, flush=True)
        self._comm.Abort(code)
