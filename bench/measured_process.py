"""Runs one process to its end and says what it took."""

import os
import subprocess
import tempfile
import time
from dataclasses import dataclass


@dataclass
class Finished:
    output: str
    wall_seconds: float
    cpu_seconds: float
    peak_memory: int  # bytes, as the kernel counted: everything resident, mapped files too


class ProcessFailed(Exception):
    pass


def run(command, environment=None):
    """Runs a command; its standard error goes through, so that no message is lost."""
    with tempfile.TemporaryFile("w+") as output:
        begin = time.perf_counter()
        process = subprocess.Popen(command, stdout=output, stdin=subprocess.DEVNULL, env=environment)
        # Not process.wait(): only wait4 gives the numbers of this one child.
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read()
    if process.returncode != 0:
        raise ProcessFailed(f"exit code {process.returncode} of: {' '.join(map(str, command))}")
    return Finished(text, wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)
