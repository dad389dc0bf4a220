"""What machine this is, and whether it has anything else to do."""

import os
import platform
import re
import time


def _fields(path):
    fields = {}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            name, _, value = line.partition(":")
            fields.setdefault(name.strip(), value.strip())
    return fields


def describe():
    cpu = _fields("/proc/cpuinfo")
    return {
        "cpu": cpu.get("model name", platform.machine()),
        "cpu_family_model_stepping": [cpu.get(name) for name in ("cpu family", "model", "stepping")],
        "usable_cpus": len(os.sched_getaffinity(0)),
        "memory": _fields("/proc/meminfo")["MemTotal"],
        "system": platform.platform(),
    }


def name(about):
    """Folder name of the results of this machine."""
    cpu = re.sub(r"\((r|tm)\)|@.*|\bcpu\b|\bprocessor\b", " ", about["cpu"].lower())
    return "-".join(re.findall(r"[a-z0-9]+", cpu)) + f"-{about['usable_cpus']}cpu"


def busy_share(seconds=1.0):
    """Share of the processors' time that others use now; time stolen by a hypervisor counts."""

    def jiffies():
        with open("/proc/stat", encoding="utf-8") as lines:
            numbers = [int(x) for x in lines.readline().split()[1:9]]
        return sum(numbers), numbers[3] + numbers[4]  # all, idle and waiting for disks

    all_before, idle_before = jiffies()
    time.sleep(seconds)
    all_after, idle_after = jiffies()
    return 1 - (idle_after - idle_before) / max(1, all_after - all_before)
