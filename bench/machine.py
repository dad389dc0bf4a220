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


def instruction_sets():
    """Those of the ones that peers can be held to which this processor has, best first."""
    flags = set(_fields("/proc/cpuinfo").get("flags", "").split())
    return [name for name, flag in (("avx512", "avx512bw"), ("avx2", "avx2")) if flag in flags]


def describe():
    cpu = _fields("/proc/cpuinfo")
    return {
        "cpu": cpu.get("model name", platform.machine()),
        "cpu_family_model_stepping": [cpu.get(name) for name in ("cpu family", "model", "stepping")],
        "amx": "amx_bf16" in cpu.get("flags", "").split(),
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
