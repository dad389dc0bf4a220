"""What the machine itself can do, as the program machine_rates beside manymeans measures it; nothing where it lacks."""

import functools
import json
import os
import subprocess


@functools.cache
def measured(program, threads):
    """{name: number}, of the instruction set that MANYMEANS_CPU_ISA names or the best one."""
    beside = os.path.join(os.path.dirname(os.path.abspath(program)), "machine_rates")
    if not os.path.exists(beside):
        return {}
    done = subprocess.run([beside, str(threads)], stdout=subprocess.PIPE, text=True, timeout=120)
    return json.loads(done.stdout) if done.returncode == 0 else {}
