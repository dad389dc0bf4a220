"""Runs one process to its end and says what it took."""

import os
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass

import machine


@dataclass
class Finished:
    output: str
    wall_seconds: float
    cpu_seconds: float
    others_share: float  # of all processors, used by other programs meanwhile
    peak_memory: int  # bytes, as the kernel counted: everything resident, mapped files too


class ProcessFailed(Exception):
    pass


def run(command, environment=None, longest=None):
    """Runs a command, for at most `longest` seconds. Its standard error goes through, so that no message is lost."""
    with tempfile.TemporaryFile("w+") as output:
        begin, busy_before = time.perf_counter(), machine.busy_seconds()
        process = subprocess.Popen(command, stdout=output, stdin=subprocess.DEVNULL, env=environment)
        clock = threading.Timer(longest or threading.TIMEOUT_MAX, process.kill)
        clock.start()
        # Not process.wait(): only wait4 gives the numbers of this one child.
        _, status, usage = os.wait4(process.pid, 0)
        clock.cancel()
        wall, busy = time.perf_counter() - begin, machine.busy_seconds() - busy_before
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read()
    if longest and wall >= longest:
        raise ProcessFailed(f"longer than {longest:g} s")
    if process.returncode != 0:
        raise ProcessFailed(f"exit code {process.returncode} of: {' '.join(map(str, command))}")
    own = usage.ru_utime + usage.ru_stime
    others = max(0.0, busy - own) / (wall * os.cpu_count())
    return Finished(text, wall, own, others, usage.ru_maxrss * 1024)
