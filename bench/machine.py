"""What machine this is, and how busy it is."""

import os
import platform
import re


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


def busy_seconds():
    """Processor time that everything on this machine has used, all processors together; stolen time counts."""
    with open("/proc/stat", encoding="utf-8") as lines:
        user, nice, system, _, _, interrupts, soft_interrupts, stolen = map(int, lines.readline().split()[1:9])
    return (user + nice + system + interrupts + soft_interrupts + stolen) / os.sysconf("SC_CLK_TCK")
